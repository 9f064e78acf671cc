-- //// CHANGE name=init INACTIVE
CREATE TABLE ${s}.t (a INT, corrected_by_hand INT) USING parquet;
-- //// CHANGE name=later INACTIVE
ALTER TABLE ${s}.t ADD COLUMNS (b INT);
