import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import redis.clients.jedis.*;
import redis.clients.jedis.args.ListDirection;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.params.*;
import redis.clients.jedis.resps.ScanResult;
import redis.clients.jedis.resps.StreamEntry;
import redis.clients.jedis.resps.Tuple;

/** Jedis, over RESP2 and RESP3. */
public final class JedisSuite {
    public static void main(String[] arguments) {
        String[] address = Harness.address(arguments);
        HostAndPort at = new HostAndPort(address[0], Integer.parseInt(address[1]));
        Harness h = new Harness(arguments, () -> {
            try (Jedis admin = new Jedis(at)) {
                admin.flushAll();
            }
        });
        for (RedisProtocol protocol : new RedisProtocol[] {RedisProtocol.RESP2, RedisProtocol.RESP3}) {
            JedisClientConfig config = DefaultJedisClientConfig.builder().protocol(protocol).clientName("suite").build();
            suite(h, at, config, protocol + ": ");
        }
        h.end();
    }

    static void suite(Harness h, HostAndPort at, JedisClientConfig config, String prefix) {
        Jedis c = new Jedis(at, config);
        h.test(prefix + "connection", () -> {
            Harness.equal(c.ping(), "PONG");
            Harness.equal(c.clientGetname(), "suite");
            Harness.equal(c.info("server").contains("redis_version"), true);
        });
        h.test(prefix + "strings", () -> {
            Harness.equal(c.set("s", "v", SetParams.setParams().ex(100).nx()), "OK");
            Harness.equal(c.set("s", "w", SetParams.setParams().nx()), null);
            Harness.equal(List.of(c.get("s"), c.ttl("s") > 90, c.incrBy("n", 41), c.incrByFloat("n", 0.5), c.append("s", "xyz")), List.of("v", true, 41L, 41.5, 4L));
            byte[] every = new byte[100_000];
            for (int i = 0; i < every.length; i++) every[i] = (byte) i;
            c.set("bytes".getBytes(), every);
            Harness.equal(java.util.Arrays.equals(c.get("bytes".getBytes()), every), true);
            Harness.fails(JedisDataException.class, () -> c.incr("s"));
        });
        h.test(prefix + "hashes, lists, sets, sorted sets", () -> {
            c.hset("h", Map.of("a", "1", "b", "two"));
            Harness.equal(c.hgetAll("h"), Map.of("a", "1", "b", "two"));
            c.rpush("l", "a", "b", "c");
            Harness.equal(c.lrange("l", 0, -1), List.of("a", "b", "c"));
            Harness.equal(c.lmove("l", "m", ListDirection.LEFT, ListDirection.RIGHT), "a");
            Harness.equal(c.lmpop(ListDirection.RIGHT, 5, "none", "l").getValue(), List.of("c", "b"));
            c.sadd("u", "a", "b");
            c.sadd("w", "b", "c");
            Harness.equal(List.of(c.sinter("u", "w"), c.smembers("u"), c.sismember("u", "a")), List.of(Set.of("b"), Set.of("a", "b"), true));
            c.zadd("z", Map.of("a", 1.0, "b", 2.5));
            Harness.equal(c.zrangeWithScores("z", 0, -1), List.of(new Tuple("a", 1.0), new Tuple("b", 2.5)));
            Harness.equal(c.zrange("z", ZRangeParams.zrangeByScoreParams(2, 3)), List.of("b"));
            Harness.equal(c.zincrby("z", 3, "a"), 4.0);
            Harness.equal(c.zpopmin("z"), new Tuple("b", 2.5));
        });
        h.test(prefix + "bits, places, estimates", () -> {
            Harness.equal(c.setbit("b", 7, true), false);
            Harness.equal(c.bitfield("b", "INCRBY", "u8", "0", "5", "OVERFLOW", "FAIL", "SET", "u2", "0", "3"), List.of(6L, 0L));
            c.geoadd("g", 13.361389, 38.115556, "Palermo");
            c.geoadd("g", 15.087269, 37.502669, "Catania");
            Harness.equal((int) (double) c.geodist("g", "Palermo", "Catania", redis.clients.jedis.args.GeoUnit.KM), 166);
            Harness.equal(c.geosearch("g", new GeoCoordinate(15, 37), 100, redis.clients.jedis.args.GeoUnit.KM).get(0).getMemberByString(), "Catania");
            c.pfadd("p", "a", "b", "c");
            Harness.equal(c.pfcount("p"), 3L);
        });
        h.test(prefix + "pipelines", () -> {
            Pipeline pipeline = c.pipelined();
            List<Response<Long>> responses = new ArrayList<>();
            for (int i = 0; i < 3000; i++) responses.add(pipeline.incr("n"));
            pipeline.sync();
            for (int i = 0; i < 3000; i++) Harness.equal(responses.get(i).get(), i + 1L);
        });
        h.test(prefix + "transactions with optimistic locking", () -> {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                threads.add(new Thread(() -> {
                    try (Jedis own = new Jedis(at, config)) {
                        for (int done = 0; done < 40;) {
                            own.watch("n");
                            String n = own.get("n");
                            Transaction transaction = own.multi();
                            transaction.set("n", String.valueOf(n == null ? 1 : Integer.parseInt(n) + 1));
                            if (transaction.exec() != null) done++;
                        }
                    }
                }));
            }
            for (Thread thread : threads) thread.start();
            for (Thread thread : threads) thread.join();
            Harness.equal(c.get("n"), "160");
        });
        h.test(prefix + "publish and subscribe", () -> {
            List<String> got = new CopyOnWriteArrayList<>();
            JedisPubSub listener = new JedisPubSub() {
                @Override
                public void onMessage(String channel, String message) {
                    got.add(channel + "=" + message);
                }
            };
            Thread thread = new Thread(() -> {
                try (Jedis own = new Jedis(at, config)) {
                    own.subscribe(listener, "c", "d");
                }
            });
            thread.start();
            Harness.until(() -> listener.getSubscribedChannels() == 2);
            Harness.equal(c.publish("c", "one"), 1L);
            Harness.equal(c.publish("d", "two"), 1L);
            Harness.until(() -> got.size() == 2);
            listener.unsubscribe();
            thread.join(10_000);
            Harness.equal(List.of(got, thread.isAlive()), List.of(List.of("c=one", "d=two"), false));
        });
        h.test(prefix + "blocking pops", () -> {
            CompletableFuture<List<String>> popped = CompletableFuture.supplyAsync(() -> {
                try (Jedis own = new Jedis(at, config)) {
                    return own.blpop(10, "a", "b");
                }
            });
            Harness.until(() -> c.clientList().contains("cmd=blpop"));
            c.rpush("b", "x");
            Harness.equal(popped.get(), List.of("b", "x"));
            Harness.equal(c.blpop(0.05, "none"), null);
        });
        h.test(prefix + "scripts", () -> {
            String sha = c.scriptLoad("return {KEYS[1], tonumber(ARGV[1]) + 1}");
            Harness.equal(c.evalsha(sha, 1, "k", "41"), List.of("k", 42L));
            Harness.fails(JedisNoScriptException.class, () -> c.evalsha("0".repeat(40)));
        });
        h.test(prefix + "streams and groups", () -> {
            c.xgroupCreate("x", "g", StreamEntryID.XGROUP_LAST_ENTRY, true);
            StreamEntryID id = c.xadd("x", StreamEntryID.NEW_ENTRY, Map.of("f", "v"));
            List<Map.Entry<String, List<StreamEntry>>> read = c.xreadGroup("g", "alice", XReadGroupParams.xReadGroupParams().count(10), Map.of("x", StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY));
            Harness.equal(read.get(0).getValue().get(0).getID(), id);
            Harness.equal(c.xpending("x", "g").getTotal(), 1L);
            Harness.equal(c.xautoclaim("x", "g", "bob", 0, new StreamEntryID("0-0"), new XAutoClaimParams()).getValue().get(0).getFields(), Map.of("f", "v"));
            Harness.equal(List.of(c.xack("x", "g", id), c.xlen("x"), c.xinfoStream("x").getLength()), List.of(1L, 1L, 1L));
        });
        h.test(prefix + "iterators", () -> {
            Pipeline pipeline = c.pipelined();
            for (int i = 0; i < 1000; i++) pipeline.set("k" + i, "v");
            pipeline.sync();
            Set<String> found = new HashSet<>();
            String cursor = ScanParams.SCAN_POINTER_START;
            do {
                ScanResult<String> part = c.scan(cursor, new ScanParams().match("k*").count(50));
                found.addAll(part.getResult());
                cursor = part.getCursor();
            } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
            Harness.equal(found.size(), 1000);
        });
        c.close();
    }
}
