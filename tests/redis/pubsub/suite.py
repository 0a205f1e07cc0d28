"""Messages between the nodes of a cluster: what is published on one is heard on all, in order, once, and never before it is committed.

    python3 tests/redis/pubsub/suite.py --cluster target/debug/latsdb             three nodes of its own
    … --old BINARY                  one of them of an earlier version, which knows nothing of it
    … --tests order,paused --seed 1
    … --figures                     how long a message takes to a client of the same node and of another one, and how many go in a second
"""

import argparse
import pathlib
import random
import re
import signal
import sys
import threading
import time
import traceback
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "histories")]
from resp import Closed, Connection, Refused, encode  # noqa: E402
from server import Cluster  # noqa: E402

# Far above what it takes: nobody measures time here.
SOON = 20


class Violation(Exception):
    """Something is not as it has to be."""


def check(holds, what):
    if not holds:
        raise Violation(what)


def until(holds, what, limit=SOON):
    end = time.monotonic() + limit
    while not holds():
        check(time.monotonic() < end, f"not after {limit} s: {what}")
        time.sleep(0.01)


class Listener:
    """A client that keeps all that it hears, as (channel, text)."""

    def __init__(self, node, *command):
        self.connection, self.heard = Connection(node.address, timeout=SOON), []
        self.closed = False
        self.subscribe(*command)
        threading.Thread(target=self.listen, daemon=True).start()

    def subscribe(self, command, *names):
        self.connection.send(command, *names)
        for _ in names:
            reply = self.connection.read()
            check(reply[0] != "-", f"{command}: {reply[1]}")

    def listen(self):
        try:
            self.connection.socket.settimeout(None)
            while True:
                reply = self.connection.read()
                parts = [part for _, part in reply[1]]
                if parts[0] in (b"message", b"smessage", b"pmessage"):
                    self.heard.append((parts[-2], parts[-1]))
        except (OSError, Closed):
            self.closed = True

    def close(self):
        self.connection.close()

    def texts(self):
        return [text for _, text in list(self.heard)]


def metric(node, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{node.ports['http']}/metrics", timeout=SOON) as answer:
        page = answer.read().decode()
    found = re.search(rf"^latsdb_{name}(?:_total)? (\S+)$", page, re.M)
    check(found, f"no figure {name}")
    return int(float(found[1]))


def pids_memory(node):
    status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) << 10


def numbered(prefix, texts):
    return [int(text[len(prefix):]) for text in texts if text.startswith(prefix)]


def publish_all(node, channel, prefix, count, command="PUBLISH"):
    with Connection(node.address) as connection:
        for first in range(0, count, 50):
            replies = connection.pipeline([(command, channel, f"{prefix}{n}") for n in range(first, min(first + 50, count))])
            check(all(kind == ":" for kind, _ in replies), f"{replies[0]}")


