#!/usr/bin/env python3
"""MySQL's own regression suite as a corpus: what its tests ask a server is asked of LatsDB, too, and the answers are compared.

  run.py fetch                    unpacks the suite (340 MB) beside the MySQL of `tools/oracle install`; needs root, for its jail
  run.py record [PATTERN…]        runs the tests against MySQL and keeps what they ask (some 1,000 tests in 20 minutes)
  run.py replay [PATTERN…]        asks MySQL and LatsDB (--latsdb HOST:PORT, as root, without a password) the same, and writes down the differences
  run.py show [KIND…]             the differences, by kind: error, values, order, results, affected, names, waits; noise, cascade, warnings

A PATTERN is a regular expression for whole names: `join.*`, `json/json_agg`. All databases of the servers are dropped. A difference is
something to look at, not yet a defect: the suite is of a later version, and one refused statement lets those behind it differ (`cascade`).
"""

import argparse
import json
import sys

import mysql
from record import record
from replay import replay

FOLDER = mysql.ORACLE / "corpus"


def show(kinds):
    for file in sorted((FOLDER / "differences").glob("*.json")):
        for number, kind, sql, theirs, ours in json.loads(file.read_text()):
            if kind in kinds:
                print(f"{file.stem}:{number} {kind}: {' '.join(sql.split())[:400]}\n    mysql  {theirs}\n    latsdb {ours}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["fetch", "record", "replay", "show"])
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--latsdb", default="127.0.0.1:3306")
    parser.add_argument("--port", type=int, default=13394, help="of the MySQL that is started")
    options = parser.parse_args()
    host, _, port = options.latsdb.partition(":")
    match options.action:
        case "fetch":
            mysql.fetch()
        case "record":
            record(FOLDER / "recorded", options.patterns, options.port)
        case "replay":
            replay(FOLDER / "recorded", FOLDER / "differences", options.patterns, (host, int(port or 3306)), options.port)
        case "show":
            show(options.patterns or ["error", "values", "order", "results"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
