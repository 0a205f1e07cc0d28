"""What the clients do, and what has to be true of it: one class for each invariant.

A command whose answer does not come is *unknown*: it may have been done, once, or not. Everything acknowledged has to be there.
A workload's `step` runs one turn of one client; `check` looks at the end, when the server was killed a last time.
"""

import collections
import threading

from resp import Closed, Malformed, Refused

LOST = (Closed, Malformed, OSError)


class Violation(Exception):
    """Something that must never be seen."""


class Workload:
    def __init__(self, random, clients):
        self.random, self.clients = random, clients
        self.lock = threading.Lock()
        self.acknowledged = self.unknown = 0

    def note(self, is_known):
        with self.lock:
            self.acknowledged += is_known
            self.unknown += not is_known

    def ask(self, connection, *command):
        """A command whose answer counts; what is lost counts, too."""
        try:
            answer = connection.ask(*command)
        except LOST:
            self.note(False)
            raise
        self.note(True)
        return answer

    def set_up(self, connection):
        """What has to be there before the clients begin."""

    def meanwhile(self, connection):
        """What an observer may check while the clients work."""


def numbers(connection, *keys):
    """What keys hold; none of them may be gone."""
    values = connection.ask("MGET", *keys)
    if None in values:
        raise Violation(f"{keys[values.index(None)].decode()} is gone")
    return [int(value) for value in values]


class Counters(Workload):
    """INCR: no two clients get the same number, and none of the numbers goes back."""

    keys = [b"counter:%d" % n for n in range(4)]

    def __init__(self, random, clients):
        super().__init__(random, clients)
        self.given = {key: set() for key in self.keys}
        self.lost = collections.Counter()
        self.highest = collections.Counter()

    def step(self, connection, client, random):
        key = random.choice(self.keys)
        before = self.highest[key]
        try:
            number = self.ask(connection, "INCR", key)
        except LOST:
            with self.lock:
                self.lost[key] += 1
            raise
        with self.lock:
            if number in self.given[key]:
                raise Violation(f"INCR {key.decode()} gave {number} twice")
            if number <= before:
                raise Violation(f"INCR {key.decode()} gave {number} after {before} had been given")
            self.given[key].add(number)
            self.highest[key] = max(self.highest[key], number)

    def check(self, connection):
        for key in self.keys:
            value, known = int(connection.ask("GET", key) or 0), len(self.given[key])
            if not known <= value <= known + self.lost[key] or value < self.highest[key]:
                raise Violation(f"{key.decode()} is {value}, of {known} acknowledged and {self.lost[key]} unknown INCR; the highest given is {self.highest[key]}")


class Queue(Workload):
    """Lists: what was pushed is in exactly one place, if it is taken by LMOVE and put away in a transaction."""

    def __init__(self, random, clients):
        super().__init__(random, clients)
        self.pushed, self.maybe, self.next = set(), set(), 0

    def step(self, connection, client, random):
        if client % 2 == 0:
            with self.lock:
                self.next += 1
                job = b"job:%d" % self.next
            try:
                self.ask(connection, "LPUSH", "queue", job)
                self.pushed.add(job)
            except LOST:
                self.maybe.add(job)
                raise
            return
        own = b"taken:%d" % client
        # What was taken before a connection was lost is put away first.
        job = connection.ask("LINDEX", own, 0)
        if job is None:
            command = random.choice([["BLMOVE", "queue", own, "RIGHT", "LEFT", "0.2"], ["BRPOPLPUSH", "queue", own, "0.2"], ["LMOVE", "queue", own, "RIGHT", "LEFT"]])
            job = self.ask(connection, *command)
        if job is not None:
            replies = connection.pipeline([[b"MULTI"], [b"LREM", own, b"1", job], [b"RPUSH", b"done", job], [b"EXEC"]])
            if replies[3][0] != "*" or replies[3][1][0] != (":", 1):
                raise Violation(f"{job.decode()} was not in {own.decode()}: {replies[3]}")

    def check(self, connection):
        places = [b"queue", b"done", *[b"taken:%d" % client for client in range(self.clients)]]
        found = collections.Counter()
        for place in places:
            found.update(connection.ask("LRANGE", place, "0", "-1"))
        if twice := [job for job, count in found.items() if count > 1]:
            raise Violation(f"{len(twice)} jobs are there several times, such as {twice[0].decode()}")
        if gone := self.pushed - set(found):
            raise Violation(f"{len(gone)} of {len(self.pushed)} acknowledged jobs are gone, such as {min(gone).decode()}")
        if foreign := set(found) - self.pushed - self.maybe:
            raise Violation(f"jobs that nobody pushed: {min(foreign)!r}")


