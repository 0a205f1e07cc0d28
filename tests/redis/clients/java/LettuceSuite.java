import io.lettuce.core.*;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.support.caching.CacheAccessor;
import io.lettuce.core.support.caching.CacheFrontend;
import io.lettuce.core.support.caching.ClientSideCaching;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** Lettuce, over RESP2 and RESP3. */
public final class LettuceSuite {
    public static void main(String[] arguments) {
        String[] address = Harness.address(arguments);
        RedisURI uri = RedisURI.Builder.redis(address[0], Integer.parseInt(address[1])).withClientName("suite").build();
        RedisClient admin = RedisClient.create(uri);
        RedisCommands<String, String> all = admin.connect().sync();
        Harness h = new Harness(arguments, all::flushall);
        for (ProtocolVersion protocol : new ProtocolVersion[] {ProtocolVersion.RESP2, ProtocolVersion.RESP3}) {
            RedisClient client = RedisClient.create(uri);
            client.setOptions(ClientOptions.builder().protocolVersion(protocol).build());
            suite(h, client, all, protocol == ProtocolVersion.RESP3, protocol + ": ");
            client.shutdown();
        }
        h.end();
    }

    static void suite(Harness h, RedisClient client, RedisCommands<String, String> admin, boolean three, String prefix) {
        StatefulRedisConnection<String, String> connection = client.connect();
        RedisCommands<String, String> c = connection.sync();
        h.test(prefix + "connection", () -> {
            Harness.equal(c.ping(), "PONG");
            Harness.equal(c.clientGetname(), "suite");
        });
        h.test(prefix + "strings and bytes", () -> {
            Harness.equal(c.set("s", "v", SetArgs.Builder.nx().ex(100)), "OK");
            Harness.equal(c.get("s"), "v");
            Harness.equal(c.get("missing"), null);
            Harness.equal(c.mget("s", "none").get(1), KeyValue.empty("none"));
            Harness.equal(List.of(c.incr("n"), c.incrbyfloat("n", 0.5), c.ttl("s") > 90), List.of(1L, 1.5, true));
            Harness.fails(RedisCommandExecutionException.class, () -> c.lpush("s", "x"));
            byte[] every = new byte[100_000];
            for (int i = 0; i < every.length; i++) every[i] = (byte) i;
            try (StatefulRedisConnection<byte[], byte[]> raw = client.connect(ByteArrayCodec.INSTANCE)) {
                raw.sync().set("bytes".getBytes(), every);
                Harness.equal(java.util.Arrays.equals(raw.sync().get("bytes".getBytes()), every), true);
            }
        });
        h.test(prefix + "hashes, lists, sets, sorted sets", () -> {
            c.hset("h", Map.of("a", "1", "b", "two"));
            Harness.equal(c.hgetall("h"), Map.of("a", "1", "b", "two"));
            c.rpush("l", "a", "b", "c");
            Harness.equal(List.of(c.lrange("l", 0, -1), c.lpop("l"), c.rpop("l", 5)), List.of(List.of("a", "b", "c"), "a", List.of("c", "b")));
            c.sadd("u", "a", "b");
            Harness.equal(List.of(c.smembers("u"), c.sismember("u", "a")), List.of(Set.of("a", "b"), true));
            c.zadd("z", ScoredValue.just(1, "a"), ScoredValue.just(2.5, "b"));
            Harness.equal(c.zrangeWithScores("z", 0, -1), List.of(ScoredValue.just(1, "a"), ScoredValue.just(2.5, "b")));
            Harness.equal(List.of(c.zscore("z", "b"), c.zrank("z", "b"), c.zrangebyscore("z", Range.create(2, 3))), List.of(2.5, 1L, List.of("b")));
        });
        h.test(prefix + "commands in flight", () -> {
            RedisAsyncCommands<String, String> async = connection.async();
            List<RedisFuture<Long>> futures = new ArrayList<>();
            for (int i = 0; i < 5000; i++) futures.add(async.incr("n"));
            Harness.equal(LettuceFutures.awaitAll(30, TimeUnit.SECONDS, futures.toArray(new RedisFuture[0])), true);
            for (int i = 0; i < 5000; i++) Harness.equal(futures.get(i).get(), i + 1L);
        });
        h.test(prefix + "transactions with optimistic locking", () -> {
            c.set("n", "1");
            c.watch("n");
            admin.set("n", "2");
            c.multi();
            c.set("n", "mine");
            Harness.equal(c.exec().wasDiscarded(), true);
            c.multi();
            c.incr("n");
            c.get("n");
            TransactionResult result = c.exec();
            Harness.equal(List.of((Object) result.get(0), result.get(1)), List.of(3L, "3"));
        });
        h.test(prefix + "publish and subscribe", () -> {
            List<String> got = new CopyOnWriteArrayList<>();
            try (StatefulRedisPubSubConnection<String, String> subscriber = client.connectPubSub()) {
                subscriber.addListener(new RedisPubSubAdapter<>() {
                    @Override
                    public void message(String channel, String message) {
                        got.add(channel + "=" + message);
                    }

                    @Override
                    public void message(String pattern, String channel, String message) {
                        got.add(pattern + ":" + channel + "=" + message);
                    }
                });
                subscriber.sync().subscribe("c");
                subscriber.sync().psubscribe("n.*");
                Harness.equal(List.of(c.publish("c", "one"), c.publish("n.x", "two")), List.of(1L, 1L));
                Harness.until(() -> got.size() == 2);
                Harness.equal(got, List.of("c=one", "n.*:n.x=two"));
            }
        });
        h.test(prefix + "blocking pops", () -> {
            try (StatefulRedisConnection<String, String> waiting = client.connect()) {
                RedisFuture<KeyValue<String, String>> popped = waiting.async().blpop(10, "a", "b");
                Harness.until(() -> admin.clientList().contains("cmd=blpop"));
                c.rpush("b", "x");
                Harness.equal(popped.get(10, TimeUnit.SECONDS), KeyValue.just("b", "x"));
            }
        });
        h.test(prefix + "scripts", () -> {
            String sha = c.scriptLoad("return {KEYS[1], tonumber(ARGV[1]) + 1}");
            List<Object> result = c.evalsha(sha, ScriptOutputType.MULTI, new String[] {"k"}, "41");
            Harness.equal(result, List.of("k", 42L));
            Harness.fails(RedisNoScriptException.class, () -> c.evalsha("0".repeat(40), ScriptOutputType.VALUE));
        });
        h.test(prefix + "streams and groups", () -> {
            c.xgroupCreate(XReadArgs.StreamOffset.latest("x"), "g", XGroupCreateArgs.Builder.mkstream());
            String id = c.xadd("x", Map.of("f", "v"));
            List<StreamMessage<String, String>> read = c.xreadgroup(Consumer.from("g", "alice"), XReadArgs.StreamOffset.lastConsumed("x"));
            Harness.equal(List.of(read.get(0).getId(), read.get(0).getBody()), List.of(id, Map.of("f", "v")));
            Harness.equal(List.of(c.xpending("x", "g").getCount(), c.xack("x", "g", id), c.xlen("x")), List.of(1L, 1L, 1L));
        });
        h.test(prefix + "iterators", () -> {
            for (int i = 0; i < 500; i++) c.set("k" + i, "v");
            Set<String> found = new HashSet<>();
            ScanIterator<String> keys = ScanIterator.scan(c, ScanArgs.Builder.matches("k*").limit(50));
            while (keys.hasNext()) found.add(keys.next());
            Harness.equal(found.size(), 500);
        });
        if (three) {
            h.test(prefix + "a cache beside the client", () -> {
                c.set("k", "one");
                try (StatefulRedisConnection<String, String> caching = client.connect()) {
                    Map<String, String> near = new ConcurrentHashMap<>();
                    CacheFrontend<String, String> cache = ClientSideCaching.enable(CacheAccessor.forMap(near), caching, TrackingArgs.Builder.enabled());
                    Harness.equal(List.of(cache.get("k"), near), List.of("one", Map.of("k", "one")));
                    admin.set("k", "two");
                    Harness.until(() -> !near.containsKey("k"));
                    Harness.equal(cache.get("k"), "two");
                }
            });
        }
        connection.close();
    }
}
