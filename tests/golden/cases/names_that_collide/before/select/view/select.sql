CREATE VIEW `select`.`select` AS SELECT t.x FROM `select`.`t`
