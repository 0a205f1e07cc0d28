#!/usr/bin/env python3
"""Faults of every kind against three nodes, each in a network namespace of its own, under 500 writes a second.

    suite.py --binary target/release/latsdb                      every case
    suite.py --cases P1,N2 --repeat 30                            some, often
    suite.py --quick --safety                                     the fast and sure ones, on a machine that does much else
    suite.py --results target/availability.json                   keeps the figures: `latsdb lab availability --matrix` draws their table

After each case the nodes have to be whole by themselves, every acknowledged row has to be on every node, none twice, none that
its client was told had failed, all nodes have to have the same rows, and no read may have shown less than was acknowledged before it
began. Needs root (namespaces; loop devices for the cases of disks); without it the suite skips itself by name.
"""
import argparse
import json
import os
import shutil
import signal
import sys
import time
import traceback

import steps
from cases import CASES
from cluster import Cluster, Failed
from disks import DISKS
from load import TABLES, Load
from network import Network, why_not

BEFORE = 1.5
# What a statement waits for other nodes at most: 5 s for a leader, and as long for the outcome of a commit; and a margin for this machine.
STATEMENT_SECONDS = 12
HEALED_SECONDS = 30


class Run:
    """One case under way: what it may do to the cluster, and what it has noted."""

    def __init__(self, suite, case, cluster):
        self.suite, self.case, self.cluster, self.network = suite, case, cluster, cluster.network
        self.load, self.watched, self.notes = None, list(cluster.nodes), {}
        self.began = None
        self.deadline = STATEMENT_SECONDS
        self.problems = []

    def begin(self):
        """The load has run for a while; from now on the gap counts."""
        self.load = Load(self.cluster, self.suite.next_number, filler=self.case.filler)
        time.sleep(BEFORE)
        self.term = self.cluster.term()
        self.began = time.monotonic()

    def unwatch(self, *nodes):
        """Clients of these nodes may notice."""
        self.watched = [node for node in self.watched if node not in nodes]

    def rest(self, seconds):
        time.sleep(seconds)

    def note(self, what, value):
        self.notes[what] = value

    def expect(self, held, what):
        if not held:
            self.problems.append(what)


class Suite:
    def __init__(self, args):
        self.args = args
        self.network = Network(args.prefix, args.subnet)
        self.cluster, self.kind = None, None
        self.next_number = 1

    def cluster_for(self, case):
        if self.cluster is None or self.kind != case.kind or not self.is_sound():
            self.end_cluster()
            self.network.heal()
            self.cluster = Cluster(self.args.binary, f"{self.args.dir}/{case.kind}", self.network)
            self.kind = case.kind
            self.cluster.flags += steps.FLAGS if case.kind == "steps" else []
            if case.kind in DISKS:
                DISKS[case.kind](self.cluster)
            self.cluster.start_all()
            for sql in TABLES:
                self.cluster.query(1, sql)
            self.next_number = 1
        return self.cluster

    def is_sound(self):
        try:
            self.cluster.wait_until_whole(10)
            return True
        except Exception:  # pylint: disable=broad-except
            return False

    def end_cluster(self):
        if self.cluster:
            self.cluster.end()
        self.cluster = None

    def once(self, case):
        run = Run(self, case, self.cluster_for(case))
        stuck = []
        try:
            run.begin()
            case.act(run)
            until = time.monotonic()
        finally:
            if run.load:
                stuck = run.load.end()
                self.next_number = run.load.next
            self.network.heal()
        healing = time.monotonic()
        for node in self.cluster.nodes:
            if not self.cluster.is_running(node):
                self.cluster.start(node)
        self.cluster.wait_until_ready(*self.cluster.nodes)
        self.cluster.wait_until_whole(HEALED_SECONDS)
        found = run.load.judge(self.cluster.nodes)
        found["gap"] = run.load.gap(run.watched, run.began, until)
        found["codes"] = run.load.codes(run.watched)
        found["all_codes"] = run.load.codes(self.cluster.nodes)
        found["longest"] = run.load.longest
        found["changes"] = self.cluster.term() - run.term
        found["healed"] = time.monotonic() - healing
        problems = run.problems + [f"{what}: {found[what]}" for what in ("lost", "twice", "undead", "stale", "differ") if found[what]]
        if stuck:
            problems.append(f"{len(stuck)} clients hang")
        if found["longest"][0] > run.deadline:
            problems.append(f"a statement took {found['longest'][0]:.1f} s: {found['longest'][1:]}")
        if not self.args.safety:
            if case.gap_ms is not None and 1000 * found["gap"] > case.gap_ms:
                problems.append(f"gap of {1000 * found['gap']:.0f} ms")
            if case.changes is not None and found["changes"] > case.changes:
                problems.append(f"{found['changes']} changes of the leader")
        panics = [node for node in self.cluster.nodes if "panicked" in open(self.cluster.log_path(node), errors="replace").read()]
        if panics:
            problems.append(f"panics on {panics}")
        found["problems"], found["notes"] = problems, run.notes
        return found

    def keep_logs(self, case):
        kept = f"{self.args.dir}/logs-{case.name}"
        os.makedirs(kept, exist_ok=True)
        for node in self.cluster.nodes if self.cluster else ():
            shutil.copy(self.cluster.log_path(node), kept)

    def run(self, case):
        """What was found in each repetition that came to its end; how many there were, and how many of them failed."""
        rounds, failed = [], 0
        times = self.args.repeat if case.repeats else 1
        if not case.needs(self.cluster_for(case)):
            print(f"skipped: {case.name}: this build of the node cannot be told to", flush=True)
            return [], 0, 0
        for _ in range(times):
            try:
                found = self.once(case)
                for problem in found["problems"]:
                    print(f"FAILED {case.name}: {problem[:2000]}", flush=True)
                failed += bool(found["problems"])
                if found["problems"]:
                    self.keep_logs(case)
                rounds.append(found)
                print(f"  {case.name}: gap {1000 * found['gap']:.0f} ms, {found['acknowledged']} acknowledged, changes {found['changes']}, "
                      f"errors {dict(found['codes'])} (all {dict(found['all_codes'])}), longest {found['longest'][0]:.2f} s "
                      f"{found['longest'][1:]}, whole after {found['healed']:.1f} s {found['notes'] or ''}", flush=True)
            except Exception as error:  # pylint: disable=broad-except
                failed += 1
                print(f"FAILED {case.name}: {type(error).__name__}: {str(error)[:2000]}", flush=True)
                if not isinstance(error, Failed):
                    traceback.print_exc()
                self.keep_logs(case)
                self.end_cluster()
        return rounds, times, failed


