"""PyMySQL: a pure-Python driver that speaks the text protocol and builds statements on the client."""

import ssl
import tempfile
import threading
import warnings

import pymysql
from pymysql.constants import CLIENT, FIELD_TYPE, FLAG

from suite import HOST, PASSWORD, PORT, USER, VECTORS, Skipped, check_vectors, equal, literal, native, run, vector_rows, vector_table

DATABASE = "client_pymysql"
MIB = 1 << 20


def connect(**options):
    settings = dict(host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE, charset="utf8mb4",
                    autocommit=True, max_allowed_packet=64 * MIB, ssl_disabled="ssl" not in options)
    return pymysql.connect(**(settings | options))


def query(connection, sql, args=None):
    with connection.cursor() as cursor:
        cursor.execute(sql, args)
        return cursor.fetchall()


def execute(connection, sql, args=None):
    with connection.cursor() as cursor:
        return cursor.execute(sql, args)


def fails(connection, number, sql, args=None):
    try:
        execute(connection, sql, args)
    except pymysql.MySQLError as error:
        equal(error.args[0], number, f"error number of {sql[:80]!r} ({error.args[1]})")
        return error.args[1]
    raise AssertionError(f"{sql[:200]!r} did not fail with {number}")


def turned_away(number, **options):
    try:
        connect(**options).close()
    except pymysql.MySQLError as error:
        equal(error.args[0], number, f"login with {options}")
    else:
        raise AssertionError(f"{options} was let in")


def is_mariadb(connection):
    return "MariaDB" in query(connection, "SELECT VERSION()")[0][0]


def test_connect_and_ping():
    with connect() as connection:
        connection.ping(reconnect=False)
        equal(query(connection, "SELECT 1"), ((1,),))
        equal(query(connection, "SELECT DATABASE()"), ((DATABASE,),))
        equal(query(connection, "SELECT @@character_set_client, @@character_set_connection, @@character_set_results"),
              (("utf8mb4",) * 3,))
        equal(connection.server_status & 2, 2, "autocommit flag in the status")
        assert connection.thread_id() == query(connection, "SELECT CONNECTION_ID()")[0][0]


def test_unknown_database_and_wrong_password():
    for options, number in (({"database": "nowhere_at_all"}, 1049), ({"user": "nobody", "password": "x"}, 1045)):
        try:
            connect(**options).close()
        except pymysql.MySQLError as error:
            equal(error.args[0], number)
        else:
            raise AssertionError(f"{options} could connect")


def test_no_database_selected():
    with connect(database=None) as connection:
        fails(connection, 1046, "SELECT * FROM t")
        connection.select_db(DATABASE)
        equal(query(connection, "SELECT DATABASE()"), ((DATABASE,),))


def test_every_type_by_text():
    with connect() as connection:
        execute(connection, "SET time_zone = '+00:00'")
        execute(connection, "DROP TABLE IF EXISTS v_text")
        execute(connection, vector_table("v_text"))
        for number, row in enumerate(vector_rows()):
            values = ", ".join(literal(value, c["kind"]) for value, c in zip(row, VECTORS["types"]))
            equal(execute(connection, f"INSERT INTO v_text VALUES ({number}, {values})"), 1)
        check_vectors(query(connection, "SELECT * FROM v_text ORDER BY id"), "text protocol")


def test_every_type_by_parameters():
    with connect() as connection:
        execute(connection, "SET time_zone = '+00:00'")
        execute(connection, "DROP TABLE IF EXISTS v_args")
        execute(connection, vector_table("v_args"))
        for number, row in enumerate(vector_rows()):
            values = [number] + [native(value, c["kind"]) for value, c in zip(row, VECTORS["types"])]
            execute(connection, f"INSERT INTO v_args VALUES ({', '.join(['%s'] * len(values))})", values)
        check_vectors(query(connection, "SELECT * FROM v_args ORDER BY id"), "client-side parameters")


