"""Sequences that single commands do not make: transactions that meet, blocked clients, subscribers, iterations, scripts, expiry.

Each is a function of the generator's `random` and what it may draw from, and returns steps that follow one another.
"""

import hashlib
import re

import values
from scripts import FUNCTIONS, LIBRARIES, SCRIPTS
from steps import Step, commands

PROTOCOL_3 = 1  # the connection that begins with HELLO 3


class Draw:
    """What a situation draws from: the random numbers, a connection, and a second one."""

    def __init__(self, random, grammar, groups, connections=3):
        self.random, self.grammar, self.groups = random, grammar, groups
        self.first = random.randrange(connections)
        self.second = random.choice([other for other in range(connections) if other != self.first])

    def key(self, group):
        return values.key(self.random, group)

    def command(self):
        return self.grammar.command(self.random, self.random.choice(self.groups or ["string", "list", "hash", "set", "sorted-set"]))

    def calm(self):
        """A command that neither blocks nor subscribes."""
        while True:
            command = self.command()
            if not command[0].lower().startswith((b"b", b"sub", b"psub", b"ssub", b"unsub", b"punsub", b"sunsub")) and not any(
                    word.upper() == b"BLOCK" for word in command):
                return command

    def some(self, pool, most=3):
        return [self.random.choice(pool) for _ in range(self.random.randint(1, most))]


# Random choices and iterations.

def random_choice(draw):
    group, before, pick, option = draw.random.choice([
        ("set", [b"SMEMBERS"], b"SRANDMEMBER", []), ("set", [b"SMEMBERS"], b"SPOP", []),
        ("hash", [b"HKEYS"], b"HRANDFIELD", [b"WITHVALUES"]),
        ("sorted-set", [b"ZRANGE", 0, -1], b"ZRANDMEMBER", [b"WITHSCORES"])])
    key = draw.key(group)
    before = [before[0], key, *before[1:]]
    command = [pick, key]
    if draw.random.random() < 0.7:
        command.append(draw.random.choice([0, 1, 2, 5, 100, -1, -5, values.I64_MIN, b"abc", values.I64_MAX if pick == b"SPOP" else 3]))
        if option and draw.random.random() < 0.5:
            command += option
    steps = [commands(draw.first, before, command, before, whole=True, kind="random")]
    if pick == b"SPOP":
        # What is left differs from server to server.
        steps.append(commands(draw.first, [b"DEL", key]))
    return [steps[0]] if len(steps) == 1 else [merged(steps)]


def merged(steps):
    """One step of several, that stays together."""
    return Step(steps[0].kind, steps[0].connection, tuple(command for step in steps for command in step.commands), whole=True)


def random_key(draw):
    return [commands(draw.first, [b"KEYS", b"*"], [b"RANDOMKEY"], [b"KEYS", b"*"], whole=True, kind="random")]


def scan(draw):
    name, group = draw.random.choice([(b"SCAN", None), (b"SSCAN", "set"), (b"HSCAN", "hash"), (b"ZSCAN", "sorted-set")])
    command = [name] + ([draw.key(group)] if group else []) + [b"^"]
    if draw.random.random() < 0.4:
        command += [b"MATCH", draw.random.choice(values.PATTERNS)]
    if draw.random.random() < 0.4:
        command += [b"COUNT", draw.random.choice([1, 3, 10, 1000, 0, -1, b"abc"])]
    if name == b"SCAN" and draw.random.random() < 0.4:
        command += [b"TYPE", draw.random.choice(values.NAMED["type"])]
    if draw.random.random() < 0.1:
        command[command.index(b"^")] = draw.random.choice([b"abc", b"-1", b"", b"18446744073709551616"])
    return [commands(draw.first, command, kind="scan")]


# Many of something: past the sizes at which Redis changes how it keeps them.

