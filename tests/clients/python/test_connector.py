"""mysql-connector-python (its pure-Python implementation): text, and server-side prepared statements in binary."""

import datetime
import decimal

import mysql.connector
from mysql.connector import FieldFlag, FieldType
from mysql.connector.constants import ClientFlag

from suite import HOST, PASSWORD, PORT, USER, VECTORS, check_vectors, equal, native, run, vector_rows, vector_table

DATABASE = "client_connector"
MIB = 1 << 20


def connect(**options):
    settings = dict(host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE, charset="utf8mb4",
                    autocommit=True, use_pure=True, ssl_disabled=True)
    return mysql.connector.connect(**(settings | options))


def query(connection, sql, args=(), **options):
    cursor = connection.cursor(**options)
    try:
        cursor.execute(sql, args)
        return cursor.fetchall() if cursor.with_rows else cursor.rowcount
    finally:
        cursor.close()


def prepared(connection, sql, args=()):
    return query(connection, sql, args, prepared=True)


def fails(number, states, function, *args, **options):
    try:
        function(*args, **options)
    except mysql.connector.Error as error:
        equal(error.errno, number, f"number of {args[1:2]} ({error.msg})")
        assert not states or error.sqlstate in states, f"SQLSTATE of {args[1:2]}: got {error.sqlstate}, wanted {states}"
        return error.msg
    raise AssertionError(f"{args[1:]} did not fail with {number}")


def is_mariadb(connection):
    return "MariaDB" in query(connection, "SELECT VERSION()")[0][0]


def test_connect():
    connection = connect()
    assert connection.is_connected()
    connection.ping()
    equal(query(connection, "SELECT DATABASE(), 1 + 1"), [(DATABASE, 2)])
    connection.close()


def test_wrong_login():
    fails(1045, ("28000",), connect, user="nobody", password="x")
    fails(1049, ("42000",), connect, database="nowhere_at_all")


def bound(value, kind):
    """Negative times go as text: this driver gets their binary form wrong, both ways."""
    return value if kind == "time" else native(value, kind)


def test_every_type_by_prepared_statements():
    connection = connect(time_zone="+00:00")
    query(connection, "DROP TABLE IF EXISTS v_prepared")
    query(connection, vector_table("v_prepared"))
    cursor = connection.cursor(prepared=True)
    insert = f"INSERT INTO v_prepared VALUES (?{', ?' * len(VECTORS['types'])})"
    for number, row in enumerate(vector_rows()):
        cursor.execute(insert, [number] + [bound(value, c["kind"]) for value, c in zip(row, VECTORS["types"])])
        equal(cursor.rowcount, 1)
    # this driver reads a YEAR in a binary row as a string
    other = {"year": "{} + 0", "time": "CONCAT({})"}
    columns = ", ".join(other.get(c["kind"], "{}").format(c["name"]) for c in VECTORS["types"])
    check_vectors(prepared(connection, f"SELECT id, {columns} FROM v_prepared ORDER BY id"), "binary protocol")
    check_vectors(query(connection, "SELECT * FROM v_prepared ORDER BY id"), "text protocol")
    connection.close()


def test_parameters_alone():
    connection = connect()
    values = (None, 0, -1, 2**63 - 1, 2**64 - 1, 1.5, "ü😀", b"\x00\xff", decimal.Decimal("1.10"),
              datetime.datetime(2024, 2, 29, 1, 2, 3, 4), datetime.date(2024, 2, 29), -datetime.timedelta(hours=30, microseconds=5))
    for value in values:
        got = prepared(connection, "SELECT ? IS NULL, ? = ?", (value, value, value))[0]
        equal(got, (1, None) if value is None else (0, 1), repr(value))
    connection.close()


def test_types_may_change_between_executions():
    connection = connect()
    query(connection, "DROP TABLE IF EXISTS changing")
    query(connection, "CREATE TABLE changing (id INT PRIMARY KEY, s VARCHAR(40))")
    cursor = connection.cursor(prepared=True)
    for number, value in enumerate((1, "text", 2.5, None, decimal.Decimal("3.14"), b"bytes", datetime.date(2024, 1, 2))):
        cursor.execute("INSERT INTO changing VALUES (?, ?)", (number, value))
    equal(query(connection, "SELECT s FROM changing ORDER BY id"),
          [("1",), ("text",), ("2.5",), (None,), ("3.14",), ("bytes",), ("2024-01-02",)])
    connection.close()


