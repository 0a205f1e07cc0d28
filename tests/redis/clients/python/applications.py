"""Django's cache by django-redis, sessions of Flask, Redlock over one server, a rate limiter in Lua."""

import threading
import time

import redis

from harness import HOST, PORT, URL, equal, main, raises, test, until

import django
from django.conf import settings

settings.configure(
    CACHES={"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": f"{URL}/1", "KEY_PREFIX": "site"}},
    SESSION_ENGINE="django.contrib.sessions.backends.cache", USE_TZ=True, SECRET_KEY="x")
django.setup()


@test
def django_cache():
    from django.core.cache import cache
    equal((cache.set("a", {"x": [1, 2]}, 100), cache.get("a"), cache.get("none", "default")), (True, {"x": [1, 2]}, "default"))
    equal((cache.add("a", 1), cache.add("n", 1), cache.incr("n", 5), cache.decr("n")), (False, True, 6, 5))
    cache.set_many({f"k{n}": n for n in range(100)}, timeout=None)
    equal(cache.get_many(["k1", "k99", "none"]), {"k1": 1, "k99": 99})
    equal((cache.ttl("a") > 90, cache.ttl("k1"), cache.touch("k1", 50), cache.persist("k1"), cache.has_key("k1")), (True, None, True, True, True))
    equal((len(cache.keys("k*")), sum(1 for _ in cache.iter_keys("k*", itersize=7)), cache.delete_pattern("k1*"), len(cache.keys("k*"))), (100, 100, 11, 89))
    equal((cache.get_or_set("lazy", lambda: 7), cache.delete("lazy"), cache.get("lazy")), (7, True, None))
    cache.set("soon", 1, 0.05)
    until(lambda: cache.get("soon") is None)
    with cache.lock("lock", timeout=5):
        equal(cache.lock("lock").acquire(blocking=False), False)
    cache.set("versioned", 1)
    equal((cache.incr_version("versioned"), cache.get("versioned", version=2)), (2, 1))
    cache.clear()
    equal(cache.get("a"), None)


@test
def django_sessions():
    from django.contrib.sessions.backends.cache import SessionStore
    session = SessionStore()
    session["user"] = 42
    session.save()
    again = SessionStore(session_key=session.session_key)
    equal(again["user"], 42)
    again.cycle_key()
    equal((SessionStore(session_key=session.session_key).exists(session.session_key), again["user"]), (False, 42))
    again.flush()


@test
def flask_sessions():
    from flask import Flask, session
    from flask_session import Session
    app = Flask(__name__)
    app.config.update(SESSION_TYPE="redis", SESSION_REDIS=redis.Redis(HOST, PORT), SECRET_KEY="x")
    Session(app)

    @app.route("/count")
    def count():
        session["n"] = session.get("n", 0) + 1
        return str(session["n"])

    @app.route("/out")
    def out():
        session.clear()
        return "out"

    one, two = app.test_client(), app.test_client()
    equal([one.get("/count").text, one.get("/count").text, two.get("/count").text, one.get("/count").text], ["1", "2", "1", "3"])
    one.get("/out")
    equal((one.get("/count").text, two.get("/count").text), ("1", "2"))
    r = redis.Redis(HOST, PORT)
    equal(all(r.ttl(key) > 1000 for key in r.keys("session:*")), True)


@test
def redlock():
    from redlock import Redlock
    locks = Redlock([{"host": HOST, "port": PORT, "db": 0}], retry_count=1)
    held = locks.lock("resource", 10_000)
    equal((bool(held), locks.lock("resource", 10_000)), (True, False))
    locks.unlock(held)
    brief = locks.lock("resource", 50)
    equal(bool(brief), True)
    until(lambda: locks.lock("resource", 1000))

    inside, most, done = [0], [0], []
    patient = Redlock([{"host": HOST, "port": PORT, "db": 0}], retry_count=1000, retry_delay=0.01)

    def work():
        for _ in range(10):
            lock = patient.lock("shared", 10_000)
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.001)
            inside[0] -= 1
            patient.unlock(lock)
            done.append(1)

    threads = [threading.Thread(target=work) for _ in range(5)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    equal((most[0], len(done)), (1, 50))


@test
def rate_limiter_in_lua():
    r = redis.Redis(HOST, PORT)
    # A sliding window, as sorted set of the moments, by the server's clock.
    limiter = r.register_script("""
        local now = redis.call('TIME')
        local us = now[1] * 1000000 + now[2]
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', us - ARGV[2] * 1000)
        if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
        redis.call('ZADD', KEYS[1], us, us .. ':' .. redis.call('INCR', KEYS[1] .. ':n'))
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
        return 1""")
    allowed = []
    threads = [threading.Thread(target=lambda: allowed.extend(limiter(keys=["user"], args=[20, 60_000]) for _ in range(20))) for _ in range(5)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    equal(sum(allowed), 20)
    equal(sum(limiter(keys=["other"], args=[3, 100]) for _ in range(5)), 3)
    until(lambda: limiter(keys=["other"], args=[3, 100]))


@test
def leaderboard_and_unique_visitors():
    r = redis.Redis(HOST, PORT, decode_responses=True)
    pipe = r.pipeline()
    for n in range(500):
        pipe.zincrby("board", n % 37, f"player{n % 50}")
        pipe.pfadd("visitors", f"user{n % 200}")
        pipe.setbit("active", n % 200, 1)
    pipe.execute()
    scores = dict(r.zrange("board", 0, -1, withscores=True))
    wanted = {f"player{p}": float(sum(n % 37 for n in range(500) if n % 50 == p)) for p in range(50)}
    equal(scores, wanted)
    best = r.zrange("board", 0, 2, desc=True, withscores=True)
    equal([score for _, score in best], sorted(wanted.values(), reverse=True)[:3])
    equal((190 < r.pfcount("visitors") < 210, r.bitcount("active")), (True, 200))
    raises(redis.ResponseError, r.lpush, "board", "x")


main()
