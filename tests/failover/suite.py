#!/usr/bin/env python3
"""Real drivers with several hosts to go to, while the node that they are connected to dies, is drained, or stands still.

    suite.py --binary target/debug/latsdb --dir DIR          every driver that is there, every fault
    suite.py --faults kill-leader --drivers mysql2            some
    suite.py --write docs/operations/cluster.md               puts the figures into the document

Three nodes on loopback addresses of their own. A driver runs in a program of its language (tests/clients/*/failover*), which inserts numbers,
reads the newest of them back, and holds transactions open for a moment. It prints a line for each with what its user was told; here is judged:

* what was acknowledged is there once, on every node; what ended with an error of the server is not there; of a transaction all is there or nothing;
* a read shows what the driver was told before;
* errors are those at which a user of the driver runs the work again: the connection was lost, or a transaction was a deadlock's victim (1213);
* the time without a write is bounded, and the driver goes on by itself.

The programs are found in the environment: FAILOVER_GO (the program), FAILOVER_NODE (Node itself), FAILOVER_JAVA_LIBRARIES (a directory). What is not
there is skipped by name.
"""
import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter, namedtuple
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "availability"))

from cluster import HTTP, MYSQL, PEER, Cluster, Failed, wait_until  # noqa: E402

PASSWORD = "failover"
# A driver that hears nothing for 2 s gives its connection up, and some wait as long for the greeting of the same node.
GAP_MAX = 6.0
# Drivers that are asked to begin elsewhere have to be there within so long.
SETTLED_SECONDS = 30
# All nodes have to show the same rows after so long without clients.
AGREED_SECONDS = 10
BEFORE, AFTER = 1.0, 3.0
PAUSED_SECONDS = 6.0

MARK_BEGIN, MARK_END = "<!-- drivers: begin -->", "<!-- drivers: end -->"

Program = namedtuple("Program", "command drivers needs")
Line = namedtuple("Line", "driver what result numbers began ended node code state text")


class Loopback:
    """Three hosts that are addresses of this machine. Nobody needs to be root for them."""

    hosts = 3

    def __init__(self, subnet):
        self.subnet = subnet

    def address(self, host):
        return f"{self.subnet}.{host}"

    def local(self, host, port):
        return f"{self.address(host)}:{port}"

    @staticmethod
    def command(_host, *words):
        return list(words)

    @staticmethod
    def at(_host):
        return contextlib.nullcontext()


# --- drivers ---

def programs():
    """By name: what runs it, the drivers in it, and what has to be there. The drivers marked with True begin with the first host."""
    clients = TESTS / "clients"
    libraries = os.environ.get("FAILOVER_JAVA_LIBRARIES")
    return {
        "java": Program(["java", "-cp", f"{libraries}/*", str(clients / "java/Failover.java")],
                        {"connectorj": True, "connectorj-loadbalance": False, "mariadb-sequential": True, "mariadb-loadbalance": False},
                        libraries),
        "go": Program([os.environ.get("FAILOVER_GO")], {"go-connector": True, "go-dialler": True}, os.environ.get("FAILOVER_GO")),
        "node": Program([os.environ.get("FAILOVER_NODE"), str(clients / "node/failover.mjs")], {"mysql2-order": True, "mysql2-rr": False},
                        os.environ.get("FAILOVER_NODE")),
        "python": Program([sys.executable, str(clients / "python/failover.py")], {"pymysql": True, "mysql-connector-python": True}, True),
    }


# What a driver says of a connection that is lost, or that could not be made: its code, SQLSTATE, and text.
LOST = re.compile("|".join((
    # SQLSTATE class 08, by which JDBC's users and pools decide; 25S03 is MariaDB Connector/J's for one that it has made anew.
    r"^\d+ (08\w{3}|25S03) ",
    # PyMySQL and mysql-connector-python, with the numbers of MySQL's client library.
    r"^(2002|2003|2006|2013|2055) ",
    r"^1053 ",
    r"InterfaceError: Unable to connect to any|MySQL Connection not available|ReadTimeoutError",
    # go-sql-driver/mysql, database/sql and net.
    r"driver: bad connection|invalid connection|connection refused|unexpected EOF|broken pipe|connection reset|i/o timeout",
    # mysql2 and Node.
    r"PROTOCOL_CONNECTION_LOST|PROTOCOL_SEQUENCE_TIMEOUT|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|POOL_NONEONLINE|ER_SERVER_SHUTDOWN|in closed state",
)))


