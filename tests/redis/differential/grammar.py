"""Commands out of COMMAND DOCS: what a server says of its own arguments is a grammar of everything that it understands.

Most commands come out right, with any of their options; a part is then spoilt: an argument too few, too many, twice, at another place.
"""

import json
import pathlib

import values

ORACLE = pathlib.Path(__file__).resolve().parent.parent / "oracle"

# What each --types name stands for: the groups of COMMAND DOCS.
TYPES = {
    "string": ["string"],
    "list": ["list"],
    "hash": ["hash"],
    "set": ["set"],
    "zset": ["sorted-set"],
    "stream": ["stream"],
    "hll": ["hyperloglog"],
    "geo": ["geo"],
    "bitmap": ["bitmap"],
    "generic": ["generic"],
    "transactions": [],
    "scripting": [],
    "pubsub": ["pubsub"],
    "connection": ["connection"],
    "server": ["server"],
    "blocking": [],
    "raw": [],
}
# Not for random use: they end the server, change what it is, or never return; or `situations` has them in a form that can be compared.
LEFT_OUT = {
    "acl", "asking", "auth", "bgrewriteaof", "bgsave", "cluster", "config", "debug", "failover", "function", "eval", "evalsha", "eval_ro",
    "evalsha_ro", "fcall", "fcall_ro", "info", "lastsave", "latency", "lolwut", "migrate", "module", "monitor", "multi", "exec", "discard",
    "watch", "unwatch", "pfdebug", "pfselftest", "psync", "readonly", "readwrite", "replconf", "replicaof", "restore-asking", "role", "save",
    "script", "shutdown", "slaveof", "slowlog", "swapdb", "sync", "time", "waitaof", "quit", "reset", "hello", "memory", "restore", "dump",
    "scan", "sscan", "hscan", "zscan", "spop", "srandmember", "hrandfield", "zrandmember", "randomkey", "client", "flushall", "flushdb",
    "wait", "move", "select",
}
NEVER_ASKED = {"shutdown", "debug", "monitor", "psync", "sync", "quit", "reset", "replicaof", "slaveof", "failover", "subscribe", "psubscribe", "ssubscribe",
               "multi", "migrate", "save", "bgsave", "bgrewriteaof", "replconf", "hello", "restore-asking", "auth"}
LEFT_OUT_SUBCOMMANDS = {"command|list", "command|help", "command|getkeys", "command|getkeysandflags", "command|docs"}
# Options whose effect is the server's own affair: ids by the clock (`situations` has them where they can be predicted), trimming
# by whole nodes, any of the places that are near.
UNPREDICTABLE = {"auto-id", "auto_id", "approximately", "any"}
RARE = {"keys": 0.2, "sort": 1.5, "psubscribe": 0.3, "ssubscribe": 0.3, "subscribe": 0.3, "unsubscribe": 0.5, "del": 0.4, "unlink": 0.3,
        "lcs": 0.5, "command": 0.1, "rename": 0.5, "xgroup": 2, "set": 1.5, "zadd": 2, "sadd": 2, "hset": 2, "rpush": 2, "lpush": 2, "xadd": 3,
        "geoadd": 2, "zrange": 2, "object": 0.3, "copy": 0.7, "xreadgroup": 2, "dbsize": 0.3}


class Grammar:
    """The commands of one version of Redis, without those that are `missing` in the server under test."""

    def __init__(self, version, missing=()):
        self.missing = set(missing)
        self.by_group = {}
        for entry in all_commands(version):
            if entry["name"] not in LEFT_OUT | self.missing:
                self.by_group.setdefault(entry["group"], []).append(entry)

    def has(self, steps):
        """Whether the server under test has all the commands of these steps."""
        return not self.missing or not any(word.decode("latin-1").lower() in self.missing for step in steps for word in first_words(step))

    def command(self, random, group):
        entries = self.by_group[group]
        [entry] = random.choices(entries, [RARE.get(entry["name"], 1) for entry in entries])
        subcommands = [sub for sub in entry["subcommands"] if sub["name"] not in LEFT_OUT_SUBCOMMANDS]
        words = [entry["name"].upper().encode()]
        if subcommands:
            entry = random.choice(subcommands)
            words.append(entry["name"].partition("|")[2].upper().encode())
        arguments = Arguments(random, entry, group)
        command = words + arguments.words(entry.get("arguments", []))
        if random.random() < 0.07:
            command = spoilt(random, command, len(words))
        if random.random() < 0.1:
            command[0] = random.choice([command[0].lower(), command[0].capitalize()])
        return [word if isinstance(word, bytes) else str(word).encode() for word in command]


