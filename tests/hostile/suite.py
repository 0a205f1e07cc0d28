#!/usr/bin/env python3
"""Statements that no server deserves, beside a client that must not notice.

Statements come from a seeded generator: hostile values in every function of the server's own table, every operator and cast
(expressions.py); every clause deep, wide and long (clauses.py); scripts with stored procedures, keys over expressions, JSON_TABLE,
checked views, hints (programs.py); packets of COM_STMT_EXECUTE with wrong types. After each
one the suite looks for:

  panic    the answer 1105, or the loss of the connection
  crash    the server is gone
  stall    the client beside waited longer than --pause for a point select
  endless  a statement does not end within --end seconds after its KILL
  kept     sessions hold more memory than before, although the session was reset
  bloat    the server's resident memory exceeds 1.25 times --memory-mib (where its process is known)

What it finds is shrunk and printed, and with --keep written to found/, whose statements are run first, always.
"""

import argparse
import os
import random
import struct
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "abuse"))

import wire  # noqa: E402
from clauses import CLEAN_UP, DEEP, SIZES, Clause  # noqa: E402
from expressions import Generator, Shape  # noqa: E402
from own_server import TABLES, OwnServer  # noqa: E402
from programs import Programs, Script  # noqa: E402
from wire import COM_RESET_CONNECTION, Closed, Connection, ServerError  # noqa: E402

ADDRESS = (os.environ.get("DB_HOST", "127.0.0.1"), int(os.environ.get("DB_PORT", "3306")))
USER, PASSWORD = os.environ.get("DB_USER", "root"), os.environ.get("DB_PASSWORD", "")
PID = os.environ.get("DB_PID")
FOUND = HERE / "found"
INTERNAL_ERROR = 1105


class Server:
    """A server of the suite's own, which it may start anew; or somebody else's, which it may not."""

    def __init__(self, options):
        self.options, self.own = options, None

    def start(self):
        global ADDRESS, PID
        if not self.options.server:
            return
        self.stop()
        memory = int(self.options.memory_mib)
        self.own = OwnServer(self.options.server, self.options.port, memory, 8 * memory + 4096, USER, PASSWORD)
        ADDRESS, PID = self.own.address, self.own.pid

    def stop(self):
        if self.own:
            self.own.stop()
        self.own = None


def connect(timeout=30):
    connection = Connection(ADDRESS, USER, PASSWORD, timeout=timeout)
    connection.query("USE hostile")
    return connection


