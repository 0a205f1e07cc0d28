"""PyMySQL and mysql-connector-python over several hosts, while nodes of the cluster die. tests/failover/suite.py starts it and judges its lines.

failover.py FIRST HOST:PORT,HOST:PORT…: the number of the first row, and the hosts. Runs until its input ends.
"""
import os
import sys
import threading
import time

import mysql.connector
import pymysql

# Of the errors that tests/failover/suite.py expects, the one after which a connection goes on.
DEADLOCK = 1213

TIMEOUT = 2
PAUSE = 0.02
LOST_PAUSE = 0.05
# A transaction is open for so long, so that some are when a node dies.
OPEN = 0.03

LOGIN = {"user": os.environ["DB_USER"], "password": os.environ["DB_PASSWORD"], "database": "failover"}

over = threading.Event()
printing = threading.Lock()


class Stale(Exception):
    """A read does not show what was acknowledged."""


class PyMySQL:
    """PyMySQL knows one host; its users try one after the other. The host of a connection that was lost comes last."""

    name = "pymysql"

    def __init__(self, hosts):
        self.hosts = list(hosts)

    def connect(self):
        for _ in self.hosts:
            host, port = self.hosts[0]
            self.hosts.append(self.hosts.pop(0))
            try:
                return pymysql.connect(host=host, port=port, **LOGIN, autocommit=True, connect_timeout=1,
                                       read_timeout=TIMEOUT, write_timeout=TIMEOUT)
            except pymysql.OperationalError as error:
                last = error
        raise last

    @staticmethod
    def details(error):
        code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        return code, "", f"{type(error).__name__}: {error}"


class Connector:
    """mysql-connector-python tries the hosts of `failover` when it connects: those with the highest priority first."""

    name = "mysql-connector-python"

    def __init__(self, hosts):
        self.failover = [{"host": host, "port": port, "priority": 100 - place} for place, (host, port) in enumerate(hosts)]

    def connect(self):
        return mysql.connector.connect(failover=[dict(host) for host in self.failover], **LOGIN, autocommit=True,
                                       connection_timeout=1, read_timeout=TIMEOUT, write_timeout=TIMEOUT)

    @staticmethod
    def details(error):
        return getattr(error, "errno", 0) or 0, getattr(error, "sqlstate", "") or "", f"{type(error).__name__}: {error}"


class Client(threading.Thread):
    def __init__(self, driver, first):
        super().__init__()
        self.driver, self.next = driver, first
        self.connection, self.acknowledged = None, None

    def run(self):
        turn = 0
        while not over.is_set():
            number = self.number()
            self.step("insert", [number], lambda: self.insert(number))
            if self.acknowledged is not None:
                self.step("read", [self.acknowledged], self.read)
            if turn % 3 == 0:
                numbers = [self.number(), self.number()]
                self.step("transaction", numbers, lambda: self.transaction(numbers))
            turn += 1
            time.sleep(PAUSE)

    def number(self):
        self.next += 1
        return self.next - 1

    def execute(self, sql, values=None):
        cursor = self.connection.cursor()
        cursor.execute(sql, values)
        rows = cursor.fetchall() if cursor.description else None
        # Not after an error: closing would raise another one in its place.
        cursor.close()
        return rows

    def insert(self, number):
        self.execute("INSERT INTO written (number) VALUES (%s)", (number,))
        self.acknowledged = number
        return ""

    def read(self):
        rows = self.execute("SELECT COUNT(*), @@server_id FROM written WHERE number = %s", (self.acknowledged,))
        if rows[0][0] != 1:
            raise Stale(f"stale: {rows[0][0]} rows")
        return rows[0][1]

    def transaction(self, numbers):
        self.execute("START TRANSACTION")
        for number in numbers:
            self.execute("INSERT INTO written (number) VALUES (%s)", (number,))
            time.sleep(OPEN)
        self.connection.commit()
        return ""

    def step(self, what, numbers, work):
        began = time.time()
        try:
            self.connection = self.connection or self.driver.connect()
            node = work()
        except Exception as error:  # pylint: disable=broad-except
            code, state, text = self.driver.details(error)
            self.say(what, "failed", numbers, began, "", code, state, text)
            self.recover(code)
        else:
            self.say(what, "done", numbers, began, node, 0, "", "")

    def recover(self, code):
        """Any other connection is given up without asking: after a timeout the next answer would be the one that is still to come."""
        if code == DEADLOCK:
            self.connection.rollback()
            return
        self.connection = None
        time.sleep(LOST_PAUSE)

    def say(self, what, result, numbers, began, node, code, state, text):
        fields = [self.driver.name, what, result, ",".join(map(str, numbers)), int(began * 1000), int(time.time() * 1000), node, code, state,
                  " ".join(str(text).split())]
        with printing:
            print(*fields, sep="\t", flush=True)


def main():
    first, hosts = int(sys.argv[1]), [(host, int(port)) for host, port in (name.split(":") for name in sys.argv[2].split(","))]
    clients = [Client(PyMySQL(hosts), first), Client(Connector(hosts), first + 1_000_000)]
    for client in clients:
        client.start()
    sys.stdin.read()
    over.set()
    for client in clients:
        client.join(15)


if __name__ == "__main__":
    main()
