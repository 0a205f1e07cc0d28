#!/usr/bin/env python3
"""The console as people use it, in headless Chromium: every view, logins, KILL, hostile names, the keyboard alone, both schemes, a lost node.

    suite.py --binary target/debug/latsdb --dir target/test-data/console [--shots DIR] [NAME...]
"""

import os
import shutil
import sys
import threading
import time

import pymysql
from playwright.sync_api import sync_playwright

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../lib")]
import runner
import world
from node import Node, free_port
from runner import test

VIEWS = ["overview", "editor", "sessions", "locks", "statements", "tables", "redis", "backups", "lab"]
PATIENCE = 15


def until(condition, what):
    return runner.until(condition, what, PATIENCE)


class Console:
    """A tab of a browser of its own, and the node that it looks at."""

    def __init__(self, browser, node, **options):
        self.node, self.base = node, f"http://127.0.0.1:{node.http}"
        self.context = browser.new_context(**{"color_scheme": "light", "viewport": {"width": 1360, "height": 900}, "accept_downloads": True, **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE * 1000)
        self.troubles, self.requests = [], []
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("console", self.hear)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.troubles.append(f"a dialog: {dialog.message}"))

    def hear(self, message):
        # Answers that are no 2xx, and a node that is away, are what tests ask for.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.troubles.append(message.text)

    def open(self, view="overview"):
        self.page.goto(f"{self.base}/#/{view}")
        self.page.wait_for_selector(".view")
        return self.page

    def main(self):
        return self.page.inner_text("main")

    def sees(self, *texts):
        for text in texts:
            until(lambda: text in self.main(), f"{text!r} is not shown, but:\n{self.main()[:2000]}")

    def log_in(self, user, password):
        self.page.get_by_label("Account").fill(user)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Log in", exact=True).click()

    def run(self, statement):
        self.page.fill("#statement", statement)
        self.page.get_by_role("button", name="Run", exact=True).click()
        self.page.wait_for_selector("text=Running…", state="detached")
        until(lambda: self.page.get_by_role("button", name="Run", exact=True).is_enabled(), "the statement ends")

    def end(self):
        foreign = [url for url in self.requests if not url.startswith((self.base + "/", "blob:" + self.base))]
        self.context.close()
        assert not self.troubles, self.troubles
        assert not foreign, foreign


def connect(node, **options):
    return pymysql.connect(host="127.0.0.1", port=node.mysql, user="root", **options)


class Behind(threading.Thread):
    """A statement on a connection of its own; what became of it."""

    def __init__(self, node, statement):
        super().__init__(daemon=True)
        self.connection, self.statement, self.error = connect(node, autocommit=True), statement, None
        self.id = self.connection.thread_id()
        self.start()

    def run(self):
        try:
            self.connection.cursor().execute(self.statement)
        except pymysql.Error as error:
            self.error = error.args[0]


# --- what is sent ---

