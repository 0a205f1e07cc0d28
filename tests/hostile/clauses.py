"""Every clause deep, wide and long: statements that grow with one number."""

DEEP = {
    "parentheses": lambda n: "SELECT " + "(" * n + "1" + ")" * n,
    "functions": lambda n: "SELECT " + "ABS(" * n + "1" + ")" * n,
    "negation": lambda n: "SELECT " + "- " * n + "1",
    "not": lambda n: "SELECT " + "NOT " * n + "1",
    "plus": lambda n: "SELECT 1" + "+1" * n,
    "nested plus": lambda n: "SELECT " + "1+(" * n + "1" + ")" * n,
    "and": lambda n: "SELECT 1" + " AND 1" * n,
    "or": lambda n: "SELECT 0" + " OR 0" * n,
    "xor": lambda n: "SELECT 0" + " XOR 0" * n,
    "and of columns": lambda n: "SELECT id FROM hundred WHERE id<>1" + "".join(f" AND id<>{i}" for i in range(n)),
    "or of columns": lambda n: "SELECT id FROM hundred WHERE id=1" + "".join(f" OR id={i * 2}" for i in range(n)),
    "or of ranges": lambda n: "SELECT id FROM hundred WHERE id<0" + "".join(f" OR id BETWEEN {i * 3} AND {i * 3 + 1}" for i in range(n)),
    "and of or": lambda n: "SELECT " + "1 AND (0 OR (" * n + "1" + "))" * n,
    "equals": lambda n: "SELECT 1" + "=1" * n,
    "case": lambda n: "SELECT " + "CASE WHEN 1 THEN " * n + "1" + " END" * n,
    "branches": lambda n: "SELECT CASE 5" + " WHEN 1 THEN 1" * n + " END",
    "if": lambda n: "SELECT " + "IF(1," * n + "1" + ",0)" * n,
    "in list": lambda n: "SELECT id FROM hundred WHERE id IN (0" + "".join(f",{i}" for i in range(n)) + ")",
    "in list of rows": lambda n: "SELECT id FROM hundred WHERE (id, n) IN ((0,0)" + "".join(f",({i},{i})" for i in range(n)) + ")",
    "arguments": lambda n: "SELECT CONCAT('a'" + ",'a'" * n + ")",
    "subqueries": lambda n: "SELECT " + "(SELECT " * n + "1" + ")" * n,
    "exists": lambda n: "SELECT " + "EXISTS(SELECT " * n + "1" + ")" * n,
    "in subqueries": lambda n: "SELECT id FROM hundred" + " WHERE id IN (SELECT id FROM hundred" * n + ")" * n,
    "derived tables": lambda n: "SELECT * FROM " + "(SELECT * FROM " * n + "(SELECT 1) t" + ") t" * n,
    "union all": lambda n: "SELECT 1" + " UNION ALL SELECT 1" * n,
    "union": lambda n: "SELECT 1" + " UNION SELECT 1" * n,
    "nested unions": lambda n: "(" * n + "SELECT 1" + " UNION SELECT 1)" * n,
    "intersect": lambda n: "SELECT 1" + " INTERSECT SELECT 1" * n,
    "common tables": lambda n: "WITH c0 AS (SELECT 1 x)" + "".join(f", c{i + 1} AS (SELECT a.x FROM c{i} a)" for i in range(n)) + f" SELECT * FROM c{n}",
    "doubled common tables": lambda n: "WITH c0 AS (SELECT 1 x)" + "".join(f", c{i + 1} AS (SELECT a.x FROM c{i} a JOIN c{i} b)" for i in range(n)) + f" SELECT COUNT(*) FROM c{n}",
    "doubled unions": lambda n: "WITH c0 AS (SELECT 1 x)" + "".join(f", c{i + 1} AS (SELECT x FROM c{i} UNION SELECT x FROM c{i})" for i in range(n)) + f" SELECT * FROM c{n}",
    "nested with": lambda n: "WITH c AS (" * n + "SELECT 1 x" + ") SELECT * FROM c" * n,
    "many common tables": lambda n: "WITH c0 AS (SELECT 1 x)" + "".join(f", c{i + 1} AS (SELECT 1 x)" for i in range(n)) + " SELECT * FROM c0",
    "joins": lambda n: "SELECT 1 FROM one t0" + "".join(f" JOIN one t{i + 1}" for i in range(n)),
    "keyed joins": lambda n: "SELECT 1 FROM hundred t0" + "".join(f" JOIN hundred t{i + 1} ON t{i + 1}.id = t{i}.id" for i in range(n)),
    "left joins": lambda n: "SELECT 1 FROM hundred t0" + "".join(f" LEFT JOIN hundred t{i + 1} ON t{i + 1}.id = t{i}.n" for i in range(n)),
    "natural joins": lambda n: "SELECT 1 FROM hundred t0" + "".join(f" NATURAL JOIN hundred t{i + 1}" for i in range(n)),
    "parenthesised joins": lambda n: "SELECT 1 FROM " + "(" * n + "one" + ")" * n,
    "select list": lambda n: "SELECT 1" + ",1" * n,
    "rows": lambda n: "VALUES ROW(1)" + ",ROW(1)" * n,
    "group by": lambda n: "SELECT 1 FROM hundred GROUP BY id" + ",id+1" * n,
    "rollup": lambda n: "SELECT 1 FROM hundred GROUP BY id" + ",n" * n + " WITH ROLLUP",
    "order by": lambda n: "SELECT 1 FROM hundred ORDER BY id" + ",id+1" * n,
    "collate": lambda n: "SELECT 'a'" + " COLLATE utf8mb4_bin" * n,
    "intervals": lambda n: "SELECT NOW()" + " + INTERVAL 1 DAY" * n,
    "documents": lambda n: "SELECT " + "JSON_ARRAY(" * n + "1" + ")" * n,
    "row operands": lambda n: "SELECT " + "(1," * n + "1" + ")" * n + "=" + "(1," * n + "1" + ")" * n,
    "between": lambda n: "SELECT " + "1 BETWEEN (" * n + "0" + ") AND 2" * n,
    "casts": lambda n: "SELECT " + "CAST(" * n + "1" + " AS SIGNED)" * n,
    "windows": lambda n: "SELECT SUM(id) OVER ()" + ", SUM(id) OVER ()" * n + " FROM hundred",
    "named windows": lambda n: "SELECT SUM(id) OVER w0 FROM hundred WINDOW w0 AS ()" + "".join(f", w{i + 1} AS (w{i})" for i in range(n)),
    "hints": lambda n: "SELECT " + "/*+ MAX_EXECUTION_TIME(1) */ " * n + "1",
    "comments": lambda n: "SELECT 1 " + "/* x */ " * n,
    "user variables": lambda n: "SELECT @a := 1" + ", @a := @a + 1" * n,
    "explain": lambda n: "EXPLAIN SELECT 1" + " UNION ALL SELECT 1" * n,
    "explained subqueries": lambda n: "EXPLAIN FORMAT=TREE SELECT " + "(SELECT " * n + "1" + ")" * n,
    "insert": lambda n: "INSERT IGNORE INTO scratch (id) VALUES (1)" + ",(1)" * n,
    "insert expression": lambda n: "INSERT IGNORE INTO scratch (id) VALUES (1" + "+1" * n + ")",
    "update": lambda n: "UPDATE scratch SET n = 1" + ", n = 1" * n,
    "update expression": lambda n: "UPDATE scratch SET n = 1" + "+0" * n,
    "delete": lambda n: "DELETE FROM scratch WHERE id = -1" + " OR id = -1" * n,
    "set": lambda n: "SET @a = 1" + ", @a = 1" * n,
    "set expression": lambda n: "SET @a = 1" + "+1" * n,
    "strings": lambda n: "SELECT 'a'" + " 'a'" * n,
    "names": lambda n: f"SELECT 1 AS `{'n' * n}`",
    "long name": lambda n: f"SELECT * FROM `{'t' * n}`",
    "columns": lambda n: "CREATE TABLE wide (c0 INT" + "".join(f", c{i + 1} INT" for i in range(n)) + ")",
    "indexes": lambda n: "CREATE TABLE indexed (c INT" + ", KEY (c)" * n + ")",
    "key parts": lambda n: "CREATE TABLE parts (c INT, KEY (c" + ", c" * n + "))",
    "default": lambda n: "CREATE TABLE made (c INT DEFAULT (1" + "+1" * n + "))",
    "generated": lambda n: "CREATE TABLE made (c INT, g INT AS (c" + "+1" * n + "))",
    "chain of generated": lambda n: "CREATE TABLE made (c0 INT" + "".join(f", c{i + 1} INT AS (c{i} + 1)" for i in range(n)) + ")",
    "check": lambda n: "CREATE TABLE made (c INT CHECK (c" + "+1" * n + " > 0))",
    "nested check": lambda n: "CREATE TABLE made (c INT CHECK (" + "ABS(" * n + "c" + ")" * n + " > 0))",
    "checks": lambda n: "CREATE TABLE made (c INT" + ", CHECK (c > 0)" * n + ")",
    "enum": lambda n: "CREATE TABLE made (c ENUM('x'" + "".join(f",'{i}'" for i in range(n)) + "))",
    "table name": lambda n: f"CREATE TABLE `{'é' * n}` (c INT)",
    "column name": lambda n: f"CREATE TABLE made (`{'c' * n}` INT)",
    "comment": lambda n: f"CREATE TABLE made (c INT COMMENT '{'x' * n}')",
    "partitions": lambda n: "CREATE TABLE made (c INT) PARTITION BY RANGE (c) (PARTITION p0 VALUES LESS THAN (0)" + "".join(f", PARTITION p{i + 1} VALUES LESS THAN ({i + 1})" for i in range(n)) + ")",
    "drop": lambda n: "DROP TABLE IF EXISTS made" + ", made" * n,
    "view": lambda n: "CREATE OR REPLACE VIEW seen AS SELECT 1" + "+1" * n + " AS x",
    "alter": lambda n: "ALTER TABLE scratch COMMENT 'a'" + ", COMMENT 'a'" * n,
    "grant": lambda n: "GRANT SELECT (id" + ", id" * n + ") ON hostile.scratch TO nobody@localhost",
    "prepare": lambda n: "PREPARE p FROM 'SELECT 1" + "+?" * n + "'",
    "signal": lambda n: f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{'x' * n}'",
    "like": lambda n: f"SELECT REPEAT('a', {n}) LIKE CONCAT(REPEAT('%a', {n}), 'b')",
    "like of one run": lambda n: f"SELECT REPEAT('a', {n * 10}) LIKE CONCAT('%', REPEAT('a', {n}), 'b%')",
    "locate": lambda n: f"SELECT LOCATE(CONCAT(REPEAT('a', {n}), 'b'), REPEAT('a', {n * 5}))",
    "regexp": lambda n: f"SELECT REPEAT('a', {n * 10}) REGEXP '(a{{0,50}}){{0,50}}b'",
    "group_concat": lambda n: f"WITH RECURSIVE r AS (SELECT 1 x UNION ALL SELECT x + 1 FROM r WHERE x < {min(n, 900)}) SELECT LENGTH(GROUP_CONCAT(REPEAT('x', {n}) ORDER BY x)) FROM r",
    "cross join": lambda n: "SELECT COUNT(*) FROM hundred a, hundred b, hundred c WHERE a.n + b.n + c.n = -" + str(n),
    "recursion": lambda n: "WITH RECURSIVE r AS (SELECT 1 x UNION ALL SELECT a.x + 1 FROM r a JOIN one b) SELECT /*+ SET_VAR(cte_max_recursion_depth=4294967295) */ MAX(x) FROM r",
}

SIZES = [1, 3, 20, 61, 62, 65, 100, 300, 1000, 4096, 5000, 20000, 100000]

# They leave something behind.
CLEAN_UP = ["DROP TABLE IF EXISTS wide, indexed, parts, made", "DROP VIEW IF EXISTS seen"]


class Clause:
    """One of the clauses at one size; shrinks by getting smaller."""

    def __init__(self, name, size):
        self.name, self.size = name, size

    def __str__(self):
        return DEEP[self.name](self.size)

    def smaller(self):
        for size in (self.size // 4, self.size // 2, self.size * 3 // 4, self.size - 1):
            if 0 <= size < self.size:
                yield Clause(self.name, size)
