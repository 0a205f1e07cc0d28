// Who is connected, and what runs; with the means to end it.

import { rows, sql } from "../client.js";
import { confirm } from "../dialog.js";
import { h, replace, say, setText } from "../dom.js";
import { bytes, counted, line, seconds } from "../format.js";
import { dataTable } from "../table.js";

export const title = "Sessions";
export const about = "Connections of every protocol, on all nodes, and the statements that they run. Without the privilege PROCESS: your own.";
export const icon = "M7 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM1.5 17c0-3 2.5-5 5.5-5s5.5 2 5.5 5M13 3.5a3 3 0 0 1 0 5.5M14.5 12.3c2.3.5 4 2.2 4 4.7";
export const every = 2000;

export function mount(body, { refresh }) {
  let all = [];
  let own = null;
  const filter = h("input", { type: "search", id: "filter", placeholder: "user, host, database, statement", on: { input: () => show() } });
  const idle = h("input", { type: "checkbox", id: "idle", checked: true, on: { change: () => show() } });
  const summary = h("p", { class: "muted", role: "status" });

  const kill = async (session, whole) => {
    const what = whole ? `End session ${session.id} of ${session.user}?` : `Stop the statement of session ${session.id}?`;
    const text = whole
      ? "Its connection is closed. What it has not committed is rolled back."
      : `It is rolled back; the session stays.\n\n${line(session.info, 300)}`;
    if (!(await confirm(what, text, whole ? "End the session" : "Stop the statement"))) return;
    try {
      await sql(`KILL ${whole ? "" : "QUERY "}${Number(session.id)}`);
      say(whole ? `Session ${session.id} ends` : `The statement of session ${session.id} stops`);
    } catch (error) {
      // It may have ended by itself.
      if (error.code !== 1094) throw error;
      say(`Session ${session.id} is gone`);
    }
    refresh();
  };
  const tell = (act) => act.catch((error) => say(error.shown ?? String(error)));

  const table = dataTable({
    caption: "Sessions", isQuiet: true, key: (session) => session.id, empty: "No session fits.", sortBy: 4, descending: true,
    columns: [
      { label: "Id", text: (session) => session.id, sort: (session) => Number(session.id), kind: "number" },
      { label: "User", text: (session) => session.user, sort: (session) => session.user },
      { label: "From", text: (session) => session.host, sort: (session) => session.host },
      { label: "Database", text: (session) => session.db ?? "", sort: (session) => session.db },
      { label: "For", text: (session) => seconds(session.time), sort: (session) => Number(session.time) + (isIdle(session) ? 0 : 1e9), kind: "number" },
      { label: "Does", text: (session) => (isIdle(session) ? "idle" : [session.command, session.state].filter(Boolean).join(": ")), sort: (session) => session.command },
      { label: "Statement", text: (session) => line(session.info, 240), full: (session) => session.info, kind: "code" },
      { label: "Memory", text: (session) => bytes(session.memory_used), sort: (session) => Number(session.memory_used), kind: "number" },
      { label: "Act", cell: (session, cell) => actions(session, cell) },
    ],
  });

  function actions(session, cell) {
    let shown = session;
    const stop = h("button", { type: "button", class: "quiet small", on: { click: () => tell(kill(shown, false)) } }, "Stop");
    const end = h("button", { type: "button", class: "quiet small", on: { click: () => tell(kill(shown, true)) } }, "End");
    const self = h("span", { class: "muted" }, "this page");
    replace(cell, h("div", { class: "actions" }, stop, end, self));
    return {
      update(row) {
        shown = row;
        const isOwn = row.id === own;
        stop.hidden = isOwn || isIdle(row);
        end.hidden = isOwn;
        self.hidden = !isOwn;
        stop.setAttribute("aria-label", `Stop the statement of session ${row.id}`);
        end.setAttribute("aria-label", `End session ${row.id}`);
      },
    };
  }

  function show() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (session) => {
      const text = [session.id, session.user, session.host, session.db, session.info].join(" ").toLowerCase();
      return words.every((word) => text.includes(word)) && (idle.checked || !isIdle(session));
    };
    const fitting = all.filter(fits);
    table.set(fitting.slice(0, 500));
    const running = all.filter((session) => !isIdle(session)).length;
    setText(summary, `${counted(all.length, "session")}, ${running} of them at work${fitting.length > 500 ? "; the first 500 are shown" : ""}`);
  }

  replace(body, h("section", { class: "card sheet" },
    h("div", { class: "head" }, summary,
      h("label", { class: "inline", for: "filter" }, "Find", filter), h("label", { class: "inline", for: "idle" }, idle, "Idle ones, too")),
    table.element));

  return {
    async update(signal) {
      const told = await rows("SELECT p.*, CONNECTION_ID() AS own FROM information_schema.PROCESSLIST p", [], { signal });
      own = told[0]?.own ?? null;
      // What the node does by itself, for a moment, many times a second.
      all = told.filter((session) => session.user !== "key_expiry");
      show();
    },
  };
}

function isIdle(session) {
  return session.command === "Sleep" || session.command === "Daemon";
}
