"""Clients of every node: an open loop of writes, reads that have to be fresh, and what is judged of both afterwards."""
import bisect
import threading
import time
from collections import Counter

import pymysql

REQUESTS_A_SECOND = 500
CLIENTS_PER_NODE = 4
PAUSE_OF_READERS = 0.02
PAUSE_OF_LOST = 0.25

# A write with one of these errors may have been done: connections that broke, and LatsDB's word that nobody knows.
UNKNOWN = {0, 1053, 1180, 2006, 2013, 2014}

TABLES = (
    "CREATE TABLE written (id BIGINT AUTO_INCREMENT PRIMARY KEY, number BIGINT NOT NULL, node INT NOT NULL, filler VARCHAR(9000), "
    "KEY (number))",
    "CREATE TABLE newest (id INT PRIMARY KEY, value BIGINT NOT NULL)",
    "INSERT INTO newest VALUES (1, 0)",
)


def code_of(error):
    return error.args[0] if isinstance(error, pymysql.Error) and error.args and isinstance(error.args[0], int) else 0


class Client:
    """A connection that is made anew when it is lost."""

    def __init__(self, cluster, node):
        self.cluster, self.node, self.connection = cluster, node, None

    def run(self, sql, arguments=None):
        try:
            self.connection = self.connection or self.cluster.connect(self.node)
        except Exception as error:
            # Nothing was asked.
            raise pymysql.OperationalError(2003, str(error)) from error
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(sql, arguments)
                return cursor.fetchall()
        except Exception as error:
            code = code_of(error)
            if code in (0, 2006, 2013, 2014) or code == 1053:
                self.close()
            raise

    def close(self):
        if self.connection:
            self.connection._force_close()  # pylint: disable=protected-access
        self.connection = None


