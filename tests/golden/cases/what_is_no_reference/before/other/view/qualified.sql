CREATE VIEW ${other}.qualified AS SELECT a FROM `s`.`t`
