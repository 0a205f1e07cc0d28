// Who waits for whom, and what is locked.

import { rows, sql } from "../client.js";
import { confirm } from "../dialog.js";
import { h, replace, say } from "../dom.js";
import { count, line, seconds } from "../format.js";
import { dataTable } from "../table.js";

export const title = "Locks";
export const about = "Who waits for whom, in this node's table of locks. In a cluster the node that leads has the locks of all; another one has those of its own sessions.";
export const icon = "M5 9h10v8H5zM7 9V6a3 3 0 0 1 6 0v3";
export const every = 2000;

const WAITS = "SELECT * FROM performance_schema.data_lock_waits LIMIT 500";
const SESSIONS = "SELECT ID, USER, HOST, TIME, STATE, INFO FROM information_schema.PROCESSLIST";
const HELD = `SELECT THREAD_ID, OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, LOCK_TYPE, LOCK_MODE, LOCK_STATUS, COUNT(*) AS locks, MIN(LOCK_DATA) AS example
  FROM performance_schema.data_locks GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY locks DESC LIMIT 200`;

export function mount(body, { refresh }) {
  const waits = h("div", { class: "waits" });
  const told = h("p", { class: "muted", role: "status" });
  let drawn = "";
  const held = dataTable({
    caption: "Locks that are held or waited for", isQuiet: true, key: (lock) => JSON.stringify([lock.thread_id, lock.object_schema, lock.object_name, lock.index_name, lock.lock_type, lock.lock_mode, lock.lock_status]),
    empty: "No lock is held.",
    columns: [
      { label: "Session", text: (lock) => lock.thread_id ?? "none of this node", sort: (lock) => Number(lock.thread_id) },
      { label: "What", text: (lock) => whatOf(lock), sort: whatOf },
      { label: "Kind", text: (lock) => KINDS[lock.lock_type] ?? lock.lock_type, sort: (lock) => lock.lock_type },
      { label: "Mode", text: (lock) => MODES[lock.lock_mode] ?? lock.lock_mode, sort: (lock) => lock.lock_mode },
      { label: "State", text: (lock) => (lock.lock_status === "WAITING" ? "waits" : "held"), sort: (lock) => lock.lock_status },
      { label: "Locks", text: (lock) => count(lock.locks), sort: (lock) => Number(lock.locks), kind: "number" },
      { label: "One of them", text: (lock) => line(lock.example, 80), kind: "code" },
    ],
  });
  const look = h("button", { type: "button", class: "quiet", on: { click: () => { wanted = true; refresh(); } } }, "Look again");
  let wanted = true;

  replace(body,
    h("section", { class: "card sheet" }, h("div", { class: "head" }, h("h2", {}, "Who waits for whom"), told), waits),
    h("section", { class: "card sheet" }, h("div", { class: "head" }, h("h2", {}, "What is locked"), look),
      h("p", { class: "muted" }, "By session and table; a look at all locks is not made by itself, as there may be millions."), held.element));

  return {
    async update(signal) {
      const [pairs, sessions] = await Promise.all([rows(WAITS, [], { signal }), rows(SESSIONS, [], { signal })]);
      const text = JSON.stringify([pairs, sessions.filter((one) => pairs.some((pair) => pair.requesting_thread_id === one.id || pair.blocking_thread_id === one.id))]);
      // What is the same is left alone, with the focus in it.
      if (text !== drawn) {
        drawn = text;
        const kept = document.activeElement?.dataset?.session;
        drawWaits(waits, told, pairs, new Map(sessions.map((one) => [one.id, one])), refresh);
        if (kept) waits.querySelector(`button[data-session="${CSS.escape(kept)}"]`)?.focus();
      }
      if (wanted) {
        held.set(await rows(HELD, [], { signal }));
        wanted = false;
      }
    },
  };
}

const MODES = { S: "shared", X: "exclusive", IS: "intends to share", IX: "intends to change" };
const KINDS = { RECORD: "row or key", TABLE: "table", DEFINITION: "definition", NAME: "name" };