def test_errors_have_their_numbers():
    with connect() as connection:
        for table in ("e", "e2", "bad"):
            execute(connection, f"DROP TABLE IF EXISTS {table}")
        for sql in VECTORS["error_setup"]:
            execute(connection, sql)
        wrong = []
        for case in VECTORS["errors"]:
            if case.get("not_mariadb") and is_mariadb(connection):
                continue
            try:
                fails(connection, case["number"], case["sql"].replace("{database}", DATABASE))
            except AssertionError as error:
                wrong.append(str(error))
        if wrong:
            raise AssertionError("\n  ".join(wrong))
        equal(query(connection, "SELECT COUNT(*) FROM e"), ((2,),), "rows after failed statements")


def test_error_texts():
    with connect() as connection:
        execute(connection, "DROP TABLE IF EXISTS texts")
        execute(connection, "CREATE TABLE texts (id INT PRIMARY KEY, s VARCHAR(3))")
        execute(connection, "INSERT INTO texts VALUES (1, 'a')")
        duplicate = fails(connection, 1062, "INSERT INTO texts VALUES (1, 'b')")
        assert duplicate in ("Duplicate entry '1' for key 'PRIMARY'", "Duplicate entry '1' for key 'texts.PRIMARY'"), duplicate
        equal(fails(connection, 1146, "SELECT * FROM gone"), f"Table '{DATABASE}.gone' doesn't exist")
        equal(fails(connection, 1406, "INSERT INTO texts VALUES (2, 'long')"), "Data too long for column 's' at row 1")
        syntax = fails(connection, 1064, "SELECT\n1 +\nFROM texts")
        assert syntax.startswith("You have an error in your SQL syntax;") and syntax.endswith("near 'FROM texts' at line 3"), syntax


def test_affected_rows_and_insert_id():
    with connect() as connection:
        execute(connection, "DROP TABLE IF EXISTS counted")
        execute(connection, "CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT, UNIQUE (n))")
        with connection.cursor() as cursor:
            equal(cursor.execute("INSERT INTO counted (n) VALUES (10), (20), (30)"), 3, "inserted")
            equal(cursor.lastrowid, 1, "first id of the statement")
            equal(cursor.execute("UPDATE counted SET n = 10 WHERE id = 1"), 0, "unchanged rows do not count")
            equal(cursor.execute("UPDATE counted SET n = n + 1"), 3)
            equal(cursor.execute("INSERT INTO counted (n) VALUES (11) ON DUPLICATE KEY UPDATE n = n + 5"), 2, "updated by a duplicate")
            equal(cursor.execute("INSERT INTO counted (n) VALUES (16) ON DUPLICATE KEY UPDATE n = 16"), 0, "updated to the same")
            equal(cursor.execute("INSERT IGNORE INTO counted (n) VALUES (16)"), 0, "ignored")
            equal(cursor.execute("REPLACE INTO counted (id, n) VALUES (1, 99)"), 2, "replaced: deleted and inserted")
            equal(cursor.execute("DELETE FROM counted"), 3)
            equal(cursor.execute("INSERT INTO counted (id, n) VALUES (100, 1)"), 1)
            equal(cursor.execute("INSERT INTO counted (n) VALUES (2)"), 1)
            equal(cursor.lastrowid, 101, "goes on after an explicit id")
            equal(query(connection, "SELECT LAST_INSERT_ID()"), ((101,),))
    with connect(client_flag=CLIENT.FOUND_ROWS) as connection:
        equal(execute(connection, "UPDATE counted SET n = 1 WHERE id = 100"), 1, "found rows count when asked for")


def test_warnings():
    with connect() as connection:
        execute(connection, "SET sql_mode = ''")
        execute(connection, "DROP TABLE IF EXISTS warned")
        execute(connection, "CREATE TABLE warned (s VARCHAR(3), n TINYINT)")
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO warned VALUES ('long', 300)")
            equal(cursor.warning_count, 2)
            numbers = [row[1] for row in query(connection, "SHOW WARNINGS")]
            equal(numbers, [1265, 1264])
        equal(query(connection, "SELECT * FROM warned"), (("lon", 127),))
        execute(connection, "DROP TABLE IF EXISTS never_there")
        equal([row[1] for row in query(connection, "SHOW WARNINGS")], [1051], "a note for IF EXISTS")


