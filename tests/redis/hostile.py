"""Clients that break the rules or ask for too much, beside one that must not notice.

    python3 tests/redis/hostile.py --redis 127.0.0.1:6379 --pid PID       with the server's process, its memory is watched, too
    python3 tests/redis/hostile.py --redis … lua keys                     tests with these in their names
    python3 tests/redis/hostile.py                                        a Redis of its own, leniently (see --lenient)

Of each test: the server lives, the neighbour's GETs are answered rightly and within --pause seconds, the process does not grow by
more than --resident MiB while it lasts, and errors have Redis's texts. All data of the server are lost.

--lenient is for Redis itself, which has one thread and no limit on what clients do with its memory: pauses and growth are told, not
judged, and what would stop or fill it is left out.
"""

import argparse
import os
import pathlib
import random
import resource
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(1, str(HERE / "oracle"))
from resp import Closed, Connection, Malformed, address, encode  # noqa: E402
from server import Server  # noqa: E402

MIB = 1 << 20
TESTS = []


class Wrong(Exception):
    """The server did not do what it has to."""


def test(function=None, *, stops_redis=False):
    """`stops_redis`: Redis itself would hang or run out of memory."""
    def add(function):
        function.stops_redis = stops_redis
        TESTS.append(function)
        return function
    return add(function) if function else add


class Neighbour:
    """A well-behaved client in a thread of its own, and what it met."""

    def __init__(self, server, pid):
        self.server, self.pid = server, pid
        self.longest, self.asked, self.problems, self.running = 0.0, 0, [], True
        self.base = self.peak = resident(pid)
        with Connection(server) as connection:
            connection.ask("MSET", *[part for n in range(100) for part in (f"neighbour:{n}", f"value {n}")])
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        try:
            with Connection(self.server, timeout=120) as connection:
                while self.running:
                    n = self.asked % 100
                    started = time.monotonic()
                    reply = connection.reply("GET", f"neighbour:{n}")
                    self.longest = max(self.longest, time.monotonic() - started)
                    if reply != ("$", b"value %d" % n) and not reply[1].startswith(b"BUSY"):
                        self.problems.append(f"GET neighbour:{n} answered {reply}")
                        return
                    self.asked += 1
                    if self.asked % 10 == 0:
                        self.peak = max(self.peak, resident(self.pid))
                    time.sleep(0.003)
        except Exception as error:
            self.problems.append(f"the neighbour: {error!r}")

    def end(self):
        self.running = False
        self.thread.join(130)
        self.peak = max(self.peak, resident(self.pid))


