"""The worst statements known: what each does to a server that does not give way or does not count."""

MIB = 1 << 20

SETUP = [
    "CREATE DATABASE IF NOT EXISTS robustness",
    "USE robustness",
    "CREATE TABLE points (id INT PRIMARY KEY, k INT, c CHAR(120))",
    "CREATE TABLE ten (n INT PRIMARY KEY)",
    "INSERT INTO ten VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
    "CREATE TABLE two_hundred (n INT PRIMARY KEY, v INT)",
    "INSERT INTO two_hundred SELECT a.n*100+b.n*10+c.n, a.n FROM ten a, ten b, ten c WHERE a.n < 2",
    "INSERT INTO points SELECT a.n*1000+b.n*100+c.n*10+d.n, a.n, REPEAT('x',100) FROM ten a, ten b, ten c, ten d",
    "CREATE TABLE many (n INT PRIMARY KEY, v INT, s VARCHAR(40))",
    "CREATE TABLE edges (a INT, b INT, KEY (a))",
    "INSERT INTO edges SELECT x.n, y.n FROM ten x, ten y",
]
# The table `many` gets as many rows as the run asks for, ten thousand at a time.
FILL_MANY = ("INSERT INTO many SELECT {start}+a.n*1000+b.n*100+c.n*10+d.n, (a.n*7919+b.n*104729+c.n*13+d.n*997+{start}) % 100003,"
             " CONCAT('s', d.n, c.n, b.n, a.n, {start}) FROM ten a, ten b, ten c, ten d")


def chained_ctes(levels):
    parts = ["c0 AS (SELECT 1 x)"]
    parts += [f"c{n} AS (SELECT a.x FROM c{n-1} a, c{n-1} b)" for n in range(1, levels)]
    return f"WITH {', '.join(parts)} SELECT COUNT(*) FROM c{levels-1}"


def line_of_ctes(levels):
    parts = ["c0 AS (SELECT 1 x)"] + [f"c{n} AS (SELECT a.x FROM c{n-1} a)" for n in range(1, levels)]
    return f"WITH {', '.join(parts)} SELECT x FROM c{levels-1}"


def nested_derived(levels):
    sql = "SELECT 1 x"
    for n in range(levels):
        sql = f"SELECT {'ABS(' * 50}x{')' * 50} x FROM ({sql}) d{n}"
    return sql


class Statement:
    """`sql` runs again and again, and `after` behind it each time; `series` is run once per connection before them, `clean_up` at the
    end; `prepared` is prepared instead of run. In all of them `{n}` is the attacker's number, and `{share}` are as many rows as each
    has of the large table's where they share it. `is_known`: does not hold the bounds of an unoptimized build yet, as its functions do not give way inside one call."""

    def __init__(self, name, sql, series=(), after=(), clean_up=(), prepared=0, multi=False, is_known=False):
        self.name, self.sql, self.series, self.prepared, self.multi = name, sql, series, prepared, multi
        self.after, self.clean_up = after, clean_up
        self.is_known = is_known


