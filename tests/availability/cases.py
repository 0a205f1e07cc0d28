"""What happens to which node, and what is expected of the others. One function for each case."""
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

import pymysql

import steps
from cluster import Cluster, wait_until
from network import Background

CASES = []


@dataclass
class Case:
    name: str
    what: str
    act: Callable
    # Longest time without an acknowledgement for clients of the nodes that are watched; None: it is not judged.
    gap_ms: Optional[float]
    # Of the leader, at most; None: as many as there are.
    changes: Optional[int]
    # Which disks the nodes have.
    kind: str
    quick: bool
    repeats: bool
    filler: str
    # Whether these nodes can do it.
    needs: Callable


def case(name, what, at=None, gap_ms=None, changes=None, kind="files", quick=False, repeats=True, filler="", needs=lambda cluster: True):
    """`at`: to which node it happens. Its clients may notice."""
    def add(act):
        def act_at(run):
            node = at(run.cluster)
            run.unwatch(node)
            act(run, node)
        CASES.append(Case(name, what, act_at if at else act, gap_ms, changes, kind, quick, repeats, filler, needs))
        return act
    return add


# --- processes ---

@case("P0", "nothing: what this machine adds to every gap", gap_ms=1000, changes=0, quick=True)
def nothing(run):
    run.rest(3.5)


@case("P1", "`kill -9` of the leader", at=Cluster.leader, gap_ms=500, changes=2, quick=True)
def kill_leader(run, leader):
    run.cluster.kill(leader)
    run.rest(3.5)


@case("P2", "`kill -9` of a follower", at=Cluster.follower, gap_ms=50, changes=0, quick=True)
def kill_follower(run, follower):
    run.cluster.kill(follower)
    run.rest(3.5)


@case("P3", "`kill -9` of all nodes at once", quick=True)
def kill_all(run):
    run.cluster.kill(*run.cluster.nodes)
    run.cluster.start_and_wait(*run.cluster.nodes)
    run.rest(1)


@case("P4", "a node dies at each of 20 steps of a commit, a vote, a checkpoint, a change of members", kind="steps",
      repeats=False, needs=steps.knows_steps)
def die_at_steps(run):
    run.deadline += 20
    steps.die_at_every_step(run)


@case("P5", "`kill -9` of a follower while it recovers, five times", at=Cluster.follower)
def kill_recovering(run, follower):
    run.cluster.kill(follower)
    for pause in (0.01, 0.03, 0.1, 0.3, 1.0):
        run.cluster.start(follower)
        time.sleep(pause)
        run.cluster.kill(follower)
    run.cluster.start_and_wait(follower)


def pause(run, nodes, seconds):
    for node in nodes:
        run.cluster.send(node, signal.SIGSTOP)
    time.sleep(seconds)
    for node in nodes:
        run.cluster.send(node, signal.SIGCONT)
    run.rest(3)


@case("P6", "SIGSTOP of the leader for 3 s", at=Cluster.leader, gap_ms=1500, changes=2, quick=True)
def pause_leader(run, leader):
    pause(run, [leader], 3)


@case("P6l", "SIGSTOP of the leader for 20 s", at=Cluster.leader, gap_ms=1500, changes=2, repeats=False)
def pause_leader_long(run, leader):
    run.deadline += 20
    pause(run, [leader], 20)


@case("P7", "SIGSTOP of a follower for 3 s", at=Cluster.follower, gap_ms=200, changes=0, quick=True)
def pause_follower(run, follower):
    pause(run, [follower], 3)


@case("P7a", "SIGSTOP of all nodes for 3 s", changes=2)
def pause_all(run):
    pause(run, run.cluster.nodes, 3)


@case("P10m", "`latsdb admin move-leader`", gap_ms=50, changes=1, quick=True)
def move_leader(run):
    run.cluster.order(run.cluster.leader(), "move-leader")
    run.rest(2)


