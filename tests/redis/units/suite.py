"""Redis's own tests, run against a server that is there already: what passes, unit by unit.

    python3 tests/redis/units/suite.py --redis 127.0.0.1:6379                      every unit, and docs/redis-units.md
    python3 tests/redis/units/suite.py --redis … unit/type/list unit/multi         those, and no file
    python3 tests/redis/units/suite.py --baseline                                  Redis itself, for the column to compare with

The tests are those of Redis 7.0.15 as Debian ships its source (apt-get source, from a list of our own); they are fetched to target/ and
not part of this repository. They run in "external" mode, without what needs another process of the server, DEBUG, a replica,
or a file. Encodings of values, which are the server's own affair, are not looked at.
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(1, str(HERE.parent / "oracle"))
from resp import Connection, address  # noqa: E402
from server import Server  # noqa: E402

ROOT = HERE.parents[2]
FOLDER = ROOT / "target/redis-units"
DOCUMENT = ROOT / "docs/redis-units.md"
BASELINE = HERE / "baseline.json"
VERSION = "7.0.15"
SOURCES = """deb-src http://deb.debian.org/debian bookworm main
deb-src http://deb.debian.org/debian-security bookworm-security main
"""
TAGS = ["-needs:repl", "-needs:debug", "-needs:save", "-needs:local-process", "-needs:pfdebug", "-needs:latency", "-needs:config-maxmemory",
        "-cluster", "-large-memory", "-oom-score-adj"]
# Of another process, of modules, of a cluster of Redis's own kind, or only about memory that Redis manages.
LEFT_OUT = ("integration/", "unit/cluster", "unit/aofrw", "unit/tls", "unit/shutdown", "unit/oom-score-adj", "unit/printver", "unit/moduleapi")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
LINE = re.compile(r"^\[(ok|err|exception|ignore|skip)\]: (.*)")


def source():
    """The folder with Redis's source."""
    folder = FOLDER / f"redis-{VERSION}"
    if (folder / "tests/test_helper.tcl").exists():
        return folder
    print(f"fetching the source of Redis {VERSION}", flush=True)
    for part in ("lists/partial", "cache/archives/partial"):
        (FOLDER / part).mkdir(parents=True, exist_ok=True)
    (FOLDER / "sources.list").write_text(SOURCES)
    apt = ["apt-get", "-o", f"Dir::Etc::SourceList={FOLDER}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null", "-o",
           f"Dir::State::Lists={FOLDER}/lists", "-o", f"Dir::Cache={FOLDER}/cache", "-o", "APT::Sandbox::User=root"]
    for command in (["update"], ["source", "--download-only", "redis"]):
        done = subprocess.run([*apt, *command], cwd=FOLDER, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"apt-get {command[0]}: {done.stderr.strip()}")
    with tarfile.open(FOLDER / f"redis_{VERSION}.orig.tar.gz") as archive:
        archive.extractall(FOLDER, filter="data")
    return folder


def with_tools(folder):
    """The tests start redis-cli and redis-benchmark from src/, and go on where a server lacks functions or a setting."""
    support = folder / "tests/support/server.tcl"
    text = support.read_text()
    for command in ("r function flush", "r config set $param $val"):
        text = re.sub(rf"^(\s+){re.escape(command)}$", rf"\1catch {{{command}}}", text, flags=re.MULTILINE)
    support.write_text(text)
    for tool in ("redis-cli", "redis-benchmark"):
        link, program = folder / "src" / tool, shutil.which(tool)
        if program and not link.exists():
            link.symlink_to(program)
    return folder


def all_units(folder):
    text = (folder / "tests/test_helper.tcl").read_text()
    listed = re.search(r"set ::all_tests \{(.*?)\}", text, re.DOTALL)[1].split()
    return [unit for unit in listed if not unit.startswith(LEFT_OUT)]


def run_unit(folder, unit, server, options):
    """The output of a unit, and whether it ended by itself."""
    host, port = server
    tags = TAGS + ([] if options.slow else ["-slow"])
    command = ["tclsh", "tests/test_helper.tcl", "--host", host, "--port", str(port), "--single", unit, "--tags", " ".join(tags), "--ignore-encoding",
               "--ignore-digest", "--durable", "--clients", "1", "--baseport", str(random.randrange(20, 60) * 500), *(["--singledb"] if options.singledb else [])]
    log = FOLDER / "logs" / f"{unit.replace('/', '-')}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            process.wait(options.limit)
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    return COLOURS.sub("", log.read_text(errors="replace")), ended