def resident_mib():
    if not PID:
        return 0
    try:
        with open(f"/proc/{PID}/status") as status:
            return next((int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:")), 0)
    except FileNotFoundError:
        return 0


class Beside(threading.Thread):
    """Point selects, one after the other; the longest since it was last asked."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest, self.since, self.error, self.running = 0.0, None, None, True

    def run(self):
        try:
            connection = connect()
            while self.running:
                self.since = time.monotonic()
                connection.rows("SELECT n FROM hundred WHERE id = 7")
                self.longest = max(self.longest, time.monotonic() - self.since)
                self.since = None
                time.sleep(0.002)
        except (OSError, Closed, ServerError) as error:
            self.error = error

    def take_longest(self):
        since = self.since
        running = time.monotonic() - since if since else 0.0
        longest, self.longest = max(self.longest, running), 0.0
        return longest


class Killer(threading.Thread):
    """Kills what runs too long, from a connection of its own."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seconds, self.target, self.begun, self.killed, self.ended = 0.0, None, 0.0, 0.0, 0.0
        self.connection = connect()

    def watch(self, connection_id, seconds):
        self.killed, self.ended, self.begun, self.seconds = 0.0, 0.0, time.monotonic(), seconds
        self.target = connection_id

    def release(self):
        self.target = None

    def run(self):
        while True:
            time.sleep(0.005)
            target = self.target
            if target is None or self.ended or time.monotonic() - self.begun < self.seconds:
                continue
            try:
                is_running = self.connection.rows(f"SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {target} AND COMMAND <> 'Sleep'")
                if self.killed and not is_running:
                    # The client may have much to read before it learns of the end.
                    self.ended = time.monotonic()
                # A KILL QUERY that comes before its statement does not concern it.
                if self.killed or not is_running:
                    continue
                self.connection.query(f"KILL QUERY {target}")
                self.killed = time.monotonic()
            except ServerError:
                self.killed = time.monotonic()
            except (OSError, Closed):
                try:
                    self.connection = connect()
                except (OSError, Closed, ServerError):
                    return


# Sessions that have given everything back may hold so much more than the least that was seen.
KEPT_BYTES = 8 << 20


class Attacker:
    def __init__(self, options):
        self.options = options
        self.server = Server(options)
        self.scripts, self.least_held = 0, None
        self.worst = {"stall": (0.0, ""), "endless": (0.0, ""), "bloat": (0.0, "")}
        self.begin()

    def begin(self):
        """With a new server, where it is the suite's own."""
        self.server.start()
        prepare_database()
        self.beside = Beside()
        self.beside.start()
        self.killer = Killer()
        self.killer.start()
        self.open()

    def open(self):
        self.connection = connect(self.options.statement_seconds + self.options.end + 10)
        self.prepare_session()
        self.id = int(self.connection.rows("SELECT CONNECTION_ID()")[0][1:])

    def prepare_session(self):
        for statement in ("USE hostile", *self.options.session):
            self.connection.query(statement)

    def run(self, statement, seconds=None):
        """Runs a statement, or those of a script one after the other; returns what went wrong and the number of the last error."""
        if not isinstance(statement, Script):
            return self.run_one(statement if isinstance(statement, bytes) else str(statement))
        number = None
        for text in statement.texts():
            wrong, error = self.run_one(text, seconds)
            number = error or number
            if wrong:
                return f"{wrong} (at: {text[:300]})", number
        return self.give_back(), number

    def give_back(self):
        """Resets the session, which gives back what it held; returns what went wrong."""
        try:
            self.connection.command(bytes([COM_RESET_CONNECTION]))
            self.prepare_session()
            self.scripts += 1
            if self.scripts % 20:
                return None
            held = self.held()
            # What is large is dropped a piece at a time, beside other work.
            for _ in range(50):
                if held <= (self.least_held or held) + KEPT_BYTES:
                    break
                time.sleep(0.1)
                held = self.held()
        except (ServerError, Closed, OSError) as error:
            return f"panic: {error} of a reset"
        self.least_held = min(held, self.least_held or held)
        if held > self.least_held + KEPT_BYTES:
            self.least_held = held
            return f"kept: {held} bytes of sessions"
        return None

    def held(self):
        return int(self.connection.rows("SHOW GLOBAL STATUS LIKE 'Memory_used_by_sessions'")[0].split(b"sessions")[1][1:])

    def run_one(self, text, seconds=None):
        self.beside.take_longest()
        self.killer.watch(self.id, seconds or self.options.statement_seconds)
        lost = number = wrong = None
        try:
            payload = text if isinstance(text, bytes) else bytes([wire.COM_QUERY]) + text.encode()
            self.connection.drain(self.connection.command(payload))
        except ServerError as error:
            # MySQL's number for a wrong XPath, too.
            is_wrong_path = error.number == INTERNAL_ERROR and "XPATH" in str(error)
            number = None if is_wrong_path else error.number
        except TimeoutError as error:
            wrong, lost = "endless: no answer at all", error
        except (Closed, OSError) as error:
            lost = error
        killed, ended = self.killer.killed, self.killer.ended or time.monotonic()
        self.killer.release()
        if lost is not None and wrong is None:
            wrong = f"panic: {lost}" if self.is_alive() else f"crash: {lost}"
        elif number == INTERNAL_ERROR:
            wrong = "panic: 1105"
        stall, resident = self.beside.take_longest(), resident_mib()
        late = ended - killed if killed else 0.0
        for kind, figure in (("stall", stall), ("endless", late), ("bloat", resident)):
            if figure > self.worst[kind][0]:
                self.worst[kind] = (figure, str(text)[:160])
        if wrong is None and late > self.options.end:
            wrong = f"endless: {late:.2f} s after KILL"
        if wrong is None and stall > self.options.pause:
            wrong = f"stall: {stall:.2f} s"
        if wrong is None and resident > 1.25 * self.options.memory_mib:
            wrong = f"bloat: {resident:.0f} MiB"
        if lost is not None or number in (INTERNAL_ERROR, 1053):
            if self.server.options.server and not self.is_alive():
                self.begin()
            else:
                try:
                    self.open()
                except (OSError, Closed, ServerError):
                    print(f"nobody is let in after: {str(text)[:2000]}", flush=True)
                    raise
        return wrong, number

    def is_alive(self):
        for _ in range(20):
            try:
                connect(5).close()
                if self.beside.error is not None:
                    self.beside = Beside()
                    self.beside.start()
                return True
            except (OSError, Closed, ServerError):
                time.sleep(0.1)
        return False

    def shrink(self, statement, wrong):
        """The smallest form of the statement that still goes wrong in the same way."""
        kind = wrong.split(":")[0]
        for _ in range(self.options.shrink):
            for smaller in statement.smaller():
                if isinstance(statement, Shape) and not str(smaller).startswith("SELECT"):
                    continue
                again, _ = self.run(smaller)
                if again and again.startswith(kind):
                    statement, wrong = smaller, again
                    break
            else:
                break
        return statement, wrong


class Packet:
    """A COM_STMT_EXECUTE whose parameters are not what they say."""

    TYPES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 245, 246, 247, 248, 249, 250, 251, 252, 253, 254, 255, 77]

    def __init__(self, random, statement_id):
        value_bytes = bytes(random.randrange(256) for _ in range(random.choice([0, 1, 4, 8, 9, 12, 40])))
        if random.random() < 0.5:
            value_bytes = bytes([random.choice([0, 1, 4, 7, 8, 11, 12, 200, 251, 252, 253, 254, 255])]) + value_bytes
        kinds = b"".join(struct.pack("<BB", random.choice(self.TYPES), random.choice([0, 0x80, 1])) for _ in range(2))
        nulls = bytes([random.choice([0, 0, 1, 2, 3, 255])])
        head = struct.pack("<BIBI", wire.COM_STMT_EXECUTE, statement_id, random.choice([0, 0, 0, 8]), 1)
        self.bytes = head + nulls + bytes([random.choice([1, 1, 1, 0])]) + kinds + value_bytes


def run_packets(attacker, random, count):
    prepared = attacker.connection.command(bytes([wire.COM_STMT_PREPARE]) + b"SELECT CONCAT(?), ? + 1")
    statement_id = struct.unpack("<I", prepared[1:5])[0]
    for _ in range(2 * 2 + 2):
        # Two parameters and an end, two columns and an end.
        attacker.connection.receive()
    for _ in range(count):
        packet = Packet(random, statement_id)
        wrong, _ = attacker.run(packet.bytes)
        if wrong:
            return packet.bytes.hex(), wrong
    return None


def prepare_database():
    connection = Connection(ADDRESS, USER, PASSWORD)
    for statement in ("CREATE DATABASE IF NOT EXISTS hostile", "USE hostile", "DROP TABLE IF EXISTS one, hundred, scratch", *TABLES, *CLEAN_UP):
        connection.query(statement)
    connection.close()


def statements(options, rng):
    """(statement, shrinkable) without end."""
    generator = Generator(rng, options.large)
    programs = Programs(rng, generator, options.large)
    clauses = [(name, size) for name in DEEP for size in SIZES]
    rng.shuffle(clauses)
    turn = 0
    while True:
        turn += 1
        if turn % 100 < options.scripts:
            yield programs.script()
        elif turn % 8 == 0:
            name, size = clauses[turn // 8 % len(clauses)]
            yield Clause(name, size)
        else:
            yield generator.statement()


def report(options, number, statement, wrong):
    print(f"FOUND {wrong}\n  {str(statement)[:2000]}", flush=True)
    if options.keep:
        FOUND.mkdir(exist_ok=True)
        (FOUND / f"{wrong.split(':')[0]}-{options.seed}-{number}.sql").write_text(f"{statement}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long to attack")
    parser.add_argument("--statements", type=int, default=10**9, help="stop after so many, too")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32))))
    parser.add_argument("--statement-seconds", type=float, default=1.0, help="a statement is killed after this time")
    parser.add_argument("--end", type=float, default=float(os.environ.get("HOSTILE_END", "2.0")), help="most seconds from KILL to the end")
    parser.add_argument("--pause", type=float, default=float(os.environ.get("HOSTILE_PAUSE", "1.0")), help="most seconds that the client beside may wait")
    parser.add_argument("--memory-mib", type=float, default=1024, help="the server's --memory-limit")
    parser.add_argument("--large", action="store_true", help="strings of 60 MB too")
    parser.add_argument("--scripts", type=int, default=10, help="so many of a hundred are scripts (programs.py)")
    parser.add_argument("--shrink", type=int, default=40, help="steps of shrinking")
    parser.add_argument("--keep", action="store_true", help="write what is found to found/")
    parser.add_argument("--server", help="the binary: the suite starts its own, and a new one after a crash")
    parser.add_argument("--port", type=int, default=24100, help="of that server; the next one too")
    parser.add_argument("--go-on", action="store_true", help="do not stop at what is found")
    options = parser.parse_args()
    options.session = ["SET SESSION group_concat_max_len = 100000000"]
    print(f"seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    attacker = Attacker(options)
    count = found = 0
    for file in sorted(FOUND.glob("*.sql")):
        for text in file.read_text().splitlines():
            wrong, _ = attacker.run(text)
            count += 1
            if wrong:
                found += 1
                report(argparse.Namespace(keep=False), 0, f"{file.name}: {text}", wrong)
    errors = {}
    end = time.monotonic() + options.seconds
    for statement in statements(options, rng):
        if count >= options.statements or time.monotonic() > end or (found and not options.go_on):
            break
        wrong, number = attacker.run(statement, rng.choice([0.01, 0.1, 0.3, 1.0]) * options.statement_seconds)
        count += 1
        errors[number] = errors.get(number, 0) + 1
        if wrong:
            found += 1
            statement, wrong = attacker.shrink(statement, wrong)
            report(options, found, statement, wrong)
            if not attacker.is_alive():
                print("the server is gone", flush=True)
                break
            attacker.open()
        if isinstance(statement, (Clause, Script)):
            for text in CLEAN_UP:
                attacker.run(text)
        if count % 200 == 0:
            packet = run_packets(attacker, rng, 50)
            count += 50
            if packet:
                found += 1
                report(options, found, packet[0], packet[1])
                attacker.open()
    errors = {number or "none": errors[number] for number in errors}
    common = sorted(errors.items(), key=lambda entry: -entry[1])[:12]
    print(f"{count} statements, {found} findings; errors {common}")
    for kind, (figure, text) in attacker.worst.items():
        print(f"worst {kind}: {figure:.2f}  {text[:120]}")
    attacker.server.stop()
    print(f"{count - found} passed, {found} failed")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
