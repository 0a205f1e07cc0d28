"""Runs a sequence on two servers and tells the first step whose outcomes differ.

After the commands of a step, a connection sends a PING with a word of its own: what comes before its answer is the outcome of the
step, be it fewer replies than commands (CLIENT REPLY) or more (SUBSCRIBE). Inside of a transaction, replies are counted instead.
"""

import dataclasses
import time

from compare import chosen_rightly, comparable, in_order, masked, names, Near, CLOCK_MS
from resp import Closed, Connection, Malformed, encode
from steps import quoted

CONNECTIONS = 3
DATABASES = [0, 1]
MESSAGES = {b"message", b"pmessage", b"smessage", b"invalidate", b"tracking-redir-broken"}
LOOPS_MAX = 5000
CLOSED = ("closed", b"")
SILENT = ("silent", b"")


@dataclasses.dataclass
class Difference:
    step: int
    command: str
    what: str  # "reply", "message", "keyspace", "choice"
    oracle: str
    other: str
    signature: str


class Peer:
    """One connection to one server, and what is known of its state."""

    def __init__(self, address, patience):
        self.address, self.patience = address, patience
        self.connect()

    def connect(self):
        self.connection = Connection(self.address, timeout=self.patience)
        self.in_multi, self.listening, self.queued, self.pending, self.messages = False, False, [], None, []
        self.id = None

    def reconnect(self):
        self.connection.close()
        self.connect()

    def read_until(self, stop, patience=None):
        """Replies up to the one that `stop` knows, without messages, which are kept aside."""
        replies = []
        try:
            while not stop(replies):
                reply = self.connection.read(self.patience if patience is None else patience)
                if is_message(reply):
                    self.messages.append(reply)
                else:
                    replies.append(reply)
        except (Closed, ConnectionError):
            replies.append(CLOSED)
        except TimeoutError:
            replies.append(SILENT)
        except Malformed as error:
            replies.append(("malformed", str(error).encode()))
        if replies and replies[-1][0] in ("closed", "silent", "malformed"):
            self.reconnect()
        return replies

    def send(self, data, cuts=()):
        start = 0
        for cut in [*cuts, len(data)]:
            if cut > start:
                self.connection.send_raw(data[start:cut])
                start = cut
                if cut < len(data):
                    time.sleep(0.0005)

    def exchange(self, commands, word, cuts=()):
        """The replies to commands."""
        data = b"".join(map(encode, commands))
        stays_in_multi = in_multi_after(self.in_multi, commands)
        try:
            if stays_in_multi:
                self.send(data, cuts)
                replies = self.read_until(lambda replies: len(replies) == len(commands))
            else:
                self.send(data + encode([b"PING", word]), cuts)
                replies = self.read_until(lambda replies: replies and is_pong(replies[-1], word))
                if replies and is_pong(replies[-1], word):
                    replies.pop()
        except Closed:
            replies = [CLOSED]
            self.reconnect()
            return replies
        self.in_multi = stays_in_multi and replies[-1:] not in ([CLOSED], [SILENT])
        self.note_listening(commands)
        return with_channels_in_order(replies)

    def note_listening(self, commands):
        for command in commands:
            name, both = names(command)
            if name in ("subscribe", "psubscribe", "ssubscribe") or both == ("client", "tracking"):
                self.listening = True
            elif name == "reset":
                self.listening = False

    def drain(self, word):
        """Takes the messages that came."""
        if self.listening and not self.in_multi and self.pending is None:
            self.exchange([], word)

    def taken(self):
        messages, self.messages = self.messages, []
        return with_patterns_in_order([ordered_message(message) for message in messages])

    def can_be_read(self, seconds):
        return not self.connection.is_silent(seconds)


def is_message(reply):
    kind, value = reply
    return kind in ">*" and bool(value) and value[0][0] == "$" and value[0][1] in MESSAGES and (kind == ">" or value[0][1] != b"invalidate")


