CREATE TABLE country (code CHAR(2) PRIMARY KEY, name VARCHAR(60) NOT NULL COMMENT 'in English', area DOUBLE) COMMENT='Countries';
CREATE TABLE city (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(60) NOT NULL, country CHAR(2), population INT UNSIGNED, KEY (country, name),
    CONSTRAINT city_country FOREIGN KEY (country) REFERENCES country (code) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE sample (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, e ENUM('a','b''c') DEFAULT 'a', s SET('x','y'), b BIT(10) DEFAULT b'101', d DECIMAL(12,4),
    j JSON, t TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), g INT GENERATED ALWAYS AS (LENGTH(txt)) VIRTUAL, bin VARBINARY(20), txt TEXT,
    y YEAR, ti TIME(2), CHECK (d < 100000));
INSERT INTO country VALUES ('CH', 'Switzerland', 41285), ('AT', 'Austria', 83879.5);
INSERT INTO city (name, country, population) VALUES ('Zürich', 'CH', 421878), ('Bern', 'CH', 134591), ('Wien', 'AT', 1982097), ('Nowhere', NULL, 0);
INSERT INTO sample (e, s, d, j, t, bin, txt, y, ti) VALUES ('a', 'x,y', 12.5, '{"k": [1, "☃"]}', '2024-01-02 03:04:05.678', x'00ff41', 'long o text', 2024, '12:30:01.25'),
    ('b''c', '', -1, NULL, '2024-05-06 07:08:09', NULL, NULL, NULL, NULL);
CREATE VIEW v AS SELECT c.name AS city, n.name AS country FROM city c JOIN country n ON n.code = c.country ORDER BY c.id;
