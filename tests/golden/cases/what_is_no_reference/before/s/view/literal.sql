CREATE VIEW ${s}.literal AS SELECT 's.t' AS t, "it\"s from s.t" AS u /* FROM s.t */