def with_channels_in_order(replies):
    """Who leaves all channels leaves them in any order."""
    replies, start = list(replies), 0
    while start < len(replies):
        end = start
        while end < len(replies) and leaves(replies[end]) and leaves(replies[end]) == leaves(replies[start]):
            end += 1
        channels = in_order([replies[at][1][1] for at in range(start, end)])
        for at, channel in zip(range(start, end), channels):
            kind, (word, _, count) = replies[at]
            replies[at] = (kind, [word, channel, count])
        start = max(end, start + 1)
    return replies


def leaves(reply):
    kind, value = reply
    if kind in ">*" and value and len(value) == 3 and value[0][0] == "$" and value[0][1] and value[0][1].endswith(b"unsubscribe"):
        return value[0][1]
    return None


def ordered_message(message):
    """Keys that became invalid at once come in any order."""
    kind, value = message
    if value[0][1] == b"invalidate" and value[1][1]:
        return kind, [value[0], (value[1][0], in_order(value[1][1]))]
    return message


def with_patterns_in_order(messages):
    """Which of a subscriber's patterns gets the same message first is open."""
    messages, start = list(messages), 0
    while start < len(messages):
        end = start + 1
        kind, value = messages[start]
        while end < len(messages) and value[0][1] == b"pmessage" and messages[end][1][0][1] == b"pmessage" and messages[end][1][2:] == value[2:]:
            end += 1
        messages[start:end] = in_order(messages[start:end])
        start = end
    return messages


def is_pong(reply, word):
    kind, value = reply
    return reply == ("$", word) or kind in "*>" and bool(value) and len(value) == 2 and value[1] == ("$", word)


def in_multi_after(in_multi, commands):
    for command in commands:
        name, _ = names(command)
        if len(command) == 1:
            if name == "multi":
                in_multi = True
            elif name in ("exec", "discard", "reset", "quit"):
                in_multi = False
    return in_multi


def assigned(commands, replies):
    """Commands with their replies, of which there may be several to a (UN)SUBSCRIBE."""
    if len(commands) == len(replies):
        return list(zip(commands, replies))
    pairs, at = [], 0
    for command in commands:
        count, (name, _) = 1, names(command)
        if name.endswith("subscribe") and at < len(replies) and replies[at][0] in ">*":
            count = len(command) - 1
            if not count:
                count = max(1, next((number for number, reply in enumerate(replies[at:]) if leaves(reply) != name.encode()), len(replies) - at))
        pairs += [(command, reply) for reply in replies[at:at + count]]
        at += count
    if at == len(replies) == len(pairs):
        return pairs
    return [((b"the replies to the whole step",), reply) for reply in replies]


