#!/usr/bin/env python3
"""How long a node takes that was away, or is new, and what the others' clients notice of it; the same of a backup.

    returns.py --binary target/release/latsdb --cases restart,catch-up,checkpoint,join,backup

sysbench's tables and its load are used (`apt-get install sysbench`): a million rows in four tables. Needs root, for namespaces.

| case | what is measured |
|---|---|
| restart | one node of three is killed and started: until it serves |
| catch-up | it is killed, and started a minute later, under load: until it has applied what the leader had when it served |
| checkpoint | the same, with nodes that keep no log (--log-keep 0): it gets a checkpoint |
| join | a new node is started, under load: until it votes. The load's transactions per second meanwhile, beside those before |
| backup | a backup is drawn, under load: the same. Then it is restored, and a node is started from it |
"""
import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

from cluster import HTTP, MYSQL, Cluster, wait_until
from network import Network, why_not

TABLES = 4
# Seconds of load before what is measured.
BEFORE = 10
# And after it.
AFTER = 5
# Hosts of the node that joins, and of the one that is restored.
JOINS, RESTORED = 4, 5


class Load:
    """sysbench on one node; its transactions per second, second by second."""

    def __init__(self, cluster, node, args):
        command = sysbench(cluster, node, args, f"--threads={args.threads}", "--time=3600", "--report-interval=1",
                           "--mysql-ignore-errors=all", "run")
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


def sysbench(cluster, node, args, *more):
    return cluster.network.command(
        node, "sysbench", args.workload, "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={MYSQL}",
        "--mysql-user=root", "--mysql-db=test", f"--tables={TABLES}", f"--table-size={args.rows // TABLES}", *more)


def shard_of(cluster, node):
    return wait_until(f"what node {node} says", lambda: cluster.status(node), 30)["shards"][0]


def applied(cluster, node):
    return shard_of(cluster, node)["applied_index"]


def seconds_to_start(cluster, node, founds=None):
    begun = time.monotonic()
    cluster.start_and_wait(node, founds=founds, seconds=300)
    return time.monotonic() - begun


def restart(cluster, args):
    node = cluster.follower()
    cluster.kill(node)
    return [("restart of a follower until it serves, s", seconds_to_start(cluster, node))]


def catch_up(cluster, args):
    leader, node = cluster.leader(), cluster.follower()
    load = Load(cluster, leader, args)
    try:
        time.sleep(2)
        cluster.kill(node)
        before = applied(cluster, leader)
        time.sleep(args.away)
        missed = applied(cluster, leader) - before
        begun = time.monotonic()
        serves = seconds_to_start(cluster, node)
        wanted = applied(cluster, leader)
        wait_until("to catch up", lambda: applied(cluster, node) >= wanted, 300)
        took = time.monotonic() - begun
        kept = shard_of(cluster, leader)["log_bytes"] / (1 << 20)
    finally:
        load.end()
    return [(f"away for {args.away} s: log entries missed", missed), ("until it serves, s", serves),
            ("until it has caught up, s", took), ("log of the leader, MiB", kept)]


def without_log(cluster, args):
    """As catch_up, of a cluster whose nodes keep no log."""
    for node in cluster.nodes:
        cluster.stop(node)
    cluster.flags += ["--log-keep", "0"]
    cluster.start_all()
    return [(f"by a checkpoint: {what}", figure) for what, figure in catch_up(cluster, args)]


def under_load(cluster, args, name, act):
    """What `act` takes, and the load's rate meanwhile as a part of that before."""
    leader = cluster.leader()
    load = Load(cluster, leader, args)
    try:
        time.sleep(BEFORE + 2)
        before = load.median_since(2)
        first = len(load.seconds())
        begun = time.monotonic()
        act(leader)
        took = time.monotonic() - begun
        time.sleep(1.5)
        meanwhile = load.median_since(first)
        last = len(load.seconds())
        time.sleep(AFTER)
        after = load.median_since(last)
    finally:
        load.end()
    return [(f"{name}, s", took), ("load before, transactions/s", before), ("load meanwhile, transactions/s", meanwhile),
            ("load meanwhile, % of before", 100 * meanwhile / max(before, 0.001)), ("load afterwards, transactions/s", after)]


def join(cluster, args):
    def act(leader):
        cluster.start(JOINS)
        cluster.nodes.append(JOINS)
        wait_until("a new voter", lambda: JOINS in cluster.voters(leader), 300, pause=0.5)

    return under_load(cluster, args, "a new node until it votes", act)


def backup(cluster, args):
    kept, restored = f"{cluster.directory}/kept", cluster.data_dir(RESTORED)
    results = under_load(cluster, args, "a backup", lambda leader: subprocess.run(cluster.network.command(
        leader, args.binary, "backup", "--from", f"127.0.0.1:{HTTP}", "--to", kept, "--rate", args.rate), check=True,
        stdout=subprocess.DEVNULL))
    size = sum(os.path.getsize(f"{kept}/{name}") for name in os.listdir(kept))
    begun = time.monotonic()
    subprocess.run([args.binary, "restore", "--from", kept, "--data-dir", restored, "--node-id", str(RESTORED)], check=True,
                   stdout=subprocess.DEVNULL)
    took = time.monotonic() - begun
    started = seconds_to_start(cluster, RESTORED, founds=True)
    cluster.kill(RESTORED)
    return results + [("the backup, MiB", size / (1 << 20)), ("restore, s", took), ("start from it, s", started)]


CASES = {"restart": restart, "catch-up": catch_up, "checkpoint": without_log, "join": join, "backup": backup}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/latsdb")
    parser.add_argument("--dir", default="target/test-data/returns")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--away", type=int, default=60, help="seconds")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--workload", default="oltp_write_only")
    parser.add_argument("--memory", default="1GiB", help="limit of each node: room for a million rows")
    parser.add_argument("--rate", default="32MiB", help="of the backup")
    parser.add_argument("--cases", default=",".join(CASES))
    args = parser.parse_args()
    reason = why_not() or (None if shutil.which("sysbench") else "sysbench is not installed: apt-get install sysbench")
    if reason:
        sys.exit(reason)
    network = Network("lats-r", "10.79.2", hosts=5)
    args.binary = os.path.abspath(args.binary)
    # Nodes and namespaces do not outlive this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    cluster = None
    try:
        network.build()
        cluster = Cluster(args.binary, args.dir, network, flags=["--memory-limit", args.memory])
        cluster.start_all()
        subprocess.run(sysbench(cluster, cluster.leader(), args, "prepare"), check=True, stdout=subprocess.DEVNULL)
        print("| case | figure | |\n|---|---|---|")
        for case in args.cases.split(","):
            for what, figure in CASES[case](cluster, args):
                print(f"| {case} | {what} | {figure:,.1f} |", flush=True)
    finally:
        if cluster:
            cluster.end()
        network.remove()


if __name__ == "__main__":
    sys.exit(main())
