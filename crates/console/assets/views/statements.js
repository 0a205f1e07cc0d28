// Which statements are slow, and how they run.

import { rows } from "../client.js";
import { copyButton, h, replace } from "../dom.js";
import { count, line, micros } from "../format.js";
import { askPlan, drawPlan } from "../plan.js";
import { dataTable } from "../table.js";

export const title = "Statements";
export const about = "Statements that took 10 ms or more on this node since its start, gathered by what they have in common. Each with the plan that it would have now.";
export const icon = "M4 5h12M4 10h8M4 15h5M15 11v4l2 2";
export const every = 5000;

const DIGESTS = "SELECT * FROM performance_schema.slow_digests ORDER BY SUM_MICROSECONDS DESC LIMIT 200";
const COUNTS = "SHOW GLOBAL STATUS LIKE 'Com\\_%'";

export function mount(body) {
  const detail = h("section", { class: "card sheet", hidden: true, tabindex: -1, "aria-label": "A statement" });
  const number = (of) => (row) => Number(of(row));
  const table = dataTable({
    caption: "Slow statements", isQuiet: true, key: (row) => `${row.schema_name} ${row.digest}`, sortBy: 2, descending: true,
    empty: "No statement took 10 ms or more, as far as may be seen: those of others are for accounts with the privilege PROCESS.",
    columns: [
      { label: "Statement", cell: (row, cell) => open(row, cell), sort: (row) => row.digest_text, kind: "code" },
      { label: "Times", text: (row) => count(row.count_star), sort: number((row) => row.count_star), kind: "number" },
      { label: "Together", text: (row) => micros(row.sum_microseconds), sort: number((row) => row.sum_microseconds), kind: "number" },
      { label: "Mean", text: (row) => micros(row.sum_microseconds / row.count_star), sort: number((row) => row.sum_microseconds / row.count_star), kind: "number" },
      { label: "Longest", text: (row) => micros(row.max_microseconds), sort: number((row) => row.max_microseconds), kind: "number" },
      { label: "Lock waits", text: (row) => micros(row.sum_lock_microseconds), sort: number((row) => row.sum_lock_microseconds), kind: "number" },
      { label: "Rows, each", text: (row) => count(Math.round(row.sum_rows_examined / row.count_star)), sort: number((row) => row.sum_rows_examined / row.count_star), kind: "number" },
      { label: "Errors", text: (row) => count(row.sum_errors), sort: number((row) => row.sum_errors), kind: "number" },
      { label: "Database", text: (row) => row.schema_name ?? "", sort: (row) => row.schema_name },
      { label: "Last", text: (row) => String(row.last_seen).slice(5, 16), sort: (row) => row.last_seen, full: (row) => row.last_seen, kind: "when" },
    ],
  });

  function open(row, cell) {
    let shown = row;
    const button = h("button", { type: "button", class: "link code", on: { click: () => showDetail(detail, shown) } });
    replace(cell, button);
    return {
      update(now) {
        shown = now;
        const text = line(plain(now.digest_text), 200);
        if (button.textContent !== text) button.textContent = text;
      },
    };
  }

  const counts = h("div", { class: "cards small" });
  replace(body, h("section", { class: "card sheet" }, h("h2", {}, "Slow ones"), table.element), detail,
    h("section", { class: "sheet" }, h("h2", {}, "All statements since the start, by kind"), counts));

  return {
    async update(signal) {
      table.set(await rows(DIGESTS, [], { signal }));
      const kinds = await rows(COUNTS, [], { signal });
      const some = kinds.map((row) => [row.variable_name.slice(4).replaceAll("_", " "), Number(row.value)]).filter(([, value]) => value > 0);
      some.sort((a, b) => b[1] - a[1]);
      replace(counts, some.map(([name, value]) => h("div", { class: "card tile" }, h("p", { class: "label" }, name), h("p", { class: "figure" }, count(value)))));
    },
  };
}

/** A digest without what only tells tokens apart. */
function plain(digest) {
  return digest.replaceAll("`", "").replace(/ (?=[.,)])|(?<=[.(]) |(?<=\b(?:COUNT|SUM|MIN|MAX|AVG)) (?=\()/g, "");
}

async function showDetail(detail, row) {
  const place = h("div", { role: "status" }, h("p", { class: "muted" }, "Asking for the plan…"));
  const close = () => {
    detail.hidden = true;
  };
  const parameters = parametersOf(row.sample_text);
  replace(detail,
    h("div", { class: "head" }, h("h2", {}, "A statement"),
      h("a", { class: "button quiet", href: `#/editor/${encodeURIComponent(row.sample_text)}` }, "Open in SQL"),
      h("button", { type: "button", class: "quiet small", on: { click: close } }, "Close")),
    h("pre", { class: "code", tabindex: 0 }, row.digest_text),
    h("div", { class: "head" }, h("h3", {}, "The one that took longest"), copyButton(row.sample_text, "the statement")),
    h("pre", { class: "code", tabindex: 0 }, row.sample_text),
    h("p", { class: "muted" }, `${micros(row.max_microseconds)}, by ${row.sample_user}; first seen ${String(row.first_seen).slice(0, 19)}`),
    h("h3", {}, "Plan"),
    parameters.length > 0 && h("p", { class: "muted" }, "It is a prepared statement: the plan is that with 1 in the place of each parameter."),
    place);
  detail.hidden = false;
  detail.focus();
  try {
    replace(place, drawPlan(await askPlan(row.sample_text, { database: row.schema_name ?? undefined, parameters })));
  } catch (error) {
    replace(place, h("p", { class: "muted" }, `There is no plan to show: ${error.shown ?? error}`));
  }
}

/** A 1 for each `?` that is no part of a string or a name. */
function parametersOf(text) {
  const bare = text.replace(/'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`|\/\*[\s\S]*?\*\/|(?:#|--\s).*/g, "");
  return [...bare].filter((char) => char === "?").map(() => 1);
}