class Side:
    """A server, with the connections of a sequence and one to look at it."""

    def __init__(self, address, patience=10):
        self.address, self.patience = address, patience
        self.control = Connection(address, timeout=30)
        self.peers = [Peer(address, patience) for _ in range(CONNECTIONS)]

    def fresh(self):
        self.control.close()
        self.control = Connection(self.address, timeout=30)
        for peer in self.peers:
            peer.reconnect()
        for command in ([b"FLUSHALL"], [b"FUNCTION", b"FLUSH"], [b"SCRIPT", b"FLUSH"]):
            self.control.reply(*command)

    def close(self):
        for peer in self.peers:
            peer.connection.close()
        self.control.close()

    def outcome(self, step, word):
        """What a step brings: pairs of a command and its reply, or what stands for it."""
        peer = self.peers[step.connection]
        if step.kind == "raw":
            return self.raw(peer, step, word)
        if step.kind in ("scan", "restore") and peer.in_multi:
            return []
        if step.kind == "scan":
            return [(step.commands[0], iterated(peer, step.commands[0], word))]
        if step.kind == "restore":
            return restored(peer, step.commands[0], word)
        if step.kind == "sleep":
            time.sleep(int(step.commands[0][0]) / 1000)
            return []
        replies = peer.exchange(step.commands, word, step.cuts)
        if step.kind == "random":
            return self.random(peer, step, replies)
        return [self.paired(peer, command, reply) for command, reply in assigned(step.commands, replies)]

    def paired(self, peer, command, reply):
        """Notes what a transaction consists of, which says how to read the reply to EXEC."""
        name, _ = names(command)
        queued = peer.queued
        if name in ("multi", "exec", "discard", "reset"):
            peer.queued = []
        elif reply == ("+", b"QUEUED"):
            queued.append(command)
        return command, comparable(command, reply, queued)

    def random(self, peer, step, replies):
        paired = [(command, comparable(command, reply)) for command, reply in zip(step.commands, replies)]
        if len(replies) >= 3 and all(reply != ("+", b"QUEUED") for reply in replies):
            if wrong := chosen_rightly(step.commands[:3], replies[:3]):
                paired.append((step.commands[1], ("choice", wrong.encode())))
            # What is there after a choice differs, if it takes something.
            paired[2] = (step.commands[2], (replies[2][0], "checked"))
        return paired

    def raw(self, peer, step, word):
        """The PING comes after the answer: what a server has not read when it closes would take the answer with it."""
        replies = []
        try:
            peer.send(step.raw, step.cuts)
            while peer.can_be_read(0.03):
                replies.append(peer.connection.read(self.patience))
            if not peer.in_multi:
                peer.send(encode([b"PING", word]))
                replies += peer.read_until(lambda replies: replies and is_pong(replies[-1], word), 0.4)
        except (Closed, ConnectionError):
            replies.append(CLOSED)
            peer.reconnect()
        if replies and is_pong(replies[-1], word):
            replies.pop()
        if step.cuts and replies[-1:] == [CLOSED]:
            replies = [CLOSED]
        return [((quoted(step.raw, 40).encode(),), reply) for reply in replies]

    def block(self, step):
        """Sends a command that may block, and waits until the server has seen it."""
        peer = self.peers[step.connection]
        if peer.id is None and not peer.in_multi:
            peer.id = peer.connection.reply(b"CLIENT", b"ID")[1]
        peer.connection.send(*step.commands[0])
        peer.pending = step.commands[0]
        end = time.monotonic() + 0.5
        while time.monotonic() < end and not peer.can_be_read(0.001):
            kind, listed = self.control.reply(b"CLIENT", b"LIST", b"ID", peer.id)
            if kind in "$=" and b" flags=" in listed and b"b" in listed.split(b" flags=")[1].split(b" ")[0]:
                return

    def drained(self, word):
        for peer in self.peers:
            peer.drain(word)
        return [peer.taken() for peer in self.peers]

    def late_messages(self, number, count):
        """Waits for as many messages as the other server has sent."""
        peer = self.peers[number]
        end = time.monotonic() + 0.3
        while len(peer.messages) < count and time.monotonic() < end and peer.can_be_read(0.05):
            peer.messages.append(peer.connection.read())

    def keyspace(self):
        """Every key of the databases in use, with all that can be asked of it."""
        found = {}
        for database in DATABASES:
            self.control.reply(b"SELECT", database)
            kind, keys = self.control.reply(b"KEYS", b"*")
            keys = [key[1] for key in keys] if kind in "*~" else []
            types = self.control.pipeline([[b"TYPE", key] for key in keys])
            lives = self.control.pipeline([[b"PTTL", key] for key in keys])
            contents = self.control.pipeline([content(type, key) for (_, type), key in zip(types, keys)])
            for key, type, life, held in zip(keys, types, lives, contents):
                if type == ("+", b"none"):
                    continue  # it ended just now
                life = Near(life[1], CLOCK_MS) if life[0] == ":" and life[1] > 0 else life
                found[database, key] = (type, life, in_form(type[1], held))
        self.control.reply(b"SELECT", 0)
        return found


def content(type, key):
    return {b"string": [b"GET", key], b"list": [b"LRANGE", key, 0, -1], b"set": [b"SMEMBERS", key], b"hash": [b"HGETALL", key],
            b"zset": [b"ZRANGE", key, 0, -1, b"WITHSCORES"], b"stream": [b"XINFO", b"STREAM", key, b"FULL", b"COUNT", 0]}.get(type, [b"TYPE", key])


def in_form(type, held):
    if type == b"stream":
        return masked(held)
    return comparable({b"set": (b"smembers",), b"hash": (b"hgetall",)}.get(type, (b"x",)), held)


