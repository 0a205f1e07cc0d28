// Statements, their results and their plans.

import { Failure, ask, rows } from "../client.js";
import { copyButton, download, h, replace, say, setText } from "../dom.js";
import { count, counted, line, micros } from "../format.js";
import { askPlan, drawPlan } from "../plan.js";
import { ROWS_MAX, run } from "../stream.js";
import { statementsOf } from "../split.js";

export const title = "SQL";
export const about = "Any statement, with the rights of who asks. Each request has a session of its own: what has to stay together runs as one transaction.";
export const icon = "M3 5l5 5-5 5M10 15h7";
export const every = 0;

const PAGE = 100;
const HISTORY = "latsdb.history";
const HISTORY_MAX = 100;

export function mount(body, { address }) {
  const text = h("textarea", { id: "statement", spellcheck: "false", autocapitalize: "none", rows: 7, "aria-describedby": "keys" });
  const database = h("select", { id: "database" }, h("option", { value: "" }, "no database"));
  const together = h("input", { type: "checkbox", id: "together" });
  const runIt = h("button", { type: "button", class: "primary", on: { click: () => start() } }, "Run");
  const stop = h("button", { type: "button", class: "quiet", hidden: true, on: { click: () => running?.abort() } }, "Stop");
  const explain = h("button", { type: "button", class: "quiet", on: { click: () => plan(false) } }, "Plan");
  const analyze = h("button", { type: "button", class: "quiet", on: { click: () => plan(true) } }, "Run and measure the plan");
  const results = h("section", { class: "results", "aria-label": "Results" });
  const past = historyOf((entry) => {
    text.value = entry;
    text.focus();
  });
  let running = null;

  text.value = sessionStorage.getItem("latsdb.statement") ?? "";
  if (address[0]) text.value = address[0];
  text.addEventListener("input", () => sessionStorage.setItem("latsdb.statement", text.value));
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      start();
    }
  });
  replace(body,
    h("section", { class: "card editor", "aria-label": "Statement" },
      h("div", { class: "head" }, h("label", { for: "statement" }, h("h2", {}, "Statement")),
        h("label", { class: "inline", for: "database" }, "Database", database)),
      text,
      h("div", { class: "actions" }, runIt, stop, explain, analyze,
        h("label", { class: "inline", for: "together" }, together, "As one transaction")),
      h("p", { class: "muted", id: "keys" }, `Ctrl+Enter runs what is selected, or all of it. Of a result, the first ${count(ROWS_MAX)} rows are fetched.`)),
    results,
    h("details", { class: "card" }, h("summary", {}, "Earlier statements of this browser tab"), past.element));

  listDatabases(database);

  const chosen = () => {
    const [from, to] = [text.selectionStart, text.selectionEnd];
    return statementsOf(from < to ? text.value.slice(from, to) : text.value);
  };

  async function work(act) {
    if (running) return;
    running = new AbortController();
    for (const button of [runIt, explain, analyze]) button.disabled = true;
    stop.hidden = false;
    replace(results, h("p", { class: "muted", role: "status" }, "Running…"));
    try {
      await act(running.signal);
    } finally {
      running = null;
      for (const button of [runIt, explain, analyze]) button.disabled = false;
      stop.hidden = true;
    }
  }

  function start() {
    const statements = chosen();
    if (statements.length === 0) return;
    past.add(statements.join(";\n"));
    work(async (signal) => {
      const options = { database: database.value || undefined, signal };
      let transaction;
      replace(results);
      try {
        if (together.checked) {
          const begun = await ask("POST", "/v1/transactions", { body: { deadline_ms: 60_000 }, signal });
          ({ transaction } = await begun.json());
        }
        for (const statement of statements) await show(statement, { ...options, transaction });
        if (transaction) {
          await ask("POST", `/v1/transactions/${encodeURIComponent(transaction)}/commit`, { signal });
          results.append(h("p", { class: "muted" }, "Committed."));
        }
      } catch (error) {
        results.append(problem(error));
        if (transaction) {
          await ask("POST", `/v1/transactions/${encodeURIComponent(transaction)}/rollback`).catch(() => undefined);
          results.append(h("p", { class: "muted" }, "Rolled back."));
        }
      }
      if (/\b(create|drop)\s+(database|schema)\b/i.test(statements.join(" "))) listDatabases(database);
    });
  }

  async function show(statement, options) {
    const began = performance.now();
    try {
      const all = await run(statement, options);
      const took = performance.now() - began;
      for (const result of all) results.append(drawResult(result, statement, took));
    } catch (error) {
      for (const result of error.results?.filter((result) => result.rows?.length) ?? []) results.append(drawResult(result, statement, performance.now() - began));
      throw Object.assign(error, { statement });
    }
  }

  function plan(measured) {
    const [statement] = chosen();
    if (!statement) return;
    work(async (signal) => {
      try {
        const text = await askPlan(statement, { database: database.value || undefined, measured, signal });
        replace(results, h("article", { class: "card result" },
          h("div", { class: "head" }, h("h2", {}, measured ? "Plan, as it ran" : "Plan"), copyButton(text, "the plan")), drawPlan(text),
          h("details", {}, h("summary", {}, "As text"), h("pre", { class: "code", tabindex: 0 }, text))));
        say("The plan is shown");
      } catch (error) {
        replace(results, problem(error));
      }
    });
  }

  return {
    go([statement]) {
      if (statement) text.value = statement;
    },
    leave: () => running?.abort(),
  };
}

