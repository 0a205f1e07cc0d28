"""Many clients at work while the server is killed and started again, and what has to be true of it all the same.

    python3 tests/redis/histories/suite.py --server 'latsdb serve --data-dir {dir} --redis-addr 127.0.0.1:{port} --mysql-addr 127.0.0.1:{sql} --http-addr 127.0.0.1:{http}'
    python3 tests/redis/histories/suite.py                       Redis itself, with an append-only file
    python3 tests/redis/histories/suite.py --planted             Redis without one: that it loses data must be found
    python3 tests/redis/histories/suite.py --redis HOST:PORT     a server that runs already: nobody kills it
    python3 tests/redis/histories/suite.py --cluster BINARY      three nodes, clients on all of them, one killed at a time
    … --workloads counters,bank,mixed --rounds 10 --seed 1

A workload is a test (workloads.py). `mixed` has SQL clients on the same keys (sql.py has the layout); it needs a server with {sql},
or --sql HOST:PORT.
"""

import argparse
import os
import pathlib
import random
import sys
import threading
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from resp import address, Connection, Refused  # noqa: E402
from server import Cluster, Server  # noqa: E402
from workloads import LOST, Mixed, Violation, WORKLOADS  # noqa: E402

REDIS = "redis-server --port {port} --bind 127.0.0.1 --dir {dir} --save '' --appendonly {kept} --appendfsync always"
# What a server says that is just coming up, or out of date: nothing was done.
PASSING = ("LOADING", "TRYAGAIN", "CLUSTERDOWN", "BUSY")


class Run:
    """One workload from its beginning to the last look."""

    def __init__(self, workload, find_address, clients, seed):
        self.workload, self.find_address, self.clients, self.seed = workload, find_address, clients, seed
        self.stopped, self.violations, self.steps = threading.Event(), [], 0

    def client(self, number):
        chance = random.Random(f"{self.seed}-{number}")
        connection = None
        while not self.stopped.is_set() and not self.violations:
            try:
                if connection is None:
                    connection = Connection(self.find_address(), timeout=10)
                self.workload.step(connection, number, chance)
                self.steps += 1
            except LOST:
                if connection:
                    connection.close()
                connection = None
                time.sleep(0.01)
            except Refused as error:
                if not any(word in str(error) for word in PASSING):
                    self.violations.append(f"a command was refused: {error}")
            except Violation as error:
                self.violations.append(str(error))
            except Exception:
                self.violations.append(traceback.format_exc())
        if connection:
            connection.close()

    def observer(self):
        connection = None
        while not self.stopped.is_set() and not self.violations:
            try:
                connection = connection or Connection(self.find_address(), timeout=10)
                self.workload.meanwhile(connection)
            except LOST:
                connection = None
            except Refused:
                pass
            except Violation as error:
                self.violations.append(str(error))
            except Exception:
                self.violations.append(traceback.format_exc())
            time.sleep(0.02)

    def start(self):
        with Connection(self.find_address()) as connection:
            connection.ask("FLUSHALL")
            self.workload.set_up(connection)
        self.threads = [threading.Thread(target=self.client, args=(number,), daemon=True) for number in range(self.clients)]
        self.threads.append(threading.Thread(target=self.observer, daemon=True))
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(30)
            if thread.is_alive():
                self.violations.append("a client hangs")
                return

    def last_look(self):
        if not self.violations:
            try:
                with Connection(self.find_address()) as connection:
                    self.workload.check(connection)
            except (Violation, Refused) as error:
                self.violations.append(str(error))
        return self.violations


def one(name, workload, server, find_address, options):
    """Whether a workload holds."""
    run = Run(workload, find_address, options.clients, f"{options.seed}-{name}")
    chance = random.Random(f"{options.seed}-kills-{name}")
    started, kills = time.monotonic(), 0
    try:
        run.start()
        for _ in range(options.rounds):
            time.sleep(options.round * chance.uniform(0.3, 1.5))
            if run.violations:
                break
            if server:
                server.kill()
                server.start()
                kills += 1
        time.sleep(options.round / 2)
        run.stop()
        if server and not run.violations:
            server.kill()
            server.start()
            kills += 1
        violations = run.last_look() + (server.panics() if server else [])
    except (RuntimeError, OSError, Refused) as error:
        run.stopped.set()
        violations = [str(error)]
    print(f"{'FAILED' if violations else 'ok    '} {name}: {run.steps} steps of {options.clients} clients, {workload.acknowledged} acknowledged and {workload.unknown} unknown"
          f" changes, {kills} kills, {time.monotonic() - started:.0f} s", flush=True)
    for violation in violations[:3]:
        print(f"    {violation}", flush=True)
    return not violations


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", help="a command with {port} and {dir}, {sql} and {http} if it has them")
    parser.add_argument("--cluster", metavar="BINARY", help="latsdb, of which three nodes are started")
    parser.add_argument("--redis", type=address)
    parser.add_argument("--sql", type=address)
    parser.add_argument("--workloads", type=lambda text: text.split(","))
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=4, help="kills")
    parser.add_argument("--round", type=float, default=1.5, help="seconds between kills, about")
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(1 << 32)))
    parser.add_argument("--dir", default=str(HERE.parents[2] / "target/test-data/redis-histories"))
    parser.add_argument("--planted", action="store_true")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    if options.cluster:
        server = Cluster(options.cluster, options.dir, options.seed)
    else:
        server = None if options.redis else Server(options.server or REDIS.replace("{kept}", "no" if options.planted else "yes"), options.dir)
    sql = options.sql or (server.sql if server else None)
    names = options.workloads or [*WORKLOADS, *(["mixed"] if sql else [])]
    if server:
        server.start()
    held = []
    for name in names:
        chance = random.Random(f"{options.seed}-{name}")
        if name == "mixed":
            from sql import Tables
            workload = Mixed(chance, options.clients, lambda: Tables(*(options.sql or server.sql), os.environ.get("DB_USER", "root"), os.environ.get("DB_PASSWORD", "")))
        else:
            workload = WORKLOADS[name](chance, options.clients)
        held.append(one(name, workload, server, lambda: options.redis or server.address, options))
        if server and server.process.poll() is not None:
            server.start()
    if server:
        server.stop()
    if options.planted:
        held = [not fine for fine in held]
    print(f"{held.count(True)} passed, {held.count(False)} failed")
    return held.count(False) > 0


if __name__ == "__main__":
    sys.exit(main())
