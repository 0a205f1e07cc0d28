CREATE TABLE kind (id INT PRIMARY KEY, name VARCHAR(50) NOT NULL, UNIQUE (name));
INSERT INTO kind VALUES (0, 'none'), (1, 'one'), (2, 'two'), (3, 'three');
CREATE TABLE item (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, kind INT NOT NULL, name VARCHAR(100) NOT NULL, price DECIMAL(10,2), at DATETIME(6), note TEXT,
    KEY (kind), KEY kind_name (kind, name), KEY kind_again (kind, name), CONSTRAINT item_kind FOREIGN KEY (kind) REFERENCES kind (id));
SET SESSION cte_max_recursion_depth = 10000;
INSERT INTO item (kind, name, price, at, note) WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
    SELECT i % 4, CONCAT('item ', i), i / 3, '2024-01-01' + INTERVAL i SECOND, REPEAT('x', i % 50) FROM n;
