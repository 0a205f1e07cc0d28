"""A server that is killed and started again on the same data."""

import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time

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
