// Draws the plan of a statement out of the text of EXPLAIN FORMAT=TREE or EXPLAIN ANALYZE, each step with its part of the whole.

import { rows } from "./client.js";
import { count, counted, micros } from "./format.js";
import { h } from "./dom.js";

/** The steps of a plan: `{ text, cost, rows, actual: { first, last, rows, loops }, children }`. */
export function parsePlan(text) {
  const root = { depth: -1, children: [] };
  const open = [root];
  for (const line of text.split("\n")) {
    const found = /^(\s*)-> (.*)$/.exec(line);
    if (!found) continue;
    const step = { depth: found[1].length, children: [], ...parseStep(found[2]) };
    while (open.at(-1).depth >= step.depth) open.pop();
    open.at(-1).children.push(step);
    open.push(step);
  }
  return root.children;
}

function parseStep(text) {
  const cost = /\(cost=([\d.e+]+)(?:\.\.[\d.e+]+)? rows=([\d.e+]+)\)/.exec(text);
  const actual = /\(actual time=([\d.e+-]+)\.\.([\d.e+-]+) rows=([\d.e+]+) loops=(\d+)\)/.exec(text);
  const never = /\(never executed\)/.test(text);
  const end = text.search(/\s+\((?:cost=|actual time=|never executed)/);
  return {
    text: end < 0 ? text : text.slice(0, end),
    cost: cost ? Number(cost[1]) : null,
    rows: cost ? Number(cost[2]) : null,
    actual: actual ? { first: Number(actual[1]), last: Number(actual[2]), rows: Number(actual[3]), loops: Number(actual[4]) } : null,
    never,
  };
}

/** Asks for the plan of a statement; `measured`: the statement runs. */
export async function askPlan(statement, { database, parameters, measured = false, signal } = {}) {
  const how = measured ? "EXPLAIN ANALYZE" : "EXPLAIN FORMAT=TREE";
  const told = await rows(`${how} ${statement}`, parameters, { database, signal });
  return told.map((row) => row.explain).join("\n");
}

const WORST = 3;

/** The plan as a tree of lists. */
export function drawPlan(text) {
  const steps = parsePlan(text);
  if (steps.length === 0) return h("pre", { class: "code" }, text);
  const all = (some) => some.flatMap((step) => [step, ...all(step.children)]);
  const isMeasured = all(steps).some((step) => step.actual);
  const weight = (step) => (isMeasured ? (step.actual ? step.actual.last * step.actual.loops : 0) : (step.cost ?? 0));
  const whole = Math.max(...all(steps).map(weight), Number.MIN_VALUE);
  const draw = (step) => {
    const share = Math.min(weight(step) / whole, 1);
    const marks = [];
    if (step.cost !== null) marks.push(`cost ${step.cost}`);
    if (step.rows !== null) marks.push(`${counted(Math.round(step.rows), "row")} expected`);
    if (step.actual) {
      marks.push(`${counted(Math.round(step.actual.rows), "row")}${step.actual.loops > 1 ? ` in each of ${count(step.actual.loops)} loops` : ""}`);
      marks.push(micros(step.actual.last * 1000 * step.actual.loops));
    }
    if (step.never) marks.push("never run");
    const isWrong = step.actual && step.rows > 0 && (step.actual.rows / step.rows > 10 ** WORST || step.rows / Math.max(step.actual.rows, 1) > 10 ** WORST);
    return h("li", {},
      h("div", { class: `step ${kindOf(step.text)}` },
        h("p", {}, step.text),
        h("p", { class: "muted" }, marks.join(" · "), isWrong && h("strong", { class: "warn" }, " far from what was expected")),
        h("span", { class: "share", "aria-hidden": "true", style: { "--share": `${Math.max(share * 100, 1)}%` } })),
      step.children.length > 0 && h("ul", {}, step.children.map(draw)));
  };
  return h("div", { class: "plan", role: "group", "aria-label": "Plan of the statement" }, h("ul", {}, steps.map(draw)));
}

/** What a step does, for its color. */
function kindOf(text) {
  if (/scan on|Table scan|Covering index scan|Index scan/i.test(text)) return "scan";
  if (/lookup/i.test(text)) return "lookup";
  if (/join/i.test(text)) return "join";
  return "other";
}
