#!/usr/bin/env python3
"""Every sysbench OLTP script over the options people use, with the data checked after every run.

A run passes when sysbench ends well (no error but those it ignores by itself: deadlock, snapshot conflict, lock wait
timeout) and the tables still hold what the run must leave: every id that was there, exactly the rows that sysbench
counted as inserted or deleted, every `c` and `pad` in its format, and an index on `k` that agrees with the table.

The short form takes about two minutes; --long is the whole matrix. The server comes from DB_HOST, DB_PORT, DB_USER
and DB_PASSWORD.
"""

import argparse
import dataclasses
import itertools
import os
import re
import subprocess
import sys
import time

import pymysql

HOST = os.environ.get("DB_HOST", "127.0.0.1")
PORT = int(os.environ.get("DB_PORT", "3306"))
USER = os.environ.get("DB_USER", "root")
PASSWORD = os.environ.get("DB_PASSWORD", "")
DATABASE = "sbtest"

# Scripts that leave the set of rows as it is come first, so that one load serves them all.
READING = ["oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges"]
WRITING = ["oltp_update_index", "oltp_update_non_index", "oltp_read_write", "oltp_write_only"]
CHANGING = ["oltp_delete", "oltp_insert"]
SCRIPTS = READING + WRITING + CHANGING

C_FORMAT = "-".join(["_" * 11] * 10)
PAD_FORMAT = "-".join(["_" * 11] * 5)


@dataclasses.dataclass(frozen=True)
class Load:
    """How the tables are made."""

    secondary: str = "off"
    auto_inc: str = "on"

    def __str__(self):
        return f"secondary={self.secondary} auto_inc={self.auto_inc}"

    def options(self):
        return [f"--secondary={self.secondary}", f"--auto_inc={self.auto_inc}"]


@dataclasses.dataclass(frozen=True)
class Run:
    script: str
    threads: int
    ps_mode: str = "auto"
    rand_type: str = "uniform"
    skip_trx: str = "off"

    def __str__(self):
        return f"{self.script} x{self.threads} ps={self.ps_mode} {self.rand_type}" + (" skip_trx" if self.skip_trx == "on" else "")

    def options(self):
        # Without transactions two threads may delete a row and both put it back: the loser's 1062 is the script's own doing.
        ignored = "1213,1020,1205" + (",1062" if self.skip_trx == "on" else "")
        return [f"--threads={self.threads}", f"--db-ps-mode={self.ps_mode}", f"--rand-type={self.rand_type}",
                f"--skip_trx={self.skip_trx}", f"--mysql-ignore-errors={ignored}"]


def short_matrix():
    """Each script in both modes of statements; each option once with the script that uses everything."""
    base = [Run(script, 8, ps_mode) for script in SCRIPTS for ps_mode in ("auto", "disable")]
    extra = [Run("oltp_read_write", threads, rand_type="special") for threads in (1, 32, 64)]
    extra += [Run(script, 8, skip_trx="on") for script in ("oltp_read_write", "oltp_write_only")]
    yield Load(), base + extra
    for load in (Load(secondary="on"), Load(auto_inc="off")):
        yield load, [Run(script, 8) for script in ("oltp_read_only", "oltp_read_write", "oltp_delete", "oltp_insert")]


def long_matrix():
    """Everything with everything: every way to run on every way to load."""
    threads, modes = (1, 8, 32, 64), ("auto", "disable")
    whole = [Run(*run) for run in itertools.product(SCRIPTS, threads, modes, ("uniform", "special"), ("off", "on"))]
    for secondary, auto_inc in itertools.product(("off", "on"), repeat=2):
        yield Load(secondary=secondary, auto_inc=auto_inc), whole


def sysbench(script, action, options):
    command = ["sysbench", script, f"--mysql-host={HOST}", f"--mysql-port={PORT}", f"--mysql-user={USER}",
               f"--mysql-password={PASSWORD}", f"--mysql-db={DATABASE}", *options, action]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def query(sql):
    with pymysql.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE, autocommit=True) as connection:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()


def figure(output, pattern):
    found = re.search(pattern, output)
    return float(found[1]) if found else None


@dataclasses.dataclass
class Tables:
    """What the tables hold, added up over all of them, and whether each is in order."""

    rows: int = 0
    sum_k: int = 0
    ids: tuple = ()  # of the last table: how many, lowest, highest
    complaints: list = dataclasses.field(default_factory=list)
    repeated: list = dataclasses.field(default_factory=list)  # tables in which an id stands more than once

    @classmethod
    def read(cls, count):
        tables = cls()
        for number in range(1, count + 1):
            table, index = f"sbtest{number}", f"k_{number}"
            rows, ids, low, high, sum_id, sum_k, low_k = query(
                f"SELECT COUNT(*), COUNT(DISTINCT id), MIN(id), MAX(id), SUM(id), SUM(k), MIN(k) FROM {table} IGNORE INDEX ({index})")[0]
            tables.rows += rows
            tables.sum_k += int(sum_k or 0)
            by_index = query(f"SELECT COUNT(*), SUM(id), SUM(k) FROM {table} FORCE INDEX ({index}) WHERE k >= 0")[0]
            if by_index != (rows, sum_id, sum_k):
                tables.complaints.append(f"{table}: by {index} {by_index}, by table {(rows, sum_id, sum_k)}")
            if rows and low_k < 0:
                tables.complaints.append(f"{table}: smallest k is {low_k}")
            formatted = query(f"SELECT COUNT(*) FROM {table} WHERE c LIKE '{C_FORMAT}' AND pad LIKE '{PAD_FORMAT}'")[0][0]
            if formatted != rows:
                tables.complaints.append(f"{table}: {rows - formatted} rows are not in their format")
            tables.ids = (ids, low, high)
            if ids != rows:
                tables.repeated.append(f"{table}: {rows} rows with {ids} ids")
        return tables


