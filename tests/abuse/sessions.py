"""Clients that log in as they should, and then do with their session what no client should."""

import ssl
import struct
import threading
import time

import pymysql

import wire
from harness import ADDRESS, DATABASE, HOST, MIB, PASSWORD, RANDOM, USER, connect, expect, expect_error, memory_used, query, raw, test
from wire import COM_RESET_CONNECTION, Closed, Connection, ServerError, frame

COM_CHANGE_USER, COM_STMT_FETCH = 17, 28
PROCEDURES = {
    # Results without end, each of some rows.
    "results": "BEGIN WHILE 1 DO SELECT s FROM healthy; END WHILE; END",
    "long_result": "BEGIN SELECT a.s FROM wide a, wide b; SELECT a.s FROM wide a, wide b; END",
    "stubborn": "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION, SQLWARNING, NOT FOUND BEGIN END; WHILE 1 DO SELECT nothing FROM nowhere; END WHILE; END",
    "deep": "BEGIN CALL deep(); END",
    "storm": "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION RESIGNAL SET MESSAGE_TEXT = 'again'; WHILE 1 DO SIGNAL SQLSTATE '45000'; END WHILE; END",
    "doubles": "BEGIN DECLARE v LONGTEXT DEFAULT 'x'; WHILE 1 DO SET v = CONCAT(v, v); END WHILE; END",
    "keeps": "BEGIN DECLARE v LONGTEXT DEFAULT REPEAT('x', 1000000); CALL keeps(); END",
    "cursors": "BEGIN DECLARE k CURSOR FOR SELECT a.s FROM wide a, wide b; OPEN k; CALL cursors(); END",
    "prepares": "BEGIN DECLARE n INT DEFAULT 0; WHILE 1 DO SET n = n + 1; PREPARE q FROM 'CALL quick()'; EXECUTE q; DEALLOCATE PREPARE q; END WHILE; END",
    "quick": "BEGIN DO 1; END",
}


def make_procedures():
    with connect() as connection, connection.cursor() as cursor:
        for name, body in PROCEDURES.items():
            cursor.execute(f"DROP PROCEDURE IF EXISTS {name}")
            cursor.execute(f"CREATE PROCEDURE {name}() {body}")


def number_of(connection):
    return int(connection.rows("SELECT CONNECTION_ID()")[0][1:])


def is_running(number):
    return bool(query(f"SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {number} AND COMMAND <> 'Sleep'"))


def until(condition, seconds, message):
    deadline = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < deadline, message)
        time.sleep(0.02)


def read_to_end(connection):
    """Reads whatever comes until an error or the last result; returns the error's number."""
    packet = connection.receive()
    try:
        connection.drain(packet)
        return 0
    except ServerError as error:
        return error.number


@test(memory_mib=600)
def procedures_without_end():
    """Each of ten that never end is ended by KILL QUERY, whatever its handlers take, and by its client's leaving; what it held is free."""
    make_procedures()
    with connect() as connection, connection.cursor() as cursor:
        before = memory_used(cursor)
    for name in PROCEDURES:
        for way in ("kill", "leave"):
            victim = raw(timeout=30)
            victim.query("SET max_sp_recursion_depth = 255")
            number = number_of(victim)
            victim.send_raw(frame(b"\x03CALL " + name.encode() + b"()"))
            time.sleep(0.3)
            if way == "leave":
                victim.close()
                until(lambda: not query(f"SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {number}"), 10, f"{name} goes on without its client")
                continue
            if is_running(number):
                query(f"KILL QUERY {number}")
            reader = threading.Thread(target=lambda: read_quietly(victim), daemon=True)
            reader.start()
            until(lambda: not is_running(number), 10, f"KILL QUERY does not end {name}")
            reader.join(10)
            expect(victim.rows("SELECT 1") == [b"\x011"], f"the session lives on after {name}")
            victim.close()
    with connect() as connection, connection.cursor() as cursor:
        until(lambda: memory_used(cursor) < before + 16 * MIB, 10, f"{memory_used(cursor)} bytes are held, {before} before")