def many(draw):
    count = draw.random.choice([130, 200, 520, 1100])
    numbers = [b"%d" % draw.random.randrange(-count, count) for _ in range(count)]
    group, command = draw.random.choice([
        ("list", lambda key: [b"RPUSH", key, *numbers]),
        ("set", lambda key: [b"SADD", key, *numbers]),
        ("set", lambda key: [b"SADD", key, *[b"m" + number for number in numbers]]),
        ("hash", lambda key: [b"HSET", key, *[part for number in numbers for part in (b"f" + number, number)]]),
        ("sorted-set", lambda key: [b"ZADD", key, *[part for number in numbers for part in (number, b"m" + number)]]),
        ("hyperloglog", lambda key: [b"PFADD", key, *numbers]),
        ("hyperloglog", lambda key: [b"PFADD", key, *[b"element:%d" % (draw.random.randrange(1 << 40)) for _ in numbers]]),
    ])
    steps = [commands(draw.first, command(draw.key(group)))]
    if group == "hyperloglog":
        steps.append(commands(draw.first, [b"PFCOUNT", draw.key(group)], [b"PFCOUNT", b"p1", b"p2", b"p3"]))
    return steps


# Time.

def expiry(draw):
    key = draw.key(draw.random.choice(["string", "list", "hash", "sorted-set"]))
    command = draw.random.choice([[b"PEXPIRE", key, 1], [b"SET", key, b"v", b"PX", 1], [b"PSETEX", key, 1, b"v"], [b"GETEX", key, b"PX", 1],
                                  [b"EXPIREAT", key, 1], [b"EXPIRE", key, -1], [b"PEXPIRE", key, 1, b"NX"]])
    return [commands(draw.first, command), commands(draw.first, [5], kind="sleep"),
            commands(draw.first, [b"EXISTS", key], [b"TTL", key], [b"TYPE", key], [b"GET", key])]


# Streams whose next id can be told, and groups of consumers.

def stream_ahead(draw):
    key = draw.key("stream")
    options = draw.random.choice([[], [b"NOMKSTREAM"], [b"MAXLEN", 5], [b"MAXLEN", b"=", 3], [b"MINID", b"2-0"], [b"MAXLEN", b"~", 1000000],
                                  [b"MINID", b"~", 0], [b"MAXLEN", b"~", 1000000, b"LIMIT", 10]])
    return [commands(draw.first, [b"XADD", key, draw.random.choice(values.FUTURE_IDS), b"f1", b"ahead"],
                     [b"XADD", key, *options, b"*", *draw.some(values.FIELDS, 1), b"v"], whole=True)]


def stream_group(draw):
    key, group, consumer = draw.key("stream"), draw.random.choice(values.GROUPS), draw.random.choice(values.CONSUMERS)
    steps = [commands(draw.first, [b"XGROUP", b"CREATE", key, group, draw.random.choice([b"0", b"$", b"1-1"]), b"MKSTREAM"])]
    steps.append(commands(draw.second, *[[b"XADD", key, id, b"f1", b"v"] for id in (b"3-*", b"4-*")]))
    steps.append(commands(draw.first, [b"XREADGROUP", b"GROUP", group, consumer, *draw.random.choice([[], [b"COUNT", 1], [b"NOACK"]]),
                                       b"STREAMS", key, b">"]))
    steps.append(commands(draw.second, *draw.random.sample([
        [b"XPENDING", key, group], [b"XPENDING", key, group, b"-", b"+", 10], [b"XPENDING", key, group, b"-", b"+", 10, consumer],
        [b"XINFO", b"STREAM", key], [b"XINFO", b"GROUPS", key], [b"XINFO", b"CONSUMERS", key, group], [b"XINFO", b"STREAM", key, b"FULL"],
        [b"XACK", key, group, b"3-0", b"4-0"], [b"XAUTOCLAIM", key, group, b"bob", 0, b"0", b"COUNT", 2],
        [b"XCLAIM", key, group, b"bob", 0, b"3-0", b"JUSTID"], [b"XREADGROUP", b"GROUP", group, consumer, b"STREAMS", key, b"0"],
        [b"XDEL", key, b"3-0"], [b"XGROUP", b"DELCONSUMER", key, group, consumer], [b"XTRIM", key, b"MAXLEN", 2]], 4)))
    return steps


