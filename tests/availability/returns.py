#!/usr/bin/env python3
"""How long a node takes that was away, or is new, and what the others' clients notice of it; the same of a backup.

    returns.py --binary target/release/latsdb --cases restart,catch-up,checkpoint,join,backup

sysbench's tables and its load are used (`apt-get install sysbench`): a million rows in four tables.

| case | what is measured |
|---|---|
| restart | one node of three is killed and started: until it serves |
| catch-up | it is killed, and started a minute later, under load: until it has applied what the leader had when it served |
| checkpoint | the same, with nodes that keep no log (--log-keep 0): it gets a checkpoint |
| join | a new node is started, under load: until it votes. The load's transactions per second meanwhile, beside those before |
| backup | a backup is drawn, under load: the same. Then it is restored, and a node is started from it |
"""
import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.request

import gaps

TABLES = 4
# Seconds of load before what is measured.
BEFORE = 10


class Cluster(gaps.Cluster):
    """With room for a million rows, and with what a case wants."""

    flags = ["--memory-limit", "1GiB"]

    def start(self, node):
        command = [self.binary, "serve", "--data-dir", f"{self.directory}/node-{node}", "--node-id", str(node),
                   "--mysql-addr", self.address(node, 0), "--http-addr", self.address(node, 1),
                   "--peer-addr", self.address(node, 2), *self.flags]
        if node > 1:
            command += ["--join", self.address(1, 2)]
        log = open(f"{self.directory}/node-{node}.log", "a")
        self.processes[node] = subprocess.Popen(command, stdout=log, stderr=log)


class Load:
    """sysbench on one node; its transactions per second, second by second."""

    def __init__(self, cluster, node, args):
        command = sysbench(cluster, node, args.workload, args.rows) + [
            f"--threads={args.threads}", "--time=3600", "--report-interval=1", "--mysql-ignore-errors=all", "run"]
        self.output = open(f"{cluster.directory}/load.txt", "w+")
        self.process = subprocess.Popen(command, stdout=self.output, stderr=subprocess.STDOUT)

    def seconds(self):
        with open(self.output.name) as text:
            return [float(tps) for tps in re.findall(r"tps: ([0-9.]+)", text.read())]

    def median_since(self, first):
        seconds = self.seconds()[first:]
        return statistics.median(seconds) if seconds else 0.0

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def sysbench(cluster, node, workload, rows):
    return ["sysbench", workload, "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={cluster.port + 3 * node}",
            "--mysql-user=root", "--mysql-db=test", f"--tables={TABLES}", f"--table-size={rows // TABLES}"]


def status(cluster, node):
    try:
        with urllib.request.urlopen(f"http://{cluster.address(node, 1)}/status", timeout=3) as answer:
            return json.load(answer)["shards"][0]
    except (OSError, KeyError, IndexError, ValueError):
        return None


def applied(cluster, node):
    found = status(cluster, node)
    return found["applied_index"] if found else -1


def seconds_until(cluster, what, condition, seconds):
    begun = time.time()
    cluster.wait_until(what, condition, seconds)
    return time.time() - begun


def other_than(cluster, node):
    return next(other for other in (1, 2, 3) if other != node)


def lose(cluster, node):
    cluster.processes[node].kill()
    cluster.processes[node].wait()


def restart(cluster, args):
    node = other_than(cluster, cluster.leader())
    lose(cluster, node)
    cluster.start(node)
    took = seconds_until(cluster, "a restart", lambda: cluster.ask(node, "/health/ready") == 200, 300)
    return [("restart of a follower until it serves, s", took)]


def catch_up(cluster, args):
    leader = cluster.leader()
    node = other_than(cluster, leader)
    load = Load(cluster, leader, args)
    try:
        time.sleep(2)
        lose(cluster, node)
        before = applied(cluster, leader)
        time.sleep(args.away)
        missed = applied(cluster, leader) - before
        cluster.start(node)
        serves = seconds_until(cluster, "a restart", lambda: cluster.ask(node, "/health/ready") == 200, 300)
        wanted = applied(cluster, leader)
        took = serves + seconds_until(cluster, "to catch up", lambda: applied(cluster, node) >= wanted, 300)
        kept = status(cluster, leader).get("log_bytes", 0) / (1 << 20)
    finally:
        load.end()
    return [(f"away for {args.away} s: log entries missed", missed), ("until it serves, s", serves),
            ("until it has caught up, s", took), ("log of the leader, MiB", kept)]