def all_commands(version):
    name = "commands.json" if version.startswith("7.0") else "commands-7.2.json"
    return json.loads((ORACLE / name).read_text())["commands"]


def first_words(step):
    if step.kind == "restore":
        return [b"DUMP", b"RESTORE"]
    return [command[0] for command in step.commands if command and step.kind not in ("join", "sleep")]


def missing(connection, version):
    """The commands that a server says it does not have."""
    found = []
    for entry in all_commands(version):
        if entry["name"] in NEVER_ASKED:
            continue
        kind, text = connection.reply(entry["name"], *["x"] * (abs(entry["arity"]) - 1))
        if kind == "-" and (b"unknown command" in text or b"not implemented" in text):
            found.append(entry["name"])
    connection.reply("FLUSHALL")
    return found


class Arguments:
    """The arguments of one command while they are made."""

    def __init__(self, random, entry, group):
        self.random, self.name, self.group = random, entry["name"], group
        self.numkeys = None  # where the number of keys to come has to be filled in
        self.keys = None  # how many keys came last

    def words(self, arguments):
        made = []
        for argument in arguments:
            made += self.one(argument, made)
        if self.numkeys is not None and self.random.random() < 0.03:
            made[self.numkeys] = self.random.choice([0, 1, 2, -1, b"abc", 100, values.I64_MAX])
        return made

    def one(self, argument, made):
        flags = argument.get("flags", [])
        if argument["name"] in UNPREDICTABLE or "optional" in flags and self.random.random() > 0.3:
            return []
        times = self.random.choice([1, 1, 2, 3]) if "multiple" in flags else 1
        if argument["name"] in ("weight", "id") and self.keys and self.random.random() < 0.95:
            times = self.keys  # one for each key
        if argument["type"] == "key" and "multiple" in flags:
            self.keys = times
        token = argument.get("token")
        words = []
        for turn in range(times):
            if token is not None and argument["type"] != "pure-token" and (turn == 0 or "multiple_token" in flags):
                words.append(self.cased(token))
            words += self.value(argument)
        if argument["name"] == "numkeys":
            self.numkeys = len(made) + len(words) - 1
        elif argument["type"] == "key" and "multiple" in flags and self.numkeys is not None and self.numkeys < len(made):
            made[self.numkeys] = times
        return words

    def value(self, argument):
        kind = argument["type"]
        if kind == "pure-token":
            return [self.cased(argument["token"])]
        if kind == "oneof":
            choices = [choice for choice in argument["arguments"] if choice["name"] not in UNPREDICTABLE]
            return self.one({**self.random.choice(choices), "flags": []}, []) if choices else []
        if kind == "block":
            made = []
            for part in argument["arguments"]:
                made += self.one(part, made)
            return made
        return [values.of(self.random, self.name, self.group, kind, argument["name"])]

    def cased(self, token):
        token = token.encode()
        if not token:
            return b'""'
        return self.random.choice([token, token, token, token.lower()])


def spoilt(random, command, kept):
    """The command with something wrong; the first `kept` words stay."""
    head, tail = command[:kept], command[kept:]
    how = random.randrange(6)
    if how == 0 and tail:
        del tail[random.randrange(len(tail))]
    elif how == 1 and tail:
        tail.insert(random.randrange(len(tail) + 1), random.choice(tail))
    elif how == 2 and len(tail) > 1:
        at = random.randrange(len(tail) - 1)
        tail[at], tail[at + 1] = tail[at + 1], tail[at]
    elif how == 3 and tail:
        tail[random.randrange(len(tail))] = random.choice([b"", b"abc", b"-1", b"nan", b"1.5", b"\x00", b"COUNT", b"LIMIT", b"NX", b"WITHSCORES"])
    elif how == 4:
        tail.append(random.choice([b"extra", b"1", b"COUNT", b"GET", b"NX", b"XX", b"WITHSCORES", b"LIMIT"]))
    else:
        tail = tail[:random.randrange(len(tail) + 1)]
    return head + tail
