"""Suites whose tests are the functions of a file: their arguments, one test after the other, and the closing line."""

import argparse
import os
import shutil
import sys
import textwrap
import time
import traceback

TESTS = []


def test(run):
    """A test of this suite; they run in the order in which they stand in its file."""
    TESTS.append(run)
    return run


def arguments(about):
    """For the suite to add its own ones to; `prepared` reads them."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="latsdb")
    parser.add_argument("--dir", required=True, help="for data and files; it is emptied")
    parser.add_argument("names", nargs="*", help="tests; without them, all")
    return parser


def prepared(parser):
    """What was given, with an empty directory."""
    options = parser.parse_args()
    options.dir = os.path.abspath(options.dir)
    shutil.rmtree(options.dir, ignore_errors=True)
    os.makedirs(options.dir)
    if unknown := set(options.names) - {run.__name__ for run in TESTS}:
        parser.error(f"there is no test {', '.join(sorted(unknown))}")
    return options


def run_tests(names, call, end):
    """Calls `call` with each test, then `end`; the process ends with how many passed and failed."""
    passed = failed = 0
    for run in TESTS:
        if names and run.__name__ not in names:
            continue
        begun = time.monotonic()
        try:
            call(run)
            passed += 1
            print(f"ok     {run.__name__} {time.monotonic() - begun:.1f} s", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED {run.__name__}\n{textwrap.indent(traceback.format_exc(), '    ')}", flush=True)
    end()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


def until(condition, what="it takes too long", seconds=60):
    """Waits for the condition; what it gives."""
    deadline = time.monotonic() + seconds
    while not (held := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return held
