-- Not an object: sparkdeploy.yaml ignores this folder.
SELECT customers.name, products.name
FROM sales.orders
JOIN sales.customers USING (customer_id)
JOIN sales.order_lines USING (order_id)
JOIN sales.products USING (product_id)
