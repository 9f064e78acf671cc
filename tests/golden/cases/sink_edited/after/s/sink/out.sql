-- //// METADATA compute=etl
INSERT INTO elsewhere.log SELECT 1;
INSERT INTO elsewhere.out SELECT a FROM ${s}.v;