def read_quietly(connection):
    try:
        read_to_end(connection)
    except (Closed, ServerError, OSError):
        pass


@test(memory_mib=200)
def results_that_nobody_reads():
    """Thirty clients call procedures with results without end and never read; KILL ends each."""
    make_procedures()
    clients = []
    for at in range(30):
        connection = raw(receive_buffer=4096)
        number = number_of(connection)
        connection.send_raw(frame(b"\x03CALL " + (b"results()" if at % 2 else b"long_result()")))
        clients.append((connection, number))
    time.sleep(2)
    for _, number in clients:
        try:
            query(f"KILL {number}")
        except pymysql.err.OperationalError as error:
            # Where memory is wanted, those that have waited longest are ended.
            expect(error.args[0] == 1094, f"{error}")
    for _, number in clients:
        until(lambda: not query(f"SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {number}"), 15, "a killed client is there still")
    for connection, _ in clients:
        connection.close()


@test(memory_mib=64)
def timeouts_of_a_session():
    """A client that stops in the middle of a packet, or of an answer, is cut after its session's net_read_timeout or net_write_timeout."""
    make_procedures()
    for half in (b"\xc8\0\0\0\x03SELECT", frame(b"\x03CALL long_result()")):
        client, other = raw(receive_buffer=4096), raw()
        client.query("SET net_read_timeout = 2, net_write_timeout = 2")
        number = number_of(client)
        client.send_raw(half)
        begun = time.monotonic()
        until(lambda: not query(f"SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {number}"), 10, "it is waited for longer than its session says")
        expect(time.monotonic() - begun > 1, "it is cut too early")
        client.close()
        # Half a packet of one who has time is whole in the end.
        sent = frame(b"\x03SELECT 1")
        other.send_raw(sent[:7])
        time.sleep(3)
        other.send_raw(sent[7:])
        expect(read_to_end(other) == 0, "another session has its own timeouts")
        other.close()


@test(memory_mib=200)
def commands_in_the_middle():
    """Whatever is sent while a procedure's results come is answered behind them, or ends the connection."""
    make_procedures()
    change_user = bytes([COM_CHANGE_USER]) + USER.encode() + b"\0\0" + DATABASE.encode() + b"\0\x2d\0mysql_native_password\0"
    commands = [change_user, bytes([COM_RESET_CONNECTION]), b"\x0e", b"\x02" + DATABASE.encode(), b"\x03SELECT 1", b"\x16SELECT ?", bytes([COM_STMT_FETCH]) + bytes(8),
                b"\x1b\0\0", b"\x04healthy\0", b"\x01", b"\x17\1\0\0\0\1\1\0\0\0", b"\x18\1\0\0\0\0\0x", b"\x19\1\0\0\0", b"", b"\xff"]
    query("DROP PROCEDURE IF EXISTS some")
    query("CREATE PROCEDURE some() BEGIN SELECT a.s FROM wide a LIMIT 9; SELECT 1; DO SLEEP(0.05); SELECT s FROM healthy; END")
    for command in commands:
        for call in (b"\x03CALL some()", None):
            with raw(timeout=15) as connection:
                if call is None:
                    # By a prepared statement, with a cursor asked for.
                    statement = connection.command(b"\x16CALL some()")[1:5]
                    call = b"\x17" + statement + b"\x01\x01\0\0\0"
                connection.send_raw(frame(call))
                connection.send_raw(frame(command) + frame(b"\x0e"))
                connection.socket.settimeout(1)
                connection.is_closed_within(1)
    # In pieces: half of a command, then the results, then the rest.
    for cut in (1, 3, 4, 5, 9):
        with raw(timeout=15) as connection:
            text = frame(b"\x03SELECT 40 + 2")
            connection.send_raw(frame(b"\x03CALL some()") + text[:cut])
            expect(read_to_end(connection) == 0, "the procedure's results come")
            connection.send_raw(text[cut:])
            expect(connection.receive() == b"\x01", "the command is answered when its rest has come")
    # A change of the user takes the session's transaction, variables and locks with it.
    with raw(timeout=15) as connection:
        connection.query("SET @kept = REPEAT('x', 1000000)")
        connection.query("BEGIN")
        connection.query("UPDATE locked SET n = n + 1")
        connection.send_raw(frame(b"\x03CALL some()"))
        read_to_end(connection)
        connection.send_raw(frame(change_user))
        try:
            packet = connection.receive()
            while packet[:1] != b"\0":
                connection.send_raw(frame(native_answer(packet), connection.sequence))
                packet = connection.receive()
            expect(connection.rows("SELECT @kept IS NULL") == [b"\x011"], "variables go")
        except Closed:
            pass
        with connect() as other, other.cursor() as cursor:
            cursor.execute("SET innodb_lock_wait_timeout = 5")
            cursor.execute("UPDATE locked SET n = n")