def statements():
    return [
        Statement("join of four tables of 200 rows, no row found",
                  "SELECT COUNT(*) FROM two_hundred a, two_hundred b, two_hundred c, two_hundred d WHERE a.v+b.v+c.v+d.v < 0"),
        Statement("LOCATE of 400 kB in 2 MB", "SELECT LOCATE(CONCAT(REPEAT('a',400000),'b'), REPEAT('a',2000000))"),
        Statement("REPLACE in 30 MB", "SELECT LENGTH(REPLACE(REPEAT('ab',15000000),'a','bcd'))"),
        Statement("LIKE over 10 MB", "SELECT REPEAT('a',10000000) LIKE '%a%a%a%a%b'"),
        Statement("REGEXP over 30 MB", "SELECT REPEAT('ab',15000000) REGEXP '(a|b)*c'", is_known=True),
        Statement("UPPER and REVERSE of 60 MB", "SELECT LENGTH(UPPER(REVERSE(REPEAT('ab',30000000))))", is_known=True),
        Statement("SHA2 of 60 MB", "SELECT SHA2(REPEAT('a',60000000),512)", is_known=True),
        Statement("COMPRESS of 60 MB", "SELECT LENGTH(COMPRESS(REPEAT('abcdefg',8000000)))", is_known=True),
        Statement("JSON document of 60 MB", "SELECT JSON_LENGTH(CONCAT('[1', REPEAT(',1',30000000), ']'))"),
        Statement("GROUP_CONCAT with ORDER BY", "SELECT LENGTH(GROUP_CONCAT(s ORDER BY v)) FROM many",
                  series=["SET group_concat_max_len=50000000"]),
        Statement("window over all rows", "SELECT SUM(x) FROM (SELECT SUM(v) OVER (ORDER BY v) x FROM many) d"),
        Statement("RANGE frame with distances",
                  "SELECT SUM(x) FROM (SELECT SUM(v) OVER (ORDER BY v RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) x FROM many) d"),
        Statement("join of derived tables",
                  "SELECT COUNT(*) FROM (SELECT v FROM many) a JOIN (SELECT v FROM many) b ON a.v=b.v"),
        Statement("UNION of all rows with itself", "SELECT COUNT(*) FROM (SELECT s,v FROM many UNION SELECT s,v FROM many) d"),
        Statement("sort of all rows", "SELECT s FROM many ORDER BY v, s LIMIT 100000, 1"),
        Statement("GROUP BY of all rows", "SELECT COUNT(*) FROM (SELECT s, COUNT(*) FROM many GROUP BY s) d"),
        Statement("SELECT DISTINCT", "SELECT COUNT(DISTINCT s, v) FROM many"),
        Statement("correlated subqueries", "SELECT COUNT(*) FROM many m WHERE v = (SELECT MAX(v) FROM many k WHERE k.v < m.v)"),
        Statement("two million statements in a packet", "DO 1;" * 2_000_000 + "DO 1", multi=True),
        Statement("CTEs that name the one before twice", chained_ctes(30)),
        Statement("800 CTEs, each over the one before", line_of_ctes(800)),
        Statement("derived tables in 12 levels of 50 calls", nested_derived(12)),
        Statement("AND of 100,000 conditions", "SELECT COUNT(*) FROM points WHERE " + " AND ".join(f"k<>{n}" for n in range(100_000))),
        Statement("IN list of 2 million", "SELECT COUNT(*) FROM points WHERE k IN (" + ",".join(map(str, range(2_000_000))) + ")"),
        Statement("recursion that multiplies",
                  "WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT e.b FROM r JOIN edges e ON e.a = r.a) SELECT COUNT(*) FROM r"),
        Statement("JSON_ARRAYAGG", "SELECT LENGTH(JSON_ARRAYAGG(REPEAT('x',1000))) FROM many"),
        Statement("CONCAT of 30 strings of 60 MB",
                  "SELECT LENGTH(CONCAT(" + ",".join(["REPEAT('a',60000000)"] * 30) + "))", series=["SET max_allowed_packet=1073741824"]),
        Statement("20 variables of 60 MB", "DO 1", series=[f"SET @v{n} = REPEAT('a',60000000)" for n in range(20)]),
        Statement("1,000 prepared statements of 200 kB", "SELECT 1 IN (" + ",".join(["1"] * 100_000) + ")", prepared=1000, is_known=True),
        Statement("ALTER that copies all rows", "ALTER TABLE many_{n} ADD COLUMN x INT DEFAULT (v+1)",
                  series=["DROP TABLE IF EXISTS many_{n}", "CREATE TABLE many_{n} AS SELECT * FROM many WHERE n < {share}"],
                  after=["ALTER TABLE many_{n} DROP COLUMN x"], clean_up=["DROP TABLE IF EXISTS many_{n}"]),
        Statement("INSERT of all rows, rolled back", "INSERT INTO copy_{n} SELECT * FROM many WHERE n < {share}",
                  series=["DROP TABLE IF EXISTS copy_{n}", "CREATE TABLE copy_{n} LIKE many", "SET autocommit=0"],
                  after=["ROLLBACK"], clean_up=["DROP TABLE IF EXISTS copy_{n}"]),
        Statement("all rows to a client that does not read", "SELECT a.s, b.s FROM many a, ten b"),
    ]