def test_transactions():
    with connect(autocommit=False) as one, connect() as other:
        execute(other, "DROP TABLE IF EXISTS tx")
        execute(other, "CREATE TABLE tx (id INT PRIMARY KEY, n INT)")
        execute(one, "INSERT INTO tx VALUES (1, 1)")
        equal(one.server_status & 1, 1, "in a transaction")
        equal(query(other, "SELECT COUNT(*) FROM tx"), ((0,),), "not visible before commit")
        one.commit()
        equal(query(other, "SELECT COUNT(*) FROM tx"), ((1,),))
        execute(one, "UPDATE tx SET n = 2")
        one.rollback()
        equal(query(other, "SELECT n FROM tx"), ((1,),), "rolled back")

        execute(one, "INSERT INTO tx VALUES (2, 2)")
        fails(one, 1062, "INSERT INTO tx VALUES (3, 3), (1, 1)")
        one.commit()
        equal(query(other, "SELECT id FROM tx ORDER BY id"), ((1,), (2,)), "a failed statement undoes itself only")

        one.begin()
        execute(one, "INSERT INTO tx VALUES (10, 0)")
        execute(one, "SAVEPOINT a")
        execute(one, "INSERT INTO tx VALUES (11, 0)")
        execute(one, "ROLLBACK TO a")
        one.commit()
        equal(query(other, "SELECT id FROM tx WHERE id >= 10"), ((10,),), "savepoint")

        one.begin()
        execute(one, "INSERT INTO tx VALUES (20, 0)")
        execute(one, "CREATE TABLE IF NOT EXISTS tx_ddl (id INT)")
        one.rollback()
        equal(query(other, "SELECT id FROM tx WHERE id = 20"), ((20,),), "DDL commits")


def test_repeatable_read():
    with connect(autocommit=False) as reader, connect() as writer:
        execute(writer, "DROP TABLE IF EXISTS rr")
        execute(writer, "CREATE TABLE rr (id INT PRIMARY KEY, n INT)")
        execute(writer, "INSERT INTO rr VALUES (1, 1)")
        equal(query(reader, "SELECT n FROM rr"), ((1,),))
        execute(writer, "UPDATE rr SET n = 2")
        execute(writer, "INSERT INTO rr VALUES (2, 2)")
        equal(query(reader, "SELECT n FROM rr"), ((1,),), "the snapshot stands")
        reader.commit()
        equal(query(reader, "SELECT n FROM rr ORDER BY id"), ((2,), (2,)))


def test_lock_wait_timeout_and_deadlock():
    with connect(autocommit=False) as one, connect(autocommit=False) as two:
        execute(one, "DROP TABLE IF EXISTS locked")
        execute(one, "CREATE TABLE locked (id INT PRIMARY KEY, n INT)")
        execute(one, "INSERT INTO locked VALUES (1, 0), (2, 0)")
        one.commit()
        execute(two, "SET innodb_lock_wait_timeout = 1")
        execute(one, "UPDATE locked SET n = 1 WHERE id = 1")
        fails(two, 1205, "UPDATE locked SET n = 2 WHERE id = 1")
        one.rollback()
        two.rollback()

        execute(two, "SET innodb_lock_wait_timeout = 20")
        execute(one, "UPDATE locked SET n = 1 WHERE id = 1")
        execute(two, "UPDATE locked SET n = 2 WHERE id = 2")
        outcomes = []

        def crosses():
            try:
                execute(two, "UPDATE locked SET n = 2 WHERE id = 1")
                outcomes.append(0)
            except pymysql.MySQLError as error:
                outcomes.append(error.args[0])

        thread = threading.Thread(target=crosses)
        thread.start()
        try:
            execute(one, "UPDATE locked SET n = 1 WHERE id = 2")
            outcomes.append(0)
        except pymysql.MySQLError as error:
            outcomes.append(error.args[0])
            one.rollback()
        else:
            one.commit()
        thread.join()
        equal(sorted(outcomes), [0, 1213], "one of two is the victim")