# Clients that wait.

def blocked(draw):
    group, waits, wakes = draw.random.choice([
        ("list", lambda key: draw.random.choice([
            [b"BLPOP", key, b"l3", 0], [b"BRPOP", key, 0], [b"BLMOVE", key, b"l3", b"LEFT", b"RIGHT", 0], [b"BRPOPLPUSH", key, key, 0],
            [b"BLMPOP", 0, 2, key, b"l2", b"RIGHT", b"COUNT", 2]]),
         lambda key: draw.random.choice([[b"LPUSH", key, b"a", b"b", b"c"], [b"RPUSH", key, b"a"], [b"RENAME", b"l3", key], [b"SET", key, b"x"],
                                         [b"EVAL", b"redis.call('RPUSH', KEYS[1], 'x', 'y'); return redis.call('LPOP', KEYS[1])", 1, key],
                                         [b"SORT", b"l2", b"STORE", key], [b"COPY", b"l2", key, b"REPLACE"]])),
        ("sorted-set", lambda key: draw.random.choice([
            [b"BZPOPMIN", key, b"z3", 0], [b"BZPOPMAX", key, 0], [b"BZMPOP", 0, 1, key, b"MIN", b"COUNT", 10]]),
         lambda key: draw.random.choice([[b"ZADD", key, 1, b"a", 2, b"b"], [b"ZINCRBY", key, 2.5, b"c"], [b"ZUNIONSTORE", key, 1, b"z2"],
                                         [b"ZRANGESTORE", key, b"z2", 0, 1]])),
        ("stream", lambda key: draw.random.choice([
            [b"XREAD", b"BLOCK", 0, b"STREAMS", key, b"$"], [b"XREAD", b"COUNT", 1, b"BLOCK", 0, b"STREAMS", key, b"x3", b"$", b"$"],
            [b"XREADGROUP", b"GROUP", b"g1", b"alice", b"BLOCK", 0, b"STREAMS", key, b">"]]),
         lambda key: draw.random.choice([[b"XADD", key, b"50-*", b"f", b"v"], [b"DEL", key], [b"XGROUP", b"DESTROY", key, b"g1"],
                                         [b"SET", key, b"x"]])),
    ])
    key = draw.key(group)
    steps = []
    if draw.random.random() < 0.7:
        steps.append(commands(draw.first, [b"DEL", key]))
    if group == "stream":
        steps.append(commands(draw.first, [b"XGROUP", b"CREATE", key, b"g1", b"$", b"MKSTREAM"]))
    steps.append(commands(draw.first, waits(key), kind="block"))
    wake = [wakes(key) for _ in range(draw.random.randint(0, 2))]
    if wake and draw.random.random() < 0.3:
        wake = [[b"MULTI"], *wake, [b"EXEC"]]
    if wake:
        steps.append(commands(draw.second, *wake, whole=wake[0] == [b"MULTI"]))
    steps.append(commands(draw.first, draw.random.choice([[], [b"ERROR"], [b"TIMEOUT"]]), kind="join"))
    return steps


# Transactions.

