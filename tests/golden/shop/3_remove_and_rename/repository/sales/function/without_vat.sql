CREATE FUNCTION ${sales}.without_vat(gross DECIMAL(12, 2))
RETURNS DECIMAL(12, 2)
COMMENT 'A price without VAT'
RETURN CAST(round(gross / (1 + ${vat_rate}), 2) AS DECIMAL(12, 2))
