INSERT INTO elsewhere.out SELECT a FROM ${s}.v;