class Pops(Workload):
    """BRPOP: nothing is given to two clients, and only what a client lost the answer to may be missing."""

    def __init__(self, random, clients):
        super().__init__(random, clients)
        self.pushed, self.maybe, self.popped, self.lost_pops, self.next = set(), set(), set(), 0, 0

    def step(self, connection, client, random):
        if client % 2 == 0:
            with self.lock:
                self.next += 1
                item = b"item:%d" % self.next
            try:
                self.ask(connection, "RPUSH", "pops", item)
                self.pushed.add(item)
            except LOST:
                self.maybe.add(item)
                raise
            return
        command = random.choice([["BLPOP", "pops", "0.2"], ["BRPOP", "pops", "0.2"], ["BLMPOP", "0.2", "1", "pops", "LEFT", "COUNT", "1"]])
        try:
            answer = self.ask(connection, *command)
        except LOST:
            with self.lock:
                self.lost_pops += 1
            raise
        if answer is not None:
            item = answer[1] if isinstance(answer[1], bytes) else answer[1][0]
            with self.lock:
                if item in self.popped:
                    raise Violation(f"{item.decode()} was popped twice")
                self.popped.add(item)

    def check(self, connection):
        left = connection.ask("LRANGE", "pops", "0", "-1")
        if len(set(left)) != len(left):
            raise Violation("an item is in the list twice")
        if again := set(left) & self.popped:
            raise Violation(f"{len(again)} items are in the list that were popped, such as {min(again).decode()}")
        missing = self.pushed - self.popped - set(left)
        if len(missing) > self.lost_pops:
            raise Violation(f"{len(missing)} acknowledged items are gone, with {self.lost_pops} unknown pops")


class Bank(Workload):
    """WATCH, MULTI, EXEC: whatever is moved between accounts, the sum stays."""

    accounts = [b"account:%d" % n for n in range(6)]
    start = 1000

    def set_up(self, connection):
        connection.ask("MSET", *[part for account in self.accounts for part in (account, self.start)])

    def step(self, connection, client, random):
        source, target = random.sample(self.accounts, 2)
        amount = random.randint(1, 50)
        connection.ask("WATCH", source, target)
        one, two = numbers(connection, source, target)
        if one < amount:
            connection.ask("UNWATCH")
            return
        try:
            replies = connection.pipeline([[b"MULTI"], [b"SET", source, b"%d" % (one - amount)], [b"SET", target, b"%d" % (two + amount)], [b"EXEC"]])
        except LOST:
            self.note(False)
            raise
        if replies[3][1] is not None and replies[3] != ("*", [("+", b"OK")] * 2):
            raise Violation(f"EXEC answered {replies[3]}")
        if replies[3][1] is not None:
            self.note(True)

    def meanwhile(self, connection):
        total = sum(numbers(connection, *self.accounts))
        if total != self.start * len(self.accounts):
            raise Violation(f"the accounts add up to {total}")

    check = meanwhile


class Leaderboard(Workload):
    """ZINCRBY: scores are the sums of what was added, and ranks are in their order."""

    members = [b"player:%d" % n for n in range(8)]

    def __init__(self, random, clients):
        super().__init__(random, clients)
        self.known, self.lost = collections.Counter(), collections.Counter()

    def step(self, connection, client, random):
        member, points = random.choice(self.members), random.randint(1, 5)
        try:
            self.ask(connection, "ZINCRBY", "board", points, member)
        except LOST:
            with self.lock:
                self.lost[member] += points
            raise
        with self.lock:
            self.known[member] += points

    def meanwhile(self, connection):
        flat = connection.ask("ZRANGE", "board", "0", "-1", "WITHSCORES")
        scores = [float(score) for score in flat[1::2]]
        if scores != sorted(scores):
            raise Violation(f"ZRANGE is not in order: {scores}")

    def check(self, connection):
        self.meanwhile(connection)
        for member in self.members:
            score = float(connection.ask("ZSCORE", "board", member) or 0)
            if not self.known[member] <= score <= self.known[member] + self.lost[member]:
                raise Violation(f"{member.decode()} has {score}, of {self.known[member]} acknowledged and {self.lost[member]} unknown points")
        ranked = connection.ask("ZREVRANGE", "board", "0", "-1")
        if [connection.ask("ZREVRANK", "board", member) for member in ranked] != list(range(len(ranked))):
            raise Violation("ZREVRANK does not agree with ZREVRANGE")