async function listDatabases(select) {
  const before = select.value || sessionStorage.getItem("latsdb.database");
  try {
    const told = await rows("SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA ORDER BY 1");
    replace(select, h("option", { value: "" }, "no database"), told.map(({ name }) => h("option", { value: name }, name)));
    if (told.some(({ name }) => name === before)) select.value = before;
    select.onchange = () => sessionStorage.setItem("latsdb.database", select.value);
  } catch {
    // The statements tell what is wrong.
  }
}

function problem(error) {
  if (error.name === "AbortError") return h("p", { class: "hint", role: "status" }, "Stopped.");
  const text = error instanceof Failure ? error.shown : String(error);
  return h("p", { class: "problem", role: "alert" }, text, error.statement && `\n${line(error.statement, 200)}`);
}

function drawResult(result, statement, took) {
  const time = micros(took * 1000);
  if (!result.columns) {
    const told = [`${counted(result.affected_rows, "row")} affected`, result.info, result.last_insert_id ? `automatic id ${result.last_insert_id}` : "",
      result.warnings ? counted(result.warnings, "warning") : "", time];
    return h("article", { class: "card result" },
      h("p", { class: "code" }, line(statement, 160)), h("p", { role: "status" }, told.filter(Boolean).join(" · ")));
  }
  const { columns, rows: data } = result;
  const rowsText = `${result.isCut ? "the first " : ""}${counted(data.length, "row")}`;
  const about = h("p", { role: "status", class: "muted" }, [rowsText, result.warnings ? counted(result.warnings, "warning") : "", time].filter(Boolean).join(" · "));
  const table = pagedTable(columns, data, line(statement, 120));
  const name = `result-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}`;
  return h("article", { class: "card result" },
    h("p", { class: "code" }, line(statement, 160)),
    h("div", { class: "head" }, about, table.pager,
      h("div", { class: "actions" },
        h("button", { type: "button", class: "quiet small", on: { click: () => download(`${name}.csv`, "text/csv", csv(columns, data)) } }, "Export CSV"),
        h("button", { type: "button", class: "quiet small", on: { click: () => download(`${name}.json`, "application/json", json(columns, data)) } }, "Export JSON"))),
    table.element);
}

/** Rows, a page at a time. */
function pagedTable(columns, data, caption) {
  let page = 0;
  const pages = Math.max(Math.ceil(data.length / PAGE), 1);
  const body = h("tbody");
  const where = h("span", { class: "muted" });
  const move = (by) => {
    page = Math.min(Math.max(page + by, 0), pages - 1);
    show();
  };
  const back = h("button", { type: "button", class: "quiet small", on: { click: () => move(-1) } }, "Before");
  const on = h("button", { type: "button", class: "quiet small", on: { click: () => move(1) } }, "Next");
  const isNumber = (column) => /int|decimal|float|double|year/.test(column.type);
  function show() {
    const part = data.slice(page * PAGE, (page + 1) * PAGE);
    replace(body, part.map((row) => h("tr", {}, row.map((value, at) => cellOf(value, isNumber(columns[at]))))));
    setText(where, `rows ${count(page * PAGE + 1)} to ${count(page * PAGE + part.length)}`);
    back.disabled = page === 0;
    on.disabled = page === pages - 1;
  }
  show();
  return {
    element: h("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Rows" },
      h("table", {}, h("caption", { class: "unseen" }, caption),
        h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col", title: column.type, class: isNumber(column) ? "number" : null }, column.name)))), body)),
    pager: pages > 1 && h("div", { class: "actions" }, back, where, on),
  };
}

const SHOWN_MAX = 300;

function cellOf(value, isNumber) {
  if (value === null) return h("td", { class: "null" }, "NULL");
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  if (text.length <= SHOWN_MAX) return h("td", { class: isNumber ? "number" : null }, text);
  const cell = h("td", {}, `${text.slice(0, SHOWN_MAX)}… `);
  cell.append(h("button", { type: "button", class: "link", on: { click: () => setText(cell, text) } }, `all ${count(text.length)} characters`));
  return cell;
}

function csv(columns, data) {
  const field = (value) => {
    if (value === null) return "";
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return /[",\r\n]/.test(text) || text === "" ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns.map((column) => column.name), ...data].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

function json(columns, data) {
  return JSON.stringify(data.map((row) => Object.fromEntries(columns.map((column, at) => [column.name, row[at]]))), null, 1);
}

/** What was run, the newest first; of this tab alone. */
function historyOf(use) {
  const list = h("ul", { class: "history" });
  const nothing = h("p", { class: "muted" }, "Nothing was run yet.");
  const read = () => JSON.parse(sessionStorage.getItem(HISTORY) ?? "[]");
  function show() {
    const all = read();
    replace(list, all.map((text) => h("li", {}, h("button", { type: "button", class: "link code", title: text, on: { click: () => use(text) } }, line(text, 160)))));
    nothing.hidden = all.length > 0;
  }
  show();
  return {
    element: h("div", {}, nothing, list),
    add(text) {
      const all = [text, ...read().filter((one) => one !== text)].slice(0, HISTORY_MAX);
      try {
        sessionStorage.setItem(HISTORY, JSON.stringify(all));
      } catch {
        // Full: the old ones stay.
      }
      show();
    },
  };
}
