#!/usr/bin/env python3
"""Keys side by side: LatsDB's Redis protocol beside Redis itself, and rows by key over HTTP beside SQL, in one run.

    tools/compare-keys.py --binary target/release/latsdb                 everything, medians of three rounds
    tools/compare-keys.py --binary NEW --also OLD --parts redis          two builds, by Redis's protocol alone

The servers take turns within each round, so that what the machine does meanwhile happens to all of them. Beside the rate stands the CPU time that
the server took for a request, user and system: with client and server on the same cores it says more than the rate. Needed: redis-server,
redis-benchmark, wrk, sysbench.
"""
import argparse
import contextlib
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict, namedtuple
from pathlib import Path

Server = namedtuple("Server", "name pid mysql http redis")
Figure = namedtuple("Figure", "rate cpu_us p99_ms")

# Connections, requests in flight on each, requests in all.
REDIS_LOADS = [(1, 1, 40_000), (32, 1, 150_000), (256, 1, 150_000), (1, 16, 200_000), (32, 16, 600_000), (256, 16, 600_000)]
KEYS, VALUE_BYTES = 100_000, 16
TABLES, ROWS = 5, 100_000
SECONDS = 5


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port, seconds=30):
    end = time.time() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.time() > end:
                raise
            time.sleep(0.05)


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(command, port):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def start_latsdb(stack, binary, name, directory):
    mysql, http, redis = free_port(), free_port(), free_port()
    command = [binary, "serve", "--data-dir", str(directory / name), "--memory-limit", "2GiB", "--mysql-addr", f"127.0.0.1:{mysql}",
               "--http-addr", f"127.0.0.1:{http}", "--redis-addr", f"127.0.0.1:{redis}"]
    process = stack.enter_context(running(command, redis))
    return Server(name, process.pid, mysql, http, redis)


def start_redis(stack, fsync, directory):
    port = free_port()
    where = directory / fsync
    where.mkdir()
    command = ["redis-server", "--port", str(port), "--dir", str(where), "--appendonly", "yes", "--appendfsync", fsync, "--save", ""]
    process = stack.enter_context(running(command, port))
    return Server(fsync, process.pid, None, None, port)


def measured(server, run):
    """What `run` tells of its rate and latency, with the server's CPU time for each request."""
    before = cpu_seconds(server.pid)
    requests, rate, p99 = run()
    return Figure(rate, (cpu_seconds(server.pid) - before) / requests * 1e6, p99)


# --- Redis's protocol ---

def redis_benchmark(server, command, load):
    connections, pipeline, requests = load
    arguments = ["redis-benchmark", "-p", str(server.redis), "-t", command, "-c", str(connections), "-P", str(pipeline), "-n", str(requests),
                 "-r", str(KEYS), "-d", str(VALUE_BYTES), "--csv"]
    text = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    fields = [field.strip('"') for field in text.strip().splitlines()[-1].split(",")]
    return requests, float(fields[1]), float(fields[6])


def by_redis(servers, rounds):
    print(f"\n| command, connections x pipeline | {' | '.join(f'{server.name}/s (CPU us)' for server in servers)} | {servers[0].name} / each |")
    print("|---" * (len(servers) + 2) + "|")
    for load in REDIS_LOADS:
        for command in ("get", "set"):
            figures = defaultdict(list)
            for _ in range(rounds):
                for server in servers:
                    figures[server.name].append(measured(server, lambda server=server: redis_benchmark(server, command, load)))
            row(f"{command.upper()}, {load[0]} x {load[1]}", servers, figures)


def row(title, servers, figures):
    rate = {server.name: statistics.median(figure.rate for figure in figures[server.name]) for server in servers}
    cpu = {server.name: statistics.median(figure.cpu_us for figure in figures[server.name]) for server in servers}
    cells = " | ".join(f"{rate[server.name]:,.0f} ({cpu[server.name]:.1f})" for server in servers)
    ratios = ", ".join(f"{rate[servers[0].name] / rate[server.name]:.2f}" for server in servers[1:])
    print(f"| {title} | {cells} | {ratios} |", flush=True)


# --- HTTP ---