@case("P10s", "SIGTERM to the leader", at=Cluster.leader, gap_ms=200, changes=2, quick=True)
def stop_leader(run, leader):
    run.expect(run.cluster.stop(leader) == 0, "the leader ends with an error")
    run.rest(2)


@case("P10r", "every node is stopped and started, one after the other", changes=4)
def rolling(run):
    for node in run.cluster.nodes:
        run.expect(run.cluster.stop(node) == 0, f"node {node} ends with an error")
        run.cluster.start_and_wait(node)
        run.cluster.wait_until_whole()


# --- network ---

@case("N1", "the leader is cut off, nothing refused", at=Cluster.leader, gap_ms=1500, changes=2, quick=True)
def isolate_leader(run, leader):
    run.network.isolate(leader)
    run.rest(2.5)
    code = run.cluster.ask(leader, "/health/leader")[0]
    run.expect(code != 200, "a leader that reaches nobody says that it leads")
    run.rest(2.5)
    run.network.heal()
    run.rest(1.5)


@case("N2", "the leader sends, and hears nothing", at=Cluster.leader, gap_ms=2000, changes=2, quick=True)
def deaf_leader(run, leader):
    for other in run.cluster.nodes:
        if other != leader:
            run.network.cut(other, leader)
    run.rest(6)
    run.network.heal()
    run.rest(1.5)


@case("N2r", "the leader hears, and cannot send", at=Cluster.leader, gap_ms=2000, changes=2)
def mute_leader(run, leader):
    for other in run.cluster.nodes:
        if other != leader:
            run.network.cut(leader, other)
    run.rest(6)
    run.network.heal()
    run.rest(1.5)


@case("N3", "a chain: the leader and one follower do not reach each other", at=Cluster.follower, gap_ms=1500, changes=1, quick=True)
def chain(run, follower):
    """Clients of the one that cannot reach the leader are case N6's."""
    leader = run.cluster.leader()
    run.network.part(leader, follower)
    run.rest(8)
    run.network.heal()
    run.rest(1.5)


@case("N6", "the same, for clients of the node that does not reach the leader")
def chain_from_inside(run):
    leader = run.cluster.leader()
    follower = run.cluster.follower()
    run.watched = [follower]
    run.network.part(leader, follower)
    run.rest(8)
    run.network.heal()
    run.rest(1.5)


@case("N7", "a follower is cut off for 20 s and comes back", at=Cluster.follower, gap_ms=200, changes=0, repeats=False)
def rejoin(run, follower):
    run.network.isolate(follower)
    run.rest(20)
    run.network.heal()
    run.rest(3)


@case("N8", "the leader's links are up for a second and down for a second, for 20 s", changes=12, repeats=False)
def flapping(run):
    leader = run.cluster.leader()
    for _ in range(10):
        run.network.isolate(leader)
        time.sleep(1)
        run.network.heal(*run.cluster.nodes)
        time.sleep(1)


@case("N9a", "1% of all packets between nodes are lost, for 8 s", changes=0)
def lose_one(run):
    lose(run, 1)


@case("N9b", "10% of all packets between nodes are lost, for 8 s")
def lose_ten(run):
    lose(run, 10)


@case("N9c", "30% of all packets between nodes are lost, for 8 s")
def lose_thirty(run):
    lose(run, 30)


def lose(run, percent):
    for node in run.cluster.nodes:
        run.network.lose(node, percent)
    run.rest(8)
    run.network.heal()
    run.rest(2)


@case("N14", "a follower's socket takes nothing more (SIGSTOP for 4 s, rows of 8 kB)", at=Cluster.follower, gap_ms=200, changes=0, filler="x" * 8000)
def zero_window(run, follower):
    leader = run.cluster.leader()
    before = run.cluster.resident_bytes(leader)
    pause(run, [follower], 4)
    grown = run.cluster.resident_bytes(leader) - before
    rows = 8000 * (run.load.next - run.load.first)
    run.note("leader grew, MiB", grown >> 20)
    run.expect(grown < 4 * rows + (64 << 20), f"the leader has grown by {grown >> 20} MiB")


