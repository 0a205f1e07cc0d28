// The node and its cluster at a glance: how it is, what it has done over the last minutes, and how to talk to it.

import { get } from "../client.js";
import { lineChart, meter } from "../chart.js";
import { copyButton, h, replace, setText } from "../dom.js";
import { bytes, count, counted, figure, micros, seconds } from "../format.js";
import { dataTable } from "../table.js";

export const title = "Overview";
export const about = "The node, its cluster, and what it has done lately.";
export const icon = "M3 10a7 7 0 1 1 14 0M10 10l3-3M3 14h14";
export const every = 2000;

const RANGES = [["5 minutes", 300, 0], ["1 hour", 3600, 1]];

export function mount(body, { who }) {
  const tiles = tilesOf(["State", "Role", "Version", "Up for", "Durability", "Memory", "Connections", "Log on disk"]);
  const memory = meter("Memory used");
  tiles.Memory.element.append(memory.element);
  const history = historyOf();
  const nodes = nodesTable();
  const shards = shardsTable();
  const examples = h("section", { class: "sheet" });
  const notice = h("p", { class: "hint", hidden: true });
  replace(body, notice, h("section", { "aria-label": "State", class: "cards" }, Object.values(tiles).map((tile) => tile.element)),
    history.element,
    h("section", { class: "card" }, nodes.element), h("section", { class: "card" }, shards.element),
    examples);
  let status = null;

  return {
    async update(signal) {
      try {
        status = await get("/status", { signal });
      } catch (error) {
        if (error.status !== 403) throw error;
        for (const tile of Object.values(tiles)) tile.element.hidden = true;
        tiles.Version.element.hidden = false;
        tiles.Version.set(who.version);
        notice.hidden = false;
        setText(notice, "The state of the node and its figures are for accounts with the privilege PROCESS.");
        history.element.hidden = true;
        showExamples(examples, null, who);
        return;
      }
      showStatus(status, tiles, memory);
      nodes.set(status.nodes);
      shards.set(status.shards);
      showExamples(examples, status, who);
      await history.update(signal);
    },
  };
}

function tilesOf(labels) {
  return Object.fromEntries(labels.map((label) => {
    const value = h("p", { class: "figure" }, "–");
    const more = h("p", { class: "more" });
    return [label, {
      element: h("div", { class: "card tile" }, h("h2", { class: "label" }, label), value, more),
      set(text, detail = "") {
        setText(value, text);
        setText(more, detail);
      },
    }];
  }));
}

function showStatus(status, tiles, memory) {
  const shard = status.shards[0];
  const leads = shard?.leader === status.node_id;
  tiles.State.set(status.state === "serving" ? "Serving" : "Not serving", status.state === "serving" ? "takes statements" : status.state);
  tiles.Role.set(leads ? "Leader" : shard?.leader ? "Follower" : "No leader", `node ${status.node_id} of ${status.nodes.length}`);
  tiles.Version.set(status.version, `feature level ${status.level}`);
  tiles["Up for"].set(seconds(status.uptime_seconds), status.data_dir);
  tiles.Durability.set({ majority_disk: "Disk", majority_memory: "Memory", local_disk: "Local disk" }[status.durability] ?? status.durability,
    { majority_disk: "a commit is on the disks of a majority", majority_memory: "a commit is in the memory of a majority", local_disk: "a commit is on this node's disk" }[status.durability] ?? "");
  const { used_bytes: used, limit_bytes: limit } = status.memory;
  tiles.Memory.set(bytes(used), `of ${bytes(limit)}`);
  memory.set(used / limit, `${bytes(used)} of ${bytes(limit)}`);
  tiles.Connections.set(count(status.connections), "open now");
  tiles["Log on disk"].set(bytes(shard?.log_bytes), `${counted(Math.max((shard?.applied_index ?? 0) - (shard?.checkpoint_index ?? 0), 0), "entry", "entries")} since the checkpoint`);
}

function nodesTable() {
  return dataTable({
    caption: "Nodes",
    key: (node) => node.id,
    columns: [
      { label: "Node", text: (node) => node.id },
      { label: "State", text: (node) => node.state },
      { label: "Roles", text: (node) => node.roles.join(", ") },
      { label: "MySQL", text: (node) => node.mysql_addr },
      { label: "Console", cell: (node, cell) => linkTo(node, cell) },
      { label: "Behind", text: (node) => (node.lag_entries ? counted(node.lag_entries, "entry", "entries") : "nothing") },
    ],
  });
}

/** Each node has a console of its own, about itself. */
function linkTo(node, cell) {
  const link = h("a", { href: `${location.protocol}//${node.http_addr}/` }, node.http_addr);
  replace(cell, node.http_addr ? link : "");
}

function shardsTable() {
  return dataTable({
    caption: "Shards",
    key: (shard) => shard.id,
    columns: [
      { label: "Shard", text: (shard) => shard.id },
      { label: "Leader", text: (shard) => (shard.leader ? `node ${shard.leader}` : "none") },
      { label: "Term", text: (shard) => shard.term, kind: "number" },
      { label: "Voters", text: (shard) => shard.voters.join(", ") },
      { label: "Log entry", text: (shard) => count(shard.last_log_index), kind: "number" },
      { label: "Applied", text: (shard) => count(shard.applied_index), kind: "number" },
      { label: "Checkpoint", text: (shard) => count(shard.checkpoint_index), kind: "number" },
    ],
  });
}