def iterated(peer, command, word):
    """All that a SCAN finds."""
    at = command.index(b"^") if b"^" in command else None
    cursor, found = b"0", []
    for _ in range(LOOPS_MAX):
        words = list(command)
        if at is not None:
            words[at] = cursor
        [reply] = peer.exchange([words], word)[:1] or [CLOSED]
        if reply[0] != "*" or len(reply[1] or []) != 2:
            return reply
        cursor, items = reply[1][0][1], reply[1][1]
        if names(command)[0] in ("hscan", "zscan"):
            found += zip(items[1][::2], items[1][1::2])
        else:
            found += items[1]
        if at is None:
            return reply[0], "one part, by a cursor of our own"
        if cursor == b"0":
            # An element may come several times.
            return items[0], in_order({repr(item): item for item in found}.values())
    return "endless", b""


def restored(peer, words, word):
    source, *rest = words
    [dumped] = peer.exchange([[b"DUMP", source]], word)[:1] or [CLOSED]
    if dumped[0] != "$" or dumped[1] is None:
        return [((b"DUMP", source), dumped)]
    command = [b"RESTORE", *[dumped[1] if part == b"^" else part for part in rest]]
    replies = peer.exchange([command], word)
    return [((b"RESTORE", *rest), reply) for reply in replies]


class Pair:
    """The oracle and the server under test."""

    def __init__(self, oracle, other):
        self.sides = [Side(oracle), Side(other)]
        self.word = 0
        self.coverage = {}  # of each command, how often the oracle answered, and how often without an error

    def close(self):
        for side in self.sides:
            side.close()

    def run(self, steps, dump_every=40, known=lambda signature: False):
        """The differences up to the first after which the servers do not hold the same."""
        for side in self.sides:
            side.fresh()
        found = []
        for number, step in enumerate(steps):
            differences = self.step(number, step, steps)
            if not differences and (number + 1) % dump_every and number + 1 < len(steps):
                continue
            apart = self.apart(number, known)
            fresh = [difference for difference in differences if not known(difference.signature)]
            found += fresh
            if apart:
                # A reply that told of it says more than the keyspace does.
                return found + ([apart] if not differences else [])
            if fresh and any("silent" in difference.signature for difference in fresh):
                return found
        return found

    def step(self, number, step, steps):
        self.word += 1
        word = b"sentinel:%d" % self.word
        if step.kind != "join" and any(side.peers[step.connection].pending is not None for side in self.sides):
            self.join(step.connection, ())
        if step.kind == "block":
            for side in self.sides:
                side.block(step)
            return []
        if step.kind == "join":
            outcomes = self.join(step.connection, step.commands[0] if step.commands else ())
        else:
            outcomes = [side.outcome(step, word) for side in self.sides]
            for command, (kind, _) in outcomes[0]:
                count = self.coverage.setdefault(with_subcommand(command), [0, 0])
                count[0] += 1
                count[1] += kind != "-"
        differences = differing(number, *outcomes)
        return differences + self.messages(number, step, word)

    def join(self, connection, words):
        """The replies to a command that blocked; both servers' clients are unblocked if neither was."""
        peers = [side.peers[connection] for side in self.sides]
        commands = [peer.pending for peer in peers]
        if commands == [None, None]:
            return [[], []]
        here = [peer.pending is None or peer.can_be_read(0.05) for peer in peers]
        outcomes = [[], []]
        if not any(here):
            for outcome, side, peer in zip(outcomes, self.sides, peers):
                command = (b"CLIENT", b"UNBLOCK", b"the id", *words)
                outcome.append((command, side.control.reply(b"CLIENT", b"UNBLOCK", peer.id, *words)))
        for outcome, command, peer in zip(outcomes, commands, peers):
            if command is not None:
                peer.pending = None
                [reply] = peer.read_until(lambda replies: replies, 3)
                outcome.append((command, reply))
        return outcomes

    def messages(self, number, step, word):
        """Whether subscribers got the same."""
        taken = [side.drained(word) for side in self.sides]
        differences = []
        for connection, (oracle, other) in enumerate(zip(*taken)):
            if len(other) < len(oracle):
                self.sides[1].late_messages(connection, len(oracle) - len(other))
                other += self.sides[1].peers[connection].taken()
            if oracle != other:
                at = next((at for at, (one, two) in enumerate(zip(oracle, other)) if one != two), min(len(oracle), len(other)))
                differences.append(difference(number, (f"messages to connection {connection}".encode(),), "message",
                                              (oracle + [("no", b"more")])[at], (other + [("no", b"more")])[at]))
        return differences

    def apart(self, number, known):
        """The first key that differs in a way that is not known, once those that live for a millisecond are gone."""
        time.sleep(0.006)
        oracle, other = (side.keyspace() for side in self.sides)
        for key in sorted(set(oracle) | set(other)):
            one, two = oracle.get(key), other.get(key)
            if one == two:
                continue
            of_type = kind_of_key(one or two)
            one, two = one or (("missing", b""),), two or (("missing", b""),)
            one, two = next((a, b) for a, b in zip(one, two) if a != b)
            found = difference(number, (f"key of database {key[0]}".encode(), key[1]), "keyspace", one, two)
            found.signature = f"keyspace {of_type}: {outline(one)} <> {outline(two)}"
            if not known(found.signature):
                return found
        return None


