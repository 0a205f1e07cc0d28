// Keys of Redis clients, as the rows that they are.

import { rows } from "../client.js";
import { h, replace, setText } from "../dom.js";
import { count, counted, line } from "../format.js";
import { dataTable } from "../table.js";
import { plainTable } from "./tables.js";

export const title = "Redis keys";
export const about = "Keys and their values, page by page, in the order of their bytes. They are rows of the tables redis.db0 to redis.db15; this reads them by SQL.";
export const icon = "M12.5 11.5a4 4 0 1 0-3.2-1.6L3 16.2V18h3v-2h2v-2l1.9-1.9c.7.3 1.6.5 2.6.4ZM13.5 6.5h.01";
export const every = 0;

const PAGE = 100;
const ELEMENTS = 200;

export function mount(body, { refresh }) {
  const database = h("select", { id: "db" });
  const prefix = h("input", { id: "prefix", type: "search", placeholder: "user:", spellcheck: "false" });
  const told = h("p", { class: "muted", role: "status" });
  const detail = h("section", { class: "card sheet", hidden: true, tabindex: -1, "aria-label": "A key" });
  const back = h("button", { type: "button", class: "quiet small", on: { click: () => { starts.pop(); refresh(); } } }, "Before");
  const on = h("button", { type: "button", class: "quiet small", on: { click: () => { starts.push(next); refresh(); } } }, "Next");
  let starts = [null];
  let next = null;
  const again = () => {
    starts = [null];
    detail.hidden = true;
    refresh();
  };
  database.addEventListener("change", again);
  prefix.addEventListener("change", again);
  const table = dataTable({
    caption: "Keys", isQuiet: true, key: (row) => row.key64, empty: "There is no such key.",
    columns: [
      { label: "Key", cell: keyCell, kind: "code" },
      { label: "Type", text: (row) => row.type },
      { label: "Length", text: (row) => count(row.length), kind: "number" },
      { label: "Expires (UTC)", text: (row) => (row.expires_at ? String(row.expires_at).slice(0, 19) : "never") },
    ],
  });
  function keyCell(row, cell) {
    let shown = row;
    const click = () => showKey(detail, database.value, shown);
    replace(cell, h("button", { type: "button", class: "link code", on: { click } }, line(textOf(row.key64), 120)));
    // Another key of this name may have come, of another type.
    return { update: (now) => { shown = now; } };
  }
  const form = h("form", { class: "head", on: { submit: (event) => { event.preventDefault(); again(); } } }, told,
    h("label", { class: "inline", for: "db" }, "Database", database),
    h("label", { class: "inline", for: "prefix" }, "Begins with", prefix), h("button", { class: "quiet" }, "Find"));
  const pager = h("div", { class: "actions" }, back, on);
  const nothing = h("p", { class: "hint", hidden: true }, "No Redis client has used a database of this node yet, or this account may not read it. The tables are made with the first key: ",
    h("code", { class: "code" }, "redis-cli SET greeting hello"));
  const sheet = h("section", { class: "card sheet" }, form, table.element, pager);
  table.element.classList.add("tall");
  replace(body, nothing, h("div", { class: "beside" }, sheet, detail));

  return {
    async update(signal) {
      const there = await rows("SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'redis' AND TABLE_NAME REGEXP '^db[0-9]+$'", [], { signal });
      const numbers = there.map(({ name }) => Number(name.slice(2))).sort((a, b) => a - b);
      nothing.hidden = numbers.length > 0;
      sheet.hidden = numbers.length === 0;
      if (numbers.length === 0) return;
      const before = database.value;
      if (database.options.length !== numbers.length) {
        replace(database, numbers.map((number) => h("option", { value: number }, number)));
        if (numbers.map(String).includes(before)) database.value = before;
      }
      const db = Number(database.value);
      const conditions = [];
      const parameters = [];
      if (prefix.value) {
        conditions.push("LEFT(`key`, OCTET_LENGTH(?)) = ? AND `key` >= ?");
        parameters.push(...Array(3).fill(binary(prefix.value)));
      }
      const start = starts.at(-1);
      if (start !== null) {
        conditions.push("`key` > ?");
        parameters.push({ $binary: start });
      }
      const where = conditions.length ? `WHERE ${conditions.join(" AND ")}` : "";
      const found = await rows(`SELECT \`key\` AS key64, type, length, expires_at FROM redis.db${db}_keys ${where} ORDER BY \`key\` LIMIT ${PAGE + 1}`, parameters, { signal });
      const page = found.slice(0, PAGE);
      next = page.at(-1)?.key64 ?? null;
      table.set(page);
      back.disabled = starts.length === 1;
      on.disabled = found.length <= PAGE;
      setText(told, `Page ${starts.length}, ${counted(page.length, "key")}`);
    },
  };
}

