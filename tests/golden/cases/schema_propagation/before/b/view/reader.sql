CREATE VIEW ${b}.reader AS SELECT a FROM ${a}.sibling