class Load:
    """Runs until it is ended. Numbers are given once; each row's number, acknowledged or not, with the moment."""

    def __init__(self, cluster, first, filler=""):
        self.cluster, self.first, self.next, self.filler = cluster, first, first, filler
        self.nodes = cluster.nodes
        self.lock, self.is_over = threading.Lock(), False
        self.acknowledged = {node: [] for node in self.nodes}
        self.failed, self.unknown = set(), set()
        self.errors = {node: [] for node in self.nodes}
        self.longest = (0.0, None, None)
        self.register = Register()
        self.threads = [threading.Thread(target=self.write, args=(node,), daemon=True)
                        for node in self.nodes for _ in range(CLIENTS_PER_NODE)]
        self.threads += [threading.Thread(target=self.read, args=(node,), daemon=True) for node in self.nodes]
        self.threads.append(threading.Thread(target=self.set_register, daemon=True))
        for thread in self.threads:
            thread.start()

    def write(self, node):
        client = Client(self.cluster, node)
        pause, due = len(self.nodes) * CLIENTS_PER_NODE / REQUESTS_A_SECOND, time.monotonic()
        while not self.is_over:
            due += pause
            time.sleep(max(0.0, due - time.monotonic()))
            with self.lock:
                number, self.next = self.next, self.next + 1
            began = time.monotonic()
            try:
                client.run("INSERT INTO written (number, node, filler) VALUES (%s, %s, %s)", (number, node, self.filler))
                self.acknowledged[node].append((time.monotonic(), number))
            except Exception as error:  # pylint: disable=broad-except
                due = max(due, time.monotonic())
                code = code_of(error)
                self.note_error(node, began, code, str(error))
                (self.unknown if code in UNKNOWN else self.failed).add(number)
                if code == 2003:
                    # A driver that tries all the time would be a load of its own.
                    due += PAUSE_OF_LOST
            self.note_time(node, began, "INSERT")
        client.close()

    def note_error(self, node, began, code, text):
        self.errors[node].append((began, time.monotonic(), code, text))

    def note_time(self, node, began, what):
        took = time.monotonic() - began
        if took > self.longest[0]:
            self.longest = (took, node, what)

    def read(self, node):
        client = Client(self.cluster, node)
        while not self.is_over:
            time.sleep(PAUSE_OF_READERS)
            began = time.monotonic()
            try:
                rows = client.run("SELECT value FROM newest WHERE id = 1")
                self.register.seen(node, began, rows[0][0])
            except Exception as error:  # pylint: disable=broad-except
                self.note_error(node, began, code_of(error), f"read: {error}")
                if code_of(error) == 2003:
                    time.sleep(PAUSE_OF_LOST)
            self.note_time(node, began, "SELECT")
        client.close()

    def set_register(self):
        clients = [Client(self.cluster, node) for node in self.nodes]
        value, turn = self.first, 0
        while not self.is_over:
            time.sleep(PAUSE_OF_READERS)
            value += 1
            client = clients[turn % len(clients)]
            began = time.monotonic()
            try:
                # One whose fate is unknown may come late; it changes nothing then.
                client.run("UPDATE newest SET value = GREATEST(value, %s) WHERE id = 1", (value,))
                self.register.acknowledged(time.monotonic(), value)
            except Exception as error:  # pylint: disable=broad-except
                self.note_error(client.node, began, code_of(error), f"register: {error}")
                turn += 1
            self.note_time(client.node, began, "UPDATE")
        for client in clients:
            client.close()

    def end(self, seconds=40):
        self.is_over = True
        deadline = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0.1, deadline - time.monotonic()))
        return [thread for thread in self.threads if thread.is_alive()]

    # --- judgement ---

    def gap(self, nodes, since, until):
        """The longest time, in seconds, between two acknowledgements for the clients of any of these nodes."""
        longest = 0.0
        for node in nodes:
            moments = [at for at, _ in self.acknowledged[node] if since - 0.5 <= at <= until]
            moments = [since, *moments] if not moments or moments[0] > since else moments
            longest = max([longest] + [later - earlier for earlier, later in zip(moments, moments[1:])])
            longest = max(longest, 0.0 if moments[-1] > until - 1 else until - moments[-1])
        return longest

    def codes(self, nodes):
        return Counter(code for node in nodes for _, _, code, _ in self.errors[node])

    def judge(self, nodes):
        """Compares the rows of every node with what clients were told."""
        acknowledged = {number for rows in self.acknowledged.values() for _, number in rows}
        images, lost, twice, undead = {}, set(), set(), set()
        for node in nodes:
            counts = dict(self.cluster.query(
                node, "SELECT number, COUNT(*) FROM written WHERE number >= %s GROUP BY number", (self.first,)))
            lost |= acknowledged - counts.keys()
            twice |= {number for number, count in counts.items() if count > 1}
            undead |= self.failed & counts.keys()
            images[node] = state_of(self.cluster, node)
        return {"acknowledged": len(acknowledged), "lost": sorted(lost), "twice": sorted(twice), "undead": sorted(undead),
                "differ": images if len(set(images.values())) > 1 else None, "stale": self.register.stale()}


def state_of(cluster, node):
    """A fingerprint of all rows, by that node's own replica."""
    return cluster.query(node, "SELECT COUNT(*), MAX(id), BIT_XOR(CRC32(CONCAT_WS(':', id, number, node, filler))), "
                               "SUM(CRC32(CONCAT_WS(':', id, number, node, filler))) FROM written")[0]


class Register:
    """One number that only grows. A read that shows less than what had been acknowledged before it began is stale."""

    def __init__(self):
        self.writes, self.reads = [], []

    def acknowledged(self, at, value):
        self.writes.append((at, value))

    def seen(self, node, began, value):
        self.reads.append((began, value, node))

    def stale(self):
        moments = [at for at, _ in self.writes]
        stale = []
        for began, value, node in self.reads:
            place = bisect.bisect_left(moments, began)
            if place and value < self.writes[place - 1][1]:
                stale.append((node, began, value, self.writes[place - 1][1]))
        return stale
