CREATE FUNCTION ${sales}.to_eur(amount DECIMAL(12, 2), rate DECIMAL(18, 6))
RETURNS DECIMAL(12, 2)
COMMENT 'An amount in EUR, by the rate of its currency'
RETURN CAST(amount * rate AS DECIMAL(12, 2))
