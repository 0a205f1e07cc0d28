// Requests to the node, and who makes them.
//
// Whoever runs the node needs no login on its machine. Everybody else logs in as an account: the password goes to the node once, for a token that is
// good for twelve hours and kept for this tab alone (sessionStorage). No cookies: nothing that a page of another site could make the browser send.

const KEPT = "latsdb.login";
const TOKEN_SECONDS = 12 * 3600;

/** What the node has answered instead of what was asked for. `status` 0: it was not reached. */
export class Failure extends Error {
  constructor(status, told) {
    super(told.detail ?? told.error ?? told.title ?? `the node answers with ${status}`);
    this.status = status;
    this.code = told.code;
    this.sqlstate = told.sqlstate;
    this.reason = told.reason;
  }

  get isLost() {
    return this.status === 0;
  }

  /** As MySQL's clients show it. */
  get shown() {
    return this.code ? `ERROR ${this.code} (${this.sqlstate}): ${this.message}` : this.message;
  }
}

export function login() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    return null;
  }
}

function headersWith(more) {
  const held = login();
  return held ? { authorization: `Bearer ${held.token}`, ...more } : more;
}

/** One request; the answer as it comes. A `Failure` where it is none of 2xx. */
export async function ask(method, path, { body, headers, signal } = {}) {
  const sent = headersWith(headers ?? {});
  if (body !== undefined) sent["content-type"] = "application/json";
  let answer;
  try {
    // Without credentials the browser asks for no password by itself.
    answer = await fetch(path, {
      method, signal, headers: sent, credentials: "omit", cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, { detail: "the node does not answer" });
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Failure(answer.status, told);
}

export async function get(path, options) {
  const answer = await ask("GET", path, options);
  return answer.json();
}

/** A statement whose rows are few. `rows` are lists; whole numbers are texts, for not all of them are doubles. */
export async function sql(text, parameters = [], options = {}) {
  const body = { sql: text, parameters, numbers: "string" };
  if (options.database) body.database = options.database;
  if (options.transaction) body.transaction = options.transaction;
  const answer = await ask("POST", "/v1/sql", { body, signal: options.signal });
  const told = await answer.json();
  if (told.error) throw new Failure(told.error.status, told.error);
  return told;
}

/** The rows of a statement, as objects by the names of its columns in small letters. */
export async function rows(text, parameters, options) {
  const told = await sql(text, parameters, options);
  const names = told.columns.map((column) => column.name.toLowerCase());
  return told.rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])));
}

/** Logs in as an account, for this tab. */
export async function logIn(user, password) {
  const text = new TextEncoder().encode(`${user}:${password}`);
  const basic = btoa(String.fromCharCode(...text));
  sessionStorage.removeItem(KEPT);
  const answer = await ask("POST", "/v1/tokens", {
    body: { name: "console", expires_in_seconds: TOKEN_SECONDS },
    headers: { authorization: `Basic ${basic}` },
  });
  const { id, token, account } = await answer.json();
  sessionStorage.setItem(KEPT, JSON.stringify({ id, token, account }));
}

/** The token ends with the login, if the node can be reached. */
export async function logOut() {
  const held = login();
  if (!held) return;
  await ask("DELETE", `/v1/tokens/${encodeURIComponent(held.id)}`).catch(() => undefined);
  sessionStorage.removeItem(KEPT);
}

export function forgetLogin() {
  sessionStorage.removeItem(KEPT);
}
