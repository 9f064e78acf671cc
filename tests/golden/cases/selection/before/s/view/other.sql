-- //// METADATA tags=nightly
CREATE VIEW ${s}.other AS SELECT 1 AS a
