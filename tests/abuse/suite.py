#!/usr/bin/env python3
"""Clients that no server deserves, beside one that must not notice.

While each test runs, a healthy client reads and writes; it must meet no error, never wait longer than PAUSE_MAX, and keep
a tenth of the throughput that it has alone. Where the server's process is known (DB_PID), its resident memory must stay
within what the test allows. After every test the server must still answer a new client.
"""

import resource
import struct
import sys
import threading
import time
import traceback

import pymysql

import sessions  # noqa: F401: it registers its tests
import wire
from harness import (ADDRESS, DATABASE, LOGIN_LIMIT, MIB, PASSWORD, RANDOM, SEED, TESTS, USER, connect, expect, expect_error, memory_used, prepare,
                     query, raw, run, test, throughput_alone)
from wire import Closed, Connection, ServerError, frame


@test(memory_mib=64)
def garbage_bytes():
    """Other protocols, random bytes and lying headers, before the login."""
    openings = [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"SSH-2.0-OpenSSH_9\r\n",
                b"*1\r\n$4\r\nPING\r\n", b"\xff" * 64, b"\0" * 64, b"\xff\xff\xff\x01" + b"x" * 1000, b"\x00\x00\x00\x01", b"\x00\x00\x40\x01"]
    openings += [RANDOM.randbytes(RANDOM.randrange(1, 2000)) for _ in range(150)]
    connections = []
    for opening in openings:
        connection = Connection(ADDRESS)
        try:
            connection.send_raw(opening)
        except Closed:
            pass
        connections.append(connection)
    for connection in connections:
        connection.end_sending()
        expect(connection.is_closed_within(LOGIN_LIMIT), "garbage kept a connection open")
        connection.close()


@test(memory_mib=64)
def login_packets_cut_and_changed():
    """Every prefix of a login packet, and five hundred with bytes changed."""
    with Connection(ADDRESS) as one:
        login = wire.login_payload(USER, PASSWORD, one.greet())
    packets = [frame(login[:length], 1) for length in range(len(login))]
    for _ in range(500):
        changed = bytearray(login)
        for _ in range(RANDOM.randrange(1, 8)):
            changed[RANDOM.randrange(len(changed))] = RANDOM.randrange(256)
        packets.append(frame(bytes(changed), RANDOM.choice([1, 1, 1, 0, 2, 255])))
    for number, packet in enumerate(packets):
        if number % 4 == 0:
            raw().close()  # a right login, so that wrong passwords do not slow the next ones down
        with Connection(ADDRESS) as connection:
            connection.greet()
            try:
                connection.send_raw(packet)
                connection.end_sending()
                connection.receive()
            except (Closed, ServerError):
                pass


@test(memory_mib=64)
def slow_logins():
    """A byte a second, and nothing at all: both are cut at the login's time limit."""
    started = time.monotonic()
    silent = [Connection(ADDRESS) for _ in range(50)]
    dripping = [Connection(ADDRESS) for _ in range(50)]
    packets = [frame(wire.login_payload(USER, PASSWORD, connection.greet()), 1) for connection in dripping]
    cut = [False] * len(dripping)
    while time.monotonic() - started < LOGIN_LIMIT and not all(cut):
        position = int(time.monotonic() - started)
        for number, connection in enumerate(dripping):
            if not cut[number]:
                try:
                    connection.send_raw(packets[number][position : position + 1])
                    connection.socket.setblocking(False)
                    cut[number] = any(not connection.socket.recv(1 << 16) for _ in range(2))
                except (BlockingIOError, InterruptedError):
                    pass
                except (Closed, ConnectionError):
                    cut[number] = True
                finally:
                    connection.socket.setblocking(True)
        time.sleep(1)
    expect(all(cut), f"{cut.count(False)} logins drip on after {LOGIN_LIMIT} s")
    for connection in silent:
        expect(connection.is_closed_within(5), "a silent connection stays")
    for connection in silent + dripping:
        connection.close()