def without_log(cluster, args):
    """As catch_up, of a cluster whose nodes keep no log."""
    for node in (1, 2, 3):
        cluster.processes[node].terminate()
    for node in (1, 2, 3):
        cluster.processes[node].wait()
    cluster.flags = [*cluster.flags, "--log-keep", "0"]
    for node in (1, 2, 3):
        cluster.start(node)
    for node in (1, 2, 3):
        cluster.wait_until_ready(node)
    return [(f"by a checkpoint: {what}", figure) for what, figure in catch_up(cluster, args)]


def under_load(cluster, args, name, act):
    """What `act` takes, and the load's rate meanwhile as a part of that before."""
    leader = cluster.leader()
    load = Load(cluster, leader, args)
    try:
        time.sleep(BEFORE + 2)
        before = load.median_since(2)
        first = len(load.seconds())
        begun = time.time()
        act(leader)
        took = time.time() - begun
        time.sleep(1.5)
        meanwhile = load.median_since(first)
    finally:
        load.end()
    return [(f"{name}, s", took), ("load before, transactions/s", before), ("load meanwhile, transactions/s", meanwhile),
            ("load meanwhile, % of before", 100 * meanwhile / max(before, 0.001))]


def join(cluster, args):
    def act(leader):
        seeds = [node for node in (1, 2, 3) if node in cluster.processes]
        cluster.start(4)
        cluster.wait_until("a new voter", lambda: 4 in (status(cluster, seeds[0]) or {"voters": []})["voters"], 300)

    return under_load(cluster, args, "a new node until it votes", act)


def backup(cluster, args):
    kept, new = f"{cluster.directory}/kept", f"{cluster.directory}/restored"
    results = under_load(cluster, args, "a backup", lambda leader: subprocess.run(
        [args.binary, "backup", "--from", cluster.address(leader, 1), "--to", kept, "--rate", args.rate], check=True,
        stdout=subprocess.DEVNULL))
    size = sum(os.path.getsize(f"{kept}/{name}") for name in os.listdir(kept))
    begun = time.time()
    subprocess.run([args.binary, "restore", "--from", kept, "--data-dir", new], check=True, stdout=subprocess.DEVNULL)
    restored = time.time() - begun
    begun = time.time()
    node = subprocess.Popen([args.binary, "serve", "--data-dir", new, "--mysql-addr", f"127.0.0.1:{cluster.port + 90}",
                             "--http-addr", f"127.0.0.1:{cluster.port + 91}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        health = f"http://127.0.0.1:{cluster.port + 91}/health/ready"

        def serves():
            try:
                return urllib.request.urlopen(health, timeout=1).status == 200
            except OSError:
                return False

        cluster.wait_until("the restored node", serves, 300)
    finally:
        started = time.time() - begun
        node.kill()
        node.wait()
    return results + [("the backup, MiB", size / (1 << 20)), ("restore, s", restored), ("start from it, s", started)]


CASES = {"restart": restart, "catch-up": catch_up, "checkpoint": without_log, "join": join, "backup": backup}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/latsdb")
    parser.add_argument("--dir", default="target/test-data/returns")
    parser.add_argument("--port", type=int, default=3800)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--away", type=int, default=60, help="seconds")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--workload", default="oltp_write_only")
    parser.add_argument("--rate", default="32MiB", help="of the backup")
    parser.add_argument("--cases", default=",".join(CASES))
    args = parser.parse_args()
    if not shutil.which("sysbench"):
        sys.exit("sysbench is not installed: apt-get install sysbench")
    args.binary = os.path.abspath(args.binary)
    cluster = Cluster(args.binary, os.path.abspath(args.dir), args.port)
    try:
        for node in (1, 2, 3):
            cluster.start(node)
        for node in (1, 2, 3):
            cluster.wait_until_ready(node)
        prepared = sysbench(cluster, cluster.leader(), args.workload, args.rows) + ["prepare"]
        subprocess.run(prepared, check=True, stdout=subprocess.DEVNULL)
        print("| case | figure | |\n|---|---|---|")
        for case in args.cases.split(","):
            for what, figure in CASES[case](cluster, args):
                print(f"| {case} | {what} | {figure:,.1f} |", flush=True)
    finally:
        cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