def transaction(draw):
    steps, key = [], draw.key(draw.random.choice(["string", "list", "hash", "sorted-set"]))
    watched = draw.random.random() < 0.5
    if watched:
        steps.append(commands(draw.first, [b"WATCH", key, *draw.some([b"s1", b"l1", b"missing"], 2)]))
        if draw.random.random() < 0.6:
            steps.append(commands(draw.random.choice([draw.first, draw.second]),
                                  draw.random.choice([draw.calm(), [b"DEL", key], [b"SET", key, b"1"], [b"APPEND", key, b""], [b"TOUCH", key],
                                                      [b"PEXPIRE", key, 100000], [b"FLUSHDB"], [b"GET", key], [b"UNWATCH"],
                                                      [b"PERSIST", key], [b"SADD", key, b"a"]])))
    inside = [draw.calm() for _ in range(draw.random.randint(0, 5))]
    if draw.random.random() < 0.3:
        inside.insert(0, draw.random.choice([[b"MULTI"], [b"WATCH", b"s1"], [b"NOSUCH", b"x"], [b"GET"], [b"INCR", b"s1", b"2"], [b"UNWATCH"],
                                             [b"BLPOP", b"l3", 0], [b"HELLO", 3], [b"EVAL", b"return redis.call('INCR', KEYS[1])", 1, b"s1"],
                                             [b"PING"], [b"SELECT", 1], [b"EXEC", b"x"], [b"WAIT", 0, 0]]))
    whole = [[b"MULTI"], *inside, draw.random.choice([[b"EXEC"], [b"EXEC"], [b"EXEC"], [b"EXEC"], [b"DISCARD"], [b"RESET"]])]
    if [b"SELECT", 1] in inside:
        whole.append([b"SELECT", 0])
    if draw.random.random() < 0.5:
        steps.append(commands(draw.first, *whole, whole=True))
    else:
        steps += [commands(draw.first, command) for command in whole]
    return steps


def transaction_errors(draw):
    return [commands(draw.first, draw.random.choice([[b"EXEC"], [b"DISCARD"], [b"MULTI", b"x"], [b"WATCH"], [b"UNWATCH"], [b"UNWATCH", b"x"],
                                                     [b"DISCARD", b"x"]]))]


# Scripts.

def script(draw):
    body = draw.random.choice(SCRIPTS)
    kind = draw.random.choice(["string", "list", "hash", "set", "sorted-set"])
    if b"ZADD" in body or b"ZRANGE" in body or b"ZSCORE" in body:
        kind = "sorted-set"
    tail = draw.random.choice([[1, draw.key(kind), b"10"], [1, draw.key(kind), b"text"], [0], [2, draw.key(kind), b"s2", b"a", b"b"], [0, b"x"]])
    if draw.random.random() < 0.05:
        tail = draw.random.choice([[b"abc"], [-1], [5, b"k"], []])
    name = draw.random.choice([b"EVAL", b"EVAL", b"EVAL", b"EVAL_RO", b"EVALSHA", b"EVALSHA_RO"])
    if b"SHA" in name:
        sha = hashlib.sha1(body).hexdigest().encode()
        sha = draw.random.choice([sha, sha, sha.upper(), b"abc"])
        load = draw.random.choice([[[b"SCRIPT", b"LOAD", body]], []])
        return [commands(draw.first, *load, [name, sha, *tail], [b"SCRIPT", b"EXISTS", sha, b"0" * 40])]
    return [commands(draw.first, [name, body, *tail])]


def script_management(draw):
    return [commands(draw.first, draw.random.choice([
        [b"SCRIPT", b"FLUSH"], [b"SCRIPT", b"FLUSH", b"ASYNC"], [b"SCRIPT", b"FLUSH", b"x"], [b"SCRIPT", b"KILL"], [b"SCRIPT", b"NOSUCH"],
        [b"SCRIPT", b"LOAD"], [b"SCRIPT", b"EXISTS"], [b"FUNCTION", b"KILL"], [b"FUNCTION", b"NOSUCH"], [b"FUNCTION", b"DUMP", b"x"],
        [b"SCRIPT", b"LOAD", b"return ("]]))]


