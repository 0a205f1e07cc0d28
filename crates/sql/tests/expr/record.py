#!/usr/bin/env python3
"""Fills in the results of the expression tables from a MariaDB server.

    crates/sql/tests/expr/record.py --socket /run/mysqld/mysqld.sock [table.txt ...]

A line of a table is one of

    # a remark
    @ time_zone = '+02:00'        a session variable from here on
    1 + 1 => 2                    recorded: an expression and its value as the text protocol has it
    1 / 0 => NULL ~ 1365          with the codes of its warnings
    2 << => ! 1064                or the code of its error
    1 + 1 =mysql> 2               MySQL 8.0 differs from MariaDB: written by hand, left alone here
    1 + 1                         new: gets its value

Every recorded line gets a fresh value. Needs the `mariadb` command line client.
"""

import argparse
import pathlib
import re
import subprocess

MODE = (
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
    "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
)
# What the tests' session has: the time of the statement, UTC, MySQL's default mode.
SESSION = f"""
SET NAMES utf8mb4 COLLATE utf8mb4_general_ci;
SET sql_mode = '{MODE}';
SET time_zone = '+00:00';
SET timestamp = 1700000000.123456;
"""
MARK = "@@@"


def split(line):
    """(expression, written by hand)"""
    for arrow, by_hand in ((" =mysql> ", True), (" => ", False)):
        if arrow in line:
            return line.split(arrow, 1)[0], by_hand
    return line, False


def run(client, lines):
    script = [SESSION]
    for number, line in enumerate(lines):
        if line.startswith("@ "):
            script.append(f"SET {line[2:]};")
        elif line and not line.startswith("#"):
            expression, by_hand = split(line)
            if not by_hand:
                # A query of a table first: without one, the warnings before stay.
                script.append(f"SELECT '{MARK}{number}' FROM information_schema.character_sets LIMIT 1;")
                script.append(f"SELECT {expression};\nSHOW WARNINGS;\n")
    script.append(f"SELECT '{MARK}end';\n")
    done = subprocess.run(
        client + ["--batch", "--skip-column-names", "--force", "--unbuffered", "--init-command=SET NAMES utf8mb4"],
        input="\n".join(script).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    answers, current = {}, None
    for raw in done.stdout.split(b"\n"):
        text = raw.decode("utf-8", errors="backslashreplace")
        if text.startswith(MARK):
            current = text[len(MARK):]
            answers[current] = []
        elif current is not None:
            answers[current].append(text)
    return answers


def answer(rows):
    rows = [row for row in rows if row != "--------------"]
    error = next((re.match(r"ERROR (\d+)", row) for row in rows if row.startswith("ERROR ")), None)
    if error:
        return f"! {error.group(1)}"
    value, *diagnostics = rows
    codes = [row.split("\t")[1] for row in diagnostics if re.match(r"(Warning|Error|Note)\t\d+\t", row)]
    return f"{value} ~ {' '.join(codes)}" if codes else value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--socket", required=True)
    parser.add_argument("--user", default="root")
    parser.add_argument("tables", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    client = ["mariadb", "--no-defaults", f"--socket={options.socket}", f"--user={options.user}"]
    tables = options.tables or sorted(pathlib.Path(__file__).parent.glob("*.txt"))
    for table in tables:
        lines = table.read_text().splitlines()
        answers = run(client, lines)
        out = []
        for number, line in enumerate(lines):
            rows = answers.get(str(number))
            out.append(line if rows is None else f"{split(line)[0]} => {answer(rows)}")
        table.write_text("\n".join(out) + "\n")
        print(f"{table.name}: {len(answers) - 1} recorded")


if __name__ == "__main__":
    main()
