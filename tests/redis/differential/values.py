"""Where arguments come from: small pools, so that commands meet the same keys, fields and numbers again, with the odd and the
extreme among them.

A key's first letter says what mostly lies there (`l2` is a list), so that most commands find their type, and some do not.
"""

LETTERS = {
    "string": "s",
    "bitmap": "b",
    "list": "l",
    "hash": "h",
    "set": "u",
    "sorted-set": "z",
    "geo": "g",
    "stream": "x",
    "hyperloglog": "p",
}
ODD_KEYS = [b"", b"\x00\xff\r\n", b"a key", b"{s1}2", b"k" * 300, b"\xc3\xa9", b"missing", b"weight_1", b"weight_2", b"h1->f1"]
I64_MAX, I64_MIN = 9223372036854775807, -9223372036854775808

INTEGERS = [0, 1, 2, 3, 5, 10, -1, -2, -3, 100, I64_MAX, I64_MIN, I64_MAX + 1, I64_MIN - 1, 4294967296, b"007", b"+1", b" 1", b"1 ", b"-0",
            b"1.0", b"1e3", b"abc", b"", b"0x10", b"\x00"]
SMALL_INTEGERS = [0, 1, 2, 3, 4, 5, 7, 10, -1, -2, -3, -5]
COUNTS = [0, 1, 2, 3, 5, 10, 100, -1, -2, -5]
ODD_COUNTS = [I64_MAX, I64_MIN, b"abc", b"", b"1.5", I64_MAX + 1]
FLOATS = [0, 1, -1, 2.5, 3.14, 0.1, 0.2, 0.3, 1e10, 100, -2.75, b"3.0", b"1.10", b"5.0e3", b"1e15", b"1e17", b"123456789.123456789", b"-0"]
ODD_FLOATS = [b"inf", b"-inf", b"+inf", b"Infinity", b"nan", b"NaN", b"1e308", b"1e400", b"-1e400", b"1e-400", b"5e-324", b"0x10", b" 1",
              b"1 ", b"abc", b"", b"1.7976931348623157e308", b"9007199254740993", b"1e21", b"1e-7", b"1_0", b"12a", b"1e", b".5", b"5."]
TEXTS = [b"a", b"b", b"c", b"hello", b"Hello World", b"foo bar", b"", b"\x00\x01\xff", b"10", b"-5", b"3.5", b"007", b"\r\n", b"\xe4\xb8\xad",
         b"9223372036854775807", b"9223372036854775808", b"1e3", b"true", b"x" * 20, b"x" * 64, b"x" * 65, b"y" * 130, b"1.0"]
FIELDS = [b"f1", b"f2", b"f3", b"f4", b"a", b"b", b"", b"10", b"\x00\xff", b"F1", b"z" * 70]
MEMBERS = [b"a", b"b", b"c", b"d", b"e", b"m1", b"m2", b"1", b"2", b"10", b"-3", b"", b"\x00\xff", b"A", b"aa", b"ab", b"z" * 70, b"Palermo",
           b"Catania"]
PATTERNS = [b"*", b"s*", b"?1", b"[lhz]1", b"[^s]*", b"[a-m]?", b"h\\1", b"\\*", b"*1", b"**", b"", b"[", b"[a", b"\\", b"*[0-2]", b"[z-a]1", b"f*",
            b"[]", b"[^", b"m?", b"*\x00*"]
CHANNELS = [b"c1", b"c2", b"c3", b"news.art", b"news.music", b"", b"\x00c"]
CHANNEL_PATTERNS = [b"c*", b"news.*", b"*", b"[c]1", b"n?ws.*", b""]
STREAM_IDS = [b"1-1", b"1-2", b"2-0", b"2-1", b"3-5", b"5", b"10-10", b"0-1", b"100-0"]
# XADD with `*` counts on from the newest id if that lies in the future, so such an id makes it predictable.
FUTURE_IDS = [b"9999999999000-0", b"9999999999000-5", b"9999999999001-0"]
ODD_IDS = [b"0-0", b"0", b"-", b"+", b"$", b">", b"abc", b"", b"1-", b"-1", b"1-1-1", b"18446744073709551615-18446744073709551615",
           b"18446744073709551616", b"18446744073709551615-0", b"5-*", b"(1-1", b"(5", b"1-18446744073709551615", b"01-01", b"1-a"]