def resident(pid):
    """MiB, or 0 where the process is not known."""
    if not pid:
        return 0
    try:
        with open(f"/proc/{pid}/status") as status:
            return next((int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:")), 0)
    except OSError:
        return 0


class Attack:
    """What a test gets: connections that end with it."""

    def __init__(self, server, many):
        self.server, self.many, self.open = server, many, []

    def connect(self, **options):
        connection = Connection(self.server, **options)
        self.open.append(connection)
        return connection

    def end(self):
        for connection in self.open:
            connection.close()


def equal(got, wanted):
    if got != wanted:
        raise Wrong(f"{str(got)[:200]} instead of {str(wanted)[:200]}")


def refused(attack, data, text):
    """Bytes that have to be answered with an error, and the end of the connection."""
    connection = attack.connect()
    try:
        connection.send_raw(data)
    except Closed:
        return  # it was closed before all was sent, and took the answer with it
    try:
        equal(connection.read(10), ("-", text))
    except Closed:
        return
    if not connection.is_closed(10):
        raise Wrong(f"the connection stays open after {text.decode()}")


def error_or(reply, *wanted):
    """A reply that may be an error that says what is too much."""
    if reply[0] != "-" and reply not in wanted:
        raise Wrong(f"{str(reply)[:200]}")


# Requests that are none, or never end.

@test
def half_requests(attack):
    for n in range(300):
        attack.connect().send_raw(random.choice([b"*2\r\n$3\r\nGE", b"*", b"*3\r\n", b"*2\r\n$3\r\nGET\r\n$100\r\nabc", b"GET no end", b"$", b"\r"]))
    time.sleep(1)


@test
def counts_of_arguments(attack):
    for count in (b"3000000000", b"999999999999999999999", b"abc", b"1x", b"", b"--1"):
        refused(attack, b"*" + count + b"\r\n$3\r\nGET\r\n", b"ERR Protocol error: invalid multibulk length")
    for _ in range(100):  # as many as may be announced; nothing may be set aside for them
        attack.connect().send_raw(b"*1000000000\r\n" + b"$1\r\na\r\n" * 10)
    refused(attack, b"*1\r\nGET\r\n", b"ERR Protocol error: expected '$', got 'G'")
    refused(attack, b"*" + b"1" * 70_000, b"ERR Protocol error: too big mbulk count string")
    time.sleep(0.5)


@test
def lengths_of_arguments(attack):
    for length in (b"-5", b"-1", b"999999999999", b"536870913", b"abc", b""):
        refused(attack, b"*2\r\n$3\r\nGET\r\n$" + length + b"\r\n", b"ERR Protocol error: invalid bulk length")
    refused(attack, b"*1\r\n$" + b"1" * 70_000, b"ERR Protocol error: too big bulk count string")
    for _ in range(50):  # announced, and never sent
        attack.connect().send_raw(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870912\r\n" + b"x" * 1000)
    time.sleep(1)


@test
def inline_garbage(attack):
    refused(attack, b"x" * 70_000, b"ERR Protocol error: too big inline request")
    refused(attack, b'SET k "open\r\n', b"ERR Protocol error: unbalanced quotes in request")
    chance = random.Random(1)
    for _ in range(200):
        connection = attack.connect()
        try:
            connection.send_raw(chance.randbytes(chance.randint(1, 3000)) + b"\r\n")
        except Closed:
            pass
    for line in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"POST / HTTP/1.1\r\nHost: x\r\n\r\n"):
        connection = attack.connect()
        connection.send_raw(line)
        if not connection.is_closed(10):
            raise Wrong("HTTP is not turned away")


@test
def bytes_one_by_one(attack):
    connection = attack.connect()
    for byte in encode(["SET", "slow", "value"]):
        connection.send_raw(bytes([byte]))
        time.sleep(0.002)
    equal(connection.read(), ("+", b"OK"))


@test
def mutated_requests(attack):
    chance = random.Random(2)
    whole = b"".join(encode(words) for words in (["SET", "k", "v"], ["LPUSH", "l", "a", "b"], ["EVAL", "return 1", "0"], ["XADD", "x", "*", "f", "v"]))
    for _ in range(500):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(len(data))
            data[at:at + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 4))
        connection = Connection(attack.server)
        try:
            connection.send_raw(bytes(data))
            while not connection.is_silent(0.002):
                connection.read()
        except (Closed, OSError):
            pass
        except Malformed as error:
            raise Wrong(f"{bytes(data)!r} was answered by {error}")
        connection.close()


# Answers that nobody reads.

@test
def a_million_commands_in_flight(attack):
    connection = attack.connect(timeout=120)
    sender = threading.Thread(target=lambda: [connection.send_raw(b"PING\r\n" * 10_000) for _ in range(100)], daemon=True)
    sender.start()
    time.sleep(2)
    for n in range(1_000_000):
        if connection.read() != ("+", b"PONG"):
            raise Wrong(f"answer {n} is another")
    sender.join()


@test(stops_redis=True)
def answers_of_gigabytes_that_nobody_reads(attack):
    attack.connect().ask("SET", "big", b"x" * 100_000)
    connections = [attack.connect(timeout=3, receive_buffer=4096) for _ in range(5)]
    for connection in connections:
        try:
            for _ in range(20):
                connection.send_raw(encode(["GET", "big"]) * 1000)
        except (Closed, OSError):
            pass  # it takes no more, or has had enough
    time.sleep(3)


@test
def slow_readers(attack):
    attack.connect().ask("SET", "big", b"x" * (8 * MIB))
    connections = [attack.connect(receive_buffer=4096) for _ in range(20)]
    for connection in connections:
        connection.send("GET", "big")
    for _ in range(20):
        for connection in connections:
            connection.socket.recv(512)
        time.sleep(0.05)


@test
def subscribers_that_do_not_read(attack):
    for _ in range(20):
        connection = attack.connect(receive_buffer=4096)
        connection.send("SUBSCRIBE", "news")
        connection.read()
    publisher = attack.connect(timeout=60)
    for _ in range(200):
        publisher.ask("PUBLISH", "news", b"x" * 100_000)


# Many connections.

@test
def thousands_of_connections(attack):
    told = 0
    for n in range(4000):
        try:
            connection = attack.connect(timeout=20)
        except OSError as error:
            raise Wrong(f"connection {n}: {error}")
        if n % 200 == 0:
            reply = connection.reply("PING")
            if reply != ("+", b"PONG"):
                equal(reply, ("-", b"ERR max number of clients reached"))
                told += 1
    time.sleep(0.5)


@test
def connections_that_come_and_go(attack):
    for _ in range(5000):
        Connection(attack.server).close()
    for _ in range(1000):
        connection = Connection(attack.server)
        connection.send_raw(b"*2\r\n$3\r\nGET\r\n")
        connection.close()


# Much of something.

@test
def long_keys_and_values(attack):
    connection = attack.connect(timeout=60)
    for size in (10_000, MIB, 16 * MIB):
        key = b"k" * size
        error_or(connection.reply("SET", key, "v"), ("+", b"OK"))
        error_or(connection.reply("GET", key), ("$", b"v"), ("$", None))
        error_or(connection.reply("DEL", key), (":", 1), (":", 0))
    value = b"v" * (64 * MIB)
    reply = connection.reply("SET", "large", value)
    error_or(reply, ("+", b"OK"))
    if reply[0] == "+" and connection.reply("GET", "large") != ("$", value):
        raise Wrong("a value of 64 MiB comes back as another")
    for command in (["HSET", "long:h", b"f" * MIB, "v"], ["SADD", "long:u", b"m" * MIB], ["ZADD", "long:z", "1", b"m" * MIB], ["LPUSH", "long:l", b"e" * MIB]):
        error_or(connection.reply(*command), (":", 1))
    connection.reply("XADD", "long:x", "*", b"f" * MIB, "v")
    connection.reply("DEL", "large", "long:h", "long:u", "long:z", "long:x", "long:l")


@test
def commands_of_a_hundred_thousand_words(attack):
    connection = attack.connect(timeout=60)
    error_or(connection.reply("MSET", *[part for n in range(50_000) for part in (f"many:{n}", n)]), ("+", b"OK"))
    reply = connection.reply("DEL", *[f"many:{n}" for n in range(50_000)])
    error_or(reply, (":", 50_000))
    error_or(connection.reply("SADD", "many", *range(100_000)), (":", 100_000))
    connection.reply("DEL", "many")


@test
def a_million_commands_in_a_transaction(attack):
    connection = attack.connect(timeout=300)
    connection.ask("MULTI")
    seen = set()
    for _ in range(attack.many // 10_000):
        connection.send_raw(encode(["INCR", "deep"]) * 10_000)
        for _ in range(10_000):
            seen.add(connection.read()[1][:20])
    reply = connection.reply("EXEC")
    if seen == {b"QUEUED"}:
        error_or(reply) if reply[0] == "-" else equal(len(reply[1]), attack.many)
    elif reply[0] != "-":
        raise Wrong("a transaction runs though commands were refused")
    connection.reply("DEL", "deep")


@test
def watches_of_many_keys(attack):
    connection = attack.connect(timeout=60)
    for n in range(20):
        error_or(connection.reply("WATCH", *[f"watched:{n}:{m}" for m in range(1000)]), ("+", b"OK"))


@test
def a_million_channels(attack):
    connection = attack.connect(timeout=60)
    refusals = 0
    for n in range(attack.many // 1000):
        connection.send("SUBSCRIBE", *[b"channel:%d" % (n * 1000 + m) for m in range(1000)])
        reply = connection.read()
        if reply[0] == "-":
            refusals += 1
            if refusals > 3:
                break
            continue
        for _ in range(999):
            reply = connection.read()
        equal(reply[1][2], (":", (n - refusals + 1) * 1000))
    equal(attack.connect().ask("PUBLISH", "channel:5", "x") <= 1, True)


@test
def patterns_of_many_subscribers(attack):
    connection = attack.connect(timeout=60)
    for n in range(20):
        connection.send("PSUBSCRIBE", *[b"a*a*a*a*a*%d" % (n * 100 + m) for m in range(100)])
        for _ in range(100):
            connection.read()
    publisher = attack.connect(timeout=60)
    for _ in range(50):
        publisher.ask("PUBLISH", "a" * 60, "x")


# Work without end.

@test
def keys_by_catastrophic_patterns(attack):
    connection = attack.connect(timeout=60)
    connection.pipeline([[b"SET", b"a" * 1000 + b"%d" % n, b"v"] for n in range(20)])
    for pattern in (b"a*" * 10 + b"b", b"*a" * 12 + b"*b", b"?*" * 12 + b"x", b"[ab]*" * 10 + b"[c-d]", b"a*" * 5000 + b"b", b"[" * 100_000, b"\\" * 100_001):
        error_or(connection.reply("KEYS", pattern), ("*", []))
        connection.reply("SCAN", "0", "MATCH", pattern, "COUNT", "1000")
        connection.reply("CONFIG", "GET", pattern)
    connection.reply("DEL", *[b"a" * 1000 + b"%d" % n for n in range(20)])


@test
def a_script_without_end(attack):
    runner, other = attack.connect(timeout=120), attack.connect(timeout=120)
    runner.send("EVAL", "while true do end", "0")
    time.sleep(7)
    reply = other.reply("SCRIPT", "KILL")
    end = runner.read(100)
    if end[0] != "-":
        raise Wrong(f"a script without end gives {end}")
    # It was killed, or a limit of the server's own came first.
    if reply == ("+", b"OK") and b"Script killed by user with SCRIPT KILL" not in end[1]:
        raise Wrong(f"a killed script says {end[1].decode()}")
    equal(other.reply("PING"), ("+", b"PONG"))


@test
def a_script_that_wrote_before_it_hangs(attack):
    runner, other = attack.connect(timeout=120), attack.connect(timeout=120)
    runner.send("EVAL", "redis.call('SET', KEYS[1], 'half'); local n = 0; while n < 3e8 do n = n + 1 end; return 'done'", "1", "written")
    time.sleep(0.5)
    other.reply("SCRIPT", "KILL")
    reply = runner.read(100)
    if reply[0] == "-" and other.reply("GET", "written") != ("$", None):
        raise Wrong("a script that failed left half of its work")


@test
def scripts_that_recurse(attack):
    for script in ("local function f() return f() + 1 end return f()", "local t = {} for i = 1, 100000 do t = {t} end return t",
                   "return string.rep('(', 200000)", "return loadstring(string.rep('(', 100000))", "local s = string.rep('[', 100000) return cjson.decode(s)",
                   "local t = {} for i = 1, 5000 do t = {t} end return cjson.encode(t)", "return table.concat({string.rep('x', 1000000)}, '')",
                   "return {unpack({}, 1, 1e7)}", "return redis.call('SET', 'k', string.rep('x', 600000000))", "return string.format('%99999d', 1)",
                   "return cmsgpack.unpack(string.rep('\\x91', 100000))", "return struct.unpack('c2000000000', 'x')", "return bit.lshift(1, 1e300)"):
        connection = attack.connect(timeout=60)
        connection.send("EVAL", script, "0")
        try:
            connection.read(60)
        except Malformed as error:
            raise Wrong(f"{script}: {error}")
        except RecursionError:
            pass  # a reply as deep as the script made it


@test(stops_redis=True)
def scripts_that_eat_memory(attack):
    for script in ("local t = {} while true do t[#t + 1] = string.rep('x', 1e6) end", "local s = 'x' while true do s = s .. s end",
                   "while true do redis.call('APPEND', 'grows', string.rep('x', 1e6)) end", "return string.rep('x', 1e10)",
                   "local s = string.rep('a', 1e5) return s:find(string.rep('a?', 40) .. string.rep('a', 40) .. 'b')",
                   "return ('a'):rep(1e5):find(('.*'):rep(20) .. 'b')", "local f = function() while true do end end return table.sort({1,2,3}, f)"):
        connection = attack.connect(timeout=90)
        connection.send("EVAL", script, "0")
        if connection.is_silent(10):
            attack.connect(timeout=90).reply("SCRIPT", "KILL")
        reply = connection.read(60)
        if reply[0] != "-":
            raise Wrong(f"{script}: {str(reply)[:100]}")
        attack.connect().reply("DEL", "grows")


@test(stops_redis=True)
def random_members_by_the_billion(attack):
    connection = attack.connect(timeout=90)
    connection.ask("SADD", "few", "a", "b")
    connection.ask("HSET", "fields", "f", "v")
    connection.ask("ZADD", "ranked", "1", "m")
    for command in (["SRANDMEMBER", "few", "-2000000000"], ["HRANDFIELD", "fields", "-2000000000", "WITHVALUES"], ["ZRANDMEMBER", "ranked", "-2000000000"]):
        own = attack.connect(timeout=60)
        try:
            own.send(*command)
            own.socket.recv(10)
        except (Closed, OSError):
            pass
    connection.reply("DEL", "few", "fields", "ranked")


@test
def large_strings_out_of_nothing(attack):
    connection = attack.connect(timeout=60)
    for command, text in ((["SETRANGE", "k", "536870912", "x"], b"ERR string exceeds maximum allowed size (proto-max-bulk-len)"),
                          (["SETBIT", "k", "4294967296", "1"], b"ERR bit offset is not an integer or out of range"),
                          (["BITFIELD", "k", "SET", "u8", "4294967296", "1"], b"ERR bit offset is not an integer or out of range")):
        equal(connection.reply(*command), ("-", text))
    for command in (["SETRANGE", "k1", "100000000", "x"], ["SETBIT", "k2", "800000000", "1"], ["BITOP", "NOT", "k3", "k1"], ["BITCOUNT", "k1"],
                    ["BITPOS", "k1", "1"], ["APPEND", "k1", "x"], ["GETRANGE", "k1", "0", "10"]):
        connection.reply(*command)
    connection.reply("DEL", "k1", "k2", "k3")


@test
def long_sorts_and_intersections(attack):
    connection = attack.connect(timeout=120)
    chance = random.Random(3)
    for start in range(0, 100_000, 10_000):
        connection.reply("RPUSH", "numbers", *[chance.randrange(1 << 30) for _ in range(10_000)])
        connection.reply("SADD", "members", *range(start, start + 10_000))
        connection.reply("ZADD", "scores", *[part for n in range(start, start + 10_000) for part in (n % 97, n)])
    for command in (["SORT", "numbers", "LIMIT", "0", "10"], ["SORT", "numbers", "BY", "w_*", "GET", "v_*", "GET", "#", "LIMIT", "0", "10"], ["LREM", "numbers", "0", "x"],
                    ["LPOS", "numbers", "x"], ["SINTERCARD", "3", "members", "members", "members"], ["SUNIONSTORE", "all", "members", "members"],
                    ["ZUNIONSTORE", "ranked", "2", "scores", "members"], ["ZINTERCARD", "2", "scores", "members"], ["ZRANGEBYLEX", "scores", "-", "+"], ["SORT", "members", "ALPHA", "DESC"],
                    ["OBJECT", "ENCODING", "members"], ["ZCOUNT", "scores", "-inf", "+inf"], ["SPOP", "members", "90000"]):
        connection.send(*command)
        connection.read(60)
    connection.reply("DEL", "numbers", "members", "scores", "all", "ranked")


@test
def longest_common_subsequence_of_long_strings(attack):
    connection = attack.connect(timeout=60)
    connection.ask("MSET", "one", b"ab" * 100_000, "two", b"ba" * 100_000)
    reply = connection.reply("LCS", "one", "two", "LEN")
    if reply[0] == "-":
        equal(reply[1], b"ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
    connection.reply("DEL", "one", "two")


def run(check, options, server, pid):
    attack, neighbour, problem = Attack(server, 100_000 if options.quick else 1_000_000), Neighbour(server, pid), None
    started = time.monotonic()
    try:
        check(attack)
    except Wrong as error:
        problem = str(error)
    except (OSError, Closed, Malformed, TypeError, IndexError, AttributeError) as error:
        problem = repr(error)
    except Exception as error:
        problem = repr(error)
    attack.end()
    neighbour.end()
    if not problem and neighbour.problems:
        problem = neighbour.problems[0]
    if not problem and not neighbour.asked:
        problem = "the neighbour was not answered once"
    grown = neighbour.peak - neighbour.base
    if not problem and not options.lenient:
        if neighbour.longest > options.pause:
            problem = f"the neighbour waited {neighbour.longest:.1f} s"
        elif pid and grown > options.resident:
            problem = f"the process grew by {grown:.0f} MiB"
    try:
        with Connection(server, timeout=10) as connection:
            connection.ask("PING")
            alive = True
    except Exception as error:
        alive, problem = False, f"the server is gone or does not answer: {error!r}; {problem or ''}"
    print(f"{'FAILED' if problem else 'ok    '} {check.__name__}: {time.monotonic() - started:.1f} s, the neighbour waited {neighbour.longest * 1000:.0f} ms at most"
          f"{f', grew by {grown:.0f} MiB' if pid else ''}{f'; {problem}' if problem else ''}", flush=True)
    return not problem, alive


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--redis", type=address, default=os.environ.get("REDIS_ADDRESS"))
    parser.add_argument("--pid", type=int, default=os.environ.get("DB_PID"))
    parser.add_argument("--pause", type=float, default=3, help="seconds that the neighbour may wait")
    parser.add_argument("--resident", type=float, default=1024, help="MiB by which the process may grow during a test")
    parser.add_argument("--lenient", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a hundred thousand where it would be a million")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
    own = None if options.redis else Server()
    server, pid = (own.address, own.process.pid) if own else (options.redis, options.pid)
    options.lenient |= own is not None
    passed = failed = skipped = 0
    for check in TESTS:
        if options.names and not any(name in check.__name__ for name in options.names):
            continue
        if check.stops_redis and options.lenient:
            skipped += 1
            continue
        fine, alive = run(check, options, server, pid)
        passed += fine
        failed += not fine
        if not alive:
            break
    if own:
        own.stop()
    if skipped:
        print(f"{skipped} left out, which would stop Redis")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
