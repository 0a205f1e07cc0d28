#!/usr/bin/env python3
"""Statements that cost more than their size: quadratic names, lists, sessions, beside clients that must not wait.

A shape (clauses.py, many.py, plenty.py) makes statements of any size. Its size is doubled until a statement takes --seconds of the server's
CPU time, or is as large as it may be. Each statement of it is then found

  superlinear  unless it is known (KNOWN says why), if its last doubling cost more than 2^--power times as much (measured --again times more, the least counts), and it took more than --least seconds
  stall        if a client beside waited longer than --pause seconds for a point select, while the server computed for as long
  panic        if it was answered by 1105, or by the loss of the connection
  endless      if it did not end within --end seconds after its KILL

CPU time, and not time, is what is compared: other programs on the machine make no findings. Needs the server's process: DB_PID, or --server.
"""

import argparse
import math
import os
import struct
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "abuse"))

import wire  # noqa: E402
from clauses import CLEAN_UP, DEEP  # noqa: E402
from many import DEFINITIONS, LISTS, PROGRAMS, Script  # noqa: E402
from own_server import TABLES, OwnServer  # noqa: E402
from plenty import ROWS, STATES, STRINGS  # noqa: E402
from wire import CAPABILITIES, COM_QUERY, MULTI_STATEMENTS, Closed, Connection, ServerError  # noqa: E402

ADDRESS = (os.environ.get("DB_HOST", "127.0.0.1"), int(os.environ.get("DB_PORT", "3306")))
USER, PASSWORD = os.environ.get("DB_USER", "root"), os.environ.get("DB_PASSWORD", "")
INTERNAL_ERROR = 1105
LARGEST = 8 << 20  # bytes of a statement
BESIDE = 4  # clients, so that each of the server's threads has one
CONNECT_ATTRIBUTES, PLUGIN_AUTH_DATA, CONNECT_WITH_DB = 1 << 20, 1 << 21, 8
COM_CHANGE_USER = 17

# What they cost is not for their size: they ask for it.
ASKED_FOR = {"cross join", "recursion", "doubled common tables", "doubled unions", "schema's pattern", "schema of references", "group_concat", "like of one run"}

# Why these cost more than their size; they must give way to others all the same.
KNOWN = {
    "list: json_merge_patch": "each document is merged into all before it",
    "list: json_merge_preserve": "each document is merged into all before it",
    "list: json_array_insert": "each element moves those behind it",
    "list: group by aliases": "each group has as many values as there are items",
    "clause: in list of rows": "a tree of ranges",
    "clause: order by": "each row has as many keys as there are items",
    "clause: collate": "each operator looks at the ones below it",
    "clause: nested loops": "each label is compared with those around it",
    "clause: checks": "names of checks are compared with each other",
    "clause: chain of generated": "each column depends on all before it",
    "clause: paths beside": "each path has a row of all columns",
    "rows: frames that grow": "MIN and MAX of a frame whose beginning moves are computed anew",
    "rows: frames that shrink": "MIN, MAX and deviations of a frame whose beginning moves are computed anew",
    "rows: frames that slide": "MIN and MAX of a frame whose beginning moves are computed anew",
    "rows: sums of doubles that slide": "what cannot be taken from a sum of doubles is computed anew",
    "rows: subqueries with in": "ANY and ALL compare a row with each of the subquery's",
    "rows: joined by null-safe equality": "nested loops",
    "state: tables": "each change makes the next catalog",
    "state: databases": "each change makes the next catalog",
    "state: views": "each change makes the next catalog",
    "state: procedures": "each change makes the next catalog",
    "state: used in one transaction": "each change makes the next catalog",
    "state: foreign keys to one": "each change makes the next catalog",
    "state: savepoints": "names of savepoints are compared with each other",
    "state: savepoints released": "names of savepoints are compared with each other",
}


class Client(Connection):
    """Sends several statements in a packet."""

    capabilities = CAPABILITIES | MULTI_STATEMENTS | CONNECT_ATTRIBUTES


class Server:
    """The process whose CPU time counts."""

    def __init__(self, options):
        global ADDRESS
        self.own, self.pid = None, os.environ.get("DB_PID")
        if options.server:
            self.own = OwnServer(options.server, options.port, 2 << 10, 16 << 10, USER, PASSWORD)
            ADDRESS, self.pid = self.own.address, self.own.pid
        if not self.pid:
            raise SystemExit("whose CPU time? DB_PID=… or --server BINARY")
        # The clock of another process (clock_getcpuclockid).
        self.clock = (~int(self.pid) << 3) | 2

    def seconds(self):
        """CPU time so far."""
        return time.clock_gettime(self.clock)

    def stop(self):
        if self.own:
            self.own.stop()