def native_answer(packet):
    """To a switch of the plugin: the password, scrambled."""
    nonce = packet.split(b"\0")[1][:20] if packet[:1] == b"\xfe" else b""
    payload = wire.login_payload("", PASSWORD, nonce)
    length = payload[33]
    return payload[34:34 + length]


@test(memory_mib=700)
def as_many_prepared_as_there_are_numbers():
    """65,535 statements of one client, each with parameters: others go on, and all is free when the session is reset."""
    with connect() as connection, connection.cursor() as cursor:
        before = memory_used(cursor)
    with raw(timeout=60) as connection:
        made = 0
        texts = [b"\x16SELECT s, n + ? FROM healthy WHERE id = ? AND s <> ?", b"\x16INSERT INTO healthy VALUES (?, ?, ?)", b"\x16CALL quick()", b"\x16UPDATE healthy SET n = ? WHERE id IN (?, ?, ?)"]
        batch = 50
        for start in range(0, 65_535, batch):
            # Asked in a row, without waiting for each.
            connection.send_raw(b"".join(frame(texts[(start + at) % 4]) for at in range(batch)))
            for at in range(batch):
                try:
                    head = connection.receive()
                except ServerError as error:
                    expect(error.number in (1461, 1038), f"{error}")
                    continue
                made += 1
                columns, parameters = struct.unpack_from("<HH", head, 5)
                for _ in range(columns + (columns > 0) + parameters + (parameters > 0)):
                    connection.receive()
        expect(made > 1000, f"only {made} statements were prepared")
        connection.command(bytes([COM_RESET_CONNECTION]))
        until(lambda: int(query("SHOW STATUS LIKE 'Prepared_stmt_count'")[0][1]) < 100, 30, "the statements of a reset session stay")
        with connect() as other, other.cursor() as cursor:
            until(lambda: memory_used(cursor) < before + 64 * MIB, 10, f"{memory_used(cursor)} bytes are held, {before} before")
        expect(connection.rows("SELECT 1") == [b"\x011"], "the session lives on")