class Client:
    """A program under way, and the lines it has printed."""

    def __init__(self, name, program, first, hosts):
        self.name, self.program, self.lines = name, program, []
        env = {**os.environ, "DB_USER": "app", "DB_PASSWORD": PASSWORD}
        self.process = subprocess.Popen([*program.command, str(first), ",".join(hosts)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=env)
        self.noise = []
        self.readers = [threading.Thread(target=self.read, daemon=True),
                        threading.Thread(target=lambda: self.noise.extend(self.process.stderr), daemon=True)]
        for reader in self.readers:
            reader.start()

    def read(self):
        for text in self.process.stdout:
            fields = text.rstrip("\n").split("\t")
            if len(fields) != len(Line._fields):
                self.noise.append(text)
                continue
            driver, what, result, numbers, began, ended, node, code, state, told = fields
            self.lines.append(Line(driver, what, result, [int(number) for number in numbers.split(",")],
                                   int(began) / 1000, int(ended) / 1000, node, int(code), state, told))

    def of(self, driver):
        return [line for line in list(self.lines) if line.driver == driver]

    def is_at(self, driver, node):
        """Whether its last read was there."""
        reads = [line for line in self.of(driver) if line.what == "read" and line.result == "done"]
        return bool(reads) and (node is None or reads[-1].node == str(node))

    def end(self):
        """An error, if it does not end by itself."""
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "does not end"
        for reader in self.readers:
            reader.join(5)
        if self.process.returncode != 0:
            return f"ended with {self.process.returncode}: {''.join(self.noise[-5:])}"
        return None


# --- faults ---

class Fault:
    def __init__(self, name, about, is_for_leader, do):
        self.name, self.about, self.is_for_leader, self.do = name, about, is_for_leader, do


def kill(cluster, node):
    cluster.kill(node)
    time.sleep(AFTER)
    cluster.start(node)
    cluster.wait_until_whole()


def drain(cluster, node):
    cluster.order(node, "drain")
    time.sleep(1)
    code = cluster.stop(node)
    if code != 0:
        raise Failed(f"node {node} ended with {code}")
    time.sleep(AFTER / 2)
    cluster.start(node)
    cluster.wait_until_whole()


def pause(cluster, node):
    cluster.send(node, signal.SIGSTOP)
    time.sleep(PAUSED_SECONDS)
    cluster.send(node, signal.SIGCONT)
    cluster.wait_until_whole()


FAULTS = [
    Fault("kill-follower", "`kill -9` of a follower", False, kill),
    Fault("kill-leader", "`kill -9` of the leader", True, kill),
    Fault("drain-leader", "the leader is drained and stopped", True, drain),
    Fault("pause-leader", "the leader stands still for 6 s", True, pause),
]


class Suite:
    def __init__(self, args):
        self.args, self.passed, self.failed, self.skipped = args, 0, 0, 0
        self.first, self.figures = 1, {}
        self.cluster = Cluster(args.binary, args.dir, Loopback(args.subnet), ["--memory-limit", "512MiB"])

    def report(self, name, problems, note):
        if problems:
            self.failed += 1
            print(f"FAILED {name}: {note}")
            for problem in problems[:8]:
                print(f"    {problem}")
        else:
            self.passed += 1
            print(f"ok {name}: {note}")
        sys.stdout.flush()

    def run(self):
        chosen = {}
        for name, program in programs().items():
            wanted = [driver for driver in program.drivers if self.args.drivers is None or driver.startswith(tuple(self.args.drivers))]
            if wanted and not program.needs:
                self.skipped += len(FAULTS) * len(wanted)
                print(f"skipped: {', '.join(wanted)}: what {name} needs is not found (make install-tools)")
            elif wanted:
                chosen[name] = program
        try:
            self.cluster.start_all()
            leader = self.cluster.leader()
            for sql in ("CREATE DATABASE failover",
                        "CREATE TABLE failover.written (id BIGINT AUTO_INCREMENT PRIMARY KEY, number BIGINT NOT NULL, KEY (number))",
                        f"CREATE USER app IDENTIFIED BY '{PASSWORD}'", "GRANT ALL ON failover.* TO app"):
                self.cluster.query(leader, sql)
            for fault in FAULTS:
                if self.args.faults is None or fault.name in self.args.faults:
                    self.run_fault(fault, chosen)
        except Exception:  # pylint: disable=broad-except
            self.failed += 1
            traceback.print_exc(file=sys.stdout)
            for node in self.cluster.nodes:
                print(f"    node {node}: {self.cluster.last_words(node)}")
        finally:
            self.cluster.end()
        panics = [line for node in self.cluster.nodes for line in Path(self.cluster.log_path(node)).read_text().splitlines() if "panicked at " in line]
        self.report("no node panics", panics, f"{len(panics)} panics")

    def run_fault(self, fault, chosen):
        leader = self.cluster.leader()
        victim = leader if fault.is_for_leader else next(node for node in self.cluster.nodes if node != leader)
        nodes = [victim, *(node for node in self.cluster.nodes if node != victim)]
        hosts = [self.cluster.network.local(node, MYSQL) for node in nodes]
        clients = []
        for name, program in chosen.items():
            clients.append(Client(name, program, self.first, hosts))
            self.first += 10_000_000
        try:
            for client in clients:
                for driver, begins_first in client.program.drivers.items():
                    self.wait_for(client, driver, victim if begins_first else None)
            time.sleep(BEFORE)
            began = time.time()
            fault.do(self.cluster, victim)
            time.sleep(AFTER)
            ended = time.time()
        finally:
            ends = {client.name: client.end() for client in clients}
        present = self.present(nodes)
        for client in clients:
            for driver in client.program.drivers:
                problems = [f"{client.name}: {ends[client.name]}"] if ends[client.name] else []
                note = self.judge(fault, client.of(driver), began, ended, present, problems)
                self.report(f"{fault.name} {driver}", problems, note)

    @staticmethod
    def wait_for(client, driver, node):
        def is_there():
            if client.process.poll() is not None:
                raise Failed(f"{client.name} has ended: {''.join(client.noise[-8:])}")
            return client.is_at(driver, node)
        try:
            wait_until(driver, is_there, SETTLED_SECONDS)
        except Failed as error:
            last = client.of(driver)[-3:]
            raise Failed(f"{error}; it said: {last or ''.join(client.noise[-8:])}") from None

    def present(self, nodes):
        """How often each number is there, by every node. What clients have left under way may still be done between two answers."""
        def agreed():
            counts = [dict(self.cluster.query(node, "SELECT number, COUNT(*) FROM failover.written GROUP BY number")) for node in nodes]
            return counts[0] if all(count == counts[0] for count in counts) else None
        return wait_until("that all nodes show the same", agreed, AGREED_SECONDS)

    def judge(self, fault, lines, began, ended, present, problems):
        gap, gap_at = longest_gap([line.ended for line in lines if line.result == "done" and line.what != "read"], began, ended)
        if gap > GAP_MAX:
            problems.append(f"{gap:.2f} s without a write")
        kinds = Counter()
        for line in lines:
            there = [present.get(number, 0) for number in line.numbers]
            about = f"{line.what} {line.numbers}: {line.code} {line.state} {line.text}"
            if max(there) > 1:
                problems.append(f"done more than once: {about}")
            if line.result == "done":
                if min(there) < 1:
                    problems.append(f"acknowledged and lost: {about}")
                continue
            if line.what != "read" and 0 < sum(there) < len(there):
                problems.append(f"done in part: {about}")
            if line.code == 1213 and line.what == "transaction":
                kinds["1213"] += 1
                if sum(there):
                    problems.append(f"refused and done: {about}")
            elif LOST.search(f"{line.code} {line.state} {line.text}"):
                kinds["lost"] += 1
                if line.ended < began - BEFORE:
                    problems.append(f"lost before anything happened: {about}")
            else:
                when = f"from {line.began - began:+.3f} to {line.ended - began:+.3f} s"
                problems.append(f"an error that nobody expects, {when}, done {sum(there)} times: {about}")
            if self.args.verbose:
                print(f"      +{line.began - began:.3f} {line.ended - line.began:.3f} s {about}")
        self.figures[fault.name, lines[0].driver] = (gap, kinds["lost"], kinds["1213"])
        done = sum(line.result == "done" for line in lines)
        return f"longest time without a write {gap:.2f} s (at {gap_at:+.1f} s); {done} done, {kinds['lost']} × connection lost, {kinds['1213']} × 1213"

    def table(self):
        """The figures as the document shows them."""
        drivers = list(dict.fromkeys(driver for _, driver in self.figures))
        faults = [fault for fault in FAULTS if any(name == fault.name for name, _ in self.figures)]
        rows = ["| driver | " + " | ".join(fault.about for fault in faults) + " |", "|---|" + "---|" * len(faults)]
        for driver in drivers:
            cells = []
            for fault in faults:
                gap, lost, victims = self.figures[fault.name, driver]
                cells.append(f"{gap:.1f} s; {lost}, {victims}")
            rows.append(f"| {driver} | " + " | ".join(cells) + " |")
        return "\n".join(rows)


def longest_gap(moments, began, ended):
    """The longest time without any of the moments, from the last one before `began` to `ended`; and when that was, after `began`."""
    before = [moment for moment in moments if moment <= began]
    points = [before[-1] if before else began, *(moment for moment in moments if began < moment <= ended), ended]
    return max((later - earlier, earlier - began) for earlier, later in zip(points, points[1:]))


def write(document, table):
    text = Path(document).read_text()
    head, rest = text.split(MARK_BEGIN)
    Path(document).write_text(f"{head}{MARK_BEGIN}\n{table}\n{MARK_END}{rest.split(MARK_END)[1]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--subnet", default=f"127.83.{os.getpid() % 250}", help=f"of loopback; its ports {MYSQL}, {HTTP}, {PEER} are used")
    parser.add_argument("--faults", nargs="+", choices=[fault.name for fault in FAULTS])
    parser.add_argument("--drivers", nargs="+", help="what their names begin with")
    parser.add_argument("--write", metavar="FILE")
    parser.add_argument("--verbose", action="store_true", help="show every error")
    args = parser.parse_args()
    suite = Suite(args)
    suite.run()
    print(suite.table())
    if args.write and not suite.failed:
        write(args.write, suite.table())
    if not suite.failed:
        shutil.rmtree(args.dir, ignore_errors=True)
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    sys.exit(1 if suite.failed else 0)


if __name__ == "__main__":
    main()