RANGE_IDS = [b"-", b"+", b"(1-1", b"(3", b"1", b"2-0", b"3-5", b"10", b"9999999999000-0", b"(-", b"0"]
GROUPS = [b"g1", b"g2", b"missing"]
CONSUMERS = [b"alice", b"bob", b""]
SCORE_BOUNDS = [b"-inf", b"+inf", b"(1", b"(2.5", b"1", b"0", b"3", b"(-inf", b"10", b"-1", b"(inf", b"nan", b"(", b"abc", b"((1", b"1e10"]
LEX_BOUNDS = [b"-", b"+", b"[a", b"(a", b"[c", b"(c", b"[", b"(", b"[m1", b"(z", b"a", b"", b"[\xff", b"(b", b"[aa", b"--"]
BIT_OFFSETS = [0, 1, 2, 7, 8, 9, 15, 100, 1000, 65535, 4294967296, -1, b"abc", b"", I64_MAX, b"1.0"]
FIELD_OFFSETS = [0, 1, 7, 8, 33, 100, b"#0", b"#1", b"#5", b"#", b"-1", b"#-1", b"abc", 4294967296, b"#4294967296", b"#9223372036854775807"]
ENCODINGS = [b"u8", b"i8", b"u1", b"i5", b"u16", b"i16", b"u32", b"i64", b"u63", b"u64", b"i65", b"i0", b"u0", b"x8", b"u", b"8", b"I8", b"u8x"]
BYTE_OFFSETS = [0, 1, 2, 3, 5, 10, 100, 4096, 536870912, 536870911 + 5, -1, b"abc", I64_MAX, b"", b"1.5"]
FAR_SECONDS = [100, 1000, 100000, 10000000, 9000000000]
FAR_MILLISECONDS = [100000, 1000000, 10000000, 9000000000000]
ODD_TIMES = [0, -1, -100, I64_MAX, I64_MIN, 9223372036854775, 9223372036854776, 9223370399119966, b"abc", b"", b"1.5"]
FAR_MOMENTS = [33177117420, 4102444800, 9999999999]  # seconds of the years 3021, 2100, 2286
DATABASES = [0, 1, 2, 15, 16, -1, b"abc", I64_MAX]
LONGITUDES = [13.361389, 15.087269, 0, 2.3488, -122.4, 180, -180, 139.6917, 1, 13.361389, 15.087269, 2.3488, -0.1276, 116.4, 180.1, -181, b"abc", b"nan"]
LATITUDES = [38.115556, 37.502669, 0, 48.8534, 37.77, 85, -85, 35.6895, 1, 38.115556, 37.502669, 48.8534, 51.5072, 39.9, 85.1, -86, b"abc", b"inf"]
RADII = [0, 1, 100, 200, 1000, 5000, 20000, 1e6, 1e7, -1, b"abc", b"nan", 0.5]
BLOCK_SECONDS = [0.01, b"0.02", 0.005, -1, b"abc", b"", b"1e400", b"nan", b"0x1p-7", b"-0.5"]
BLOCK_MILLISECONDS = [1, 5, 10, -1, b"abc", b"1.5", b""]
# Counts that never ask for billions of random picks.
NAMED = {
    "value": TEXTS,
    "element": TEXTS,
    "pivot": TEXTS[:6],
    "field": FIELDS,
    "member": MEMBERS,
    "member1": MEMBERS,
    "member2": MEMBERS,
    "message": TEXTS,
    "pattern": PATTERNS,
    "channel": CHANNELS,
    "shardchannel": CHANNELS,
    "group": GROUPS[:1] * 3 + GROUPS,
    "consumer": CONSUMERS,
    "encoding": ENCODINGS,
    "longitude": LONGITUDES,
    "latitude": LATITUDES,
    "radius": RADII,
    "width": RADII,
    "height": RADII,
    "timeout": BLOCK_SECONDS,
    "db": DATABASES,
    "destination-db": DATABASES,
    "min-idle-time": [0, 0, 0, 0, 100000000, -1, b"abc"],
    "ms": [0, 1000, 100000, b"abc"],
    "by-pattern": [b"weight_*", b"nosort", b"h*->f1", b"*", b"missing_*", b"s*", b"#", b"h1->f*", b"*->", b"->f1"],
    "get-pattern": [b"#", b"s*", b"h*->f1", b"missing_*", b"*", b"h1->f1", b"h*->", b"", b"l*"],
    "type": [b"string", b"list", b"set", b"zset", b"hash", b"stream", b"STRING", b"geo", b""],
    "bit": [0, 1, 0, 1, 2, -1, b"abc"],
    "limit": [0, 1, 2, 100, -1, b"abc"],
    "rank": [1, 2, -1, -2, 0, I64_MIN, I64_MAX, -I64_MAX, b"abc"],
    "weight": [1, 2, 0.5, -1, 0, b"inf", b"nan", b"abc", 1.5, b"1e3"],
    "threshold": [0, 1, 3, 100, b"2-0", b"5", b"9999999999000-0", -1, b"abc"],
    "frequency": [0, 5, 255, 256, -1],
    "connection-name": [b"me", b"", b"with space", b"other", b"\n"],
}
# Where a name means something else.
COMMAND_NAMED = {
    ("bitcount", "start"): SMALL_INTEGERS + [100, I64_MAX, I64_MIN, b"abc"],
    ("bitpos", "start"): SMALL_INTEGERS + [100, I64_MAX, I64_MIN, b"abc"],
    ("getbit", "offset"): BIT_OFFSETS,
    ("setbit", "offset"): BIT_OFFSETS,
    ("setbit", "value"): [0, 1, 0, 1, 2, -1, b"abc"],
    ("setrange", "offset"): BYTE_OFFSETS,
    ("bitfield", "offset"): FIELD_OFFSETS,
    ("bitfield_ro", "offset"): FIELD_OFFSETS,
    ("bitfield", "value"): INTEGERS + [255, 256, -128, 127, 128],
    ("bitfield", "increment"): INTEGERS + [255, 256, -128, 127, 128],
    ("zincrby", "increment"): FLOATS + ODD_FLOATS,
    ("hincrbyfloat", "increment"): FLOATS + ODD_FLOATS,
    ("incrbyfloat", "increment"): FLOATS + ODD_FLOATS,
    ("xrange", "start"): RANGE_IDS * 3 + ODD_IDS,
    ("xrange", "end"): RANGE_IDS * 3 + ODD_IDS,
    ("xrevrange", "start"): RANGE_IDS * 3 + ODD_IDS,
    ("xrevrange", "end"): RANGE_IDS * 3 + ODD_IDS,
    ("xpending", "start"): RANGE_IDS,
    ("xpending", "end"): RANGE_IDS,
    ("xpending", "min-idle-time"): [0, 100000000, b"abc"],
    ("xautoclaim", "start"): [b"-", b"0", b"0-0", b"2-0", b"(1-1", b"abc", b"+"],
    ("zcount", "min"): SCORE_BOUNDS,
    ("zcount", "max"): SCORE_BOUNDS,
    ("xreadgroup", "id"): [b">", b">", b">", b"0", b"1-1", b"$", b"abc", b"+"],
    ("xread", "id"): [b"0", b"$", b"1-1", b"2", b"5-0", b"abc", b">", b"9999999999000-0"],
    ("wait", "timeout"): [1, 5, -1, b"abc"],
    ("select", "index"): DATABASES,
    ("copy", "destination-db"): DATABASES,
    ("command|info", "command-name"): [b"get", b"SET", b"config|get", b"nosuch", b"xadd", b"eval"],
    ("command|docs", "command-name"): [b"get", b"nosuch", b"config|get"],
}
for _command in ("zrangebyscore", "zrevrangebyscore", "zremrangebyscore"):
    COMMAND_NAMED[_command, "min"] = COMMAND_NAMED[_command, "max"] = SCORE_BOUNDS
