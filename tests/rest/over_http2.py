"""The same requests over HTTP/2: many at once, broken off, slow, and frames that no client should send."""

import json
import os
import random
import socket
import subprocess
import time

import hpack
from http2 import PREFACE, connected, frame, frames, raw, tls_context
from node import Node
from runner import test, until

ROWS = "/v1/tables/shop/items/rows"
SLEEPERS = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'HTTP' AND ID <> CONNECTION_ID()"
REFUSED_STREAM, ENHANCE_YOUR_CALM = 7, 11


def sleepers(node):
    return node.sql(SLEEPERS)["rows"][0][0]


def values(answer):
    assert answer.status == 200, (answer.status, answer.body)
    return answer.json["rows"]


@test
def the_same_is_said_over_http2(node):
    with connected(node) as client:
        made = client.ask("POST", ROWS, [{"id": 1, "name": "ö"}, {"id": 2}])
        assert made.status == 201 and made.json["affected_rows"] == 2, (made.status, made.body)
        read = client.ask("GET", f"{ROWS}/1")
        assert read.status == 200 and read.json["name"] == "ö" and "etag" in read.headers, read.headers
        assert not {"connection", "transfer-encoding"} & set(read.headers), read.headers
        assert int(read.headers["content-length"]) == len(read.body)
        for http1, http2 in [(node.ask("GET", f"{ROWS}/1"), read), (node.ask("GET", f"{ROWS}/9"), client.ask("GET", f"{ROWS}/9")),
                             (node.ask("GET", "/v1/openapi.json"), client.ask("GET", "/v1/openapi.json"))]:
            assert (http1.status, http1.body) == (http2.status, http2.body)
            same = {name.lower(): value for name, value in http1.headers.items() if name.lower() not in ("connection", "date")}
            assert same == {name: value for name, value in http2.headers.items() if name not in (":status", "date")}
        kept = client.ask("GET", f"{ROWS}/1", headers=[("if-none-match", read.headers["etag"])])
        assert (kept.status, kept.body) == (304, b"")
        seen = client.ask("HEAD", f"{ROWS}/1")
        assert (seen.status, seen.body, seen.headers["content-length"]) == (200, b"", read.headers["content-length"])
        assert client.ask("PATCH", f"{ROWS}/1", {"name": "x"}).status == 204
        packed = client.ask("POST", "/v1/sql", {"sql": "SELECT REPEAT('a', 100000)"}, headers=[("accept-encoding", "gzip")])
        assert packed.headers["content-encoding"] == "gzip" and len(packed.body) < 10_000
        # The node's own pages, after which a connection of HTTP/1.1 ends.
        for page in ("/health", "/status", "/metrics", "/"):
            assert client.ask("GET", page).status == 200, page
        assert client.ask("GET", "/etc/passwd").status == 404
        assert client.ask("BREW", f"{ROWS}/1").status == 405