def kind_of_key(entry):
    (_, type), _, held = entry
    if type == b"string" and isinstance(held[1], bytes) and held[1].startswith(b"HYLL"):
        return "hyperloglog"
    return type.decode()


def differing(number, oracle, other):
    """The first pair of replies that differ, and further ones to other commands."""
    differences = []
    for one, two in zip(oracle, other):
        if one[1] != two[1]:
            differences.append(difference(number, one[0], "reply", one[1], two[1]))
    if len(oracle) != len(other):
        longer = oracle if len(oracle) > len(other) else other
        command, reply = longer[min(len(oracle), len(other))]
        nothing = ("nothing", b"")
        differences.append(difference(number, command, "reply", *((reply, nothing) if longer is oracle else (nothing, reply))))
    return differences


def difference(number, command, what, oracle, other):
    name = with_subcommand(command)
    return Difference(number, " ".join(quoted(word) for word in command), what, shown(oracle), shown(other),
                      f"{name} {what}: {outline(oracle)} <> {outline(other)}")


def with_subcommand(command):
    name, both = names(command)
    return " ".join(both if name in WITH_SUBCOMMANDS else both[:1])


WITH_SUBCOMMANDS = {"client", "command", "config", "object", "xinfo", "xgroup", "script", "function", "pubsub", "memory", "acl", "cluster", "latency",
                    "slowlog"}


def outline(reply):
    """A reply without what changes from one run to the next: for telling one kind of difference from another."""
    if isinstance(reply, Near):
        return "time"
    kind, value = reply
    if kind == "-":
        words = value.decode("latin-1").split(" ")
        kept = [word for word in words[:9] if word.isalpha() or word.isupper()]
        return f"-{' '.join(kept)}"
    if kind in ("closed", "silent", "malformed", "missing", "nothing", "endless", "no"):
        return kind
    if kind == "choice":
        return value.decode("latin-1").split(",")[0]
    if kind == "+":
        return f"+{value.decode('latin-1')}"
    return kind + ("nil" if value is None else "")


def shown(reply, depth=0):
    """A reply for people."""
    if isinstance(reply, Near):
        return repr(reply)
    if not isinstance(reply, tuple) or len(reply) != 2 or not isinstance(reply[0], str):
        return "(" + ", ".join(shown(item, depth + 1) for item in reply) + ")" if isinstance(reply, (tuple, list)) else str(reply)
    kind, value = reply
    if isinstance(value, bytes):
        return f"{kind}{quoted(value)}" if kind in "+-$=," else f"{kind} {quoted(value)}".strip()
    if isinstance(value, list):
        items = [shown(item, depth + 1) for item in value[:12]]
        return f"{kind}{len(value)}[{', '.join(items)}{', …' if len(value) > 12 else ''}]"
    return f"{kind}{'nil' if value is None else value}"
