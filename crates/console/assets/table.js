// A table that is filled again and again: rows keep their elements, so that focus and selection stay where they are.

import { h, replace, setText } from "./dom.js";

/**
 * columns: `{ label, text(row), full(row), cell(row, td), sort(row), kind: "number" | "code" | "when" }`. `text` is what a cell shows, `full` all of it;
 * `cell` fills it once, and may return how to `update(row)` it. A row's key is `key(row)`. Headers of columns with `sort` are buttons.
 */
export function dataTable({ caption, columns, key, empty = "There is nothing.", sortBy, descending = false, isQuiet = false }) {
  let data = [];
  let sorted = sortBy === undefined ? null : { at: sortBy, descending };
  const elements = new Map();
  const headers = columns.map((column, at) => {
    const header = h("th", { scope: "col", class: column.kind });
    if (!column.sort) return replace(header, column.label);
    const click = () => {
      const turns = sorted?.at === at;
      sorted = { at, descending: turns ? !sorted.descending : column.kind === "number" };
      show();
    };
    return replace(header, h("button", { type: "button", class: "sort", on: { click } }, column.label, h("span", { "aria-hidden": "true" })));
  });
  const body = h("tbody");
  const nothing = h("p", { class: "empty muted", hidden: true }, empty);
  const table = h("table", {}, h("caption", { class: isQuiet ? "unseen" : null }, caption), h("thead", {}, h("tr", {}, headers)), body);
  // What is wider than its place is scrolled, by the keyboard, too.
  const element = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, table, nothing);

  function show() {
    headers.forEach((header, at) => {
      if (sorted?.at === at) header.setAttribute("aria-sort", sorted.descending ? "descending" : "ascending");
      else header.removeAttribute("aria-sort");
    });
    const wanted = sorted ? [...data].sort(byColumn(columns[sorted.at], sorted.descending)) : data;
    const kept = new Set();
    wanted.forEach((row, at) => {
      const id = String(key(row));
      kept.add(id);
      let line = elements.get(id);
      if (!line) {
        line = { row: h("tr"), cells: columns.map((column) => h("td", { class: column.kind })) };
        line.row.append(...line.cells);
        elements.set(id, line);
      }
      columns.forEach((column, number) => fillCell(line, number, column, row));
      if (body.children[at] !== line.row) body.insertBefore(line.row, body.children[at] ?? null);
    });
    for (const [id, line] of elements) {
      if (kept.has(id)) continue;
      line.row.remove();
      elements.delete(id);
    }
    table.hidden = wanted.length === 0;
    nothing.hidden = wanted.length > 0;
  }

  return {
    element,
    set(rows) {
      data = rows;
      show();
    },
  };
}

function fillCell(line, number, column, row) {
  const cell = line.cells[number];
  if (column.cell) {
    // Made once for each row, then told of the row that it stands for.
    line.made ??= [];
    line.made[number] ??= column.cell(row, cell) ?? {};
    line.made[number].update?.(row);
    return;
  }
  const text = column.text(row);
  setText(cell, text ?? "");
  const full = column.full?.(row);
  if (full) cell.title = full;
}

function byColumn(column, descending) {
  const sign = descending ? -1 : 1;
  return (a, b) => {
    const [left, right] = [column.sort(a), column.sort(b)];
    if (left === right) return 0;
    if (left === null || left === undefined) return 1;
    if (right === null || right === undefined) return -1;
    return sign * (typeof left === "number" ? left - right : String(left).localeCompare(String(right)));
  };
}
