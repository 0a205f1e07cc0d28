"""Whatever a server, a session, a table or a string can have much of: shapes of one size each, for growth.py, which says what they are."""

from many import Script, each, many

COM_STMT_PREPARE, COM_RESET_CONNECTION = 22, 31


def listing(kind, drop, *listed, most=4096):
    """Many of a kind: made, listed, dropped."""
    return Script(lambda n: list(listed), lambda n: ["DROP DATABASE IF EXISTS plenty", "CREATE DATABASE plenty", "USE plenty", *each(n, kind)],
                  lambda n: [*each(n, drop), "DROP DATABASE plenty", "USE hostile"], most)


def of_session(make, *used, most=1 << 14):
    """Many of what a session has; the reset gives them back."""
    return Script(lambda n: [text(n) if callable(text) else text for text in used], lambda n: make(n), lambda n: [bytes([COM_RESET_CONNECTION]), "USE hostile"], most)


LIKE, WORD, NAME, LOCK, PREPARED = "LIKE 'x%'", "w{i}", "'t7'", "SELECT GET_LOCK('l{i}', 0) INTO @a", "PREPARE p{i} FROM 'SELECT 1'"
OF_PLENTY = "WHERE TABLE_SCHEMA = 'plenty'"

STATES = {
    "tables": listing("CREATE TABLE t{i} (id INT PRIMARY KEY, a INT, KEY (a))", "DROP TABLE t{i}", "SHOW TABLES", f"SHOW TABLES {LIKE}", "SHOW TABLE STATUS", "SHOW FULL TABLES",
                      f"SELECT COUNT(*) FROM information_schema.TABLES {OF_PLENTY}", f"SELECT COUNT(*) FROM information_schema.COLUMNS {OF_PLENTY}",
                      f"SELECT COUNT(*) FROM information_schema.STATISTICS {OF_PLENTY}", f"SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME {LIKE}",
                      "SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS", "SELECT COUNT(*) FROM information_schema.KEY_COLUMN_USAGE", "SHOW OPEN TABLES"),
    "joined lists of tables": listing("CREATE TABLE t{i} (id INT PRIMARY KEY, a INT)", "DROP TABLE t{i}",
                                      f"SELECT COUNT(*) FROM information_schema.TABLES t JOIN information_schema.COLUMNS c USING (TABLE_SCHEMA, TABLE_NAME) {OF_PLENTY}", most=1024),
    "dropped at once": Script(lambda n: [f"DROP TABLE {many(n, 't{i}')}"], lambda n: ["CREATE DATABASE IF NOT EXISTS plenty", "USE plenty", *each(n, "CREATE TABLE t{i} (a INT)")],
                              lambda n: ["DROP DATABASE plenty", "USE hostile"], 4096),
    "locked at once": Script(lambda n: [f"LOCK TABLES {many(n, 't{i} WRITE')}", "UNLOCK TABLES"],
                             lambda n: ["CREATE DATABASE IF NOT EXISTS plenty", "USE plenty", *each(n, "CREATE TABLE t{i} (a INT)")], lambda n: ["DROP DATABASE plenty", "USE hostile"], 4096),
    "renamed at once": Script(lambda n: [f"RENAME TABLE {many(n, 't{i} TO u{i}')}"],
                              lambda n: ["CREATE DATABASE IF NOT EXISTS plenty", "USE plenty", *each(n, "CREATE TABLE t{i} (a INT)")], lambda n: ["DROP DATABASE plenty", "USE hostile"], 4096),
    "used in one transaction": Script(lambda n: ["BEGIN", *each(n, "INSERT INTO t{i} VALUES (1)"), "COMMIT"],
                                      lambda n: ["CREATE DATABASE IF NOT EXISTS plenty", "USE plenty", *each(n, "CREATE TABLE t{i} (a INT)")], lambda n: ["DROP DATABASE plenty", "USE hostile"], 2048),
    "databases": listing("CREATE DATABASE plenty{i}", "DROP DATABASE plenty{i}", "SHOW DATABASES", f"SHOW DATABASES {LIKE}", "SELECT COUNT(*) FROM information_schema.SCHEMATA",
                         "SELECT COUNT(*) FROM information_schema.TABLES"),
    "views": listing("CREATE VIEW v{i} AS SELECT {i} x", "DROP VIEW v{i}", "SHOW FULL TABLES", "SELECT COUNT(*) FROM information_schema.VIEWS", "SELECT COUNT(*) FROM information_schema.COLUMNS"),
    "views over views": Script(lambda n: [f"SELECT * FROM v{n}", "SELECT COUNT(*) FROM information_schema.COLUMNS", "SHOW TABLE STATUS"],
                               lambda n: ["DROP DATABASE IF EXISTS plenty", "CREATE DATABASE plenty", "USE plenty", "CREATE VIEW v0 AS SELECT 1 x", *each(n, "CREATE VIEW v{j} AS SELECT * FROM v{i}")],
                               lambda n: ["DROP DATABASE plenty", "USE hostile"], 1024),
    "joined views": Script(lambda n: [f"SELECT * FROM {many(min(n, 61), 'v0 t{i}')}"], lambda n: ["CREATE DATABASE IF NOT EXISTS plenty", "USE plenty", "CREATE OR REPLACE VIEW v0 AS SELECT 1 x"],
                           lambda n: ["DROP DATABASE plenty", "USE hostile"]),
    "triggers": listing("CREATE TRIGGER g{i} BEFORE INSERT ON t FOR EACH ROW SET @a = 1", "DROP TRIGGER g{i}", "INSERT INTO t VALUES (1)", "SHOW TRIGGERS", "SELECT COUNT(*) FROM information_schema.TRIGGERS", most=512),
    "procedures": listing("CREATE PROCEDURE q{i}() DO 1", "DROP PROCEDURE q{i}", f"SHOW PROCEDURE STATUS {LIKE}", "SELECT COUNT(*) FROM information_schema.ROUTINES", "SELECT COUNT(*) FROM information_schema.PARAMETERS"),
    "foreign keys to one": listing("CREATE TABLE t{i} (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES hostile.hundred (id))", "DROP TABLE t{i}", "UPDATE hostile.hundred SET id = id",
                                   "SELECT COUNT(*) FROM information_schema.REFERENTIAL_CONSTRAINTS", "ALTER TABLE hostile.hundred COMMENT 'x'", most=1024),
    "accounts": listing("CREATE USER plenty{i}@localhost", "DROP USER plenty{i}@localhost", "SHOW GRANTS", "SELECT COUNT(*) FROM mysql.user", "SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES", most=2048),
    "accounts at once": Script(lambda n: [f"CREATE USER {many(n, 'plenty{i}@localhost')}", f"ALTER USER {many(n, 'plenty{i}@localhost ACCOUNT LOCK')}", f"GRANT SELECT ON *.* TO {many(n, 'plenty{i}@localhost')}",
                                          f"RENAME USER {many(n, 'plenty{i}@localhost TO plentier{i}@localhost')}", f"DROP USER {many(n, 'plentier{i}@localhost')}"], most=2048),
    "roles of an account": Script(lambda n: [f"GRANT {many(n, 'plenty{i}')} TO granted@localhost", "SHOW GRANTS FOR granted@localhost", f"SHOW GRANTS FOR granted@localhost USING {many(n, 'plenty{i}')}",
                                             "SET DEFAULT ROLE ALL TO granted@localhost", f"SET DEFAULT ROLE {many(n, 'plenty{i}')} TO granted@localhost", f"REVOKE {many(n, 'plenty{i}')} FROM granted@localhost"],
                                  lambda n: [f"CREATE ROLE {many(n, 'plenty{i}')}"], lambda n: [f"DROP ROLE {many(n, 'plenty{i}')}"], 2048),
    "roles of roles": Script(lambda n: ["SHOW GRANTS FOR granted@localhost USING plenty0", "SELECT COUNT(*) FROM information_schema.APPLICABLE_ROLES"],
                             lambda n: [f"CREATE ROLE {many(n + 1, 'plenty{i}')}", *each(n, "GRANT plenty{j} TO plenty{i}"), "GRANT plenty0 TO granted@localhost"],
                             lambda n: [f"DROP ROLE {many(n + 1, 'plenty{i}')}"], 1024),
    "grants of an account": Script(lambda n: ["SHOW GRANTS FOR granted@localhost", "SELECT COUNT(*) FROM information_schema.TABLE_PRIVILEGES", "REVOKE ALL PRIVILEGES, GRANT OPTION FROM granted@localhost"],
                                   lambda n: ["CREATE DATABASE IF NOT EXISTS plenty", "USE plenty", *each(n, "CREATE TABLE t{i} (a INT)"), *each(n, "GRANT SELECT, SELECT (a) ON plenty.t{i} TO granted@localhost")],
                                   lambda n: ["DROP DATABASE plenty", "USE hostile"], 1024),
    "grants of databases": Script(lambda n: ["SHOW GRANTS FOR granted@localhost", "REVOKE ALL PRIVILEGES, GRANT OPTION FROM granted@localhost"],
                                  lambda n: each(n, "GRANT SELECT ON `plenty{i}`.* TO granted@localhost"), None, 2048),
    "prepared statements": of_session(lambda n: each(n, PREPARED), "EXECUTE p7", "SELECT COUNT(*) FROM performance_schema.prepared_statements_instances"),
    "prepared packets": of_session(lambda n: [bytes([COM_STMT_PREPARE]) + b"SELECT 1"] * n, "DO 1"),
    "variables": of_session(lambda n: each(n, "SET @v{i} = {i}"), lambda n: f"SELECT {many(n, '@v{i}')}", "SELECT COUNT(*) FROM performance_schema.user_variables_by_thread"),
    "savepoints": of_session(lambda n: ["BEGIN", *each(n, "SAVEPOINT s{i}")], "ROLLBACK TO s7", "COMMIT"),
    "the same savepoint": of_session(lambda n: ["BEGIN", *each(n, "SAVEPOINT s")], "ROLLBACK TO s", "COMMIT"),
    "savepoints released": of_session(lambda n: ["BEGIN", *each(n, "SAVEPOINT s{i}")], lambda n: many(n, "RELEASE SAVEPOINT s0; SAVEPOINT s0", "; ")),
    "savepoints and rows": of_session(lambda n: ["BEGIN", *each(n, "SAVEPOINT s{i}; INSERT INTO scratch VALUES ({i}, 1)")], "ROLLBACK TO s7", "ROLLBACK"),
    "rows rolled back": of_session(lambda n: ["BEGIN", *each(n, "INSERT INTO scratch VALUES ({i}, 1); SAVEPOINT s; UPDATE scratch SET n = 2 WHERE id = {i}; ROLLBACK TO s")], "ROLLBACK"),
    "temporary tables": of_session(lambda n: each(n, "CREATE TEMPORARY TABLE x{i} (a INT)"), "SELECT * FROM x7", "SHOW TABLES", lambda n: f"DROP TEMPORARY TABLE {many(n, 'x{i}')}", most=2048),
    "handlers": of_session(lambda n: each(n, "HANDLER hundred OPEN AS h{i}"), "HANDLER h7 READ FIRST", "ALTER TABLE hundred COMMENT 'y'", most=4096),
    "named locks": of_session(lambda n: each(n, LOCK), "DO RELEASE_LOCK('l7')", "SELECT RELEASE_ALL_LOCKS()", most=4096),
    "the same named lock": of_session(lambda n: each(n, "SELECT GET_LOCK('l', 0) INTO @a"), "SELECT RELEASE_ALL_LOCKS()"),
    "warnings": of_session(lambda n: ["SET max_error_count = 65535"], lambda n: f"INSERT IGNORE INTO scratch VALUES {many(n, '(1, 1)')}", "SHOW WARNINGS", "SHOW COUNT(*) WARNINGS"),
    "locking reads": of_session(lambda n: ["BEGIN", *each(n, "SELECT i INTO @a FROM numbers WHERE i = {i} FOR UPDATE")], "COMMIT", most=8192),
    "locked rows": of_session(lambda n: ["BEGIN", f"SELECT COUNT(*) FROM numbers WHERE i < {n} FOR UPDATE", f"SELECT COUNT(*) FROM numbers WHERE i < {n} FOR SHARE"], "SELECT COUNT(*) FROM performance_schema.data_locks", "COMMIT"),
    "unread results": of_session(lambda n: [many(n, "SELECT {i}", "; ")], "DO 1"),
}


