"""Real applications, installed and driven as their users do, on LatsDB and on MySQL.

Every application is one file here, NAME.sh (see lib.sh), with what it needs besides in NAME/. Its head says
`# application: TEXT`, `# limit: SECONDS` and, if it belongs to the tests of every change, `# quick`.

What MySQL makes of it (which checks fail there, too, its answers, its time) is kept in mysql.json by --against, so other
runs do not need MySQL. The closing line is `N passed, N failed`.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = ROOT / "target/applications"
RECORDED = HERE / "mysql.json"
TABLE = ROOT / "docs/compatibility.md"
ANSWER_LIMIT = 4000


class Application:
    def __init__(self, file):
        self.name = file.stem
        self.file = file
        text = file.read_text()
        head = dict(re.findall(r"^# (application|limit): *(.*)$", text, re.M))
        self.title = head["application"]
        self.limit = int(head["limit"])
        self.is_quick = re.search(r"^# quick$", text, re.M) is not None
        self.about = " ".join(re.findall(r"^# does: *(.*)$", text, re.M))


class Server:
    def __init__(self, name, host, port, user):
        self.name, self.host, self.port, self.user = name, host, port, user

    def client(self, program, *arguments, **options):
        command = [program, "--no-defaults", f"--host={self.host}", f"--port={self.port}", f"--user={self.user}"]
        return subprocess.run([*command, *arguments], capture_output=True, **options)

    def databases(self, prefix):
        done = self.client("mariadb", "-N", "-B", "-e", "SHOW DATABASES", text=True)
        return [name for name in done.stdout.split("\n") if name == prefix or name.startswith(prefix + "_")]

    def drop(self, prefix):
        for name in self.databases(prefix):
            self.client("mariadb", "-e", f"DROP DATABASE `{name}`")

    def version(self):
        return self.client("mariadb", "-N", "-B", "-e", "SELECT VERSION()", text=True).stdout.strip()


class Outcome:
    """What was seen of an application on one server."""

    def __init__(self):
        self.passed, self.failed, self.skipped, self.answers = [], {}, [], {}
        self.version, self.seconds = "", 0.0

    def take(self, line):
        word, _, rest = line.partition(" ")
        if word == "ok":
            self.passed.append(rest)
        elif word == "FAILED":
            name, _, why = rest.partition(": ")
            self.failed[name] = why
        elif word == "skipped":
            self.skipped.append(rest)
        elif word == "version":
            self.version = rest


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def call(application, step, server, log, limit, take):
    """Runs one step of the application's file; kills all that it started when its time is over."""
    work = TARGET / "work" / f"{application.name}-{server.name}"
    environment = dict(os.environ, APP=application.name, HERE=str(HERE), CACHE=str(TARGET / "cache"), WORK=str(work),
                       DB_HOST=server.host, DB_PORT=str(server.port), DB_USER=server.user, DB_PASSWORD="",
                       DB_NAME=f"app_{application.name}", WEB_PORT=str(free_port()), HOME=str(work / "home"),
                       GOPATH=str(TARGET / "cache/go"), GOFLAGS="-modcacherw", LC_ALL="C.UTF-8", TZ="UTC")
    # Caches of the clients of package registries, and their settings, stay where they are.
    for name, place in (("PIP_CACHE_DIR", ".cache/pip"), ("NPM_CONFIG_CACHE", ".npm"), ("GOCACHE", ".cache/go-build")):
        environment.setdefault(name, str(pathlib.Path.home() / place))
    if step == "install":
        environment["HOME"] = str(pathlib.Path.home())
    (work / "home").mkdir(parents=True, exist_ok=True)
    # The whole `drive` goes on after a failed check, but an install that fails is the end of it.
    strict = "set -e; " if step == "install" else ""
    program = f'{strict}. "$HERE/lib.sh"; . "$HERE/$APP.sh"; [ {step} = install ] || install > /dev/null; cd "$WORK"; {step}'
    with open(log, "a") as errors:
        child = subprocess.Popen(["bash", "-uc", program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                 env=environment, cwd=work, text=True, errors="replace", start_new_session=True)
        timer = subprocess.Popen(["sh", "-c", f"sleep {limit}; kill -KILL -{child.pid}"], start_new_session=True)
        for line in child.stdout:
            errors.write(line)
            take(line.rstrip("\n"))
        status = child.wait()
        late = timer.poll() is not None
        if not late:
            os.killpg(timer.pid, signal.SIGKILL)
        timer.wait()
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if late:
        take(f"FAILED {step} within {limit} s: it was stopped")
    elif status != 0 and step == "install":
        take(f"FAILED install: ended with {status}, see {log}")
    return status == 0 and not late


def run(application, server):
    work = TARGET / "work" / f"{application.name}-{server.name}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (TARGET / "cache").mkdir(parents=True, exist_ok=True)
    (TARGET / "log").mkdir(parents=True, exist_ok=True)
    log = TARGET / "log" / f"{application.name}-{server.name}.log"
    log.write_text("")
    outcome = Outcome()
    server.drop(f"app_{application.name}")
    if call(application, "install", server, log, 900, outcome.take):
        started = time.monotonic()
        call(application, "drive", server, log, application.limit, outcome.take)
        outcome.seconds = time.monotonic() - started
        if not outcome.passed and not outcome.failed:
            outcome.failed["drive"] = f"it said nothing, see {log}"
    for file in sorted((work / "answers").glob("*")) if (work / "answers").exists() else []:
        text = file.read_text(errors="replace").replace(str(ROOT), "…")
        # Of long ones, what is needed to find the place, and a hash.
        outcome.answers[file.name] = text if len(text) <= ANSWER_LIMIT else text[:400] + "\n… " + hashlib.sha256(text.encode()).hexdigest()
    return outcome


def judged(ours, recorded):
    """The checks that count as failed: those that MySQL passes, and answers that differ from its own."""
    known = recorded.get("failed", [])
    failed = {name: why for name, why in ours.failed.items() if name not in known}
    for name, answer in ours.answers.items():
        expected = recorded.get("answers", {}).get(name)
        if expected is not None and expected != answer:
            failed[name] = "another answer than MySQL's: " + difference(expected, answer)
    passed = [name for name in ours.passed if name not in failed]
    return passed, failed


def difference(expected, answer):
    for left, right in zip(expected.split("\n"), answer.split("\n")):
        if left != right:
            return f"{left[:200]!r}, not {right[:200]!r}"
    return f"{len(expected)} bytes, not {len(answer)}"


def dumped(server, name):
    """A dump as lines, without what names the server or the time."""
    done = server.client("mariadb-dump", "--hex-blob", "--skip-dump-date", "--routines", "--triggers", "--order-by-primary", name)
    text = done.stdout.decode(errors="replace")
    return text, [line for line in text.split("\n") if not line.startswith("--")], done.stderr.decode(errors="replace")


def loads(server, name, text):
    server.client("mariadb", "-e", f"CREATE DATABASE `{name}`")
    done = server.client("mariadb", "--default-character-set=utf8mb4", name, input=text.encode(errors="replace"))
    server.client("mariadb", "-e", f"DROP DATABASE `{name}`")
    return done.returncode == 0


def move(application, mysql, ours):
    """Dumps of what the application made on MySQL load here, and dump back equal."""
    prefix, failed, count = f"app_{application.name}", {}, 0
    names = mysql.databases(prefix)
    ours.drop(prefix)
    for name in names:
        text, lines, said = dumped(mysql, name)
        if said.strip() and "Error" in said:
            continue  # the client cannot dump it from MySQL
        ours.client("mariadb", "-e", f"CREATE DATABASE `{name}`")
        loaded = ours.client("mariadb", "--default-character-set=utf8mb4", "--max-allowed-packet=1G", name, input=text.encode(errors="replace"))
        if loaded.returncode != 0 and not loads(mysql, f"{name}_again", text):
            continue  # nor does MySQL load it: the client writes the values of generated columns
        if loaded.returncode != 0:
            failed[f"dump of {name} loads"] = loaded.stderr.decode(errors="replace").strip()[:400]
            continue
        _, back, _ = dumped(ours, name)
        count += 1
        if back != lines:
            failed[f"dump of {name} comes back"] = difference("\n".join(lines), "\n".join(back))
    ours.drop(prefix)
    return count, failed


def start(binary):
    data = TARGET / "server"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    log = open(TARGET / "server.log", "w")
    child = subprocess.Popen([binary, "serve", "--mysql-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--data-dir", str(data / "data")],
                             stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True)
    for line in child.stdout:
        found = re.match(r"\s*MySQL\s+\S+:(\d+)", line)
        if found:
            return child, Server("latsdb", "127.0.0.1", int(found.group(1)), os.environ.get("USER", "root"))
    sys.exit("the server did not start, see target/applications/server.log")


def keep(file, name, value):
    """Puts one application's result into a file that other runs write, too."""
    known = json.loads(file.read_text()) if file.exists() else {}
    known[name] = value
    part = file.with_suffix(".part")
    part.write_text(json.dumps(known, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    part.replace(file)
    return known


def short(text, limit=160):
    text = " ".join(text.split()).replace("|", "\\|")
    # No paths of this machine, and no numbers that look like those of a tracker.
    text = re.sub(re.escape(str(ROOT.parent)) + r"/[^ ']*", "…", text)
    text = re.sub(r"#(\d+)", r"no. \1", text)
    return text if len(text) <= limit else text[:limit] + "…"


def write_table(applications, recorded):
    results = json.loads((TARGET / "results.json").read_text())
    rows = []
    for application in applications:
        result = results.get(application.name)
        if result is None:
            continue
        ours, theirs = result["seconds"], recorded.get(application.name, {}).get("seconds")
        ratio = f"{ours:.1f} s / {theirs:.1f} s" if theirs else f"{ours:.1f} s"
        why = "; ".join(f"{name}: {short(reason)}" for name, reason in list(result["failed"].items())[:4])
        if len(result["failed"]) > 4:
            why += f"; and {len(result['failed']) - 4} more"
        also = len(recorded.get(application.name, {}).get("failed", []))
        rows.append(f"| {application.title} | {result['version']} | {application.about} | {result['passed']} | {len(result['failed'])} | {also or ''} | {why} | {ratio} |")
    head = (HERE / "table.md").read_text()
    tail = "\nApplications of `tests/applications` that have no row have not been measured with the present form of their file.\n"
    TABLE.write_text(head + "\n".join(rows) + "\n" + tail)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*")
    options.add_argument("--binary", help="start this server")
    options.add_argument("--server", default=f"{os.environ['DB_HOST']}:{os.environ['DB_PORT']}" if "DB_PORT" in os.environ else None,
                         help="HOST:PORT of a running LatsDB")
    options.add_argument("--against", help="HOST:PORT of MySQL: ask it, too, and keep what it answers")
    options.add_argument("--quick", action="store_true", help="those that install in seconds")
    options.add_argument("--table", action="store_true", help="write docs/compatibility.md from the newest result of each")
    options = options.parse_args()
    everything = [Application(file) for file in sorted(HERE.glob("*.sh")) if file.name != "lib.sh"]
    unknown = set(options.names) - {application.name for application in everything}
    if unknown:
        sys.exit(f"there is no application {', '.join(sorted(unknown))}")
    wanted = [a for a in everything if (a.name in options.names or not options.names) and (a.is_quick or not options.quick)]
    TARGET.mkdir(parents=True, exist_ok=True)
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    child = None
    if options.server:
        host, port = options.server.rsplit(":", 1)
        server = Server("latsdb", host, int(port), os.environ.get("DB_USER", "root"))
    elif options.binary:
        child, server = start(options.binary)
    else:
        sys.exit("which server? --binary or --server")
    passed_sum = failed_sum = 0
    try:
        for application in wanted:
            print(f"== {application.title}", flush=True)
            if options.against:
                host, port = options.against.rsplit(":", 1)
                mysql = Server("mysql", host, int(port), "root")
                theirs = run(application, mysql)
                recorded = keep(RECORDED, application.name, {
                    "server": mysql.version(), "version": theirs.version, "seconds": round(theirs.seconds, 1),
                    "failed": sorted(theirs.failed), "answers": theirs.answers})
                for name, why in theirs.failed.items():
                    print(f"   on MySQL: FAILED {name}: {why[:300]}")
            ours = run(application, server)
            passed, failed = judged(ours, recorded.get(application.name, {}))
            if options.against:
                moved, unmoved = move(application, mysql, server)
                passed += [f"dump {n}" for n in range(moved - len(unmoved))]
                failed.update(unmoved)
                mysql.drop(f"app_{application.name}")
            server.drop(f"app_{application.name}")
            for name, why in failed.items():
                print(f"FAILED {application.name}: {name}: {why}", flush=True)
            their_time = recorded.get(application.name, {}).get("seconds")
            print(f"   {len(passed)} of {len(passed) + len(failed)}, {len(ours.skipped)} skipped, {ours.seconds:.1f} s"
                  + (f", MySQL {their_time:.1f} s" if their_time else ""), flush=True)
            keep(TARGET / "results.json", application.name,
                 {"version": ours.version, "passed": len(passed), "failed": failed, "seconds": round(ours.seconds, 1)})
            passed_sum += len(passed)
            failed_sum += len(failed)
    finally:
        if child:
            child.send_signal(signal.SIGTERM)
            child.wait()
    if options.table:
        write_table(everything, recorded)
    print(f"{passed_sum} passed, {failed_sum} failed")
    sys.exit(1 if failed_sum else 0)


if __name__ == "__main__":
    main()
