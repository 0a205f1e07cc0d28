#!/usr/bin/env python3
"""Six connections that look up single rows, beside attackers that run one bad statement.

For each statement: the longest wait of the six, how long a KILL QUERY takes to end it, and the most resident memory.
A mean or a percentile would hide a stall, since who waits sends nothing; so the longest wait counts, also of an answer
that never came.

For noise that is the machine's, two figures stand beside the waits: how late a process that only sleeps wakes up meanwhile, and, where
the server was started with --report-turns and DB_LOG names its log, the longest time of a processor that it took without giving way.

    suite.py [--seconds N] [--attackers N ...] [--rows N] [--only TEXT] [--without-known] [--table FILE] [--wait-max MS] [--kill-max MS] [--turn-max MS] [--resident-max MIB]

The server is the one of DB_HOST, DB_PORT, DB_USER, DB_PASSWORD; its memory is read where DB_PID names its process.
"""

import argparse
import collections
import gc
import multiprocessing
import os
import re
import select
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "abuse"))

import wire  # noqa: E402
from statements import FILL_MANY, MIB, SETUP, statements  # noqa: E402

ADDRESS = (os.environ.get("DB_HOST", "127.0.0.1"), int(os.environ.get("DB_PORT", "3306")))
USER, PASSWORD = os.environ.get("DB_USER", "root"), os.environ.get("DB_PASSWORD", "")
PID, LOG = os.environ.get("DB_PID"), os.environ.get("DB_LOG")
VICTIMS = 6
ATTACKING_PROCESSES = 3
WAIT_LIMIT = 60  # seconds after which a look-up counts as never answered