@case("N13", "a second cluster's node comes with the addresses and the number of a node of the first", at=Cluster.follower)
def stranger(run, follower):
    """Both trust the same authority: only the cluster's number tells them apart."""
    run.cluster.kill(follower)
    own = run.cluster.data_dir(follower)
    run.cluster.move_dir(own, f"{own}.aside")
    # Without --join it founds a cluster of its own.
    run.cluster.start_and_wait(follower, founds=True)
    run.rest(2)
    run.expect(run.cluster.voters(follower) == [follower], "a stranger was taken in")
    words = "".join(open(run.cluster.log_path(node)).read() for node in run.cluster.nodes)
    run.expect("is of cluster" in words, "nobody says that it is of another cluster")
    run.cluster.kill(follower)
    run.cluster.remove_dir(own)
    run.cluster.move_dir(f"{own}.aside", own)
    run.cluster.start_and_wait(follower)


# --- disks ---

def lose_power(run, *nodes):
    run.cluster.kill(*nodes)
    for node in nodes:
        run.cluster.disks[node].lose_power()
    run.cluster.start_and_wait(*nodes)


@case("D1", "the leader loses power: what it had not synced is gone", at=Cluster.leader, gap_ms=500, changes=2, kind="disks")
def power_of_leader(run, leader):
    lose_power(run, leader)
    run.rest(1)


@case("D1a", "all nodes lose power at once", kind="disks")
def power_of_all(run):
    lose_power(run, *run.cluster.nodes)
    run.rest(1)


@case("D2", "the last record of a follower's log is torn", at=Cluster.follower, kind="disks")
def torn_tail(run, follower):
    run.cluster.kill(follower)
    cut = tear_tail(run.cluster.data_dir(follower))
    run.note("bytes cut", cut)
    run.cluster.start_and_wait(follower)


@case("D3", "a bit of a follower's log flips; `latsdb admin replace-node`", at=Cluster.follower, gap_ms=200, changes=0)
def flipped_bit(run, follower):
    run.cluster.kill(follower)
    flip_in_log(run.cluster.data_dir(follower))
    repair(run, follower, "not sound")


@case("D3l", "the same at the leader, which is killed", at=Cluster.leader, gap_ms=500, changes=2)
def flipped_bit_of_leader(run, leader):
    run.cluster.kill(leader)
    flip_in_log(run.cluster.data_dir(leader))
    repair(run, leader, "not sound")


def repair(run, node, word):
    """A damaged node refuses to start and says why; one command at another node, and its next start brings the rows back."""
    run.cluster.start(node)
    run.expect(run.cluster.wait_until_exit(node, 20) != 0, "a node with a damaged directory runs")
    run.expect(word in run.cluster.log_since_start(node), f"the node does not say {word!r}: {run.cluster.last_words(node)}")
    other = next(other for other in run.cluster.running())
    run.note("said", run.cluster.order(other, f"replace-node {node}"))
    run.cluster.start_and_wait(node)
    run.cluster.wait_until_whole()