@test
def programs_find_it_by_themselves(node):
    address = f"127.0.0.1:{node.http}/health"
    for flags, version in [(["--http2-prior-knowledge", f"http://{address}"], "2"), (["-k", f"https://{address}"], "2"),
                           (["-k", "--http1.1", f"https://{address}"], "1.1"), ([f"http://{address}"], "1.1"), (["--http2", f"http://{address}"], "1.1")]:
        told = subprocess.run(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", *flags], capture_output=True, text=True)
        assert told.stdout == f"{version} 200", (flags, told)


@test
def many_exchanges_go_on_at_once(node):
    with connected(node, tls=tls_context(node)) as client:
        slow = client.begin("POST", "/v1/sql", {"sql": "SELECT SLEEP(3)"})
        fast = [client.begin("POST", "/v1/sql", {"sql": "SELECT ?", "parameters": [n]}) for n in range(99)]
        for n, answer in enumerate(client.wait(*fast)):
            assert values(answer) == [[n]], answer.body
        assert client.answers[slow].at is None, "it does not hold up the others"
        assert values(client.wait(slow)[0]) == [[0]]
        for n in range(300):
            assert values(client.ask("POST", "/v1/sql", {"sql": "SELECT ?", "parameters": [n]})) == [[n]]


@test
def more_than_run_at_once_wait(node):
    with connected(node) as client:
        begun = time.monotonic()
        asleep = [client.begin("POST", "/v1/sql", {"sql": "SELECT SLEEP(0.5), ?", "parameters": [n]}) for n in range(100)]
        for n, answer in enumerate(client.wait(*asleep)):
            assert values(answer) == [[0, n]]
        assert time.monotonic() - begun < 20


@test
def bodies_of_any_length_go_both_ways(node):
    chance = random.Random(7)
    with connected(node) as client:
        for size in (0, 1, 16_383, 16_384, 16_385, 70_000, 300_000, 3_000_000):
            text = "".join(chance.choices("abcdefgh", k=size))
            assert values(client.ask("POST", "/v1/sql", {"sql": "SELECT ?", "parameters": [text]})) == [[text]], size
        # Told how long it is, and not; in frames of any size.
        body = b'{"sql": "SELECT 1"}'
        for headers in ([("content-length", str(len(body)))], []):
            number = client.begin("POST", "/v1/sql", headers=[("content-type", "application/json"), *headers], end=False)
            for byte in body:
                client.send(number, bytes([byte]), False)
            client.send(number, b"", True)
            client.flush()
            assert values(client.wait(number)[0]) == [[1]]
        counted = "WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n WHERE a < 100000) SELECT /*+ SET_VAR(cte_max_recursion_depth = 100000) */ a FROM n"
        assert values(client.ask("POST", "/v1/sql", {"sql": counted})) == [[n] for n in range(1, 100_001)]
    # A client that makes room for a few bytes at a time gets all of them.
    with connected(node, window=1000) as client:
        client.takes = True
        long = client.ask("POST", "/v1/sql", {"sql": "SELECT REPEAT('ab', 100000)"})
        assert values(long) == [["ab" * 100_000]]


@test
def what_is_broken_off_ends(node):
    with connected(node) as client:
        asleep = [client.begin("POST", "/v1/sql", {"sql": "SELECT SLEEP(60)"}) for _ in range(5)]
        until(lambda: sleepers(node) == 5, "they run", 10)
        for number in asleep:
            client.h2.reset_stream(number)
        client.flush()
        until(lambda: sleepers(node) == 0, "their statements end with them", 10)
        assert client.ask("GET", "/health").status == 200
        for _ in range(5):
            client.begin("POST", "/v1/sql", {"sql": "SELECT SLEEP(60)"})
        until(lambda: sleepers(node) == 5, "they run", 10)
    until(lambda: sleepers(node) == 0, "they end with the connection", 10)


@test
def an_exchange_is_killed_alone(node):
    with connected(node) as client:
        asleep = client.begin("POST", "/v1/sql", {"sql": "SELECT SLEEP(60)"})
        found = until(lambda: node.sql(SLEEPERS.replace("COUNT(*)", "ID"))["rows"], "it runs", 10)
        node.sql(f"KILL {found[0][0]}")
        answer = client.wait(asleep)[0]
        assert answer.reset is not None or answer.status in (200, 503), (answer.status, answer.body)
        assert client.ask("GET", "/health").status == 200


@test
def each_exchange_has_the_rights_of_its_login(node):
    node.sql("CREATE USER IF NOT EXISTS 'reads'@localhost IDENTIFIED BY 'r'")
    node.sql("CREATE USER IF NOT EXISTS 'writes'@localhost IDENTIFIED BY 'w'")
    node.sql("GRANT SELECT ON shop.* TO 'reads'@localhost")
    node.sql("GRANT SELECT, INSERT ON shop.* TO 'writes'@localhost")
    logins = {"root": [], "reads": [("authorization", "Basic cmVhZHM6cg==")], "writes": [("authorization", "Basic d3JpdGVzOnc=")],
              "wrong": [("authorization", "Basic d3JpdGVzOng=")]}
    chance, number = random.Random(3), 100
    with connected(node) as client:
        for _ in range(20):
            begun = []
            for who in chance.choices(list(logins), weights=[3, 3, 3, 0.3], k=20):
                number += 1
                begun.append((who, client.begin("POST", ROWS, {"id": number}, headers=logins[who]),
                              client.begin("POST", "/v1/sql", {"sql": "SELECT CURRENT_USER()"}, headers=logins[who])))
            for who, made, told in begun:
                made, told = client.wait(made, told)
                if who == "wrong":
                    # So many wrong ones that even right ones wait are told by 429.
                    assert made.status in (401, 429) and told.status in (401, 429), (made.status, told.status)
                    continue
                assert made.status == (403 if who == "reads" else 201), (who, made.status, made.body)
                assert values(told) == [[f"{who}@localhost"]], (who, told.body)
    node.sql("DROP USER 'reads'@localhost, 'writes'@localhost")


@test
def a_node_that_stops_says_so(node):
    other = Node(node.command[0], os.path.join(os.path.dirname(node.folder), "stops"))
    # The library of the other tests hears nothing behind the word that the connection ends.
    statement = '{"sql": "SELECT SLEEP(1.5), 7"}'
    asking = subprocess.Popen(["curl", "-sS", "--http2-prior-knowledge", f"http://127.0.0.1:{other.http}/v1/sql", "-H", "content-type: application/json", "-d", statement],
                              stdout=subprocess.PIPE)
    try:
        until(lambda: sleepers(other) == 1, "it runs", 10)
        with connected(other) as idle:
            assert idle.ask("GET", "/health").status == 200
            other.process.terminate()
            while idle.hear():
                pass
            assert idle.ended == 0, idle.ended
        assert json.loads(asking.communicate(timeout=30)[0])["rows"] == [[0, 7]]
        assert other.process.wait(60) == 0
    finally:
        asking.kill()
        other.process.kill()


@test
def who_asks_for_nothing_is_let_go(node):
    with connected(node) as idle, connected(node) as used:
        assert used.ask("GET", "/health").status == 200
        begun = time.monotonic()
        while idle.hear():
            pass
        assert 5 < time.monotonic() - begun < 40 and idle.ended == 0, idle.ended
    # Whoever connects and says nothing of HTTP/2 behind its first line.
    with socket.create_connection(("127.0.0.1", node.http), timeout=40) as mute:
        mute.sendall(PREFACE[:18])
        while mute.recv(1000):
            pass


@test
def nonsense_ends_a_connection_and_nothing_else(node):
    encode = hpack.Encoder()
    head = encode.encode([(":method", "GET"), (":path", "/health"), (":scheme", "http"), (":authority", "localhost")])
    def headers(fields, flags=5, stream=1):
        return frame(1, flags, stream, hpack.Encoder().encode(fields))
    good = [(":method", "GET"), (":path", "/health"), (":scheme", "http"), (":authority", "localhost")]
    for name, pieces in {
        "no frames": [b"GET / HTTP/1.1\r\n\r\n" * 100],
        "a frame of a megabyte": [frame(0, 0, 1, b"x" * (1 << 20))],
        "data of no stream": [frame(0, 1, 1, b"x")],
        "an even stream": [frame(1, 5, 2, head)],
        "a stream below": [frame(1, 5, 3, head), frame(1, 5, 1, head)],
        "settings that are no settings": [frame(4, 0, 0, b"x")],
        "a window beyond all": [frame(8, 0, 0, (0x7fffffff).to_bytes(4, "big"))],
        "no head behind an index": [frame(1, 5, 1, b"\xff\xff\xff\xff\xff")],
        "a continuation of nothing": [frame(9, 4, 1, head)],
        "a push": [frame(5, 4, 1, b"\0\0\0\2" + head)],
    }.items():
        got = frames(raw(node, *pieces))
        assert any(kind == 7 for kind, *_ in got), (name, [one[:3] for one in got])
    # One that is no request is refused alone.
    for name, fields in {
        "an upper-case name": [*good, ("X-Up", "1")], "a header of connections": [*good, ("connection", "close")],
        "a coding": [*good, ("transfer-encoding", "chunked")], "no path": good[:1] + good[2:], "an empty path": [good[0], (":path", ""), *good[2:]],
        "a method twice": [good[0], *good], "a pseudo header behind others": [*good[:3], ("a", "b"), good[3]], "one of answers": [*good, (":status", "200")],
        "a line end in a value": [*good, ("a", "b\r\nhost: evil")], "a NUL": [*good, ("a", "b\0c")], "a space in the path": [good[0], (":path", "/a b HTTP/1.1\r\nx: y"), *good[2:]],
        "another length": [("content-length", "5") if one == ":x" else one for one in [*good, ("content-length", "5")]],
    }.items():
        # The second one is answered, unless the whole connection ends.
        answered = lambda got: any(stream == 3 and flags & 1 for _, flags, stream, _ in frames(got))
        got = frames(raw(node, headers(fields), headers(good, stream=3), enough=answered))
        of_first = [(kind, payload) for kind, _, stream, payload in got if stream == 1]
        told = [hpack.Decoder().decode(payload)[0] for kind, payload in of_first if kind == 1]
        assert any(kind == 3 for kind, _ in of_first) or told and told[0][1].startswith("4") or any(kind == 7 for kind, *_ in got), (name, got)
        assert not told or told[0][1] != "200", (name, told)
    assert node.ask("GET", "/health").status == 200


@test
def floods_are_cut_and_disturb_nobody(node):
    before = node.resident()
    encode = hpack.Encoder()
    head = encode.encode([(":method", "POST"), (":path", "/v1/sql"), (":scheme", "http"), (":authority", "localhost")])
    def endless(make, limit=200_000):
        """Sends until the node closes; whether it has."""
        with socket.create_connection(("127.0.0.1", node.http), timeout=20) as one:
            one.sendall(PREFACE + frame(4))
            try:
                for n in range(0, limit, 100):
                    one.sendall(b"".join(make(m) for m in range(n, n + 100)))
                    took.append(probe())
            except OSError:
                return True
        return False
    def probe():
        begun = time.monotonic()
        assert node.ask("GET", "/health").status == 200
        return time.monotonic() - begun
    took = []
    assert endless(lambda n: frame(1, 4, 2 * n + 1, head) + frame(3, 0, 2 * n + 1, b"\0\0\0\x08")), "exchanges that are broken off at once"
    assert endless(lambda n: (frame(1, 0, 1, head) if n == 0 else b"") + frame(9, 0, 1, b"\x40\x01a\x01b" * 100), 20_000), "a head without an end"
    assert endless(lambda n: (frame(1, 4, 1, head) if n == 0 else b"") + frame(0, 0, 1, b""), 100_000), "data without data"
    # Whoever asks to be answered and takes nothing holds a few frames, and then waits himself.
    for make in (lambda n: frame(4), lambda n: frame(6, 0, 0, b"12345678")):
        with socket.create_connection(("127.0.0.1", node.http), timeout=3) as one:
            try:
                one.sendall(PREFACE)
                for n in range(300):
                    one.sendall(b"".join(make(m) for m in range(1000)))
                    took.append(probe())
            except OSError:
                pass
    # A few bytes that stand for many: each index is a header of 4,000 bytes.
    field = encode.encode([(":method", "GET"), (":path", "/health"), (":scheme", "http"), (":authority", "localhost"), ("x", "y" * 3900)])
    with socket.create_connection(("127.0.0.1", node.http), timeout=5) as one:
        one.sendall(PREFACE + frame(4) + frame(1, 5, 1, field))
        try:
            for n in range(1, 200):
                one.sendall(frame(1, 5, 2 * n + 1, b"\xbe" * 16_000))
        except OSError:
            pass
    assert max(took) < 2, max(took)
    grown = node.resident() - before
    assert grown < 100 << 20, grown


@test
def slow_readers_hold_little(node):
    node.ask("POST", ROWS, [{"id": n, "name": "x" * 50} for n in range(1000)])
    before, clients = node.resident(), []
    for _ in range(10):
        # Room for nothing, and a whole connection's number of long answers.
        with_room_for_none = connected(node, window=0)
        client = with_room_for_none.__enter__()
        clients.append(with_room_for_none)
        for _ in range(30):
            client.begin("POST", "/v1/sql", {"sql": "SELECT a.name FROM shop.items a, shop.items b, shop.items c"})
    took = []
    for _ in range(100):
        begun = time.monotonic()
        assert node.ask("GET", "/health").status == 200
        took.append(time.monotonic() - begun)
    assert max(took) < 2, max(took)
    grown = node.resident() - before
    for one in clients:
        one.__exit__(None, None, None)
    assert grown < 200 << 20, grown
    until(lambda: sleepers(node) == 0, "their statements end with them", 20)
