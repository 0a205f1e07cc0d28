"""redis-py, over RESP2 and RESP3."""

import asyncio
import threading

import redis
import redis.asyncio

from harness import HOST, PORT, URL, equal, main, raises, test, until


def clients():
    for protocol in (2, 3):
        yield redis.Redis(HOST, PORT, protocol=protocol, decode_responses=True)


def client():
    return redis.Redis(HOST, PORT, decode_responses=True)


@test
def connects_by_hello_and_names_itself():
    named = redis.Redis(HOST, PORT, protocol=3, client_name="suite")
    equal(named.ping(), True)
    equal(named.client_getname(), b"suite")
    info = named.client_info()
    equal(info["name"], "suite")
    equal(int(info["id"]) == named.client_id(), True)
    equal("redis_version" in named.info("server"), True)


@test
def a_wrong_password_is_an_authentication_error():
    raises(redis.AuthenticationError, redis.Redis(HOST, PORT, username="nobody", password="wrong").ping)


@test
def strings():
    for r in clients():
        r.flushdb()
        equal(r.set("s", "v"), True)
        equal(r.set("s", "w", nx=True), None)
        equal(r.set("s", "w", get=True), "v")
        equal(r.get("missing"), None)
        equal(r.append("s", "xyz"), 4)
        equal((r.getrange("s", 1, 2), r.strlen("s"), r.setrange("s", 1, "__")), ("xy", 4, 4))
        equal((r.incr("n"), r.incrby("n", 41), r.decr("n"), r.incrbyfloat("n", 0.5)), (1, 42, 41, 41.5))
        equal((r.mset({"a": 1, "b": 2}), r.mget("a", "b", "missing")), (True, ["1", "2", None]))
        equal((r.getdel("a"), r.exists("a")), ("1", 0))
        equal((r.set("e", "v", ex=100), 90 < r.ttl("e") <= 100, r.persist("e"), r.ttl("e")), (True, True, True, -1))
        equal(r.getex("e", px=100000), "v")
        equal((r.type("e"), r.type("missing")), ("string", "none"))
        raises(redis.ResponseError, r.incr, "e")


@test
def bytes_are_kept():
    raw = redis.Redis(HOST, PORT)
    every = bytes(range(256)) * 300
    raw.set(every[:256], every)
    equal(raw.get(every[:256]), every)


@test
def hashes():
    for r in clients():
        r.flushdb()
        equal(r.hset("h", mapping={"a": 1, "b": "two"}), 2)
        equal(r.hgetall("h"), {"a": "1", "b": "two"})
        equal((r.hget("h", "a"), r.hmget("h", "a", "c"), r.hincrby("h", "a", 4), r.hincrbyfloat("h", "a", 0.25)), ("1", ["1", None], 5, 5.25))
        equal((r.hdel("h", "a"), r.hexists("h", "a"), r.hlen("h"), r.hkeys("h"), r.hvals("h"), r.hstrlen("h", "b")), (1, False, 1, ["b"], ["two"], 3))
        equal(r.hsetnx("h", "b", 1), False)
        equal(r.hrandfield("h", 2), ["b"])


@test
def lists():
    for r in clients():
        r.flushdb()
        equal((r.rpush("l", *"abc"), r.lpush("l", "z"), r.lrange("l", 0, -1)), (3, 4, list("zabc")))
        equal((r.lpop("l"), r.rpop("l", 2), r.llen("l"), r.lindex("l", 0), r.lindex("l", 9)), ("z", ["c", "b"], 1, "a", None))
        r.rpush("l", "b", "a", "b")
        equal((r.lpos("l", "b", rank=2), r.lrem("l", 1, "b"), r.linsert("l", "BEFORE", "b", "x"), r.lrange("l", 0, -1)), (3, 1, 4, ["a", "a", "x", "b"]))
        equal((r.ltrim("l", 1, 2), r.lset("l", 0, "y"), r.lmove("l", "m", "LEFT", "RIGHT"), r.lrange("m", 0, -1)), (True, True, "y", ["y"]))
        equal(r.lmpop(2, "missing", "l", direction="LEFT"), ["l", ["x"]])