def function(draw):
    library = draw.random.choice(LIBRARIES[:4] * 5 + LIBRARIES)
    load = [b"FUNCTION", b"LOAD", *draw.random.choice([[], [b"REPLACE"], [b"REPLACE"]]), library]
    of_library = re.search(rb"\bf\d\b", library)
    name = of_library[0] if of_library and draw.random.random() < 0.7 else draw.random.choice(FUNCTIONS)
    tail = draw.random.choice([[0], [0, b"x", b"y"], [1, draw.key("string"), b"x"], [1, draw.key("string")], [1, draw.key("hash")]])
    if draw.random.random() < 0.1:
        tail = draw.random.choice([[b"abc"], [-1], [3, b"k"], []])
    call = [draw.random.choice([b"FCALL", b"FCALL", b"FCALL_RO"]), name, *tail]
    manage = draw.random.choice([
        [b"FUNCTION", b"LIST"], [b"FUNCTION", b"LIST", b"WITHCODE"], [b"FUNCTION", b"LIST", b"LIBRARYNAME", b"lib*"],
        [b"FUNCTION", b"DELETE", b"lib1"], [b"FUNCTION", b"DELETE", b"nosuch"], [b"FUNCTION", b"STATS"],
        [b"FUNCTION", b"LIST"], [b"FUNCTION", b"FLUSH"], [b"FUNCTION", b"FLUSH", b"x"],
        [b"FUNCTION", b"LIST", b"x"], [b"FUNCTION", b"LOAD"], [b"FUNCTION", b"RESTORE", b"garbage"]])
    return [commands(draw.first, load, call, *([manage] if draw.random.random() < 0.5 else []))]


# Publishers and subscribers.

def subscription(draw):
    kind = draw.random.choice([b"", b"", b"P", b"S"])
    pool = values.CHANNEL_PATTERNS if kind == b"P" else values.CHANNELS
    steps = [commands(draw.first, [kind + b"SUBSCRIBE", *draw.some(pool)])]
    for _ in range(draw.random.randint(1, 3)):
        steps.append(commands(draw.second, draw.random.choice([
            [b"PUBLISH", draw.random.choice(values.CHANNELS), values.text(draw.random)],
            [b"SPUBLISH", draw.random.choice(values.CHANNELS), b"m"],
            [b"PUBSUB", b"CHANNELS"], [b"PUBSUB", b"NUMPAT"], [b"PUBSUB", b"NUMSUB", b"c1", b"c2"], [b"PUBSUB", b"SHARDCHANNELS"],
            [b"PUBSUB", b"SHARDNUMSUB", b"c1"], [b"PUBSUB", b"CHANNELS", b"c*"]])))
    steps.append(commands(draw.first, draw.random.choice([[b"PING"], [b"PING", b"x"], [b"GET", b"s1"], [b"PUBLISH", b"c1", b"own"],
                                                          [b"SUBSCRIBE", b"c3"], [kind + b"UNSUBSCRIBE", *draw.some(pool, 1)]])))
    # In RESP2 a subscriber is of no other use.
    steps.append(commands(draw.first, *draw.random.choice([[[b"UNSUBSCRIBE"], [b"PUNSUBSCRIBE"], [b"SUNSUBSCRIBE"]], [[b"RESET"]]])))
    return steps


def notifications(draw):
    """What is told of changes. Not of keys that expire: when that is noticed is the server's own affair."""
    letters = draw.random.choice([b"KEg$lshztn", b"KEg$lshztn", b"Eg$lshzt", b"Kn", b"Elg"])
    steps = [commands(draw.second, [b"CONFIG", b"SET", b"notify-keyspace-events", letters]), commands(draw.first, [b"PSUBSCRIBE", b"__key*__:*"])]
    steps += [commands(draw.second, draw.calm()) for _ in range(draw.random.randint(1, 6))]
    return [*steps, commands(draw.first, [b"PUNSUBSCRIBE"]), commands(draw.second, [b"CONFIG", b"SET", b"notify-keyspace-events", b""])]