for _command in ("zrangebylex", "zrevrangebylex", "zremrangebylex", "zlexcount"):
    COMMAND_NAMED[_command, "min"] = COMMAND_NAMED[_command, "max"] = LEX_BOUNDS
for _name in ("start", "stop", "min", "max"):
    # ZRANGE is three commands in one.
    for _command in ("zrange", "zrangestore"):
        COMMAND_NAMED[_command, _name] = SMALL_INTEGERS * 3 + SCORE_BOUNDS + LEX_BOUNDS


def key(random, group):
    """Mostly a key where the group's type lies."""
    letter = LETTERS.get(group)
    chance = random.random()
    if letter and chance < 0.86:
        return b"%s%d" % (letter.encode(), random.randint(1, 3))
    if chance < 0.94:
        return b"%s%d" % (random.choice("sblhuzgxp").encode(), random.randint(1, 3))
    return random.choice(ODD_KEYS)


def text(random):
    """A value: now and then one that no small buffer holds."""
    chance = random.random()
    if chance < 0.003:
        return random.randbytes(random.choice([5000, 17000, 70000, 300000]))
    if chance < 0.02:
        return random.randbytes(random.randint(1, 300))
    return random.choice(TEXTS)


def weighed(random, usual, odd, chance=0.1):
    return random.choice(odd if random.random() < chance else usual)


def of(random, command, group, kind, name):
    """The value of an argument, as COMMAND DOCS describes it."""
    name = name.lower()
    if pool := COMMAND_NAMED.get((command, name)):
        return random.choice(pool)
    if kind == "key":
        return key(random, group)
    if name == "element" and random.random() < 0.6:
        return random.choice(TEXTS[:6])
    if name in ("value", "element", "message") and kind == "string":
        return text(random)
    if name == "member" and group == "geo":
        return random.choice([b"Palermo", b"Catania", b"Paris", b"a", b"b"])
    if name == "count":
        return weighed(random, COUNTS, ODD_COUNTS, 0.05)
    if name in ("id", "last-id", "lastid", "max-deleted-id"):
        chance = random.random()
        return random.choice(STREAM_IDS if chance < 0.75 else FUTURE_IDS if chance < 0.8 else ODD_IDS)
    if name in ("seconds", "milliseconds", "ttl") and kind == "integer":
        if name == "milliseconds" and command in ("xread", "xreadgroup"):
            return random.choice(BLOCK_MILLISECONDS)
        far = FAR_SECONDS if name == "seconds" else FAR_MILLISECONDS
        return weighed(random, far, ODD_TIMES, 0.15)
    if kind == "unix-time":
        unit = 1000 if "milli" in name else 1
        return weighed(random, [moment * unit for moment in FAR_MOMENTS], ODD_TIMES + [1], 0.2)
    if name in NAMED:
        return random.choice(NAMED[name])
    if kind == "double":
        return weighed(random, FLOATS, ODD_FLOATS)
    if kind == "integer":
        return weighed(random, SMALL_INTEGERS, INTEGERS, 0.25)
    if kind == "pattern":
        return random.choice(PATTERNS)
    return text(random)
