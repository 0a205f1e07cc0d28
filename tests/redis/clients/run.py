"""Drivers and applications of Redis: fetches what each needs, runs it against one server, and counts.

    python3 tests/redis/clients/run.py --redis 127.0.0.1:6379              all of them; all data of the server are lost
    python3 tests/redis/clients/run.py --redis … go-redis sidekiq          those
    python3 tests/redis/clients/run.py                                     against a Redis that it starts

What is fetched lies in target/redis-clients (Node's libraries beside package.json). What lacks its toolchain is skipped by name.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FETCHED = ROOT / "target/redis-clients"
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/go/bin", "/usr/games"])
COUNT = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)
sys.path.insert(0, str(HERE.parent))
sys.path.insert(1, str(HERE.parent / "oracle"))
from resp import address  # noqa: E402
from server import Server  # noqa: E402


class Failed(Exception):
    """A preparation went wrong."""


def done(*command, folder=None, **environment):
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": PATH, **environment}, stdin=subprocess.DEVNULL)
    if ended.returncode:
        raise Failed(f"{' '.join(map(str, command))}: {(ended.stderr or ended.stdout).strip()[-2000:]}")


def current(product, *sources):
    """Whether `product` was made from what the sources are now; notes that it is."""
    stamp, wanted = FETCHED / f"{product}.made-from", b"".join(source.read_bytes() for source in sources)
    if stamp.exists() and stamp.read_bytes() == wanted:
        return lambda: None, True
    return lambda: stamp.write_bytes(wanted), False


def python():
    interpreter, requirements = FETCHED / "python/bin/python", HERE / "python/requirements.txt"
    note, is_current = current("python", requirements)
    if not is_current:
        done(sys.executable, "-m", "venv", FETCHED / "python")
        done(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", requirements)
        note()
    return [interpreter, "-B"]


def node():
    note, is_current = current("node", HERE / "node/package-lock.json")
    if not is_current or not (HERE / "node/node_modules").exists():
        done("npm", "ci", "--silent", "--no-audit", "--no-fund", folder=HERE / "node")
        note()
    return ["node"]


def go():
    done("go", "build", "-o", FETCHED / "go", ".", folder=HERE / "go")
    return [FETCHED / "go"]


def java():
    note, is_current = current("java", HERE / "java/pom.xml")
    if not is_current:
        done("mvn", "--quiet", "--batch-mode", "dependency:copy-dependencies", f"-DoutputDirectory={FETCHED / 'java'}", "--file", HERE / "java/pom.xml")
        note()
    done("javac", "-nowarn", "-d", FETCHED / "java-classes", "-cp", FETCHED / "java/*", *(HERE / "java").glob("*.java"))
    return ["java", "-cp", f"{FETCHED / 'java-classes'}:{FETCHED / 'java'}/*"]


def rust():
    done("cargo", "build", "--quiet", "--locked", "--manifest-path", HERE / "rust/Cargo.toml", CARGO_TARGET_DIR=str(FETCHED / "rust"))
    return [FETCHED / "rust/debug/redis-clients"]


def ruby():
    return ["ruby"]


@dataclasses.dataclass
class Program:
    needs: list
    prepare: callable
    arguments: list
    about: str


PROGRAMS = {
    "redis-py": Program([], python, [HERE / "python/redis_py.py"], "redis-py, RESP2 and RESP3, threads and asyncio"),
    "node-redis": Program(["node", "npm"], node, [HERE / "node/node_redis.mjs"], "node-redis, RESP2 and RESP3"),
    "ioredis": Program(["node", "npm"], node, [HERE / "node/ioredis.mjs"], "ioredis"),
    "go-redis": Program(["go"], go, [], "go-redis, RESP2 and RESP3"),
    "jedis": Program(["java", "javac", "mvn"], java, ["JedisSuite"], "Jedis, RESP2 and RESP3"),
    "lettuce": Program(["java", "javac", "mvn"], java, ["LettuceSuite"], "Lettuce, RESP2 and RESP3"),
    "fred": Program(["cargo"], rust, [], "fred, RESP2 and RESP3"),
    "celery": Program([], python, [HERE / "python/celery_app.py"], "Celery: broker and result backend"),
    "rq": Program([], python, [HERE / "python/rq_app.py"], "RQ: workers, retries, a scheduler"),
    "python-apps": Program([], python, [HERE / "python/applications.py"], "django-redis, Flask-Session, Redlock, a limiter in Lua"),
    "node-apps": Program(["node", "npm"], node, [HERE / "node/applications.mjs"], "BullMQ, connect-redis, rate-limiter-flexible, Redlock"),
    "sidekiq": Program(["ruby", "sidekiq"], ruby, [HERE / "ruby/sidekiq.rb"], "Sidekiq (Debian: ruby-sidekiq)"),
}


def run(program, server, limit):
    """Counts, and the output; None for the counts if the program did not come to its end."""
    command = [*program.prepare(), *program.arguments, "--redis", f"{server[0]}:{server[1]}"]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               stdin=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "PATH": PATH})
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = process.communicate()[0] + f"\nFAILED to end within {limit:.0f} s\n"
        return None, output
    counts = COUNT.findall(output)
    return (tuple(map(int, counts[-1])) if counts else None), output


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="program", help=", ".join(PROGRAMS))
    parser.add_argument("--redis", type=address, default=os.environ.get("REDIS_ADDRESS"))
    parser.add_argument("--limit", type=float, default=300, help="seconds for a program")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.programs) - set(PROGRAMS):
        parser.error(f"there is no program {', '.join(unknown)}")
    FETCHED.mkdir(parents=True, exist_ok=True)
    own = None if options.redis else Server()
    total = [0, 0, 0]
    for name in options.programs or PROGRAMS:
        program, started = PROGRAMS[name], time.monotonic()
        if missing := [tool for tool in program.needs if shutil.which(tool, path=PATH) is None]:
            print(f"{name:12} skipped: no {', '.join(missing)}", flush=True)
            total[2] += 1
            continue
        try:
            counts, output = run(program, options.redis or own.address, options.limit)
        except Failed as error:
            counts, output = None, f"FAILED to prepare: {error}"
        passed, failed = counts or (0, 1)
        total[0] += passed
        total[1] += failed
        print(f"{name:12} {passed:3} passed {failed:3} failed {time.monotonic() - started:6.1f} s   {program.about}", flush=True)
        if options.verbose or failed:
            lines = output.splitlines()
            shown = lines if options.verbose else [line for line in lines if line.startswith("FAILED")] or lines[-12:]
            print("    " + "\n    ".join(line[:400] for line in shown), flush=True)
    if own:
        own.stop()
    print(f"{total[0]} passed, {total[1]} failed" + (f", {total[2]} skipped" if total[2] else ""))
    return total[1] > 0


if __name__ == "__main__":
    sys.exit(main())