@test
def sets():
    for r in clients():
        r.flushdb()
        equal((r.sadd("u", *"abc"), r.sadd("u", "a"), r.smembers("u"), r.scard("u")), (3, 0, set("abc"), 3))
        r.sadd("w", *"bcd")
        equal((r.sinter("u", "w"), r.sunion("u", "w"), r.sdiff("u", "w")), (set("bc"), set("abcd"), {"a"}))
        equal((r.smismember("u", ["a", "x"]), r.sintercard(2, ["u", "w"]), r.smove("u", "w", "a"), r.srem("w", "a")), ([1, 0], 2, True, 1))
        equal((r.sinterstore("t", "u", "w"), len(r.srandmember("t", 5)), r.spop("t") in "bc"), (2, 2, True))


@test
def sorted_sets():
    for r in clients():
        r.flushdb()
        equal(r.zadd("z", {"a": 1, "b": 2.5, "c": float("inf")}), 3)
        equal((r.zscore("z", "b"), r.zscore("z", "c"), r.zscore("z", "x"), r.zrank("z", "b"), r.zrevrank("z", "b")), (2.5, float("inf"), None, 1, 1))
        pairs = [tuple(pair) for pair in r.zrange("z", 0, -1, withscores=True)]
        equal(pairs, [("a", 1.0), ("b", 2.5), ("c", float("inf"))])
        equal((r.zincrby("z", 2, "a"), r.zrangebyscore("z", "(2", "3"), r.zcount("z", "-inf", "+inf"), r.zrevrange("z", 0, 0)), (3.0, ["b", "a"], 3, ["c"]))
        popped = r.zpopmin("z")  # RESP3 does not put one pair into a list
        equal([tuple(pair) for pair in popped] if isinstance(popped[0], (list, tuple)) else [tuple(popped)], [("b", 2.5)])
        r.zadd("y", {"a": 10, "d": 1})
        equal((r.zunionstore("t", {"z": 2, "y": 1}), r.zscore("t", "a"), r.zinter(["z", "y"]), r.zdiff(["z", "y"])), (3, 16.0, ["a"], ["c"]))
        equal((r.zadd("z", {"a": 1}, gt=True, ch=True), r.zmscore("z", ["a", "x"]), r.zremrangebyscore("z", "-inf", 100)), (0, [3.0, None], 1))
        r.zadd("lex", dict.fromkeys("abcd", 0))
        equal((r.zrangebylex("lex", "[b", "(d"), r.zlexcount("lex", "-", "+"), r.zrange("lex", "[c", "[a", desc=True, bylex=True)), (["b", "c"], 4, ["c", "b", "a"]))


