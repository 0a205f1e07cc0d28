#!/usr/bin/env python3
"""What the server says that it holds, beside what the system says.

Fills a node in one way after another: rows, indexes, variables, prepared statements, a sort under way, an answer that nobody reads,
idle connections; each time compares Memory_used with the resident size, less what an empty node takes. They may differ by --percent and,
for what is small, by --mib.

At the end stands what is left after deletes here and there, once the node has closed the gaps in the allocator's pages, beside the node before
these rows; gaps.py has more of that.

The server is the one of DB_HOST, DB_PORT, DB_USER, DB_PASSWORD and DB_PID, which nobody else uses.
"""

import argparse
import sys
import threading
import time

from suite import Client, memory
import wire


def charged(client):
    (row,) = client.rows("SHOW GLOBAL STATUS LIKE 'Memory_used'")
    return int(row.split(b"Memory_used")[1][1:]) / (1 << 20)


def resident():
    return memory("RssAnon:")


class Node:
    def __init__(self):
        self.watcher = Client(database=None)
        self.kept = []

    def client(self):
        client = Client(database=None)
        client.socket.settimeout(300)
        client.run("CREATE DATABASE IF NOT EXISTS resident")
        client.run("USE resident")
        self.kept.append(client)
        return client

    def settled(self):
        """The two figures once they do not move any more: pages are given back, and gaps are closed, by and by."""
        time.sleep(1.5)
        seen = []
        for _ in range(60):
            seen.append((charged(self.watcher), resident()))
            # A pass that closes gaps may take a second in which little is seen of it.
            lately = seen[-4:]
            if len(lately) == 4 and all(max(figures) - min(figures) <= 1 for figures in zip(*lately)):
                break
            time.sleep(0.5)
        return seen[-1]

    def let_go(self):
        for client in self.kept:
            client.close()
        self.kept = []


def rows(node):
    client = node.client()
    client.run("DROP TABLE IF EXISTS filled")
    client.run("CREATE TABLE filled (id INT PRIMARY KEY, a INT, s VARCHAR(400))")
    values = lambda start: ",".join(f"({n},{n * 7919 % 100003},REPEAT('x',{n % 300}))" for n in range(start, start + 5000))
    for start in range(0, 200_000, 5000):
        client.run("INSERT INTO filled VALUES " + values(start))


def indexes(node):
    node.client().run("CREATE INDEX by_a ON filled (a, s(100))")


def deletes(node):
    rows(node)
    indexes(node)
    client = node.client()
    for start in range(0, 200_000, 10_000):
        client.run(f"DELETE FROM filled WHERE id BETWEEN {start} AND {start + 8000}")


def variables(node):
    client = node.client()
    for n in range(3):
        client.run(f"SET @v{n} = REPEAT('a', 30000000)")


def prepared(node):
    client = node.client()
    text = b"SELECT 1 IN (" + b",".join([b"1"] * 20_000) + b")"
    for _ in range(30):
        client.send_raw(wire.frame(bytes([wire.COM_STMT_PREPARE]) + text))
        head = client.receive()
        columns = int.from_bytes(head[5:7], "little")
        for _ in range(columns + (1 if columns else 0)):
            client.receive()


def running(sql):
    def fill(node):
        client = node.client()
        client.send_raw(wire.frame(b"\x03" + sql))
        time.sleep(2)
    return fill


def connections(node):
    for _ in range(1000):
        node.kept.append(Client(database=None))


CASES = [
    ("rows", rows),
    ("indexes", indexes),
    ("variables", variables),
    ("prepared statements", prepared),
    ("sorted rows under way", running(b"SELECT SLEEP(5 * (n = 1)) FROM (SELECT ROW_NUMBER() OVER (ORDER BY s, a) n FROM filled) d WHERE n = 1")),
    ("an answer that nobody reads", running(b"SELECT REPEAT('x', 50000000)")),
    ("idle connections", connections),
    ("rows and indexes after deletes here and there", deletes),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--percent", type=float, default=15)
    parser.add_argument("--mib", type=float, default=12)
    parser.add_argument("--table")
    options = parser.parse_args()
    node = Node()
    base = node.settled()
    print(f"empty: {base[0]:.0f} MiB charged, {base[1]} MiB resident", flush=True)
    failed = 0
    lines = ["| what is held | charged, MiB | resident, MiB |", "|---|---|---|"]
    for name, fill in CASES:
        if fill is deletes:
            # Without the pages that threads keep for themselves after all of the above, about 10 MiB.
            node.client().run("DROP TABLE filled")
            base = node.settled()
        fill(node)
        now = node.settled()
        held, size = now[0] - base[0], now[1] - base[1]
        good = abs(held - size) <= max(options.mib, size * options.percent / 100)
        failed += not good
        print(f"{'ok    ' if good else 'FAILED'} {name}: {held:.0f} MiB charged, {size} MiB resident", flush=True)
        lines.append(f"| {name} | {held:.0f} | {size} |")
        node.let_go()
        time.sleep(0.5)
    if options.table:
        with open(options.table, "w") as table:
            table.write("\n".join(lines) + "\n")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
