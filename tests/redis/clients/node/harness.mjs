// What the Node programs share: where the server is, and counting.

import { strict as assert } from "node:assert";

const at = process.argv.indexOf("--redis");
const [host, port] = (at > 0 ? process.argv[at + 1] : "127.0.0.1:6379").split(":");
export const HOST = host;
export const PORT = Number(port);
export const URL = `redis://${host}:${port}`;

const tests = [];
export function test(name, run) {
  tests.push([name, run]);
}

export const equal = (got, wanted) => assert.deepEqual(got, wanted);

export async function until(condition, seconds = 15) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`it does not come true: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function fails(promise, pattern) {
  try {
    await promise;
  } catch (error) {
    assert.match(String(error), pattern);
    return;
  }
  throw new Error(`no error ${pattern}`);
}

export async function main(beforeEach = async () => {}) {
  let failed = 0;
  for (const [name, run] of tests) {
    try {
      await beforeEach();
      let timer;
      const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error("does not end")), 60_000);
      });
      await Promise.race([run(), late]);
      clearTimeout(timer);
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${name}: ${error.stack ?? error}`);
    }
  }
  console.log(`${tests.length - failed} passed, ${failed} failed`);
  process.exit(failed > 0 ? 1 : 0);
}
