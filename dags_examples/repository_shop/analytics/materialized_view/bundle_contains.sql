-- Everything that is in a bundle, at any depth. It reads bundle_reaches, which reads it: both
-- are computed together, until a pass adds no row. That needs a set (UNION, not UNION ALL) and
-- declared columns.
CREATE MATERIALIZED VIEW ${analytics}.bundle_contains (bundle_id BIGINT, part_id BIGINT) AS
SELECT bundle_id, part_id FROM ${sales}.bundle_parts
UNION
SELECT bundle_id, part_id FROM ${analytics}.bundle_reaches