ONE_ROW = """
request = function()
  return wrk.format("GET", "/v1/tables/sbtest/sbtest1/rows/" .. math.random(ROWS) .. "?columns=c")
end
"""
SIXTEEN_ROWS = """
request = function()
  local requests = {}
  for i = 1, 16 do requests[i] = wrk.format("GET", "/v1/tables/sbtest/sbtest1/rows/" .. math.random(ROWS) .. "?columns=c") end
  return table.concat(requests)
end
"""
HUNDRED_KEYS = """
wrk.headers["content-type"] = "application/json"
request = function()
  local reads = {}
  for t = 1, 5 do
    local keys = {}
    for k = 1, 20 do keys[k] = math.random(ROWS) end
    reads[t] = '{"table":"sbtest.sbtest' .. t .. '","columns":["c"],"keys":[' .. table.concat(keys, ",") .. ']}'
  end
  return wrk.format("POST", "/v1/read", nil, '{"reads":[' .. table.concat(reads, ",") .. ']}')
end
"""


def wrk(server, script, connections, directory):
    path = directory / "request.lua"
    path.write_text(script.replace("ROWS", str(ROWS)))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "--latency", "-s", str(path), f"http://127.0.0.1:{server.http}/"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in text:
        raise RuntimeError(text)
    requests = int(re.search(r"(\d+) requests in", text)[1])
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", text).groups()
    return requests, requests / SECONDS, float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def sysbench(server, *words):
    command = ["sysbench", "oltp_point_select", "--mysql-host=127.0.0.1", f"--mysql-port={server.mysql}", "--mysql-user=root",
               f"--table-size={ROWS}", "--percentile=99", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def point_selects(server, connections):
    text = sysbench(server, "--tables=1", f"--threads={connections}", f"--time={SECONDS}", "run")
    requests = int(re.search(r"queries:\s+(\d+)", text)[1])
    return requests, requests / SECONDS, float(re.search(r"99th percentile:\s+([\d.]+)", text)[1])


def by_http(servers, rounds, directory):
    servers = [server for server in servers if server.http]
    for server in servers:
        subprocess.run(["mariadb", "-h", "127.0.0.1", "-P", str(server.mysql), "-u", "root", "-e", "CREATE DATABASE IF NOT EXISTS sbtest"], check=True)
        sysbench(server, f"--tables={TABLES}", "prepare")
    loads = [
        ("a row over SQL", lambda server: point_selects(server, 8)),
        ("a row over HTTP", lambda server: wrk(server, ONE_ROW, 8, directory)),
        ("a row over HTTP, 16 requests in flight", lambda server: wrk(server, SIXTEEN_ROWS, 8, directory)),
        ("100 rows of 5 tables over HTTP", lambda server: wrk(server, HUNDRED_KEYS, 8, directory)),
        ("100 rows of 5 tables over HTTP, 1 client", lambda server: wrk(server, HUNDRED_KEYS, 1, directory)),
    ]
    print("\n| 8 clients | server | requests/s | CPU us/request | p99 ms |")
    print("|---|---|---|---|---|")
    for title, load in loads:
        figures = defaultdict(list)
        for _ in range(rounds):
            for server in servers:
                figures[server.name].append(measured(server, lambda server=server: load(server)))
        for server in servers:
            rate, cpu, p99 = (statistics.median(values) for values in zip(*figures[server.name]))
            print(f"| {title} | {server.name} | {rate:,.0f} | {cpu:.1f} | {p99:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--also", metavar="BINARY", help="another build, to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", nargs="+", choices=["redis", "http"], default=["redis", "http"])
    args = parser.parse_args()
    missing = [tool for tool in ("redis-server", "redis-benchmark", "wrk", "sysbench") if not shutil.which(tool)]
    if missing:
        parser.error(f"not installed: {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        directory = Path(directory)
        servers = [start_latsdb(stack, args.binary, "LatsDB", directory)]
        if args.also:
            servers.append(start_latsdb(stack, args.also, "also", directory))
        if "http" in args.parts:
            by_http(servers, args.rounds, directory)
        if "redis" in args.parts:
            servers += [start_redis(stack, fsync, directory) for fsync in ("always", "everysec")]
            by_redis(servers, args.rounds)


if __name__ == "__main__":
    main()
