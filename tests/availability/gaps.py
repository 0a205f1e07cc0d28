#!/usr/bin/env python3
"""How long nobody's write is acknowledged when a node of three is lost, and whether anything acknowledged is lost with it.

Three nodes on this machine; clients of each write a row every few milliseconds, whether or not the last one was answered in time (an open
loop: 500 requests a second over all). In the middle something happens to one node. For the clients of the other nodes the longest time between two
acknowledgements is the write gap. At the end every acknowledged row has to be on every node, and all nodes have to have the same rows.

    gaps.py --binary target/release/latsdb --repeat 30 --cases kill-leader,kill-follower,stop-leader,pause-leader,move-leader
"""
import argparse
import hashlib
import os
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

import pymysql

NODES = (1, 2, 3)
CLIENTS_PER_NODE = 4
REQUESTS_A_SECOND = 500
BEFORE, AFTER = 1.5, 3.5


class Cluster:
    def __init__(self, binary, directory, port):
        self.binary, self.directory, self.port = binary, directory, port
        self.processes = {}
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)

    def address(self, node, kind):
        return f"127.0.0.1:{self.port + 3 * node + kind}"

    def start(self, node):
        command = [self.binary, "serve", "--data-dir", f"{self.directory}/node-{node}", "--node-id", str(node),
                   "--mysql-addr", self.address(node, 0), "--http-addr", self.address(node, 1),
                   "--peer-addr", self.address(node, 2), "--memory-limit", "512MiB"]
        if node > 1:
            command += ["--join", self.address(1, 2)]
        log = open(f"{self.directory}/node-{node}.log", "a")
        self.processes[node] = subprocess.Popen(command, stdout=log, stderr=log)

    def ask(self, node, path, method="GET"):
        request = urllib.request.Request(f"http://{self.address(node, 1)}{path}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=3) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def wait_until(self, what, condition, seconds=60):
        deadline = time.time() + seconds
        while not condition():
            if time.time() > deadline:
                sys.exit(f"{what} takes longer than {seconds} s: see {self.directory}")
            time.sleep(0.05)

    def wait_until_ready(self, node):
        self.wait_until(f"node {node}", lambda: self.ask(node, "/health/ready") == 200)

    def leader(self):
        leaders = []

        def look():
            leaders[:] = [node for node in NODES if self.ask(node, "/health/leader") == 200]
            return len(leaders) == 1

        self.wait_until("a leader", look)
        return leaders[0]

    def connect(self, node):
        return pymysql.connect(host="127.0.0.1", port=self.port + 3 * node, user="root", database="test", autocommit=True,
                               connect_timeout=2, read_timeout=30)

    def stop(self):
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


class Writers:
    """Clients of every node, each acknowledged row with its moment."""

    def __init__(self, cluster, first):
        self.cluster, self.next = cluster, first
        self.lock, self.is_over = threading.Lock(), False
        self.acknowledged, self.errors = {node: [] for node in NODES}, {node: [] for node in NODES}
        self.threads = [threading.Thread(target=self.write, args=(node,)) for node in NODES for _ in range(CLIENTS_PER_NODE)]
        for thread in self.threads:
            thread.start()

    def write(self, node):
        pause = len(NODES) * CLIENTS_PER_NODE / REQUESTS_A_SECOND
        connection, due = None, time.time()
        while not self.is_over:
            due += pause
            time.sleep(max(0.0, due - time.time()))
            with self.lock:
                number, self.next = self.next, self.next + 1
            try:
                connection = connection or self.cluster.connect(node)
                with connection.cursor() as cursor:
                    cursor.execute("INSERT INTO written VALUES (%s, %s)", (number, node))
                self.acknowledged[node].append((time.time(), number))
            except Exception as error:
                self.errors[node].append(str(error))
                connection, due = None, max(due, time.time())

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


def kill(cluster, node):
    cluster.processes[node].kill()
    cluster.processes[node].wait()


def stop(cluster, node):
    cluster.processes[node].terminate()


def pause(cluster, node):
    cluster.processes[node].send_signal(signal.SIGSTOP)
    threading.Timer(2.0, lambda: cluster.processes[node].send_signal(signal.SIGCONT)).start()


def move(cluster, node):
    cluster.ask(node, "/admin/move-leader", "POST")


# What happens to which node, and whether its own clients are to notice nothing either.
CASES = {
    "kill-leader": (kill, True, False),
    "kill-follower": (kill, False, False),
    "stop-leader": (stop, True, False),
    "pause-leader": (pause, True, False),
    "move-leader": (move, True, True),
}


def run(cluster, case, first):
    """The write gap of the other nodes' clients, errors that they have seen, and rows that are missing."""
    act, of_leader, own_clients_too = CASES[case]
    leader = cluster.leader()
    node = leader if of_leader else next(other for other in NODES if other != leader)
    writers = Writers(cluster, first)
    time.sleep(BEFORE)
    began = time.time()
    act(cluster, node)
    time.sleep(AFTER)
    writers.end()
    if cluster.processes[node].poll() is not None or act is stop:
        cluster.processes[node].wait()
        cluster.start(node)
    cluster.wait_until_ready(node)
    watched = [other for other in NODES if own_clients_too or other != node]
    gap = 0.0
    for other in watched:
        moments = sorted(at for at, _ in writers.acknowledged[other] if at >= began - 0.5)
        gap = max([gap] + [later - earlier for earlier, later in zip(moments, moments[1:])])
    errors = [error for other in watched for error in writers.errors[other]]
    acknowledged = {number for rows in writers.acknowledged.values() for _, number in rows}
    images, missing = set(), set()
    for other in NODES:
        with cluster.connect(other) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT id, node FROM written ORDER BY id")
            rows = cursor.fetchall()
        images.add(hashlib.sha256(repr(rows).encode()).hexdigest())
        missing |= acknowledged - {number for number, _ in rows}
    if len(images) > 1:
        sys.exit(f"{case}: the nodes have different rows")
    return gap, errors, len(acknowledged), len(missing), writers.next


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/latsdb")
    parser.add_argument("--dir", default="target/test-data/availability")
    parser.add_argument("--port", type=int, default=3700)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--gap-max", type=float, default=None, help="fail if a gap is longer, in milliseconds")
    args = parser.parse_args()
    cluster = Cluster(args.binary, args.dir, args.port)
    passed = failed = 0
    try:
        for node in NODES:
            cluster.start(node)
        for node in NODES:
            cluster.wait_until_ready(node)
        with cluster.connect(1) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE written (id BIGINT PRIMARY KEY, node INT NOT NULL)")
        first = 0
        print("| case | repetitions | median gap, ms | worst gap, ms | errors | acknowledged | lost |\n|---|---|---|---|---|---|---|")
        for case in args.cases.split(","):
            gaps, errors, acknowledged, lost = [], 0, 0, 0
            for _ in range(args.repeat):
                gap, seen, rows, missing, first = run(cluster, case, first)
                gaps.append(1000 * gap)
                errors, acknowledged, lost = errors + len(seen), acknowledged + rows, lost + missing
                is_good = missing == 0 and (args.gap_max is None or 1000 * gap <= args.gap_max)
                passed, failed = passed + is_good, failed + (not is_good)
            print(f"| {case} | {args.repeat} | {statistics.median(gaps):.0f} | {max(gaps):.0f} | {errors} | {acknowledged} | {lost} |", flush=True)
    finally:
        cluster.stop()
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
