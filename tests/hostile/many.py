"""Whatever a statement or a session can have many of: shapes of one size each, for growth.py.

A shape is a statement, or a list of them, or a Script with what has to be there before and what goes away afterwards. Its cost should grow
as its size does. Where a client asks for more (a cross join), it is not here.
"""

from dataclasses import dataclass
from typing import Callable, Optional


@dataclass
class Script:
    """`measured` is what counts; `before` and `after` are measured too, for themselves. A str is a query, bytes are a packet."""

    measured: Callable
    before: Optional[Callable] = None
    after: Optional[Callable] = None
    most: int = 1 << 20
    # Why it may cost more than its size; it must give way to others all the same.
    known: str = ""


def many(n, form, joint=", ", first=0):
    return joint.join(form.replace("{i}", str(i)).replace("{j}", str(i + 1)) for i in range(first, first + n))


def each(n, form, first=0):
    """Statements, many to a packet."""
    texts = [form.replace("{i}", str(i)).replace("{j}", str(i + 1)) for i in range(first, first + n)]
    return ["; ".join(texts[at:at + 500]) for at in range(0, n, 500)]


def wide(n, form="1 a{i}"):
    return f"SELECT {many(n, form)}"


LISTS = {
    "aliases": lambda n: wide(n),
    "order by aliases": lambda n: f"{wide(n)} ORDER BY {many(n, 'a{i}')}",
    "order by positions": lambda n: f"{wide(n)} ORDER BY {many(n, '{j}')}",
    "order by items": lambda n: f"SELECT {many(n, 'id + {i}')} FROM hundred ORDER BY {many(n, 'id + {i}')}",
    "group by aliases": lambda n: f"SELECT {many(n, 'id + {i} a{i}')} FROM hundred GROUP BY {many(n, 'a{i}')}",
    "group by items": lambda n: f"SELECT {many(n, 'id + {i}')} FROM hundred GROUP BY {many(n, 'id + {i}')}",
    "having aliases": lambda n: f"SELECT {many(n, 'id + {i} a{i}')} FROM hundred HAVING {many(n, 'a{i} > 0', ' AND ')}",
    "aggregates": lambda n: f"SELECT {many(n, 'SUM(id + {i})')} FROM hundred",
    "aggregates in having": lambda n: f"SELECT 1 FROM hundred HAVING {many(n, 'SUM(id + {i}) > 0', ' AND ')}",
    "aggregates in order by": lambda n: f"SELECT n FROM hundred GROUP BY n ORDER BY {many(n, 'SUM(id + {i})')}",
    "distinct aggregates": lambda n: f"SELECT {many(n, 'COUNT(DISTINCT id + {i})')} FROM hundred WHERE id < 3",
    "arguments of a distinct count": lambda n: f"SELECT COUNT(DISTINCT {many(n, 'id + {i}')}) FROM hundred",
    "distinct items": lambda n: f"SELECT DISTINCT {many(n, 'id + {i}')} FROM hundred",
    "stars": lambda n: f"SELECT {many(n, 'hundred.*')} FROM hundred WHERE id = 1",
    "columns of a derived table": lambda n: f"SELECT * FROM ({wide(n)}) t",
    "named columns of a derived table": lambda n: f"SELECT {many(n, 'a{i}')} FROM ({wide(n)}) t",
    "qualified columns of a derived table": lambda n: f"SELECT {many(n, 't.a{i}')} FROM ({wide(n)} UNION ALL {wide(n)}) t WHERE {many(n, 't.a{i} = 1', ' AND ')}",
    "materialised columns": lambda n: f"SELECT {many(n, 'a{i}')} FROM ({wide(n)} LIMIT 1) t ORDER BY {many(n, 'a{i}')}",
    "column list of a derived table": lambda n: f"SELECT * FROM ({wide(n, '1')}) t ({many(n, 'a{i}')})",
    "column list of a common table": lambda n: f"WITH c ({many(n, 'a{i}')}) AS ({wide(n, '1')}) SELECT {many(n, 'a{i}')} FROM c",
    "columns of a recursive table": lambda n: f"WITH RECURSIVE c AS ({wide(n)} UNION ALL SELECT {many(n, 'a{i} + 1')} FROM c WHERE a0 < 3) SELECT * FROM c",
    "columns of a union": lambda n: f"{wide(n)} UNION {wide(n)} ORDER BY {many(n, 'a{i}')}",
    "columns of values": lambda n: f"VALUES ROW({many(n, '{i}')})",
    "using": lambda n: f"SELECT COUNT(*) FROM ({wide(n)}) t JOIN ({wide(n)}) u USING ({many(n, 'a{i}')})",
    "natural": lambda n: f"SELECT * FROM ({wide(n)}) t NATURAL JOIN ({wide(n)}) u",
    "natural left": lambda n: f"SELECT * FROM ({wide(n)} LIMIT 1) t NATURAL LEFT JOIN ({wide(n)} LIMIT 1) u",
    "equal columns": lambda n: f"SELECT COUNT(*) FROM ({wide(n)} LIMIT 1) t JOIN ({wide(n)} LIMIT 1) u ON {many(n, 't.a{i} = u.a{i}', ' AND ')}",
    "chain of equal columns": lambda n: f"SELECT COUNT(*) FROM ({wide(n + 1)} LIMIT 1) t WHERE {many(n, 'a{i} = a{j}', ' AND ')}",
    "equal to constants": lambda n: f"SELECT COUNT(*) FROM ({wide(n)} LIMIT 1) t WHERE {many(n, 'a{i} = 1', ' AND ')}",
    "conditions of a key": lambda n: f"SELECT COUNT(*) FROM hundred WHERE {many(n, 'id > -{j}', ' AND ')}",
    "conditions of two keys": lambda n: f"SELECT COUNT(*) FROM hundred WHERE {many(n, '(id > {i} AND n < {i})', ' OR ')}",
    "ranges of two keys": lambda n: f"SELECT COUNT(*) FROM hundred WHERE {many(n, '(id = {i} OR n = {i})', ' OR ')}",
    "overlapping ranges": lambda n: f"SELECT COUNT(*) FROM hundred WHERE {many(n, 'id BETWEEN {i} AND 1000000', ' OR ')}",
    "ands of ors": lambda n: f"SELECT COUNT(*) FROM hundred WHERE {many(n, '(id = {i} OR n = {j})', ' AND ')}",
    "not in": lambda n: f"SELECT COUNT(*) FROM hundred WHERE id NOT IN ({many(n, '{i}')})",
    "in strings": lambda n: f"SELECT COUNT(*) FROM hundred WHERE s IN ({many(n, QUOTED)})",
    "in strings for a number": lambda n: f"SELECT COUNT(*) FROM hundred WHERE id IN ({many(n, QUOTED)})",
    "in the same": lambda n: f"SELECT COUNT(*) FROM hundred WHERE id IN ({many(n, '7')})",
    "in expressions": lambda n: f"SELECT COUNT(*) FROM hundred WHERE id IN ({many(n, 'n + {i}')})",
    "in mixed": lambda n: f"SELECT COUNT(*) FROM hundred WHERE s IN ({many(n, QUOTED)}, {many(n, '{i}')})",
    "in decimals": lambda n: f"SELECT COUNT(*) FROM hundred WHERE id IN ({many(n, '{i}.5')})",
    "in rows": lambda n: f"SELECT COUNT(*) FROM hundred WHERE (n, id) IN ({many(n, '({i}, {j})')})",
    "in rows of strings": lambda n: f"SELECT COUNT(*) FROM hundred WHERE (s, id) IN ({many(n, ROW)})",
    "in wide rows": lambda n: f"SELECT COUNT(*) FROM hundred WHERE ({many(n, 'id')}) IN (({many(n, '{i}')}))",
    "in two lists": lambda n: f"SELECT COUNT(*) FROM pairs WHERE a IN ({many(n, '{i}')}) AND b IN ({many(n, '{i}')})",
    "wide rows": lambda n: f"SELECT ({many(n, '{i}')}) = ({many(n, '{i}')})",
    "wide rows less": lambda n: f"SELECT ({many(n, '{i}')}) < ({many(n, '{i}')})",
    "rows less than a key": lambda n: f"SELECT COUNT(*) FROM hundred WHERE {many(n, '(id, n) < ({i}, 3)', ' OR ')}",
    "searched case": lambda n: f"SELECT CASE {many(n, 'WHEN id = {i} THEN n + {i}', ' ')} END FROM hundred",
    "case of a value": lambda n: f"SELECT CASE id {many(n, 'WHEN {i} THEN {j}', ' ')} END FROM hundred",
    "case of strings": lambda n: f"SELECT CASE s {many(n, WHEN, ' ')} END FROM hundred",
    "coalesce": lambda n: f"SELECT COALESCE({many(n, 'NULL')}, 1)",
    "coalesce of strings": lambda n: f"SELECT COALESCE({many(n, QUOTED)})",
    "field": lambda n: f"SELECT FIELD('x', {many(n, QUOTED)})",
    "field of rows": lambda n: f"SELECT id FROM hundred ORDER BY FIELD(id, {many(n, '{i}')})",
    "elt": lambda n: f"SELECT ELT({n}, {many(n, QUOTED)})",
    "greatest": lambda n: f"SELECT GREATEST({many(n + 1, '{i}')})",
    "greatest of strings": lambda n: f"SELECT GREATEST('', {many(n, QUOTED)})",
    "interval": lambda n: f"SELECT INTERVAL({n}, {many(n, '{i}')})",
    "concat_ws": lambda n: f"SELECT LENGTH(CONCAT_WS(',', {many(n, QUOTED)}))",
    "make_set": lambda n: f"SELECT LENGTH(MAKE_SET(-1, {many(n, QUOTED)}))",
    "char": lambda n: f"SELECT LENGTH(CHAR({many(n, '65')}))",
    "json_object": lambda n: f"SELECT LENGTH(JSON_OBJECT({many(n, PAIR)}))",
    "json_object with one key": lambda n: f"SELECT LENGTH(JSON_OBJECT({many(n, SAME_PAIR)}))",
    "json_array": lambda n: f"SELECT LENGTH(JSON_ARRAY({many(n, '{i}')}))",
    "json_extract": lambda n: f"SELECT LENGTH(JSON_EXTRACT(JSON_OBJECT({many(n, PAIR)}), {many(n, PATH)}))",
    "json_set": lambda n: f"SELECT LENGTH(JSON_SET('{{}}', {many(n, PATH_PAIR)}))",
    "json_insert": lambda n: f"SELECT LENGTH(JSON_INSERT('{{}}', {many(n, PATH_PAIR)}))",
    "json_array_append": lambda n: f"SELECT LENGTH(JSON_ARRAY_APPEND('[]', {many(n, ROOT_PAIR)}))",
    "json_array_insert": lambda n: f"SELECT LENGTH(JSON_ARRAY_INSERT('[]', {many(n, FIRST_PAIR)}))",
    "json_remove": lambda n: f"SELECT LENGTH(JSON_REMOVE(JSON_OBJECT({many(n, PAIR)}), {many(n, PATH)}))",
    "json_contains_path": lambda n: f"SELECT JSON_CONTAINS_PATH(JSON_OBJECT({many(n, PAIR)}), 'all', {many(n, PATH)})",
    "json_merge_patch": lambda n: f"SELECT LENGTH(JSON_MERGE_PATCH('{{}}', {many(n, DOCUMENT)}))",
    "json_merge_preserve": lambda n: f"SELECT LENGTH(JSON_MERGE_PRESERVE('{{}}', {many(n, DOCUMENT)}))",
    "json_merge_preserve of arrays": lambda n: f"SELECT LENGTH(JSON_MERGE_PRESERVE('[]', {many(n, ARRAY)}))",
    "legs of a path": lambda n: f"SELECT JSON_EXTRACT('{{}}', '${'.a' * n}')",
    "ellipses of a path": lambda n: f"SELECT JSON_EXTRACT('[[[[[[[[1]]]]]]]]', '${'**[0]' * n}')",
    "columns of documents": lambda n: f"SELECT * FROM JSON_TABLE('[1]', '$[*]' COLUMNS ({many(n, COLUMN)})) j",
    "distinct windows": lambda n: f"SELECT {many(n, 'SUM(id) OVER w{i}')} FROM hundred WHERE id < 3 WINDOW {many(n, 'w{i} AS (PARTITION BY n ORDER BY id + {i})')}",
    "the same windows": lambda n: f"SELECT {many(n, 'SUM(id + {i}) OVER (ORDER BY id)')} FROM hundred WHERE id < 3",
    "window names": lambda n: f"SELECT 1 FROM hundred WINDOW {many(n, 'w{i} AS ()')}",
    "items of a window": lambda n: f"SELECT SUM(id) OVER (PARTITION BY {many(n, 'id + {i}')} ORDER BY {many(n, 'id + {i}')}) FROM hundred",
    "items of group_concat": lambda n: f"SELECT LENGTH(GROUP_CONCAT({many(n, 'id + {i}')} ORDER BY {many(n, 'id + {i}')})) FROM hundred",
    "groupings": lambda n: f"SELECT {many(n, 'GROUPING(id)')} FROM hundred GROUP BY id WITH ROLLUP",
    "rollup of items": lambda n: f"SELECT {many(min(n, 64), 'id + {i}')} FROM hundred GROUP BY {many(n, 'id + {i}')} WITH ROLLUP",
    "subqueries beside": lambda n: f"SELECT {many(n, '(SELECT {i})')}",
    "subqueries of a table": lambda n: f"SELECT {many(n, '(SELECT n FROM hundred WHERE id = {i})')}",
    "correlated subqueries": lambda n: f"SELECT {many(n, '(SELECT a.id + b.id FROM hundred b WHERE b.id = a.n + {i})')} FROM hundred a WHERE a.id < 3",
    "exists beside": lambda n: f"SELECT COUNT(*) FROM hundred a WHERE a.id < 3 AND {many(n, 'EXISTS (SELECT 1 FROM hundred b WHERE b.id = a.id)', ' AND ')}",
    "or of exists": lambda n: f"SELECT COUNT(*) FROM hundred a WHERE a.id < 3 AND ({many(n, 'NOT EXISTS (SELECT 1 FROM hundred b WHERE b.id = a.id)', ' OR ')})",
    "in subqueries beside": lambda n: f"SELECT COUNT(*) FROM hundred a WHERE {many(n, 'a.id IN (SELECT n FROM hundred b WHERE id < {i})', ' OR ')}",
    "derived tables of unions": lambda n: many(n, "SELECT * FROM (SELECT 1 UNION SELECT 2) t", " UNION "),
    "unions of a table": lambda n: many(n, "SELECT id FROM hundred WHERE id = {i}", " UNION ALL "),
    "excepts": lambda n: "SELECT 1 x " + many(n, "EXCEPT SELECT {i}", " "),
    "common tables in a chain of unions": lambda n: f"WITH {many(n, 'c{i} AS (SELECT {i} x)')} {many(n, 'SELECT x FROM c{i}', ' UNION ALL ')}",
    "tables with conditions": lambda n: f"SELECT COUNT(*) FROM {many(min(n, 61), 'one t{i}')} WHERE {many(n, 't0.id = 1', ' AND ')}",
    "star of joins": lambda n: f"SELECT COUNT(*) FROM one t0 {many(min(n, 60), 'JOIN one t{j} ON t{j}.id = t0.id', ' ')}",
    "clique of joins": lambda n: "SELECT COUNT(*) FROM one t0" + "".join(f" JOIN one t{i} ON " + many(i, f"t{i}.id = t{{i}}.id", " AND ") for i in range(1, min(n, 61))),
    "joins without keys": lambda n: "SELECT COUNT(*) FROM pairs t0" + "".join(f" JOIN pairs t{i} ON t{i}.b = t{i - 1}.b + 1" for i in range(1, min(n, 61))),
    "nested left joins": lambda n: "SELECT COUNT(*) FROM " + many(min(n, 60), "one t{i} LEFT JOIN (", "") + "one x" + "".join(f") ON t{i}.id = 1" for i in reversed(range(min(n, 60)))),
    "right joins": lambda n: "SELECT COUNT(*) FROM one x" + "".join(f" RIGHT JOIN one t{i} ON t{i}.id = x.id" for i in range(min(n, 60))),
    "hint names": lambda n: f"SELECT /*+ {many(n, 'NO_INDEX(t{i} k)', ' ')} */ 1 FROM hundred",
    "query blocks": lambda n: f"SELECT /*+ {many(n, 'QB_NAME(q{i})', ' ')} */ 1",
    "tables of a hint": lambda n: f"SELECT /*+ JOIN_ORDER({many(n, 't{i}')}) */ 1 FROM one",
    "index hints": lambda n: f"SELECT 1 FROM hundred USE INDEX ({many(n, 'n')})",
    "set of variables": lambda n: f"SET {many(n, '@a{i} = {i}')}",
    "assigned variables": lambda n: f"SELECT {many(n, '@a{i} := {i}')}",
    "read variables": lambda n: f"SELECT {many(n, '@a{i}')}",
    "into variables": lambda n: f"SELECT {many(n, '{i}')} INTO {many(n, '@a{i}')}",
    "session variables": lambda n: f"SET {many(n, 'sort_buffer_size = 32768')}",
    "system variables": lambda n: f"SELECT {many(n, '@@sort_buffer_size')}",
    "modes": lambda n: f"SET sql_mode = '{many(n, 'ANSI_QUOTES', ',')}'",
    "optimizer switches": lambda n: f"SET optimizer_switch = '{many(n, 'mrr=on', ',')}'",
    "inserted columns": lambda n: f"INSERT IGNORE INTO scratch ({many(n, 'id')}) VALUES ({many(n, '1')})",
    "inserted unknown columns": lambda n: f"INSERT INTO scratch ({many(n, 'c{i}')}) VALUES ({many(n, '1')})",
    "assignments of a duplicate": lambda n: f"INSERT INTO scratch (id, n) VALUES (1, 1) ON DUPLICATE KEY UPDATE {many(n, 'n = n + {i}')}",
    "updated expressions": lambda n: f"UPDATE scratch SET {many(n, 'n = n + {i}')}",
    "deleted tables": lambda n: f"DELETE {many(min(n, 61), 't{i}')} FROM {many(min(n, 61), 'scratch t{i}')} WHERE t0.id = -1",
    "updated tables": lambda n: f"UPDATE {many(min(n, 61), 'scratch t{i}')} SET {many(min(n, 61), 't{i}.n = 1')} WHERE t0.id = -1",
    "parameters": lambda n: [bytes([22]) + f"SELECT {many(n, '?')}".encode()],
    "many statements": lambda n: many(n, "DO 1", "; "),
    "many selects": lambda n: many(n, "SELECT {i}", "; "),
    "prepared text": lambda n: f"PREPARE p FROM 'SELECT {many(n, '?')}'",
    "executed variables": lambda n: [f"PREPARE p FROM 'SELECT {many(n, '?')}'", f"EXECUTE p USING {many(n, '@a{i}')}"],
    "long comment": lambda n: f"SELECT /* {'*' * n * 16} */ 1",
    "nested comments": lambda n: f"SELECT 1 {'/*!80000 + 1 ' * n}{'*/' * n}",
    "line comments": lambda n: "SELECT 1 " + "-- x\n" * n,
    "spaces": lambda n: f"SELECT {' ' * n * 64} 1",
    "long hint": lambda n: f"SELECT /*+ {'x ' * n} */ 1",
    "long number": lambda n: f"SELECT {'1' * n}",
    "long decimal": lambda n: f"SELECT 0.{'1' * n}",
    "long double": lambda n: f"SELECT 1{'1' * n}e-{n}",
    "long hexadecimal": lambda n: f"SELECT LENGTH(0x{'1f' * n})",
    "long bits": lambda n: f"SELECT LENGTH(b'{'1' * n}')",
    "long string": lambda n: f"SELECT LENGTH('{'x' * n * 16}')",
    "long escaped string": lambda n: "SELECT LENGTH('" + "\\'" * n * 16 + "')",
    "long quoted name": lambda n: f"SELECT 1 FROM `{'``' * n}`",
    "qualified names": lambda n: "SELECT a" + ".a" * n,
    "concatenated pipes": lambda n: "SELECT 'a'" + " || 'a'" * n,
    "products": lambda n: f"SELECT id FROM hundred WHERE id < 3 AND 0 <> {many(n, 'id', ' * 0 + ')}",
    "decimal sum": lambda n: "SELECT 1" + " + 1.5" * n,
    "decimal product": lambda n: "SELECT 1" + " * 1.5" * n,
    "decimal quotient": lambda n: "SELECT 1" + " / 1.5" * n,
    "columns of a sum": lambda n: f"SELECT {many(n, 'id', ' + ')} FROM hundred WHERE id < 3",
    "like or like": lambda n: f"SELECT COUNT(*) FROM hundred WHERE {many(n, LIKE, ' OR ')}",
    "regexp or regexp": lambda n: f"SELECT COUNT(*) FROM hundred WHERE id < 3 AND ({many(n, REGEXP, ' OR ')})",
    "between": lambda n: f"SELECT COUNT(*) FROM hundred WHERE {many(n, 'id BETWEEN n AND {i}', ' AND ')}",
    "collations": lambda n: f"SELECT CONCAT({many(n, COLLATED)})",
    "introducers": lambda n: f"SELECT LENGTH(CONCAT({many(n, INTRODUCED)}))",
    "casts beside": lambda n: f"SELECT {many(n, CAST)}",
    "dates": lambda n: f"SELECT {many(n, DATE)}",
    "explained aliases": lambda n: f"EXPLAIN {wide(n)} ORDER BY {many(n, 'a{i}')}",
    "explained conditions": lambda n: f"EXPLAIN FORMAT=TREE SELECT COUNT(*) FROM hundred WHERE {many(n, 'n <> {i}', ' AND ')}",
    "explained json": lambda n: f"EXPLAIN FORMAT=JSON SELECT COUNT(*) FROM hundred WHERE {many(n, 'n <> {i}', ' AND ')}",
    "explained list": lambda n: f"EXPLAIN SELECT COUNT(*) FROM hundred WHERE n IN ({many(n, '{i}')})",
    "dropped users": lambda n: f"DROP USER IF EXISTS {many(n, 'nobody{i}@localhost')}",
    "dropped views": lambda n: f"DROP VIEW IF EXISTS {many(n, 'nothing{i}')}",
    "dropped tables": lambda n: f"DROP TABLE IF EXISTS {many(n, 'nothing{i}')}",
    "the same user": lambda n: f"DROP USER IF EXISTS {many(n, 'nobody@localhost')}",
    "locked tables": lambda n: [f"LOCK TABLES {many(n, 'hundred t{i} READ')}", "UNLOCK TABLES"],
    "checked tables": lambda n: f"CHECK TABLE {many(n, 'hundred')}",
    "analyzed tables": lambda n: f"ANALYZE TABLE {many(n, 'nothing{i}')}",
    "checksums": lambda n: f"CHECKSUM TABLE {many(n, 'nothing{i}')}",
    "renamed tables": lambda n: "RENAME TABLE scratch TO x0, " + many(n, "x{i} TO x{j}") + f", x{n} TO scratch",
    "granted columns": lambda n: f"GRANT SELECT ({many(n, 'c{i}')}) ON hostile.hundred TO granted@localhost",
    "granted to many": lambda n: f"GRANT SELECT ON hostile.hundred TO {many(n, 'granted@localhost')}",
    "granted privileges": lambda n: f"GRANT {many(n, 'SELECT')} ON hostile.hundred TO granted@localhost",
    "granted dynamic privileges": lambda n: f"GRANT {many(n, 'P{i}')} ON *.* TO granted@localhost",
    "granted roles": lambda n: f"GRANT {many(n, 'nobody{i}')} TO granted@localhost",
    "signal's items": lambda n: f"SIGNAL SQLSTATE '45000' SET {many(n, SIGNAL)}",
    "diagnoses": lambda n: f"GET DIAGNOSTICS {many(n, '@a{i} = NUMBER')}",
    "attributes of a user": lambda n: f"ALTER USER granted@localhost ATTRIBUTE '{{{many(n, KEY)}}}'",
    "load's columns": lambda n: f"LOAD DATA INFILE 'nothing' INTO TABLE scratch ({many(n, '@a{i}')}) SET {many(n, 'n = @a{i}')}",
}

