"""Nodes as processes, each on a host of its own, with a directory or a disk of its own."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pymysql

MYSQL, HTTP, PEER = 3306, 8306, 7306


class Failed(Exception):
    """What was to happen did not."""


def wait_until(what, condition, seconds=60, pause=0.05):
    """What the condition gives, once it is true. Between two looks is a pause, as a look takes some of the processors' time."""
    deadline = time.monotonic() + seconds
    while True:
        held = condition()
        if held:
            return held
        if time.monotonic() > deadline:
            raise Failed(f"{what} takes longer than {seconds} s")
        time.sleep(pause)


class Cluster:
    def __init__(self, binary, directory, network, flags=("--memory-limit", "512MiB")):
        self.binary, self.directory, self.network = os.path.abspath(binary), os.path.abspath(directory), network
        self.nodes, self.flags = [1, 2, 3], list(flags)
        self.processes, self.disks, self.log_starts = {}, {}, {}
        # What a run has left that was killed.
        with open("/proc/mounts") as mounts:
            below = [line.split()[1] for line in mounts if line.split()[1].startswith(f"{self.directory}/")]
        for mount in reversed(below):
            subprocess.run(["umount", "-l", mount], check=False)
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory)
        self.certificates = Certificates(f"{self.directory}/tls", network)

    # --- processes ---

    def data_dir(self, node):
        disk = self.disks.get(node)
        return f"{disk.mount}/data" if disk else f"{self.directory}/node-{node}"

    def peer_address(self, node):
        return f"{self.network.address(node)}:{PEER}"

    def log_path(self, node):
        return f"{self.directory}/node-{node}.log"

    def log_since_start(self, node):
        with open(self.log_path(node), errors="replace") as log:
            log.seek(self.log_starts.get(node, 0))
            return log.read()

    def start(self, node, founds=None, environment=None):
        """`founds`: it begins a cluster, as the first node does when it is started for the first time."""
        seeds = [other for other in self.nodes if other != node]
        founds = node == self.nodes[0] and node not in self.processes if founds is None else founds
        command = [self.binary, "serve", "--data-dir", self.data_dir(node), "--node-id", str(node),
                   "--mysql-addr", self.network.local(node, MYSQL), "--http-addr", self.network.local(node, HTTP),
                   "--peer-addr", self.peer_address(node),
                   *self.certificates.flags(node), *self.flags]
        if not founds:
            command += ["--join", ",".join(self.peer_address(other) for other in seeds)]
        log = open(self.log_path(node), "a")
        self.log_starts[node] = log.tell()
        self.processes[node] = subprocess.Popen(
            self.network.command(node, *command), stdout=log, stderr=log,
            env={**os.environ, "RUST_BACKTRACE": "1", **(environment or {})})
        log.close()

    def start_and_wait(self, *nodes, founds=None, seconds=60):
        for node in nodes:
            self.start(node, founds)
        self.wait_until_ready(*nodes, seconds=seconds)

    def start_all(self):
        for node in self.nodes:
            self.start(node)
        self.wait_until_whole()

    def is_running(self, node):
        return node in self.processes and self.processes[node].poll() is None

    def running(self):
        return [node for node in self.nodes if self.is_running(node)]

    def send(self, node, number):
        self.processes[node].send_signal(number)

    def kill(self, *nodes):
        for node in nodes:
            self.processes[node].kill()
        for node in nodes:
            self.processes[node].wait()

    def stop(self, node, seconds=60):
        """As an operator does. Its exit code."""
        self.send(node, signal.SIGTERM)
        try:
            return self.processes[node].wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"node {node} does not stop within {seconds} s") from None

    def wait_until_exit(self, node, seconds):
        try:
            return self.processes[node].wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"node {node} runs on after {seconds} s") from None

    def end(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        for disk in self.disks.values():
            disk.remove()

    def becomes_ready(self, node, seconds=20):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.is_running(node):
            if self.is_ready(node):
                return True
            time.sleep(0.1)
        return False

    # --- directories ---

    def copy_dir(self, source, target):
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.sock"))

    def move_dir(self, source, target):
        os.rename(source, target)

    def remove_dir(self, path):
        shutil.rmtree(path)

    # --- what a node says ---

    def ask(self, node, path):
        """Status and text; 0 if there is no answer."""
        url = f"http://{self.network.local(node, HTTP)}{path}"
        with self.network.at(node):
            try:
                with urllib.request.urlopen(url, timeout=3) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()
            except OSError as error:
                return 0, str(error)

    def status(self, node):
        code, text = self.ask(node, "/status")
        return json.loads(text) if code == 200 else None

    def order(self, node, command):
        """`latsdb admin …` at that node."""
        words = [self.binary, "admin", *command.split(), "--http-addr", self.network.local(node, HTTP)]
        done = subprocess.run(self.network.command(node, *words), capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Failed(f"admin {command}: {done.stderr.strip()}")
        return done.stdout.strip()

    def is_ready(self, node):
        return self.ask(node, "/health/ready")[0] == 200

    def wait_until_ready(self, *nodes, seconds=60):
        for node in nodes or self.running():
            def ready(node=node):
                if not self.is_running(node):
                    raise Failed(f"node {node} has ended: {self.last_words(node)}")
                return self.is_ready(node)
            wait_until(f"node {node}", ready, seconds)

    def last_words(self, node):
        return " | ".join(self.log_since_start(node).strip().splitlines()[-3:])

    def leader(self):
        def look():
            leaders = [node for node in self.running() if self.ask(node, "/health/leader")[0] == 200]
            return leaders[0] if len(leaders) == 1 else None
        return wait_until("one leader", look, 30)

    def follower(self):
        leader = self.leader()
        return next(node for node in self.nodes if node != leader)

    def term(self):
        """The newest that any node knows of."""
        found = [self.status(node) for node in self.running()]
        return max((status["shards"][0]["term"] for status in found if status and status["shards"]), default=0)

    def voters(self, node):
        status = self.status(node)
        return status["shards"][0]["voters"] if status and status["shards"] else []

    def wait_until_whole(self, seconds=60):
        """All nodes run, vote, and have applied the same."""
        def whole():
            for node in self.nodes:
                if not self.is_running(node):
                    raise Failed(f"node {node} has ended: {self.last_words(node)}")
            found = [self.status(node) for node in self.nodes]
            if not all(status and status["state"] == "serving" and status["shards"] for status in found):
                return False
            shards = [status["shards"][0] for status in found]
            return (all(shard["voters"] == sorted(self.nodes) for shard in shards)
                    and len({(shard["applied_index"], shard["leader"]) for shard in shards}) == 1)
        wait_until("a whole cluster", whole, seconds)

    def connect(self, node):
        host, port = self.network.local(node, MYSQL).split(":")
        with self.network.at(node):
            return pymysql.connect(host=host, port=int(port), user="root", database="test", autocommit=True,
                                   connect_timeout=2, read_timeout=30)

    def query(self, node, sql, arguments=None):
        connection = self.connect(node)
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql, arguments)
                return cursor.fetchall()
        finally:
            connection.close()

    def resident_bytes(self, node):
        with open(f"/proc/{self.processes[node].pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Certificates:
    """An authority, and a certificate for the address of each node."""

    def __init__(self, directory, network):
        self.directory = directory
        os.makedirs(directory)
        self.make("ca", "-x509", "-days", "2", "-subj", "/CN=test",
                  "-addext", "basicConstraints=critical,CA:TRUE")
        for host in range(1, network.hosts + 1):
            self.make(f"node-{host}", "-x509", "-days", "2", "-subj", f"/CN=node-{host}",
                      "-addext", f"subjectAltName=IP:{network.address(host)},URI:latsdb:node:{host}",
                      "-addext", "basicConstraints=critical,CA:FALSE",
                      "-CA", f"{directory}/ca.pem", "-CAkey", f"{directory}/ca.key")

    def make(self, name, *more):
        words = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-keyout", f"{self.directory}/{name}.key", "-out", f"{self.directory}/{name}.pem", *more]
        subprocess.run(words, check=True, capture_output=True)

    def flags(self, node):
        return ["--peer-tls-ca", f"{self.directory}/ca.pem", "--peer-tls-cert", f"{self.directory}/node-{node}.pem",
                "--peer-tls-key", f"{self.directory}/node-{node}.key"]
