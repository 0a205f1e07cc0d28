#!/usr/bin/env python3
"""Whether the dashboard, the alert rules and the document of docs/operations speak of metrics that there are: by a scrape of two nodes, by
promtool, and by a Prometheus that watches them.

    suite.py --binary target/debug/latsdb --dir target/test-data/monitoring
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
import runner
from node import Node, free_port
from runner import test, until

OPERATIONS = os.path.join(HERE, "../../docs/operations")
DASHBOARD = os.path.join(OPERATIONS, "grafana/latsdb.json")
RULES = os.path.join(OPERATIONS, "prometheus/rules.yml")
CONFIG = os.path.join(OPERATIONS, "prometheus/prometheus.yml")
DOCUMENT = os.path.join(OPERATIONS, "monitoring.md")
#: Words of expressions that are neither metrics nor labels.
WORDS = {"by", "on", "without", "unless", "or", "and", "offset", "ignoring", "group_left", "bool"}
#: Labels that Prometheus puts to whatever it scrapes.
OF_SCRAPES = {"job", "instance"}


class Scrape:
    """What /metrics shows: types by names, and the labels and values of samples."""

    def __init__(self, text):
        self.types, self.labels, self.values = {}, {}, {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                for suffix in {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(kind, [""]):
                    self.types[name + suffix] = kind
            elif not line.startswith("#"):
                name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
                named = dict(re.findall(r'(\w+)="([^"]*)"', labels or ""))
                self.labels.setdefault(name, set()).update(named)
                self.values[name, tuple(sorted(named.items()))] = float(value)

    def value(self, name, **labels):
        return self.values[name, tuple(sorted(labels.items()))]


class Cluster:
    """Two nodes that something has happened on, so that every metric has samples."""

    def __init__(self, binary, folder):
        self.folder = folder
        peers = [free_port(), free_port()]
        more = lambda n: ["--node-id", str(n + 1), "--peer-addr", f"127.0.0.1:{peers[n]}"]
        self.nodes = [Node(binary, os.path.join(folder, "1"), *more(0))]
        self.nodes.append(Node(binary, os.path.join(folder, "2"), *more(1), "--join", f"127.0.0.1:{peers[0]}"))
        for node in self.nodes:
            node.sql("CREATE DATABASE IF NOT EXISTS shop")
            node.sql("CREATE TABLE IF NOT EXISTS shop.items (id INT PRIMARY KEY, name VARCHAR(20))")
            node.sql(f"REPLACE INTO shop.items VALUES ({node.http}, 'a')")
            assert node.ask("GET", "/v1/tables", login="nobody:wrong").status == 401
            # Only what fails over MySQL's protocol has a number there.
            failing_statement(node.mysql)
        until(lambda: all("latsdb_peer_round_trip_microseconds{" in node.ask("GET", "/metrics").text for node in self.nodes))

    def scrapes(self):
        return [Scrape(node.ask("GET", "/metrics").text) for node in self.nodes]

    def stop(self):
        for node in self.nodes[::-1]:
            node.process.terminate()
        for node in self.nodes:
            node.process.wait(60)


def failing_statement(port):
    import pymysql

    with pymysql.connect(host="127.0.0.1", port=port, user="root") as connection, connection.cursor() as cursor:
        try:
            cursor.execute("SELECT nothing")
        except pymysql.err.OperationalError as error:
            assert error.args[0] == 1054


# --- what the files say ---

def dashboard_expressions():
    """Expressions of the dashboard, and the labels that their legends name."""
    with open(DASHBOARD) as file:
        dashboard = json.load(file)
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$__rate_interval", "10s")
            legend = set(re.findall(r"\{\{\s*(\w+)\s*\}\}", target["legendFormat"]))
            yield panel["title"], expression, legend
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            of = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"])
            yield variable["name"], of.group(1), {of.group(2)}


def rules():
    """Alerts by name: expression, and the labels that their texts name."""
    with open(RULES) as file:
        text = file.read()
    found = {}
    for part in re.split(r"^      - alert: ", text, flags=re.M)[1:]:
        name = part.splitlines()[0]
        expression = re.search(r"^        expr: (?:\|\n)?(.*?)^        (?:for|labels):", part, re.M | re.S).group(1)
        found[name] = (" ".join(expression.split()), set(re.findall(r"\$labels\.(\w+)", part)))
    return found


def metrics_of(expression):
    """Names of metrics, each with the labels that are asked of it; and the labels by which results are put together."""
    plain = re.sub(r"\[[^\]]*\]", "", expression)
    grouped = {label.strip() for group in re.findall(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)", plain) for label in group.split(",")}
    plain = re.sub(r"\b(?:by|on|without|ignoring)\s*\([^)]*\)", "", plain)
    found = []
    for name, matchers in re.findall(r"\b([a-z_][a-z0-9_]*)\b(?!\s*\()(?:\{([^}]*)\})?", re.sub(r"\boffset \w+", "", plain)):
        if name in WORDS or re.fullmatch(r"\d.*", name) or f"{name}=" in expression and not name.startswith("latsdb_"):
            continue
        found.append((name, set(re.findall(r"(\w+)\s*=~?", matchers))))
    return found, grouped


def check(place, expression, shown, scrape):
    """Each metric is there, with the labels that it is asked for."""
    found, grouped = metrics_of(expression)
    assert found, (place, expression)
    for name, asked in found:
        if name == "up":
            has = OF_SCRAPES
        else:
            assert name in scrape.types, f"{place}: there is no {name}: {expression}"
            has = scrape.labels[name] | OF_SCRAPES
        assert asked | grouped <= has, f"{place}: {name} has not the labels {asked | grouped - has}: {expression}"
        if not grouped:
            assert shown <= has, f"{place}: {name} has not the labels {shown - has} that are shown"
    if grouped:
        assert shown <= grouped, f"{place}: {shown - grouped} are not among {grouped}: {expression}"


@test
def metrics_and_labels_are_there(cluster):
    scrape = cluster.scrapes()[1]
    for place, expression, shown in dashboard_expressions():
        check(place, expression, shown, scrape)
    for name, (expression, shown) in rules().items():
        check(name, expression, shown, scrape)
    # The check finds what is wrong.
    for wrong in ("rate(latsdb_nothing_total[5m])", 'latsdb_statements_total{sort="x"}', "sum by (sort) (latsdb_rows)"):
        try:
            check("planted", wrong, set(), scrape)
        except AssertionError:
            continue
        raise AssertionError(f"{wrong} was taken")


@test
def every_metric_is_shown_and_told_of(cluster):
    there = set(cluster.scrapes()[1].types)
    shown = {name for _, expression, _ in dashboard_expressions() for name, _ in metrics_of(expression)[0]}
    base = lambda names: {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}
    # What Prometheus gives, and no node.
    shown -= {"up"}
    assert base(there) - base(shown) == set(), f"not on the dashboard: {base(there) - base(shown)}"
    with open(DOCUMENT) as file:
        text = file.read()
    told = set(re.findall(r"`(latsdb_\w+)`", text))
    assert told == base(there), f"{DOCUMENT}: not told of: {base(there) - told}; not there: {told - base(there)}"
    sections = set(re.findall(r"^### (Latsdb\w+)", text, re.M))
    assert sections == set(rules()), f"{DOCUMENT}: {sections ^ set(rules())}"


@test
def figures_say_what_happens(cluster):
    until(lambda: all(scrape.value("latsdb_shard_lag_entries") == 0 for scrape in cluster.scrapes()))
    for at, scrape in enumerate(cluster.scrapes()):
        assert scrape.value("latsdb_serving") == 1 and scrape.value("latsdb_shard_has_leader") == 1
        assert scrape.value("latsdb_panics_total") == 0 and scrape.value("latsdb_logins_denied_total") >= 1
        assert scrape.value("latsdb_errors_total", number="1054") == 1
        size = os.statvfs(os.path.join(cluster.folder, str(at + 1)))
        assert scrape.value("latsdb_disk_size_bytes") == size.f_blocks * size.f_frsize
        assert abs(scrape.value("latsdb_disk_free_bytes") - size.f_bavail * size.f_frsize) < 5 << 30
        assert scrape.value("latsdb_log_unchecked_bytes") > 0 and scrape.value("latsdb_checkpoint_failures_total") == 0
    assert sum(scrape.value("latsdb_shard_leads") for scrape in cluster.scrapes()) == 1


# --- what Prometheus says ---

def told(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@test
def promtool_takes_the_files(cluster):
    assert f"{len(rules())} rules found" in told("promtool", "check", "rules", RULES)
    told("promtool", "check", "config", CONFIG)
    told("promtool", "test", "rules", os.path.join(OPERATIONS, "prometheus/rules.test.yml"))
    with open(os.path.join(OPERATIONS, "prometheus/rules.test.yml")) as file:
        tested = set(re.findall(r"alertname: (\w+)", file.read()))
    assert tested == set(rules()), f"not tested: {set(rules()) - tested}"


class Prometheus:
    """One that scrapes the nodes, by the configuration of docs/operations with their addresses and a shorter interval."""

    def __init__(self, cluster, folder):
        os.makedirs(folder)
        with open(CONFIG) as file:
            config = file.read()
        addresses = "\n".join(f"          - localhost:{node.http}" for node in cluster.nodes)
        assert "          - localhost:8306" in config and "15s" in config
        with open(os.path.join(folder, "prometheus.yml"), "w") as file:
            file.write(config.replace("          - localhost:8306", addresses).replace("15s", "1s"))
        shutil.copy(RULES, folder)
        self.port = free_port()
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{self.port}",
             "--log.level=error"])
        until(lambda: self.is_up())

    def is_up(self):
        assert self.process.poll() is None
        try:
            return len(self.ask("query", query='up{job="latsdb"} == 1')["result"]) == 2
        except (OSError, urllib.error.URLError):
            return False

    def ask(self, what, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


@test
def prometheus_has_an_answer_for_every_panel(cluster):
    prometheus = Prometheus(cluster, os.path.join(cluster.folder, "prometheus"))
    try:
        expressions = [(place, expression.replace("$job", "latsdb").replace("$instance", ".*")) for place, expression, _ in dashboard_expressions()]
        def empty():
            for node in cluster.nodes:
                node.sql("REPLACE INTO shop.items VALUES (1, 'a')")
                failing_statement(node.mysql)
            return [(place, expression) for place, expression in expressions if not prometheus.ask("query", query=expression)["result"]]
        deadline = time.monotonic() + 60
        while nothing := empty():
            assert time.monotonic() < deadline, nothing
            time.sleep(0.5)
        groups = prometheus.ask("rules")["groups"]
        healthy = {rule["name"]: rule["state"] for group in groups for rule in group["rules"] if rule["health"] == "ok"}
        assert set(healthy) == set(rules()), groups
        # A node that is gone is told of, before the alert's minute is over.
        assert healthy["LatsdbDown"] == "inactive"
        cluster.nodes[1].process.kill()
        state = lambda: [rule["state"] for group in prometheus.ask("rules")["groups"] for rule in group["rules"] if rule["name"] == "LatsdbDown"]
        until(lambda: state() == ["pending"])
    finally:
        prometheus.stop()


def main():
    options = runner.prepared(runner.arguments(__doc__))
    cluster = Cluster(options.binary, options.dir)
    runner.run_tests(options.names, lambda run: run(cluster), cluster.stop)


if __name__ == "__main__":
    main()
