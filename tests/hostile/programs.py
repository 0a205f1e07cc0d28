"""Hostile scripts: stored procedures with bodies made at random, and the clauses that keep something between statements.

A script is a list of statements, some of which are trees, so that one that breaks the server can be shrunk: whole statements go
first, then parts of bodies, then expressions.
"""

from dataclasses import dataclass

from expressions import LARGE, Shape

TYPES = ["INT", "BIGINT UNSIGNED", "TINYINT", "DECIMAL(65,30)", "DOUBLE", "FLOAT", "CHAR(255)", "VARCHAR(16383)", "TEXT", "LONGTEXT", "LONGBLOB", "BINARY(255)",
         "BIT(64)", "DATE", "DATETIME(6)", "TIMESTAMP(3)", "TIME(6)", "YEAR", "JSON", "ENUM('a', 'b')", "SET('a', 'b')", "TEXT CHARACTER SET latin1", "BOOLEAN"]
CONDITIONS = ["SQLEXCEPTION", "SQLWARNING", "NOT FOUND", "SQLSTATE '45000'", "SQLSTATE '22012'", "SQLSTATE '02000'", "SQLSTATE '01000'", "1146", "1305", "1317", "1456",
              "1690", "1038", "3024", "SQLEXCEPTION, SQLWARNING, NOT FOUND"]
ITEMS = ["MESSAGE_TEXT", "CLASS_ORIGIN", "CONSTRAINT_NAME", "TABLE_NAME", "COLUMN_NAME", "CURSOR_NAME", "MYSQL_ERRNO"]
ASKED = ["RETURNED_SQLSTATE", "MYSQL_ERRNO", "MESSAGE_TEXT", "CLASS_ORIGIN", "TABLE_NAME"]
QUERIES = [
    "SELECT id FROM hundred", "SELECT a.id FROM hundred a, hundred b, hundred c", "SELECT id FROM hundred WHERE id < 0", "SELECT s FROM hundred ORDER BY n DESC",
    "WITH RECURSIVE r AS (SELECT 1 x UNION ALL SELECT x + 1 FROM r) SELECT x FROM r", "SELECT REPEAT('x', 1000000) FROM hundred", "SELECT id FROM scratch FOR UPDATE",
    "SELECT COUNT(*) FROM hundred a, hundred b, hundred c, hundred d", "SELECT n FROM kept", "SELECT SLEEP(0.01) FROM hundred", "SELECT id FROM hundred GROUP BY id, n WITH ROLLUP",
    "SELECT j.x FROM JSON_TABLE('[1, 2, 3]', '$[*]' COLUMNS (x INT PATH '$')) j", "VALUES ROW(1), ROW(2)", "SELECT SUM(id) OVER (ORDER BY n) FROM hundred",
]
CHANGES = [
    "INSERT IGNORE INTO scratch SELECT id, n FROM hundred", "REPLACE INTO scratch VALUES (1, 2)", "UPDATE scratch SET n = n + 1", "DELETE FROM scratch",
    "INSERT INTO scratch VALUES (1, 1)", "INSERT INTO kept (n) SELECT id FROM hundred", "DELETE FROM kept", "START TRANSACTION", "COMMIT", "ROLLBACK", "SAVEPOINT s",
    "ROLLBACK TO SAVEPOINT s", "RELEASE SAVEPOINT s", "SET autocommit = 0", "SET autocommit = 1", "CREATE TABLE made (c INT)", "DROP TABLE IF EXISTS made", "TRUNCATE TABLE scratch",
    "ALTER TABLE scratch COMMENT 'x'", "CREATE TEMPORARY TABLE kept (n INT)", "CREATE TEMPORARY TABLE IF NOT EXISTS kept (n INT)", "DROP TEMPORARY TABLE IF EXISTS kept",
    "CREATE OR REPLACE VIEW seen AS SELECT id FROM hundred", "DROP VIEW IF EXISTS seen", "SET sql_mode = ''", "SET sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES'",
    "SET max_sp_recursion_depth = 255", "SET max_sp_recursion_depth = 0", "SET SESSION max_execution_time = 5", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "FLUSH TABLES",
    "DROP PROCEDURE IF EXISTS p0", "DROP PROCEDURE IF EXISTS p1", "DO SLEEP(0.01)", "ANALYZE TABLE scratch", "SHOW WARNINGS", "SHOW TABLES", "EXPLAIN SELECT * FROM hundred",
    "EXPLAIN ANALYZE SELECT COUNT(*) FROM hundred a, hundred b", "HANDLER scratch OPEN", "LOCK TABLES scratch WRITE", "KILL QUERY CONNECTION_ID()", "DO GET_LOCK('l', 0)",
    "DO RELEASE_ALL_LOCKS()", "SET NAMES latin1", "SET NAMES utf8mb4", "SET @@group_concat_max_len = 4", "SET block_encryption_mode = 'aes-256-cfb128'", "USE mysql", "BEGIN",
    "CREATE PROCEDURE p2() SELECT 1", "SET PASSWORD FOR nobody@localhost = 'x'", "CHECKSUM TABLE hundred", "SET @a = NULL", "SET @a = REPEAT(@a, 3)", "SET @a = CONCAT(@a, @a)", "SET @a = '0'",
]
PATHS = ["'$'", "'$.a'", "'$[*]'", "'$[0]'", "'$.*'", "'$**.a'", "'$[last-1]'", "'x'", "CONCAT('$', '.a')", "'$.\"é\"'"]
DYNAMIC = ["SELECT 1", "CALL p0(1, @a)", "CALL p1(2, @a)", "DEALLOCATE PREPARE q", "SELECT ?", "SELECT * FROM hundred", "DROP PROCEDURE p0", "CREATE TABLE made (c INT)", "SET @a = ?",
           "SIGNAL SQLSTATE '45000'", "EXECUTE q", "PREPARE q FROM 'SELECT 1'", "INSERT INTO scratch VALUES (?, ?)", "SELECT", "", "BEGIN", "COMMIT", "SELECT a.id FROM hundred a, hundred b"]


