-- What is in a bundle by way of another bundle.
CREATE MATERIALIZED VIEW ${analytics}.bundle_reaches (bundle_id BIGINT, part_id BIGINT) AS
SELECT DISTINCT outside.bundle_id, inside.part_id
FROM ${sales}.bundle_parts AS outside
JOIN ${analytics}.bundle_contains AS inside ON inside.bundle_id = outside.part_id
