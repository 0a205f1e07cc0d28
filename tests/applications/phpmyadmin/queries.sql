SELECT * FROM city
SELECT country, COUNT(*), SUM(population) FROM city GROUP BY country WITH ROLLUP
SELECT * FROM city c LEFT JOIN country n ON n.code = c.country ORDER BY c.name LIMIT 2
EXPLAIN SELECT * FROM city WHERE country = 'CH'
SHOW CREATE TABLE sample
SHOW FULL COLUMNS FROM sample
ALTER TABLE sample ADD extra INT NULL DEFAULT 7 AFTER id, ADD INDEX (extra)
ALTER TABLE sample CHANGE extra more VARCHAR(20) CHARACTER SET latin1 NULL
INSERT INTO sample (txt) VALUES ('by the page')
UPDATE city SET population = population + 1 WHERE name = 'Bern'
DELETE FROM city WHERE country IS NULL
ANALYZE TABLE city
CHECK TABLE city, country
OPTIMIZE TABLE city
REPAIR TABLE city
CHECKSUM TABLE city
SET PROFILING = 1
SHOW PROFILES
CREATE USER 'pma_test'@'localhost' IDENTIFIED BY 'Secret-7-word'
GRANT SELECT, INSERT ON `app\_phpmyadmin`.* TO 'pma_test'@'localhost'
SHOW GRANTS FOR 'pma_test'@'localhost'
DROP USER 'pma_test'@'localhost'
SHOW TABLE STATUS
