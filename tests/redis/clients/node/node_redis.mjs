// node-redis, over RESP2 and RESP3.

import { createClient, WatchError } from "redis";
import { equal, fails, main, test, until, URL } from "./harness.mjs";

const open = async (options = {}) => {
  const client = createClient({ url: URL, unstableResp3: true, ...options });
  client.on("error", () => {});
  return client.connect();
};
const admin = await open();

for (const RESP of [2, 3]) {
  const c = await open({ RESP, name: "suite" });

  test(`RESP${RESP}: strings`, async () => {
    equal(await c.ping(), "PONG");
    equal(await c.clientGetName(), "suite");
    equal([await c.set("s", "v", { expiration: { type: "EX", value: 100 }, condition: "NX" }), await c.set("s", "w", { condition: "NX" })], ["OK", null]);
    equal([await c.get("s"), await c.get("missing"), (await c.ttl("s")) > 90], ["v", null, true]);
    equal([await c.incrBy("n", 5), await c.incrByFloat("n", 0.5), await c.append("s", "xyz"), await c.getRange("s", 1, 2)].map(String), ["5", "5.5", "4", "xy"]);
    await c.mSet({ a: "1", b: "2" });
    equal([await c.mGet(["a", "none", "b"]), await c.getDel("a"), await c.exists(["a", "b"])], [["1", null, "2"], "1", 1]);
    await fails(c.incr("s"), /not an integer/);
  });
  test(`RESP${RESP}: hashes, lists, sets, sorted sets`, async () => {
    equal(await c.hSet("h", { f: "1", g: "two" }), 2);
    equal({ ...(await c.hGetAll("h")) }, { f: "1", g: "two" });
    equal([await c.hIncrBy("h", "f", 2), await c.hmGet("h", ["f", "x"]), await c.hDel("h", "g"), await c.hLen("h")], [3, ["3", null], 1, 1]);
    equal([await c.rPush("l", ["a", "b", "c"]), await c.lRange("l", 0, -1), await c.lPop("l"), await c.rPopCount("l", 5)], [3, ["a", "b", "c"], "a", ["c", "b"]]);
    await c.sAdd("u", ["a", "b"]);
    await c.sAdd("w", ["b", "c"]);
    equal([await c.sInter(["u", "w"]), (await c.sMembers("u")).sort(), Boolean(await c.sIsMember("u", "a"))], [["b"], ["a", "b"], true]);
    await c.zAdd("z", [{ score: 1, value: "a" }, { score: 2.5, value: "b" }]);
    equal(await c.zRangeWithScores("z", 0, -1), [{ value: "a", score: 1 }, { value: "b", score: 2.5 }]);
    equal([await c.zScore("z", "b"), await c.zScore("z", "x"), await c.zRank("z", "b"), await c.zIncrBy("z", 1, "a")], [2.5, null, 1, 2]);
    equal({ ...(await c.zPopMin("z")) }, { value: "a", score: 2 });
  });
  test(`RESP${RESP}: bits, places, estimates`, async () => {
    equal([await c.setBit("b", 7, 1), await c.bitCount("b"), await c.bitField("b", [{ operation: "GET", encoding: "u8", offset: 0 }])], [0, 1, [1]]);
    await c.geoAdd("g", [{ longitude: 13.361389, latitude: 38.115556, member: "Palermo" }, { longitude: 15.087269, latitude: 37.502669, member: "Catania" }]);
    equal([Math.round(await c.geoDist("g", "Palermo", "Catania", "km")), await c.geoSearch("g", { longitude: 15, latitude: 37 }, { radius: 100, unit: "km" })], [166, ["Catania"]]);
    await c.pfAdd("p", ["a", "b", "c"]);
    equal(await c.pfCount("p"), 3);
  });
  test(`RESP${RESP}: pipelines and transactions`, async () => {
    equal(await Promise.all(Array.from({ length: 2000 }, () => c.incr("n"))), Array.from({ length: 2000 }, (_, i) => i + 1));
    equal(await c.multi().set("a", "1").incr("a").get("a").exec(), ["OK", 2, "2"]);
    const own = await open({ RESP });
    await own.watch("a");
    await c.set("a", "9");
    let error;
    await own.multi().set("a", "mine").exec().catch((caught) => { error = caught; });
    equal([error instanceof WatchError, await c.get("a")], [true, "9"]);
    own.destroy();
  });
  test(`RESP${RESP}: publish and subscribe`, async () => {
    const subscriber = await open({ RESP });
    const got = [];
    await subscriber.subscribe("c", (message, channel) => got.push([channel, message]));
    await subscriber.pSubscribe("n.*", (message, channel) => got.push([channel, message]));
    equal([await c.publish("c", "one"), await c.publish("n.x", "two"), await c.publish("none", "x")], [1, 1, 0]);
    await until(() => got.length === 2);
    equal(got, [["c", "one"], ["n.x", "two"]]);
    await subscriber.unsubscribe("c");
    await subscriber.pUnsubscribe("n.*");
    equal(await c.publish("c", "nobody hears"), 0);
    subscriber.destroy();
  });
  test(`RESP${RESP}: blocking pops`, async () => {
    const waiting = await open({ RESP });
    const popped = waiting.blPop(["q", "r"], 10);
    await until(async () => (await c.clientList()).some((client) => client.flags.includes("b")));
    await c.rPush("r", "x");
    equal({ ...(await popped) }, { key: "r", element: "x" });
    equal(await waiting.blPop("q", 0.05), null);
    waiting.destroy();
  });
  test(`RESP${RESP}: scripts`, async () => {
    const sha = await c.scriptLoad("return {KEYS[1], tonumber(ARGV[1]) + 1}");
    equal(await c.evalSha(sha, { keys: ["k"], arguments: ["41"] }), ["k", 42]);
    await fails(c.evalSha("0".repeat(40)), /NOSCRIPT/);
    await fails(c.eval("return redis.call('NOSUCH')"), /Unknown Redis command/);
  });
  test(`RESP${RESP}: streams`, async () => {
    const id = await c.xAdd("x", "*", { f: "v" });
    await c.xGroupCreate("x", "g", "0");
    const read = await c.xReadGroup("g", "alice", { key: "x", id: ">" }, { COUNT: 10 });
    equal(JSON.stringify(read).includes(id), true);
    equal((await c.xPending("x", "g")).pending, 1);
    equal([await c.xAck("x", "g", id), await c.xLen("x"), (await c.xRange("x", "-", "+"))[0].message.f], [1, 1, "v"]);
    equal((await c.xInfoStream("x")).length, 1);
  });
  test(`RESP${RESP}: iterators`, async () => {
    await Promise.all(Array.from({ length: 500 }, (_, i) => c.set(`k${i}`, i)));
    await c.hSet("h", Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, `${i}`])));
    const keys = new Set();
    for await (const found of c.scanIterator({ MATCH: "k*", COUNT: 30 })) for (const key of found) keys.add(key);
    let fields = 0;
    for await (const found of c.hScanIterator("h")) fields += found.length;
    equal([keys.size, fields], [500, 300]);
  });
}
test("a cache beside the client", async () => {
  const cached = await open({ RESP: 3, clientSideCache: { maxEntries: 100 } });
  await admin.set("k", "one");
  equal([await cached.get("k"), await cached.get("k")], ["one", "one"]);
  await admin.set("k", "two");
  await until(async () => (await cached.get("k")) === "two");
  cached.destroy();
});

await main(() => admin.flushAll());
