// BullMQ, sessions of express, rate-limiter-flexible, Redlock.

import { Queue, QueueEvents, Worker, FlowProducer } from "bullmq";
import { RedisStore } from "connect-redis";
import express from "express";
import session from "express-session";
import { Redis } from "ioredis";
import { RateLimiterRedis } from "rate-limiter-flexible";
import { createClient } from "redis";
import Redlock from "redlock";
import { equal, HOST, main, PORT, test, until, URL } from "./harness.mjs";

const c = new Redis(PORT, HOST, { maxRetriesPerRequest: null });
const connection = { host: HOST, port: PORT };

test("BullMQ: jobs, results, retries, delays, priorities, progress", async () => {
  const queue = new Queue("jobs", { connection });
  queue.setMaxListeners(0);
  const events = new QueueEvents("jobs", { connection });
  await events.waitUntilReady();
  const order = [];
  const worker = new Worker("jobs", async (job) => {
    order.push(job.name);
    if (job.name === "fails" && job.attemptsMade < 2) throw new Error("not yet");
    await job.updateProgress(50);
    return job.data.n * 2;
  }, { connection, concurrency: 5, autorun: false });
  const important = await Promise.all([queue.add("late", { n: 1 }, { priority: 10 }), queue.add("first", { n: 2 }, { priority: 1 })]);
  worker.run();
  equal(await Promise.all(important.map((job) => job.waitUntilFinished(events, 20_000))), [2, 4]);
  const many = await queue.addBulk(Array.from({ length: 200 }, (_, n) => ({ name: "many", data: { n } })));
  equal(await Promise.all(many.map((job) => job.waitUntilFinished(events, 30_000))), Array.from({ length: 200 }, (_, n) => n * 2));
  const retried = await queue.add("fails", { n: 5 }, { attempts: 3, backoff: { type: "fixed", delay: 20 } });
  equal([await retried.waitUntilFinished(events, 20_000), order.filter((name) => name === "fails").length], [10, 3]);
  const started = Date.now();
  const delayed = await queue.add("delayed", { n: 7 }, { delay: 300 });
  equal([await delayed.getState(), await delayed.waitUntilFinished(events, 20_000), Date.now() - started >= 290], ["delayed", 14, true]);
  const { completed, failed, waiting, active } = await queue.getJobCounts("completed", "failed", "waiting", "active");
  equal([completed, failed, waiting, active], [204, 0, 0, 0]);
  await queue.obliterate({ force: true });
  await Promise.all([worker.close(), events.close(), queue.close()]);
});
test("BullMQ: jobs that wait for their children", async () => {
  const flow = new FlowProducer({ connection });
  const worker = new Worker("flow", async (job) => {
    const children = await job.getChildrenValues();
    return (job.data.n ?? 0) + Object.values(children).reduce((sum, n) => sum + n, 0);
  }, { connection });
  const events = new QueueEvents("flow", { connection });
  await events.waitUntilReady();
  const tree = await flow.add({ name: "parent", queueName: "flow", data: {}, children: [1, 2, 3].map((n) => ({ name: `child${n}`, queueName: "flow", data: { n } })) });
  equal(await tree.job.waitUntilFinished(events, 20_000), 6);
  await Promise.all([worker.close(), events.close(), flow.close()]);
});
test("express with connect-redis", async () => {
  const client = await createClient({ url: URL }).connect();
  const app = express();
  app.use(session({ store: new RedisStore({ client, prefix: "sess:" }), secret: "x", resave: false, saveUninitialized: false }));
  app.get("/count", (request, response) => {
    request.session.n = (request.session.n ?? 0) + 1;
    response.send(String(request.session.n));
  });
  app.get("/out", (request, response) => request.session.destroy(() => response.send("out")));
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = `http://127.0.0.1:${server.address().port}`;
  const first = await fetch(`${address}/count`);
  const headers = { cookie: first.headers.get("set-cookie").split(";")[0] };
  const count = async () => (await fetch(`${address}/count`, { headers })).text();
  equal([await first.text(), await count(), await count(), await (await fetch(`${address}/count`)).text()], ["1", "2", "3", "1"]);
  equal((await c.keys("sess:*")).length, 2);
  await fetch(`${address}/out`, { headers });
  equal((await c.keys("sess:*")).length, 1);
  server.close();
  client.destroy();
});
test("rate-limiter-flexible", async () => {
  const limiter = new RateLimiterRedis({ storeClient: c, points: 10, duration: 30, keyPrefix: "limit" });
  const outcomes = await Promise.allSettled(Array.from({ length: 25 }, () => limiter.consume("user")));
  equal(outcomes.filter((outcome) => outcome.status === "fulfilled").length, 10);
  const rejected = outcomes.find((outcome) => outcome.status === "rejected").reason;
  equal([rejected.remainingPoints, rejected.msBeforeNext > 20_000], [0, true]);
  await limiter.reward("user", 20);
  await limiter.consume("user");
  equal((await limiter.get("user")).consumedPoints, 6);
  equal(await limiter.delete("user"), true);
});
test("Redlock", async () => {
  const redlock = new Redlock([c], { retryCount: 200, retryDelay: 10, retryJitter: 5 });
  let inside = 0;
  let most = 0;
  await Promise.all(Array.from({ length: 20 }, () => redlock.using(["resource"], 5000, async () => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 2));
    inside -= 1;
  })));
  equal(most, 1);
  const lock = await redlock.acquire(["other"], 300);
  await lock.extend(1000);
  await lock.release();
  await until(async () => (await c.exists("other")) === 0);
});

await main(() => c.flushall());