# Forms with quotes in them.
QUOTED, ROW, WHEN, PAIR, SAME_PAIR = "'v{i}'", "('v{i}', {i})", "WHEN 'v{i}' THEN {i}", "'k{i}', {i}", "'k', {i}"
PATH, PATH_PAIR, ROOT_PAIR, FIRST_PAIR, DOCUMENT, ARRAY = "'$.k{i}'", "'$.k{i}', {i}", "'$', {i}", "'$[0]', {i}", "'{\"k{i}\": 1}'", "'[{i}]'"
COLUMN, LIKE, REGEXP, COLLATED, INTRODUCED = "c{i} INT PATH '$'", "s LIKE 'x{i}%'", "s REGEXP 'x{i}.*'", "'a' COLLATE utf8mb4_bin", "_latin1'a'"
CAST, DATE, SIGNAL, KEY = "CAST('{i}' AS DECIMAL(20,2))", "DATE'2020-01-01' + INTERVAL {i} DAY", "MESSAGE_TEXT = 'x'", '"k{i}": {i}'

COMMENT = "c{i} INT COMMENT 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'"
GONE = "DROP TABLE IF EXISTS made"


BOUNDED = "the parts of one definition are compared with each other; a table has 4,096 columns at most"


def table(columns, *more):
    return Script(lambda n: [columns(n), *(one(n) for one in more)], lambda n: [GONE], lambda n: [GONE], known=BOUNDED)


