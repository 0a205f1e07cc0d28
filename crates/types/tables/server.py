"""A running server that is asked for tables, by the mariadb client."""

import subprocess


def ask(options, query):
    """The columns of each row. `options` are the client's."""
    command = ["mariadb", "--no-defaults", *options.split(), "-N", "-B", "--default-character-set=utf8mb4", "mysql"]
    answer = subprocess.run(command, input=query, text=True, capture_output=True, check=True).stdout
    return [line.split("\t") for line in answer.splitlines()]