def tracking(draw):
    mode = draw.random.choice([[], [b"BCAST"], [b"BCAST", b"PREFIX", b"s"], [b"OPTIN"], [b"OPTOUT"], [b"NOLOOP"]])
    reads = [[b"GET", b"s1"], [b"HGETALL", b"h1"], [b"MGET", b"s1", b"s2"]]
    if mode == [b"OPTIN"]:
        reads.insert(0, [b"CLIENT", b"CACHING", b"YES"])
    steps = [commands(PROTOCOL_3, [b"HELLO", 3], [b"CLIENT", b"TRACKING", b"ON", *mode]), commands(PROTOCOL_3, *reads, whole=True)]
    steps.append(commands(draw.random.randrange(3), draw.random.choice([[b"SET", b"s1", b"new"], [b"DEL", b"s1", b"s2"], [b"HSET", b"h1", b"f1", b"x"],
                                                                         [b"EXPIRE", b"s1", 100], [b"FLUSHDB"]])))
    steps.append(commands(PROTOCOL_3, [b"CLIENT", b"TRACKINGINFO"], [b"CLIENT", b"GETREDIR"], [b"CLIENT", b"TRACKING", b"OFF"]))
    return steps


# Connections and the server.

def connection(draw):
    return [commands(draw.first, *draw.random.choice([
        [[b"HELLO"]], [[b"HELLO", 2]], [[b"HELLO", 3]], [[b"HELLO", 4]], [[b"HELLO", b"abc"]], [[b"HELLO", 3, b"SETNAME", b"n"], [b"CLIENT", b"GETNAME"]],
        [[b"HELLO", 3, b"AUTH", b"default", b"x"]], [[b"HELLO", 3, b"NOSUCH"]], [[b"RESET"]], [[b"QUIT"]],
        [[b"CLIENT", b"SETNAME", b"name"], [b"CLIENT", b"GETNAME"]], [[b"CLIENT", b"SETNAME", b"a b"]], [[b"CLIENT", b"SETNAME", b""]],
        [[b"CLIENT", b"NO-EVICT", b"ON"]], [[b"CLIENT", b"NO-TOUCH", b"ON"], [b"CLIENT", b"NO-TOUCH", b"OFF"]], [[b"CLIENT", b"ID"]],
        [[b"CLIENT", b"SETINFO", b"LIB-NAME", b"x"]], [[b"CLIENT", b"SETINFO", b"LIB-NAME", b"a b"]], [[b"CLIENT", b"NOSUCH"]],
        [[b"CLIENT", b"UNBLOCK", 999999]], [[b"CLIENT", b"UNBLOCK", b"abc"]], [[b"CLIENT", b"KILL", b"ID", 999999]], [[b"CLIENT", b"KILL", b"1.1.1.1:1"]],
        [[b"CLIENT", b"REPLY", b"SKIP"], [b"INCR", b"s1"], [b"GET", b"s1"]], [[b"CLIENT", b"REPLY", b"OFF"], [b"GET", b"s1"], [b"CLIENT", b"REPLY", b"ON"]],
        [[b"CLIENT", b"CACHING", b"YES"]], [[b"CLIENT", b"TRACKING", b"ON", b"OPTIN", b"OPTOUT"]], [[b"CLIENT", b"LIST", b"TYPE", b"nosuch"]],
        [[b"CLIENT", b"LIST"]], [[b"CLIENT", b"INFO"]], [[b"CLIENT", b"PAUSE", b"abc"]], [[b"CLIENT", b"UNPAUSE"]], [[b"CLIENT"]],
        [[b"AUTH", b"x"]], [[b"AUTH", b"default", b"x"]], [[b"AUTH", b"nosuch", b"x"]], [[b"AUTH"]], [[b"ECHO", b"x"]], [[b"PING", b"a", b"b"]],
        [[b"SELECT", 1], [b"SET", b"s1", b"other"], [b"DBSIZE"], [b"SELECT", 0]], [[b"SELECT", 16]], [[b"SELECT", b"abc"]], [[b"NOSUCH", b"a", b"b" * 200]],
        [[b"GET"]], [[b"SELECT", 1], [b"MOVE", b"s1", 0], [b"SELECT", 0]], [[b"MOVE", draw.key("list"), 1]], [[b"MOVE", b"s1", b"abc"]], [[b"MOVE", b"s1", 0]],
        [[b"MOVE", b"s1", 99]], [[b"SWAPDB", 0, 1]], [[b"SWAPDB", 0, 99]], [[b"SWAPDB", b"a", 1]], [[b"FLUSHDB"]], [[b"FLUSHDB", b"SYNC"]], [[b"FLUSHDB", b"x"]],
        [[b"FLUSHALL", b"ASYNC"]], [[b"WAIT", 0, 1]], [[b"WAIT", b"abc", 1]], [[b"WAIT", 0, -1]], [[b""]], [[b"\x00\xff"]], [[b"GET\r\n", b"x"]],
    ]), whole=True)]