class Beside(threading.Thread):
    """A client with point selects, now and then; the longest wait, as far as the server computed in it."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.longest, self.since, self.count, self.error = server, 0.0, None, 0, None

    def run(self):
        try:
            connection = connect(600)
            while True:
                self.since = (time.monotonic(), self.server.seconds())
                connection.rows("SELECT n FROM hundred WHERE id = 7")
                self.longest = max(self.longest, self.waited())
                self.since = None
                self.count += 1
                time.sleep(0.1)
        except (OSError, Closed, ServerError) as error:
            self.error = error

    def waited(self):
        since = self.since
        return min(time.monotonic() - since[0], self.server.seconds() - since[1]) if since else 0.0

    def take_longest(self):
        longest, self.longest = max(self.longest, self.waited()), 0.0
        return longest


def connect(timeout):
    connection = Client(ADDRESS, USER, PASSWORD, timeout=timeout)
    connection.query("USE hostile")
    return connection


def prepare_database():
    connection = Connection(ADDRESS, USER, PASSWORD, timeout=600)
    words = ",".join(f"({i}, 'same w{i} w{i + 1} w{i % 7} other')" for i in range(100))
    for statement in ("DROP DATABASE IF EXISTS hostile", "CREATE DATABASE hostile", "USE hostile", *TABLES, "CREATE TABLE pairs (a INT, b INT, KEY (a, b))", "INSERT INTO pairs VALUES (1, 1), (2, 2)",
                      "CREATE TABLE numbers (i INT PRIMARY KEY)", "SET cte_max_recursion_depth = 100000",
                      "INSERT INTO numbers WITH RECURSIVE r AS (SELECT 0 x UNION ALL SELECT x + 1 FROM r WHERE x < 65535) SELECT x FROM r",
                      "CREATE TABLE texts (id INT PRIMARY KEY, t LONGTEXT, FULLTEXT KEY (t))", f"INSERT INTO texts VALUES {words}",
                      "DROP USER IF EXISTS granted@localhost", "CREATE USER granted@localhost"):
        connection.query(statement)
    connection.close()


def attributes(n):
    """COM_CHANGE_USER with so many attributes of the connection."""
    pairs = b"".join(bytes([len(part)]) + part for i in range(n) for part in (b"k%d" % i, b"v%d" % i))
    length = b"\xfd" + struct.pack("<I", len(pairs))[:3] if len(pairs) > 0xFFFF else b"\xfc" + struct.pack("<H", len(pairs))
    return [bytes([COM_CHANGE_USER]) + USER.encode() + b"\0\0hostile\0" + struct.pack("<H", 45) + b"mysql_native_password\0" + length + pairs]


def prepared(text, parameters=0):
    """Prepared and executed by packets: the id of a connection's first statement is 1."""
    kinds = b"\x03\0" * parameters
    values = struct.pack("<I", 7) * parameters
    tail = bytes((parameters + 7) // 8) + b"\x01" + kinds + values if parameters else b""
    return [bytes([wire.COM_STMT_PREPARE]) + text.encode(), struct.pack("<BIBI", wire.COM_STMT_EXECUTE, 1, 0, 1) + tail]


PACKETS = {
    "attributes of a connection": Script(attributes, most=1 << 18),
    "prepared parameters": Script(lambda n: prepared("SELECT " + ", ".join("?" * n), n), most=65535),
    "prepared sum": Script(lambda n: prepared("SELECT " + "+".join("?" * n), n), most=4096),
    "prepared in": Script(lambda n: prepared(f"SELECT COUNT(*) FROM hundred WHERE id IN ({','.join('?' * n)})", n), most=65535),
    "prepared columns": Script(lambda n: prepared("SELECT " + ", ".join(f"{i} a{i}" for i in range(n)))),
    "prepared rows": Script(lambda n: prepared(f"SELECT * FROM (VALUES {', '.join(['ROW(?)'] * n)}) t", n), most=65535),
    "prepared inserts": Script(lambda n: prepared(f"INSERT IGNORE INTO scratch VALUES {', '.join(['(?, ?)'] * n)}", 2 * n), most=32767),
}


class Step:
    """What one statement of a shape cost."""

    def __init__(self, size, text, cost, pause, wrong, error):
        self.size, self.text, self.cost, self.pause, self.wrong, self.error = size, text, cost, pause, wrong, error


class Machine:
    def __init__(self, options):
        self.options, self.server = options, Server(options)
        prepare_database()
        self.beside = [Beside(self.server) for _ in range(BESIDE)]
        for beside in self.beside:
            beside.start()
        self.connection = None
        self.each_beside = 0.0
        time.sleep(0.5)
        self.calibrate()

    def calibrate(self):
        """What the clients beside cost for each of their statements."""
        count, seconds = self.selects(), self.server.seconds()
        time.sleep(1)
        self.each_beside = (self.server.seconds() - seconds) / max(1, self.selects() - count)

    def selects(self):
        return sum(beside.count for beside in self.beside)

    def open(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = connect(self.options.kill + self.options.end + 60)
        self.connection.query("SET SESSION max_execution_time = 0")

    def measure(self, size, payload):
        """One packet, to the end of its answer."""
        text = payload if isinstance(payload, str) else repr(payload[:80])
        packet = payload if isinstance(payload, bytes) else bytes([COM_QUERY]) + payload.encode()
        for beside in self.beside:
            beside.take_longest()
        killed = []
        timer = threading.Timer(self.options.kill, self.kill, [self.connection, killed])
        timer.start()
        wrong = error = None
        count, before = self.selects(), self.server.seconds()
        try:
            self.answer(packet)
        except ServerError as failure:
            error = failure.number
            if error == INTERNAL_ERROR:
                wrong = "panic: 1105"
        except TimeoutError:
            wrong = "endless: no answer"
        except (Closed, OSError) as failure:
            wrong = f"panic: {failure}"
        cost = self.server.seconds() - before - (self.selects() - count) * self.each_beside
        timer.cancel()
        if killed and time.monotonic() - killed[0] > self.options.end:
            wrong = wrong or f"endless: {time.monotonic() - killed[0]:.1f} s after KILL"
        pause = max(beside.take_longest() for beside in self.beside)
        if any(beside.error for beside in self.beside):
            wrong = wrong or "panic: a client beside was sent away"
        if wrong and "endless" not in wrong or error in (1053, 3024):
            self.open()
        return Step(size, text, cost, pause, wrong, error)

    def answer(self, packet):
        first = self.connection.command(packet)
        if packet[0] == wire.COM_STMT_PREPARE:
            columns, parameters = struct.unpack("<HH", first[5:9])
            for count in (parameters, columns):
                for _ in range(count + 1 if count else 0):
                    self.connection.receive()
        elif packet[0] == COM_CHANGE_USER:
            while first[:1] != b"\0":
                self.connection.send_raw(wire.frame(b"", self.connection.sequence))
                first = self.connection.receive()
        else:
            self.connection.drain(first)

    def kill(self, connection, killed):
        try:
            with connect(60) as other:
                killed.append(time.monotonic())
                other.query(f"KILL QUERY {connection.id}")
        except (OSError, Closed, ServerError):
            pass

    def run_size(self, script, size):
        """Steps by their place; those of `before` and `after` too."""
        self.open()
        self.connection.id = int(self.connection.rows("SELECT CONNECTION_ID()")[0][1:])
        steps = []
        for part, make in (("before", script.before), ("", script.measured), ("after", script.after)):
            texts = make(size) if make else []
            packets = [texts] if isinstance(texts, (str, bytes)) else texts
            # Many packets with the same kind of statements are one step.
            together = len(packets) > 40 or (part and len(packets) > 1) or any(isinstance(packet, str) and packet.count("; ") > 10 for packet in packets)
            found = [self.measure(size, packet) for packet in packets]
            if together and found:
                wrong = next((step.wrong for step in found if step.wrong), None)
                error = next((step.error for step in found if step.error), None)
                found = [Step(size, f"{len(found)} packets, {found[-1].text}", sum(step.cost for step in found), max(step.pause for step in found), wrong, error)]
            steps += [(f"{part}{i}", step) for i, step in enumerate(found)]
        return dict(steps)

    def run(self, name, script):
        """The findings of a shape: (place, what is wrong)."""
        size, last, before, findings = self.options.first, {}, {}, {}
        largest = 0
        while size <= min(script.most, self.options.most) and largest < self.options.seconds:
            text = script.measured(size)
            if sum(len(piece) for piece in ([text] if isinstance(text, (str, bytes)) else text)) > LARGEST:
                break
            before, last = last, self.run_size(script, size)
            for place, step in last.items():
                if step.wrong:
                    findings[place] = step.wrong
                elif step.pause > self.options.pause and place not in findings:
                    findings[place] = f"stall: {step.pause:.2f} s"
            largest = max([step.cost for step in last.values()], default=0)
            if findings:
                break
            size *= 4 if largest < self.options.seconds / 32 else 2
        factor = 1
        for place, step in last.items():
            if place in before:
                factor = step.size / before[place].size
                power = growth(before[place], step)
                if step.cost > self.options.least and power > self.options.power:
                    findings.setdefault(place, f"superlinear: {power:.2f}")
        if any(wrong.startswith("superlinear") for wrong in findings.values()):
            findings = self.confirm(script, findings, before, last)
        reason = script.known or KNOWN.get(name)
        known = [place for place, wrong in findings.items() if reason and wrong.startswith("superlinear")]
        if known:
            print(f"known {name}/{','.join(known)}: {reason}", flush=True)
        findings = {place: wrong for place, wrong in findings.items() if place not in known}
        for place, wrong in findings.items():
            earlier = f"{before[place].cost * 1000:.1f} ms at {before[place].size}, " if place in before else ""
            step = last[place]
            print(f"FOUND {name}/{place} {wrong}: {earlier}{step.cost * 1000:.1f} ms at {step.size}, pause {step.pause * 1000:.0f} ms, error {step.error}\n  {step.text[:200]}", flush=True)
        if self.options.verbose:
            for place, step in last.items():
                power = growth(before[place], step) if place in before else 0
                print(f"  {name}/{place} at {step.size}: {step.cost * 1000:.1f} ms, power {power:.2f}, pause {step.pause * 1000:.0f} ms, error {step.error}", flush=True)
        return findings

    def confirm(self, script, findings, before, last):
        """Without those that another measurement does not show."""
        for _ in range(self.options.again):
            for steps in (before, last):
                size = next(iter(steps.values())).size
                for place, step in self.run_size(script, size).items():
                    if place in steps and step.cost < steps[place].cost:
                        steps[place] = step
        return {place: wrong if not wrong.startswith("superlinear") else f"superlinear: {growth(before[place], last[place]):.2f}" for place, wrong in findings.items()
                if not wrong.startswith("superlinear") or (growth(before[place], last[place]) > self.options.power and last[place].cost > self.options.least)}


def growth(before, step):
    """The power of the size that the cost went up by."""
    if before.cost <= 0 or step.cost <= 0 or step.size == before.size:
        return 0.0
    return math.log(step.cost / before.cost) / math.log(step.size / before.size)


def shapes():
    clauses = {f"clause: {name}": Script(lambda n, make=make: [make(n)], None, lambda n: CLEAN_UP) for name, make in DEEP.items() if name not in ASKED_FOR}
    groups = {"list": LISTS, "definition": DEFINITIONS, "program": PROGRAMS, "packet": PACKETS, "state": STATES, "rows": ROWS, "string": STRINGS}
    named = {f"{group}: {name}": shape for group, table in groups.items() for name, shape in table.items()}
    return {name: shape if isinstance(shape, Script) else Script(shape) for name, shape in {**named, **clauses}.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("only", nargs="*", help="parts of the names of shapes; all without")
    parser.add_argument("--seconds", type=float, default=1.5, help="CPU time of a statement after which its size grows no more")
    parser.add_argument("--power", type=float, default=1.4, help="the most that cost may grow by, as a power of the size")
    parser.add_argument("--least", type=float, default=0.1, help="less CPU time is no finding")
    parser.add_argument("--pause", type=float, default=float(os.environ.get("HOSTILE_PAUSE", "1.0")), help="most seconds that a client beside may wait")
    parser.add_argument("--kill", type=float, default=60, help="a statement is killed after this time")
    parser.add_argument("--end", type=float, default=float(os.environ.get("HOSTILE_END", "5.0")), help="most seconds from KILL to the end")
    parser.add_argument("--again", type=int, default=2, help="how often what seems superlinear is measured again")
    parser.add_argument("--first", type=int, default=32, help="the first size")
    parser.add_argument("--most", type=int, default=1 << 16, help="the largest size, of shapes that have no smaller one")
    parser.add_argument("--limit", type=float, default=1e9, help="stop after so many seconds")
    parser.add_argument("--server", help="the binary: the machine starts its own")
    parser.add_argument("--port", type=int, default=24200, help="of that server; the next one too")
    parser.add_argument("--verbose", action="store_true", help="every figure")
    options = parser.parse_args()
    machine = Machine(options)
    passed = failed = 0
    end = time.monotonic() + options.limit
    for name, script in shapes().items():
        if options.only and not any(part in name for part in options.only):
            continue
        if time.monotonic() > end:
            print(f"stopped before {name}", flush=True)
            break
        if machine.run(name, script):
            failed += 1
        else:
            passed += 1
    machine.server.stop()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
