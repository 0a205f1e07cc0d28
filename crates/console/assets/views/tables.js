// Databases and tables: what they hold, what they are made of, when their rows expire.

import { rows } from "../client.js";
import { copyButton, h, replace, setText } from "../dom.js";
import { bytes, count, counted, quoted } from "../format.js";
import { dataTable } from "../table.js";

export const title = "Tables";
export const about = "What may be seen of databases and tables. Counts and sizes are estimates.";
export const icon = "M3 4h14v12H3zM3 8h14M8 8v8";
export const every = 10_000;

const TABLES = `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_ROWS, DATA_LENGTH, INDEX_LENGTH, AUTO_INCREMENT, CREATE_OPTIONS, TABLE_COLLATION, TABLE_COMMENT
  FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema') ORDER BY 1, 2 LIMIT 5000`;
const SYSTEM = new Set(["mysql", "redis", "latsdb_rest"]);
const MEMORY = `SELECT EVENT_NAME, CURRENT_NUMBER_OF_BYTES_USED AS used FROM performance_schema.memory_summary_global_by_event_name ORDER BY used DESC`;

export function mount(body, { address }) {
  let all = [];
  const detail = h("section", { class: "card sheet", hidden: true, tabindex: -1, "aria-label": "A table" });
  const filter = h("input", { type: "search", id: "filter", placeholder: "database or table", on: { input: () => show() } });
  const system = h("input", { type: "checkbox", id: "system", on: { change: () => show() } });
  const summary = h("p", { class: "muted", role: "status" });
  const memory = h("div", { class: "cards small" });
  const table = dataTable({
    caption: "Tables", isQuiet: true, key: (row) => JSON.stringify([row.table_schema, row.table_name]), empty: "There is no table that may be seen.", sortBy: 0,
    columns: [
      { label: "Database", text: (row) => row.table_schema, sort: (row) => row.table_schema },
      { label: "Table", cell: (row, cell) => { replace(cell, h("a", { href: linkTo(row) }, row.table_name)); }, sort: (row) => row.table_name },
      { label: "Kind", text: (row) => ({ "BASE TABLE": "table", VIEW: "view", "SYSTEM VIEW": "system" }[row.table_type] ?? row.table_type), sort: (row) => row.table_type },
      { label: "Rows", text: (row) => count(row.table_rows), sort: (row) => Number(row.table_rows ?? -1), kind: "number" },
      { label: "Data", text: (row) => bytes(row.data_length), sort: (row) => Number(row.data_length ?? -1), kind: "number" },
      { label: "Indexes", text: (row) => bytes(row.index_length), sort: (row) => Number(row.index_length ?? -1), kind: "number" },
      { label: "Rows expire", text: (row) => ttlOf(row) ?? "", sort: (row) => ttlOf(row) ?? "~" },
      { label: "Comment", text: (row) => (row.table_type === "VIEW" ? "" : row.table_comment ?? "") },
    ],
  });
  const show = () => {
    const word = filter.value.toLowerCase();
    const seen = all.filter((row) => system.checked || !SYSTEM.has(row.table_schema));
    const fitting = seen.filter((row) => `${row.table_schema}.${row.table_name}`.toLowerCase().includes(word));
    table.set(fitting);
    setText(summary, `${counted(fitting.length, "table")}, ${counted(fitting.reduce((sum, row) => sum + Number(row.table_rows ?? 0), 0), "row")}`);
  };
  const memoryPart = h("section", { class: "sheet" }, h("h2", {}, "Memory by use"), memory);
  replace(body, detail,
    h("section", { class: "card sheet" }, h("div", { class: "head" }, summary, h("label", { class: "inline", for: "filter" }, "Find", filter),
      h("label", { class: "inline", for: "system" }, system, "Of the system, too")), table.element),
    memoryPart);
  const open = ([database, name]) => {
    if (name === undefined) detail.hidden = true;
    else showTable(detail, database, name);
  };
  open(address);

  return {
    async update(signal) {
      all = await rows(TABLES, [], { signal });
      show();
      const used = await rows(MEMORY, [], { signal });
      replace(memory, used.map((row) => h("div", { class: "card tile" }, h("p", { class: "label" }, row.event_name.replace("memory/latsdb/", "")), h("p", { class: "figure" }, bytes(row.used)))));
    },
    go: open,
  };
}

function linkTo(row) {
  return `#/tables/${encodeURIComponent(row.table_schema)}/${encodeURIComponent(row.table_name)}`;
}

/** `TTL=… TTL_ENABLE=ON`, as people say it. */
function ttlOf(row) {
  const rule = /TTL=(.*?) TTL_ENABLE=(\w+)/.exec(row.create_options ?? "");
  if (!rule) return null;
  return rule[2] === "ON" ? rule[1] : `${rule[1]} (off)`;
}

async function showTable(detail, database, name) {
  const about = h("div", { class: "sheet", role: "status" }, h("p", { class: "muted" }, "Asking…"));
  const full = `${quoted(database)}.${quoted(name)}`;
  replace(detail,
    h("div", { class: "head" }, h("h2", {}, `${database}.${name}`),
      h("a", { href: `#/editor/${encodeURIComponent(`SELECT * FROM ${full} LIMIT 100`)}` }, "Rows in SQL"),
      h("a", { href: "#/tables" }, "Close")), about);
  detail.hidden = false;
  detail.focus();
  const where = "WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?";
  try {
    const [columns, indexes, shown] = await Promise.all([
      rows(`SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, COLUMN_COMMENT FROM information_schema.COLUMNS ${where} ORDER BY ORDINAL_POSITION`, [database, name]),
      rows(`SELECT INDEX_NAME, NON_UNIQUE, INDEX_TYPE, GROUP_CONCAT(COALESCE(COLUMN_NAME, EXPRESSION) ORDER BY SEQ_IN_INDEX SEPARATOR ', ') AS parts, MAX(CARDINALITY) AS cardinality
        FROM information_schema.STATISTICS ${where} GROUP BY INDEX_NAME, NON_UNIQUE, INDEX_TYPE`, [database, name]),
      rows(`SHOW CREATE TABLE ${full}`).catch(() => []),
    ]);
    const statement = shown[0]?.["create table"] ?? shown[0]?.["create view"];
    replace(about,
      plainTable("Columns", ["Column", "Type", "May be NULL", "Default", "More"], columns.map((one) =>
        [one.column_name, one.column_type, one.is_nullable === "YES" ? "yes" : "no", one.column_default ?? "", [one.extra, one.column_comment].filter(Boolean).join(" · ")])),
      indexes.length > 0 && plainTable("Indexes", ["Index", "Columns", "Unique", "Kind", "Values, about"], indexes.map((one) =>
        [one.index_name, one.parts, one.non_unique === "0" ? "yes" : "no", one.index_type, count(one.cardinality)])),
      statement && h("div", { class: "snippet" }, h("div", { class: "head" }, h("h3", {}, "Statement that makes it"), copyButton(statement, "the statement")),
        h("pre", { class: "code", tabindex: 0 }, statement)));
  } catch (error) {
    replace(about, h("p", { class: "problem" }, error.shown ?? String(error)));
  }
}

export function plainTable(caption, headers, data) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, headers.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, data.map((row) => h("tr", {}, row.map((text) => h("td", {}, text)))))));
}