def huge_texts():
    """Statements of 60 MB, each of one thing."""
    size = 60 * MIB
    yield b"SELECT 1 " + b" " * size
    yield b"SELECT 1 /* " + b"x" * size + b" */"
    yield b"SELECT /*+ " + b"x" * size + b" */ 1"
    yield b"SELECT '" + b"x" * size + b"'"
    yield b"SELECT LENGTH('" + b"''" * (size // 2) + b"')"
    yield b"SELECT '" + b"x" * size
    yield b"SELECT `" + b"x" * size + b"`"
    yield b"SELECT " + b"9" * size
    yield b"SELECT 0x" + b"ff" * (size // 2)
    yield b"SELECT " + b"x" * size
    yield b"(" * size
    yield b";" * size
    yield b"SELECT " + b"@" * size
    yield b"SELECT " + b"-" * size + b"1"
    yield b"SELECT 1" + b",1" * (size // 2)
    yield b"SELECT JSON_LENGTH('[1" + b",1" * (size // 2) + b"]')"
    yield b"SELECT JSON_SCHEMA_VALID('{\"enum\": [1" + b",1" * (size // 2) + b"]}', '2')"
    yield b"SELECT COUNT(*) FROM JSON_TABLE('[1" + b",1" * (size // 2) + b"]', '$[*]' COLUMNS (c INT PATH '$')) j"
    yield b"PREPARE q FROM '" + b"x" * size + b"'"
    yield b"CREATE PROCEDURE huge() BEGIN " + b"DO 1; " * (size // 6) + b"END"
    yield b"CREATE PROCEDURE huge() SELECT '" + b"x" * size + b"'"
    yield b"CREATE PROCEDURE huge() COMMENT '" + b"x" * size + b"' DO 1"
    yield b"CREATE PROCEDURE huge() BEGIN " + b"DECLARE v INT; " * (size // 15) + b"END"
    yield b"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '" + b"x" * size + b"'"
    yield b"SET @huge = '" + b"x" * size + b"'"
    yield b"INSERT INTO healthy VALUES (1000, '" + b"x" * size + b"', 1)"
    yield b"INSERT INTO healthy (id) VALUES (0" + b"),(0" * (size // 4) + b")"
    yield b"CREATE TABLE huge (c INT COMMENT '" + b"x" * size + b"')"
    yield b"CREATE TABLE huge (c INT, KEY ((c" + b"+1" * (size // 2) + b")))"
    yield b"CREATE VIEW huge AS SELECT '" + b"x" * size + b"' AS c"
    yield b"LOAD DATA LOCAL INFILE '" + b"x" * size + b"' INTO TABLE healthy"
    yield b"\xff" * size
    yield b"\0" * size


@test(memory_mib=1100)
def statements_of_sixty_megabytes():
    """Each gets an answer or an error, and leaves nothing behind."""
    with connect() as connection, connection.cursor() as cursor:
        before = memory_used(cursor)
    connection = raw(timeout=120)
    for text in huge_texts():
        try:
            connection.send_raw(frame(b"\x03" + text))
            connection.receive()
            connection.close()
            connection = raw(timeout=120)
        except ServerError as error:
            expect(error.number != 1105, f"{text[:60]}: {error}")
        except Closed as error:
            raise AssertionError(f"{text[:60]}: the connection was lost: {error}") from error
        query("DROP PROCEDURE IF EXISTS huge")
        query("DROP VIEW IF EXISTS huge")
        query("DROP TABLE IF EXISTS huge")
    connection.close()
    with connect() as other, other.cursor() as cursor:
        until(lambda: memory_used(cursor) < before + 32 * MIB, 20, f"{memory_used(cursor)} bytes are held, {before} before")


def loading():
    connection = Connection(ADDRESS, timeout=10)
    connection.send_raw(frame(wire.login_payload(USER, PASSWORD, connection.greet(), wire.CAPABILITIES | wire.LOCAL_FILES), 1))
    while connection.receive()[:1] != b"\0":
        connection.send_raw(frame(b"", connection.sequence))
    connection.query(f"USE {DATABASE}")
    return connection


@test(memory_mib=128)
def files_of_a_client_that_lies():
    """Instead of its file it sends errors, commands, wrong numbers, half packets, nothing: an error, or the end; never rows that were not sent."""
    query("DROP TABLE IF EXISTS loaded")
    query("CREATE TABLE loaded (id INT PRIMARY KEY, s VARCHAR(10))")
    load = b"\x03LOAD DATA LOCAL INFILE 'x' INTO TABLE loaded"
    lies = [
        lambda at: frame(b"\xff\x02\0#HY000no file", at), lambda at: frame(b"\x03SELECT 1", at) + frame(b"", at + 1), lambda at: frame(b"1\t1\n", 0), lambda at: frame(b"1\t1\n", at + 3),
        lambda at: frame(b"1\t1\n", at) + frame(b"2\t2\n", at), lambda at: b"\xff\xff\xff" + bytes([at]) + b"x" * 1000, lambda at: frame(bytes(RANDOM.randrange(256) for _ in range(3000)), at) + frame(b"", at + 1),
        lambda at: frame(b"\t" * 100_000 + b"\n", at) + frame(b"", at + 1), lambda at: frame(b"x" * 3_000_000, at) + frame(b"", at + 1), lambda at: b"".join(frame(b"7", at + i) for i in range(300)) + frame(b"", at + 300),
        lambda at: frame(b"", at) + frame(b"1\t1\n", at + 1), lambda at: frame(b"", at) + frame(b"", at + 1), lambda at: b"", lambda at: b"\x05\0\0", lambda at: frame(b"\\" * 5000, at) + frame(b"", at + 1),
    ]
    for lie in lies:
        for text in (load, load + b" FIELDS TERMINATED BY '' ENCLOSED BY ''", load + b" LINES STARTING BY 'x' (id, @s) SET s = REPEAT(@s, 1000)", load.replace(b"INTO", b"REPLACE INTO")):
            with loading() as connection:
                try:
                    first = connection.command(text)
                except ServerError:
                    continue
                expect(first[:1] == b"\xfb", "the file is asked for")
                connection.send_raw(lie(connection.sequence))
                connection.end_sending()
                expect(connection.is_closed_within(15), "the connection stays open after its end")
    # Within a prepared statement, a procedure, a packet of several statements.
    with loading() as connection:
        expect_error({1295, 1314, 1064}, connection.command, b"\x03PREPARE q FROM 'LOAD DATA LOCAL INFILE ''x'' INTO TABLE loaded'")
        expect_error({1314, 1064}, connection.command, b"\x03CREATE PROCEDURE loads() LOAD DATA LOCAL INFILE 'x' INTO TABLE loaded")
        expect(connection.rows("SELECT 1") == [b"\x011"], "the session lives on")
    rows = query("SELECT id, s FROM loaded")
    expect(len(rows) < 1000, f"{len(rows)} rows")
    query("DROP TABLE loaded")


def tls_hello(context):
    """The first bytes of a TLS client, and the objects that go on."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=HOST)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return tls, incoming, outgoing


@test(memory_mib=128)
def tls_in_pieces():
    """A TLS login byte by byte is a login; cut, changed, or followed by plain text it is the end; nothing is taken from before the handshake."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = struct.pack("<IIB23x", wire.CAPABILITIES | 1 << 11, 1 << 24, 45)

    def begin():
        connection = Connection(ADDRESS, timeout=15)
        nonce = connection.greet()
        connection.send_raw(frame(request, 1))
        return connection, nonce

    def pump(connection, tls, incoming, outgoing, work, piece):
        while True:
            try:
                result = work()
            except ssl.SSLWantReadError:
                result = None
            data = outgoing.read()
            for at in range(0, len(data), piece):
                connection.send_raw(data[at:at + piece])
            if result is not None:
                return result
            received = connection.socket.recv(RANDOM.choice([1, 7, 100, 4096]))
            if not received:
                raise Closed("end of stream")
            incoming.write(received)

    for piece in (1, 3, 50, 10_000):
        connection, nonce = begin()
        tls, incoming, outgoing = tls_hello(context)
        with connection:
            pump(connection, tls, incoming, outgoing, lambda: tls.do_handshake() or True, piece)
            pump(connection, tls, incoming, outgoing, lambda: tls.write(frame(wire.login_payload(USER, PASSWORD, nonce, wire.CAPABILITIES | 1 << 11), 2)), piece)
            answer = pump(connection, tls, incoming, outgoing, lambda: tls.read(4096), piece)
            expect(len(answer) > 4 and answer[4] in (0, 0xFE), f"the login is answered with {answer[:20]}")
            if answer[4] == 0:
                pump(connection, tls, incoming, outgoing, lambda: tls.write(frame(b"\x03SELECT REPEAT('x', 100000)")), piece)
                got = b""
                while len(got) < 100_000:
                    got += pump(connection, tls, incoming, outgoing, lambda: tls.read(65536), piece)
    hello = tls_hello(context)[2].read()
    for number in range(120):
        connection, nonce = begin()
        with connection:
            data = bytearray(hello)
            kind = number % 4
            if kind == 0:
                data = data[: RANDOM.randrange(1, len(data))]
            elif kind == 1:
                for _ in range(RANDOM.randrange(1, 6)):
                    data[RANDOM.randrange(len(data))] = RANDOM.randrange(256)
            elif kind == 2:
                data = bytearray(frame(wire.login_payload(USER, PASSWORD, nonce), 2))
            else:
                data = bytearray(b"\x16\x03\x01\xff\xff") + bytes(70_000)
            connection.send_raw(bytes(data))
            connection.end_sending()
            expect(connection.is_closed_within(15), "what is no TLS ends the connection")
    # Plain text behind the request, in the same packet, is not taken for what came encrypted.
    connection = Connection(ADDRESS, timeout=15)
    with connection:
        nonce = connection.greet()
        tls, incoming, outgoing = tls_hello(context)
        connection.send_raw(frame(request, 1) + frame(wire.login_payload(USER, PASSWORD, nonce), 2) + outgoing.read())
        expect(connection.is_closed_within(15), "plain text before the handshake ends the connection")


@test(memory_mib=1100)
def account_without_rights():
    """What an account without any right asks for is refused, and costs nobody anything: programs, dynamic SQL, locks, other people's sessions."""
    make_procedures()
    query("DROP USER IF EXISTS nobody@'%'")
    query("CREATE USER nobody@'%' IDENTIFIED WITH mysql_native_password BY 'n'")
    refused = ["CALL abuse.results()", "CREATE PROCEDURE abuse.mine() DO 1", "DROP PROCEDURE abuse.quick", "ALTER PROCEDURE abuse.quick COMMENT 'x'", "SHOW CREATE PROCEDURE abuse.quick",
               "SELECT * FROM abuse.healthy", "SELECT * FROM abuse.healthy AS OF TIMESTAMP NOW() - INTERVAL 1 SECOND", "EXPLAIN ANALYZE SELECT * FROM abuse.healthy", "CREATE VIEW abuse.v AS SELECT 1",
               "INSERT INTO abuse.healthy VALUES (1, 1, 1)", "SET GLOBAL max_connections = 1", "SET PERSIST max_connections = 1", "FLUSH TABLES WITH READ LOCK", "CREATE DATABASE mine",
               "SELECT /*+ SET_VAR(max_connections = 1) */ * FROM abuse.healthy", "SELECT * FROM mysql.user", "GRANT ALL ON *.* TO nobody@'%'", "CREATE USER somebody", "SHUTDOWN",
               "LOCK TABLES abuse.healthy WRITE", "LOAD DATA LOCAL INFILE 'x' INTO TABLE abuse.healthy", "CREATE TABLE abuse.mine (c INT, KEY ((c + 1)))", "DROP TABLE abuse.healthy",
               "SELECT (SELECT COUNT(*) FROM abuse.healthy)", "SELECT * FROM JSON_TABLE((SELECT s FROM abuse.healthy LIMIT 1), '$' COLUMNS (c INT PATH '$')) j", "ANALYZE TABLE abuse.healthy",
               "CHECKSUM TABLE abuse.healthy", "SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET SESSION debug = 'x'", "HANDLER abuse.healthy OPEN"]
    with Connection(ADDRESS, "nobody", "n", timeout=30) as connection:
        for sql in refused:
            expect(refuses(connection, sql), f"{sql} is not refused")
            for way in (f"PREPARE q FROM '{sql.replace(chr(39), chr(39) * 2)}'", "EXECUTE q"):
                expect(way == "EXECUTE q" or refuses(connection, way) or refuses(connection, "EXECUTE q"), f"{way} is not refused")
        shown = connection.rows("SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'abuse'")
        expect(shown == [b"\x010"], f"it sees {shown} routines")
        number = int(query("SELECT CONNECTION_ID()")[0][0])
        expect(refuses(connection, f"KILL {number}") and refuses(connection, "KILL 1"), "it kills others")
        # Its own session it may fill, up to its share.
        for at in range(200):
            refuses(connection, f"SET @v{at} = REPEAT('x', 60000000)")
        refuses(connection, "DO GET_LOCK('mine', 0)")
        refuses(connection, "WITH RECURSIVE r AS (SELECT 1 x UNION ALL SELECT x + 1 FROM r) SELECT /*+ SET_VAR(cte_max_recursion_depth = 4294967295) MAX_EXECUTION_TIME(200) */ MAX(x) FROM r")
    query("DROP USER nobody@'%'")


def refuses(connection, sql):
    try:
        packet = connection.query(sql)
        while packet[:1] != b"\0":
            packet = connection.receive()
            if packet[:1] == b"\xfe" and len(packet) < 9:
                packet = connection.receive()
                while not (packet[:1] == b"\xfe" and len(packet) < 9):
                    packet = connection.receive()
                break
        return False
    except ServerError as error:
        expect(error.number != 1105, f"{sql}: {error}")
        return True


# What a session does again and again, and does not hold afterwards.
REPEATED = {
    "short and long answers": ["SELECT 1", "SELECT * FROM held", "SELECT JSON_ARRAYAGG(v) FROM held"],
    "long texts": ["SELECT '" + "a" * 3_000_000 + "'", "INSERT INTO held VALUES (-1, 1, '" + "b" * 500_000 + "')", "DELETE FROM held WHERE id = -1"],
    "many columns": ["SELECT * FROM JSON_TABLE('{}', '$' COLUMNS (" + ",".join(f"c{n} INT PATH '$'" for n in range(5000)) + ")) j"],
    "changes": ["UPDATE held SET n = n + 1", "BEGIN", "UPDATE held SET v = CONCAT(n, REPEAT('c', 1000))", "COMMIT"],
    "changes taken back": ["BEGIN", "UPDATE held SET n = n + 1", "ROLLBACK", "SELECT nothing FROM held"],
    "many rows": ["INSERT INTO held VALUES " + ",".join(f"({5000 + n}, {n}, '{'d' * 500}')" for n in range(1000)), "DELETE FROM held WHERE id >= 5000"],
    "temporary tables": ["CREATE TEMPORARY TABLE short AS SELECT * FROM held", "UPDATE short SET v = CONCAT(v, 'e')", "DELETE FROM short", "DROP TABLE short"],
    "prepared statements": ["PREPARE q FROM 'SELECT * FROM held'", "EXECUTE q", "DEALLOCATE PREPARE q"],
    "variables": ["SET @long = REPEAT('f', 1000000)", "SET @long = NULL"],
    "definitions": ["CREATE TABLE made (a INT PRIMARY KEY, b INT, KEY (b))", "DROP TABLE made"],
    "programs": ["CREATE PROCEDURE made() BEGIN DECLARE n INT DEFAULT 0; WHILE n < 9 DO SET n = n + 1; END WHILE; SELECT n; END", "CALL made()", "DROP PROCEDURE made"],
}
REPETITIONS = 20
# In all of them together: some is done once, and the thread keeps some.
DRIFT_MAX = 2 * MIB


@test(memory_mib=400)
def what_a_session_is_charged_with():
    """What a session seems to hold neither grows nor shrinks with what it has done: its memory is limited by that figure."""
    with raw(timeout=120) as connection:
        run = connection.query

        def held():
            time.sleep(0.3)  # what is dropped aside
            return int(connection.rows("SELECT MEMORY_USED FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()")[0][1:])

        run("DROP TABLE IF EXISTS held")
        run("CREATE TABLE held (id INT PRIMARY KEY, n INT, v LONGTEXT)")
        run("INSERT INTO held WITH RECURSIVE r AS (SELECT 1 x UNION ALL SELECT x + 1 FROM r WHERE x < 1000) SELECT x, x, REPEAT('a', 1000) FROM r")
        # Something that it does hold: less than nothing is not shown.
        run(f"SET @kept = REPEAT('k', {20 * MIB})")
        for name, statements in REPEATED.items():
            for turn in range(REPETITIONS + 1):
                if turn == 1:
                    before = held()
                for statement in statements:
                    try:
                        connection.drain(connection.command(b"\x03" + statement.encode()))
                    except ServerError as error:
                        expect(error.number == 1054, f"{name}: {error}")
            drift = held() - before
            expect(abs(drift) <= DRIFT_MAX, f"{name}: {drift} bytes after {REPETITIONS} times")
        run("DROP TABLE held")
