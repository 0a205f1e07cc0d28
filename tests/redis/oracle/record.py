"""Writes down what a Redis server says of its commands: `COMMAND` and `COMMAND DOCS`, as commands.json.

    python3 tests/redis/oracle/record.py --redis 127.0.0.1:6379 > tests/redis/oracle/commands.json

Names, arities, flags and key positions are facts; the prose of COMMAND DOCS is left out. Flags, categories and key
specifications stand in the order in which the server gives them, commands and subcommands in alphabetical order.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from resp import Connection, address  # noqa: E402

PROSE = {"summary", "complexity", "history", "notes"}


def text(value):
    """Bytes to text."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [text(item) for item in value]
    if isinstance(value, dict):
        return {text(key): text(item) for key, item in value.items() if text(key) not in PROSE}
    return value


def command(entry):
    name, arity, flags, first, last, step, categories, tips, keys, subcommands = text(entry)
    return {
        "name": name,
        "arity": arity,
        "flags": flags,
        "first_key": first,
        "last_key": last,
        "key_step": step,
        "acl_categories": categories,
        "tips": tips,
        "key_specifications": keys,
        "subcommands": sorted(map(command, subcommands), key=lambda sub: sub["name"]),
    }


def add_docs(command, docs):
    command.update({key: value for key, value in docs.items() if key != "subcommands"})
    for sub in command["subcommands"]:
        add_docs(sub, docs.get("subcommands", {}).get(sub["name"], {}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--redis", type=address, default=("127.0.0.1", 6379))
    connection = Connection(parser.parse_args().redis, protocol=3)
    version = next(line.split(":")[1] for line in connection.ask("INFO", "server").decode().splitlines()
                   if line.startswith("redis_version"))
    commands = sorted(map(command, connection.ask("COMMAND")), key=lambda entry: entry["name"])
    docs = text(connection.ask("COMMAND", "DOCS"))
    for entry in commands:
        add_docs(entry, docs[entry["name"]])
    # One command a line: a change of one is a change of a line.
    print('{"redis_version": %s, "commands": [' % json.dumps(version))
    print(",\n".join(json.dumps(entry) for entry in commands))
    print("]}")


main()
