"""A server that a machine of this folder starts for itself, and the tables that statements of all of them name."""

import resource
import shutil
import subprocess
import tempfile
import time

from wire import Closed, Connection, ServerError

_HUNDRED = ",".join(f"({i}, {i % 10}, CONCAT('s', {i % 7}))" for i in range(100))
TABLES = (
    "CREATE TABLE one (id INT PRIMARY KEY)", "INSERT INTO one VALUES (1)",
    "CREATE TABLE hundred (id INT PRIMARY KEY, n INT, s VARCHAR(20), KEY (n))", f"INSERT INTO hundred VALUES {_HUNDRED}",
    "CREATE TABLE scratch (id INT PRIMARY KEY, n INT)",
)


class OwnServer:
    """A process with an empty data directory; it ends with stop()."""

    def __init__(self, binary, port, memory_mib, most_mib, user, password):
        """`most_mib`: of address space. What the server takes beyond its limit must not take the machine with it."""
        self.folder = tempfile.mkdtemp(prefix="hostile-")
        self.address = ("127.0.0.1", port)
        most = most_mib << 20
        self.process = subprocess.Popen(
            [binary, "serve", "--data-dir", self.folder + "/data", "--mysql-addr", f"127.0.0.1:{port}",
             "--http-addr", f"127.0.0.1:{port + 1}", "--memory-limit", f"{memory_mib}MiB"],
            stdout=subprocess.DEVNULL, stderr=open(self.folder + "/log", "w"), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
        self.pid = str(self.process.pid)
        for _ in range(300):
            try:
                Connection(self.address, user, password, timeout=5).close()
                return
            except (OSError, Closed, ServerError):
                time.sleep(0.1)
        raise SystemExit("the server does not start")

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