/** The charts, and the points that they show: asked for once, then only what is new. */
function historyOf() {
  let chosen = 0;
  let columns = null;
  const kept = RANGES.map(() => []);
  const of = (name) => (point) => point[name];
  const charts = [
    lineChart({ title: "Throughput", note: "per second", show: figure, series: [
      { label: "Reads", color: 1, of: of("reads"), isFilled: true },
      { label: "Changes", color: 2, of: of("changes") },
      { label: "Commits", color: 3, of: of("commits") },
      { label: "Redis commands", color: 4, of: of("redis_commands") }] }),
    lineChart({ title: "Latency of statements", note: "within the node, by quantile", show: micros, isLog: true, series: [
      { label: "50 %", color: 1, of: of("statement_p50_us") },
      { label: "95 %", color: 2, of: of("statement_p95_us") },
      { label: "99 %", color: 4, of: of("statement_p99_us") }] }),
    lineChart({ title: "Latency of commits", note: "from the request until it is durable", show: micros, isLog: true, series: [
      { label: "50 %", color: 1, of: of("commit_p50_us") },
      { label: "99 %", color: 4, of: of("commit_p99_us") }] }),
    lineChart({ title: "Connections", show: figure, series: [
      { label: "Open", color: 1, of: of("connections"), isFilled: true },
      { label: "Running", color: 2, of: of("running") }] }),
    lineChart({ title: "Memory", show: bytes, isBinary: true, series: [
      { label: "Rows and indexes", color: 1, of: of("memory_used"), isFilled: true },
      { label: "Whole process", color: 5, of: of("memory_resident") }] }),
    lineChart({ title: "Trouble", note: "per second", show: figure, series: [
      { label: "Errors", color: 4, of: of("errors") },
      { label: "Waits for locks", color: 2, of: of("lock_waits") }] }),
  ];
  const choice = h("fieldset", { class: "choice" }, h("legend", { class: "unseen" }, "How far back"),
    RANGES.map(([label], at) => h("label", {},
      h("input", { type: "radio", name: "range", checked: at === chosen, on: { change: () => { chosen = at; draw(); } } }), label)));

  function draw() {
    const points = kept[chosen];
    const to = points.at(-1)?.at ?? Date.now() / 1000;
    const from = to - RANGES[chosen][1];
    for (const chart of charts) chart.set(points, from, to);
  }

  return {
    element: h("section", { class: "sheet", "aria-label": "Over time" },
      h("div", { class: "head" }, h("h2", {}, "Over time"), choice), h("div", { class: "halves" }, charts.map((chart) => chart.element))),
    async update(signal) {
      const newest = Math.max(0, ...kept.map((points) => points.at(-1)?.at ?? 0));
      // A step of ten seconds ends later than the newest second.
      const told = await get(`/status/history?since=${Math.max(newest - 20, 0)}`, { signal });
      columns = told.columns;
      told.series.forEach((series, number) => {
        const last = kept[number].at(-1)?.at ?? 0;
        const points = series.points.map((point) => Object.fromEntries(columns.map((name, at) => [name, point[at]])));
        kept[number].push(...points.filter((point) => point.at > last));
        const oldest = (kept[number].at(-1)?.at ?? 0) - RANGES[number][1];
        kept[number] = kept[number].filter((point) => point.at >= oldest);
      });
      draw();
    },
  };
}

function showExamples(section, status, who) {
  if (section.childElementCount > 0) return;
  const own = status?.nodes.find((node) => node.id === status.node_id);
  const [mysqlHost, mysqlPort] = hostAndPort(own?.mysql_addr ?? `${location.hostname}:3306`);
  const [redisHost, redisPort] = hostAndPort(status?.redis_addr || "");
  const isOwner = who.account.startsWith("root@") && !sessionStorage.getItem("latsdb.login");
  const user = who.account.split("@")[0];
  const login = isOwner ? "" : ` -u ${user}`;
  const origin = location.origin;
  const examples = [
    ["SQL, by any client of MySQL", `mariadb -h ${mysqlHost} -P ${mysqlPort} -u ${user}${isOwner ? "" : " -p"} -e "SELECT VERSION()"`],
    ["SQL over HTTP", `curl -s${login} ${origin}/v1/sql -H 'content-type: application/json' \\\n  -d '{"sql": "SELECT 6 * ? AS answer", "parameters": [7]}'`],
    ["A table, and a row in it", `curl -s${login} ${origin}/v1/sql -H 'content-type: application/json' \\\n  -d '{"database": "test", "sql": "CREATE TABLE IF NOT EXISTS greeting (id INT PRIMARY KEY, text VARCHAR(40))"}'\ncurl -s${login} -X PUT ${origin}/v1/tables/test/greeting/rows/1 -H 'content-type: application/json' -d '{"text": "hello"}'`],
    ["The row by its key", `curl -s${login} ${origin}/v1/tables/test/greeting/rows/1`],
    ...(redisPort ? [["Keys, by any client of Redis", `redis-cli -h ${redisHost} -p ${redisPort} SET greeting hello`]] : []),
    ["Health, state and figures", `curl -s ${origin}/health\ncurl -s${login} ${origin}/status\ncurl -s${login} ${origin}/metrics`],
  ];
  replace(section, h("h2", {}, "Talk to it"), h("div", { class: "halves" }, examples.map(([what, text]) =>
    h("div", { class: "card snippet" }, h("div", { class: "head" }, h("h3", {}, what), copyButton(text, what)), h("pre", { class: "code", tabindex: 0 }, text)))));
}

function hostAndPort(address) {
  const at = address.lastIndexOf(":");
  const host = address.slice(0, at).replace(/^\[|\]$/g, "");
  return [["0.0.0.0", "::"].includes(host) ? location.hostname : host, address.slice(at + 1)];
}