def prepare(load, arguments):
    """Loads the tables anew; complains unless they hold the ids 1..N."""
    size = [f"--tables={arguments.tables}", f"--table-size={arguments.table_size}"]
    sysbench("oltp_read_write", "cleanup", size)
    code, output = sysbench("oltp_read_write", "prepare", [*size, "--threads=2", *load.options()])
    if code:
        return [f"prepare failed: {output[-800:]}"]
    try:
        tables = Tables.read(arguments.tables)
    except pymysql.MySQLError as error:
        return [f"prepare said nothing, and then: {error}"]  # it ends well when one of its threads does not
    if (tables.rows, tables.ids) != (arguments.tables * arguments.table_size, (arguments.table_size, 1, arguments.table_size)):
        tables.complaints.append(f"{tables.rows} rows, the last table's ids are {tables.ids} after prepare")
    return tables.complaints + tables.repeated


def run(load, run, arguments):
    """One run of sysbench and a look at what it left. Returns (complaints, note)."""
    size = [f"--tables={arguments.tables}", f"--table-size={arguments.table_size}", f"--time={arguments.seconds}"]
    before = Tables.read(arguments.tables)
    code, output = sysbench(run.script, "run", [*size, *load.options(), *run.options()])
    if code:
        fatal = [line for line in output.splitlines() if "FATAL" in line or "error" in line]
        return [f"sysbench exit {code}: " + (" | ".join(fatal[:3]) or output[-500:])], ""
    after = Tables.read(arguments.tables)
    complaints = after.complaints
    writes = int(figure(output, r"write:\s+(\d+)"))
    lost = run.skip_trx == "on" and run.script in ("oltp_read_write", "oltp_write_only")
    # And where nothing keeps ids unique, two threads may delete one row and both put it back.
    doubled = lost and load.secondary == "on"
    if not doubled:
        complaints += after.repeated
    expected_rows = before.rows + {"oltp_delete": -writes, "oltp_insert": writes}.get(run.script, 0)
    # A delete whose insert then met a conflict is gone for good when there is no transaction around them.
    if after.rows != expected_rows and not lost or after.rows > expected_rows and not doubled:
        complaints.append(f"{after.rows} rows, {expected_rows} expected ({before.rows} before, {writes} writes)")
    if run.script not in CHANGING and not lost and after.ids != before.ids:
        complaints.append(f"the last table's (ids, lowest, highest) went from {before.ids} to {after.ids}")
    if run.script == "oltp_update_index" and after.sum_k != before.sum_k + writes:
        complaints.append(f"k adds up to {after.sum_k}, not {before.sum_k} + {writes} updates")
    if run.script in READING and writes:
        complaints.append(f"{writes} writes by a reading script")
    if figure(output, r"reconnects:\s+(\d+)"):
        complaints.append("sysbench had to connect again")
    tps = figure(output, r"transactions:\s+\d+\s+\(([\d.]+) per sec")
    if not tps:
        complaints.append("no transaction was done")
    ignored = figure(output, r"ignored errors:\s+(\d+)")
    return complaints, f"{tps or 0:.0f}/s, {ignored or 0:.0f} ignored"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="the whole matrix")
    parser.add_argument("--tables", type=int, default=2)
    parser.add_argument("--table-size", type=int, default=5_000)
    parser.add_argument("--seconds", type=int, default=1, help="length of each run")
    arguments = parser.parse_args()
    admin = pymysql.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, autocommit=True)
    with admin, admin.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    passed = failed = 0

    def report(name, complaints, note, started):
        nonlocal passed, failed
        passed, failed = passed + (not complaints), failed + bool(complaints)
        print(f"{'FAILED' if complaints else 'ok'} {name} ({note + ', ' if note else ''}{time.monotonic() - started:.1f} s)")
        for complaint in complaints:
            print(f"  {complaint}")
        sys.stdout.flush()

    for load, runs in long_matrix() if arguments.long else short_matrix():
        fresh = False
        for one in runs:
            started = time.monotonic()
            if not fresh or one.script in CHANGING:
                complaints = prepare(load, arguments)
                fresh = not complaints
                report(f"prepare {load}", complaints, "", started)
                if complaints:
                    continue
                started = time.monotonic()
            complaints, note = run(load, one, arguments)
            fresh = not complaints and one.script not in CHANGING and one.skip_trx == "off"
            report(f"{one}, {load}", complaints, note, started)
    started = time.monotonic()
    sysbench("oltp_read_write", "cleanup", [f"--tables={arguments.tables}"])
    left = query("SHOW TABLES LIKE 'sbtest%'")
    report("cleanup", [f"left behind: {left}"] if left else [], "", started)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