function whatOf(lock) {
  if (lock.lock_type === "NAME") return lock.lock_data ?? lock.example ?? "a name";
  const table = [lock.object_schema, lock.object_name].filter(Boolean).join(".");
  return lock.index_name && lock.index_name !== "PRIMARY" ? `${table} (${lock.index_name})` : table;
}

/** A tree for each transaction that waits for nobody: below it stand those who wait for it. */
function drawWaits(element, told, pairs, sessions, refresh) {
  const waiters = new Map();
  for (const pair of pairs) {
    const waiter = pair.requesting_engine_transaction_id;
    const own = waiters.get(waiter) ?? [];
    own.push(pair);
    waiters.set(waiter, own);
  }
  // A waiter stands below one that it waits for: the holder rather than whoever is before it in the queue.
  const children = new Map();
  const roots = new Map();
  for (const own of waiters.values()) {
    const pair = own.find((one) => one.blocking_lock_status === "GRANTED") ?? own[0];
    const blocker = pair.blocking_engine_transaction_id;
    children.set(blocker, [...(children.get(blocker) ?? []), pair]);
    if (!waiters.has(blocker)) roots.set(blocker, pair.blocking_thread_id);
  }
  const seen = new Set();
  const draw = (transaction, thread, pair) => {
    if (seen.has(transaction)) return null;
    seen.add(transaction);
    const below = (children.get(transaction) ?? []).map((one) => draw(one.requesting_engine_transaction_id, one.requesting_thread_id, one));
    return h("li", {}, nodeOf(thread, pair, sessions.get(thread), below.length, refresh), below.length > 0 && h("ul", {}, below));
  };
  const trees = [...roots].map(([transaction, thread]) => draw(transaction, thread, null));
  // What is in a circle of waits for a moment has no root.
  const rest = [...waiters].filter(([transaction]) => !seen.has(transaction)).map(([transaction, [pair]]) => draw(transaction, pair.requesting_thread_id, pair));
  replace(told, waiters.size === 0 ? "" : `${waiters.size} ${waiters.size === 1 ? "transaction waits" : "transactions wait"}`);
  replace(element, waiters.size === 0 ? h("p", { class: "muted" }, "Nobody waits for a lock.") : h("ul", {}, trees, rest));
}

function nodeOf(thread, pair, session, waiting, refresh) {
  const name = thread === null ? "A transaction of another node, or of Redis clients" : `Session ${thread}`;
  const who = session ? `${session.user} from ${session.host}` : "";
  const waits = pair && [`waits for ${MODES[pair.requesting_lock_mode] ?? pair.requesting_lock_mode} access to `,
    h("strong", {}, whatOf(pair)), pair.lock_type === "RECORD" && [", key ", h("code", { class: "code" }, line(pair.lock_data, 80))]];
  const end = async () => {
    if (!(await confirm(`End session ${thread}?`, "Its connection is closed, its transaction is rolled back, and its locks are free.", "End the session"))) return;
    try {
      await sql(`KILL ${Number(thread)}`);
      say(`Session ${thread} ends`);
    } catch (error) {
      say(error.shown ?? String(error));
    }
    refresh();
  };
  return h("div", { class: `waiter${waiting ? " blocks" : ""}` },
    h("div", { class: "head" }, h("p", {}, h("strong", {}, name), " ", h("span", { class: "muted" }, who)),
      waiting > 0 && h("span", { class: "pill warn" }, `keeps ${waiting} waiting`),
      thread !== null && h("button", { type: "button", class: "quiet small", "data-session": thread, "aria-label": `End session ${thread}`, on: { click: end } }, "End")),
    waits && h("p", {}, waits),
    session && h("p", { class: "muted" }, session.info ? h("code", { class: "code" }, line(session.info, 200)) : "runs no statement: its transaction is open",
      ` · for ${seconds(session.time)}`));
}
