#!/usr/bin/env python3
"""Stored programs side by side: the same procedures, functions and triggers on several servers in turn, round by round.

Each round runs every program once on every server; the table gives each server's median seconds, and the median over the rounds of
its ratio to the first server named: below 1 it is faster.

    compare-programs.py latsdb=127.0.0.1:3306:root: mysql=127.0.0.1:3307:root: --rounds 5

Needs the client program `mysql` or `mariadb`, whose start is a part of each figure (a few milliseconds). The database `programs_compared` is made and dropped.
"""
import argparse
import shutil
import statistics
import subprocess
import time

DATABASE = "programs_compared"
CLIENT = shutil.which("mysql") or shutil.which("mariadb")

DEFINITIONS = f"""
DROP DATABASE IF EXISTS {DATABASE};
CREATE DATABASE {DATABASE};
USE {DATABASE};
CREATE TABLE t (id INT PRIMARY KEY, v INT);
CREATE TABLE made (id INT PRIMARY KEY, v INT);
INSERT INTO t WITH RECURSIVE r AS (SELECT 1 x UNION ALL SELECT x + 1 FROM r WHERE x < 1000) SELECT x, x FROM r;
DELIMITER ;;
CREATE PROCEDURE counts(n INT) BEGIN
    DECLARE i INT DEFAULT 0; DECLARE s BIGINT DEFAULT 0;
    WHILE i < n DO SET s = s + i * 2; SET i = i + 1; END WHILE;
END;;
CREATE PROCEDURE branches(n INT) BEGIN
    DECLARE i INT DEFAULT 0; DECLARE s BIGINT DEFAULT 0;
    l: LOOP
        SET i = i + 1;
        IF i > n THEN LEAVE l; END IF;
        IF i % 3 = 0 THEN SET s = s + 1; ELSEIF i % 3 = 1 THEN SET s = s - 1; ELSE ITERATE l; END IF;
    END LOOP;
END;;
CREATE PROCEDURE looks_up(n INT) BEGIN
    DECLARE i INT DEFAULT 0; DECLARE x INT;
    WHILE i < n DO SELECT v INTO x FROM t WHERE id = 1 + i % 1000; SET i = i + 1; END WHILE;
END;;
CREATE PROCEDURE updates(n INT) BEGIN
    DECLARE i INT DEFAULT 0;
    START TRANSACTION;
    WHILE i < n DO UPDATE t SET v = v + 1 WHERE id = 1 + i % 1000; SET i = i + 1; END WHILE;
    COMMIT;
END;;
CREATE PROCEDURE fetches(n INT) BEGIN
    DECLARE i INT DEFAULT 0; DECLARE done INT DEFAULT 0; DECLARE x INT;
    DECLARE c CURSOR FOR SELECT v FROM t;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1;
    WHILE i < n DO
        OPEN c; SET done = 0;
        f: LOOP FETCH c INTO x; IF done THEN LEAVE f; END IF; END LOOP;
        CLOSE c; SET i = i + 1;
    END WHILE;
END;;
CREATE PROCEDURE one(OUT a INT) SET a = 1;;
CREATE PROCEDURE calls(n INT) BEGIN
    DECLARE i INT DEFAULT 0; DECLARE x INT;
    WHILE i < n DO CALL one(x); SET i = i + 1; END WHILE;
END;;
CREATE FUNCTION next_of(a INT) RETURNS INT DETERMINISTIC RETURN a + 1;;
CREATE TRIGGER fills BEFORE INSERT ON made FOR EACH ROW SET NEW.v = NEW.v + 1;;
"""

PROGRAMS = {
    "1,000,000 turns of WHILE with two SETs": "CALL counts(1000000)",
    "1,000,000 turns of LOOP with IF, ITERATE, LEAVE": "CALL branches(1000000)",
    "100,000 SELECT … INTO of a row": "CALL looks_up(100000)",
    "100,000 UPDATEs of a row, one transaction": "CALL updates(100000)",
    "100 cursors over 1,000 rows": "CALL fetches(100)",
    "100,000 CALLs with an OUT value": "CALL calls(100000)",
    "200,000 calls of a function in a query": "SELECT SUM(next_of(a.id)) FROM t a, (SELECT 1 FROM t LIMIT 200) b",
    "100,000 rows inserted past a BEFORE trigger":
        "TRUNCATE TABLE made; INSERT INTO made SELECT a.id * 1000 + b.id, 1 FROM t a, (SELECT id FROM t LIMIT 100) b",
}


def run(server, text, database=None):
    host, port, user, password = server
    command = [CLIENT, f"--host={host}", f"--port={port}", f"--user={user}", f"--password={password}", "--protocol=tcp"]
    subprocess.run(command + ([database] if database else []), input=text, text=True, check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="NAME=HOST:PORT:USER:PASSWORD")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    servers = {}
    for server in options.servers:
        name, address = server.split("=", 1)
        servers[name] = address.split(":", 3)
    first = next(iter(servers))
    for server in servers.values():
        run(server, DEFINITIONS)
    seconds = {(name, program): [] for name in servers for program in PROGRAMS}
    for _ in range(options.rounds):
        for program, text in PROGRAMS.items():
            for name, server in servers.items():
                began = time.monotonic()
                run(server, text, DATABASE)
                seconds[name, program].append(time.monotonic() - began)
    print("| program | " + " | ".join(f"{name}, s | to {first}" for name in servers if name != first) + f" | {first}, s |")
    for program in PROGRAMS:
        base = seconds[first, program]
        cells = []
        for name in servers:
            if name != first:
                own = seconds[name, program]
                ratio = statistics.median(other / mine for other, mine in zip(own, base))
                cells.append(f"{statistics.median(own):.2f} | {ratio:.2f}")
        print(f"| {program} | " + " | ".join(cells) + f" | {statistics.median(base):.2f} |")
    for server in servers.values():
        run(server, f"DROP DATABASE {DATABASE}")


if __name__ == "__main__":
    main()