@dataclass(frozen=True)
class Node:
    """`head`, the statements of a body one after the other, `tail`."""
    head: object
    body: tuple = ()
    tail: str = ""

    def __str__(self):
        return str(self.head) + "".join(f" {part}" for part in self.body) + self.tail

    def smaller(self):
        for i, part in enumerate(self.body):
            yield Node(self.head, self.body[:i] + self.body[i + 1:], self.tail)
        for i, part in enumerate(self.body):
            if isinstance(part, Node):
                # What stands inside, in its place.
                yield Node(self.head, self.body[:i] + part.body + self.body[i + 1:], self.tail)
        for i, part in enumerate(self.body):
            for other in part.smaller() if isinstance(part, (Node, Shape)) else ():
                yield Node(self.head, self.body[:i] + (other,) + self.body[i + 1:], self.tail)
        for other in self.head.smaller() if isinstance(self.head, Shape) else ():
            yield Node(other, self.body, self.tail)


@dataclass(frozen=True)
class Script:
    """Statements that run one after the other in a session."""
    statements: tuple

    def __str__(self):
        return ";;\n  ".join(str(statement) for statement in self.statements)

    def texts(self):
        return [str(statement) for statement in self.statements]

    def smaller(self):
        for i in range(len(self.statements)):
            yield Script(self.statements[:i] + self.statements[i + 1:])
        for i, statement in enumerate(self.statements):
            for other in statement.smaller() if isinstance(statement, (Node, Shape)) else ():
                yield Script(self.statements[:i] + (other,) + self.statements[i + 1:])


