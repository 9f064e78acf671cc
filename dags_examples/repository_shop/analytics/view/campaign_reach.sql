-- Only where ref.contacts is.
-- //// METADATA excludeEnvs=dev*,stage*,ci*
CREATE VIEW ${analytics}.campaign_reach AS
SELECT contacts.campaign, count(DISTINCT orders.customer_id) AS buyers
FROM ${ref}.contacts AS contacts
JOIN ${sales}.customers AS customers ON customers.email = contacts.email
JOIN ${sales}.orders AS orders
  ON orders.customer_id = customers.customer_id AND orders.ordered_on >= contacts.contacted_on
GROUP BY contacts.campaign