@test(memory_mib=64)
def long_login():
    """More than 64 KiB before the login is refused by its announced length."""
    for length in (65 * 1024, 15 * MIB):
        with Connection(ADDRESS) as connection:
            connection.greet()
            connection.send_raw(struct.pack("<I", length)[:3] + b"\x01" + b"x" * 1000)
            expect(connection.is_closed_within(5), f"a login of {length} bytes is waited for")


def account(name, password, plugin="mysql_native_password"):
    query(f"DROP USER IF EXISTS {name}@'%'")
    query(f"CREATE USER {name}@'%' IDENTIFIED WITH {plugin} BY '{password}'")


def login_error(user, password):
    """The error of a login, or None."""
    try:
        Connection(ADDRESS, user, password).close()
    except ServerError as error:
        return error
    return None


@test(memory_mib=64)
def guessed_passwords():
    """Forty guessers on one account get few guesses a second, and the right password works soon after them."""
    account("guessed", "right")
    checked = [0]
    end = time.monotonic() + 5

    def guess():
        while time.monotonic() < end:
            error = login_error("guessed", "wrong")
            expect(error.number == 1045, f"{error}")
            if "too many failed logins" not in error.message:
                checked[0] += 1

    threads = [threading.Thread(target=guess, daemon=True) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    expect(checked[0] <= 80, f"{checked[0]} guesses were checked")
    deadline = time.monotonic() + 20
    while login_error("guessed", "right") is not None:
        expect(time.monotonic() < deadline, "the right password does not work any more")
        time.sleep(0.5)


@test(memory_mib=64)
def guesses_by_change_user():
    """COM_CHANGE_USER is a login: its guesses are slowed down like others."""
    account("changed", "right")
    account("changing", "own")
    started = time.monotonic()
    for _ in range(12):
        with Connection(ADDRESS, "changing", "own") as connection:
            change = b"\x11changed\0\x14" + b"z" * 20 + b"\0" + struct.pack("<H", 45) + b"mysql_native_password\0"
            expect_error({1045}, connection.command, change)
    expect(time.monotonic() - started > 2, "twelve guesses took no time")


@test(memory_mib=64)
def long_passwords():
    """A password of 60,000 bytes is refused before it is hashed, for accounts and for names without one."""
    account("hashed", "secret", "caching_sha2_password")
    for user in ("hashed", "no_such_user"):
        with Connection(ADDRESS) as connection:
            connection.greet()
            login = struct.pack("<IIB23x", wire.CAPABILITIES, 1 << 30, 45) + user.encode() + b"\0\x20" + b"x" * 32
            connection.send_raw(frame(login + b"caching_sha2_password\0", 1))
            switched = connection.receive()
            if switched[:1] == b"\xfe":
                plugin_is_native = b"native" in switched
                connection.send_raw(frame(b"x" * 32, connection.sequence))
                if plugin_is_native:  # a name without an account may be asked for either
                    expect_error({1045}, connection.receive)
                    continue
                expect(connection.receive() == b"\x01\x04", "the long way")
            started = time.monotonic()
            connection.send_raw(frame(b"y" * 60_000 + b"\0", connection.sequence))
            expect_error({1045}, connection.receive)
            expect(time.monotonic() - started < 2, f"{user}: it was hashed")


@test(memory_mib=200)
def half_open_connections():
    """Four thousand clients that never log in push each other out; others log in beside them."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit[0] < 6000:
        resource.setrlimit(resource.RLIMIT_NOFILE, (6000, max(limit[1], 6000)))
    connections = []
    for number in range(4000):
        connections.append(Connection(ADDRESS))
        if number % 500 == 0:
            started = time.monotonic()
            query("SELECT 1")
            expect(time.monotonic() - started < 3, "a login beside half-open ones waits")
        time.sleep(0.001)
    query("SELECT 1")
    for connection in connections:
        connection.close()


@test(memory_mib=64)
def one_account_takes_what_it_can_get():
    """It gets three quarters of the places; others and administrators find theirs."""
    account("greedy", "secret")
    account("modest", "secret")
    most = int(query("SELECT @@max_connections")[0][0])
    connections = []
    try:
        query("SET GLOBAL max_connections = 40")
        refused = set()
        for user, tries in (("greedy", 60), ("modest", 60)):
            for _ in range(tries):
                try:
                    connections.append(Connection(ADDRESS, user, "secret"))
                except ServerError as error:
                    refused.add((user, error.number))
        expect(refused == {("greedy", 1203), ("modest", 1040)}, f"{refused}")
        expect(30 < len(connections) <= 40, f"{len(connections)} places")
        query("SELECT 1")
    finally:
        for connection in connections:
            connection.close()
        query(f"SET GLOBAL max_connections = {most}")


@test(memory_mib=64)
def client_that_stops_reading():
    """Three clients ask for gigabytes and never read: the server buffers little, and others go on."""
    connections = []
    for _ in range(3):
        connection = raw(receive_buffer=4096)
        connection.send_raw(frame(bytes([wire.COM_QUERY]) + b"SELECT a.s, b.s, c.s FROM wide AS a, wide AS b, wide AS c"))
        connections.append(connection)
    time.sleep(5)
    for connection in connections:
        connection.close()
    deadline = time.monotonic() + 30
    while query("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%wide AS c%' AND ID <> CONNECTION_ID()")[0][0]:
        expect(time.monotonic() < deadline, "a statement without a client runs on")
        time.sleep(0.1)


@test(memory_mib=400)
def five_thousand_idle_connections():
    """They cost little memory, answer when asked, and leave nothing behind."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit[0] < 6000:
        resource.setrlimit(resource.RLIMIT_NOFILE, (6000, max(limit[1], 6000)))
    connections = [Connection(ADDRESS, USER, PASSWORD) for _ in range(5000)]
    for connection in RANDOM.sample(connections, 100):
        expect(connection.rows("SELECT 7") == [b"\x017"], "an idle connection answers")
    threads = int(query("SHOW STATUS LIKE 'Threads_connected'")[0][1])
    expect(threads >= 5000, f"Threads_connected is {threads}")
    for connection in connections:
        connection.close()
    deadline = time.monotonic() + 30
    while int(query("SHOW STATUS LIKE 'Threads_connected'")[0][1]) > 100:
        expect(time.monotonic() < deadline, "closed connections stay")
        time.sleep(0.1)


@test(memory_mib=192)
def statement_of_a_gigabyte():
    """Refused with 1153 before it is buffered."""
    with raw() as connection:
        piece = b"\x03SELECT '" + b"x" * (0xFFFFFF - 9)
        try:
            for number in range(64):
                connection.send_raw(struct.pack("<I", 0xFFFFFF)[:3] + bytes([number]) + piece)
        except Closed:
            pass
        try:
            expect_error({1153}, connection.receive)
        except Closed:
            pass  # the answer may be lost where unread data resets the connection
        expect(connection.is_closed_within(10), "the connection stays open")


@test(memory_mib=64)
def announced_but_never_sent():
    """Forty clients announce 16 MB each and send nothing of it."""
    connections = [raw() for _ in range(40)]
    for connection in connections:
        connection.send_raw(b"\xff\xff\xff\x00\x03SELECT 1")
    time.sleep(1)
    for connection in connections:
        connection.close()


@test(memory_mib=64)
def half_packets():
    """A packet in single bytes is a packet; half a packet and a closed socket is nothing."""
    with raw() as connection:
        for byte in frame(b"\x03SELECT 40 + 2"):
            connection.send_raw(bytes([byte]))
            time.sleep(0.001)
        expect(connection.receive() == b"\x01", "one column")
    for _ in range(100):
        with raw() as connection:
            connection.send_raw(frame(b"\x03UPDATE healthy SET s = 'half'")[: RANDOM.randrange(1, 30)])
    expect(query("SELECT COUNT(*) FROM healthy WHERE s = 'half'") == ((0,),), "half a statement was run")


@test(memory_mib=64)
def wrong_sequence():
    """1156 and the end of the connection."""
    for number in (1, 7, 255):
        with raw() as connection:
            connection.send_raw(frame(b"\x03SELECT 1", number))
            try:
                error = expect_error({1156}, connection.receive)
                expect(error.state == "08S01", f"SQLSTATE {error.state}")
            except Closed:
                pass
            expect(connection.is_closed_within(5), "the connection stays open")


@test(memory_mib=64)
def unknown_commands():
    """1047 for what is no command; the connection lives on."""
    with raw() as connection:
        for code in (0x20, 0x42, 0x80, 0xFE):
            expect_error({1047}, connection.command, bytes([code]) + b"abc")
        expect(connection.rows("SELECT 1") == [b"\x011"], "it answers")
    with raw() as connection:
        connection.send_raw(frame(b""))
        try:
            connection.receive()
        except (ServerError, Closed):
            pass


@test(memory_mib=128)
def changed_commands():
    """Prepared statements executed, fetched, fed and closed with bytes changed at random."""
    connection = raw()
    prepared = connection.command(b"\x16SELECT id, s FROM healthy WHERE id > ? AND s <> ? LIMIT 2")
    statement = prepared[1:5]
    execute = b"\x17" + statement + b"\x00\x01\x00\x00\x00" + b"\x00\x01" + b"\x08\x00\xfd\x00" + struct.pack("<q", 5) + b"\x01x"
    commands = [execute, b"\x18" + statement + b"\x01\x00long data", b"\x1c" + statement + b"\x05\x00\x00\x00", b"\x1a" + statement,
                b"\x03SELECT * FROM healthy WHERE s = '\xc3\xbc' AND id IN (1, 2)", b"\x02abuse", b"\x04healthy\x00%", b"\x1b\x01\x00", b"\x11root\x00\x00"]
    for number in range(400):
        command = bytearray(RANDOM.choice(commands))
        for _ in range(RANDOM.randrange(0, 5)):
            command[RANDOM.randrange(len(command))] = RANDOM.randrange(256)
        command = bytes(command[: RANDOM.randrange(1, len(command) + 1)]) if RANDOM.random() < 0.3 else bytes(command)
        if command[:1] in (b"\x01", b"\x08"):
            continue  # quit and shutdown are no abuse
        try:
            connection.send_raw(frame(command))
            connection.socket.settimeout(0.02)
            while True:
                connection.receive_exactly(1)
        except TimeoutError:
            connection.socket.settimeout(20)
        except Closed:
            connection.close()
            connection = raw()
            prepared = connection.command(b"\x16SELECT id, s FROM healthy WHERE id > ? AND s <> ? LIMIT 2")
    connection.close()


@test(memory_mib=512)
def deep_nesting():
    """However deep a statement nests, it gets an answer or an error."""
    depth = 100_000
    statements = [
        "SELECT " + "(" * depth + "1" + ")" * depth,
        "SELECT " + "(" * depth,
        "SELECT " + "-" * depth + "1",
        "SELECT " + "- " * depth + "1",
        "SELECT " + "NOT " * depth + "1",
        "SELECT " + "!" * depth + "1",
        "SELECT " + "~" * depth + "1",
        "SELECT 1" + " + 1" * depth,
        "SELECT 1" + " AND 1" * depth,
        "SELECT 1" + " OR 1" * depth,
        "SELECT 1" + " = 1" * depth,
        "SELECT " + "ABS(" * depth + "1" + ")" * depth,
        "SELECT " + "CASE WHEN 1 THEN " * depth + "1" + " END" * depth,
        "SELECT " + "(SELECT " * 5000 + "1" + ")" * 5000,
        "SELECT * FROM " + "(" * depth + "healthy" + ")" * depth,
        "SELECT * FROM " + "(SELECT * FROM " * 5000 + "healthy" + ") AS x" * 5000,
        "SELECT 1" + " UNION SELECT 1" * 20_000,
        "SELECT * FROM healthy WHERE " + "EXISTS (SELECT 1 WHERE " * 5000 + "1" + ")" * 5000,
        "SELECT " + "INTERVAL 1 DAY + " * depth + "NOW()",
        "SELECT CAST('" + "[" * depth + "]" * depth + "' AS JSON)",
        "SELECT JSON_VALID('" + '{"a":' * depth + "1" + "}" * depth + "')",
        "SELECT " + "a." * depth + "a",
        "SELECT " + "/*" * depth,
        "SELECT " + "@a := " * depth + "1",
    ]
    for statement in statements:
        with raw(timeout=60) as connection:
            try:
                connection.query(statement)
            except ServerError:
                pass
            except Closed as error:
                raise AssertionError(f"{statement[:60]!r} ended the connection: {error}") from error


@test(memory_mib=800)
def huge_lists():
    """Half a million values in an IN list, a hundred thousand rows in an INSERT, as many columns as fit."""
    with connect() as connection, connection.cursor() as cursor:
        numbers = list(range(0, 1_000_000, 2))
        cursor.execute(f"SELECT COUNT(*) FROM healthy WHERE id IN ({','.join(map(str, numbers))})")
        expect(cursor.fetchone() == (50,), "every other of a hundred rows")
        cursor.execute("DROP TABLE IF EXISTS bulk")
        cursor.execute("CREATE TABLE bulk (id INT PRIMARY KEY, n INT)")
        rows = cursor.execute("INSERT INTO bulk VALUES " + ",".join(f"({n},{n})" for n in range(100_000)))
        expect(rows == 100_000, f"{rows} rows inserted")
        cursor.execute("DROP TABLE bulk")
        cursor.execute("SELECT " + ",".join(["1"] * 4000))
        expect(len(cursor.fetchone()) == 4000, "4,000 columns")
    with raw(timeout=60) as connection:
        expect_error({1390}, connection.command, b"\x16SELECT " + b",".join([b"?"] * 70_000))


@test(memory_mib=256)
def long_data_without_end():
    """A parameter fed beyond max_allowed_packet is refused when it is used, and not kept."""
    with raw(timeout=60) as connection:
        statement = connection.command(b"\x16SELECT LENGTH(?)")[1:5]
        connection.receive()
        connection.receive()
        connection.receive()
        connection.receive()
        piece = b"\x18" + statement + b"\x00\x00" + b"x" * (8 * MIB)
        for _ in range(40):
            connection.send_raw(frame(piece))
        execute = b"\x17" + statement + b"\x00\x01\x00\x00\x00" + b"\x00\x01\xfb\x00"
        try:
            expect_error({1105, 1153, 1301}, connection.command, execute)
        except Closed:
            pass


@test(memory_mib=600)
def prepared_without_end():
    """Twenty thousand statements on one connection; all are gone with it."""
    with raw() as connection:
        for number in range(20_000):
            try:
                connection.command(b"\x16SELECT s FROM healthy WHERE id = %d" % number)
            except ServerError as error:
                expect(error.number == 1461, f"{error}")
                break
            connection.receive()  # the column
            connection.receive()  # EOF
    deadline = time.monotonic() + 30
    while int(query("SHOW STATUS LIKE 'Prepared_stmt_count'")[0][1]) > 100:
        expect(time.monotonic() < deadline, "the statements of a closed connection stay")
        time.sleep(0.1)


@test(memory_mib=64)
def come_and_go():
    """Two thousand clients that leave in the middle of whatever they do."""
    for number in range(2000):
        with Connection(ADDRESS) as connection:
            stage = number % 5
            if stage > 0:
                nonce = connection.greet()
            if stage > 1:
                connection.send_raw(frame(wire.login_payload(USER, PASSWORD, nonce), 1))
            if stage > 2:
                connection.receive()
            if stage > 3:
                connection.send_raw(frame(b"\x03SELECT * FROM abuse.wide"))


@test(memory_mib=64)
def file_that_stops_coming():
    """KILL QUERY ends a LOAD DATA LOCAL whose client sends nothing more: its locks go at once, its answer comes behind the file."""
    query("DROP TABLE IF EXISTS loaded")
    query("CREATE TABLE loaded (id INT PRIMARY KEY)")
    connection = Connection(ADDRESS)
    connection.send_raw(wire.frame(wire.login_payload(USER, PASSWORD, connection.greet(), wire.CAPABILITIES | wire.LOCAL_FILES), 1))
    while connection.receive()[:1] != b"\0":
        connection.send_raw(wire.frame(b"", connection.sequence))
    connection.query(f"USE {DATABASE}")
    number = int(connection.rows("SELECT CONNECTION_ID()")[0][1:])
    with connection:
        expect(connection.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE loaded")[:1] == b"\xfb", "the file is asked for")
        connection.send_raw(wire.frame(b"1\n2\n3\n", connection.sequence))
        time.sleep(0.5)
        query(f"KILL QUERY {number}")
        begun = time.monotonic()
        query("INSERT INTO loaded VALUES (1)")
        expect(time.monotonic() - begun < 2, "the rows of the killed statement are free")
        connection.send_raw(wire.frame(b"4\n", connection.sequence + 1) + wire.frame(b"", connection.sequence + 2))
        expect_error({1317}, connection.receive)
        expect(connection.rows("SELECT COUNT(*) FROM loaded")[0][1:] == b"1", "nothing of the killed statement is there")


@test(memory_mib=64)
def gone_with_locks():
    """A client that dies in a transaction frees its locks."""
    for _ in range(20):
        with raw() as connection:
            connection.query("BEGIN")
            connection.query("UPDATE locked SET n = n + 1")
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET innodb_lock_wait_timeout = 10")
        cursor.execute("UPDATE locked SET n = n + 100")
        cursor.execute("SELECT MIN(n), MAX(n) FROM locked")
        expect(cursor.fetchone() == (100, 100), "what was not committed is not there")


@test(memory_mib=900)
def memory_limit():
    """A table that fills the memory gets 1114; reading, deleting and others go on; the space comes back."""
    limit = query("SHOW VARIABLES LIKE 'memory_limit'")
    if not limit:
        return  # not our server
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE filling (id INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)")
        for attempt in range(2):
            stored = 0
            try:
                while stored < 2 * int(limit[0][1]) // MIB:
                    cursor.execute("INSERT INTO filling (b) VALUES (REPEAT('x', 4194304)), (REPEAT('y', 4194304))")
                    stored += 8
                raise AssertionError(f"{stored} MiB stored, and no limit")
            except pymysql.MySQLError as error:
                expect(error.args[0] in (1114, 1041), f"attempt {attempt}, {stored} MiB stored: {error}")
            expect(stored > 100, f"attempt {attempt}: only {stored} MiB fit")
            cursor.execute("SELECT COUNT(*) FROM filling")
            expect(cursor.fetchone()[0] == stored // 4, "rows that were acknowledged")
            cursor.execute("DELETE FROM filling")
        cursor.execute("DROP TABLE filling")


@test(memory_mib=1200)
def long_answers_that_nobody_reads():
    """They may take what queries get, until somebody needs it: those that have waited longest end, and writes go on."""
    clients = []
    for _ in range(40):
        connection = raw(receive_buffer=4096)
        connection.send_raw(frame(bytes([wire.COM_QUERY]) + b"SELECT REPEAT('x', 30000000)"))
        clients.append(connection)
    with connect() as connection, connection.cursor() as cursor:
        deadline = time.monotonic() + 30
        while memory_used(cursor) < 920 * MIB:
            expect(time.monotonic() < deadline, "the answers are not made")
            time.sleep(0.05)
        while memory_used(cursor) > 800 * MIB:
            expect(time.monotonic() < deadline, "all memory is held for clients that do not read")
            time.sleep(0.05)
        cursor.execute("CREATE TABLE filling (id INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)")
        for _ in range(25):
            cursor.execute("INSERT INTO filling (b) VALUES (REPEAT('x', 4194304)), (REPEAT('y', 4194304))")
        cursor.execute("DROP TABLE filling")
    for connection in clients:
        connection.close()


def main():
    print(f"SEED={SEED}")
    prepare()
    alone = throughput_alone()
    wanted = sys.argv[1:]
    passed = failed = 0
    for name, function, memory_mib in TESTS:
        if wanted and name not in wanted:
            continue
        try:
            print(f"ok {name} ({run(name, function, memory_mib, alone)})", flush=True)
            passed += 1
        except Exception as error:
            failed += 1
            print(f"FAILED {name}: {error}", flush=True)
            if not isinstance(error, AssertionError):
                traceback.print_exc(file=sys.stdout)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