class Locks(Workload):
    """SET NX: never two holders; what is counted under the lock is not lost."""

    def __init__(self, random, clients):
        super().__init__(random, clients)
        self.holder, self.counted, self.lost = None, 0, 0

    def set_up(self, connection):
        connection.ask("SET", "guarded", 0)

    def step(self, connection, client, random):
        token = b"client:%d" % client
        if connection.ask("GET", "lock") == token:
            pass  # ours, from before the connection was lost
        elif connection.ask("SET", "lock", token, "NX", "PX", 600_000) is None:
            return
        with self.lock:
            if self.holder not in (None, token):
                raise Violation(f"{token.decode()} has the lock of {self.holder.decode()}")
            self.holder = token
        [number] = numbers(connection, b"guarded")
        try:
            self.ask(connection, "SET", "guarded", number + 1)
        except LOST:
            self.lost += 1
            raise
        self.counted += 1
        with self.lock:
            self.holder = None
        # Only the holder's own: a transaction that watches the lock.
        connection.ask("WATCH", "lock")
        if connection.ask("GET", "lock") == token:
            connection.pipeline([[b"MULTI"], [b"DEL", b"lock"], [b"EXEC"]])

    def check(self, connection):
        [value] = numbers(connection, b"guarded")
        if not self.counted <= value <= self.counted + self.lost:
            raise Violation(f"{value} was counted under the lock, of {self.counted} acknowledged and {self.lost} unknown")


class Streams(Workload):
    """Consumer groups: every entry is delivered, as a new one only once; ids grow; what is acknowledged is not pending."""

    def __init__(self, random, clients):
        super().__init__(random, clients)
        self.added, self.maybe, self.delivered, self.acked, self.next = {}, set(), {}, set(), 0
        self.last = collections.defaultdict(lambda: (0, 0))

    def set_up(self, connection):
        connection.ask("XGROUP", "CREATE", "stream", "group", "$", "MKSTREAM")

    def step(self, connection, client, random):
        if client % 2 == 0:
            with self.lock:
                self.next += 1
                number = b"%d" % self.next
            try:
                id = self.ask(connection, "XADD", "stream", "*", "n", number)
            except LOST:
                self.maybe.add(number)
                raise
            self.added[number] = id
            if position(id) <= self.last[client]:
                raise Violation(f"XADD gave {id} after {self.last[client]}")
            self.last[client] = position(id)
            return
        name = b"consumer:%d" % client
        # A consumer that lost its connection asks for what it was given first.
        answer = connection.ask("XREADGROUP", "GROUP", "group", name, "COUNT", "3", "STREAMS", "stream", "0")
        entries = answer[0][1] if answer else []
        if not entries:
            answer = self.ask(connection, "XREADGROUP", "GROUP", "group", name, "COUNT", "3", "BLOCK", "100", "STREAMS", "stream", ">")
            entries = answer[0][1] if answer else []
            with self.lock:
                for id, _ in entries:
                    if id in self.delivered:
                        raise Violation(f"{id.decode()} was given as new to {self.delivered[id].decode()} and to {name.decode()}")
                    self.delivered[id] = name
        for id, fields in entries:
            if fields is None:
                raise Violation(f"{id.decode()} is pending, but gone")
            if connection.ask("XACK", "stream", "group", id) == 0 and id in self.acked:
                raise Violation(f"{id.decode()} was acknowledged, and pending again")
            self.acked.add(id)

    def check(self, connection):
        entries = dict((fields[1], id) for id, fields in connection.ask("XRANGE", "stream", "-", "+"))
        for number, id in self.added.items():
            if entries.get(number) != id:
                raise Violation(f"the acknowledged entry {id.decode()} is {'gone' if number not in entries else 'another'}")
        if foreign := set(entries) - set(self.added) - self.maybe:
            raise Violation(f"entries that nobody added: {foreign}")
        pending = connection.ask("XPENDING", "stream", "group", "-", "+", "100000")
        if again := {id for id, *_ in pending} & self.acked:
            raise Violation(f"{len(again)} acknowledged entries are pending, such as {min(again).decode()}")


def position(id):
    ms, _, seq = id.partition(b"-")
    return int(ms), int(seq)