const VALUES = {
  hash: ["hashes", "field, value", ["Field", "Value"], "field"],
  set: ["sets", "member", ["Member"], "member"],
  zset: ["zsets", "member, score", ["Member", "Score"], "score, member"],
  list: ["lists", "`index`, value", ["Position", "Value"], "`index`"],
  stream: ["streams", "entry, fields", ["Entry", "Fields"], "1"],
};

async function showKey(detail, db, row) {
  const place = h("div", { role: "status" }, h("p", { class: "muted" }, "Asking…"));
  replace(detail,
    h("div", { class: "head" }, h("h2", { class: "code" }, line(textOf(row.key64), 200)), h("span", { class: "pill" }, row.type),
      h("button", { type: "button", class: "quiet small", on: { click: () => { detail.hidden = true; } } }, "Close")), place);
  detail.hidden = false;
  detail.focus();
  const key = [{ $binary: row.key64 }];
  try {
    if (row.type === "string") {
      const [one] = await rows(`SELECT LEFT(value, 65536) AS value, OCTET_LENGTH(value) AS size FROM redis.db${Number(db)} WHERE \`key\` = ?`, key);
      replace(place, one ? [h("pre", { class: "code", tabindex: 0 }, textOf(one.value)), Number(one.size) > 65_536 && h("p", { class: "muted" }, `The first 65536 of ${count(one.size)} bytes.`)] : gone());
      return;
    }
    const [view, columns, headers, order] = VALUES[row.type] ?? [];
    if (!view) {
      replace(place, h("p", { class: "muted" }, "Values of this type are not shown."));
      return;
    }
    const found = await rows(`SELECT ${columns} FROM redis.db${Number(db)}_${view} WHERE \`key\` = ? ORDER BY ${order} LIMIT ${ELEMENTS}`, key);
    const names = Object.keys(found[0] ?? {}).filter((name) => name !== "key");
    const data = found.map((one) => names.map((name) => shown(name, one[name])));
    replace(place, found.length === 0 ? gone() : plainTable(found.length < ELEMENTS ? counted(found.length, "element") : `The first ${count(ELEMENTS)} elements`, headers, data));
  } catch (error) {
    replace(place, h("p", { class: "problem" }, error.shown ?? String(error)));
  }
}

const gone = () => h("p", { class: "muted" }, "The key is gone.");

function shown(name, value) {
  if (name === "fields") return fieldsOf(value);
  return ["field", "value", "member"].includes(name) ? textOf(value) : String(value);
}

/** Of an entry of a stream: fields and values in turn, each behind its length in four bytes. */
function fieldsOf(base64) {
  const bytes = bytesOf(base64);
  const parts = [];
  for (let at = 0; at + 4 <= bytes.length;) {
    const length = new DataView(bytes.buffer, at, 4).getUint32(0);
    parts.push(text(bytes.slice(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  const pairs = parts.filter((_, at) => at % 2 === 0).map((field, at) => `${field}: ${parts[2 * at + 1] ?? ""}`);
  return pairs.join(", ");
}

function binary(text) {
  return { $binary: btoa(String.fromCharCode(...new TextEncoder().encode(text))) };
}

/** Bytes in base 64 as text; what is no text as redis-cli shows it. */
function textOf(base64) {
  return base64 === null || base64 === undefined ? "" : text(bytesOf(base64));
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

function text(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`);
  } catch {
    return Array.from(bytes, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`)).join("");
  }
}