class Client(wire.Connection):
    def __init__(self, multi=False, database="robustness"):
        super().__init__(ADDRESS, timeout=WAIT_LIMIT)
        nonce = self.greet()
        self.id = struct.unpack_from("<I", self.greeting, self.greeting.index(b"\0", 1) + 1)[0]
        capabilities = wire.CAPABILITIES | (wire.MULTI_STATEMENTS if multi else 0)
        self.send_raw(wire.frame(wire.login_payload(USER, PASSWORD, nonce, capabilities), 1))
        answer = self.receive()
        while answer[:1] != b"\0":
            if answer[:1] == b"\xfe":
                self.send_raw(wire.frame(b"", self.sequence))
            answer = self.receive()
        if database:
            self.run(f"USE {database}")

    def finish(self):
        """Reads an answer to its end, whatever it is."""
        while True:
            packet = self.receive()
            more = False
            if packet[:1] == b"\0":
                more = self.more(packet, ok=True)
            else:
                for ends in range(2):
                    while not (packet[:1] == b"\xfe" and len(packet) < 9):
                        packet = self.receive()
                    if ends == 0:
                        more = self.more(packet, ok=False)
                        packet = self.receive()
                more = self.more(packet, ok=False)
            if not more:
                return

    @staticmethod
    def more(packet, ok):
        if not ok:
            return bool(struct.unpack_from("<H", packet, 3)[0] & 8)
        at = 1
        for _ in range(2):
            at += {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(packet[at], 1)
        return bool(struct.unpack_from("<H", packet, at)[0] & 8)

    def run(self, sql):
        self.send_raw(wire.frame(b"\x03" + (sql if isinstance(sql, bytes) else sql.encode())))
        self.finish()


def look_up(seconds, begun, result):
    """Six look-ups at a time from one process; the longest wait of all."""
    gc.disable()
    clients = [Client() for _ in range(VICTIMS)]
    poll = select.epoll()
    by_fd, sent_at = {}, {}
    longest, count = 0.0, 0

    def ask(client, number):
        client.socket.sendall(wire.frame(b"\x03SELECT c FROM points WHERE id=%d" % (number % 10_000)))
        sent_at[client.socket.fileno()] = time.perf_counter()

    for client in clients:
        poll.register(client.socket.fileno(), select.EPOLLIN)
        by_fd[client.socket.fileno()] = client
        ask(client, 0)
    begun.set()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for fd, _ in poll.poll(0.1):
            client = by_fd[fd]
            try:
                client.finish()
            except wire.ServerError as error:
                result.send(("error", str(error)))
                return
            longest = max(longest, time.perf_counter() - sent_at[fd])
            count += 1
            ask(client, count)
    # What is still under way has waited so long already.
    for fd, client in by_fd.items():
        client.socket.settimeout(WAIT_LIMIT)
        try:
            client.finish()
        except (TimeoutError, wire.Closed, wire.ServerError):
            pass
        longest = max(longest, time.perf_counter() - sent_at[fd])
    result.send(("longest", longest, count))


def fill_in(sql, number, share):
    return sql.replace("{n}", str(number)).replace("{share}", str(share))


class Attacker(threading.Thread):
    def __init__(self, statement, number, share, stop):
        super().__init__(daemon=True)
        self.statement, self.number, self.share, self.stop = statement, number, share, stop
        self.rounds, self.errors, self.last_error, self.client, self.ended_at = 0, 0, None, None, None
        self.sql = statement.sql.encode() if isinstance(statement.sql, str) else statement.sql

    def fill_in(self, sql):
        return fill_in(sql, self.number, self.share)

    def run(self):
        while not self.stop.is_set():
            try:
                self.client = Client(multi=self.statement.multi)
                self.client.socket.settimeout(300)
                for sql in self.statement.series:
                    self.guarded(self.fill_in(sql))
                while not self.stop.is_set():
                    if self.statement.prepared:
                        self.prepare()
                    elif "does not read" in self.statement.name:
                        self.client.send_raw(wire.frame(b"\x03" + self.sql))
                        while not self.stop.is_set() and select.select([self.client.socket], [], [], 0.05) and not self.killed():
                            time.sleep(0.02)
                    else:
                        sql = self.fill_in(self.statement.sql).encode() if "{" in self.statement.sql else self.sql
                        self.guarded(sql)
                        for sql in self.statement.after:
                            # Of a statement that was killed there may be nothing to take back.
                            self.attempt(self.fill_in(sql))
                    self.ended_at = time.perf_counter()
                    self.rounds += 1
                    if self.rounds > 1 and self.ended_at - self.begun_at < 0.001:
                        time.sleep(0.002)
            except (wire.Closed, OSError, TimeoutError) as error:
                # With its connection a statement has ended, too.
                self.rounds += 1
                self.last_error = repr(error)
                time.sleep(0.05)

    def killed(self):
        """Whether the end of the answer has come for a client that does not read: looked for only once it is asked to."""
        return False

    def guarded(self, sql):
        self.begun_at = time.perf_counter()
        try:
            self.client.run(sql)
        except wire.ServerError as error:
            self.errors += 1
            self.last_error = str(error)[:120]

    def attempt(self, sql):
        """Once more where the KILL was late."""
        for _ in range(3):
            try:
                return self.client.run(sql)
            except wire.ServerError as error:
                if not str(error).startswith("1317"):
                    return None
        return None

    def prepare(self):
        for _ in range(self.statement.prepared):
            if self.stop.is_set():
                return
            self.begun_at = time.perf_counter()
            self.client.send_raw(wire.frame(bytes([wire.COM_STMT_PREPARE]) + self.sql))
            try:
                head = self.client.receive()
                columns = struct.unpack_from("<H", head, 5)[0]
                for _ in range(columns + (1 if columns else 0)):
                    self.client.receive()
            except wire.ServerError as error:
                self.errors += 1
                self.last_error = str(error)[:120]
                return


def attack(statement, numbers, share):
    """Attackers with these numbers, in a process of their own, until it is killed."""
    stop = threading.Event()
    threads = [Attacker(statement, number, share, stop) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def attack_and_kill(statement, seconds, share, kills):
    """The first attacker, alone in its process, so that it reads at once; answers on the pipe `kills` with how long a KILL took."""
    stop = threading.Event()
    threads = [Attacker(statement, 0, share, stop)]
    threads[0].start()
    time.sleep(seconds)
    took = None
    victim = threads[0]
    try:
        killer = Client(database=None)
        for _ in range(3):
            # A statement that never ran, as the node had no memory for its text, is not ended by a KILL either.
            if not (running := await_statement(killer, victim)):
                took = took or 0.0
                continue
            rounds, killed_at = victim.rounds, time.perf_counter()
            try:
                killer.run(f"KILL QUERY {running}")
            except wire.ServerError:
                continue  # it has ended meanwhile, with its connection
            answered = time.perf_counter()
            # Who does not read, or reads a million small answers, learns of the end long after it.
            if statement.multi or "does not read" in statement.name:
                stop.set()
                while time.perf_counter() < killed_at + 30 and is_running(killer, victim.client.id):
                    time.sleep(0.002)
                took = max(took or 0, time.perf_counter() - killed_at)
                break
            while victim.rounds == rounds and time.perf_counter() < killed_at + 60:
                time.sleep(0.001)
            took = max(took or 0, time.perf_counter() - killed_at, answered - killed_at)
            time.sleep(0.3)
    except Exception as error:
        took = took if took is not None else repr(error)
    stop.set()
    errors = sum(thread.errors for thread in threads)
    last = next((thread.last_error for thread in threads if thread.last_error), None)
    kills.send((took, sum(thread.rounds for thread in threads), errors, last))
    os._exit(0)


def await_statement(client, attacker):
    """The connection whose statement runs: it is none yet while the server receives it. Some are too short to be met."""
    until = time.perf_counter() + 3
    while time.perf_counter() < until:
        try:
            connection_id = attacker.client.id
            if is_running(client, connection_id):
                return connection_id
        except wire.ServerError:
            pass  # memory is used up just now
        time.sleep(0.001)
    return None


def is_running(client, connection_id):
    rows = client.rows(f"SELECT COUNT(*) FROM information_schema.processlist WHERE id={connection_id} AND command='Query'")
    return rows[0][1:] != b"0"


def memory(field):
    if not PID:
        return 0
    with open(f"/proc/{PID}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith(field))


def reset_peak():
    if PID:
        with open(f"/proc/{PID}/clear_refs", "w") as clear:
            clear.write("5")


def oversleep(seconds, result):
    """How much later than asked a process wakes up, at most."""
    gc.disable()
    longest, end = 0.0, time.perf_counter() + seconds
    while (now := time.perf_counter()) < end:
        time.sleep(0.001)
        longest = max(longest, time.perf_counter() - now - 0.001)
    result.send(longest)


class Turns:
    """The longest turn that the server has logged since this was made, in milliseconds."""

    def __init__(self):
        self.start = os.path.getsize(LOG) if LOG else 0

    def longest(self):
        if not LOG:
            return 0.0
        with open(LOG, errors="replace") as log:
            log.seek(self.start)
            return max((int(found) for line in log for found in re.findall(r"turn_us\W+(\d+)", ANSI.sub("", line))), default=0) / 1000


ANSI = re.compile(r"\x1b\[[0-9;]*m")


def received(pipe, seconds):
    if not pipe.poll(seconds):
        raise TimeoutError(f"no answer in {seconds} s")
    return pipe.recv()


Measured = collections.namedtuple("Measured", "outcome kill peak late turn")


def clean_up(statement, attackers):
    """Drops what the attackers have made, once those have let go of it."""
    client = Client()
    for number in range(attackers):
        for sql in statement.clean_up:
            client.run(fill_in(sql, number, 0))


def measure(statement, attackers, seconds, rows=0):
    reset_peak()
    begun = multiprocessing.Event()
    (results, from_victims), (kills, from_attackers), (late, from_sleeper) = (multiprocessing.Pipe(duplex=False) for _ in range(3))
    turns = Turns()
    victims = multiprocessing.Process(target=look_up, args=(seconds, begun, from_victims))
    victims.start()
    begun.wait(WAIT_LIMIT)
    sleeper = multiprocessing.Process(target=oversleep, args=(seconds, from_sleeper))
    sleeper.start()
    attacking = []
    if attackers:
        share = rows // attackers
        attacking.append(multiprocessing.Process(target=attack_and_kill, args=(statement, seconds, share, from_attackers)))
        attacking += [multiprocessing.Process(target=attack, args=(statement, range(first, attackers, ATTACKING_PROCESSES), share))
                      for first in range(1, min(attackers, 1 + ATTACKING_PROCESSES))]
    for process in attacking:
        process.start()
    try:
        outcome = received(results, seconds + 2 * WAIT_LIMIT)
        kill = received(kills, 120) if attacking else (None, 0, 0, None)
        return Measured(outcome, kill, memory("VmHWM:"), received(late, seconds + WAIT_LIMIT) * 1000, turns.longest())
    finally:
        for process in [victims, sleeper] + attacking:
            process.kill()
            process.join()
        if attackers:
            clean_up(statement, attackers)


def prepare(rows):
    client = Client(database=None)
    client.socket.settimeout(300)
    for sql in ["DROP DATABASE IF EXISTS robustness"] + SETUP:
        client.run(sql)
    for start in range(0, rows, 10_000):
        client.run(FILL_MANY.format(start=start))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--attackers", type=int, nargs="+", default=[2, 50])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--without-known", action="store_true")
    parser.add_argument("--table")
    parser.add_argument("--wait-max", type=float, default=20)
    parser.add_argument("--kill-max", type=float, default=100)
    parser.add_argument("--turn-max", type=float, default=10, help="of processor time, without giving way")
    parser.add_argument("--resident-max", type=int, default=0)
    options = parser.parse_args()
    prepare(options.rows)
    header = ("| statement | attackers | longest wait of others, ms | KILL to end, ms | peak resident, MiB | longest turn, ms of processor | "
              "a sleeper's delay, ms | look-ups | ended with |")
    lines = [header, "|---|---|---|---|---|---|---|---|---|"]
    alone = measure(None, 0, options.seconds)
    lines.append(f"| nobody attacks | 0 | {alone.outcome[1] * 1000:.1f} | | {alone.peak} | {alone.turn:.1f} | {alone.late:.1f} | {alone.outcome[2]} | |")
    print("\n".join(lines), flush=True)
    passed = failed = 0
    for statement in statements():
        if options.only not in statement.name or options.without_known and statement.is_known:
            continue
        for attackers in options.attackers:
            try:
                outcome, (kill, rounds, errors, last), peak, late, turn = measure(statement, attackers, options.seconds, options.rows)
            except Exception as error:
                print(f"FAILED {statement.name}: {error!r}", flush=True)
                failed += 1
                continue
            wait = outcome[1] * 1000 if outcome[0] == "longest" else float("inf")
            looked = outcome[2] if outcome[0] == "longest" else outcome[1]
            kill_text = f"{kill * 1000:.0f}" if isinstance(kill, float) else str(kill)
            note = (last or "").split(":")[0] if errors else ""
            lines.append(f"| {statement.name} | {attackers} | {wait:.1f} | {kill_text} | {peak} | {turn:.1f} | {late:.1f} | {looked} | {note} |")
            print(lines[-1], last or "", flush=True)
            # What a process that only sleeps has to wait is not the server's doing.
            good = wait <= options.wait_max * (2.5 if attackers > 2 else 1) + late
            good = good and turn <= options.turn_max
            good = good and (not isinstance(kill, float) or kill * 1000 <= options.kill_max)
            good = good and isinstance(kill, float)
            good = good and (not options.resident_max or peak <= options.resident_max)
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"FAILED {statement.name}, {attackers} attackers", flush=True)
            time.sleep(0.5)
    if options.table:
        with open(options.table, "w") as table:
            table.write("\n".join(lines) + "\n")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