class Registers(Workload):
    """SET and HSET: a client's own keys have what was acknowledged last, or what was sent since."""

    def __init__(self, random, clients):
        super().__init__(random, clients)
        self.sent, self.known = collections.Counter(), collections.Counter()
        self.members = collections.defaultdict(set)  # what was acknowledged of each client's set

    def step(self, connection, client, random):
        place = (client, random.choice(["string", "hash", "set"]))
        number = self.sent[place] = self.sent[place] + 1
        kind = place[1]
        if kind == "string":
            self.ask(connection, "SET", f"register:{client}", number)
        elif kind == "hash":
            self.ask(connection, "HSET", "registers", f"client:{client}", number, f"again:{client}", number)
        else:
            self.ask(connection, "SADD", f"numbers:{client}", number)
            self.members[client].add(number)
        self.known[place] = number
        if random.random() < 0.1:
            self.look(connection, client)

    def look(self, connection, client):
        values = connection.ask("HMGET", "registers", f"client:{client}", f"again:{client}")
        if values[0] != values[1]:
            raise Violation(f"half of an HSET: {values}")
        for kind, value in (("string", connection.ask("GET", f"register:{client}")), ("hash", values[0])):
            place = (client, kind)
            if not self.known[place] <= int(value or 0) <= self.sent[place]:
                raise Violation(f"{kind} of client {client} is {value}; {self.known[place]} was acknowledged, {self.sent[place]} sent last")

    def check(self, connection):
        for client in range(self.clients):
            self.look(connection, client)
            members = {int(member) for member in connection.ask("SMEMBERS", f"numbers:{client}")}
            if gone := self.members[client] - members:
                raise Violation(f"{len(gone)} of {len(self.members[client])} acknowledged members are gone from the set of client {client}")
            if members - set(range(1, self.sent[client, "set"] + 1)):
                raise Violation(f"the set of client {client} has what nobody added")


class Mixed(Workload):
    """SQL beside Redis on the same keys: counters by both are not lost, and sums stay."""

    accounts = [b"mixed:account:%d" % n for n in range(6)]
    start = 1000

    def __init__(self, random, clients, tables):
        super().__init__(random, clients)
        self.tables = tables  # opens an SQL connection
        self.sql = {}
        self.known = self.lost = 0

    def set_up(self, connection):
        connection.ask("MSET", *[part for account in self.accounts for part in (account, self.start)], "mixed-counter", 0)

    def step(self, connection, client, random):
        count = random.random() < 0.5
        try:
            if client % 2 == 0:
                if count:
                    connection.ask("INCRBY", "mixed-counter", 3)
                else:
                    self.by_redis(connection, random)
            else:
                self.by_sql(client, random, count)
        except LOST:
            if count:
                with self.lock:
                    self.lost += 3
            self.note(False)
            raise
        if count:
            with self.lock:
                self.known += 3
        self.note(True)

    def by_redis(self, connection, random):
        source, target = random.sample(self.accounts, 2)
        connection.ask("WATCH", source, target)
        one, two = numbers(connection, source, target)
        connection.pipeline([[b"MULTI"], [b"SET", source, b"%d" % (one - 7)], [b"INCRBY", target, b"7"], [b"EXEC"]])

    def by_sql(self, client, random, count):
        from sql import is_retried
        import pymysql
        while True:
            try:
                if client not in self.sql:
                    self.sql[client] = self.tables()
                if count:
                    self.sql[client].add(b"mixed-counter", 3)
                else:
                    source, target = random.sample(self.accounts, 2)
                    self.sql[client].transfer(source, target, random.randint(1, 20))
                return
            except pymysql.MySQLError as error:
                if is_retried(error):
                    continue
                if isinstance(error, pymysql.OperationalError) and error.args[0] in (2003, 2006, 2013, 1053) or isinstance(error, pymysql.InterfaceError):
                    self.sql.pop(client, None)
                    raise OSError(str(error)) from error
                raise Violation(f"SQL: {error}") from error

    def meanwhile(self, connection):
        total = sum(numbers(connection, *self.accounts))
        if total != self.start * len(self.accounts):
            raise Violation(f"the accounts add up to {total} by Redis")

    def check(self, connection):
        self.meanwhile(connection)
        tables = self.tables()
        if (total := tables.total("mixed:account:")) != self.start * len(self.accounts):
            raise Violation(f"the accounts add up to {total} by SQL")
        [value] = numbers(connection, b"mixed-counter")
        if not self.known <= value <= self.known + self.lost:
            raise Violation(f"the counter is {value}, of {self.known} acknowledged and {self.lost} unknown")


WORKLOADS = {kind.__name__.lower(): kind for kind in (Counters, Queue, Pops, Bank, Leaderboard, Locks, Streams, Registers)}
__all__ = ["LOST", "Mixed", "Refused", "Violation", "WORKLOADS"]
