"""A server, or a cluster of three nodes, that is killed and started again on the same data."""

import pathlib
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

from resp import Closed, Connection


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`command` has {port} and {dir} where the port and the directory belong, and {sql} and {http} for further ports."""

    def __init__(self, command, folder):
        self.folder = pathlib.Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.ports = {name: free_port() for name in ("port", "sql", "http")}
        self.address = ("127.0.0.1", self.ports["port"])
        self.sql = ("127.0.0.1", self.ports["sql"]) if "{sql}" in command else None
        self.command = shlex.split(command.format(dir=self.folder, **self.ports))
        self.process, self.starts = None, 0

    def start(self, limit=60):
        self.starts += 1
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + limit
        while True:
            try:
                with Connection(self.address, timeout=5) as connection:
                    if connection.reply(b"PING") == ("+", b"PONG"):
                        return
            except (OSError, Closed):
                pass
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}: {self.last_lines()}")
            if time.monotonic() > end:
                raise RuntimeError(f"the server is not ready after {limit} s: {self.last_lines()}")
            time.sleep(0.02)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def last_lines(self):
        return " | ".join((self.folder / "log").read_text(errors="replace").splitlines()[-4:])

    def panics(self):
        return [line for line in (self.folder / "log").read_text(errors="replace").splitlines() if re.search(r"panicked at ", line)]


class Node(Server):
    """One of a cluster."""

    def is_leader(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['http']}/health/leader", timeout=2) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False


class Cluster:
    """Three nodes of a binary. Clients get any of them; kills hit the leader every other time, and it stays away for a while."""

    COMMAND = ("{binary} serve --data-dir {{dir}}/data --node-id {number} --memory-limit 1GiB --redis-addr 127.0.0.1:{{port}} --mysql-addr 127.0.0.1:{{sql}}"
               " --http-addr 127.0.0.1:{{http}} --peer-addr 127.0.0.1:{peer} {join}")

    def __init__(self, binary, folder, seed):
        self.chance, self.kills, self.victim = random.Random(f"{seed}-cluster"), 0, None
        peers = [free_port() for _ in range(3)]
        self.nodes = []
        for number, peer in enumerate(peers, 1):
            join = f"--join 127.0.0.1:{peers[0]}" if number > 1 else ""
            command = self.COMMAND.format(binary=shlex.quote(binary), number=number, peer=peer, join=join)
            self.nodes.append(Node(command, pathlib.Path(folder) / f"node-{number}"))

    @property
    def address(self):
        return random.choice([node for node in self.nodes if node is not self.victim]).address

    @property
    def sql(self):
        return random.choice([node for node in self.nodes if node is not self.victim]).sql

    @property
    def process(self):
        return (self.victim or self.nodes[0]).process

    def start(self):
        if self.victim:
            time.sleep(self.chance.uniform(0, 2))
        for node in self.nodes:
            if node.process is None or node.process.poll() is not None:
                node.start()
        self.victim = None

    def kill(self):
        self.kills += 1
        leader = next((node for node in self.nodes if node.is_leader()), None)
        self.victim = leader if leader and self.kills % 2 else self.chance.choice(self.nodes)
        self.victim.kill()

    def stop(self):
        for node in self.nodes:
            node.stop()

    def panics(self):
        return [line for node in self.nodes for line in node.panics()]
