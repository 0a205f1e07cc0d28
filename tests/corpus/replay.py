"""The recorded statements, on MySQL and on LatsDB, one after the other in the same sessions; what they answer differently is written down."""

import json
import queue
import re
import threading
import time

import pymysql
from pymysql.constants import CLIENT

import mysql

# Where a statement waits for one of another session.
WAIT, BESIDE_OTHERS, ALONE = 4.0, 0.3, 30.0
NOT_REPEATED = re.compile(r"\s*(kill|shutdown|restart|xa|set\s+(global|@@global)\s*\.?\s*(read_only|super_read_only|offline_mode|general_log|log_output|"
                          r"innodb_|max_connections|default_password|require_secure))", re.I)
# Whose answers depend on the moment or the server, or which LatsDB does not claim.
NOISE = re.compile(r"\b(now|sysdate|curdate|curtime|current_\w+|localtime\w*|utc_\w+|rand|uuid\w*|connection_id|version|benchmark|sleep|load_file|"
                   r"processlist|optimizer_trace|performance_schema|information_schema|statement_digest)\b|^\s*(explain|desc|describe|analyze|flush|check|"
                   r"repair|optimize|show\s+(full\s+)?(status|session|global|engine|processlist|variables|table\s+status|index|keys|privileges|grants)|"
                   r"set\s+(@@)?(global|persist))\b|@@|partition|spatial|geometry|polygon|st_|point|infile|outfile|rows\s+(unbounded|between|\d|current)", re.I)
MADE = re.compile(r"create\s+(?:or\s+replace\s+|temporary\s+|definer\s*=\s*\S+\s+)*(?:table|view|procedure|function|trigger|database|event)\s+(?:if\s+not\s+exists\s+)?[`\"]?([\w.$]+)", re.I)
LOST = (-1, 0, 2006, 2013, 2014, 2027)


def connect(address, database=None):
    connection = pymysql.connect(host=address[0], port=address[1], user="root", database=database, autocommit=None, connect_timeout=10, read_timeout=120,
                                 client_flag=CLIENT.MULTI_STATEMENTS | CLIENT.MULTI_RESULTS, local_infile=True, conv={}, ssl_disabled=True)
    connection.query("SET NAMES utf8mb4")
    # Names that are no UTF-8 are compared as bytes.
    connection.encoding = "latin1"
    return connection


def outcome(connection, sql):
    """('error', number, text), or the results: ('rows', names, rows), ('ok', affected)."""
    try:
        connection._execute_command(3, sql)
        results = []
        while True:
            result = pymysql.connections.MySQLResult(connection)
            result.read()
            connection._result = result
            if result.description is None:
                results.append(("ok", result.affected_rows))
            else:
                results.append(("rows", [field.name for field in result.fields], [list(row) for row in result.rows or ()]))
            if not result.has_next:
                return results
    except pymysql.err.MySQLError as error:
        return ("error", error.args[0], str(error.args[1]) if len(error.args) > 1 else "")
    except Exception as error:
        return ("error", -1, repr(error))


class Session(threading.Thread):
    """One connection to one server."""

    def __init__(self, address, database):
        super().__init__(daemon=True)
        self.address, self.database = address, database
        self.asked, self.answered = queue.Queue(), queue.Queue()
        self.start()

    def open(self):
        for database in (self.database, None):
            try:
                return connect(self.address, database)
            except pymysql.err.MySQLError:
                continue
        return None

    def run(self):
        connection = self.open()
        while (sql := self.asked.get()) is not None:
            answer = outcome(connection, sql) if connection else ("error", -2, "no connection")
            self.answered.put(answer)
            if answer[0] == "error" and answer[1] in LOST:
                connection = self.open()
        if connection:
            connection.close()

    def answer(self, seconds):
        try:
            return self.answered.get(timeout=max(seconds, 0.001))
        except queue.Empty:
            return None


def kind_of(ours, theirs, sql):
    """How two outcomes differ; None: they do not."""
    if "error" in (ours[0], theirs[0]):
        return None if ours[:2] == theirs[:2] else "error"
    if ours == theirs:
        return None
    if [result[0] for result in ours] != [result[0] for result in theirs]:
        return "results"
    for a, b in zip(ours, theirs):
        if a == b:
            continue
        if a[0] == "ok":
            return "affected"
        if a[2] == b[2]:
            return "names"
        if sorted(map(repr, a[2])) != sorted(map(repr, b[2])):
            return "values"
        if re.search(r"order\s+by", sql, re.I):
            return "order"
    return None


