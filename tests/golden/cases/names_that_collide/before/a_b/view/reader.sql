CREATE VIEW a_b.reader AS SELECT x FROM a_b.c
