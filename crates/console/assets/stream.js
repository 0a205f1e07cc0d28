// Reads the rows of an answer of /v1/sql as they come, and no more than are wanted.
//
// The answer is one JSON document: {"columns": […], "rows": [[…], …], "warnings": 0}, or a list of those. What is around the rows is small, and is
// parsed at the end; each row is parsed by itself. So a result of a million rows costs what is shown of it.

import { ask, Failure } from "./client.js";

export const ROWS_MAX = 1000;
/** Of all values of a result together. */
const TEXT_MAX = 16 << 20;

/** Takes a document piece by piece. */
export class Rows {
  constructor() {
    this.results = [];
    this.frame = "";
    this.depth = 0;
    this.inText = false;
    this.isEscaped = false;
    this.lastText = "";
    // The depth of the elements of a list "rows"; 0: none is open.
    this.rowDepth = 0;
    this.row = "";
    this.held = 0;
    this.isFull = false;
  }

  take(piece) {
    for (const char of piece) {
      if (this.isFull) return;
      this.#step(char);
    }
  }

  #step(char) {
    const within = this.rowDepth > 0 && this.depth >= this.rowDepth;
    if (this.inText) {
      if (this.isEscaped) this.isEscaped = false;
      else if (char === "\\") this.isEscaped = true;
      else if (char === '"') this.inText = false;
      else if (!within) this.lastText += char;
    } else if (char === '"') {
      this.inText = true;
      if (!within) this.lastText = "";
    } else if (char === "[" || char === "{") {
      this.depth += 1;
      if (this.rowDepth === 0 && char === "[" && this.lastText === "rows") {
        this.rowDepth = this.depth + 1;
        this.results.push([]);
        this.frame += char;
        return;
      }
    } else if (char === "]" || char === "}") {
      this.depth -= 1;
      if (this.rowDepth > 0 && this.depth === this.rowDepth - 2) {
        this.rowDepth = 0;
        this.lastText = "";
      }
    }
    if (this.rowDepth === 0) {
      this.frame += char;
      return;
    }
    if (this.depth < this.rowDepth && this.row === "") return;
    this.row += char;
    if (this.depth < this.rowDepth) this.#endRow();
  }

  #endRow() {
    const result = this.results.at(-1);
    result.push(JSON.parse(this.row));
    this.held += this.row.length;
    this.row = "";
    this.isFull = result.length >= ROWS_MAX || this.held >= TEXT_MAX;
  }

  /** The results, each with its columns and rows; or what a statement without rows has done. */
  finish() {
    const close = this.isFull ? (this.frame.startsWith('{"results"') ? "]}]}" : "]}") : "";
    const told = JSON.parse(this.frame + close);
    const all = told.results ?? [told];
    let at = 0;
    for (const result of all) {
      if (!result.columns) continue;
      result.rows = this.results[at];
      at += 1;
    }
    if (this.isFull) all.at(-1).isCut = true;
    return all;
  }
}

/** Runs a statement. A result with more rows than are shown is cut off, and the statement ends. */
export async function run(text, { database, transaction, parameters = [], signal } = {}) {
  const body = { sql: text, parameters, numbers: "string", database, transaction };
  const stop = new AbortController();
  const cut = () => stop.abort();
  signal?.addEventListener("abort", cut);
  try {
    const answer = await ask("POST", "/v1/sql", { body, signal: stop.signal });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const rows = new Rows();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      rows.take(value);
      if (rows.isFull) {
        stop.abort();
        break;
      }
    }
    const results = rows.finish();
    const failed = results.find((result) => result.error);
    if (failed) throw Object.assign(new Failure(failed.error.status, failed.error), { results });
    return results;
  } finally {
    signal?.removeEventListener("abort", cut);
  }
}
