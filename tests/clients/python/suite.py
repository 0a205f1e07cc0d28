"""What both Python suites share: the server's address, the vectors, and a test runner of twenty lines."""

import datetime
import decimal
import json
import os
import pathlib
import sys
import time
import traceback

HOST = os.environ.get("DB_HOST", "127.0.0.1")
PORT = int(os.environ.get("DB_PORT", "3306"))
USER = os.environ.get("DB_USER", "root")
PASSWORD = os.environ.get("DB_PASSWORD", "")

VECTORS = json.loads((pathlib.Path(__file__).parent.parent / "vectors.json").read_text())
for column in VECTORS["types"]:
    column["values"] = [v["repeat"][0] * v["repeat"][1] if isinstance(v, dict) else v for v in column["values"]]


class Skipped(Exception):
    """The server lacks what the test is about."""


def run(tests):
    """Calls each (name, function); prints failures and the closing line; exits."""
    passed = failed = skipped = 0
    for name, test in tests:
        started = time.monotonic()
        try:
            test()
        except Skipped as why:
            skipped += 1
            print(f"skipped {name}: {why}")
        except Exception:
            failed += 1
            print(f"FAILED {name}")
            traceback.print_exc(file=sys.stdout)
        else:
            passed += 1
            print(f"ok {name} ({time.monotonic() - started:.2f} s)")
        sys.stdout.flush()
    closing = f"{passed} passed, {failed} failed"
    print(closing + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed else 0)


def equal(got, wanted, about=""):
    if got != wanted:
        raise AssertionError(f"{about}: got {shorten(got)}, wanted {shorten(wanted)}")


def shorten(value):
    text = repr(value)
    return text if len(text) < 400 else f"{text[:200]} … {text[-100:]}"


def literal(value, kind):
    """A vector's value as SQL text."""
    if value is None:
        return "NULL"
    if kind == "bytes":
        return f"x'{value}'"
    if kind in ("int", "decimal", "float", "double", "bit", "year"):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0")
    return f"'{escaped}'"


def native(value, kind):
    """A vector's value as Python would hold it, to be bound to a parameter."""
    if value is None:
        return None
    match kind:
        case "int" | "bit" | "year":
            return int(value)
        case "decimal":
            return decimal.Decimal(value)
        case "float" | "double":
            return float(value)
        case "bytes":
            return bytes.fromhex(value)
        case "date":
            return datetime.date.fromisoformat(value)
        case "datetime":
            return datetime.datetime.fromisoformat(value)
        case "time":
            return parse_time(value)
        case _:
            return value


def parse_time(text):
    sign = -1 if text.startswith("-") else 1
    hours, minutes, seconds = text.lstrip("-").split(":")
    return sign * datetime.timedelta(hours=int(hours), minutes=int(minutes), seconds=float("0")) + sign * datetime.timedelta(
        seconds=int(seconds.split(".")[0]), microseconds=int((seconds.split(".") + ["0"])[1].ljust(6, "0"))
    )


def same(got, wanted, kind):
    """Whether a value read back is the vector's value. What a driver makes of a type is its own affair; the value is not."""
    if wanted is None or got is None:
        return got is None and wanted is None
    match kind:
        case "bit":
            number = int.from_bytes(got, "big") if isinstance(got, (bytes, bytearray)) else int(got)
            return number == int(wanted)
        case "bytes":
            return bytes(got) == bytes.fromhex(wanted)
        case "float":
            return abs(float(got) - float(wanted)) <= abs(float(wanted)) * 1e-6
        case "double":
            return float(got) == float(wanted)
        case "json":
            got = got.decode() if isinstance(got, (bytes, bytearray)) else got
            return json.loads(got) == json.loads(wanted)
        case "string":
            if isinstance(got, (set, frozenset)):
                return got == set(filter(None, wanted.split(",")))
            got = got.decode() if isinstance(got, (bytes, bytearray)) else got
            return got == wanted
        case "time" if isinstance(got, str):
            return got == wanted
        case _:
            return got == native(wanted, kind)


def vector_rows():
    """The vectors as rows of one wide table; the last row is NULL throughout."""
    height = max(len(column["values"]) for column in VECTORS["types"]) + 1
    return [[c["values"][i] if i < len(c["values"]) else None for c in VECTORS["types"]] for i in range(height)]


def vector_table(name):
    columns = ", ".join(f"{c['name']} {c['definition']}" for c in VECTORS["types"])
    return f"CREATE TABLE {name} (id INT PRIMARY KEY, {columns})"


def check_vectors(rows, about):
    """`rows` as read: id first, then every column."""
    wanted = vector_rows()
    equal(len(rows), len(wanted), f"{about}: rows")
    wrong = []
    for row, expected in zip(rows, wanted):
        for column, got, want in zip(VECTORS["types"], row[1:], expected):
            if not same(got, want, column["kind"]):
                wrong.append(f"{column['name']}: got {shorten(got)}, wanted {shorten(want)}")
    if wrong:
        raise AssertionError(f"{about}:\n  " + "\n  ".join(wrong))
