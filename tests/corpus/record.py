"""What the tests of MySQL's suite ask a server: mysqltest runs each against MySQL, whose general log is kept."""

import json
import os
import re
import subprocess
import time

import mysql

# What needs more than a server: plugins, replicas, builds for debugging, many hours.
SKIPPED = re.compile(r"have_ndb|master-slave|group_replication|mysqlx|include.rpl|have_debug\.inc|have_component_keyring|valgrind_only", re.I)
SECONDS = 40


def names(patterns):
    """Tests, as `name` or `suite/name`."""
    files = sorted(mysql.SUITE.glob("t/*.test")) + sorted(mysql.SUITE.glob("suite/*/t/*.test"))
    for file in files:
        suite = "" if file.parent.parent == mysql.SUITE else file.parent.parent.name + "/"
        name = suite + file.stem
        if not patterns and not suite or any(re.fullmatch(pattern, name) for pattern in patterns):
            yield name, file


def clean(server, connection):
    cursor = connection.cursor()
    cursor.execute("SET lock_wait_timeout = 5")
    cursor.execute("XA RECOVER CONVERT XID")
    for form, length, _, data in cursor.fetchall():
        data = bytes.fromhex(data[2:])
        cursor.execute(f"XA ROLLBACK X'{data[:length].hex()}', X'{data[length:].hex()}', {form}")
    cursor.execute("SHOW DATABASES")
    for (name,) in cursor.fetchall():
        if name.lower() in mysql.SYSTEM:
            continue
        quoted = name.replace("`", "``")
        try:
            cursor.execute(f"DROP DATABASE `{quoted}`")
        except Exception:
            server.forget_files(name)
            cursor.execute(f"DROP DATABASE IF EXISTS `{quoted}`")
    cursor.execute("SELECT user, host FROM mysql.user WHERE user NOT LIKE 'mysql.%' AND NOT (user = 'root' AND host = 'localhost')")
    for user, host in cursor.fetchall():
        cursor.execute("DROP USER %s@%s", (user, host))
    cursor.execute("SELECT variable_name FROM performance_schema.variables_info WHERE variable_source = 'DYNAMIC' AND variable_name NOT IN ('general_log', 'log_output')")
    for (name,) in cursor.fetchall():
        try:
            cursor.execute(f"SET GLOBAL {name} = DEFAULT")
        except Exception:
            continue  # some are told of as global and are not
    for statement in ("CREATE DATABASE test", "CREATE DATABASE mtr", "CREATE PROCEDURE mtr.add_suppression(p VARCHAR(250)) BEGIN END",
                      "SET GLOBAL general_log = 0", "TRUNCATE TABLE mysql.general_log", "SET GLOBAL general_log = 1, log_output = 'TABLE'"):
        cursor.execute(statement)


def record_one(server, file):
    """(how mysqltest ended, [(connection, command, text)])"""
    connection = server.connect()
    clean(server, connection)
    own = connection.thread_id()
    command = ["chroot", str(mysql.JAIL), "/mtr/lib/bin/mysqltest", "--host=127.0.0.1", f"--port={server.port}", "--user=root", "--database=test",
               "--basedir=/mtr/lib/", "--tmpdir=/tmp", "--logdir=/tmp", f"--test-file=/mtr/lib/{file.relative_to(mysql.SUITE)}"]
    environment = dict(os.environ, MYSQLTEST_VARDIR="/tmp/v", MYSQL_TMP_DIR="/tmp/v/tmp", MYSQL_TEST_DIR="/mtr/lib", ENGINE="InnoDB", DEFAULT_ENGINE="InnoDB")
    try:
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS, env=environment).returncode
    except subprocess.TimeoutExpired:
        ended = "timeout"
    connection.ping()
    cursor = connection.cursor()
    cursor.execute("SET GLOBAL general_log = 0")
    cursor.execute("SELECT thread_id, command_type, argument FROM mysql.general_log")
    text = lambda bytes_: bytes_.decode("utf8", "surrogateescape") if isinstance(bytes_, bytes) else bytes_
    return ended, [(thread, kind, text(argument)) for thread, kind, argument in cursor.fetchall() if thread != own]


def record(folder, patterns, port):
    folder.mkdir(parents=True, exist_ok=True)
    (mysql.JAIL / "tmp/v/tmp").mkdir(parents=True, exist_ok=True)
    server = mysql.Server("record", port)
    server.start()
    for name, file in names(patterns):
        kept = folder / (name.replace("/", ".") + ".json")
        if kept.exists() or SKIPPED.search(file.read_text(errors="replace")):
            continue
        began = time.monotonic()
        try:
            ended, log = record_one(server, file)
        except Exception as error:
            # A test may have stopped the server, or given root a password.
            print(f"{name}: {error}", flush=True)
            server.start()
            continue
        kept.write_text(json.dumps({"name": name, "ended": ended, "log": log}))
        print(f"{name}: {len(log)} commands in {time.monotonic() - began:.1f} s, mysqltest {ended}", flush=True)
    server.stop()