class Programs:
    """Makes scripts; `expressions` makes the expressions in them."""

    def __init__(self, random, expressions, large):
        self.random, self.expressions, self.large = random, expressions, large
        self.labels = 0

    def pick(self, choices):
        return self.random.choice(choices)

    def name(self):
        """Of a variable, or of a parameter."""
        return self.pick(["a", "b", "c", "x", "@a", "@b"])

    def value(self):
        kind = self.random.random()
        if kind < 0.3:
            return self.name()
        if kind < 0.4:
            return f"CONCAT({self.name()}, {self.name()})"
        if kind < 0.5:
            return Shape(("(", ")"), (f"{self.name()} + 1",))
        if kind < 0.56:
            return f"({self.pick(QUERIES[:4])} LIMIT 1)"
        if self.large and kind < 0.6:
            return self.pick(LARGE)
        return self.expressions.expression(1)

    def condition(self):
        kind = self.random.random()
        if kind < 0.25:
            return "1"
        if kind < 0.4:
            return "0"
        if kind < 0.7:
            return f"{self.name()} {self.pick(['<', '>', '=', '<=>', 'LIKE'])} {self.pick(['1', '100', self.name()])}"
        return Shape(("(", ") IS NOT NULL"), (self.value(),))

    def block(self, depth, label=""):
        """BEGIN … END, with its declarations."""
        parts = []
        names = self.random.sample(["a", "b", "c", "x"], self.random.randint(0, 2))
        for name in names:
            if self.random.random() < 0.4:
                parts.append(f"DECLARE {name} {self.pick(TYPES)};")
            else:
                parts.append(Node(Shape((f"DECLARE {name} {self.pick(TYPES)} DEFAULT ", ";"), (self.value(),))))
        if self.random.random() < 0.2:
            parts.append(f"DECLARE known CONDITION FOR {self.pick(CONDITIONS[3:11])};")
        cursors = self.random.random()
        if cursors < 0.35:
            parts.append(f"DECLARE k CURSOR FOR {self.pick(QUERIES)};")
        for _ in range(self.pick([0, 0, 1, 1, 2])):
            action = self.pick(["CONTINUE", "CONTINUE", "EXIT"])
            parts.append(Node(f"DECLARE {action} HANDLER FOR {self.pick(CONDITIONS)}", (self.statement(depth - 1),)))
        if cursors < 0.3:
            parts.append("OPEN k;")
        parts += [self.statement(depth - 1) for _ in range(self.random.randint(1, 4))]
        return Node(f"{label}BEGIN", tuple(parts), " END;")

    def label(self):
        self.labels += 1
        return f"l{self.random.randint(0, 3)}"

    def statement(self, depth):
        kind = self.random.random()
        if depth > 0 and kind < 0.4:
            return self.compound(depth)
        if kind < 0.5:
            return Node(Shape((f"SET {self.name()} = ", ";"), (self.value(),)))
        if kind < 0.56:
            return f"SET {self.pick(['a', '@a', 'b'])} = {self.pick(['CONCAT(a, a)', 'CONCAT(@a, @a)', 'REPEAT(b, 100)', 'JSON_ARRAY(@a, @a)', 'a + 1', 'x * 2'])};"
        if kind < 0.66:
            return f"CALL {self.pick(['p0', 'p1'])}({self.pick(['x + 1', 'x - 1', '1', 'NULL', '@a'])}, {self.pick(['a', 'b', '@a', 'x'])});"
        if kind < 0.72:
            return f"{self.pick(['FETCH k INTO', 'FETCH k INTO', 'FETCH NEXT FROM k INTO'])} {self.pick(['a', 'b', 'x', 'a, b'])};"
        if kind < 0.75:
            return self.pick(["OPEN k;", "CLOSE k;"])
        if kind < 0.82:
            text = self.pick([Shape(("'", "'"), ("x" * self.pick([0, 128, 129, 5000]),)), self.pick(["a", "@a"])])
            sets = self.pick(["", f" SET {self.pick(ITEMS[:-1])} = {text}", f" SET MYSQL_ERRNO = {self.pick(['0', '1', '1317', '65535', '65536'])}"])
            which = self.pick(["SIGNAL SQLSTATE '45000'", "SIGNAL SQLSTATE '01000'", "SIGNAL SQLSTATE '02000'", "SIGNAL known", "RESIGNAL", "RESIGNAL SQLSTATE '45001'"])
            return which + sets + ";"
        if kind < 0.85:
            area = self.pick(["", "CURRENT ", "STACKED "])
            what = self.pick([f"{self.name()} = NUMBER", f"{self.name()} = ROW_COUNT", f"CONDITION {self.pick(['1', '2', 'a', '999'])} {self.name()} = {self.pick(ASKED)}"])
            return f"GET {area}DIAGNOSTICS {what};"
        if kind < 0.9:
            text = self.pick(DYNAMIC).replace("'", "''")
            return self.pick([f"SET @s = '{text}';", "PREPARE q FROM @s;", f"PREPARE q FROM '{text}';", f"SET @s = '{text}'; PREPARE q FROM @s; EXECUTE q;", "EXECUTE q;", "EXECUTE q USING @a;",
                              "EXECUTE q USING @a, @b;", "DEALLOCATE PREPARE q;", "PREPARE q FROM @a;"])
        if kind < 0.94:
            return self.pick(QUERIES) + ";"
        if kind < 0.95:
            return Node(Shape(("SELECT ", " INTO a;"), (self.value(),)))
        return self.pick(CHANGES) + ";"

    def compound(self, depth):
        kind = self.random.randint(0, 7)
        if kind <= 1:
            return self.block(depth, self.pick(["", f"{self.label()}: "]))
        some = tuple(self.statement(depth - 1) for _ in range(self.random.randint(1, 3)))
        label = self.label()
        leave = self.pick([(), (), (Node(Shape(("IF ", " THEN"), (self.condition(),)), (self.pick(["LEAVE", "ITERATE"]) + f" {label};",), " END IF;"),)])
        if kind == 2:
            return Node(f"{label}: LOOP", some + leave, " END LOOP;")
        if kind == 3:
            return Node(Shape((f"{label}: WHILE ", " DO"), (self.condition(),)), some + leave, " END WHILE;")
        if kind == 4:
            return Node(f"{label}: REPEAT", some + leave, f" UNTIL {self.condition()} END REPEAT;")
        if kind == 5:
            other = self.statement(depth - 1)
            return Node(Shape(("IF ", " THEN"), (self.condition(),)), some + (Node("ELSE", (other,)),), " END IF;")
        if kind == 6:
            return Node(Shape(("CASE ", " WHEN 1 THEN"), (self.value(),)), some, " END CASE;")
        return Node("CASE", tuple(Node(Shape(("WHEN ", " THEN"), (self.condition(),)), (one,)) for one in some), " END CASE;")

    def procedure(self, name):
        modes = self.pick([("IN", "OUT"), ("IN", "INOUT"), ("INOUT", "INOUT"), ("IN", "IN")])
        types = [self.pick(TYPES), self.pick(TYPES)]
        # What the statements below name is there.
        known = ("DECLARE b LONGTEXT;", f"DECLARE c {self.pick(TYPES)};", f"DECLARE known CONDITION FOR {self.pick(CONDITIONS[3:6])};", f"DECLARE k CURSOR FOR {self.pick(QUERIES)};")
        return Node(f"CREATE PROCEDURE {name}({modes[0]} x {types[0]}, {modes[1]} a {types[1]}) BEGIN", known + (self.block(3),), " END")

    def calls(self):
        statements = ["DROP PROCEDURE IF EXISTS p0", self.procedure("p0")]
        if self.random.random() < 0.5:
            statements += ["DROP PROCEDURE IF EXISTS p1", self.procedure("p1")]
        if self.random.random() < 0.6:
            statements.append(f"SET max_sp_recursion_depth = {self.pick(['3', '30', '255'])}")
        if self.random.random() < 0.3:
            statements.append(f"SET SESSION max_execution_time = {self.pick(['1', '20', '300'])}")
        statements.append(Node(Shape(("SET @a = ", ""), (self.expressions.literal(),))))
        for _ in range(self.random.randint(1, 2)):
            # OUT and INOUT take a variable.
            statements.append(Node(Shape(("CALL p0(", ", @a)"), (self.pick([self.expressions.value(), "@a", "1"]),))))
            statements.append(f"CALL {self.pick(['p0', 'p1'])}(@a, @b)")
        if self.random.random() < 0.3:
            statements += [self.pick(["PREPARE q FROM 'CALL p0(?, @a)'", "PREPARE q FROM 'CALL p0(?, ?)'"]), "EXECUTE q USING @a", "EXECUTE q USING @a, @b"]
        statements += ["SHOW CREATE PROCEDURE p0", "SELECT COUNT(*), MAX(LENGTH(ROUTINE_DEFINITION)) FROM information_schema.ROUTINES", "SELECT LENGTH(@a), LENGTH(@b)"]
        return Script(tuple(statements))

    def json_table(self):
        document, path = self.expressions.value(), self.pick(["'$'", "'$[*]'", "'$**.*'", "'$.a[*]'", "'$[last]'", "'$[0 to 4294967295]'", "'x'", "''"])
        actions = ["", " NULL ON EMPTY", " ERROR ON EMPTY", " DEFAULT '1' ON EMPTY", " DEFAULT 'x' ON EMPTY ERROR ON ERROR", " ERROR ON EMPTY ERROR ON ERROR", " DEFAULT '[1' ON ERROR"]

        def columns(depth):
            parts = []
            for _ in range(self.random.randint(1, 4)):
                self.labels += 1
                kind = self.random.random()
                name = f"c{self.labels}"
                if kind < 0.2:
                    parts.append(f"{name} FOR ORDINALITY")
                elif kind < 0.3:
                    parts.append(f"{name} {self.pick(TYPES)} EXISTS PATH {self.pick(PATHS)}")
                elif kind < 0.5 and depth > 0:
                    parts.append(f"NESTED PATH {self.pick(PATHS)} COLUMNS ({columns(depth - 1)})")
                else:
                    parts.append(f"{name} {self.pick(TYPES)} PATH {self.pick(PATHS)}{self.pick(actions)}")
            return ", ".join(parts)

        table = f", {path} COLUMNS ({columns(3)})) j"
        kind = self.random.randint(0, 3)
        if kind == 0:
            return Script((Shape((f"SELECT COUNT(*) FROM hundred h, JSON_TABLE(JSON_ARRAY(h.id, h.s, ", f"){table}"), (document,)),))
        if kind == 1:
            return Script((Shape((f"SELECT h.id FROM hundred h LEFT JOIN JSON_TABLE(", f"{table} ON h.id < 3"), (document,)),))
        return Script((Shape(("SELECT * FROM JSON_TABLE(", table), (document,)),))

    def of_column(self, column):
        """A function whose first argument is the column."""
        while True:
            name, least, most = self.random.choice(self.expressions.functions)
            shape = self.expressions.function(name, self.random.randint(max(least, 1), max(most, 1)), 0)
            if isinstance(shape, Shape) and shape.args:
                return Shape(shape.pieces, (column,) + shape.args[1:])

    def over_expressions(self):
        """A table with a key over an expression, rows, conditions on the expression, changes of the table."""
        expression = str(self.of_column("c"))
        if self.random.random() < 0.7:
            expression = f"CAST({expression} AS {self.pick(['CHAR(40)', 'SIGNED', 'DECIMAL(30,5)', 'DATETIME(6)', 'TIME', 'BINARY(16)', 'JSON', 'DOUBLE'])})"
        more = self.pick(["", ", KEY k2 ((CAST(c AS CHAR(40))) DESC, id)", ", CHECK (c IS NOT NULL OR id > 0)", ", g TEXT AS (c)"])
        make = f"CREATE TABLE made (id INT PRIMARY KEY AUTO_INCREMENT, c {self.pick(TYPES)}, {self.pick(['KEY', 'UNIQUE KEY'])} k (({expression})){more})"
        statements = ["DROP TABLE IF EXISTS made", make]
        for _ in range(self.random.randint(1, 3)):
            statements.append(Shape(("INSERT IGNORE INTO made (c) VALUES (", ")"), (self.expressions.value(0),)))
        for _ in range(2):
            condition = self.pick([f"{expression} = (", f"{expression} < (", f"{expression} <=> (", f"{expression} IN (1, "])
            statements.append(Shape((f"SELECT COUNT(*) FROM made WHERE {condition}", ")"), (self.expressions.value(0),)))
        last = [Shape(("UPDATE made SET c = ", ""), (self.expressions.literal(),)), "ALTER TABLE made ADD COLUMN z INT DEFAULT (id + 1)", "ALTER TABLE made MODIFY c LONGTEXT",
                "ALTER TABLE made RENAME COLUMN c TO d", "ALTER TABLE made DROP COLUMN c", "ALTER TABLE made DROP INDEX k", "DELETE FROM made WHERE id > 1",
                f"ALTER TABLE made ADD KEY k3 (({self.of_column('c')}))", f"SELECT id FROM made ORDER BY {expression} LIMIT 1"]
        statements += self.random.sample(last, 3) + ["SHOW CREATE TABLE made", "SHOW INDEX FROM made", "DROP TABLE IF EXISTS made"]
        return Script(tuple(statements))

    def checked_view(self):
        option = self.pick(["WITH CHECK OPTION", "WITH LOCAL CHECK OPTION", "WITH CASCADED CHECK OPTION"])
        source = self.pick(["scratch", "scratch", "scratch JOIN one USING (id)", "scratch WHERE id IN (SELECT id FROM hundred)"])
        word = "AND" if "WHERE" in source else "WHERE"
        shape = self.of_column("n")
        statements = ["DROP VIEW IF EXISTS seen, seen2", Shape((f"CREATE VIEW seen AS SELECT id, n FROM {source} {word} ", f" {option}"), (shape,)),
                      f"CREATE VIEW seen2 AS SELECT id, n FROM seen WHERE {self.of_column('id')} {option}"]
        for _ in range(3):
            view = self.pick(["seen", "seen2"])
            statements.append(self.pick([
                Shape((f"INSERT INTO {view} (id, n) VALUES (1, ", ")"), (self.expressions.value(0),)), Shape((f"UPDATE {view} SET n = ", ""), (self.expressions.value(0),)),
                f"INSERT IGNORE INTO {view} (id, n) SELECT id, n FROM hundred", f"DELETE FROM {view}", f"REPLACE INTO {view} (id, n) VALUES (1, 2)",
                f"INSERT INTO {view} (id, n) VALUES (1, 2) ON DUPLICATE KEY UPDATE n = 3", f"UPDATE {view} a JOIN hundred b ON a.id = b.id SET a.n = b.n, b.n = a.n"]))
        return Script(tuple(statements + ["SHOW CREATE VIEW seen", "DROP VIEW IF EXISTS seen, seen2"]))

    def of_settings(self):
        """Hints that set variables, modes of AES, reads of the past, EXPLAIN ANALYZE."""
        kind = self.random.randint(0, 3)
        if kind == 0:
            name = self.pick(["sql_mode", "max_execution_time", "group_concat_max_len", "time_zone", "sort_buffer_size", "cte_max_recursion_depth", "max_length_for_sort_data",
                              "optimizer_switch", "block_encryption_mode", "timestamp", "div_precision_increment", "sql_select_limit", "tmp_table_size", "unknown"])
            return Script((Shape((f"SELECT /*+ SET_VAR({name} = ", ") */ COUNT(*), GROUP_CONCAT(s), NOW(6) FROM hundred"), (self.expressions.literal(),)),))
        if kind == 1:
            mode = f"aes-{self.pick([128, 192, 256])}-{self.pick(['ecb', 'cbc', 'cfb1', 'cfb8', 'cfb128', 'ofb'])}"
            name = self.pick(["AES_ENCRYPT", "AES_DECRYPT"])
            args = [self.expressions.value() for _ in range(self.random.randint(2, 6))]
            shape = Shape(tuple([f"SELECT LENGTH({name}("] + [", "] * (len(args) - 1) + ["))"]), tuple(args))
            return Script((f"SET block_encryption_mode = '{mode}'", shape, "SET block_encryption_mode = DEFAULT"))
        if kind == 2:
            of = self.pick(["hundred", "scratch", "seen", "information_schema.TABLES", "nothing", "(SELECT 1)"])
            return Script((Shape((f"SELECT COUNT(*) FROM {of} AS OF TIMESTAMP ", ""), (self.expressions.value(),)),))
        return Script((Shape((f"EXPLAIN ANALYZE {self.pick(['', 'FORMAT=TREE '])}SELECT ", f" FROM hundred a JOIN hundred b ON a.id = b.n GROUP BY {self.random.randint(1, 2)}"),
                             (self.expressions.value(2),)),))

    def script(self):
        kind = self.random.random()
        if kind < 0.5:
            return self.calls()
        return self.pick([self.json_table, self.over_expressions, self.checked_view, self.of_settings])()
