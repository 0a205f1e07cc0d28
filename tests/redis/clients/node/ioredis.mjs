// ioredis, which speaks RESP2.

import { Redis } from "ioredis";
import { equal, fails, HOST, main, PORT, test, until } from "./harness.mjs";

const open = (options = {}) => new Redis(PORT, HOST, { lazyConnect: false, ...options });
const c = open();

test("it becomes ready by INFO, and names itself", async () => {
  const named = open({ connectionName: "suite", enableReadyCheck: true });
  equal([await named.client("GETNAME"), named.status], ["suite", "ready"]);
  named.disconnect();
});
test("types", async () => {
  equal([await c.set("s", "v", "EX", 100, "NX"), await c.get("s"), await c.incr("n"), await c.getBuffer("s")], ["OK", "v", 1, Buffer.from("v")]);
  equal([await c.hset("h", { a: 1, b: 2 }), await c.hgetall("h"), await c.hmget("h", "a", "x")], [2, { a: "1", b: "2" }, ["1", null]]);
  equal([await c.rpush("l", "a", "b"), await c.lrange("l", 0, -1), await c.lmove("l", "m", "LEFT", "RIGHT")], [2, ["a", "b"], "a"]);
  equal([await c.sadd("u", "a", "b"), (await c.smembers("u")).sort()], [2, ["a", "b"]]);
  equal([await c.zadd("z", 1, "a", 2.5, "b"), await c.zrange("z", 0, -1, "WITHSCORES")], [2, ["a", "1", "b", "2.5"]]);
  await fails(c.lpush("s", "x"), /WRONGTYPE/);
});
test("every byte", async () => {
  const every = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i % 256));
  await c.set(every.subarray(0, 256), every);
  equal((await c.getBuffer(every.subarray(0, 256))).equals(every), true);
});
test("pipelines", async () => {
  const pipeline = c.pipeline();
  for (let i = 0; i < 5000; i++) pipeline.incr("n");
  equal((await pipeline.exec()).map(([, n]) => n), Array.from({ length: 5000 }, (_, i) => i + 1));
  const [[, ok], [error], [, last]] = await c.pipeline().set("s", "x").incr("s").get("s").exec();
  equal([ok, /not an integer/.test(error), last], ["OK", true, "x"]);
});
test("a pipeline by itself", async () => {
  const auto = open({ enableAutoPipelining: true });
  equal(await Promise.all(Array.from({ length: 100 }, (_, i) => auto.set(`k${i}`, i))), Array(100).fill("OK"));
  auto.disconnect();
});
test("transactions with optimistic locking", async () => {
  await c.set("n", 0);
  const add = async () => {
    const own = open();
    for (let done = 0; done < 30;) {
      await own.watch("n");
      const value = Number(await own.get("n"));
      if (await own.multi().set("n", value + 1).exec()) done += 1;
    }
    own.disconnect();
  };
  await Promise.all([add(), add(), add()]);
  equal(await c.get("n"), "90");
  const aborted = c.multi({ pipeline: false });
  await aborted;
  await fails(c.call("NOSUCH"), /unknown command/);
  await fails(c.exec(), /EXECABORT/);
});
test("publish and subscribe", async () => {
  const subscriber = open();
  const got = [];
  subscriber.on("message", (channel, message) => got.push([channel, message]));
  subscriber.on("pmessage", (pattern, channel, message) => got.push([pattern, channel, message]));
  equal([await subscriber.subscribe("c"), await subscriber.psubscribe("n.*")], [1, 2]);
  await c.publish("c", "one");
  await c.publish("n.x", "two");
  await until(() => got.length === 2);
  equal(got, [["c", "one"], ["n.*", "n.x", "two"]]);
  await fails(subscriber.get("k"), /subscriber mode/);
  equal([await subscriber.unsubscribe("c"), await subscriber.punsubscribe("n.*")], [1, 0]);
  equal(await subscriber.get("k"), null);
  subscriber.disconnect();
});
test("blocking pops", async () => {
  const waiting = open();
  const popped = waiting.bzpopmin("z", 10);
  await until(async () => /flags=b/.test(await c.client("LIST")));
  await c.zadd("z", 1, "m");
  equal([await popped, await waiting.brpop("none", 0.05)], [["z", "m", "1"], null]);
  waiting.disconnect();
});
test("commands in Lua", async () => {
  c.defineCommand("both", { numberOfKeys: 2, lua: "return {redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2]), ARGV[1]}" });
  await c.mset("a", 1, "b", 2);
  equal(await c.both("a", "b", "x"), ["1", "2", "x"]);
  await c.script("FLUSH");
  equal(await c.both("a", "b", "x"), ["1", "2", "x"]);
  equal((await c.pipeline().both("a", "b", "y").exec())[0][1], ["1", "2", "y"]);
});
test("streams", async () => {
  await c.xgroup("CREATE", "x", "g", "$", "MKSTREAM");
  const waiting = open();
  const read = waiting.xreadgroup("GROUP", "g", "alice", "COUNT", 10, "BLOCK", 10_000, "STREAMS", "x", ">");
  const id = await c.xadd("x", "*", "f", "v");
  equal(await read, [["x", [[id, ["f", "v"]]]]]);
  equal((await c.xpending("x", "g"))[0], 1);
  equal(await c.xack("x", "g", id), 1);
  waiting.disconnect();
});
test("iterators", async () => {
  await Promise.all(Array.from({ length: 500 }, (_, i) => c.set(`k${i}`, i)));
  const keys = new Set();
  for await (const found of c.scanStream({ match: "k*", count: 40 })) found.forEach((key) => keys.add(key));
  await c.zadd("z", ...Array.from({ length: 400 }, (_, i) => [i, `m${i}`]).flat());
  const members = new Set();
  for await (const found of c.zscanStream("z")) found.forEach((member, i) => i % 2 || members.add(member));
  equal([keys.size, members.size], [500, 400]);
});
test("a connection that is lost comes back", async () => {
  const own = open({ retryStrategy: () => 10 });
  const id = await own.client("ID");
  await c.client("KILL", "ID", id);
  equal(await own.ping(), "PONG");
  equal((await own.client("ID")) !== id, true);
  own.disconnect();
});

await main(() => c.flushall());