def judged(text, ended):
    """Counts and failures of a unit."""
    passed, skipped, failures, failing = 0, 0, [], False
    for line in text.splitlines():
        found = LINE.match(line)
        if not found:
            if failing and line.strip() and not line.startswith(("[", "Cleanup", "Execution", "!!!")) and failures[-1].count("\n") < 2:
                failures[-1] += "\n" + line.strip()
            continue
        kind, rest = found.groups()
        failing = kind in ("err", "exception")
        if kind == "ok":
            passed += 1
        elif failing:
            failures.append(rest)
        else:
            skipped += 1
    if not ended:
        last = re.findall(r"^\[ok\]: (.*?) \(", text, re.MULTILINE)
        failures.append(f"did not end in time; the last test that passed: {last[-1] if last else 'none'}")
    if not passed and not failures and not skipped and not re.search(r"^Ignored|All tests passed", text, re.MULTILINE):
        failures.append("did not begin: " + (text.strip().splitlines() or ["no output"])[-1])
    return {"passed": passed, "failed": len(failures), "skipped": skipped, "failures": failures}


def table(results, server, baseline):
    lines = ["# Redis's own tests", "", f"Generated by `tests/redis/units/suite.py`: the Tcl tests of Redis {VERSION} in external mode, against {server}.", "",
             f"“On Redis” is how many pass there when Redis {VERSION} itself is asked in the same way; skipped is what needs another process, DEBUG, a",
             "replica or a file.", "", "| unit | passed | on Redis | failed | skipped |", "|---|---:|---:|---:|---:|"]
    for unit, result in results.items():
        lines.append(f"| {unit} | {result['passed']} | {baseline.get(unit, ['?'])[0]} | {result['failed']} | {result['skipped']} |")
    total = {key: sum(result[key] for result in results.values()) for key in ("passed", "failed", "skipped")}
    lines.append(f"| **all** | {total['passed']} | {sum(baseline.get(unit, [0])[0] for unit in results)} | {total['failed']} | {total['skipped']} |")
    failing = {unit: result["failures"] for unit, result in results.items() if result["failures"]}
    if failing:
        lines += ["", "## What fails", ""]
        for unit, failures in failing.items():
            lines += [f"### {unit}", ""]
            lines += [f"* {shown(failure)}" for failure in failures[:15]]
            lines += [f"* … and {len(failures) - 15} more"] if len(failures) > 15 else []
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def shown(failure):
    """A failure in one line, without what is of this machine, and without what a document would take for a link."""
    lines = (re.sub(r" ?\(context: .*", "", line)[:200] for line in failure.splitlines())
    text = re.sub(r"#(\d+)", r"no. \1", " / ".join(lines))
    return text.replace(str(ROOT), "…").replace("|", "\\|").rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("units", nargs="*")
    parser.add_argument("--redis", type=address, default=os.environ.get("REDIS_ADDRESS"), help="all its data are lost")
    parser.add_argument("--baseline", action="store_true", help=f"run Redis 7.0 itself and write {BASELINE.name}")
    parser.add_argument("--limit", type=float, default=180, help="seconds for a unit")
    parser.add_argument("--slow", action="store_true", help="with the tests that Redis calls slow")
    parser.add_argument("--singledb", action="store_true", help="without SELECT")
    parser.add_argument("--document", type=pathlib.Path, default=DOCUMENT)
    options = parser.parse_args()
    folder = with_tools(source())
    units = options.units or all_units(folder)
    own = Server("7.0") if options.baseline or options.redis is None else None
    server = own.address if own else options.redis
    with Connection(server) as connection:
        name = re.search(r"redis_version:(\S+)", connection.ask("INFO", "server").decode())
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    results, started = {}, time.monotonic()
    for unit in units:
        unit_started = time.monotonic()
        result = results[unit] = judged(*run_unit(folder, unit, server, options))
        print(f"{unit:28} {result['passed']:4} passed {result['failed']:4} failed {result['skipped']:4} skipped"
              f"  {time.monotonic() - unit_started:6.1f} s   {result['failures'][0].splitlines()[0][:110] if result['failures'] else ''}", flush=True)
        try:
            Connection(server).close()
        except OSError:
            print(f"the server is gone after {unit}", flush=True)
            result["failures"].append("the server is gone")
            result["failed"] += 1
            break
    if options.baseline:
        BASELINE.write_text("{\n" + ",\n".join(f"{json.dumps(unit)}: {json.dumps([result[key] for key in ('passed', 'failed', 'skipped')])}"
                                               for unit, result in results.items()) + "\n}\n")
    elif not options.units and not own:
        what = "a server" if name is None else f"a server that calls itself Redis {name[1]}"
        options.document.write_text(table(results, what, baseline))
    if own:
        own.stop()
    print(f"{time.monotonic() - started:.0f} s")
    print(", ".join(f"{sum(result[key] for result in results.values())} {key}" for key in ("passed", "failed", "skipped")))
    return any(result["failed"] for result in results.values())


if __name__ == "__main__":
    sys.exit(main())