def results_of(case, rounds, times, failed):
    """As `latsdb lab availability --matrix` reads them."""
    runs = [{"gap_ms": round(1000 * found["gap"], 1), "errors": sum(found["codes"].values()), "changes": found["changes"],
             "acknowledged": found["acknowledged"], "problems": found["problems"]} for found in rounds]
    return {"case": case.name, "what": case.what, "bound_ms": case.gap_ms, "times": times, "failed": failed, "runs": runs}


def is_named(case, name):
    """`P1` stands for P1 and its variants, not for P10."""
    rest = case.name[len(name):]
    return case.name.startswith(name) and not (name[-1].isdigit() and rest[:1].isdigit())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/latsdb")
    parser.add_argument("--dir", default="target/test-data/availability")
    parser.add_argument("--cases", default="", help="names or beginnings of names, separated by commas")
    parser.add_argument("--quick", action="store_true", help="only the fast and sure cases")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--safety", action="store_true",
                        help="judge what is lost, twice, stale or different, and what hangs; not how long it took, nor who leads: for debug builds")
    parser.add_argument("--results", metavar="FILE", help="where the figures go, as JSON")
    parser.add_argument("--prefix", default="lats-a", help="of the names of namespaces and links")
    parser.add_argument("--subnet", default="10.79.0")
    args = parser.parse_args()
    reason = why_not()
    if reason:
        print(f"skipped: {reason}\n0 passed, 0 failed, 1 skipped")
        return 0
    wanted = [name.strip() for name in args.cases.split(",") if name.strip()]
    chosen = [case for case in CASES if (not wanted or any(is_named(case, name) for name in wanted)) and (case.quick or not args.quick)]
    chosen.sort(key=lambda case: case.kind)
    # Nodes and namespaces do not outlive this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    suite, passed, failures, results = Suite(args), 0, 0, {}
    try:
        suite.network.build()
        for case in chosen:
            rounds, times, failed = suite.run(case)
            passed, failures = passed + times - failed, failures + failed
            if times:
                results[case.name] = results_of(case, rounds, times, failed)
            if args.results:
                # Also of a run that is ended before its end.
                with open(args.results, "w") as file:
                    json.dump([results[case.name] for case in CASES if case.name in results], file, indent=1)
    finally:
        suite.end_cluster()
        suite.network.remove()
        if not failures:
            shutil.rmtree(args.dir, ignore_errors=True)
    print(f"{passed} passed, {failures} failed")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
