"""What the Python programs share: where the server is, and counting."""

import argparse
import sys
import time
import traceback

import redis

parser = argparse.ArgumentParser()
parser.add_argument("--redis", default="127.0.0.1:6379", help="HOST:PORT")
HOST, _, PORT = parser.parse_args().redis.rpartition(":")
PORT = int(PORT)
URL = f"redis://{HOST}:{PORT}"
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def equal(got, wanted):
    assert got == wanted, f"{got!r} is not {wanted!r}"


def until(condition, seconds=15):
    """Waits for a condition."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it does not come true"
        time.sleep(0.02)
    return found


def raises(kind, function, *arguments):
    try:
        function(*arguments)
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def main():
    failed = 0
    for function in TESTS:
        redis.Redis(HOST, PORT).flushall()
        try:
            function()
        except Exception as error:
            failed += 1
            print(f"FAILED {function.__name__}: {type(error).__name__}: {error}")
            traceback.print_exc(limit=-3)
    print(f"{len(TESTS) - failed} passed, {failed} failed")
    sys.exit(failed > 0)
