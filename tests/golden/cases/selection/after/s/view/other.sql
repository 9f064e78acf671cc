-- //// METADATA tags=nightly
CREATE VIEW ${s}.other AS SELECT 2 AS a