def rows(*texts, columns="a INT, b INT, c INT, d VARCHAR(20)", keys="", most=1 << 16):
    """A table `made` with as many rows, and statements for all of them."""
    before = lambda n: ["DROP TABLE IF EXISTS made", f"CREATE TABLE made (id INT PRIMARY KEY, {columns}{keys})",
                        f"INSERT INTO made SELECT i, i, i DIV 2, 1, CONCAT('v', i % 100) FROM numbers WHERE i < {n}"]
    return Script(lambda n: [text.replace("{n}", str(n)) for text in texts], before, lambda n: ["DROP TABLE made"], most)


def over(call, more=""):
    return f"SELECT MAX(x) FROM (SELECT {call} x FROM made) t{more}"


SPREAD = "i * 7919 % 65536"

ROWS = {
    "sorted": rows("SELECT COUNT(*) FROM (SELECT * FROM made ORDER BY d, b DESC LIMIT 100000) t", "SELECT * FROM made ORDER BY d, b LIMIT 5", "SELECT * FROM made ORDER BY d, b LIMIT 5 OFFSET 1000"),
    "grouped": rows("SELECT COUNT(*) FROM (SELECT b, COUNT(*) FROM made GROUP BY b) t", "SELECT c, COUNT(*) FROM made GROUP BY c", "SELECT COUNT(*) FROM (SELECT b, d, COUNT(*) FROM made GROUP BY b, d WITH ROLLUP) t",
                    "SELECT COUNT(DISTINCT a), COUNT(DISTINCT d), COUNT(DISTINCT c) FROM made", "SELECT c, COUNT(DISTINCT a) FROM made GROUP BY c"),
    "concatenated": rows("SET group_concat_max_len = 100000000", "SELECT LENGTH(GROUP_CONCAT(a)) FROM made", "SELECT LENGTH(GROUP_CONCAT(DISTINCT a ORDER BY d)) FROM made", "SELECT LENGTH(JSON_ARRAYAGG(a)) FROM made",
                         "SELECT LENGTH(JSON_OBJECTAGG(a, d)) FROM made", "SELECT LENGTH(JSON_OBJECTAGG(d, a)) FROM made"),
    "partitions of windows": rows(over("ROW_NUMBER() OVER (PARTITION BY b)"), over("RANK() OVER (ORDER BY d)"), over("DENSE_RANK() OVER (PARTITION BY c ORDER BY a)"), over("NTILE(7) OVER (ORDER BY a)"),
                                  over("PERCENT_RANK() OVER (ORDER BY d)"), over("CUME_DIST() OVER (ORDER BY d)"), over("LAG(a, 5) OVER (ORDER BY a)"), over("LEAD(a, 100000) OVER (ORDER BY a)")),
    "peers of windows": rows(over("SUM(a) OVER (ORDER BY c)"), over("COUNT(*) OVER (ORDER BY c RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"), over("RANK() OVER (ORDER BY c)"), over("CUME_DIST() OVER (ORDER BY c)"),
                             over("SUM(a) OVER (ORDER BY c RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)"), over("FIRST_VALUE(a) OVER (ORDER BY c)"), over("LAST_VALUE(a) OVER (ORDER BY c)")),
    "frames that grow": rows(over("SUM(a) OVER (ORDER BY a)"), over("MAX(a) OVER (ORDER BY a)"), over("MIN(a) OVER (ORDER BY a ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"), over("AVG(a) OVER (ORDER BY a)"),
                             over("NTH_VALUE(a, 5) OVER (ORDER BY a)"), over("STDDEV(a) OVER (ORDER BY a)"), over("BIT_XOR(a) OVER (ORDER BY a)"), over("SUM(a) OVER (ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)")),
    "frames that shrink": rows(over("SUM(a) OVER (ORDER BY a ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"), over("COUNT(a) OVER (ORDER BY a ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)"),
                               over("AVG(a) OVER (ORDER BY a RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"), over("STDDEV(a) OVER (ORDER BY a ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"),
                               over("LAST_VALUE(a) OVER (ORDER BY a ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)")),
    "frames that slide": rows(over("SUM(a) OVER (ORDER BY a ROWS BETWEEN {n} PRECEDING AND {n} FOLLOWING)"), over("SUM(a) OVER (ORDER BY a ROWS BETWEEN 1000 PRECEDING AND CURRENT ROW)"),
                              over("MAX(a) OVER (ORDER BY a ROWS BETWEEN 1000 PRECEDING AND CURRENT ROW)"), over("MIN(a) OVER (ORDER BY a DESC ROWS BETWEEN 1000 PRECEDING AND CURRENT ROW)"),
                              over("MIN(a) OVER (ORDER BY a RANGE BETWEEN 1000 PRECEDING AND CURRENT ROW)"), over("AVG(a) OVER (ORDER BY a ROWS BETWEEN 1000 PRECEDING AND 1000 FOLLOWING)")),
    "sums of doubles that slide": rows(over("SUM(a + 0e0) OVER (ORDER BY a ROWS BETWEEN 1000 PRECEDING AND CURRENT ROW)"), over("SUM(a + 0e0) OVER (ORDER BY a ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"),
                                       over("STDDEV(a) OVER (ORDER BY a ROWS BETWEEN 1000 PRECEDING AND CURRENT ROW)"), over("BIT_OR(a) OVER (ORDER BY a ROWS BETWEEN 1000 PRECEDING AND CURRENT ROW)")),
    "documents of windows": rows(over("LENGTH(JSON_ARRAYAGG(1) OVER (ORDER BY a ROWS BETWEEN 100 PRECEDING AND CURRENT ROW))"), most=1 << 13),
    "set operations": rows("SELECT COUNT(*) FROM (SELECT a FROM made UNION SELECT b FROM made) t", "SELECT COUNT(*) FROM (SELECT a FROM made EXCEPT SELECT b FROM made) t", "SELECT COUNT(*) FROM (SELECT a FROM made INTERSECT SELECT b FROM made) t",
                           "SELECT COUNT(*) FROM (SELECT c FROM made INTERSECT ALL SELECT c FROM made) t", "SELECT COUNT(*) FROM (SELECT c FROM made EXCEPT ALL SELECT c FROM made) t"),
    "recursive rows": Script(lambda n: ["SET cte_max_recursion_depth = 10000000", f"WITH RECURSIVE r AS (SELECT 1 x UNION ALL SELECT x + 1 FROM r WHERE x < {n}) SELECT COUNT(*) FROM r",
                                        f"WITH RECURSIVE r AS (SELECT 1 x UNION DISTINCT SELECT x % {n} + 1 FROM r) SELECT COUNT(*) FROM r"]),
    "recursive joins": rows("SET cte_max_recursion_depth = 10000000", "WITH RECURSIVE r AS (SELECT 0 x UNION ALL SELECT m.a + 1 FROM r JOIN made m ON m.id = r.x) SELECT COUNT(*) FROM r"),
    "subqueries with in": rows("SELECT COUNT(*) FROM made WHERE a IN (SELECT b FROM made)", "SELECT COUNT(*) FROM made WHERE a NOT IN (SELECT b FROM made)", "SELECT COUNT(*) FROM made WHERE a > ALL (SELECT b FROM made WHERE b < 5)",
                               "SELECT COUNT(*) FROM made WHERE (a, d) IN (SELECT b, d FROM made)", "SELECT COUNT(*) FROM made WHERE a + 0 IN (SELECT b FROM made) OR a = -1", "SELECT COUNT(*) FROM made WHERE NULLIF(a, 3) NOT IN (SELECT NULLIF(b, 4) FROM made)",
                               "SELECT COUNT(*) FROM made WHERE a >= ALL (SELECT b FROM made)", "SELECT COUNT(*) FROM made WHERE a = ANY (SELECT b FROM made)"),
    "joined": rows("SELECT COUNT(*) FROM made x JOIN made y ON x.a = y.b", "SELECT COUNT(*) FROM made x LEFT JOIN made y ON x.a = y.b WHERE y.a IS NULL", "SELECT COUNT(*) FROM made x JOIN made y ON x.a = y.id", "SELECT COUNT(*) FROM made x JOIN (SELECT b, COUNT(*) FROM made GROUP BY b) y ON x.a = y.b",
                   "SELECT COUNT(*) FROM made x JOIN made y ON x.a + 1 = y.b AND x.d = y.d", "SELECT COUNT(*) FROM made x WHERE EXISTS (SELECT 1 FROM made y WHERE y.b = x.a)", "SELECT COUNT(*) FROM made x WHERE NOT EXISTS (SELECT 1 FROM made y WHERE y.b = x.a AND y.c = 1)"),
    "joined by null-safe equality": rows("SELECT COUNT(*) FROM made x JOIN made y ON x.a <=> y.b"),
    "updated": rows("UPDATE made SET a = a + 1", "UPDATE made SET id = id + 1000000", "UPDATE made SET d = 'x'", "UPDATE made x JOIN made y ON x.id = y.id SET x.a = y.b", "UPDATE made SET a = 1 ORDER BY d LIMIT 1000", "DELETE FROM made", keys=", KEY (a), KEY (d), UNIQUE KEY (a, id)"),
    "updated repeatedly": rows("BEGIN", *["UPDATE made SET a = a + 1"] * 8, "DELETE FROM made WHERE a % 2", "COMMIT", "SELECT COUNT(*) FROM made", keys=", KEY (a)", most=1 << 15),
    "deleted and inserted": rows("BEGIN", *["DELETE FROM made", "INSERT INTO made SELECT i, i, i, 1, 'x' FROM numbers WHERE i < {n}"] * 4, "COMMIT", keys=", KEY (a), KEY (c)", most=1 << 15),
    "deleted in both orders": rows("BEGIN", "DELETE FROM made ORDER BY id DESC LIMIT 100000", "ROLLBACK", "BEGIN", "DELETE FROM made WHERE c = 1", "SELECT COUNT(*) FROM made WHERE c = 1", "ROLLBACK", keys=", KEY (c)"),
    "equal keys": rows("UPDATE made SET c = 2", "DELETE FROM made WHERE c = 2", "INSERT INTO made SELECT i, 1, 1, 1, 'x' FROM numbers WHERE i < {n}", "SELECT COUNT(*) FROM made WHERE c = 1 AND id = 5", keys=", KEY (c), KEY (b)"),
    "duplicates": rows("INSERT IGNORE INTO made SELECT i, i, i, 1, 'x' FROM numbers WHERE i < {n}", "REPLACE INTO made SELECT i, i, i, 1, 'x' FROM numbers WHERE i < {n}", "INSERT INTO made SELECT i, i, i, 1, 'x' FROM numbers WHERE i < {n} ON DUPLICATE KEY UPDATE a = made.a + 100000", keys=", UNIQUE KEY (a), UNIQUE KEY u (d, id)"),
    "one duplicate": Script(lambda n: [f"INSERT INTO scratch VALUES {many(n, '(1, {i})')} ON DUPLICATE KEY UPDATE n = n + 1", f"REPLACE INTO scratch VALUES {many(n, '(1, {i})')}", f"INSERT IGNORE INTO scratch VALUES {many(n, '(1, {i})')}", "DELETE FROM scratch"]),
    "one duplicate of many": Script(lambda n: ["DROP TABLE IF EXISTS made", "CREATE TABLE made (id INT AUTO_INCREMENT PRIMARY KEY, a INT, UNIQUE KEY (a))", f"REPLACE INTO made (a) VALUES {many(n, '(1)')}",
                                               f"INSERT INTO made (a) VALUES {many(n, '(1)')} ON DUPLICATE KEY UPDATE a = 1", "DROP TABLE made"]),
    "rows of values": Script(lambda n: [f"INSERT INTO scratch VALUES {many(n, '({i}, {i})')}", "DELETE FROM scratch", f"INSERT INTO scratch VALUES {many(n, 'ROW({i}, {i})').replace('ROW', '')} ON DUPLICATE KEY UPDATE n = VALUES(n)", "DELETE FROM scratch"]),
    "rows of a values statement": Script(lambda n: [f"SELECT COUNT(*) FROM (VALUES {many(n, 'ROW({i}, {i})')}) t", f"SELECT COUNT(*) FROM (VALUES {many(n, 'ROW({i}, {i})')}) t JOIN hundred h ON h.id = t.column_0"]),
    "statements in one transaction": Script(lambda n: ["BEGIN", *each(n, "INSERT INTO scratch VALUES ({i}, 1)"), *each(n, "UPDATE scratch SET n = 2 WHERE id = {i}"), *each(n, "DELETE FROM scratch WHERE id = {i}"), "COMMIT"], most=1 << 13),
    "updates of one row": Script(lambda n: ["BEGIN", "INSERT INTO scratch VALUES (1, 1)", *each(n, "UPDATE scratch SET n = {i} WHERE id = 1"), "COMMIT", "DELETE FROM scratch"], most=1 << 14),
    "commits of one row": Script(lambda n: ["INSERT INTO scratch VALUES (1, 1)", *each(n, "UPDATE scratch SET n = {i} WHERE id = 1"), "SELECT * FROM scratch", "DELETE FROM scratch"], most=1 << 12),
    "inserts and deletes of one key": Script(lambda n: ["BEGIN", *each(n, "INSERT INTO scratch VALUES (1, 1); DELETE FROM scratch WHERE id = 1"), "COMMIT"], most=1 << 13),
    "queue": Script(lambda n: each(n, "INSERT INTO scratch VALUES ({i}, 1); DELETE FROM scratch ORDER BY id LIMIT 1"), lambda n: ["DELETE FROM scratch"], most=1 << 12),
    "children of a parent": Script(lambda n: ["UPDATE parent SET id = 2", "UPDATE parent SET id = 1", "DELETE FROM parent"],
                                   lambda n: ["DROP TABLE IF EXISTS child, parent", "CREATE TABLE parent (id INT PRIMARY KEY)", "INSERT INTO parent VALUES (1)",
                                              "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)", f"INSERT INTO child SELECT i, 1 FROM numbers WHERE i < {n}"],
                                   lambda n: ["DROP TABLE child, parent"], 1 << 15),
    "parents of children": Script(lambda n: ["UPDATE parent SET id = id + 1000000", "DELETE FROM parent"],
                                  lambda n: ["DROP TABLE IF EXISTS child, parent", "CREATE TABLE parent (id INT PRIMARY KEY)", f"INSERT INTO parent SELECT i FROM numbers WHERE i < {n}",
                                             "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE SET NULL ON UPDATE CASCADE)", f"INSERT INTO child SELECT i, i FROM numbers WHERE i < {n}"],
                                  lambda n: ["DROP TABLE child, parent"], 1 << 14),
    "words": Script(lambda n: [f"SELECT COUNT(*) FROM texts WHERE MATCH (t) AGAINST ('{many(n, WORD, ' ')}')", f"SELECT COUNT(*) FROM texts WHERE MATCH (t) AGAINST ('{many(n, '+' + WORD, ' ')}' IN BOOLEAN MODE)",
                               f"SELECT COUNT(*) FROM texts WHERE MATCH (t) AGAINST ('{many(n, WORD + '*', ' ')}' IN BOOLEAN MODE)", f"SELECT COUNT(*) FROM texts WHERE MATCH (t) AGAINST ('{many(n, '(' + WORD + ')', ' ')}' IN BOOLEAN MODE)"]),
    "phrases": Script(lambda n: [f"""SELECT COUNT(*) FROM texts WHERE MATCH (t) AGAINST ('{many(n, '"w{i} w{j}"', ' ')}' IN BOOLEAN MODE)""", f"""SELECT COUNT(*) FROM texts WHERE MATCH (t) AGAINST ('"{many(n, WORD, ' ')}"' IN BOOLEAN MODE)""",
                                 f"SELECT COUNT(*) FROM texts WHERE MATCH (t) AGAINST ('{'same ' * n}')", f"""SELECT COUNT(*) FROM texts WHERE MATCH (t) AGAINST ('"{'same ' * n}"' IN BOOLEAN MODE)"""]),
    "searches": Script(lambda n: [f"SELECT {many(n, MATCH)} FROM texts"], most=1 << 12),
    "words of a row": Script(lambda n: [f"INSERT INTO texts VALUES (1000, '{many(n, WORD, ' ')}')", "UPDATE texts SET t = CONCAT(t, ' more') WHERE id = 1000", """SELECT COUNT(*) FROM texts WHERE MATCH (t) AGAINST ('"w3 w4"' IN BOOLEAN MODE)""",
                                        "DELETE FROM texts WHERE id = 1000"], most=1 << 16),
    "a word of a row": Script(lambda n: [f"INSERT INTO texts VALUES (1000, REPEAT('same ', {n}))", """SELECT COUNT(*) FROM texts WHERE MATCH (t) AGAINST ('"same same same other"' IN BOOLEAN MODE)""", "DELETE FROM texts WHERE id = 1000"]),
}