def test_order(nodes, _):
    """Every client on every node hears every publisher in his order, by name, pattern and shard."""
    listeners = {}
    for number, node in enumerate(nodes):
        listeners[number, "SUBSCRIBE"] = Listener(node, "SUBSCRIBE", "order", "other")
        listeners[number, "PSUBSCRIBE"] = Listener(node, "PSUBSCRIBE", "or?er")
        listeners[number, "SSUBSCRIBE"] = Listener(node, "SSUBSCRIBE", "order")
    count = 400
    threads = [threading.Thread(target=publish_all, args=(node, "order", f"{command[0]}{number}.{client}.", count, command))
               for number, node in enumerate(nodes) for client in range(2) for command in ("PUBLISH", "SPUBLISH")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (number, command), listener in listeners.items():
        until(lambda: len(listener.heard) >= 2 * len(nodes) * count, f"client of {command} on node {number + 1} hears all, not {len(listener.heard)}")
        kind = "S" if command == "SSUBSCRIBE" else "P"
        for publisher in range(len(nodes)):
            for client in range(2):
                heard = numbered(f"{kind}{publisher}.{client}.".encode(), listener.texts())
                check(heard == list(range(count)), f"{command} on node {number + 1} hears publisher {publisher}.{client} out of order: {heard[:20]}")
        check(len(listener.heard) == 2 * len(nodes) * count, f"{command} on node {number + 1} hears what is not meant for it")
        listener.close()


def test_subscribed(nodes, chance):
    """What is published anywhere after the answer to a subscription is heard."""
    publishers = [Connection(node.address) for node in nodes]
    for n in range(150):
        here, there = chance.sample(range(len(nodes)), 2)
        how = chance.choice(["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"])
        with Connection(nodes[here].address) as client:
            client.ask(how, f"fresh-{n}")
            publishers[there].ask("SPUBLISH" if how[0:2] == "SS" else "PUBLISH", f"fresh-{n}", "now")
            heard = client.read(SOON)
            check(heard[1][-1][1] == b"now", f"{how} on node {here + 1}, published on node {there + 1}: {heard}")


def test_commit(nodes, _):
    """A message of a transaction comes when it is committed, what it tells of can be read then on any node, and one that is given up is silent."""
    listeners = [Listener(node, "SUBSCRIBE", "done") for node in nodes]
    with Connection(nodes[0].address) as one, Connection(nodes[1].address) as other:
        one.ask("WATCH", "watched")
        other.ask("SET", "watched", "changed")
        one.ask("MULTI")
        one.ask("PUBLISH", "done", "given up")
        check(one.ask("EXEC") is None, "WATCH does not hold")
        one.ask("MULTI")
        one.ask("PUBLISH", "done", "discarded")
        one.ask("DISCARD")
        for n in range(50):
            one.ask("MULTI")
            one.ask("SET", "counter", n)
            one.ask("PUBLISH", "done", n)
            one.ask("EXEC")
        with Connection(nodes[2].address) as reader, Connection(nodes[2].address) as listening:
            listening.ask("SUBSCRIBE", "seen")
            for n in range(50):
                one.send_raw(b"".join(map(encode, [("MULTI",), ("SET", "seen", n), ("PUBLISH", "seen", n), ("EXEC",)])))
                heard = int(listening.read(SOON)[1][2][1])
                check(int(reader.ask("GET", "seen")) >= heard, f"message {heard} came before its transaction")
                for _ in range(4):
                    one.read()
    for listener in listeners:
        until(lambda: len(listener.heard) >= 50, "all messages of transactions come")
        check(listener.texts() == [str(n).encode() for n in range(50)], f"what is heard: {listener.texts()[:5]}")
        listener.close()


def test_scripts(nodes, _):
    """What a script publishes is heard once, when it is committed; a script that is killed has said nothing."""
    listeners = [Listener(node, "SUBSCRIBE", "script") for node in nodes]
    with Connection(nodes[1].address, timeout=60) as one, Connection(nodes[1].address) as other:
        one.ask("EVAL", "redis.call('set', KEYS[1], 1) redis.call('publish', 'script', 'kept')", 1, "of-script")
        one.send("EVAL", "redis.call('publish', 'script', 'killed') while true do end", 0)

        def is_killed():
            try:
                return other.ask("SCRIPT", "KILL") == b"OK"
            except Refused:
                return False
        until(is_killed, "the script is killed")
        check(one.read()[0] == "-", "a killed script has an answer")
        one.ask("EVAL", "redis.call('publish', 'script', 'last')", 0)
    for listener in listeners:
        until(lambda: b"last" in listener.texts(), "the last script is heard")
        check(listener.texts() == [b"kept", b"last"], f"scripts: {listener.texts()}")
        listener.close()


def set_notified(node, letters):
    with Connection(node.address) as connection:
        connection.ask("CONFIG", "SET", "notify-keyspace-events", letters)


def test_notifications(nodes, _):
    """A node's parameter decides what its clients hear: of changes on every node."""
    set_notified(nodes[1], "KEA")
    set_notified(nodes[2], "Eg")
    try:
        listeners = [Listener(node, "PSUBSCRIBE", "__key*__:*") for node in nodes]
        for number, node in enumerate(nodes):
            with Connection(node.address) as connection:
                connection.ask("SET", f"noted-{number}", 1)
                connection.ask("DEL", f"noted-{number}")
        expected = [[], [], []]
        for number in range(3):
            key = f"noted-{number}".encode()
            expected[1] += [(b"__keyspace@0__:" + key, b"set"), (b"__keyevent@0__:set", key), (b"__keyspace@0__:" + key, b"del"), (b"__keyevent@0__:del", key)]
            expected[2] += [(b"__keyevent@0__:del", key)]
        for number, listener in enumerate(listeners):
            until(lambda: len(listener.heard) >= len(expected[number]), f"node {number + 1} hears all: {listener.heard}")
        # They come from three nodes.
        for number, listener in enumerate(listeners):
            check(sorted(listener.heard) == sorted(expected[number]), f"node {number + 1} hears {listener.heard}")
            for other in range(3):
                key = f"noted-{other}".encode()
                of_key = [heard for heard in listener.heard if key in heard[0] + heard[1]]
                wanted = [heard for heard in expected[number] if key in heard[0] + heard[1]]
                check(of_key == wanted, f"node {number + 1} hears changes of a key out of order: {of_key}")
            listener.close()
    finally:
        for node in nodes:
            set_notified(node, "")


def listen_to_expired(nodes):
    for node in nodes:
        set_notified(node, "Ex")
    return [Listener(node, "SUBSCRIBE", "__keyevent@0__:expired") for node in nodes]


def test_expired(nodes, chance):
    """Each key that expires is told of once on each node, whoever notices first."""
    listeners = listen_to_expired(nodes)
    try:
        keys = [f"expires-{n}" for n in range(300)]
        with Connection(nodes[0].address) as connection:
            connection.pipeline([("SET", key, "x", "PX", chance.randint(100, 1500)) for key in keys])
        stopped = threading.Event()

        def trouble(node):
            """Reads them, and writes over some that have expired."""
            own = random.Random(node.ports["port"])
            with Connection(node.address) as connection:
                while not stopped.is_set():
                    connection.ask("GET", own.choice(keys))
                    connection.ask("SETNX", own.choice(keys), "stays")
        threads = [threading.Thread(target=trouble, args=(node,)) for node in nodes]
        for thread in threads:
            thread.start()
        try:
            for listener in listeners:
                until(lambda: len(set(listener.texts())) >= len(keys), f"all expire: {len(set(listener.texts()))} of {len(keys)}")
        finally:
            stopped.set()
            for thread in threads:
                thread.join()
        for number, listener in enumerate(listeners):
            twice = {text for text in listener.texts() if listener.texts().count(text) > 1}
            check(not twice, f"node {number + 1} hears twice that {sorted(twice)[:5]} expired")
            listener.close()
    finally:
        for node in nodes:
            set_notified(node, "")


def test_expired_killed(nodes, chance):
    """The node that leads dies while keys expire: none is told of twice, and the next one goes on."""
    leader = leader_of(nodes)
    rest = [node for node in nodes if node is not leader]
    listeners = listen_to_expired(rest)
    try:
        keys = [f"dies-{n}" for n in range(400)]
        with Connection(rest[0].address) as connection:
            connection.ask("FLUSHALL")
            connection.pipeline([("SET", key, "x", "PX", chance.randint(500, 4000)) for key in keys])
        until(lambda: len(listeners[0].heard) > 20, "some expire")
        leader.kill()
        with Connection(rest[0].address, timeout=60) as connection:
            connection.ask("SET", "late", "x", "PX", 500)
            until(lambda: connection.ask("DBSIZE") == 0, "all expire", 60)
            connection.ask("SET", "last", "x", "PX", 100)
        for listener in listeners:
            until(lambda: {b"late", b"last"} <= set(listener.texts()), "the next leader removes what expires")
            check(len(set(listener.texts())) == len(listener.texts()), "a key is told of twice")
        heard = set(listeners[0].texts())
        print(f"      of {len(keys)} keys {len(heard & {key.encode() for key in keys})} were told of; the leader died in between")
        for listener in listeners:
            listener.close()
    finally:
        start(leader, nodes)
        for node in nodes:
            set_notified(node, "")


def start(node, nodes):
    """Starts a node, which learns by and by what the others' clients listen to."""
    node.start(120)
    listeners = [Listener(other, "SUBSCRIBE", "started") for other in nodes]
    with Connection(node.address) as connection:
        def is_heard():
            connection.ask("PUBLISH", "started", "started")
            return all(listener.heard for listener in listeners)
        until(is_heard, "a node is heard after its start")
    for listener in listeners:
        listener.close()


def leader_of(nodes):
    found = []
    until(lambda: found.extend(node for node in nodes if node.is_leader()) or found, "a node leads")
    return found[0]


def test_killed(nodes, chance):
    """A node that dies takes along what was on its way. The others go on, and when it is back it hears and is heard."""
    victim, other, third = chance.sample(nodes, 3)
    kept = Listener(other, "SUBSCRIBE", "killed")
    Listener(victim, "SUBSCRIBE", "killed")
    publish_all(victim, "killed", "before.", 20)
    until(lambda: len(kept.heard) == 20, "what the node says is heard")
    victim.kill()
    slowest = 0
    with Connection(third.address) as connection:
        for n in range(300):
            began = time.monotonic()
            connection.ask("PUBLISH", "killed", f"without.{n}")
            slowest = max(slowest, time.monotonic() - began)
    check(slowest < 5, f"publishing took {slowest:.1f} s beside a dead node")
    until(lambda: len(kept.heard) == 320, "others hear while it is away")
    start(victim, nodes)
    back = Listener(victim, "SUBSCRIBE", "killed")
    publish_all(third, "killed", "back.", 50)
    until(lambda: len(numbered(b"back.", back.texts())) == 50, "it hears when it is back")
    check(numbered(b"without.", kept.texts()) == list(range(300)), "what was published beside it is in order")
    kept.close()
    back.close()


def test_paused(nodes, chance):
    """A node that stands still blocks nobody, whoever it is; what it misses is counted, and what it hears later is in order and once."""
    leader = leader_of(nodes)
    for victim in (leader, chance.choice([node for node in nodes if node is not leader])):
        other, third = [node for node in nodes if node is not victim]
        stands, hears = Listener(victim, "SUBSCRIBE", "paused"), Listener(third, "SUBSCRIBE", "paused")
        lost, held = metric(other, "messages_lost"), pids_memory(other)
        text = "x" * 24576
        victim.process.send_signal(signal.SIGSTOP)
        slowest = 0
        try:
            began, n = time.monotonic(), 0
            with Connection(other.address) as connection:
                while time.monotonic() - began < 4:
                    before = time.monotonic()
                    connection.ask("PUBLISH", "paused", f"{n}.{text}")
                    slowest = max(slowest, time.monotonic() - before)
                    n += 1
                    # As much as the third node can take: it is not to lose any.
                    time.sleep(max(0, n / 1500 - (time.monotonic() - began)))
            before = time.monotonic()
            Listener(other, "SUBSCRIBE", "while-one-stands-still").close()
            subscribed = time.monotonic() - before
            number = lambda listener: [int(text.split(b".")[0]) for text in listener.texts()]
            until(lambda: len(hears.heard) == n, f"the third node hears all: {len(hears.heard)} of {n}")
            check(number(hears) == list(range(n)), "the third node hears them in order")
        finally:
            victim.process.send_signal(signal.SIGCONT)
        check(slowest < 3, f"publishing took {slowest:.1f} s beside a node that stands still")
        check(subscribed < 3, f"subscribing took {subscribed:.1f} s beside a node that stands still")
        with Connection(other.address) as connection:
            def is_back():
                connection.ask("PUBLISH", "paused", "1000000.")
                return b"1000000." in stands.texts()
            until(is_back, "it hears again", 60)
        missed = n - len([one for one in number(stands) if one < 1000000])
        check(number(stands) == sorted(number(stands)) and len([one for one in number(stands) if one < 1000000]) == len({one for one in number(stands) if one < 1000000}),
              "what it hears later is not in order, or not once")
        counted = metric(other, "messages_lost") - lost
        print(f"      {'the leader' if victim is leader else 'a follower'}: {n} messages of 24 KiB, {missed} missed, {counted} counted as lost;"
              f" slowest PUBLISH {slowest * 1000:.0f} ms, SUBSCRIBE {subscribed * 1000:.0f} ms, memory {(pids_memory(other) - held) / (1 << 20):+.0f} MiB")
        check(counted >= missed > 0, f"{missed} messages are missed, {counted} counted")
        stands.close()
        hears.close()


def test_spared(nodes, _):
    """A node that nobody listens on gets nothing, and one only what may be wanted."""
    with Connection(nodes[0].address) as connection:
        until(lambda: nothing_goes(nodes, connection), "subscriptions that have ended are forgotten")
        listener = Listener(nodes[1], "SUBSCRIBE", "wanted")
        before = [metric(node, "messages_from_nodes") for node in nodes]
        for n in range(300):
            connection.ask("PUBLISH", "wanted", n)
            connection.ask("PUBLISH", f"not-wanted-{n}", n)
        until(lambda: len(listener.heard) == 300, "the node that listens hears")
        came = [metric(node, "messages_from_nodes") - then for node, then in zip(nodes, before)]
        check(came[0] == 0 and came[2] == 0, f"nodes that nobody listens on got {came} messages")
        check(300 <= came[1] < 310, f"the node that listens got {came[1]} messages of 300")
        listener.close()


def nothing_goes(nodes, connection):
    before = metric(nodes[0], "messages_to_nodes")
    for n in range(100):
        connection.ask("PUBLISH", f"to-nobody-{n}", n)
    time.sleep(0.2)
    return metric(nodes[0], "messages_to_nodes") == before


def test_large(nodes, _):
    """Long messages come whole. One that no client could take is not sent to other nodes."""
    listener = Listener(nodes[2], "SUBSCRIBE", "large")
    with Connection(nodes[0].address, timeout=120) as connection:
        lost = metric(nodes[0], "messages_lost")
        sizes = [1, 200_000, 262_144, 300_000, 5_000_000, 20_000_000]
        for size in sizes:
            connection.ask("PUBLISH", "large", f"{size}." + "y" * size)
        connection.ask("PUBLISH", "large", "z" * (33 << 20))
        connection.ask("PUBLISH", "large", "end")
        until(lambda: b"end" in listener.texts(), "the messages come", 60)
    heard = listener.texts()
    check([len(text) for text in heard[:-1]] == [len(f"{size}.") + size for size in sizes], f"sizes: {[len(text) for text in heard]}")
    check(metric(nodes[0], "messages_lost") == lost + 1, "the one that is too long is counted")
    listener.close()


def test_greedy(nodes, _):
    """A client that does not read is sent away, on the other node, and its neighbours hear on."""
    greedy = Connection(nodes[1].address, receive_buffer=4096)
    greedy.ask("SUBSCRIBE", "greedy")
    listener = Listener(nodes[1], "SUBSCRIBE", "greedy")
    text = "g" * 100_000
    with Connection(nodes[0].address) as connection:
        for _ in range(600):
            connection.ask("PUBLISH", "greedy", text)
        connection.ask("PUBLISH", "greedy", "end")
    until(lambda: b"end" in listener.texts() or listener.closed, "the client that reads hears all", 60)
    check(greedy.is_closed(SOON), "a client that does not read stays")
    with Connection(nodes[1].address) as other:
        check(other.ask("PUBSUB", "NUMSUB", "greedy") == [b"greedy", 1], "the client that reads is there")
    listener.close()


def test_old(nodes, _):
    """Beside a node of an earlier version, the others hear each other, and nobody gets in its way."""
    old, one, other = nodes
    listener = Listener(one, "SUBSCRIBE", "mixed")
    lonely = Listener(old, "SUBSCRIBE", "mixed")
    publish_all(other, "mixed", "new.", 100)
    publish_all(old, "mixed", "old.", 100)
    until(lambda: len(listener.heard) >= 100, "nodes of this version hear each other")
    check(numbered(b"new.", listener.texts()) == list(range(100)) and len(listener.heard) == 100, "what is heard of a node of this version")
    until(lambda: len(lonely.heard) >= 100, "the earlier version tells its own clients")
    check(numbered(b"old.", lonely.texts()) == list(range(100)) and len(lonely.heard) == 100, "what is heard on a node of the earlier version")
    check(metric(other, "messages_lost") == 0, "nothing is meant for the earlier version")
    listener.close()
    lonely.close()


TESTS = {name[5:]: test for name, test in list(globals().items()) if name.startswith("test_") and name != "test_old"}


def figures(nodes):
    leader = leader_of(nodes)
    here, there = [node for node in nodes if node is not leader]
    for what, node in (("the same node", here), ("another node", there)):
        with Connection(here.address) as publisher, Connection(node.address) as listening:
            listening.ask("SUBSCRIBE", "figures")
            times = []
            for n in range(2000):
                began = time.perf_counter()
                publisher.send("PUBLISH", "figures", n)
                listening.read()
                times.append(time.perf_counter() - began)
                publisher.read()
            times.sort()
            listening.close()
        with Connection(here.address) as publisher:
            listener = Listener(node, "SUBSCRIBE", "rate")
            began, count = time.perf_counter(), 40_000
            request = b"".join(encode(("PUBLISH", "rate", "x" * 100)) for _ in range(100))

            def send():
                for _ in range(count // 100):
                    publisher.send_raw(request)
            sender = threading.Thread(target=send)
            sender.start()
            for _ in range(count):
                publisher.read()
            published = time.perf_counter() - began
            sender.join()
            until(lambda: len(listener.heard) >= count, f"all are heard: {len(listener.heard)}", 120)
            took = time.perf_counter() - began
            listener.close()
        print(f"to {what}: median {times[1000] * 1e6:.0f} us, 99% {times[1980] * 1e6:.0f} us; {count / published:.0f} published and {count / took:.0f} heard a second")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cluster", metavar="BINARY", required=True)
    parser.add_argument("--old", metavar="BINARY")
    parser.add_argument("--tests", type=lambda text: text.split(","))
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(1 << 32)))
    parser.add_argument("--dir", default=str(HERE.parents[2] / "target/test-data/redis-pubsub"))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    cluster = Cluster(options.cluster, options.dir, options.seed)
    tests = {name: TESTS[name] for name in options.tests or TESTS}
    if options.old:
        cluster.nodes[0].command[0] = options.old
        tests = {"old": test_old}
    passed = failed = 0
    try:
        cluster.start()
        for node in cluster.nodes:
            leader_of(cluster.nodes)
            with Connection(node.address, timeout=60) as connection:
                connection.ask("SET", "ready", node.ports["port"])
        if options.figures:
            figures(cluster.nodes)
            return False
        for name, test in tests.items():
            began = time.monotonic()
            try:
                test(cluster.nodes, random.Random(f"{options.seed}-{name}"))
                violation = "; ".join(cluster.panics())
            except (Violation, Refused, Closed, OSError, RuntimeError) as error:
                violation = f"{error}" if isinstance(error, Violation) else traceback.format_exc()
            print(f"{'FAILED' if violation else 'ok    '} {name}: {test.__doc__.splitlines()[0]} {time.monotonic() - began:.1f} s", flush=True)
            if violation:
                print(f"    {violation}", flush=True)
            passed, failed = passed + (not violation), failed + bool(violation)
    finally:
        cluster.stop()
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
