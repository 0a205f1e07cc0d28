#!/usr/bin/env python3
"""How large the server is after rows were removed, or grew, here and there.

Pages of the allocator that are used in part stay, so the server has to close the gaps. For each pattern stands what it charges (Memory_used)
and its resident size, both less what an empty node takes, once they have settled, and the peak of its size. The two may differ by
--percent and, for what is small, by --mib; no peak may be above 1.25 times the memory_limit.

The server is the one of DB_HOST, DB_PORT, DB_USER, DB_PASSWORD and DB_PID, which nobody else uses, with a memory_limit of --limit MiB.
"""

import argparse
import random
import sys
import threading
import time

from resident import Node, resident
import wire

STEP = 1000


def table(client, name="filled", key="id INT PRIMARY KEY", more=""):
    client.run(f"DROP TABLE IF EXISTS {name}")
    client.run(f"CREATE TABLE {name} ({key}, a INT, s VARCHAR(4000){more})")


def fill(client, rows, length, first=0, name="filled"):
    """Returns how many rows there is room for."""
    for start in range(first, first + rows, STEP):
        values = ",".join(f"({n},{n * 7919 % 1000003},REPEAT('x',{length}))" for n in range(start, start + STEP))
        try:
            client.run(f"INSERT INTO {name} VALUES {values}")
        except wire.ServerError as error:
            if not is_full(error):
                raise
            return start - first
    return rows


def is_full(error):
    return str(error).startswith(("1114", "1038"))


def insist(client, sql):
    """Where memory is used up, what was deleted has to be collected before more can be."""
    for _ in range(100):
        try:
            return client.run(sql)
        except wire.ServerError as error:
            if not is_full(error):
                raise
            time.sleep(0.1)
    raise TimeoutError(f"refused for long: {sql}")


def in_parts(client, rows, sql, part=10 * STEP):
    for start in range(0, rows, part):
        insist(client, f"{sql} AND id >= {start} AND id < {start + part}")


def every_nth_kept(nth):
    def run(client, rows):
        table(client, more=", KEY by_a (a)")
        fill(client, rows, 100)
        in_parts(client, rows, f"DELETE FROM filled WHERE id % {nth} <> 0")
    return run


def grown(client, rows):
    table(client, more=", KEY by_a (a)")
    fill(client, rows // 2, 60)
    in_parts(client, rows // 2, "UPDATE filled SET s = REPEAT('y', 200) WHERE a % 4 <> 0")


def index_dropped(client, rows):
    table(client, more=", KEY by_a (a), KEY by_s (s(40), a)")
    fill(client, rows, 60)
    client.run("ALTER TABLE filled DROP KEY by_s")


def long_rows(client, rows):
    table(client)
    client.run("ALTER TABLE filled MODIFY s MEDIUMTEXT")
    fill(client, rows // 200, 14000)
    in_parts(client, rows // 200, "DELETE FROM filled WHERE id % 6 <> 0")


def history(client, rows):
    """Rows of all lengths take each other's places; then most of them go."""
    rows //= 2
    table(client, more=", KEY by_a (a)")
    fill(client, rows, 100)
    rng = random.Random(1)
    for _ in range(60):
        ids = ",".join(str(rng.randrange(rows)) for _ in range(1000))
        client.run(f"UPDATE filled SET s = REPEAT('z', 20 + (id * 31 + {rng.randrange(500)}) % 300), a = {rng.randrange(100000)} WHERE id IN ({ids})")
    in_parts(client, rows, "DELETE FROM filled WHERE (id * 7919) % 1009 < 800")


def two_sizes(client, rows):
    """To the limit with short rows, most of which go here and there; then to the limit with longer ones."""
    table(client, more=", KEY by_a (a)")
    short = fill(client, 100 * rows, 100)
    in_parts(client, short, "DELETE FROM filled WHERE id % 5 <> 0", part=STEP)
    time.sleep(3)
    longer = fill(client, 100 * rows, 300, first=100 * rows)
    print(f"       {short} short rows, then {longer} longer ones", flush=True)


def two_sizes_at_once(client, rows):
    """As above, without a pause."""
    table(client, more=", KEY by_a (a)")
    short = fill(client, 100 * rows, 100)
    for start in range(0, short, STEP):
        insist(client, f"DELETE FROM filled WHERE id % 5 <> 0 AND id >= {start} AND id < {start + STEP}")
        if start % (5 * STEP) == 0:
            fill(client, STEP, 300, first=100 * rows + start)


class Peak(threading.Thread):
    """The largest size that is seen, without the pages of files."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.stopped = 0, threading.Event()
        self.start()

    def run(self):
        while not self.stopped.wait(0.01):
            self.most = max(self.most, resident())

    def stop(self):
        self.stopped.set()
        self.join()
        return self.most


PATTERNS = [
    ("every 2nd row kept", every_nth_kept(2)),
    ("every 5th row kept", every_nth_kept(5)),
    ("every 20th row kept", every_nth_kept(20)),
    ("rows grown by UPDATE", grown),
    ("a secondary index dropped", index_dropped),
    ("rows of 14 kB, every 6th kept", long_rows),
    ("updates at random, then 20% kept", history),
    ("filled, 80% deleted, filled with longer rows", two_sizes),
    ("the same, in turns", two_sizes_at_once),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--percent", type=float, default=25)
    parser.add_argument("--mib", type=float, default=12)
    parser.add_argument("--limit", type=int, default=256)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--table")
    options = parser.parse_args()
    node = Node()
    # What threads keep for themselves is no pattern's.
    client = node.client()
    every_nth_kept(2)(client, options.rows)
    client.run("DROP TABLE filled")
    node.let_go()
    base = node.settled()
    print(f"empty: {base[0]:.0f} MiB charged, {base[1]} MiB resident", flush=True)
    patterns = [pattern for pattern in PATTERNS if options.only in pattern[0]]
    failed = 0
    lines = ["| pattern | charged, MiB | resident, MiB | peak resident, MiB |", "|---|---|---|---|"]
    for name, run in patterns:
        watched = Peak()
        client = node.client()
        run(client, options.rows)
        full = resident() - base[1]
        held, size = (now - empty for now, empty in zip(node.settled(), base))
        peak = watched.stop()
        good = size - held <= max(options.mib, held * options.percent / 100) and peak <= options.limit * 5 / 4
        failed += not good
        print(f"{'ok    ' if good else 'FAILED'} {name}: {held:.0f} MiB charged, {size} MiB resident (at first {full}), peak {peak} MiB", flush=True)
        lines.append(f"| {name} | {held:.0f} | {size} | {peak} |")
        client.run("DROP TABLE IF EXISTS filled")
        node.let_go()
        base = node.settled()
    if options.table:
        with open(options.table, "w") as file:
            file.write("\n".join(lines) + "\n")
    print(f"{len(patterns) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
