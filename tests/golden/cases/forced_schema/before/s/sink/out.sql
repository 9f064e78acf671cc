INSERT INTO elsewhere.out SELECT 1;
