"""A node of LatsDB for the tests, and the means to talk to it as bytes."""

import base64
import http.client
import json
import os
import shutil
import socket
import subprocess
import time


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Node:
    """A node that runs from its making to `stop`."""

    def __init__(self, binary, folder, *flags):
        shutil.rmtree(folder, ignore_errors=True)
        self.folder = folder
        self.mysql, self.http = free_port(), free_port()
        self.command = [binary, "serve", "--data-dir", folder, "--mysql-addr", f"127.0.0.1:{self.mysql}", "--http-addr", f"127.0.0.1:{self.http}",
                        "--memory-limit", "1GiB", *flags]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while True:
            try:
                if self.ask("GET", "/health").status == 200:
                    return
            except OSError:
                pass
            assert time.monotonic() < deadline and self.process.poll() is None, "the node does not start"
            time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        assert self.process.wait(60) == 0

    def ask(self, method, path, body=None, login=None, headers=None, connection=None):
        """One request; a dict or list is sent as JSON."""
        own = connection or http.client.HTTPConnection("127.0.0.1", self.http, timeout=30)
        headers = dict(headers or {})
        if login and login.startswith("latsdb_"):
            headers["Authorization"] = f"Bearer {login}"
        elif login:
            headers["Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        own.request(method, path, body, headers)
        answer = Answer(own.getresponse())
        if connection is None:
            own.close()
        return answer

    def sql(self, text, *parameters, login=None, **options):
        answer = self.ask("POST", "/v1/sql", {"sql": text, "parameters": list(parameters), **options}, login=login)
        assert answer.status == 200, (text, answer.text)
        return answer.json

    def raw(self, data, wait=10):
        """What comes back for bytes, until the node closes or says no more."""
        with socket.create_connection(("127.0.0.1", self.http), timeout=wait) as one:
            one.sendall(data)
            return read_all(one)

    def resident(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def read_all(one):
    got = b""
    try:
        while piece := one.recv(1 << 16):
            got += piece
    except (TimeoutError, ConnectionError):
        pass
    return got


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body) if self.body else None
