"""What the tests of hostile clients share: connections, the healthy client beside each test, and what a test must keep to."""

import os
import random
import threading
import time

import pymysql

from wire import Connection, ServerError

HOST = os.environ.get("DB_HOST", "127.0.0.1")
PORT = int(os.environ.get("DB_PORT", "3306"))
USER = os.environ.get("DB_USER", "root")
PASSWORD = os.environ.get("DB_PASSWORD", "")
PID = os.environ.get("DB_PID")
ADDRESS = (HOST, PORT)
DATABASE = "abuse"
MIB = 1 << 20
PAUSE_MAX = 5.0  # seconds that the healthy client may wait for one answer
LOGIN_LIMIT = 15  # seconds after which an unfinished login must be gone (the server's limit is 10)
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))
RANDOM = random.Random(SEED)


def connect(**options):
    return pymysql.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE, autocommit=True,
                           read_timeout=60, max_allowed_packet=64 * MIB, **options)


def raw(**options):
    connection = Connection(ADDRESS, USER, PASSWORD, **options)
    connection.query(f"USE {DATABASE}")
    return connection


def query(sql):
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def resident_mib():
    """Resident memory of the server, or 0 where its process is not known."""
    if not PID:
        return 0
    with open(f"/proc/{PID}/status") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0


class Healthy:
    """A well-behaved client in a thread of its own, and what it met."""

    def __init__(self):
        self.connection = connect()
        self.running = True
        self.errors, self.longest, self.statements = [], 0.0, 0
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        with self.connection, self.connection.cursor() as cursor:
            while self.running:
                started = time.monotonic()
                try:
                    row = self.statements % 100
                    cursor.execute("SELECT s FROM healthy WHERE id = %s", (row,))
                    if cursor.fetchone() is None:
                        self.errors.append(f"row {row} is gone")
                    if self.statements % 10 == 0:
                        cursor.execute("UPDATE healthy SET n = n + 1 WHERE id = %s", (row,))
                except Exception as error:
                    self.errors.append(repr(error))
                    return
                self.longest = max(self.longest, time.monotonic() - started)
                self.statements += 1
                time.sleep(0.002)

    def stop(self):
        self.running = False
        self.thread.join(60)
        return self


def throughput_alone():
    healthy = Healthy()
    time.sleep(1)
    return healthy.stop().statements


TESTS = []


def test(memory_mib):
    """Registers a test; resident memory may grow by this much while it runs."""

    def register(function):
        TESTS.append((function.__name__, function, memory_mib))
        return function

    return register


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def expect_error(numbers, function, *args):
    try:
        function(*args)
    except ServerError as error:
        expect(error.number in numbers, f"error {error}, wanted one of {numbers}")
        return error
    raise AssertionError(f"no error, wanted one of {numbers}")


def memory_used(cursor):
    cursor.execute("SHOW GLOBAL STATUS LIKE 'Memory_used'")
    return int(cursor.fetchone()[1])


def prepare():
    admin = pymysql.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, autocommit=True)
    with admin, admin.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        cursor.execute(f"CREATE DATABASE {DATABASE}")
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE healthy (id INT PRIMARY KEY, s VARCHAR(20), n INT)")
        cursor.execute("INSERT INTO healthy VALUES " + ",".join(f"({n}, 'row {n}', 0)" for n in range(100)))
        cursor.execute("CREATE TABLE wide (id INT PRIMARY KEY, s VARCHAR(8000))")
        cursor.execute("INSERT INTO wide VALUES " + ",".join(f"({n}, REPEAT('w', 8000))" for n in range(300)))
        cursor.execute("CREATE TABLE locked (id INT PRIMARY KEY, n INT)")
        cursor.execute("INSERT INTO locked VALUES (1, 0), (2, 0), (3, 0)")


def run(name, function, memory_mib, alone):
    """One test; raises what went wrong with it or with the others."""
    before = resident_mib()
    peak = [before]
    watching = True

    def watch():
        while watching:
            peak[0] = max(peak[0], resident_mib())
            time.sleep(0.05)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    healthy = Healthy()
    started = time.monotonic()
    try:
        function()
    finally:
        seconds = time.monotonic() - started
        time.sleep(0.2)
        healthy.stop()
        watching = False
        watcher.join()
    expect(not healthy.errors, f"the healthy client met {healthy.errors[:3]}")
    expect(healthy.longest < PAUSE_MAX, f"the healthy client waited {healthy.longest:.1f} s")
    expected = alone * seconds / 10
    expect(healthy.statements >= expected, f"the healthy client did {healthy.statements} statements, alone it does {alone * seconds:.0f}")
    expect(peak[0] - before <= memory_mib, f"memory grew by {peak[0] - before:.0f} MiB, {memory_mib} allowed")
    expect(query("SELECT COUNT(*) FROM healthy") == ((100,),), "the data is as it was")
    return f"{seconds:.1f} s, +{peak[0] - before:.0f} MiB, longest wait of the healthy client {healthy.longest * 1000:.0f} ms"
