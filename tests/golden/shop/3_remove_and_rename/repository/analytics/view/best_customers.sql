CREATE VIEW ${analytics}.best_customers AS
SELECT customers.name, value.revenue, value.orders
FROM ${analytics}.customer_value AS value
JOIN ${sales}.customers AS customers ON customers.customer_id = value.customer_id
ORDER BY value.revenue DESC
LIMIT ${top_customers}
