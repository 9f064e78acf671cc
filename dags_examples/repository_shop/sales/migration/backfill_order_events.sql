-- Runs once. The file may be deleted when every environment has run it.
-- //// CHANGE name=placed
INSERT INTO ${sales}.order_events
SELECT order_id, 'placed', CAST(ordered_on AS TIMESTAMP)
FROM ${sales}.orders;