def altered(before, action):
    return Script(lambda n: [f"ALTER TABLE made {action(n)}"], lambda n: [GONE, before(n)], lambda n: [GONE], 4000, BOUNDED)


def columns(n, form="c{i} INT"):
    return f"CREATE TABLE made ({many(n, form)})"


DEFINITIONS = {
    "columns with comments": table(lambda n: columns(n, COMMENT), lambda n: "SHOW CREATE TABLE made", lambda n: "SHOW FULL COLUMNS FROM made"),
    "columns with keys": table(lambda n: f"CREATE TABLE made ({many(min(n, 1000), 'c{i} INT')}, {many(n, 'KEY k{i} (c{i})')})"),
    "named keys": table(lambda n: f"CREATE TABLE made (c INT, {many(n, 'KEY k{i} (c)')})"),
    "distinct key parts": table(lambda n: f"CREATE TABLE made ({many(min(n, 1000), 'c{i} INT')}, KEY ({many(n, 'c{i}')}))"),
    "foreign keys": table(lambda n: f"CREATE TABLE made (c INT, {many(n, 'FOREIGN KEY (c) REFERENCES hundred (id)')})"),
    "foreign keys of columns": table(lambda n: f"CREATE TABLE made ({many(n, 'c{i} INT')}, {many(n, 'FOREIGN KEY (c{i}) REFERENCES hundred (id)')})"),
    "parts of a foreign key": table(lambda n: f"CREATE TABLE made (c INT, FOREIGN KEY ({many(n, 'c')}) REFERENCES hundred ({many(n, 'id')}))"),
    "named checks": table(lambda n: f"CREATE TABLE made (c INT, {many(n, 'CONSTRAINT h{i} CHECK (c > {i})')})", lambda n: "INSERT INTO made VALUES (10000000)", lambda n: "SHOW CREATE TABLE made"),
    "unnamed checks": table(lambda n: f"CREATE TABLE made (c INT, {many(n, 'CHECK (c > {i})')})", lambda n: "ALTER TABLE made ADD CHECK (c > 0)"),
    "checks of columns": table(lambda n: columns(n, "c{i} INT CHECK (c{i} > 0)")),
    "generated columns": table(lambda n: f"CREATE TABLE made (c INT, {many(n, 'g{i} INT AS (c + {i})')})", lambda n: "INSERT INTO made (c) VALUES (1)"),
    "stored generated chain": table(lambda n: f"CREATE TABLE made (c0 INT, {many(n, 'c{j} INT AS (c{i} + 1) STORED')})", lambda n: "INSERT INTO made (c0) VALUES (1)"),
    "generated of all": table(lambda n: f"CREATE TABLE made ({many(n, 'c{i} INT')}, g INT AS ({many(n, 'c{i}', ' + ')}))"),
    "defaults": table(lambda n: columns(n, "c{i} INT DEFAULT ({i} + 1)"), lambda n: "INSERT INTO made VALUES ()"),
    "members of an enum": table(lambda n: f"CREATE TABLE made (c ENUM({many(n, QUOTED)}))", lambda n: f"INSERT INTO made VALUES {many(min(n, 3000), VALUE)}", lambda n: "SHOW CREATE TABLE made"),
    "members of a set": table(lambda n: f"CREATE TABLE made (c SET({many(n, QUOTED)}))"),
    "list partitions": table(lambda n: f"CREATE TABLE made (c INT) PARTITION BY LIST (c) ({many(n, 'PARTITION p{i} VALUES IN ({i})')})"),
    "values of a partition": table(lambda n: f"CREATE TABLE made (c INT) PARTITION BY LIST (c) (PARTITION p VALUES IN ({many(n, '{i}')}))"),
    "hash partitions": table(lambda n: f"CREATE TABLE made (c INT) PARTITION BY HASH (c) ({many(n, 'PARTITION p{i}')})"),
    "subpartitions": table(lambda n: f"CREATE TABLE made (c INT) PARTITION BY RANGE (c) SUBPARTITION BY HASH (c) (PARTITION p VALUES LESS THAN (0) ({many(n, 'SUBPARTITION p{i}')}))"),
    "table's options": table(lambda n: "CREATE TABLE made (c INT) " + "COMMENT = 'x' " * n),
    "made of a select": table(lambda n: f"CREATE TABLE made AS {wide(n)}"),
    "made of columns and a select": table(lambda n: f"CREATE TABLE made ({many(n, 'a{i} INT')}) {wide(n)}"),
    "temporary columns": table(lambda n: f"CREATE TEMPORARY TABLE made ({many(n, 'c{i} INT')})"),
    "selected columns": table(columns, lambda n: f"SELECT {many(n, 'c{i}')} FROM made WHERE {many(n, 'c{i} = 1', ' AND ')}"),
    "inserted columns of a table": table(columns, lambda n: f"INSERT INTO made ({many(n, 'c{i}')}) VALUES ({many(n, '1')}) ON DUPLICATE KEY UPDATE {many(n, 'c{i} = c{i} + 1')}"),
    "updated columns": table(columns, lambda n: "INSERT INTO made VALUES ()", lambda n: f"UPDATE made SET {many(n, 'c{i} = 1')}"),
    "joined columns": table(columns, lambda n: f"SELECT COUNT(*) FROM made a JOIN made b USING ({many(n, 'c{i}')})", lambda n: "SELECT * FROM made a NATURAL JOIN made b NATURAL JOIN made c"),
    "columns of a view": Script(lambda n: [f"CREATE OR REPLACE VIEW seen AS {wide(n)}", "SHOW CREATE VIEW seen", f"SELECT {many(n, 'a{i}')} FROM seen", "SHOW COLUMNS FROM seen"], most=4096),
    "column list of a view": Script(lambda n: [f"CREATE OR REPLACE VIEW seen ({many(n, 'c{i}')}) AS {wide(n)}", "SELECT * FROM seen"], most=4096),
    "added columns": altered(lambda n: "CREATE TABLE made (c INT)", lambda n: many(n, "ADD COLUMN a{i} INT")),
    "added columns after": altered(lambda n: "CREATE TABLE made (a0 INT)", lambda n: many(n, "ADD COLUMN a{j} INT AFTER a{i}")),
    "added columns first": altered(lambda n: "CREATE TABLE made (c INT)", lambda n: many(n, "ADD COLUMN a{i} INT FIRST")),
    "dropped columns": altered(lambda n: f"CREATE TABLE made (x INT, {many(n, 'c{i} INT')})", lambda n: many(n, "DROP COLUMN c{i}")),
    "renamed columns": altered(columns, lambda n: many(n, "RENAME COLUMN c{i} TO d{i}")),
    "modified columns": altered(columns, lambda n: many(n, "MODIFY COLUMN c{i} BIGINT")),
    "changed columns": altered(columns, lambda n: many(n, "CHANGE COLUMN c{i} d{i} BIGINT")),
    "moved columns": altered(columns, lambda n: many(n, "MODIFY COLUMN c{i} INT FIRST")),
    "set defaults": altered(columns, lambda n: many(n, "ALTER COLUMN c{i} SET DEFAULT 1")),
    "added keys": altered(columns, lambda n: many(n, "ADD KEY k{i} (c{i})")),
    "dropped keys": altered(lambda n: f"CREATE TABLE made (c INT, {many(min(n, 64), 'KEY k{i} (c)')})", lambda n: many(n, "DROP KEY k{i}")),
    "renamed keys": altered(lambda n: f"CREATE TABLE made (c INT, {many(min(n, 64), 'KEY k{i} (c)')})", lambda n: many(n, "RENAME KEY k{i} TO l{i}")),
    "added checks": altered(lambda n: "CREATE TABLE made (c INT)", lambda n: many(n, "ADD CONSTRAINT h{i} CHECK (c > {i})")),
    "dropped checks": altered(lambda n: f"CREATE TABLE made (c INT, {many(n, 'CONSTRAINT h{i} CHECK (c > {i})')})", lambda n: many(n, "DROP CHECK h{i}")),
    "added foreign keys": altered(columns, lambda n: many(n, "ADD FOREIGN KEY (c{i}) REFERENCES hundred (id)")),
    "added and dropped": altered(lambda n: "CREATE TABLE made (c INT)", lambda n: many(n, "ADD COLUMN a{i} INT, DROP COLUMN b{i}")),
    "added partitions": altered(lambda n: "CREATE TABLE made (c INT)", lambda n: f"ADD PARTITION ({many(n, 'PARTITION p{i} VALUES LESS THAN ({i})')})"),
}