def test_locking_reads():
    with connect(autocommit=False) as one, connect() as two:
        execute(two, "DROP TABLE IF EXISTS jobs")
        execute(two, "CREATE TABLE jobs (id INT PRIMARY KEY)")
        execute(two, "INSERT INTO jobs VALUES (1), (2)")
        equal(query(one, "SELECT id FROM jobs WHERE id = 1 FOR UPDATE"), ((1,),))
        execute(two, "SET innodb_lock_wait_timeout = 1")
        fails(two, 1205, "DELETE FROM jobs WHERE id = 1")
        equal(execute(two, "DELETE FROM jobs WHERE id = 2"), 1)
        one.commit()
        equal(execute(two, "DELETE FROM jobs WHERE id = 1"), 1)


def test_multi_statements():
    with connect(client_flag=CLIENT.MULTI_STATEMENTS) as connection:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1; SET @a = 5; SELECT @a, 'x'; SELECT * FROM gone_for_good; SELECT 9")
            equal(cursor.fetchall(), ((1,),))
            assert cursor.nextset()
            equal(cursor.description, None)
            assert cursor.nextset()
            equal(cursor.fetchall(), ((5, "x"),))
            try:
                cursor.nextset()
            except pymysql.MySQLError as error:
                equal(error.args[0], 1146)
            else:
                raise AssertionError("the fourth statement should fail")
        equal(query(connection, "SELECT 7"), ((7,),), "the connection lives on")
    with connect() as connection:
        fails(connection, 1064, "SELECT 1; SELECT 2")
        equal(query(connection, "SELECT 1;"), ((1,),), "a semicolon at the end is no second statement")