class Replay:
    """One test's statements on both servers."""

    def __init__(self, servers):
        self.servers, self.sessions, self.waiting = servers, {}, {}
        self.unmade, self.differences, self.count = set(), [], 0

    def judge(self, sql, theirs, ours):
        kind = kind_of(ours, theirs, sql)
        made = MADE.search(sql)
        refused = theirs[0] != "error" and ours[0] == "error"
        if kind is None:
            return
        if any(re.search(rf"\b{re.escape(name)}\b", sql, re.I) for name in self.unmade) and not made:
            kind = "cascade"
        elif NOISE.search(sql):
            kind = "noise"
        elif re.match(r"\s*show\s+warnings", sql, re.I):
            kind = "warnings"
        if refused and made:
            self.unmade.add(made.group(1).split(".")[-1])
        self.differences.append((self.count, kind, sql, repr(theirs)[:400], repr(ours)[:400]))

    def collect(self, thread, seconds):
        """Takes the answers to what the session was asked last; whether both are there."""
        if thread not in self.waiting:
            return True
        end = time.monotonic() + seconds
        sql, answers = self.waiting[thread]
        for at, session in enumerate(self.sessions[thread]):
            answers[at] = answers[at] or session.answer(end - time.monotonic())
        if None in answers:
            return False
        del self.waiting[thread]
        self.judge(sql, *answers)
        return True

    def leave(self, thread):
        self.waiting.pop(thread, None)
        for session in self.sessions.pop(thread, ()):
            session.asked.put(None)

    def run(self, log):
        for thread, kind, text in log:
            if kind == "Connect" and thread not in self.sessions:
                found = re.match(r"\S+ on (\S*) using", text or "")
                self.sessions[thread] = [Session(address, found and found.group(1) or None) for address in self.servers]
            elif kind == "Quit":
                self.collect(thread, 1.0)
                self.leave(thread)
            elif kind in ("Query", "Init DB"):
                self.ask(thread, f"USE `{text}`" if kind == "Init DB" else text)
        for thread in list(self.sessions):
            self.collect(thread, 3.0)
            self.leave(thread)

    def ask(self, thread, sql):
        if NOT_REPEATED.match(sql):
            return
        self.count += 1
        if not self.collect(thread, WAIT):
            self.differences.append((self.count, "waits", self.waiting[thread][0], *map(repr, self.waiting[thread][1])))
            self.leave(thread)
        if thread not in self.sessions:
            self.sessions[thread] = [Session(address, "test") for address in self.servers]
        for session in self.sessions[thread]:
            session.asked.put(sql.encode("utf8", "surrogateescape"))
        self.waiting[thread] = (sql, [None, None])
        self.collect(thread, BESIDE_OTHERS if len(self.sessions) > 1 else ALONE)


def clean(address, server=None):
    """Leaves nothing of the test before; `server` is the real one, whose variables are taken back, too."""
    connection = connect(address)
    rows = lambda sql: [[value.decode() if isinstance(value, bytes) else value for value in row] for row in (outcome(connection, sql)[0][2:] or [[]])[0]]
    for statement in ("SET lock_wait_timeout = 5", "SET foreign_key_checks = 0"):
        outcome(connection, statement)
    for (number,) in rows("SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'root'"):
        outcome(connection, f"KILL {number}")
    for (name,) in rows("SHOW DATABASES"):
        if name.lower() in mysql.SYSTEM:
            continue
        drop = "DROP DATABASE IF EXISTS `{}`".format(name.replace("`", "``"))
        if outcome(connection, drop)[0] == "error" and server:
            server.forget_files(name)
            outcome(connection, drop)
    for user, host in rows("SELECT user, host FROM mysql.user WHERE user NOT LIKE 'mysql.%' AND NOT (user = 'root' AND host IN ('localhost', '%', '127.0.0.1', '::1'))"):
        outcome(connection, f"DROP USER '{user}'@'{host}'")
    for statement in ("CREATE DATABASE test", "CREATE DATABASE mtr", "CREATE PROCEDURE mtr.add_suppression(p VARCHAR(250)) BEGIN END"):
        outcome(connection, statement)
    changed = rows("SELECT variable_name FROM performance_schema.variables_info WHERE variable_source = 'DYNAMIC'") if server else []
    connection.close()
    return [name for (name,) in changed if name not in ("general_log", "log_output")]


def replay_one(server, latsdb, log):
    theirs = ("127.0.0.1", server.port)
    for name in clean(theirs, server):
        for address in (theirs, latsdb):
            connection = connect(address)
            outcome(connection, f"SET GLOBAL {name} = DEFAULT")
            connection.close()
    clean(latsdb)
    replay = Replay((theirs, latsdb))
    replay.run(log)
    return replay


def replay(recorded, folder, patterns, latsdb, port):
    folder.mkdir(parents=True, exist_ok=True)
    server = mysql.Server("replay", port)
    server.start()
    statements = differences = 0
    for file in sorted(recorded.glob("*.json")):
        if patterns and not any(re.fullmatch(pattern.replace("/", r"\."), file.stem) for pattern in patterns):
            continue
        done = replay_one(server, latsdb, json.loads(file.read_text())["log"])
        (folder / file.name).write_text(json.dumps(done.differences))
        told = [entry for entry in done.differences if entry[1] not in ("noise", "cascade", "warnings")]
        statements, differences = statements + done.count, differences + len(told)
        print(f"{file.stem}: {done.count} statements, {len(told)} different", flush=True)
    server.stop()
    print(f"{statements} statements, {differences} answered differently")