def server(draw):
    return [commands(draw.first, *draw.random.choice([
        [[b"COMMAND", b"GETKEYS", *draw.calm()]], [[b"COMMAND", b"GETKEYS", *draw.calm()]], [[b"COMMAND", b"INFO", b"get", b"config|get", b"nosuch"]],
        [[b"COMMAND", b"LIST", b"FILTERBY", b"PATTERN", b"x*"]], [[b"COMMAND", b"LIST", b"FILTERBY", b"ACLCAT", b"geo"]],
        [[b"COMMAND", b"LIST", b"FILTERBY", b"MODULE", b"x"]], [[b"COMMAND", b"NOSUCH"]], [[b"COMMAND", b"GETKEYSANDFLAGS", *draw.calm()]],
        [[b"CONFIG", b"GET", b"maxmemory-policy"]], [[b"CONFIG", b"GET", b"nosuch"]], [[b"CONFIG", b"SET", b"nosuch", b"1"]], [[b"CONFIG", b"GET"]],
        [[b"CONFIG", b"SET", b"maxmemory", b"abc"]], [[b"CONFIG", b"NOSUCH"]], [[b"CONFIG", b"RESETSTAT"]], [[b"CONFIG", b"GET", b"databases", b"appendonly"]],
        [[b"INFO"]], [[b"INFO", b"nosuch"]], [[b"MEMORY", b"USAGE", draw.key("list")]], [[b"MEMORY", b"USAGE", b"s1", b"SAMPLES", b"abc"]],
        [[b"TIME"]], [[b"LASTSAVE"]], [[b"ROLE"]], [[b"ACL", b"WHOAMI"]], [[b"ACL", b"CAT", b"nosuch"]], [[b"ACL", b"GETUSER", b"nosuch"]], [[b"ACL", b"USERS"]],
        [[b"ACL", b"DRYRUN", b"default", b"GET", b"s1"]], [[b"DBSIZE"]], [[b"DEBUG", b"NOSUCH"]], [[b"SLOWLOG", b"LEN"]], [[b"SLOWLOG", b"GET", b"abc"]],
        [[b"LATENCY", b"NOSUCH"]], [[b"OBJECT", b"HELP"]], [[b"LOLWUT"]], [[b"REPLICAOF", b"NO", b"ONE"]],
        [[b"CLUSTER", b"INFO"]], [[b"CLUSTER", b"KEYSLOT", b"x"]], [[b"READONLY"]], [[b"ASKING"]],
    ]))]


def restore(draw):
    source, group = draw.random.choice([(b"s1", "string"), (b"l1", "list"), (b"h1", "hash"), (b"u1", "set"), (b"z1", "sorted-set"), (b"x1", "stream"),
                                        (b"missing", "string")])
    options = draw.random.choice([[], [b"REPLACE"], [b"REPLACE", b"ABSTTL"], [b"IDLETIME", 5], [b"FREQ", 5], [b"NOSUCH"], [b"REPLACE", b"IDLETIME", -1]])
    ttl = draw.random.choice([0, 0, 0, 100000, -1, b"abc", 33177117420000])
    return [commands(draw.first, [source, draw.key(group), ttl, b"^", *options], kind="restore")]


def restore_garbage(draw):
    return [commands(draw.first, [b"RESTORE", draw.key("string"), 0, draw.random.choice([b"", b"garbage", b"\x00\x01\x00\x09\x00", b"\x00" * 30])])]


