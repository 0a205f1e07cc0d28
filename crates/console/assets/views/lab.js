// Reports of the lab: how they are made, and what a series says whose summary is opened here.
//
// The lab measures from outside, on whatever machine: a node knows nothing of its reports. So the file comes from who looks at it, and stays in the tab.

import { copyButton, h, replace, svg } from "../dom.js";
import { count, figure } from "../format.js";
import { plainTable } from "./tables.js";

export const title = "Lab";
export const about = "latsdb lab measures databases from outside and writes a report for each series. The node does not have these files: a summary is opened from this computer, and read by this tab alone.";
export const icon = "M8 3h4M9 3v5l-5 8h12l-5-8V3";
export const every = 0;

const COMMANDS = [
  ["A first look, in two minutes", "latsdb lab quick"],
  ["A plan of your own", "latsdb lab init > plan.toml\nlatsdb lab run plan.toml"],
  ["What a cluster does when nodes fail", "latsdb lab availability plan.toml"],
  ["Reports of several series, side by side", "latsdb lab compare results/one results/other"],
];

export function mount(body) {
  const results = h("div", { class: "sheet", "aria-live": "polite" });
  const file = h("input", { type: "file", id: "summary", accept: ".json,application/json" });
  const open = async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    try {
      const summary = JSON.parse(await chosen.text());
      if (!summary.summary_schema) throw new Error("it is no summary.json of the lab");
      replace(results, drawSummary(summary));
    } catch (error) {
      replace(results, h("p", { class: "problem", role: "alert" }, `${chosen.name} cannot be shown: ${error.message}`));
    }
  };
  file.addEventListener("change", open);
  replace(body,
    h("section", { class: "card sheet" },
      h("div", { class: "head" }, h("h2", {}, "Open a series"), h("label", { class: "inline", for: "summary" }, "results/<name>/summary.json", file)),
      h("p", { class: "muted" }, "The whole report, with charts of every second and the probes of the machines, stands beside it: ",
        h("code", { class: "code" }, "results/<name>/report.html"), " opens in any browser, without a network.")),
    results,
    h("section", { class: "sheet" }, h("h2", {}, "Make one"), h("div", { class: "halves" }, COMMANDS.map(([what, text]) =>
      h("div", { class: "card snippet" }, h("div", { class: "head" }, h("h3", {}, what), copyButton(text, what)), h("pre", { class: "code", tabindex: 0 }, text))))));
  return {};
}

const valueOf = (one) => (one && typeof one === "object" ? one.value : one) ?? null;

function drawSummary(summary) {
  const ladders = summary.ladders ?? [];
  const workloads = [...new Set(ladders.map((ladder) => ladder.workload))];
  return [
    h("section", { class: "card sheet" }, h("h2", {}, summary.series ?? "A series"),
      h("p", { class: "muted" }, [moment(summary.started), summary.interrupted && "interrupted", `lab ${summary.lab_version ?? ""}`].filter(Boolean).join(" · ")),
      (summary.findings ?? []).map((finding) => [finding.workload && h("h3", {}, finding.workload),
        h("ul", {}, [...(finding.sentences ?? []), ...(finding.targets ?? [])].map((one) => h("li", {}, one.text ?? String(one))))])),
    workloads.map((workload) => drawWorkload(workload, ladders.filter((ladder) => ladder.workload === workload))),
  ];
}

function moment(micros) {
  return micros ? new Date(Number(micros) / 1000).toLocaleString() : null;
}

function loadOf(point) {
  return point.load?.threads_total ?? point.load?.rate_per_s ?? null;
}

function drawWorkload(workload, ladders) {
  const lines = ladders.flatMap((ladder) => ladder.points.map((point) => [
    ladder.target, point.load?.loop === "open" ? `${count(point.load.rate_per_s)} a second` : `${count(point.load?.threads_total)} threads`,
    figure(valueOf(point.tps)), milliseconds(point.latency_ms?.p50), milliseconds(point.latency_ms?.p95), milliseconds(point.latency_ms?.p99),
    figure(valueOf(point.errors_per_s)), point.verdict?.bottleneck ?? ""]));
  return h("section", { class: "card sheet" }, h("h2", {}, workload), drawRates(workload, ladders),
    plainTable("Loads", ["Target", "Load", "Transactions/s", "50 %", "95 %", "99 %", "Errors/s", "What the limit was"], lines));
}

function milliseconds(one) {
  const value = valueOf(one);
  return value === null ? "–" : `${figure(value)} ms`;
}

const SIZE = { width: 640, height: 220, left: 64, right: 90, top: 12, bottom: 28 };

/** Rate over load, a line for each target. The table below says the same. */
function drawRates(workload, ladders) {
  const loads = [...new Set(ladders.flatMap((ladder) => ladder.points.map(loadOf)))].filter((load) => load !== null).sort((a, b) => a - b);
  if (loads.length < 2) return null;
  const most = Math.max(...ladders.flatMap((ladder) => ladder.points.map((point) => valueOf(point.tps) ?? 0)), 1);
  const x = (load) => SIZE.left + (loads.indexOf(load) / (loads.length - 1)) * (SIZE.width - SIZE.left - SIZE.right);
  const y = (value) => SIZE.height - SIZE.bottom - (value / most) * (SIZE.height - SIZE.top - SIZE.bottom);
  const parts = [0, 0.5, 1].flatMap((share) => [
    svg("line", { class: "grid", x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: y(most * share), y2: y(most * share) }),
    svg("text", { class: "axis", x: SIZE.left - 8, y: y(most * share) + 4, "text-anchor": "end" }, figure(most * share))]);
  parts.push(...loads.map((load) => svg("text", { class: "axis", x: x(load), y: SIZE.height - 8, "text-anchor": "middle" }, count(load))));
  ladders.forEach((ladder, number) => {
    const color = `c${(number % 5) + 1}`;
    const points = ladder.points.filter((point) => loadOf(point) !== null && valueOf(point.tps) !== null).sort((a, b) => loadOf(a) - loadOf(b));
    const path = points.map((point, at) => `${at ? "L" : "M"}${x(loadOf(point)).toFixed(1)} ${y(valueOf(point.tps)).toFixed(1)}`).join("");
    parts.push(svg("path", { class: `line ${color}`, d: path }));
    const last = points.at(-1);
    if (last) parts.push(svg("text", { class: "axis", x: x(loadOf(last)) + 6, y: y(valueOf(last.tps)) + 4 }, ladder.target));
  });
  return svg("svg", { class: "chart", viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", "aria-label": `Transactions per second of ${workload} by load; the table has the figures` }, parts);
}