@case("D5c", "a follower's newest checkpoint is damaged", at=Cluster.follower)
def damaged_checkpoint(run, follower):
    damage_checkpoint(run, follower, lambda path: flip(path, path.stat().st_size // 2))


@case("D5m", "a follower's checkpoints are gone", at=Cluster.follower)
def missing_checkpoint(run, follower):
    damage_checkpoint(run, follower, lambda path: path.unlink(), may_be_whole=True)


def damage_checkpoint(run, follower, damage, may_be_whole=False):
    cluster = run.cluster
    # A node that stops writes one.
    run.expect(cluster.stop(follower) == 0, "the follower ends with an error")
    for path in (Path(cluster.data_dir(follower)) / "checkpoint").glob("*.checkpoint"):
        damage(path)
    if may_be_whole:
        # Whoever joined by the log alone has it from the start.
        cluster.start(follower)
        wait_until("an end, or a beginning", lambda: not cluster.is_running(follower) or cluster.is_ready(follower), 20)
        if cluster.is_running(follower):
            run.note("log", "from the start")
            cluster.wait_until_whole()
            return
    repair(run, follower, "checkpoint")


@case("D5v", "a follower's log, and its vote in it, is gone", at=Cluster.follower)
def missing_log(run, follower):
    run.cluster.kill(follower)
    run.cluster.remove_dir(f"{run.cluster.data_dir(follower)}/log")
    repair(run, follower, "log")


@case("D6", "a follower's directory is put back to what it was before its last start", at=Cluster.follower, gap_ms=500, changes=1)
def older_copy(run, follower):
    """Refused by its count of starts."""
    run.cluster.kill(follower)
    own = run.cluster.data_dir(follower)
    run.cluster.copy_dir(own, f"{own}.old")
    run.cluster.start_and_wait(follower)
    run.rest(1)
    run.cluster.kill(follower)
    run.cluster.remove_dir(own)
    run.cluster.move_dir(f"{own}.old", own)
    run.cluster.start(follower)
    wait_until("word of an old directory", lambda: "its data directory" in run.cluster.log_since_start(follower))
    run.expect(not run.cluster.is_ready(follower), "a node with an old directory is ready")
    run.cluster.kill(follower)
    run.cluster.remove_dir(own)
    run.cluster.order(run.cluster.leader(), f"replace-node {follower}")
    run.cluster.start_and_wait(follower)


@case("D6s", "a follower's directory is put back to what it was some seconds before", at=Cluster.follower, gap_ms=500, changes=1)
def copy_of_the_same_life(run, follower):
    """Nobody can tell; what it has lost the leader sends it again."""
    own = run.cluster.data_dir(follower)
    # What a snapshot of the disk would have.
    run.cluster.send(follower, signal.SIGSTOP)
    run.cluster.copy_dir(own, f"{own}.old")
    run.cluster.send(follower, signal.SIGCONT)
    run.rest(3)
    run.cluster.kill(follower)
    run.cluster.remove_dir(own)
    run.cluster.move_dir(f"{own}.old", own)
    run.cluster.start_and_wait(follower)
    run.rest(1)


@case("D7", "every sync of the leader's log fails", at=Cluster.leader, gap_ms=1500, changes=2, kind="failing")
def failing_syncs(run, leader):
    # The image is sparse, and the file system that holds it is full now.
    run.cluster.disks[leader].fill_backing()
    run.note("errors of large rows", dict(flood(run, 20)))
    run.rest(6)
    code, text = run.cluster.ask(leader, "/health/ready")
    run.note("the node then", f"{code} {text.strip()[:60]}" if run.cluster.is_running(leader) else "ended")
    run.expect(code != 200, "a node whose disk fails says that it is ready")
    run.cluster.kill(leader)
    run.cluster.disks[leader].empty_backing()
    run.cluster.disks[leader].lose_power()
    run.cluster.start(leader)
    if not run.cluster.becomes_ready(leader):
        repair(run, leader, "")


def flood(run, rows):
    """Rows of a megabyte, until three of them have failed. Which errors there were."""
    errors = Counter()
    node = run.cluster.leader()
    run.cluster.query(node, "DROP TABLE IF EXISTS flood")
    run.cluster.query(node, "CREATE TABLE flood (a INT AUTO_INCREMENT PRIMARY KEY, b LONGTEXT)")
    for _ in range(rows):
        try:
            run.cluster.query(node, "INSERT INTO flood (b) VALUES (REPEAT('x', 1000000))")
        except pymysql.Error as error:
            errors[error.args[0]] += 1
            if sum(errors.values()) >= 3:
                break
    return errors


def full_disks(run, nodes, seconds):
    """Fills the disks, and then, by large rows, the segments that the logs had set aside."""
    for node in nodes:
        run.cluster.disks[node].fill()
    until = time.monotonic() + seconds
    run.note("errors of large rows", dict(flood(run, 200)))
    time.sleep(max(0.0, until - time.monotonic()))
    # One that cannot follow for want of room has no fresh rows to show.
    readers = [node for node in run.cluster.nodes if node not in nodes] or nodes
    reads = [run.cluster.query(node, "SELECT COUNT(*) FROM newest")[0][0] for node in readers]
    run.expect(set(reads) == {1}, "rows are not read while disks are full")
    run.note("ready then", [run.cluster.ask(node, "/health/ready")[0] for node in run.cluster.nodes])
    for node in nodes:
        run.cluster.disks[node].empty()
    run.rest(3)
    run.cluster.query(run.cluster.nodes[0], "DROP TABLE flood")


@case("D9l", "the leader's disk is full for 10 s", at=Cluster.leader, gap_ms=2000, changes=2, kind="small")
def full_disk_of_leader(run, leader):
    full_disks(run, [leader], 10)
    run.expect(run.cluster.is_running(leader), "the node has ended")


@case("D9f", "a follower's disk is full for 10 s", at=Cluster.follower, gap_ms=500, changes=0, kind="small")
def full_disk_of_follower(run, follower):
    full_disks(run, [follower], 10)
    run.expect(run.cluster.is_running(follower), "the node has ended")


@case("D9a", "all disks are full for 10 s", kind="small")
def full_disks_of_all(run):
    full_disks(run, run.cluster.nodes, 10)
    run.expect(run.cluster.running() == run.cluster.nodes, "a node has ended")
    codes = set(run.load.codes(run.cluster.nodes)) - {1114, 1021}
    run.expect(not codes, f"clients see other errors than that the disk is full: {codes}")


def stall(run, node, seconds):
    run.deadline += seconds
    run.cluster.disks[node].freeze()
    time.sleep(seconds)
    run.cluster.disks[node].thaw()
    run.rest(3)


@case("D10a", "the leader's disk stalls for 0.5 s", at=Cluster.leader, gap_ms=1500, changes=2, kind="disks")
def short_stall(run, leader):
    stall(run, leader, 0.5)


@case("D10", "the leader's disk stalls for 5 s", at=Cluster.leader, gap_ms=2000, changes=2, kind="disks")
def long_stall(run, leader):
    freeze = threading.Timer(3, lambda: run.note("ready while it stalls", run.cluster.ask(leader, "/health/ready")[0]))
    freeze.start()
    stall(run, leader, 5)


@case("D10l", "the leader's disk stalls for 25 s", at=Cluster.leader, gap_ms=2000, changes=2, kind="disks", repeats=False)
def longest_stall(run, leader):
    stall(run, leader, 25)
    run.deadline -= 25


@case("D10f", "a follower's disk stalls for 5 s", at=Cluster.follower, gap_ms=200, changes=0, kind="disks")
def stall_of_follower(run, follower):
    stall(run, follower, 5)


@case("D13", "a follower's disk is lost; `latsdb admin replace-node`", at=Cluster.follower, gap_ms=200, changes=0, quick=True)
def lost_disk(run, follower):
    lose_disk(run, follower)


@case("D13l", "the leader's disk is lost", at=Cluster.leader, gap_ms=500, changes=2)
def lost_disk_of_leader(run, leader):
    lose_disk(run, leader)


def lose_disk(run, node):
    run.cluster.kill(node)
    run.cluster.remove_dir(run.cluster.data_dir(node))
    run.cluster.start(node)
    run.expect(run.cluster.wait_until_exit(node, 20) != 0, "a node without its rows joins without leave")
    run.note("said", run.cluster.order(run.cluster.leader(), f"replace-node {node}"))
    run.cluster.start_and_wait(node)
    run.cluster.wait_until_whole()


# --- operations ---

@case("O1", "a node is taken out and comes back while another one is killed", changes=4)
def change_members(run):
    leader = run.cluster.leader()
    gone = run.cluster.follower()
    run.unwatch(gone, leader)
    run.cluster.order(leader, f"remove-node {gone}")
    run.expect(run.cluster.stop(gone) == 0, "the node ends with an error")
    run.cluster.remove_dir(run.cluster.data_dir(gone))
    run.cluster.start_and_wait(gone)
    run.cluster.wait_until_whole()
    run.cluster.kill(leader)
    run.rest(2)
    run.cluster.start_and_wait(leader)


@case("O2", "tables are made, changed and dropped while the leader is killed", at=Cluster.leader, gap_ms=500, changes=2)
def definitions(run, leader):
    over, outcomes = threading.Event(), Counter()

    def define(node):
        turn = 0
        while not over.is_set():
            turn += 1
            for sql in (f"CREATE TABLE d{node}_{turn % 5} (a INT PRIMARY KEY, b INT)", f"INSERT INTO d{node}_{turn % 5} VALUES (1, 1)",
                        f"ALTER TABLE d{node}_{turn % 5} ADD COLUMN c INT", f"ALTER TABLE d{node}_{turn % 5} ADD INDEX (b)",
                        f"DROP TABLE d{node}_{turn % 5}"):
                try:
                    run.cluster.query(node, sql)
                    outcomes["done"] += 1
                except pymysql.Error as error:
                    outcomes[error.args[0]] += 1

    threads = [Background(define, node) for node in run.cluster.nodes]
    run.rest(1)
    run.cluster.kill(leader)
    run.rest(3)
    over.set()
    for thread in threads:
        thread.join(60)
    run.note("definitions", dict(outcomes))
    run.cluster.start_and_wait(leader)
    run.cluster.wait_until_whole()
    shown = {node: run.cluster.query(node, "SELECT table_name, column_name, column_type FROM information_schema.columns "
                                           "WHERE table_schema = 'test' ORDER BY 1, ordinal_position") for node in run.cluster.nodes}
    run.expect(len(set(shown.values())) == 1, f"definitions differ: {shown}")


@case("O3", "a checkpoint on its way to a new node is interrupted five times", at=Cluster.follower, gap_ms=500, changes=0,
      filler="x" * 8000, repeats=False)
def interrupted_checkpoint(run, follower):
    leader = run.cluster.leader()
    run.rest(6)
    run.cluster.kill(follower)
    run.cluster.remove_dir(run.cluster.data_dir(follower))
    run.cluster.order(leader, f"replace-node {follower}")
    run.cluster.start(follower)
    for _ in range(5):
        time.sleep(0.4)
        run.network.part(leader, follower)
        time.sleep(1.2)
        run.network.heal()
    run.cluster.wait_until_ready(follower)
    run.cluster.wait_until_whole()


@case("P8", "both cores are kept busy for 20 s by other processes", changes=0, repeats=False)
def starved(run):
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 2))]
    run.rest(20)
    for burner in burners:
        burner.kill()
        burner.wait()
    run.rest(1)


# --- what is done to files ---

def segments(data_dir):
    return sorted(path for path in (Path(data_dir) / "log").glob("*.log"))


def end_of_log(path):
    """After the last byte that is not zero. A recycled segment has other bytes behind; those here are new ones."""
    return len(path.read_bytes().rstrip(b"\0"))


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0x10]))


def flip_in_log(data_dir):
    """In the middle, of a byte that is not zero: between two records some mean nothing, and no checksum covers them."""
    newest = segments(data_dir)[-1]
    middle = (4096 + end_of_log(newest)) // 2
    flip(newest, middle + next(at for at, byte in enumerate(newest.read_bytes()[middle:]) if byte))


def tear_tail(data_dir):
    newest = segments(data_dir)[-1]
    end = end_of_log(newest)
    with open(newest, "r+b") as file:
        file.seek(end - 20)
        file.write(bytes(20))
    return 20