@test
def bits_places_and_estimates():
    for r in clients():
        r.flushdb()
        equal((r.setbit("b", 7, 1), r.getbit("b", 7), r.bitcount("b"), r.bitpos("b", 1)), (0, 1, 1, 7))
        equal(r.bitfield("b").set("u8", 0, 200).incrby("u8", 0, 100, "SAT").get("u4", 0).execute(), [1, 255, 15])
        equal(r.bitop("NOT", "c", "b"), 1)
        equal(r.geoadd("g", (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")), 2)
        equal((round(r.geodist("g", "Palermo", "Catania", "km")), r.geohash("g", "Palermo")), (166, ["sqc8b49rny0"]))
        equal(r.geosearch("g", longitude=15, latitude=37, radius=200, unit="km", sort="ASC"), ["Catania", "Palermo"])
        equal((r.pfadd("p", *range(1000)), 950 < r.pfcount("p") < 1050, r.pfmerge("q", "p"), r.pfcount("p", "q") == r.pfcount("p")), (1, True, True, True))


@test
def keys():
    for r in clients():
        r.flushdb()
        r.mset({f"k{n}": n for n in range(50)})
        equal((len(r.keys("k*")), r.exists("k1", "k2", "x"), r.delete("k1", "x"), r.unlink("k2"), r.dbsize()), (50, 2, 1, 1, 48))
        equal((r.rename("k3", "n"), r.get("n"), r.renamenx("n", "k4"), r.copy("n", "m"), r.touch("n", "m")), (True, "3", False, True, 2))
        equal((r.expire("n", 1000), r.expire("n", 10, gt=True), r.pttl("n") > 990000, r.expiretime("n") > 1e9), (True, False, True, True))
        equal(r.object("encoding", "n") is not None, True)
        r.rpush("l", 3, 1, 2)
        equal((r.sort("l"), r.sort("l", desc=True, start=0, num=1), r.sort("l", by="nosort", get=["#", "k*"])), (["1", "2", "3"], ["3"], ["3", None, "1", None, "2", None]))
        dumped = redis.Redis(HOST, PORT).dump("n")
        equal((r.restore("again", 0, dumped), r.get("again")), (b"OK" if r.get_encoder() is None else "OK", "3"))


@test
def iterators():
    for r in clients():
        r.flushdb()
        pipe = r.pipeline()
        for n in range(1000):
            pipe.set(f"k{n}", n)
            pipe.sadd("u", n)
            pipe.hset("h", f"f{n}", n)
            pipe.zadd("z", {f"m{n}": n})
        pipe.execute()
        equal(set(r.scan_iter("k*", count=70)), {f"k{n}" for n in range(1000)})
        equal(set(r.scan_iter(_type="zset")), {"z"})
        equal(set(r.sscan_iter("u")), {str(n) for n in range(1000)})
        equal(dict(r.hscan_iter("h", match="f1?")), {f"f1{n}": f"1{n}" for n in range(10)})
        equal(dict(r.zscan_iter("z")), {f"m{n}": float(n) for n in range(1000)})


@test
def pipelines():
    for r in clients():
        r.flushdb()
        pipe = r.pipeline(transaction=False)
        for n in range(10_000):
            pipe.incr("n")
        equal(pipe.execute(), list(range(1, 10_001)))
        results = r.pipeline(transaction=False).set("s", "x").incr("s").get("s").execute(raise_on_error=False)
        equal((results[0], type(results[1]), results[2]), (True, redis.ResponseError, "x"))


@test
def transactions_with_optimistic_locking():
    for r in clients():
        r.flushdb()
        r.set("n", 0)

        def add():
            own = client()
            for _ in range(50):
                own.transaction(lambda pipe: (value := int(pipe.get("n")), pipe.multi(), pipe.set("n", value + 1)), "n")

        threads = [threading.Thread(target=add) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        equal(r.get("n"), "200")
        with r.pipeline() as pipe:
            pipe.watch("n")
            client().set("n", "other")
            pipe.multi()
            pipe.set("n", "mine")
            raises(redis.WatchError, pipe.execute)
        equal(r.get("n"), "other")


@test
def publishes_and_subscribes():
    for r in clients():
        subscriber = r.pubsub()
        subscriber.subscribe("c", "d")
        subscriber.psubscribe("n.*")
        confirmed = [subscriber.get_message(timeout=5)["type"] for _ in range(3)]
        equal(confirmed, ["subscribe", "subscribe", "psubscribe"])
        equal((r.publish("c", "one"), r.publish("n.x", "two"), r.publish("nobody", "three")), (1, 1, 0))
        got = [subscriber.get_message(timeout=5) for _ in range(2)]
        equal([(m["type"], m["pattern"], m["channel"], m["data"]) for m in got], [("message", None, "c", "one"), ("pmessage", "n.*", "n.x", "two")])
        equal((sorted(r.pubsub_channels()), dict(r.pubsub_numsub("c")), r.pubsub_numpat()), (["c", "d"], {"c": 1}, 1))
        subscriber.unsubscribe()
        subscriber.punsubscribe()
        subscriber.close()


@test
def handlers_in_a_thread():
    got = []
    subscriber = client().pubsub()
    subscriber.subscribe(c=lambda message: got.append(message["data"]))
    thread = subscriber.run_in_thread(sleep_time=0.01)
    until(lambda: client().publish("c", "x"))
    until(lambda: got)
    thread.stop()
    thread.join()


@test
def blocking_pops():
    for r in clients():
        r.flushdb()
        for wait, push, wanted in (
            (lambda c: c.blpop(["a", "b"], 10), lambda: r.rpush("b", "x"), ["b", "x"]),
            (lambda c: c.brpop("a", 10), lambda: r.rpush("a", "x"), ["a", "x"]),
            (lambda c: c.blmove("a", "t", 10, "LEFT", "RIGHT"), lambda: r.rpush("a", "y"), "y"),
            (lambda c: c.bzpopmin("z", 10), lambda: r.zadd("z", {"m": 1}), ["z", "m", 1.0]),
            (lambda c: c.blmpop(10, 1, "a", direction="LEFT"), lambda: r.rpush("a", "w"), ["a", ["w"]]),
        ):
            result = []
            waiting = client()
            thread = threading.Thread(target=lambda: result.append(wait(waiting)))
            thread.start()
            until(lambda: any("b" in c["flags"] for c in r.client_list()))
            push()
            thread.join(10)
            equal(list(result[0]) if isinstance(result[0], tuple) else result[0], wanted)
        equal(r.blpop("none", 0.05), None)


@test
def scripts():
    for r in clients():
        r.flushdb()
        script = r.register_script("redis.call('SET', KEYS[1], ARGV[1]); return {redis.call('GET', KEYS[1]), tonumber(ARGV[2]) + 1, false, {ok = 'fine'}}")
        equal(script(keys=["k"], args=["v", 41]), ["v", 42, None, "fine"])
        r.script_flush()
        equal(r.script_exists(script.sha), [False])
        equal(script(keys=["k"], args=["v", 1])[1], 2)  # redis-py loads it again
        raises(redis.exceptions.NoScriptError, r.evalsha, "0" * 40, 0)
        equal("MYERR" in str(raises(redis.ResponseError, r.eval, "return redis.error_reply('MYERR no')", 0)), True)
        r.function_load("#!lua name=mylib\nredis.register_function('add', function(keys, args) return redis.call('INCRBY', keys[1], args[1]) end)", replace=True)
        equal((r.fcall("add", 1, "n", 5), r.fcall("add", 1, "n", 5)), (5, 10))
        r.function_delete("mylib")


@test
def streams_and_groups():
    for r in clients():
        r.flushdb()
        first = r.xadd("x", {"a": 1, "b": 2})
        r.xadd("x", {"a": 2}, maxlen=1000)
        equal((r.xlen("x"), r.xrange("x")[0], r.xrevrange("x", count=1)[0][1]), (2, (first, {"a": "1", "b": "2"}), {"a": "2"}))
        equal(r.xgroup_create("x", "g", "0"), True)
        raises(redis.ResponseError, r.xgroup_create, "x", "g")
        got = r.xreadgroup("g", "alice", {"x": ">"}, count=1)
        entries = got["x"][0] if isinstance(got, dict) else got[0][1]
        equal(entries[0], (first, {"a": "1", "b": "2"}))
        equal(r.xpending("x", "g")["pending"], 1)
        equal(r.xpending_range("x", "g", "-", "+", 10)[0]["consumer"], "alice")
        equal(r.xclaim("x", "g", "bob", 0, [first])[0][0], first)
        equal(r.xautoclaim("x", "g", "carol", 0)[1][0][0], first)
        equal((r.xack("x", "g", first), r.xpending("x", "g")["pending"]), (1, 0))
        equal((r.xinfo_stream("x")["length"], r.xinfo_groups("x")[0]["name"], {c["name"] for c in r.xinfo_consumers("x", "g")}), (2, "g", {"alice", "bob", "carol"}))
        equal((r.xtrim("x", maxlen=1, approximate=False), r.xdel("x", first), r.xgroup_destroy("x", "g")), (1, 0, 1))
        equal(r.xread({"x": "$"}, block=20) in ([], {}), True)


@test
def databases():
    r, other = client(), redis.Redis(HOST, PORT, db=1, decode_responses=True)
    r.set("k", "zero")
    equal(other.get("k"), None)
    equal((r.move("k", 1), r.get("k"), other.get("k")), (True, None, "zero"))


@test
def locks():
    r = client()
    lock = r.lock("lock", timeout=10)
    equal((lock.acquire(), r.lock("lock", timeout=10).acquire(blocking=False), lock.owned(), lock.extend(5)), (True, False, True, True))
    lock.release()
    raises(redis.exceptions.LockError, lock.release)


@test
def asynchronous():
    async def work():
        async with redis.asyncio.from_url(URL, decode_responses=True, protocol=3) as r:
            await r.set("n", 0)
            await asyncio.gather(*[r.incr("n") for _ in range(200)])
            equal(await r.get("n"), "200")
            async with r.pubsub() as subscriber:
                await subscriber.subscribe("c")
                await r.publish("c", "hello")
                async for message in subscriber.listen():
                    if message["type"] == "message":
                        equal(message["data"], "hello")
                        break

    asyncio.run(asyncio.wait_for(work(), 30))


main()