VALUE = "('v{i}')"


def program(body, call=None):
    """A procedure of this body, and its CALL."""
    drop = "DROP PROCEDURE IF EXISTS p0"
    return Script(lambda n: [body(n), (call or (lambda n: "CALL p0()"))(n)], lambda n: [drop], lambda n: [drop])


def block(text):
    return program(lambda n: f"CREATE PROCEDURE p0() BEGIN {text(n)} END")


PROGRAMS = {
    "variables set": block(lambda n: f"DECLARE {many(n, 'v{i}')} INT; {many(n, 'SET v{i} = v{i} + 1;', ' ')}"),
    "variables in one set": block(lambda n: f"DECLARE {many(n, 'v{i}')} INT; SET {many(n, 'v{i} = {i}')};"),
    "variables in a select": block(lambda n: f"DECLARE {many(n, 'v{i}')} INT; SELECT {many(n, 'v{i}')};"),
    "variables into": block(lambda n: f"DECLARE {many(n, 'v{i}')} INT; SELECT {many(n, '{i}')} INTO {many(n, 'v{i}')};"),
    "one declaration each": block(lambda n: f"{many(n, 'DECLARE v{i} INT DEFAULT {i};', ' ')} SET v0 = 1;"),
    "defaults of variables before": block(lambda n: f"DECLARE v0 INT; {many(n, 'DECLARE v{j} INT DEFAULT v{i} + 1;', ' ')} SET v0 = 1;"),
    "conditions": block(lambda n: f"{many(n, 'DECLARE x{i} CONDITION FOR {j};', ' ')} DO 1;"),
    "handlers of conditions": block(lambda n: f"{many(n, 'DECLARE x{i} CONDITION FOR {j};', ' ')} {many(n, 'DECLARE CONTINUE HANDLER FOR x{i} BEGIN END;', ' ')} SELECT * FROM nothing;"),
    "handlers of numbers": block(lambda n: f"{many(n, 'DECLARE CONTINUE HANDLER FOR {j} DO 1;', ' ')} SELECT * FROM nothing;"),
    "cursors opened": block(lambda n: f"{many(n, 'DECLARE k{i} CURSOR FOR SELECT {i};', ' ')} {many(n, 'OPEN k{i};', ' ')}"),
    "fetched variables": block(lambda n: f"DECLARE {many(n, 'v{i}')} INT; DECLARE k CURSOR FOR {wide(n)}; OPEN k; FETCH k INTO {many(n, 'v{i}')};"),
    "blocks beside": block(lambda n: "BEGIN DECLARE a INT; SET a = 1; END; " * n),
    "labels beside": block(lambda n: many(n, "l{i}: BEGIN LEAVE l{i}; END;", " ")),
    "loops beside": block(lambda n: many(n, "l{i}: LOOP LEAVE l{i}; END LOOP;", " ")),
    "ifs beside": block(lambda n: "IF 0 THEN DO 1; ELSE DO 2; END IF; " * n),
    "branches of if": program(lambda n: f"CREATE PROCEDURE p0() BEGIN DECLARE a INT DEFAULT -1; IF a = -2 THEN DO 1; {many(n, 'ELSEIF a = {i} THEN DO 1;', ' ')} END IF; END"),
    "branches of case": block(lambda n: f"CASE -1 {many(n, 'WHEN {i} THEN DO 1;', ' ')} ELSE DO 1; END CASE;"),
    "selects": block(lambda n: many(n, "SELECT {i} INTO @a;", " ")),
    "statements of tables": block(lambda n: many(n, "SELECT n INTO @a FROM hundred WHERE id = {i} % 100;", " ")),
    "turns of a loop": block(lambda n: f"DECLARE a INT DEFAULT 0; WHILE a < {n} DO SET a = a + 1; END WHILE;"),
    "warnings in a loop": block(lambda n: f"DECLARE a INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; WHILE a < {n} DO SET a = a + 1; SIGNAL SQLSTATE '45000'; END WHILE;"),
    "prepares in a loop": block(lambda n: f"DECLARE a INT DEFAULT 0; WHILE a < {n} DO SET a = a + 1; PREPARE q FROM 'DO 1'; EXECUTE q; END WHILE;"),
    "text built in a loop": block(lambda n: f"DECLARE a INT DEFAULT 0; DECLARE t LONGTEXT DEFAULT ''; WHILE a < {n} DO SET a = a + 1, t = 'x'; END WHILE;"),
    "parameters": program(lambda n: f"CREATE PROCEDURE p0({many(n, 'a{i} INT')}) SET a0 = 1", lambda n: f"CALL p0({many(n, '{i}')})"),
    "parameters out": program(lambda n: f"CREATE PROCEDURE p0({many(n, 'OUT a{i} INT')}) SET a0 = 1", lambda n: f"CALL p0({many(n, '@a{i}')})"),
    "calls of a function": Script(lambda n: [f"SELECT {many(n, 'f0({i})')}"], lambda n: ["DROP FUNCTION IF EXISTS f0", "CREATE FUNCTION f0(a INT) RETURNS INT DETERMINISTIC RETURN a"], lambda n: ["DROP FUNCTION f0"]),
    "columns in a trigger": Script(lambda n: [f"CREATE TRIGGER g0 BEFORE INSERT ON made FOR EACH ROW SET {many(n, 'NEW.c{i} = NEW.c{i} + 1')}", "INSERT INTO made VALUES ()"], lambda n: [GONE, columns(n)], lambda n: [GONE], most=1000),
    "statements of a trigger": Script(lambda n: [f"CREATE TRIGGER g0 BEFORE INSERT ON scratch FOR EACH ROW BEGIN {many(n, 'SET NEW.n = NEW.n + 1;', ' ')} END", "INSERT INTO scratch VALUES (-5, 1)", "DROP TRIGGER g0", "DELETE FROM scratch"]),
}