def test_prepared_statement_sees_new_schema():
    connection = connect()
    query(connection, "DROP TABLE IF EXISTS altered")
    query(connection, "CREATE TABLE altered (a INT)")
    query(connection, "INSERT INTO altered VALUES (1)")
    cursor = connection.cursor(prepared=True)
    cursor.execute("SELECT * FROM altered")
    equal(cursor.fetchall(), [(1,)])
    query(connection, "ALTER TABLE altered ADD COLUMN b VARCHAR(5) DEFAULT 'new'")
    cursor.execute("SELECT * FROM altered")
    equal(cursor.fetchall(), [(1, "new")])
    connection.close()


def test_errors_have_number_and_sqlstate():
    connection = connect()
    for table in ("e", "e2", "bad"):
        query(connection, f"DROP TABLE IF EXISTS {table}")
    for sql in VECTORS["error_setup"]:
        query(connection, sql)
    wrong = []
    for case in VECTORS["errors"]:
        sql = case["sql"].replace("{database}", DATABASE)
        if not sql or case.get("not_mariadb") and is_mariadb(connection):
            continue  # the driver itself refuses an empty statement
        try:
            fails(case["number"], case["states"], query, connection, sql)
        except AssertionError as error:
            wrong.append(str(error))
    if wrong:
        raise AssertionError("\n  ".join(wrong))
    fails(1062, ("23000",), prepared, connection, "INSERT INTO e (id, u) VALUES (?, ?)", (1, 9))
    fails(1064, ("42000",), prepared, connection, "SELECT ? FROM", (1,))
    fails(1146, ("42S02",), prepared, connection, "SELECT * FROM gone WHERE id = ?", (1,))
    equal(prepared(connection, "SELECT COUNT(*) FROM e"), [(2,)])
    connection.close()