def test_blob_of_20_mb():
    blob = bytes(range(256)) * (20 * MIB // 256)
    with connect() as connection:
        execute(connection, "DROP TABLE IF EXISTS big")
        execute(connection, "CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB)")
        equal(execute(connection, "INSERT INTO big VALUES (1, %s)", (blob,)), 1)
        equal(query(connection, "SELECT LENGTH(b) FROM big"), ((len(blob),),))
        assert query(connection, "SELECT b FROM big")[0][0] == blob, "the blob changed on its way"
        exact = bytes(MIB) * 16  # payloads at the edges of one packet
        for size in (16 * MIB - 60, 16 * MIB - 1, 16 * MIB):
            execute(connection, "REPLACE INTO big VALUES (2, _binary %s)", (exact[:size],))
            equal(query(connection, "SELECT LENGTH(b) FROM big WHERE id = 2"), ((size,),))
            assert query(connection, "SELECT b FROM big WHERE id = 2")[0][0] == exact[:size]


def test_batch_of_5000_rows():
    rows = [(number, f"row {number}", number * 1.5) for number in range(5000)]
    with connect() as connection:
        execute(connection, "DROP TABLE IF EXISTS batch")
        execute(connection, "CREATE TABLE batch (id INT PRIMARY KEY, s VARCHAR(20), d DOUBLE)")
        with connection.cursor() as cursor:
            equal(cursor.executemany("INSERT INTO batch VALUES (%s, %s, %s)", rows), 5000)
            cursor.execute("SELECT * FROM batch ORDER BY id")
            equal(list(cursor.fetchall()), rows)
        equal(query(connection, "SELECT COUNT(*), SUM(id), MIN(s), MAX(d) FROM batch"), ((5000, 12497500, "row 0", 7498.5),))


def test_unbuffered_cursor():
    with connect(cursorclass=pymysql.cursors.SSCursor) as connection:
        with connection.cursor() as cursor:
            cursor.execute("SELECT id FROM batch ORDER BY id")
            equal([next(iter(cursor))[0] for _ in range(10)], list(range(10)))
        with connection.cursor() as cursor:
            cursor.execute("SELECT 5")
            equal(cursor.fetchall(), [(5,)])


def test_metadata():
    with connect() as connection:
        execute(connection, "DROP TABLE IF EXISTS meta")
        execute(connection, "CREATE TABLE meta (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, s VARCHAR(20) NOT NULL, "
                            "b BLOB, d DECIMAL(10,3), u INT UNIQUE, k INT, e ENUM('a'), t TIMESTAMP NULL, KEY (k))")
        with connection.cursor() as cursor:
            cursor.execute("SELECT id, s AS alias, b, d, u, k, e, t, 1 + 1 FROM meta")
            fields = cursor._result.fields
        equal([f.name for f in fields], ["id", "alias", "b", "d", "u", "k", "e", "t", "1 + 1"])
        equal([f.org_name for f in fields[:8]], ["id", "s", "b", "d", "u", "k", "e", "t"])
        equal({f.table_name for f in fields[:8]}, {"meta"})
        equal({f.db for f in fields[:8]}, {DATABASE if isinstance(fields[0].db, str) else DATABASE.encode()})
        equal([f.type_code for f in fields[:8]],
              [FIELD_TYPE.LONG, FIELD_TYPE.VAR_STRING, FIELD_TYPE.BLOB, FIELD_TYPE.NEWDECIMAL, FIELD_TYPE.LONG,
               FIELD_TYPE.LONG, FIELD_TYPE.STRING, FIELD_TYPE.TIMESTAMP])
        flags = FLAG.NOT_NULL | FLAG.PRI_KEY | FLAG.UNSIGNED | FLAG.AUTO_INCREMENT
        equal(fields[0].flags & flags, flags, "flags of id")
        equal(fields[1].flags & (FLAG.NOT_NULL | FLAG.PRI_KEY), FLAG.NOT_NULL, "flags of s")
        equal(fields[2].flags & (FLAG.BLOB | FLAG.BINARY), FLAG.BLOB | FLAG.BINARY, "flags of b")
        equal(fields[4].flags & FLAG.UNIQUE_KEY, FLAG.UNIQUE_KEY, "flags of u")
        equal(fields[5].flags & FLAG.MULTIPLE_KEY, FLAG.MULTIPLE_KEY, "flags of k")
        equal(fields[6].flags & FLAG.ENUM, FLAG.ENUM, "flags of e")
        equal(fields[1].length, 80, "length of VARCHAR(20) in bytes of utf8mb4")
        equal(fields[3].scale, 3, "decimals of d")
        equal((fields[1].charsetnr in (45, 255), fields[2].charsetnr), (True, 63))


def test_names_in_the_result():
    with connect(cursorclass=pymysql.cursors.DictCursor) as connection:
        equal(query(connection, "SELECT 1 AS one, 'ü' AS `zwei ü`"), [{"one": 1, "zwei ü": "ü"}])


def test_show_and_information_schema():
    with connect() as connection:
        execute(connection, "CREATE TABLE IF NOT EXISTS shown (id INT PRIMARY KEY, s VARCHAR(9) DEFAULT 'x' COMMENT 'c')")
        assert (DATABASE,) in query(connection, "SHOW DATABASES")
        assert ("shown",) in query(connection, "SHOW TABLES")
        create = query(connection, "SHOW CREATE TABLE shown")[0][1]
        assert "`s` varchar(9)" in create and "PRIMARY KEY (`id`)" in create, create
        rows = query(connection, "SELECT COLUMN_NAME, DATA_TYPE, IS_NULLABLE, COLUMN_KEY FROM information_schema.COLUMNS "
                                 "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = 'shown' ORDER BY ORDINAL_POSITION", (DATABASE,))
        equal(rows, (("id", "int", "NO", "PRI"), ("s", "varchar", "YES", "")))
        equal([row[0] for row in query(connection, "DESCRIBE shown")], ["id", "s"])
        equal(query(connection, "SHOW VARIABLES LIKE 'autocommit'"), (("autocommit", "ON"),))


def test_kill():
    with connect() as victim, connect() as killer:
        thread_id = victim.thread_id()
        outcome = []

        def sleeps():
            try:
                outcome.append(query(victim, "SELECT SLEEP(30)"))
            except pymysql.MySQLError as error:
                outcome.append(error.args[0])

        thread = threading.Thread(target=sleeps)
        thread.start()
        while not query(killer, "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = %s AND INFO LIKE '%%SLEEP%%'", (thread_id,)):
            pass
        execute(killer, f"KILL QUERY {thread_id}")
        thread.join(10)
        # MySQL: an interrupted SLEEP() alone in its SELECT returns 1; MariaDB raises the error.
        assert outcome in ([1317], [((1,),)]), outcome
        equal(query(victim, "SELECT 1"), ((1,),), "KILL QUERY leaves the connection")
        execute(killer, f"KILL {thread_id}")
        try:
            query(victim, "SELECT 1")
        except pymysql.MySQLError as error:
            assert error.args[0] in (2006, 2013, 1927, 3169, 0), error
        else:
            raise AssertionError("a killed connection still answers")


def test_an_interrupted_query_has_no_rows():
    with connect() as victim, connect() as killer:
        execute(victim, "CREATE TABLE IF NOT EXISTS slept (id INT PRIMARY KEY)")
        execute(victim, "REPLACE INTO slept VALUES (1), (2), (3)")
        if not is_mariadb(victim):
            equal(query(victim, "SELECT /*+ MAX_EXECUTION_TIME(50) */ SLEEP(30)"), ((1,),))
            execute(victim, "SET max_execution_time = 50")
            fails(victim, 3024, "SELECT id FROM slept WHERE SLEEP(30)")
            execute(victim, "SET max_execution_time = 0")
        killed = []

        def sleeps():
            try:
                killed.append(query(victim, "SELECT id FROM slept WHERE SLEEP(30)"))
            except pymysql.MySQLError as error:
                killed.append(error.args[0])

        thread = threading.Thread(target=sleeps)
        thread.start()
        running = "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = %s AND INFO LIKE '%%SLEEP%%'"
        while not query(killer, running, (victim.thread_id(),)):
            pass
        execute(killer, f"KILL QUERY {victim.thread_id()}")
        thread.join(10)
        equal(killed, [1317])


def accounts(connection):
    """(user, password, plugin) of accounts made for this test."""
    made = [("py_native", "s3cret'\\", "mysql_native_password"), ("py_empty", "", "mysql_native_password")]
    if not is_mariadb(connection):
        made.append(("py_sha2", "p" * 40, "caching_sha2_password"))
        made.append(("py_sha2_empty", "", "caching_sha2_password"))
    for user, password, plugin in made:
        execute(connection, f"DROP USER IF EXISTS {user}@'%'")
        if is_mariadb(connection):
            execute(connection, f"CREATE USER {user}@'%%' IDENTIFIED BY %s", (password,))
        else:
            execute(connection, f"CREATE USER {user}@'%%' IDENTIFIED WITH {plugin} BY %s", (password,))
        execute(connection, f"GRANT ALL ON {DATABASE}.* TO {user}@'%'")
    return made


def test_accounts_of_both_plugins():
    with connect() as admin:
        for user, password, plugin in accounts(admin):
            for _ in range(2):  # the second time may take caching_sha2's fast path
                with connect(user=user, password=password) as connection:
                    equal(query(connection, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"), ((user,),))
            turned_away(1045, user=user, password=password + "!")
            execute(admin, f"DROP USER {user}@'%'")


def test_tls():
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with connect() as admin:
        if is_mariadb(admin):
            raise Skipped("this server has no certificate")
        equal(query(admin, "SHOW STATUS LIKE 'Ssl_cipher'"), (("Ssl_cipher", ""),))
        for user, password, plugin in accounts(admin):
            for _ in range(2):
                with connect(user=user, password=password, ssl=anybody) as connection:
                    equal(query(connection, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"), ((user,),))
                    cipher, version, _ = connection._sock.cipher()
                    equal(query(connection, "SHOW STATUS LIKE 'Ssl_cipher'"), (("Ssl_cipher", cipher),))
                    equal(query(connection, "SHOW STATUS LIKE 'Ssl_version'"), (("Ssl_version", version),))
                    equal(len(query(connection, "SELECT REPEAT('x', 3000000)")[0][0]), 3_000_000)
            turned_away(1045, user=user, password=password + "!", ssl=anybody)
            execute(admin, f"DROP USER {user}@'%'")


def test_privileges():
    with connect() as admin:
        execute(admin, "CREATE TABLE IF NOT EXISTS secret (id INT PRIMARY KEY)")
        execute(admin, "CREATE TABLE IF NOT EXISTS public (id INT PRIMARY KEY, n INT)")
        execute(admin, "REPLACE INTO public VALUES (1, 1)")
        execute(admin, "DROP USER IF EXISTS reader@'%'")
        execute(admin, "CREATE USER reader@'%' IDENTIFIED BY 'r'")
        fails(admin, 1396, "CREATE USER reader@'%' IDENTIFIED BY 'r'")
        fails(connect(user="reader", password="r", database=None), 1044, f"USE {DATABASE}")
        execute(admin, f"GRANT SELECT ON {DATABASE}.public TO reader@'%'")
        with connect(user="reader", password="r") as reader:
            equal(query(reader, "SELECT n FROM public"), ((1,),))
            fails(reader, 1142, "SELECT * FROM secret")
            fails(reader, 1142, "UPDATE public SET n = 2")
            fails(reader, 1142, "DROP TABLE public")
            fails(reader, 1142, "CREATE TABLE mine (id INT)")
            equal(query(reader, "SHOW TABLES"), (("public",),))
            execute(admin, f"GRANT UPDATE ON {DATABASE}.* TO reader@'%'")
            execute(reader, "UPDATE public SET n = 2 WHERE id = 1")  # what is granted holds at once
            execute(admin, f"REVOKE UPDATE ON {DATABASE}.* FROM reader@'%'")
            fails(reader, 1142, "UPDATE public SET n = 3")
            execute(admin, "ALTER USER reader@'%' IDENTIFIED BY 'other'")
            equal(query(reader, "SELECT n FROM public"), ((2,),), "an open session lives on")
        turned_away(1045, user="reader", password="r")
        connect(user="reader", password="other").close()
        execute(admin, "ALTER USER reader@'%' ACCOUNT LOCK")
        turned_away(4151 if is_mariadb(admin) else 3118, user="reader", password="other")
        execute(admin, "DROP USER reader@'%'")
        fails(admin, 1396, "DROP USER reader@'%'")


def test_connection_attributes():
    with connect(program_name="client-suite") as connection:
        equal(query(connection, "SELECT 1"), ((1,),))


def local_file(content):
    file = tempfile.NamedTemporaryFile(suffix=".csv")
    file.write(content)
    file.flush()
    return file


def test_load_data_local():
    with connect(local_infile=True) as connection, local_file(b'1,"one, two"\r\n2,\\N\r\n3\r\nx,y,z\r\n1,again\r\n') as file:
        execute(connection, "CREATE TABLE loaded (id INT PRIMARY KEY, v VARCHAR(20), n INT DEFAULT 7)")
        load = f"LOAD DATA LOCAL INFILE '{file.name}' {{}} INTO TABLE loaded FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' LINES TERMINATED BY '\\r\\n' {{}}"
        equal(execute(connection, load.format("", "(id, v)")), 4, "affected rows")
        equal([code for _, code, _ in query(connection, "SHOW WARNINGS")], [1261, 1262, 1366, 1062])
        equal(query(connection, "SELECT * FROM loaded ORDER BY id"), ((0, "y", 7), (1, "one, two", 7), (2, None, 7), (3, None, 7)))
        execute(connection, "DELETE FROM loaded WHERE id = 0")
        execute(connection, load.format("IGNORE", "IGNORE 1 LINES (@id, v) SET id = @id * 10, n = LENGTH(v)"))
        equal(query(connection, "SELECT id, n FROM loaded WHERE id >= 10 ORDER BY id"), ((10, 5), (20, None), (30, None)))
        fails(connection, 1146, load.format("", "").replace("TABLE loaded", "TABLE missing"))
        fails(connection, 1054, load.format("", "(id, missing)"))
        equal(query(connection, "SELECT 1"), ((1,),), "the connection goes on after errors")


def test_load_data_local_of_short_lines():
    """A field that is missing is nothing, not the default; REPLACE in strict mode refuses the line."""
    with connect(local_infile=True) as connection, local_file(b"1\n2\t5\n3\t\\N\n") as file:
        columns = "id INT PRIMARY KEY, n INT NOT NULL DEFAULT 7, v VARCHAR(5) DEFAULT 'dd', w INT, t TIMESTAMP NOT NULL DEFAULT NOW(), e ENUM('x', 'y') NOT NULL"
        execute(connection, f"CREATE TABLE loaded_short ({columns})")
        load = f"LOAD DATA LOCAL INFILE '{file.name}' {{}} INTO TABLE loaded_short {{}}"
        equal(execute(connection, load.format("", "")), 3, "affected rows")
        numbers = [code for _, code, _ in query(connection, "SHOW WARNINGS")]
        equal(sorted(numbers), [1261] * 13 + [1263])
        now = "t > NOW() - INTERVAL 1 HOUR"
        shown = f"SELECT id, n, v, w, {now}, e FROM loaded_short ORDER BY id"
        equal(query(connection, shown), ((1, 0, "", None, 1, ""), (2, 5, "", None, 1, ""), (3, 0, "", None, 1, "")))
        fails(connection, 1261, load.format("REPLACE", "(id, n, v)"))
        fails(connection, 1262, load.format("REPLACE", "(id)"))
        execute(connection, "SET sql_mode = ''")
        execute(connection, load.format("REPLACE", "(id, v)"))
        equal(query(connection, "SELECT id, n, v FROM loaded_short ORDER BY id"), ((1, 7, ""), (2, 7, "5"), (3, 7, None)))


def test_load_data_local_of_many_rows():
    rows = 20_000
    content = "".join(f"{n}\t{'x' * (n % 100)}\n" for n in range(rows)).encode()
    with connect(local_infile=True) as connection, local_file(content) as file:
        execute(connection, "CREATE TABLE loaded_many (id INT PRIMARY KEY, v VARCHAR(100))")
        equal(execute(connection, f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE loaded_many"), rows)
        equal(query(connection, "SELECT COUNT(*), SUM(LENGTH(v)) FROM loaded_many"), ((rows, sum(n % 100 for n in range(rows))),))


def test_a_local_file_that_is_not_offered():
    with connect() as connection:
        execute(connection, "CREATE TABLE loaded_never (id INT)")
        number = 4166 if is_mariadb(connection) else 3948
        fails(connection, number, "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE loaded_never")
        equal(query(connection, "SELECT COUNT(*) FROM loaded_never"), ((0,),))


def test_session_variables():
    with connect(init_command="SET @started = 'yes', sql_mode = 'ANSI_QUOTES'") as connection:
        equal(query(connection, "SELECT @started, @@sql_mode"), (("yes", "ANSI_QUOTES"),))
        execute(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        variable = "tx_isolation" if is_mariadb(connection) else "transaction_isolation"
        equal(query(connection, f"SELECT @@{variable}"), (("READ-COMMITTED",),))
        execute(connection, "SET NAMES latin1")
        equal(query(connection, "SELECT HEX(CONVERT('x' USING utf8mb4)), @@character_set_client"), (("78", "latin1"),))
        execute(connection, "SET time_zone = '+05:30'")
        equal(query(connection, "SELECT FROM_UNIXTIME(0)")[0][0].isoformat(), "1970-01-01T05:30:00")


def main():
    warnings.simplefilter("ignore")
    with connect(database=None) as connection:
        execute(connection, f"DROP DATABASE IF EXISTS {DATABASE}")
        execute(connection, f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
    run([(name[5:], test) for name, test in globals().items() if name.startswith("test_")])


if __name__ == "__main__":
    main()