# Bytes that are no array of bulk strings, or none that may be.

RAW = [
    b"PING\r\n", b"PING\n", b"ping hello\r\n", b"\r\nPING\r\n", b"   PING   \r\n", b"SET s1 \"a b\"\r\nGET s1\r\n", b"SET s1 'it''s'\r\n", b"SET s1 \"\\x41\\n\"\r\nGET s1\r\n",
    b"SET s1 'a\\'b'\r\nGET s1\r\n", b"SET s1 \"open\r\n", b"GET s1 \"a\"b\r\n", b"*0\r\nPING\r\n", b"*-1\r\nPING\r\n", b"*1\r\n$4\r\nPING\r\n", b"*1\n$4\nPING\n",
    b"*x\r\n", b"*99999999999\r\n", b"*1048577\r\n$4\r\nPING\r\n", b"*2147483648\r\n", b"*1\r\n$-1\r\n", b"*1\r\n$x\r\n", b"*1\r\n$536870913\r\n", b"*1\r\n:4\r\n", b"*1\r\nPING\r\n",
    b"*1\r\n$4\r\nPINGxx", b"*2\r\n$3\r\nGET\r\n$2\r\ns1\r\n", b"*2\r\n$3\r\nget\r\n$0\r\n\r\n", b"*1\r\n$0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n",
    b"Host: x\r\n", b"\x00\x00\x00\r\n", b"\xff\xfe\r\n", b"*3\r\n$3\r\nSET\r\n$2\r\ns1\r\n$3\r\na\r\n\r\n", b"*01\r\n$4\r\nPING\r\n", b"*+1\r\n$4\r\nPING\r\n", b"*1\r\n$04\r\nPING\r\n",
    b"* 1\r\n$4\r\nPING\r\n", b"MULTI\r\nSET s1 1\r\nEXEC\r\n", b"$4\r\nPING\r\n", b"+PING\r\n", b"SET s1 " + b"x" * 40000 + b"\r\n", b"y" * 70000, b"*1\r\n$" + b"1" * 70000,
]


def raw(draw):
    data = draw.random.choice(RAW)
    cuts = tuple(sorted(draw.random.sample(range(1, len(data)), min(2, len(data) - 1)))) if draw.random.random() < 0.5 and len(data) > 2 else ()
    return [Step("raw", draw.first, raw=data, cuts=cuts)]


# By the types that --types names: (weight beside one command out of the grammar, situation).
SITUATIONS = {
    "string": [(0.05, expiry)],
    "list": [(0.03, many), (0.02, expiry)],
    "hash": [(0.03, many), (0.1, random_choice), (0.05, scan)],
    "set": [(0.03, many), (0.15, random_choice), (0.05, scan)],
    "zset": [(0.03, many), (0.08, random_choice), (0.05, scan)],
    "stream": [(0.1, stream_ahead), (0.15, stream_group)],
    "hll": [(0.1, many)],
    "geo": [],
    "bitmap": [],
    "generic": [(0.1, scan), (0.1, random_key), (0.1, restore), (0.03, restore_garbage), (0.1, expiry), (0.05, many)],
    "transactions": [(8, transaction), (1, transaction_errors)],
    "scripting": [(8, script), (1, script_management), (2, function)],
    "pubsub": [(1, subscription), (0.2, tracking), (0.5, notifications)],
    "connection": [(6, connection)],
    "server": [(6, server)],
    "blocking": [(1, blocked)],
    "raw": [(1, raw)],
}
# How often a type comes up beside the others.
WEIGHTS = {"string": 6, "list": 6, "hash": 6, "set": 6, "zset": 8, "stream": 8, "hll": 2, "geo": 3, "bitmap": 4, "generic": 6, "transactions": 3,
           "scripting": 4, "pubsub": 2, "connection": 1.5, "server": 1, "blocking": 1, "raw": 0.7}
