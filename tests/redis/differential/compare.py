"""When two replies are the same: byte for byte, but for what Redis itself leaves open.

Open are the order of sets, hashes and keys, random choices, the clock, and what a server tells of its inside. Everything else,
the types of RESP3 and the texts of errors included, has to be equal.
"""

CLOCK_MS = 5000  # how far the clocks of two servers may be apart when they run the same command

UNORDERED = {"smembers", "sunion", "sinter", "sdiff", "keys", "hkeys", "hvals"}
UNORDERED_MAPS = {"hgetall", ("config", "get"), ("pubsub", "numsub"), ("pubsub", "shardnumsub")}
UNORDERED_LISTS = {("pubsub", "channels"), ("pubsub", "shardchannels")}
RANDOM = {"spop", "srandmember", "hrandfield", "zrandmember", "randomkey"}
# Only that there is an answer of that type.
OWN_AFFAIR = {"time", "lastsave", "info", "lolwut", "role", "dump", "slowlog", "latency", ("client", "id"), ("client", "list"),
              ("client", "info"), ("object", "idletime"), ("object", "refcount"), ("object", "freq"), ("object", "encoding"),
              ("command", "count"), ("memory", "usage"), ("memory", "stats"), ("memory", "doctor"), ("memory", "malloc-stats"),
              ("xinfo", "help"), ("xgroup", "help"), ("object", "help"), ("pubsub", "help"), ("client", "help"), ("command", "help")}
MOMENTS = {"ttl": 1000, "expiretime": 1000, "pttl": 1, "pexpiretime": 1}
XINFO_CLOCK = {b"idle", b"inactive", b"seen-time", b"active-time"}
XINFO_INSIDE = {b"radix-tree-keys", b"radix-tree-nodes"}


class Near:
    """A number that the clock made."""

    def __init__(self, value, tolerance):
        self.value, self.tolerance = value, tolerance

    def __eq__(self, other):
        return isinstance(other, Near) and abs(self.value - other.value) <= self.tolerance

    def __repr__(self):
        return f"about {self.value}"


def names(command):
    """The command, and the command with its subcommand, in lower case."""
    lower = [word.decode("latin-1").lower() for word in command[:2]]
    return (lower[0] if lower else ""), tuple(lower)


def comparable(command, reply, queued=()):
    """What has to be equal of a reply to `command`. `queued` are the commands of the transaction that it ran."""
    kind, value = reply
    name, both = names(command)
    if kind in ("-", "+") or value is None:
        return reply
    if name == "exec" and kind == "*" and len(value) == len(queued):
        return kind, [comparable(inner, item) for inner, item in zip(queued, value)]
    if name in OWN_AFFAIR or both in OWN_AFFAIR:
        return kind, "the server's own affair"
    if name in RANDOM:
        return kind, ("random", len(value) if isinstance(value, list) else 0)
    if name in MOMENTS and kind == ":" and value > 0:
        return kind, Near(value, max(1, CLOCK_MS // MOMENTS[name]))
    if name in UNORDERED or both in UNORDERED_LISTS:
        return kind, in_order(value)
    if name in UNORDERED_MAPS or both in UNORDERED_MAPS:
        return kind, in_order(pairs(reply))
    if name in ("sort", "sort_ro") and isinstance(value, list):
        return kind, in_order(value) if sort_is_open(command) else value
    if name in ("geosearch", "georadius", "georadius_ro", "georadiusbymember", "georadiusbymember_ro") and isinstance(value, list):
        words = {word.lower() for word in command}
        return kind, value if words & {b"asc", b"desc", b"count"} else in_order(value)
    if name == "xinfo":
        return masked(reply)
    if name == "xpending" and len(command) > 3 and isinstance(value, list):
        return kind, [(inner, [item[0], item[1], Near(item[2][1], CLOCK_MS), item[3]]) if isinstance(item, list) and len(item) == 4 else item
                      for inner, item in value]
    if name == "command" and both != ("command", "getkeys"):
        return deep_order(reply)
    if name == "client" and both == ("client", "trackinginfo"):
        return deep_order(reply)
    if name == "hello" and kind in "%*":
        return kind, [(key, item) for key, item in pairs(reply) if key[1] not in (b"id", b"version", b"modules")]
    if name == "function" and both == ("function", "list"):
        return deep_order(reply)
    return reply


def sort_is_open(command):
    """Whether SORT leaves the order open: it does not sort, or sorts texts by something else, which may be equal."""
    words = [word.lower() for word in command]
    if b"by" not in words:
        return False
    by = words[words.index(b"by") + 1:][:1]
    return b"alpha" in words or by != [] and b"*" not in by[0]


def pairs(reply):
    """A map, of RESP3 or flat."""
    kind, value = reply
    return value if kind == "%" else list(zip(value[::2], value[1::2]))


def in_order(items):
    return sorted(items, key=repr)


def deep_order(reply):
    kind, value = reply
    if isinstance(value, list):
        if kind == "%":
            return kind, in_order([(deep_order(key), deep_order(item)) for key, item in value])
        return kind, in_order([deep_order(item) for item in value])
    return reply


def masked(reply):
    """XINFO without the clock and the server's inside."""
    kind, value = reply
    if kind == ":" and 1_500_000_000_000 < value < 2_500_000_000_000:
        return kind, "now"
    if kind == "%":
        return kind, [(key, hidden(key, item)) for key, item in value]
    if kind in "*~" and value:
        if kind == "*" and len(value) % 2 == 0 and all(key[0] == "$" and key[1] for key in value[::2]):
            return kind, [(key, hidden(key, item)) for key, item in zip(value[::2], value[1::2])]
        return kind, [masked(item) for item in value]
    return reply


def hidden(key, item):
    if key[1] in XINFO_INSIDE:
        return item[0], "inside"
    if key[1] in XINFO_CLOCK and item[0] == ":" and item[1] >= 0:
        return item[0], "clock"
    return masked(item)


def chosen_rightly(commands, replies):
    """What is wrong with a random choice, given what was there before and after; None if it is right."""
    before, picked, after = replies
    if "-" in (before[0], picked[0], after[0]):
        return None
    name, _ = names(commands[1])
    there, left = members(before), members(after)
    flat = any(word.lower() in (b"withvalues", b"withscores") for word in commands[1])
    if picked[1] is None:
        return f"{name} finds nothing among {len(there)}" if there and len(commands[1]) == 2 else None
    chosen = members(picked)
    if flat:
        # RESP2 has them flat, RESP3 in pairs.
        chosen = [item[1][0] for item in picked[1]] if picked[1] and picked[1][0][0] == "*" else picked[1][::2]
    if foreign := [item for item in chosen if item not in there]:
        return f"{name} gives {foreign[0]}, which is not there"
    distinct = len(set(map(repr, chosen))) == len(chosen)
    if name == "spop":
        if not distinct:
            return "spop gives a member twice"
        if in_order(left) != in_order([item for item in there if item not in chosen]):
            return "spop does not take what it gives"
    elif not distinct and not (len(commands[1]) > 2 and commands[1][2].startswith(b"-")):
        return f"{name} gives a member twice"
    return None


def members(reply):
    kind, value = reply
    if value is None:
        return []
    if kind == "%":
        return [key for key, _ in value]
    return value if isinstance(value, list) else [reply]