@test
def the_page_comes_with_strict_headers_and_is_sent_once(console):
    node = console.node
    page = node.ask("GET", "/")
    assert page.status == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy, policy
    assert page.headers["x-content-type-options"] == "nosniff" and page.headers["x-frame-options"] == "DENY"
    same = node.ask("GET", "/", headers={"If-None-Match": page.headers["etag"]})
    assert same.status == 304 and same.body == b"", same.status
    packed = node.ask("GET", "/console/main.js", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip" and len(packed.body) < 8000
    assert node.ask("HEAD", "/").body == b"" and node.ask("GET", "/console/nothing.js").status == 404
    assert node.ask("POST", "/", b"").status == 405


@test
def pages_of_other_sites_get_nothing(console):
    body = {"sql": "SELECT 1"}
    own, rebound = console.base, "http://evil.example"
    assert console.node.ask("POST", "/v1/sql", body, headers={"Origin": own, "Sec-Fetch-Site": "same-origin"}).status == 200
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", own.replace("127.0.0.1", "localhost")):
        assert console.node.ask("POST", "/v1/sql", body, headers={"Origin": origin}).status == 403, origin
    refused = console.node.ask("POST", "/v1/sql", body, headers={"Origin": rebound, "Host": "evil.example"})
    assert refused.status == 403
    assert console.node.ask("GET", "/status/history", headers={"Sec-Fetch-Site": "cross-site"}).status == 403


@test
def the_history_is_there_before_anybody_looks(console):
    told = until(lambda: (told := console.node.ask("GET", "/status/history").json)["series"][0]["points"] and told, "points")
    point = dict(zip(told["columns"], told["series"][0]["points"][-1]))
    assert point["memory_used"] > 0 and point["memory_resident"] > point["memory_used"] / 4, point
    later = console.node.ask("GET", f"/status/history?since={point['at'] + 1000}").json
    assert later["series"][0]["points"] == []
    assert console.node.ask("GET", "/status/history?since=x").status == 400
    assert console.node.ask("GET", "/status/history", login="clerk:clerk").status == 403


# --- views ---

@test
def every_view_shows_what_there_is(console):
    page = console.open()
    console.sees("Serving", "Leader", "Throughput", "Latency of statements", "curl -s", f"redis-cli -h 127.0.0.1 -p {console.node.redis}", "Nodes", "Shards")
    until(lambda: page.locator("path.line").count() >= 6, "the charts have lines")
    for view, texts in {
        "sessions": ["root", "this page"],
        "tables": ["customers", "who buys", "`seen` + INTERVAL 3 DAY", "others"],
        "redis": ["item:0000", "greeting", "hash", "bin\\xff\\x00"],
        "backups": ["Newest checkpoint", f"latsdb backup --from 127.0.0.1:{console.node.http}"],
        "lab": ["latsdb lab quick"],
        "editor": ["Ctrl+Enter"],
        "locks": ["Nobody waits"],
        "statements": ["Slow ones", "create table"],
    }.items():
        page.get_by_role("navigation").locator(f"a[href='#/{view}']").click()
        console.sees(*texts)
        assert page.locator("nav a[aria-current=page]").count() == 1


@test
def figures_move_with_the_load(console):
    with connect(console.node, autocommit=True) as other:
        cursor = other.cursor()
        console.open()
        def reads():
            for _ in range(200):
                cursor.execute("SELECT COUNT(*) FROM shop.orders WHERE customer = 7")
                cursor.execute("UPDATE shop.customers SET city = IF(city = 'Oslo', 'Rome', 'Oslo') WHERE id = 1")
            summaries = " ".join(console.page.locator("figure p.unseen").all_text_contents())
            return "Changes: now 0, at most 0." not in summaries and "Commits: none" not in summaries and "50 %: now" in summaries
        until(reads, "the charts tell of statements")
    plot = console.page.get_by_role("group", name="Throughput")
    plot.focus()
    console.page.keyboard.press("End")
    until(lambda: "Reads" in console.page.locator(".readout").first.inner_text(), "a moment is read by the keyboard")


@test
def a_table_shows_its_columns_and_indexes(console):
    page = console.open("tables")
    page.get_by_role("link", name="customers", exact=True).click()
    console.sees("by_city", "varchar(60)", "CREATE TABLE `customers`")
    page.get_by_role("link", name="Rows in SQL").click()
    assert page.input_value("#statement") == "SELECT * FROM `shop`.`customers` LIMIT 100"


@test
def keys_are_paged_and_their_values_shown(console):
    page = console.open("redis")
    page.fill("#prefix", "item:")
    page.get_by_role("button", name="Find").click()
    console.sees("item:0000", "item:0099")
    assert "greeting" not in console.main()
    page.get_by_role("button", name="Next").click()
    console.sees("item:0100", "Page 2")
    page.get_by_role("button", name="Before").click()
    console.sees("item:0000")
    for key, texts in {"user:1": ["London", "Ada"], "board": ["bob", "2.5"], "queue": ["2 elements"], "tags": ["x", "y"], "greeting": ["hello"], "log": ["event: login"]}.items():
        page.fill("#prefix", key)
        page.get_by_role("button", name="Find").click()
        page.get_by_role("button", name=key, exact=True).click()
        page.wait_for_selector(f"section[aria-label='A key'] h2:has-text('{key}')")
        for text in texts:
            until(lambda: text in page.inner_text("section[aria-label='A key']"), f"{key}: {text}")


@test
def slow_statements_are_gathered_with_their_plan(console):
    with connect(console.node, database="shop") as other:
        for customer in (3, 4):
            other.cursor().execute(f"SELECT SLEEP(0.02), total FROM orders WHERE customer = {customer} LIMIT 1")
    page = console.open("statements")
    console.sees("SELECT SLEEP (?), total FROM orders WHERE customer = ? LIMIT ?")
    page.get_by_role("button", name="WHERE customer = ?").click()
    console.sees("Index lookup on orders using by_customer", "by root@localhost")


@test
def a_summary_of_the_lab_is_drawn(console):
    page = console.open("lab")
    figure = lambda value: {"value": value, "from": ""}
    point = lambda threads, tps: {"load": {"loop": "closed", "threads_total": threads}, "tps": figure(tps), "latency_ms": {"p50": figure(1), "p95": figure(2), "p99": figure(3)},
                                  "errors_per_s": figure(0), "verdict": {"bottleneck": "SQL CPU"}}
    import json
    summary = {"summary_schema": 1, "series": "quick", "started": 1_700_000_000_000_000, "findings": [{"workload": "rw", "sentences": [{"text": "LatsDB did 2,000 <b>"}]}],
               "ladders": [{"workload": "rw", "target": "latsdb", "points": [point(1, 500), point(8, 2000)]}]}
    page.set_input_files("#summary", {"name": "summary.json", "mimeType": "application/json", "buffer": json.dumps(summary).encode()})
    console.sees("LatsDB did 2,000 <b>", "8 threads", "SQL CPU")
    page.set_input_files("#summary", {"name": "x.json", "mimeType": "application/json", "buffer": b"{}"})
    console.sees("cannot be shown")


# --- SQL ---

@test
def results_errors_and_plans(console):
    page = console.open("editor")
    console.run("SELECT id, total, note FROM shop.orders ORDER BY id DESC LIMIT 3; SELECT * FROM shop.nothing; SELECT 2")
    console.sees("9007199254740993", "NULL", '{"gift":true}', "ERROR 1146 (42S02)")
    assert page.locator("article").count() == 1, "what comes behind an error does not run"
    page.fill("#statement", "SELECT 'a;b' AS x -- not; the end\n; SELECT 7*6 AS answer")
    page.keyboard.press("Control+Enter")
    console.sees("a;b", "42")
    page.fill("#statement", "SELECT COUNT(*) FROM shop.orders o JOIN shop.customers c ON c.id = o.customer")
    page.get_by_role("button", name="Plan", exact=True).click()
    console.sees("Nested loop inner join", "rows expected")
    page.get_by_role("button", name="Run and measure the plan").click()
    console.sees("Plan, as it ran", "loops")
    assert page.locator(".plan li li").count() >= 2
    page.get_by_text("Earlier statements").click()
    page.get_by_role("button", name="SELECT 'a;b'").click()
    assert page.input_value("#statement").startswith("SELECT 'a;b'")


@test
def long_results_are_cut_and_their_statement_ends(console):
    page = console.open("editor")
    console.run("SELECT a.id, REPEAT('x', 200) FROM shop.orders a, shop.orders b")
    console.sees("the first 1\u202f000 rows", "rows 1 to 100")
    assert page.locator("tbody tr").count() == 100
    page.get_by_role("button", name="Next").click()
    console.sees("rows 101 to 200")
    gone = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'HTTP' AND TIME > 1"
    until(lambda: console.node.sql(gone)["rows"] == [[0]], "nothing of it runs any more")


@test
def a_running_statement_can_be_stopped(console):
    page = console.open("editor")
    page.fill("#statement", "SELECT SLEEP(60)")
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Stop", exact=True).click()
    console.sees("Stopped.")
    gone = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'"
    until(lambda: console.node.sql(gone)["rows"] == [[0]], "it runs no more")


@test
def several_statements_are_one_transaction(console):
    page = console.open("editor")
    page.check("#together")
    console.run("INSERT INTO shop.visits VALUES (1, NULL); INSERT INTO shop.visits VALUES (1, NULL)")
    console.sees("ERROR 1062 (23000)", "Rolled back.")
    assert console.node.sql("SELECT COUNT(*) FROM shop.visits")["rows"] == [[0]]
    console.run("INSERT INTO shop.visits VALUES (1, NULL); SET @x = 5; SELECT @x + 1")
    console.sees("Committed.", "6")
    assert console.node.sql("DELETE FROM shop.visits")["affected_rows"] == 1


@test
def results_are_exported(console):
    page = console.open("editor")
    console.run("SELECT 'a\"b,c' AS x, NULL AS y, 9007199254740993 AS z")
    def exported(name):
        with page.expect_download() as got:
            page.get_by_role("button", name=name).click()
        with open(got.value.path(), newline="") as file:
            return file.read()
    assert exported("Export CSV") == 'x,y,z\r\n"a""b,c",,9007199254740993\r\n'
    assert '"z": "9007199254740993"' in exported("Export JSON")


# --- sessions and locks ---

@test
def statements_and_sessions_are_ended(console):
    sleeper = Behind(console.node, "SELECT SLEEP(100)")
    page = console.open("sessions")
    console.sees("SELECT SLEEP(100)")
    stop = page.get_by_role("button", name=f"Stop the statement of session {sleeper.id}")
    stop.click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert sleeper.is_alive()
    stop.click()
    page.get_by_role("dialog").get_by_role("button", name="Stop the statement").click()
    sleeper.join(PATIENCE)
    assert not sleeper.is_alive() and sleeper.connection.open
    page.get_by_role("button", name=f"End session {sleeper.id}").click()
    page.get_by_role("dialog").get_by_role("button", name="End the session").click()
    page.get_by_role("button", name=f"End session {sleeper.id}").wait_for(state="detached")
    try:
        sleeper.connection.ping(reconnect=False)
        raise AssertionError("the session is there")
    except pymysql.Error:
        pass


@test
def who_waits_for_whom_is_a_tree(console):
    holder = connect(console.node)
    holder.cursor().execute("UPDATE shop.orders SET total = 1 WHERE id = 7")
    waiter = Behind(console.node, "DELETE FROM shop.orders WHERE id = 7")
    until(lambda: console.node.sql("SELECT COUNT(*) FROM performance_schema.data_lock_waits")["rows"] == [[1]], "it waits")
    second = Behind(console.node, "UPDATE shop.orders SET total = 2 WHERE id = 7")
    page = console.open("locks")
    console.sees("keeps 2 waiting", "2 transactions wait", "shop.orders", "DELETE FROM shop.orders WHERE id = 7")
    tree = page.locator(".waits > ul > li")
    assert f"Session {holder.thread_id()}" in tree.locator("> .waiter").inner_text()
    inner = tree.locator("> ul").inner_text()
    assert f"Session {waiter.id}" in inner and f"Session {second.id}" in inner and "key 7" in inner, inner
    page.get_by_role("button", name=f"End session {holder.thread_id()}").click()
    page.get_by_role("dialog").get_by_role("button", name="End the session").click()
    console.sees("Nobody waits for a lock.")
    waiter.join(PATIENCE)
    assert waiter.error is None
    second.join(PATIENCE)
    assert second.error is None


# --- accounts ---

@test
def accounts_log_in_and_out(console):
    page = console.open()
    page.get_by_role("button", name="Log in as…").click()
    console.log_in("app", "wrong")
    page.wait_for_selector("[role=alert]:has-text('Access denied')")
    console.log_in("app", "secret")
    console.sees("Serving")
    assert "app@localhost" in page.inner_text("#account")
    kept = page.evaluate("[JSON.stringify(sessionStorage), JSON.stringify(localStorage), document.cookie]")
    assert "secret" not in "".join(kept) and kept[2] == "" and "latsdb_" not in kept[1], kept
    page.reload()
    console.sees("Serving")
    assert "app@localhost" in page.inner_text("#account")
    page.goto(f"{console.base}/#/editor")
    console.run("SELECT CURRENT_USER() AS me; SELECT * FROM mysql.user")
    console.sees("app@localhost", "ERROR 1142")
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("Password").wait_for()
    assert console.node.ask("GET", "/v1/tokens", login="app:secret").json == {"tokens": []}, "the token is gone"


@test
def an_account_sees_what_it_may(console):
    page = console.open()
    page.get_by_role("button", name="Log in as…").click()
    console.log_in("clerk", "clerk")
    console.sees("for accounts with the privilege PROCESS")
    page.goto(f"{console.base}/#/tables")
    console.sees("customers")
    assert "orders" not in console.main()
    for view in ("sessions", "locks", "statements", "redis", "backups"):
        page.goto(f"{console.base}/#/{view}")
        page.wait_for_selector(f"h1")
        time.sleep(0.5)
        assert page.locator(".problem:visible").count() == 0, (view, console.main())
    page.goto(f"{console.base}/#/sessions")
    console.sees("this page")
    assert "root" not in page.inner_text("table")


@test
def a_login_that_ends_is_asked_for_again(console):
    page = console.open()
    page.get_by_role("button", name="Log in as…").click()
    console.log_in("app", "secret")
    console.sees("Serving")
    console.node.sql("ALTER USER app@localhost ATTRIBUTE ?".replace("?", "'{\"rest_token_" + page.evaluate("JSON.parse(sessionStorage['latsdb.login']).id") + "\": null}'"))
    page.get_by_label("Password").wait_for()
    console.sees("The login has ended")


# --- who must not notice ---

@test
def names_and_values_are_never_html(console):
    node = console.node
    world.fill_with_hostile_names(node)
    with pymysql.connect(host="127.0.0.1", port=node.mysql, user=world.HOSTILE_USER, password="x") as other:
        def sleep():
            try:
                other.cursor().execute("SELECT SLEEP(100), " + repr(world.HOSTILE_NAME).replace("`", ""))
            except pymysql.Error:
                pass
        sleeper = threading.Thread(target=sleep, daemon=True)
        sleeper.start()
        database, table = "db " + world.HOSTILE_NAME, "t " + world.HOSTILE_NAME
        full = f"{world.quoted(database)}.{world.quoted(table)}"
        page = console.open("sessions")
        console.sees(world.HOSTILE_USER)
        page.goto(f"{console.base}/#/tables")
        console.sees(world.HOSTILE)
        page.get_by_role("link", name=table, exact=True).click()
        console.sees("CREATE TABLE", "c " + world.HOSTILE_NAME)
        page.get_by_role("link", name="Rows in SQL").click()
        console.run(page.input_value("#statement"))
        console.sees(world.HOSTILE)
        console.run(f"SELECT '{world.HOSTILE.replace(chr(39), '')}' FROM nowhere.{world.quoted(table)}")
        page.select_option("#database", database)
        console.run(f"SELECT * FROM {world.quoted(table)}; SELECT SLEEP(0.02), '<img src=y onerror=window.hacked=5>' AS `<i>`")
        page.get_by_role("button", name="Plan", exact=True).click()
        page.goto(f"{console.base}/#/statements")
        console.sees("SLEEP")
        page.locator("table button.link", has_text="SLEEP").first.click()
        page.goto(f"{console.base}/#/redis")
        page.get_by_role("button", name="hostile").click()
        console.sees("1 element", world.HOSTILE)
        page.goto(f"{console.base}/#/{world.HOSTILE}")
        page.goto(f"{console.base}/#/editor/%3Cimg%20src%3Dx%20onerror%3Dwindow.hacked%3D4%3E")
        node.sql(f"KILL QUERY {other.thread_id()}")
        sleeper.join(PATIENCE)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main script, main iframe, main b, main i").count() == 0
    node.sql(f"DROP DATABASE {world.quoted(database)}")


@test
def a_lost_node_is_told_and_found_again(console):
    page = console.open("sessions")
    console.sees("this page")
    console.node.stop()
    page.wait_for_selector(".banner:has-text('does not answer')")
    console.node.start()
    page.wait_for_selector(".banner", state="hidden")
    console.sees("this page")


@test
def nobody_asks_while_nobody_looks(console):
    page = console.open("sessions")
    console.sees("this page")
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_load_state("networkidle")
    asked = len(console.requests)
    time.sleep(4)
    assert len(console.requests) == asked, console.requests[asked:]
    page.evaluate("Object.defineProperty(document, 'hidden', { value: false, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))")
    until(lambda: len(console.requests) > asked, "it asks again")


# --- for everybody ---

@test
def the_keyboard_is_enough(console):
    page = console.open()
    focused = lambda: page.evaluate("document.activeElement.innerText || document.activeElement.id")
    page.keyboard.press("Tab")
    assert focused() == "Skip to the content"
    for _ in range(20):
        page.keyboard.press("Tab")
        if focused().strip() == "SQL":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#statement")
    until(lambda: focused() == "SQL" and page.evaluate("document.activeElement.tagName") == "H1", "the heading has the focus")
    while focused() != "statement":
        page.keyboard.press("Tab")
    page.keyboard.type("SELECT 40 + 2 AS answer")
    page.keyboard.press("Control+Enter")
    console.sees("42")
    sleeper = Behind(console.node, "SELECT SLEEP(30)")
    page.goto(f"{console.base}/#/sessions")
    name = f"Stop the statement of session {sleeper.id}"
    page.get_by_role("button", name=name).wait_for()
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('aria-label')") == name:
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "the focus is seen"
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    assert focused() == "Cancel"
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == name, "the focus is back"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    sleeper.join(PATIENCE)
    assert not sleeper.is_alive()


def violations(page):
    from axe_playwright_python.sync_playwright import Axe
    found = Axe().run(page).response["violations"]
    return [(one["id"], one["impact"], [node["html"][:120] for node in one["nodes"][:3]], one["nodes"][0]["failureSummary"]) for one in found]


@test
def nothing_is_in_the_way_of_anybody(console):
    holder = connect(console.node)
    holder.cursor().execute("UPDATE shop.orders SET total = 1 WHERE id = 9")
    waiter = Behind(console.node, "DELETE FROM shop.orders WHERE id = 9")
    for scheme in ("light", "dark"):
        console.page.emulate_media(color_scheme=scheme)
        for view in VIEWS:
            page = console.open(view)
            time.sleep(0.4)
            if view == "editor":
                console.run("SELECT * FROM shop.customers; SELECT * FROM nowhere")
            if view == "tables":
                page.get_by_role("link", name="customers", exact=True).click()
                console.sees("by_city")
            found = violations(page)
            assert not found, (scheme, view, found)
        page = console.open("sessions")
        page.get_by_role("button", name=f"End session {waiter.id}").click()
        assert not violations(page), (scheme, "dialog")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Log in as…").click()
        page.get_by_label("Password").wait_for()
        assert not violations(page), (scheme, "login")
        page.get_by_role("button", name="Go on without a login").click()
        page.wait_for_selector(".view")
    holder.rollback()
    waiter.join(PATIENCE)


@test
def schemes_follow_the_system_and_the_switch(console):
    page = console.open()
    ground = lambda: page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = ground()
    page.emulate_media(color_scheme="dark")
    dark = ground()
    assert light != dark
    page.get_by_role("button", name="scheme").click()
    assert ground() != dark
    page.reload()
    page.wait_for_selector(".view")
    assert ground() == light, "it is kept"


@test
def narrow_windows_show_all(console):
    console.page.set_viewport_size({"width": 360, "height": 720})
    for view in VIEWS:
        page = console.open(view)
        time.sleep(0.3)
        if view == "editor":
            console.run("SELECT * FROM shop.orders LIMIT 5")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, (view, wide)


class KeptNode(Node):
    """A node on ports that it keeps when it starts again; with Redis clients."""

    def __init__(self, binary, folder):
        self.redis = free_port()
        super().__init__(binary, folder, "--redis-addr", f"127.0.0.1:{self.redis}")


def shots(browser, node, folder):
    """A picture of each view in both schemes, for who looks at them."""
    os.makedirs(folder, exist_ok=True)
    for scheme in ("light", "dark"):
        console = Console(browser, node, color_scheme=scheme)
        for view in VIEWS:
            page = console.open(view)
            time.sleep(1)
            page.screenshot(path=os.path.join(folder, f"{view}-{scheme}.png"), full_page=True)
        console.end()


def main():
    parser = runner.arguments(__doc__)
    parser.add_argument("--chromium", default=shutil.which("chromium") or "/usr/bin/chromium")
    parser.add_argument("--shots", help="pictures of all views go here")
    options = runner.prepared(parser)
    node = KeptNode(options.binary, os.path.join(options.dir, "data"))
    world.fill(node)
    world.fill_keys(f"127.0.0.1:{node.redis}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])

        def call(run):
            console = Console(browser, node)
            run(console)
            console.end()

        def end():
            if options.shots:
                shots(browser, node, options.shots)
            browser.close()
            node.stop()

        runner.run_tests(options.names, call, end)


if __name__ == "__main__":
    main()