def test_transactions():
    connection, other = connect(autocommit=False), connect()
    query(other, "DROP TABLE IF EXISTS tx")
    query(other, "CREATE TABLE tx (id INT PRIMARY KEY)")
    connection.start_transaction(isolation_level="READ COMMITTED")
    prepared(connection, "INSERT INTO tx VALUES (?)", (1,))
    assert connection.in_transaction
    equal(query(other, "SELECT * FROM tx"), [])
    connection.commit()
    assert not connection.in_transaction
    equal(query(other, "SELECT * FROM tx"), [(1,)])
    query(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    fails(1792, ("25006",), query, connection, "DELETE FROM tx")
    connection.rollback()
    connection.start_transaction()
    prepared(connection, "DELETE FROM tx")
    connection.rollback()
    equal(query(other, "SELECT * FROM tx"), [(1,)])
    connection.close()
    other.close()


def test_an_open_transaction_dies_with_its_connection():
    connection, other = connect(autocommit=False), connect()
    query(other, "DROP TABLE IF EXISTS dying")
    query(other, "CREATE TABLE dying (id INT PRIMARY KEY)")
    query(connection, "INSERT INTO dying VALUES (1)")
    connection.close()
    equal(query(other, "INSERT INTO dying VALUES (1)"), 1)
    other.close()


def test_multi_statements():
    connection = connect()
    cursor = connection.cursor()
    cursor.execute("SELECT 1; SET @x = 2; SELECT @x + 1, 'a;b'")
    results = [cursor.fetchall() if cursor.with_rows else None]
    while cursor.nextset():
        results.append(cursor.fetchall() if cursor.with_rows else None)
    equal(results, [[(1,)], None, [(3, "a;b")]])
    fails(1064, ("42000",), prepared, connection, "SELECT 1; SELECT 2")
    connection.close()


def test_blob_of_20_mb_by_long_data():
    blob = bytes(range(255, -1, -1)) * (20 * MIB // 256)
    connection = connect()
    query(connection, "DROP TABLE IF EXISTS big")
    query(connection, "CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB)")
    equal(prepared(connection, "INSERT INTO big VALUES (?, ?)", (1, blob)), 1)
    # read by text: this driver cannot join the packets of a binary row
    got = query(connection, "SELECT b FROM big WHERE id = 1")[0][0]
    assert bytes(got) == blob, "the blob changed on its way"
    connection.close()


def test_compression():
    # this driver joins no more than two frames to a packet, and ours are short, so that others have their turn between them
    blob = bytes(range(255, -1, -1)) * 48
    for options in {}, {"ssl_disabled": False}:
        connection = connect(compress=True, **options)
        equal(query(connection, "SHOW STATUS LIKE 'Compression'"), [("Compression", "ON")])
        query(connection, "DROP TABLE IF EXISTS big")
        query(connection, "CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB)")
        equal(query(connection, "INSERT INTO big VALUES (%s, %s)", (1, blob)), 1)
        assert bytes(query(connection, "SELECT b FROM big WHERE id = 1")[0][0]) == blob, "the blob changed on its way"
        equal(prepared(connection, "SELECT ? + 1", (1,)), [(2,)])
        fails(1064, ("42000",), query, connection, "SELEC 1")
        connection.close()


def test_batch_of_5000_rows():
    rows = [(number, f"r{number}") for number in range(5000)]
    connection = connect(autocommit=False)
    query(connection, "DROP TABLE IF EXISTS batch")
    query(connection, "CREATE TABLE batch (id INT PRIMARY KEY, s VARCHAR(20))")
    cursor = connection.cursor()
    cursor.executemany("INSERT INTO batch VALUES (%s, %s)", rows)
    equal(cursor.rowcount, 5000)
    connection.commit()
    equal(prepared(connection, "SELECT * FROM batch ORDER BY id"), rows)
    cursor = connection.cursor(prepared=True)
    cursor.executemany("DELETE FROM batch WHERE id = ?", [(number,) for number in range(0, 5000, 5)])
    connection.commit()
    equal(query(connection, "SELECT COUNT(*) FROM batch"), [(4000,)])
    connection.close()


def test_reset_connection():
    connection = connect()
    query(connection, "SET @x = 1, SESSION sql_mode = 'ANSI'")
    query(connection, "DROP TABLE IF EXISTS reset_tx")
    query(connection, "CREATE TABLE reset_tx (id INT)")
    query(connection, "SET autocommit = 0")
    query(connection, "INSERT INTO reset_tx VALUES (1)")
    connection.cmd_reset_connection()
    equal(query(connection, "SELECT @x, @@autocommit"), [(None, 1)])
    assert "ANSI" not in query(connection, "SELECT @@sql_mode")[0][0]
    equal(query(connection, "SELECT COUNT(*) FROM reset_tx"), [(0,)], "the transaction was rolled back")
    equal(query(connection, "SELECT DATABASE()"), [(DATABASE,)], "the database stays")
    connection.close()


def test_change_user():
    connection = connect()
    query(connection, "DROP USER IF EXISTS changed@'%'")
    query(connection, "CREATE USER changed@'%' IDENTIFIED BY 'pass word'" if is_mariadb(connection) else
          "CREATE USER changed@'%' IDENTIFIED WITH mysql_native_password BY 'pass word'")
    query(connection, f"GRANT ALL ON {DATABASE}.* TO changed@'%'")
    query(connection, "SET @x = 1")
    connection.cmd_change_user(username="changed", password="pass word", database=DATABASE)
    equal(query(connection, "SELECT @x, SUBSTRING_INDEX(USER(), '@', 1), DATABASE()"), [(None, "changed", DATABASE)])
    fails(1045, ("28000",), connection.cmd_change_user, username="changed", password="wrong", database=DATABASE)
    connection.close()
    admin = connect()
    query(admin, "DROP USER changed@'%'")
    admin.close()


def test_pool():
    pool = mysql.connector.pooling.MySQLConnectionPool(
        pool_size=2, host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE, use_pure=True, ssl_disabled=True)
    for _ in range(5):
        first, second = pool.get_connection(), pool.get_connection()
        query(first, "SET @pooled = 1")
        equal(query(second, "SELECT @pooled"), [(None,)])
        first.close()
        second.close()


def test_metadata():
    connection = connect()
    query(connection, "DROP TABLE IF EXISTS meta")
    query(connection, "CREATE TABLE meta (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, s VARCHAR(9), j JSON, f FLOAT, "
                      "y YEAR, x SET('a'), bit8 BIT(8), dt DATETIME(3), bin BINARY(3), ti TINYINT(1))")
    for options in ({}, {"prepared": True}):
        cursor = connection.cursor(**options)
        cursor.execute("SELECT * FROM meta")
        cursor.fetchall()
        equal([d[0] for d in cursor.description], ["id", "s", "j", "f", "y", "x", "bit8", "dt", "bin", "ti"])
        json_type = FieldType.BLOB if is_mariadb(connection) else FieldType.JSON
        equal([d[1] for d in cursor.description],
              [FieldType.LONGLONG, FieldType.VAR_STRING, json_type, FieldType.FLOAT, FieldType.YEAR, FieldType.STRING,
               FieldType.BIT, FieldType.DATETIME, FieldType.STRING, FieldType.TINY])
        equal([bool(d[6]) for d in cursor.description], [False] + [True] * 9, "null_ok")
        flags = FieldFlag.NOT_NULL | FieldFlag.PRI_KEY | FieldFlag.UNSIGNED
        equal(cursor.description[0][7] & flags, flags)
        equal(cursor.description[5][7] & FieldFlag.SET, FieldFlag.SET)
        equal(cursor.description[8][7] & FieldFlag.BINARY, FieldFlag.BINARY)
        cursor.close()
    connection.close()


def test_many_statements_at_once():
    connection = connect()
    cursors = [connection.cursor(prepared=True) for _ in range(50)]
    for number, cursor in enumerate(cursors):
        cursor.execute(f"SELECT ? + {number}", (1,))
        equal(cursor.fetchall(), [(number + 1,)])
    for number, cursor in enumerate(cursors):
        cursor.execute(f"SELECT ? + {number}", (2,))
        equal(cursor.fetchall(), [(number + 2,)])
        cursor.close()
    connection.close()


def test_found_rows_flag():
    connection = connect(client_flags=[-ClientFlag.FOUND_ROWS])
    query(connection, "DROP TABLE IF EXISTS found")
    query(connection, "CREATE TABLE found (id INT PRIMARY KEY, n INT)")
    query(connection, "INSERT INTO found VALUES (1, 1), (2, 1)")
    equal(query(connection, "UPDATE found SET n = 1"), 0)
    equal(prepared(connection, "UPDATE found SET n = 2 WHERE id = ?", (1,)), 1)
    connection.close()
    connection = connect(client_flags=[ClientFlag.FOUND_ROWS])
    equal(query(connection, "UPDATE found SET n = 2"), 2)
    connection.close()


def test_caching_sha2_account():
    admin = connect()
    if not is_mariadb(admin):
        query(admin, "DROP USER IF EXISTS sha2@'%'")
        query(admin, "CREATE USER sha2@'%' IDENTIFIED WITH caching_sha2_password BY ''")
        query(admin, f"GRANT ALL ON {DATABASE}.* TO sha2@'%'")
        # without TLS this driver takes the fast path only, and an empty password needs no other
        connection = connect(user="sha2", password="")
        equal(query(connection, "SELECT 1"), [(1,)])
        connection.close()
        query(admin, "DROP USER sha2@'%'")
    admin.close()


def test_tls():
    admin = connect()
    if is_mariadb(admin):
        return
    for plugin, password in (("mysql_native_password", "päss"), ("caching_sha2_password", "päss"), ("caching_sha2_password", "")):
        query(admin, "DROP USER IF EXISTS tls@'%'")
        query(admin, f"CREATE USER tls@'%' IDENTIFIED WITH {plugin} BY '{password}'")
        query(admin, f"GRANT ALL ON {DATABASE}.* TO tls@'%'")
        for _ in range(2):
            connection = connect(user="tls", password=password, ssl_disabled=False)
            cipher = query(connection, "SHOW STATUS LIKE 'Ssl_cipher'")[0][1]
            assert cipher, f"{plugin}: not encrypted"
            equal(prepared(connection, "SELECT CURRENT_USER(), ?", (1,)), [("tls@%", 1)])
            connection.cmd_change_user(username="tls", password=password, database=DATABASE)
            equal(query(connection, "SELECT DATABASE()"), [(DATABASE,)])
            connection.close()
        fails(1045, ("28000",), connect, user="tls", password="wrong", ssl_disabled=False)
        query(admin, "DROP USER tls@'%'")
    admin.close()


def main():
    connection = connect(database=None)
    query(connection, f"DROP DATABASE IF EXISTS {DATABASE}")
    query(connection, f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
    connection.close()
    run([(name[5:], test) for name, test in globals().items() if name.startswith("test_")])


if __name__ == "__main__":
    main()
