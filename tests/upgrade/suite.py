"""Replaces a cluster's program by a newer one under load, node by node, and raises the feature level.

usage: suite.py OLD NEW DIR PORT     two programs, an empty directory, the first of twelve free ports

Clients commit single rows on whichever node is ready, as behind a load balancer. Nothing that was acknowledged may be lost, no statement may fail, and
programs that do not speak the cluster's level have to be refused in words that say what to do.
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pymysql

NODES = (1, 2, 3)
CLIENTS = 6
PAUSE = 0.01
# As long as a load balancer takes to look again, and clients to leave.
LEAVING = 1.0
PATIENCE = 60


class Failed(Exception):
    """What the suite is to tell."""


def wait_until(what, condition):
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if condition():
                return
        except (OSError, ValueError):
            pass
        if time.monotonic() > deadline:
            raise Failed(f"{what} does not come")
        time.sleep(0.05)


class Cluster:
    """Nodes as processes, each with a program of its own."""

    def __init__(self, programs, directory, port):
        self.programs, self.directory, self.port = programs, directory, port
        self.processes, self.runs = {}, {}

    def mysql(self, node):
        return self.port + 3 * (node - 1)

    def http(self, node):
        return self.mysql(node) + 1

    def command(self, program, node):
        words = [self.programs[program], "serve", "--data-dir", f"{self.directory}/node-{node}", "--node-id", str(node),
                 "--mysql-addr", f"127.0.0.1:{self.mysql(node)}", "--http-addr", f"127.0.0.1:{self.http(node)}",
                 "--peer-addr", f"127.0.0.1:{self.mysql(node) + 2}", "--memory-limit", "256MiB"]
        if node > 1 or self.runs:
            words += ["--join", ",".join(f"127.0.0.1:{self.mysql(other) + 2}" for other in NODES)]
        return words

    def start(self, node, program):
        with open(f"{self.directory}/node-{node}.log", "ab") as log:
            self.processes[node] = subprocess.Popen(self.command(program, node), stdout=log, stderr=log, cwd=self.directory)
        self.runs[node] = program
        wait_until(f"node {node} with the {program} program", lambda: self.is_ready(node))

    def stop(self, node):
        process = self.processes.pop(node)
        process.send_signal(signal.SIGTERM)
        if process.wait(PATIENCE) != 0:
            raise Failed(f"node {node} ended with {process.returncode}")

    def kill_all(self):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def is_ready(self, node):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http(node)}/health/ready", timeout=1):
                return True
        except urllib.error.HTTPError:
            return False

    def status(self, node):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http(node)}/status", timeout=5) as answer:
            return json.load(answer)

    def voters(self, node):
        return self.status(node)["shards"][0]["voters"]

    def connect(self, node):
        return pymysql.connect(host="127.0.0.1", port=self.mysql(node), user="root", database="test", autocommit=True,
                               connect_timeout=2, read_timeout=20)

    def admin(self, node, program, *words):
        command = [self.programs[program], "admin", *words, "--http-addr", f"127.0.0.1:{self.http(node)}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=self.directory)
        return done.returncode, (done.stdout + done.stderr).strip()

    def refused(self, node, program):
        """What a program says that does not start."""
        done = subprocess.run(self.command(program, node), capture_output=True, text=True, timeout=PATIENCE, check=False,
                              cwd=self.directory)
        if done.returncode == 0:
            raise Failed(f"node {node} has started with the {program} program")
        return (done.stdout + done.stderr).strip()


class Load:
    """Commits rows until it is ended."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.is_over = False
        self.ready = set(NODES)
        self.lock = threading.Lock()
        self.next = 0
        self.acknowledged, self.failed, self.moments = [], [], []
        self.threads = [threading.Thread(target=self.look)]
        self.threads += [threading.Thread(target=self.write, args=(client,)) for client in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def look(self):
        """As a load balancer."""
        while not self.is_over:
            ready = set()
            for node in NODES:
                try:
                    if self.cluster.is_ready(node):
                        ready.add(node)
                except OSError:
                    pass
            self.ready = ready
            time.sleep(0.1)

    def write(self, client):
        connection, node = None, None
        while not self.is_over:
            if connection is not None and node not in self.ready:
                connection.close()
                connection = None
            if connection is None:
                nodes = sorted(self.ready)
                if not nodes:
                    time.sleep(PAUSE)
                    continue
                node = nodes[client % len(nodes)]
                try:
                    connection = self.cluster.connect(node)
                except (pymysql.Error, OSError):
                    # Nothing was asked.
                    time.sleep(PAUSE)
                    continue
            with self.lock:
                self.next += 1
                number = self.next
            try:
                with connection.cursor() as cursor:
                    cursor.execute("INSERT INTO written VALUES (%s)", (number,))
                with self.lock:
                    self.acknowledged.append(number)
                    self.moments.append(time.monotonic())
            except (pymysql.Error, OSError) as error:
                with self.lock:
                    self.failed.append(f"node {node}: {error}")
                connection.close()
                connection = None
            time.sleep(PAUSE)

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()

    def longest_gap(self, since=0.0):
        with self.lock:
            moments = [moment for moment in self.moments if moment >= since]
        return max((later - earlier for earlier, later in zip(moments, moments[1:])), default=0.0)


def replace(cluster, load, node, program):
    """Drain, stop, start."""
    since = time.monotonic()
    code, said = cluster.admin(node, cluster.runs[node], "drain")
    if code != 0:
        raise Failed(f"drain of node {node}: {said}")
    time.sleep(LEAVING)
    cluster.stop(node)
    cluster.start(node, program)
    wait_until("three voters", lambda: cluster.voters(node) == list(NODES))
    time.sleep(2)
    print(f"   node {node} runs the {program} program; longest gap {load.longest_gap(since) * 1000:.0f} ms", flush=True)


def expect(said, *words):
    for word in words:
        if word not in said:
            raise Failed(f"{word!r} is not in: {said}")
    print(f"   it says: {said.splitlines()[-1]}", flush=True)


def judge(cluster, load):
    if load.failed:
        raise Failed(f"{len(load.failed)} statements failed, first {load.failed[0]}")
    for node in NODES:
        with cluster.connect(node) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT number FROM written")
            rows = [row[0] for row in cursor.fetchall()]
        lost = set(load.acknowledged) - set(rows)
        if lost or len(rows) != len(set(rows)):
            raise Failed(f"node {node}: {len(lost)} acknowledged rows are lost of {len(load.acknowledged)}")


def run(cluster):
    for node in NODES:
        cluster.start(node, "old")
    wait_until("three voters", lambda: cluster.voters(1) == list(NODES))
    with cluster.connect(1) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE written (number BIGINT PRIMARY KEY)")
    load = Load(cluster)
    try:
        time.sleep(3)
        replace(cluster, load, 1, "new")
        replace(cluster, load, 2, "new")
        print("the way back: node 2 runs the old program again", flush=True)
        replace(cluster, load, 2, "old")
        print("the level does not rise before all nodes run the new program", flush=True)
        code, said = cluster.admin(1, "new", "upgrade")
        if code == 0:
            raise Failed(said)
        expect(said, "stays at feature level 1", "node 2 speaks 1", "node 3 speaks 1")
        replace(cluster, load, 2, "new")
        replace(cluster, load, 3, "new")
        since = time.monotonic()
        code, said = cluster.admin(1, "new", "upgrade")
        if code != 0:
            raise Failed(said)
        expect(said, "is at feature level 2")
        for node in NODES:
            wait_until(f"level 2 on node {node}", lambda node=node: cluster.status(node)["level"] == 2)
        time.sleep(2)
        print(f"   the level has risen; longest gap {load.longest_gap(since) * 1000:.0f} ms", flush=True)
        print("the old program with a directory of the new level", flush=True)
        cluster.admin(3, "new", "drain")
        time.sleep(LEAVING)
        cluster.stop(3)
        expect(cluster.refused(3, "old"), "identity", "version 2")
        cluster.start(3, "new")
        print("the old program with an empty directory", flush=True)
        expect(cluster.refused(4, "old"), "node 4 speaks feature level 1", "at level 2", "install a version of LatsDB")
        time.sleep(2)
    finally:
        load.end()
    judge(cluster, load)
    print(f"{len(load.acknowledged)} rows acknowledged, none lost, no statement failed; longest gap {load.longest_gap() * 1000:.0f} ms")


def main():
    old, new, directory, port = sys.argv[1:]
    os.makedirs(directory)
    cluster = Cluster({"old": old, "new": new}, directory, int(port))
    try:
        run(cluster)
    except Failed as failed:
        print(f"failed: {failed} (logs in {directory})")
        return 1
    finally:
        cluster.kill_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
