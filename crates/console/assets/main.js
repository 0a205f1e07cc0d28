// Which view is shown, and when it asks for its data again.
//
//   who asks? ──▶ (login) ──▶ view of the address (#/sessions) ──▶ mount ──▶ update, each few seconds while the tab is seen

import { Failure, forgetLogin, logOut, login, rows } from "./client.js";
import { h, replace, say, setText, svg } from "./dom.js";
import { showLogin } from "./login.js";
import * as overview from "./views/overview.js";
import * as sessions from "./views/sessions.js";
import * as locks from "./views/locks.js";
import * as statements from "./views/statements.js";
import * as tables from "./views/tables.js";
import * as backups from "./views/backups.js";
import * as editor from "./views/editor.js";
import * as redis from "./views/redis.js";
import * as lab from "./views/lab.js";

// In the order of the navigation; `icon` is a path in a square of 20.
const VIEWS = { overview, editor, sessions, locks, statements, tables, redis, backups, lab };

const main = document.getElementById("main");
const banner = document.getElementById("banner");
const links = new Map();

/** Who asks: his account, and whether he may see what others do. */
let who = null;
let shown = { name: null, view: null, stop: null };
let isLost = false;

function buildNavigation() {
  const items = Object.entries(VIEWS).map(([name, view]) => {
    const link = h("a", { href: `#/${name}` },
      svg("svg", { viewBox: "0 0 20 20", width: 18, height: 18, "aria-hidden": "true" }, svg("path", { d: view.icon })),
      h("span", {}, view.title));
    links.set(name, link);
    return h("li", {}, link);
  });
  replace(document.getElementById("nav"), h("ul", {}, items));
}

function buildAccount() {
  const theme = h("button", { type: "button", class: "quiet small" });
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const label = () => setText(theme, isDark() ? "Light scheme" : "Dark scheme");
  theme.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("latsdb.theme", next);
    label();
    dispatchEvent(new Event("schemechange"));
  });
  label();
  const held = login();
  const act = held
    ? h("button", { type: "button", class: "quiet small", on: { click: leave } }, "Log out")
    : who && h("button", { type: "button", class: "quiet small", on: { click: () => begin({ asAccount: true }) } }, "Log in as…");
  const name = who && h("p", { class: "who" },
    h("span", { class: "muted" }, held ? "Account" : "Runs the node"),
    h("strong", {}, who.account));
  replace(document.getElementById("account"), name, h("div", { class: "actions" }, act, theme));
}

async function leave() {
  await logOut();
  say("Logged out");
  begin({ asAccount: true });
}

/** Finds out who asks, and shows the view of the address. */
async function begin({ asAccount = false, why } = {}) {
  stopView();
  who = null;
  buildAccount();
  for (;;) {
    try {
      if (asAccount) throw new Failure(401, { detail: why });
      who = await whoAsks();
      break;
    } catch (error) {
      if (error.isLost || error.status === 503) {
        tellLost(error);
        await new Promise((resolve) => setTimeout(resolve, 1500));
        continue;
      }
      // A witness has no accounts and no rows, but a state.
      if (error.status === 501) {
        who = { account: "a witness", version: "" };
        break;
      }
      if (error.status !== 401 && error.status !== 403) {
        replace(main, h("p", { class: "problem", role: "alert" }, error.message));
        return;
      }
      tellFound();
      const hadLogin = login() !== null;
      forgetLogin();
      await showLogin(main, hadLogin ? "The login has ended. Log in again." : why);
      asAccount = false;
      why = undefined;
    }
  }
  tellFound();
  buildAccount();
  route();
}

async function whoAsks() {
  const [one] = await rows("SELECT CURRENT_USER() AS account, @@version AS version, @@hostname AS host");
  return { account: one.account, version: one.version, host: one.host };
}

function stopView() {
  shown.stop?.();
  shown = { name: null, view: null, stop: null };
}

function route() {
  if (!who) return;
  const [name, ...rest] = location.hash.replace(/^#\//, "").split("/");
  const known = VIEWS[name] ? name : "overview";
  const address = rest.map(decoded);
  if (shown.name === known && shown.view.go) {
    shown.view.go(address);
    return;
  }
  stopView();
  const heading = h("h1", { tabindex: -1 }, VIEWS[known].title);
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const body = h("div", { class: "view" });
  replace(main, h("div", { class: "top" }, heading, h("p", { class: "about muted" }, VIEWS[known].about)), problem, body);
  document.title = `${VIEWS[known].title} · LatsDB`;
  for (const [other, link] of links) {
    if (other === known) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  links.get(known).scrollIntoView({ block: "nearest", inline: "nearest" });
  const view = VIEWS[known].mount(body, { who, address, refresh: () => poll.now() });
  const poll = polling(view, VIEWS[known].every, problem);
  shown = { name: known, view, stop: () => { poll.stop(); view.leave?.(); } };
  if (hasNavigated) heading.focus({ preventScroll: true });
  hasNavigated = true;
  scrollTo(0, 0);
}

let hasNavigated = false;

/** A part of an address; as it stands, where it was written by hand. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Lets a view ask for its data: at once, and then again and again while somebody looks. */
function polling(view, every, problem) {
  const abort = new AbortController();
  let timer = 0;
  let isRunning = false;
  let isWanted = false;
  const tick = async () => {
    clearTimeout(timer);
    if (abort.signal.aborted || !view.update) return;
    if (isRunning) {
      isWanted = true;
      return;
    }
    if (document.hidden) return;
    isRunning = true;
    isWanted = false;
    let pause = every;
    try {
      await view.update(abort.signal);
      problem.hidden = true;
      tellFound();
    } catch (error) {
      if (abort.signal.aborted) return;
      pause = 2000;
      if (error.status === 401) {
        begin({ why: "The login has ended. Log in again." });
        return;
      }
      if (error.isLost || error.status === 503) tellLost(error);
      else {
        if (!(error instanceof Failure)) console.error(error);
        setText(problem, error.shown ?? String(error));
        problem.hidden = false;
      }
    } finally {
      isRunning = false;
    }
    if (isWanted) tick();
    else if (pause) timer = setTimeout(tick, pause);
  };
  const seen = () => { if (!document.hidden) tick(); };
  document.addEventListener("visibilitychange", seen);
  tick();
  return {
    now: tick,
    stop: () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    },
  };
}

/** The node is not there. Everybody who waits for it finds it again by himself. */
function tellLost(error) {
  const text = error.isLost
    ? "The node does not answer. What is shown is from before; the console goes on as soon as the node is back."
    : `The node does not serve now: ${error.message}. The console goes on as soon as it does.`;
  setText(banner, text);
  banner.hidden = false;
  isLost = true;
  document.body.classList.add("lost");
}

function tellFound() {
  if (!isLost) return;
  isLost = false;
  banner.hidden = true;
  document.body.classList.remove("lost");
  say("The node is back");
}

buildNavigation();
addEventListener("hashchange", route);
begin();