MATCH = "MATCH (t) AGAINST ('w{i}')"


def text(*expressions):
    """Expressions with {n} in them."""
    return Script(lambda n: ["SELECT " + expression.replace("{n}", str(n)).replace("{half}", str(n // 2)) for expression in expressions], most=1 << 22)


A, AB, COMMAS, NINES = "REPEAT('a', {n})", "REPEAT('ab', {n})", "REPEAT('a,', {n})", "REPEAT('9', {n})"
DOCUMENT = "CONCAT('[', REPEAT('1,', {n}), '1]')"
OBJECT = "(SELECT JSON_OBJECTAGG(CONCAT('k', i), i) FROM numbers WHERE i < {n})"
NUMBERS = "(SELECT JSON_ARRAYAGG(i) FROM numbers WHERE i < {n})"
OBJECTS = """CONCAT('[', REPEAT('{"a": [1, 2]},', {n}), '1]')"""

STRINGS = {
    "replace": text(f"LENGTH(REPLACE({AB}, 'a', 'xyz'))", f"LENGTH(REPLACE({A}, {A}, ''))", f"LENGTH(REPLACE({A}, CONCAT(REPEAT('a', {{half}}), 'b'), ''))"),
    "substring_index": text(f"LENGTH(SUBSTRING_INDEX({COMMAS}, ',', {{half}}))", f"LENGTH(SUBSTRING_INDEX({COMMAS}, ',', -{{half}}))", f"LENGTH(SUBSTRING_INDEX({A}, CONCAT(REPEAT('a', {{half}}), 'b'), 3))", f"LENGTH(SUBSTRING_INDEX({A}, CONCAT(REPEAT('a', {{half}}), 'b'), -3))"),
    "locate": text(f"LOCATE(CONCAT(REPEAT('a', {{half}}), 'b'), {A})", f"INSTR({A}, CONCAT('b', REPEAT('a', {{half}})))", f"POSITION('b' IN {A})", f"LOCATE('é', {A}, {{half}})", f"LOCATE(CONCAT(REPEAT('a', {{half}}), 'b') COLLATE utf8mb4_bin, {A})",
                   f"LOCATE(CONCAT(REPEAT('ß', {{half}}), 'b'), REPEAT('s', {{n}}))"),
    "trim": text(f"LENGTH(TRIM(BOTH 'ab' FROM {AB}))", f"LENGTH(TRIM({A}))", f"LENGTH(TRIM(TRAILING 'a' FROM CONCAT({A}, 'b')))", f"LENGTH(TRIM(LEADING REPEAT('a', {{half}}) FROM {A}))", "LENGTH(RTRIM(REPEAT(' ', {n})))", "LENGTH(LTRIM(CONCAT(REPEAT(' ', {n}), 'a')))"),
    "like": text(f"{A} LIKE '%a%a%a%a%b'", f"{A} LIKE CONCAT(REPEAT('%a', 20), 'b')", f"{A} LIKE CONCAT(REPEAT('_', {{n}}), '%')", f"{A} LIKE CONCAT('%', REPEAT('_', {{half}}), 'b')", f"{A} LIKE CONCAT('%', REPEAT('a', {{half}}), 'b%')", f"{A} LIKE REPEAT('%', {{n}})", f"{A} LIKE CONCAT({A}, '%') COLLATE utf8mb4_bin",
                 f"BINARY {A} LIKE CONCAT('%', REPEAT('a', {{half}}), 'b%')"),
    "soundex": text(f"LENGTH(SOUNDEX({AB}))", "LENGTH(SOUNDEX(REPEAT('bcdlmr', {n})))"),
    "regexp": text(f"{A} REGEXP 'a*b'", f"{A} REGEXP '(a|b)*c'", f"LENGTH(REGEXP_REPLACE({A}, 'a', 'bb'))", f"LENGTH(REGEXP_SUBSTR({A}, 'a', 1, {{half}}))", f"REGEXP_INSTR({A}, 'a', 1, {{half}})", f"LENGTH(REGEXP_REPLACE({A}, 'a*?b', ''))", f"LENGTH(REGEXP_REPLACE({A}, '', 'x'))",
                   f"REGEXP_LIKE({A}, '^(a+)+$')"),
    "regexp from each place": text(f"LENGTH(REGEXP_REPLACE({A}, 'a*b', 'x'))"),
    "long patterns": text(f"'a' REGEXP {A}", "'a' REGEXP REPEAT('a|', {n})", "'a' REGEXP REPEAT('(a)', {n})", "'a' REGEXP CONCAT('[', REPEAT('a-z', {n}), ']')"),
    "json arrays": text(f"JSON_LENGTH({DOCUMENT})", f"LENGTH(JSON_EXTRACT({DOCUMENT}, '$[*]'))", f"LENGTH(JSON_EXTRACT({DOCUMENT}, '$[last]'))", f"LENGTH(JSON_EXTRACT({DOCUMENT}, '$**[0]'))", f"LENGTH(JSON_PRETTY({DOCUMENT}))", f"JSON_DEPTH({DOCUMENT})", f"JSON_VALID({DOCUMENT})",
                        f"LENGTH(JSON_ARRAY_INSERT({DOCUMENT}, '$[0]', 1))", f"LENGTH(JSON_REMOVE({DOCUMENT}, '$[0]'))", f"3 MEMBER OF ({DOCUMENT})", f"JSON_STORAGE_SIZE({DOCUMENT})"),
    "json searches": text(f"LENGTH(JSON_SEARCH(CONCAT('[', REPEAT('\"a\",', {{n}}), '1]'), 'all', 'a'))", f"LENGTH(JSON_EXTRACT({OBJECTS}, '$**.a'))", f"LENGTH(JSON_EXTRACT({OBJECTS}, '$[*].a[*]'))", f"JSON_CONTAINS_PATH({OBJECTS}, 'all', '$**.b')", f"LENGTH(JSON_EXTRACT({OBJECTS}, '$**.a[*]'))"),
    "json objects": text(f"LENGTH({OBJECT})", f"LENGTH(JSON_KEYS({OBJECT}))", f"LENGTH(JSON_MERGE_PATCH({OBJECT}, {OBJECT}))", f"LENGTH(JSON_MERGE_PRESERVE({OBJECT}, {OBJECT}))", f"JSON_CONTAINS({OBJECT}, {OBJECT})", f"JSON_OVERLAPS({OBJECT}, {OBJECT})", f"{OBJECT} = {OBJECT}", f"LENGTH(JSON_REMOVE({OBJECT}, '$.k0'))",
                         f"LENGTH(CAST(CAST({OBJECT} AS CHAR) AS JSON))"),
    "json contains": text(f"JSON_CONTAINS({NUMBERS}, {NUMBERS})"),
    "json overlaps": text(f"JSON_OVERLAPS({NUMBERS}, CAST(CONCAT('[', REPEAT('-1,', {{n}}), '-1]') AS JSON))"),
    "json merges": text(f"JSON_LENGTH(JSON_MERGE_PRESERVE({NUMBERS}, {NUMBERS}))"),
    "json duplicates": text("LENGTH(CAST(CONCAT('{', REPEAT('\"a\": 1,', {n}), '\"b\": 1}') AS JSON))"),
    "json strings": text(f"LENGTH(JSON_QUOTE({AB}))", f"LENGTH(JSON_UNQUOTE(JSON_QUOTE(REPEAT('\"', {{n}}))))", "LENGTH(JSON_UNQUOTE(CONCAT('\"', REPEAT('\\\\u0041', {n}), '\"')))"),
    "json table": text(f"COUNT(*) FROM JSON_TABLE({DOCUMENT}, '$[*]' COLUMNS (a INT PATH '$', o FOR ORDINALITY)) j", f"COUNT(*) FROM JSON_TABLE({OBJECTS}, '$[*]' COLUMNS (NESTED PATH '$.a[*]' COLUMNS (a INT PATH '$'))) j",
                       f"COUNT(*) FROM JSON_TABLE({OBJECTS}, '$[*]' COLUMNS (NESTED PATH '$.a[*]' COLUMNS (a INT PATH '$'), NESTED PATH '$.a[*]' COLUMNS (b INT PATH '$'))) j"),
    "json legs": text("LENGTH(JSON_EXTRACT('{}', CONCAT('$', REPEAT('.a', {n}))))"),
    "numerals": text(f"LENGTH(FORMAT({NINES}, 2))", f"CONV({NINES}, 10, 16)", f"CAST({NINES} AS SIGNED)", f"CAST({NINES} AS DECIMAL(65,0))", f"{NINES} + 0", f"CAST(CONCAT('0.', {NINES}) AS DOUBLE)", f"CAST(CONCAT('1e', {NINES}) AS DOUBLE)", f"{NINES} = 1.5", "CAST(CONCAT(REPEAT('0', {n}), '1') AS DECIMAL(65,30))",
                     f"CONV(REPEAT('z', {{n}}), 36, 2)", f"CAST({NINES} AS DATETIME)", f"CAST({NINES} AS TIME)", f"CAST({NINES} AS YEAR)", f"CAST({NINES} AS FLOAT)", f"LENGTH(ROUND({NINES}, 30))"),
    "encodings": text(f"LENGTH(HEX({A}))", f"LENGTH(UNHEX({NINES}))", f"LENGTH(TO_BASE64({A}))", f"LENGTH(FROM_BASE64(TO_BASE64({A})))", f"LENGTH(COMPRESS({A}))", f"LENGTH(UNCOMPRESS(COMPRESS({A})))", f"MD5({A})", f"SHA2({A}, 512)", f"CRC32({A})", f"LENGTH(AES_ENCRYPT({A}, 'k'))", f"LENGTH(QUOTE(REPEAT('\\'', {{n}})))"),
    "paddings": text(f"LENGTH(LPAD('a', {{n}}, 'bc'))", f"LENGTH(RPAD('a', {{n}}, REPEAT('b', {{half}})))", "LENGTH(SPACE({n}))", f"LENGTH(INSERT({A}, {{half}}, 1, {A}))", f"LENGTH(REVERSE({A}))", f"LENGTH(UPPER({A}))", f"LENGTH(LOWER({A}))", f"LENGTH(SUBSTRING({A}, {{half}}))", f"LENGTH(RIGHT({A}, {{half}}))"),
    "sets": text(f"FIND_IN_SET('b', {COMMAS})", f"LENGTH(EXPORT_SET(5, {A}, 'b', ',', 64))", f"FIND_IN_SET({A}, {COMMAS})"),
    "date formats": text("LENGTH(DATE_FORMAT(NOW(), REPEAT('%Y', {n})))", "STR_TO_DATE(REPEAT('1 ', {n}), REPEAT('%d ', {n}))", f"STR_TO_DATE({A}, {A})", f"STR_TO_DATE({NINES}, '%Y')", "STR_TO_DATE(REPEAT('monda', {n}), REPEAT('%W', {n}))", f"GET_FORMAT(DATE, 'USA')", f"DATE_ADD('2020-01-01', INTERVAL {NINES} DAY)", f"'2020-01-01' + INTERVAL {NINES} YEAR_MONTH",
                         f"TIME_FORMAT('1:1:1', REPEAT('%H', {{n}}))", f"CONVERT_TZ(NOW(), {A}, 'UTC')"),
    "comparisons": text(f"{A} = {A}", f"REPEAT('ß', {{n}}) = REPEAT('ss', {{n}})", "REPEAT('\u200b', {n}) = ''", "REPEAT('e\u0301', {n}) = REPEAT('é', {n})", f"STRCMP({A}, CONCAT({A}, ' '))", f"{A} < {A} COLLATE utf8mb4_bin", f"LENGTH(WEIGHT_STRING({A}))", "REPEAT('ﷺ', {n}) = REPEAT('ﷺ', {n})", f"{A} = {A} COLLATE utf8mb4_general_ci",
                        "REPEAT('\u200b', {n}) LIKE '%a'", "LOCATE('a', REPEAT('\u200b', {n}))", "LENGTH(REPLACE(REPEAT('\u200b', {n}), 'a', ''))", "INSTR(REPEAT('ﷺ', {n}), 'x')", "LENGTH(TRIM(REPEAT('\u0301', {n})))"),
    "conversions": text(f"LENGTH(CONVERT({A} USING utf16))", f"LENGTH(CONVERT({A} USING latin1))", "LENGTH(CONVERT(REPEAT(x'ff', {n}) USING utf8mb4))", f"LENGTH(CAST({A} AS BINARY))", f"CHAR_LENGTH({A})", f"BIT_COUNT({A})", f"LENGTH(~CAST({A} AS BINARY))", f"LENGTH(CAST({A} AS BINARY) << {{half}})"),
    "addresses": text(f"INET_ATON({COMMAS})", "INET_ATON(REPEAT('1.', {n}))", "INET6_ATON(REPEAT(':', {n}))", f"IS_UUID({A})", f"UUID_TO_BIN({A})"),
    "digests": text("STATEMENT_DIGEST(CONCAT('SELECT ', REPEAT('1,', {n}), '1'))", "LENGTH(STATEMENT_DIGEST_TEXT(CONCAT('SELECT ', REPEAT('1+', {n}), '1')))"),
    "passwords": text(f"VALIDATE_PASSWORD_STRENGTH({AB})"),
    "schemas": text("""JSON_SCHEMA_VALID(CONCAT('{"enum": [', REPEAT('1,', {n}), '2]}'), '3')""", """JSON_SCHEMA_VALID('{"uniqueItems": true}', (SELECT JSON_ARRAYAGG(i) FROM numbers WHERE i < {n}))""", """JSON_SCHEMA_VALID(CONCAT('{"required": [', REPEAT('"a",', {n}), '"a"]}'), '{"a": 1}')"""),
}
