#!/usr/bin/env python3
"""REST as its users see it: rows, SQL, transactions, tokens, retries, and requests that no server deserves.

    suite.py --binary target/debug/latsdb --dir target/test-data/rest
"""

import concurrent.futures
import gzip
import http.client
import json
import os
import re
import socket
import ssl
import sys
import threading
import time
from decimal import Decimal

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../lib")]
import documented
import generated
import over_http2  # noqa: F401: its tests come first
import runner
from node import Node, read_all
from runner import test, until

ROWS = "/v1/tables/shop/items/rows"


def problem(answer, status, name=None, code=None):
    """The answer is a problem of this kind."""
    assert answer.status == status, (answer.status, answer.text)
    assert answer.headers["content-type"] == "application/problem+json", answer.headers
    told = answer.json
    assert told["status"] == status and told["title"] and told["detail"], told
    assert name is None or told["type"].endswith("/" + name), told
    assert code is None or told["code"] == code, told
    return told


def begin(node):
    node.sql("DROP DATABASE IF EXISTS shop")
    node.sql("CREATE DATABASE shop")
    node.sql("CREATE TABLE shop.items (id INT PRIMARY KEY, name VARCHAR(50) NOT NULL DEFAULT 'none', price DECIMAL(20,4), stock BIGINT UNSIGNED,"
             " picture VARBINARY(100), tags JSON, made DATETIME(3), seen TIMESTAMP NULL, live BIT(1), KEY by_name (name, price))")
    node.sql("CREATE TABLE shop.orders (customer VARCHAR(20), number INT, item INT, total DOUBLE, PRIMARY KEY (customer, number),"
             " FOREIGN KEY (item) REFERENCES shop.items (id))")


# --- rows ---

@test
def values_come_back_exactly(node):
    row = {"id": 1, "name": 'a"b\\\nö😀', "price": "1234567890123456.7891", "stock": 18446744073709551615, "picture": "AAEC/w==",
           "tags": {"a": [1, 2.5, None, "x"]}, "made": "2024-02-29 07:08:09.012", "seen": "2024-01-01 00:00:00", "live": True}
    assert node.ask("POST", ROWS, row).status == 201
    got = node.ask("GET", ROWS + "/1")
    assert got.status == 200 and got.json == row, got.text
    assert b'"stock":18446744073709551615' in got.body
    exact = json.loads(node.ask("GET", ROWS + "/1?numbers=exact&columns=price").body, parse_float=Decimal)
    assert exact == {"price": Decimal("1234567890123456.7891")}
    assert node.ask("GET", ROWS + "/1?numbers=string&columns=stock").json == {"stock": "18446744073709551615"}
    # The same by SQL, whose rows take another way.
    listed = node.sql("SELECT * FROM shop.items WHERE id = ?", 1, rows="objects")["rows"][0]
    assert listed == row, listed
    assert node.ask("POST", ROWS, {"id": 2}).status == 201
    assert node.ask("GET", ROWS + "/2").json == {"id": 2, "name": "none", "price": None, "stock": None, "picture": None, "tags": None,
                                                 "made": None, "seen": None, "live": None}


@test
def rows_are_put_patched_and_deleted(node):
    made = node.ask("PUT", ROWS + "/7", {"name": "seven", "price": "7.5"})
    assert made.status == 201 and made.headers["location"] == ROWS + "/7", made.text
    assert node.ask("PUT", ROWS + "/7", {"stock": 3}).status == 204
    assert node.ask("GET", ROWS + "/7?columns=name,price,stock").json == {"name": "none", "price": None, "stock": 3}, "a PUT is the whole row"
    assert node.ask("PATCH", ROWS + "/7", {"name": "new"}).status == 204
    assert node.ask("PATCH", ROWS + "/7", {"name": "new"}).status == 204, "nothing changes, but there is a row"
    assert node.ask("GET", ROWS + "/7?columns=name,stock").json == {"name": "new", "stock": 3}
    problem(node.ask("PATCH", ROWS + "/70", {"name": "x"}), 404)
    problem(node.ask("PUT", ROWS + "/7", {"id": 8}), 400)
    assert node.ask("DELETE", ROWS + "/7").status == 204
    problem(node.ask("DELETE", ROWS + "/7"), 404)
    problem(node.ask("GET", ROWS + "/7"), 404)


@test
def composite_keys_and_keys_with_everything(node):
    orders = "/v1/tables/shop/orders/rows"
    node.ask("POST", ROWS, {"id": 1})
    name = "a,b/c %ü"
    node.ask("POST", orders, [{"customer": name, "number": 1, "item": 1, "total": 2.5}, {"customer": "x", "number": 2}])
    assert node.ask("GET", orders + "/a%2Cb%2Fc%20%25%C3%BC,1").json["total"] == 2.5
    assert node.ask("GET", orders + "/X,2").status == 200, "the collation knows no case"
    problem(node.ask("GET", orders + "/x"), 400)
    problem(node.ask("GET", orders + "/x,2,3"), 400)
    problem(node.ask("GET", orders + "/%zz,1"), 400)
    assert node.ask("GET", ROWS + "/01").status == 200, "as MySQL reads the number"
    problem(node.ask("GET", ROWS + "/99999999999999999999"), 404)


@test
def errors_are_problems_with_mysqls_numbers(node):
    node.ask("POST", ROWS, {"id": 1})
    problem(node.ask("POST", ROWS, {"id": 1}), 409, "duplicate-key", 1062)
    problem(node.ask("POST", ROWS, {"id": 2, "nothing": 1}), 400, code=1054)
    problem(node.ask("POST", ROWS, {"id": "x"}), 422, "bad-value", 1366)
    problem(node.ask("POST", "/v1/tables/shop/orders/rows", {"customer": "c", "number": 1, "item": 99}), 409, "foreign-key", 1452)
    problem(node.ask("GET", "/v1/tables/shop/none/rows/1"), 404, code=1146)
    problem(node.ask("GET", ROWS + "/1?column=id"), 400)
    problem(node.ask("GET", ROWS + "/1?columns=nothing"), 400, code=1054)
    problem(node.ask("GET", "/v1/nothing"), 404)
    assert problem(node.ask("DELETE", "/v1/tables"), 405) and node.ask("DELETE", "/v1/tables").headers["allow"] == "GET"
    problem(node.ask("POST", ROWS, "{", headers={"Content-Type": "application/json"}), 400)
    problem(node.ask("POST", ROWS, "{}", headers={"Content-Type": "text/plain"}), 415)
    problem(node.ask("POST", "/v1/sql", {"sql": "SELEC"}), 400, code=1064)
    assert node.ask("GET", "/health").status == 200


@test
def many_keys_of_many_tables_are_read_at_once(node):
    node.ask("POST", ROWS, [{"id": n, "name": f"n{n}"} for n in range(50)])
    node.ask("POST", "/v1/tables/shop/orders/rows", [{"customer": "c", "number": n, "item": n} for n in range(50)])
    reads = [{"table": "shop.items", "keys": [1, "2", [3], 99], "columns": ["name"]},
             {"database": "shop", "table": "orders", "keys": [["c", 5], ["c", 99]]}]
    got = node.ask("POST", "/v1/read", {"reads": reads}).json
    assert got["reads"][0]["rows"] == [{"name": "n1"}, {"name": "n2"}, {"name": "n3"}, None], got
    assert [row and row["item"] for row in got["reads"][1]["rows"]] == [5, None]
    # An object as a key takes a statement.
    reads[1]["keys"] = [{"number": 5, "customer": "c"}]
    got = node.ask("POST", "/v1/read", {"reads": reads}).json
    assert got["reads"][1]["rows"][0]["item"] == 5
    problem(node.ask("POST", "/v1/read", {"reads": [{"table": "shop.items", "keys": [0] * 10001}]}), 413)


@test
def reads_of_two_tables_are_of_one_moment(node):
    node.ask("POST", ROWS, {"id": 1, "stock": 0})
    node.sql("CREATE TABLE shop.copies (id INT PRIMARY KEY, stock BIGINT UNSIGNED)")
    node.sql("INSERT INTO shop.copies VALUES (1, 0)")
    done = threading.Event()

    def write():
        n = 0
        while not done.is_set():
            n += 1
            operations = [{"op": "patch", "table": "shop.items", "key": 1, "row": {"stock": n}},
                          {"op": "patch", "table": "shop.copies", "key": 1, "row": {"stock": n}}]
            assert node.ask("POST", "/v1/batch", {"operations": operations}).status == 200
    with concurrent.futures.ThreadPoolExecutor() as pool:
        writer = pool.submit(write)
        reads = {"reads": [{"table": "shop.items", "keys": [1], "columns": ["stock"]}, {"table": "shop.copies", "keys": [1], "columns": ["stock"]}]}
        seen = set()
        for _ in range(300):
            got = [one["rows"][0]["stock"] for one in node.ask("POST", "/v1/read", reads).json["reads"]]
            assert got[0] == got[1], got
            seen.add(got[0])
        done.set()
        writer.result()
    assert len(seen) > 3


@test
def lists_go_by_an_index_page_by_page(node):
    node.ask("POST", ROWS, [{"id": n, "name": f"n{n % 7}", "price": None if n % 5 == 0 else f"{n % 3}.5"} for n in range(100)])
    expected = [row[0] for row in node.sql("SELECT id FROM shop.items ORDER BY name, price, id")["rows"]]
    for order, wanted in (("asc", expected), ("desc", expected[::-1])):
        ids, after = [], ""
        while True:
            page = node.ask("GET", f"{ROWS}?index=by_name&limit=7&columns=id&order={order}{after}").json
            ids += [row["id"] for row in page["rows"]]
            if page["next"] is None:
                break
            after = "&after=" + page["next"]
        assert ids == wanted, (order, ids)
    got = node.ask("GET", f"{ROWS}?from=10&to=13&columns=id").json
    assert got == {"rows": [{"id": 10}, {"id": 11}, {"id": 12}], "next": None}, got
    assert {row["name"] for row in node.ask("GET", f"{ROWS}?index=by_name&prefix=n3").json["rows"]} == {"n3"}
    assert len(node.ask("GET", f"{ROWS}?index=by_name&prefix=n&limit=1000").json["rows"]) == 100
    assert len(node.ask("GET", f"{ROWS}?index=by_name&prefix=n3,0.5").json["rows"]) == 4
    problem(node.ask("GET", ROWS + "?limit=0"), 400)
    problem(node.ask("GET", ROWS + "?after=xx"), 400)
    problem(node.ask("GET", ROWS + "?index=none"), 404)


@test
def pages_and_keys_are_of_every_type(node):
    """What is sorted or kept otherwise than its text says: numbers of single precision, bits, ENUM and SET."""
    node.sql("CREATE TABLE shop.kinds (id INT PRIMARY KEY, f FLOAT, e ENUM('z', 'b', 'a'), s SET('y', 'x'), b BIT(5), t BIT(1),"
             " KEY (f), KEY (e), KEY (s), KEY (b), KEY (t))")
    node.sql("INSERT INTO shop.kinds VALUES (0, 0.1, 'z', 'y', 5, 1), (1, 0.3, 'b', 'x', 31, 0), (2, 3.3333333, 'a', 'y,x', 9, 1), (3, -1e10, 'z', '', 0, 0),"
             " (4, NULL, NULL, NULL, NULL, NULL), (5, 0.1, 'b', 'y', 5, 1), (6, 0.1, 'a', 'x', 5, 0), (7, 1e-30, 'z', 'y,x', 16, NULL)")
    node.sql("SET GLOBAL sql_mode = ''")
    node.sql("INSERT INTO shop.kinds (id, e) VALUES (8, 'none')")
    node.sql("SET GLOBAL sql_mode = DEFAULT")
    rows = "/v1/tables/shop/kinds/rows"
    for column in "fesbt":
        for order in ("asc", "desc"):
            wanted = [row[0] for row in node.sql(f"SELECT id FROM shop.kinds ORDER BY {column} {order}, id {order}")["rows"]]
            ids, after = [], ""
            for _ in wanted:
                page = node.ask("GET", f"{rows}?index={column}&limit=2&columns=id&order={order}{after}").json
                ids += [row["id"] for row in page["rows"]]
                if page["next"] is None:
                    break
                after = "&after=" + page["next"]
            assert ids == wanted, (column, order, ids)

    def ids(query):
        answer = node.ask("GET", f"{rows}?columns=id&{query}")
        assert answer.status == 200, (query, answer.text)
        return [row["id"] for row in answer.json["rows"]]
    assert ids("index=e&from=b&to=a") == [1, 5] and ids("index=e&from=B") == [1, 5, 2, 6] and ids("index=e&prefix=b") == [1, 5]
    assert ids("index=f&prefix=0.1") == [0, 5, 6] and ids("index=f&from=0.1&to=0.3") == [0, 5, 6]
    assert ids("index=b&prefix=BQ==") == [0, 5, 6] and ids("index=b&from=BQ") == [0, 5, 6, 2, 7, 1]
    assert ids("index=s&from=x") == [1, 6, 2, 7] and ids("index=t&prefix=true") == [0, 2, 5]
    for wrong in ("index=e&from=none", "index=b&prefix=BQUF", "index=f&from=x"):
        problem(node.ask("GET", f"{rows}?{wrong}"), 422)
    # The keys that are shown lead to their rows.
    for kind, value, others in [("FLOAT", "0.1", ["1e-1"]), ("BIT(5)", "BQ==", ["BQ"]), ("BIT(1)", "true", ["1"]), ("ENUM('z','b')", "b", ["B"]), ("SET('y','x')", "y%2Cx", [])]:
        node.sql("DROP TABLE IF EXISTS shop.keyed")
        node.sql(f"CREATE TABLE shop.keyed (k {kind} PRIMARY KEY, n INT)")
        one = "/v1/tables/shop/keyed/rows/" + value
        assert node.ask("PUT", one, {"n": 1}).status == 201, kind
        shown = node.ask("GET", one).json
        assert node.ask("PUT", one, {**shown, "n": 2}).status == 204, kind
        for key in [value] + others:
            same = "/v1/tables/shop/keyed/rows/" + key
            assert node.ask("GET", same).json == {**shown, "n": 2}, (kind, key)
            assert node.ask("PATCH", same, {"n": 2}).status == 204, (kind, key)
        read = node.ask("POST", "/v1/read", {"reads": [{"table": "shop.keyed", "keys": [shown["k"], [shown["k"]], {"k": shown["k"]}]}]}).json
        assert read["reads"][0]["rows"] == [{**shown, "n": 2}] * 3, (kind, read)
        asked = {"groups": [{"table": "shop.keyed", "features": ["n"]}], "entities": [{"k": shown["k"]}]}
        assert node.ask("POST", "/v1/features", asked).json["vectors"][0]["values"] == [2], kind
        assert node.ask("DELETE", one).status == 204, kind
    node.sql("CREATE TABLE shop.flags (k BIT(1) PRIMARY KEY)")
    node.sql("INSERT INTO shop.flags VALUES (0)")
    problem(node.ask("GET", "/v1/tables/shop/flags/rows/true"), 404)


@test
def conditions_are_on_tags(node):
    node.ask("POST", ROWS, {"id": 1, "name": "a"})
    tag = node.ask("GET", ROWS + "/1").headers["etag"]
    unchanged = node.ask("GET", ROWS + "/1", headers={"If-None-Match": tag})
    assert unchanged.status == 304 and unchanged.body == b""
    problem(node.ask("PATCH", ROWS + "/1", {"name": "b"}, headers={"If-Match": '"other"'}), 412)
    changed = node.ask("PATCH", ROWS + "/1", {"name": "b"}, headers={"If-Match": tag})
    assert changed.status == 204
    assert node.ask("GET", ROWS + "/1").headers["etag"] == changed.headers["etag"] != tag
    problem(node.ask("DELETE", ROWS + "/1", headers={"If-Match": tag}), 412)
    problem(node.ask("PUT", ROWS + "/1", {}, headers={"If-None-Match": "*"}), 412)
    assert node.ask("PUT", ROWS + "/2", {}, headers={"If-None-Match": "*"}).status == 201
    problem(node.ask("PUT", ROWS + "/3", {}, headers={"If-Match": "*"}), 412)
    # Of two that have seen the same, one wins.
    node.ask("POST", ROWS, {"id": 10, "stock": 0})

    def count():
        done = 0
        while done < 10:
            got = node.ask("GET", ROWS + "/10")
            answer = node.ask("PATCH", ROWS + "/10", {"stock": got.json["stock"] + 1}, headers={"If-Match": got.headers["etag"]})
            assert answer.status in (204, 409, 412), answer.text
            done += answer.status == 204
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for one in [pool.submit(count) for _ in range(4)]:
            one.result()
    assert node.ask("GET", ROWS + "/10").json["stock"] == 40


# --- statements ---

@test
def statements_have_parameters_and_stream(node):
    got = node.sql("SELECT ? + 1 AS n, ? AS text, ? AS nothing, ? AS binary_data", 41, "ö", None, {"$binary": "AAE="})
    assert got["columns"][0]["name"] == "n" and got["rows"] == [[42, "ö", None, "AAE="]], got
    assert node.sql("SELECT ? AS d, ? AS u", 1.10, 18446744073709551615)["rows"][0][1] == 18446744073709551615
    done = node.sql("INSERT INTO shop.items (id) VALUES (?), (?)", 1, 2)
    assert done["affected_rows"] == 2
    node.sql("SET SESSION cte_max_recursion_depth = 1000000")
    many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT a.i, b.i FROM n a, n b WHERE b.i <= 100"
    lines = node.ask("POST", "/v1/sql", {"sql": many, "format": "ndjson"}).body.splitlines()
    assert len(lines) == 100_000 and all(len(json.loads(line)) == 2 for line in lines[::1000])
    assert len(node.sql(many)["rows"]) == 100_000
    failing = node.ask("POST", "/v1/sql", {"sql": many.replace("a.i, b.i", "a.i, IF(a.i = 900, (SELECT 1 UNION SELECT 2), 1)"), "format": "ndjson"})
    assert failing.status == 400 or b'"code":1242' in failing.body.splitlines()[-1]
    problem(node.ask("POST", "/v1/sql", {"sql": "SELECT ?", "parameters": [1, 2]}), 400)
    problem(node.ask("POST", "/v1/sql", {"sql": "SELECT 1; SELECT 2"}), 400, code=1064)


@test
def rows_come_as_arrow_streams(node):
    import pyarrow
    import pyarrow.ipc

    def ask(sql):
        answer = node.ask("POST", "/v1/sql", {"sql": sql, "format": "arrow"})
        assert answer.status == 200 and answer.headers["content-type"] == "application/vnd.apache.arrow.stream", answer.text
        table = pyarrow.ipc.open_stream(answer.body).read_all()
        table.validate(full=True)
        return table
    node.ask("POST", ROWS, [{"id": -1, "name": "ö", "price": "-12.5", "stock": 18446744073709551615, "picture": "AAEC/w==", "tags": [1],
                             "made": "2024-02-29 07:08:09.012", "seen": "2024-01-01 00:00:00", "live": True}, {"id": 2}])
    got = ask("SELECT *, DATE(made) AS day, 1.5e0 AS d, CAST('-12:30:00' AS TIME) AS t FROM shop.items ORDER BY id")
    first, second = got.to_pylist()
    expected = {"id": -1, "name": "ö", "price": Decimal("-12.5000"), "stock": 18446744073709551615, "picture": b"\0\1\2\xff", "tags": "[1]",
                "live": 1, "d": 1.5, "t": "-12:30:00"}
    assert {name: first[name] for name in expected} == expected, first
    assert first["made"].isoformat() == "2024-02-29T07:08:09.012000" and str(first["day"]) == "2024-02-29"
    assert first["seen"].isoformat() == "2024-01-01T00:00:00+00:00"
    assert second["price"] is None and second["name"] == "none" and second["tags"] is None and second["made"] is None
    assert got.schema.field("stock").type == pyarrow.uint64() and got.schema.field("id").type == pyarrow.int32()
    many = ask("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) "
               "SELECT a.i AS a, CONCAT('x', b.i) AS b, IF(b.i % 3, NULL, b.i) AS c FROM n a, n b")
    assert many.num_rows == 250_000 and many["c"].null_count == 250_000 - 500 * 166 and many["a"][249_999].as_py() in range(1, 501)
    assert sum(many["a"].to_pylist()) == 500 * sum(range(501))
    assert ask("SELECT * FROM shop.items WHERE id = 99").num_rows == 0
    done = node.ask("POST", "/v1/sql", {"sql": "DELETE FROM shop.items", "format": "arrow"})
    assert done.json["affected_rows"] == 2
    problem(node.ask("POST", "/v1/sql", {"sql": "SELECT x", "format": "arrow"}), 400, code=1054)


@test
def nothing_stays_in_a_session(node):
    one = http.client.HTTPConnection("127.0.0.1", node.http)
    ask = lambda sql: node.ask("POST", "/v1/sql", {"sql": sql}, connection=one)
    assert ask("SET @secret = 7").status == 200
    assert ask("SELECT @secret").json["rows"] == [[None]]
    assert ask("START TRANSACTION").status == 200
    ask("INSERT INTO shop.items (id) VALUES (1)")
    assert ask("ROLLBACK").status == 200
    assert ask("SELECT COUNT(*) FROM shop.items").json["rows"] == [[1]], "each request is a transaction of its own"
    assert ask("SELECT @@time_zone").json["rows"] == [["+00:00"]]
    batch = {"operations": [{"op": "sql", "sql": "SET @secret = 7"}]}
    assert node.ask("POST", "/v1/batch", batch, connection=one).status == 200
    assert ask("SELECT @secret").json["rows"] == [[None]]
    problem(node.ask("POST", "/v1/sql", {"sql": "SELECT 1", "database": "shop", "numbers": "none"}, connection=one), 400)
    assert ask("SELECT DATABASE()").json["rows"] == [[None]]


@test
def what_is_answered_is_committed_whatever_the_node_is_set_to(node):
    node.sql("SET GLOBAL autocommit = OFF, GLOBAL completion_type = CHAIN, GLOBAL sql_select_limit = 1")
    try:
        one = http.client.HTTPConnection("127.0.0.1", node.http)
        done = [node.ask("POST", "/v1/sql", {"sql": "INSERT INTO shop.items (id) VALUES (1)"}, connection=one),
                node.ask("POST", ROWS, [{"id": 2}, {"id": 3}], connection=one), node.ask("PATCH", ROWS + "/2", {"stock": 7}, connection=one),
                node.ask("PUT", ROWS + "/4", {"stock": 8}, connection=one), node.ask("DELETE", ROWS + "/3", connection=one)]
        assert [answer.status for answer in done] == [200, 201, 204, 201, 204]
        assert node.sql("SELECT GROUP_CONCAT(id, ' ', IFNULL(stock, '-') ORDER BY id) FROM shop.items")["rows"] == [["1 -,2 7,4 8"]]
        assert len(node.ask("GET", ROWS).json["rows"]) == 3
    finally:
        node.sql("SET GLOBAL autocommit = ON, GLOBAL completion_type = DEFAULT, GLOBAL sql_select_limit = DEFAULT")


@test
def calls_have_several_results(node):
    node.sql("CREATE PROCEDURE shop.two() BEGIN SELECT 1 AS a; SELECT 2 AS b, 3 AS c; END")
    got = node.sql("CALL shop.two()")
    assert [one.get("rows") for one in got["results"]] == [[[1]], [[2, 3]], None], got
    # An error stands in the place of the rest, between two results or within one.
    many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT a.i FROM n a, n b WHERE b.i <= 50"
    node.sql(f"CREATE PROCEDURE shop.between() BEGIN {many}; SELECT 2; SIGNAL SQLSTATE '45000'; END")
    node.sql(f"CREATE PROCEDURE shop.within() BEGIN SELECT 1; {many.replace('a.i FROM', 'IF(a.i < 900, 1, (SELECT 1 UNION SELECT 2)) FROM')}; END")
    for form in ("arrays", "objects"):
        first, second, third = node.sql("CALL shop.between()", rows=form)["results"]
        assert len(first["rows"]) == 50_000 and len(second["rows"]) == 1 and third["error"]["code"] == 1644 and "rows" not in third, third
        first, second = node.sql("CALL shop.within()", rows=form)["results"]
        assert len(first["rows"]) == 1 and second["error"]["code"] == 1242 and 0 < len(second["rows"]) < 50_000, second


@test
def batches_are_done_wholly_or_not_at_all(node):
    operations = [{"op": "insert", "table": "shop.items", "rows": [{"id": 1}, {"id": 2}]},
                  {"op": "put", "table": "shop.items", "key": 3, "row": {"name": "x"}},
                  {"op": "patch", "table": "shop.items", "key": 1, "row": {"name": "y"}},
                  {"op": "sql", "sql": "UPDATE shop.items SET stock = ? WHERE id < ?", "parameters": [5, 3]},
                  {"op": "delete", "table": "shop.items", "key": [2]}]
    got = node.ask("POST", "/v1/batch", {"operations": operations})
    assert [one["affected_rows"] for one in got.json["results"]] == [2, 1, 1, 2, 1], got.text
    told = problem(node.ask("POST", "/v1/batch", {"operations": [{"op": "delete", "table": "shop.items", "key": 3}] + operations}), 409, code=1062)
    assert told["operation"] == 1, told
    assert node.sql("SELECT id, name FROM shop.items ORDER BY id")["rows"] == [[1, "y"], [3, "x"]]
    problem(node.ask("POST", "/v1/batch", {"operations": [{"op": "dance", "table": "x.y"}]}), 400)


# --- transactions ---

@test
def transactions_go_over_several_requests(node):
    begun = node.ask("POST", "/v1/transactions", {"deadline_ms": 30000})
    assert begun.status == 201, begun.text
    under = begun.headers["location"]
    assert node.ask("POST", under + "/tables/shop/items/rows", {"id": 1}).status == 201
    assert node.ask("GET", under + "/tables/shop/items/rows/1").status == 200, "it sees its own rows"
    problem(node.ask("GET", ROWS + "/1"), 404)
    got = node.ask("POST", "/v1/sql", {"sql": "SELECT COUNT(*) FROM shop.items", "transaction": begun.json["transaction"]})
    assert got.json["rows"] == [[1]]
    problem(node.ask("POST", under + "/tables/shop/items/rows", {"id": 1}), 409, code=1062)
    listed = node.sql("SELECT COMMAND, INFO FROM information_schema.PROCESSLIST")["rows"]
    assert any("HTTP transaction" in (info or "") for _, info in listed), listed
    assert node.ask("POST", under + "/commit").json == {"committed": True}
    assert node.ask("GET", ROWS + "/1").status == 200
    problem(node.ask("POST", under + "/commit"), 404, "transaction-gone")


@test
def transactions_roll_back(node):
    def begin(**options):
        return node.ask("POST", "/v1/transactions", options).headers["location"]
    one = begin()
    node.ask("POST", one + "/tables/shop/items/rows", {"id": 1})
    assert node.ask("POST", one + "/rollback").json == {"committed": False}
    late = begin(deadline_ms=300)
    node.ask("POST", late + "/tables/shop/items/rows", {"id": 2})
    time.sleep(0.6)
    problem(node.ask("POST", late + "/commit"), 404, "transaction-gone")
    killed = begin()
    node.ask("POST", killed + "/tables/shop/items/rows", {"id": 3})
    number = node.sql("SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'HTTP transaction%'")["rows"][0][0]
    node.sql(f"KILL {number}")
    problem(node.ask("POST", killed + "/commit"), 404)
    # Its locks are gone with it.
    assert node.ask("POST", ROWS, [{"id": 1}, {"id": 2}, {"id": 3}]).status == 201
    reading = begin(read_only=True)
    problem(node.ask("POST", reading + "/tables/shop/items/rows", {"id": 4}), 400, code=1792)
    problem(node.ask("POST", "/v1/transactions", {"deadline_ms": 60001}), 400)
    problem(node.ask("POST", "/v1/transactions/nothing/commit"), 404)
    problem(node.ask("POST", reading + "/tokens", {}), 404)


@test
def rows_stream_out_of_transactions(node):
    under = node.ask("POST", "/v1/transactions", {"deadline_ms": 30000}).headers["location"]
    many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT a.i, b.i FROM n a, n b"
    assert len(node.ask("POST", under + "/sql", {"sql": many}).json["rows"]) == 90_000
    node.ask("POST", under + "/rollback")


# --- who asks ---

@test
def rights_are_the_accounts(node):
    node.sql("CREATE USER IF NOT EXISTS reader@localhost IDENTIFIED BY 'secret'")
    node.sql("GRANT SELECT (id, name) ON shop.items TO reader@localhost")
    node.ask("POST", ROWS, {"id": 1, "name": "a"})
    login = "reader:secret"
    assert node.ask("GET", ROWS + "/1?columns=id,name", login=login).json == {"id": 1, "name": "a"}
    problem(node.ask("GET", ROWS + "/1", login=login), 403, code=1143)
    problem(node.ask("GET", ROWS + "/1?columns=price", login=login), 403, code=1143)
    problem(node.ask("POST", ROWS, {"id": 2}, login=login), 403, code=1142)
    problem(node.ask("GET", "/v1/tables/shop/orders/rows/a,1", login=login), 403, code=1142)
    problem(node.ask("POST", "/v1/read", {"reads": [{"table": "shop.orders", "keys": [["a", 1]]}]}, login=login), 403)
    assert [one["name"] for one in node.ask("GET", "/v1/tables/shop/items", login=login).json["columns"]] == ["id", "name"]
    assert [one["table"] for one in node.ask("GET", "/v1/tables", login=login).json["tables"]] == ["items"]
    wrong = node.ask("GET", "/v1/tables", login="reader:wrong")
    assert problem(wrong, 401) and "Basic" in wrong.headers["www-authenticate"]
    problem(node.ask("GET", "/v1/tables", headers={"Host": "evil.example"}), 403)
    problem(node.ask("GET", "/v1/tables", headers={"Origin": "https://evil.example"}), 403)
    # A browser that knows the login shows it for pages of other sites, too; nobody sends a token unasked.
    token = node.ask("POST", "/v1/tokens", login=login).json["token"]
    one = http.client.HTTPConnection("127.0.0.1", node.http)
    assert node.ask("GET", "/v1/tables", login=login, connection=one).status == 200
    for header in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        problem(node.ask("POST", "/v1/transactions", headers=header, login=login), 403)
        assert node.ask("GET", "/status", headers=header, login=login).status == 403
        assert node.ask("GET", "/v1/tables", headers=header, login=token).status == 200
    problem(node.ask("GET", "/v1/tables", headers={"Origin": "https://evil.example"}, login=login, connection=one), 403)
    # Who asks a proxy of the node's user is not that user.
    one = http.client.HTTPConnection("127.0.0.1", node.http)
    assert node.ask("GET", "/v1/tables", connection=one).status == 200
    problem(node.ask("GET", "/v1/tables", headers={"X-Forwarded-For": "192.0.2.7"}), 403)
    problem(node.ask("GET", "/v1/tables", headers={"X-Forwarded-For": "192.0.2.7", "Authorization": ""}, connection=one), 400)
    assert node.ask("GET", "/v1/tables", headers={"X-Forwarded-For": "192.0.2.7"}, login=login).status == 200
    # What is taken away is gone for connections that are open.
    one = http.client.HTTPConnection("127.0.0.1", node.http)
    assert node.ask("GET", ROWS + "/1?columns=id", login=login, connection=one).status == 200
    node.sql("REVOKE SELECT (id, name) ON shop.items FROM reader@localhost")
    problem(node.ask("GET", ROWS + "/1?columns=id", login=login, connection=one), 403)
    node.sql("DROP USER reader@localhost")
    assert node.ask("GET", ROWS + "/1?columns=id", login=login).status == 401


@test
def tokens_stand_for_accounts(node):
    node.sql("CREATE USER IF NOT EXISTS app@localhost IDENTIFIED BY 'secret'")
    node.sql("GRANT ALL ON shop.* TO app@localhost")
    login = "app:secret"
    made = node.ask("POST", "/v1/tokens", {"name": "test"}, login=login)
    assert made.status == 201, made.text
    token = made.json["token"]
    assert node.ask("POST", ROWS, {"id": 1}, login=token).status == 201
    assert node.sql("SELECT CURRENT_USER()", login=token)["rows"] == [["app@localhost"]]
    problem(node.ask("POST", "/v1/tokens", {}, login=token), 403)
    assert token not in json.dumps(node.sql("SELECT * FROM information_schema.USER_ATTRIBUTES"))
    assert node.ask("GET", "/v1/tokens", login=token).json["tokens"][0]["name"] == "test"
    slow = node.ask("POST", "/v1/tokens", {"requests_per_second": 2}, login=login).json["token"]
    one = http.client.HTTPConnection("127.0.0.1", node.http)
    states = [node.ask("GET", ROWS + "/1", login=slow, connection=one).status for _ in range(6)]
    assert states[:2] == [200, 200] and 429 in states, states
    short = node.ask("POST", "/v1/tokens", {"expires_in_seconds": 1}, login=login).json["token"]
    assert node.ask("GET", ROWS + "/1", login=short).status == 200
    time.sleep(2.1)
    assert node.ask("GET", ROWS + "/1", login=short).status == 401
    assert len(node.ask("GET", "/v1/tokens", login=login).json["tokens"]) == 3
    node.ask("POST", "/v1/tokens", {"name": "new"}, login=login)
    assert len(node.ask("GET", "/v1/tokens", login=login).json["tokens"]) == 3, "those that are over go with the next one"
    assert node.ask("DELETE", f"/v1/tokens/{made.json['id']}", login=login).status == 204
    assert node.ask("GET", ROWS + "/1", login=token).status == 401
    node.sql("DROP USER app@localhost")
    assert node.ask("GET", ROWS + "/1", login=slow).status == 401


@test
def tokens_are_of_accounts_with_any_name(node):
    names = ["a\\b", "a\\\\b", "a'b", 'a"b', "a`b"]
    for mode in ("''", "'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'"):
        for name in names:
            node.sql("CREATE USER `%s`@localhost IDENTIFIED BY 'secret'" % name.replace("`", "``"))
        node.sql(f"SET GLOBAL sql_mode = {mode}")
        for name in names:
            token = node.ask("POST", "/v1/tokens", {"name": name}, login=name + ":secret").json["token"]
            assert node.sql("SELECT CURRENT_USER()", login=token)["rows"] == [[name + "@localhost"]]
            assert [one["name"] for one in node.ask("GET", "/v1/tokens", login=token).json["tokens"]] == [name]
        node.sql("SET GLOBAL sql_mode = DEFAULT")
        for name in names:
            node.sql("DROP USER `%s`@localhost" % name.replace("`", "``"))


@test
def nobody_gets_the_answer_to_anothers_key(node):
    node.ask("POST", ROWS, {"id": 1, "name": "hidden"})
    node.sql("CREATE USER IF NOT EXISTS root@localhost")
    node.sql("ALTER USER root@localhost IDENTIFIED BY 'secret'")
    node.sql("CREATE USER IF NOT EXISTS other@localhost IDENTIFIED BY 'secret'")
    rights = [row[0] for row in node.sql("SHOW GRANTS FOR root@localhost")["rows"]]
    node.sql("REVOKE ALL, GRANT OPTION FROM root@localhost")
    try:
        ask = lambda **login: node.ask("POST", "/v1/sql", {"sql": "UPDATE shop.items SET stock = 1"}, headers={"Idempotency-Key": "mine"}, **login)
        assert ask().json["affected_rows"] == 1
        # Whoever runs the node is shown as root@localhost, and is not that account.
        problem(ask(login="root:secret"), 403)
        problem(ask(login="other:secret"), 403)
        assert ask().headers["idempotency-replayed"] == "true"
        # Nor can the keys be led into another table.
        node.sql("CREATE TABLE shop.led LIKE latsdb_rest.idempotency")
        node.sql("DROP TABLE latsdb_rest.idempotency")
        node.sql("CREATE VIEW latsdb_rest.idempotency AS SELECT * FROM shop.led")
        problem(ask(), 501)
        node.sql("DROP VIEW latsdb_rest.idempotency")
        assert ask().status == 200 and node.sql("SELECT COUNT(*) FROM shop.led")["rows"] == [[0]]
    finally:
        for right in rights:
            node.sql(right)
        node.sql("ALTER USER root@localhost IDENTIFIED BY ''")
        node.sql("DROP USER other@localhost")


@test
def what_changes_nothing_leaves_no_key(node):
    """An account without any right can ask without end."""
    node.sql("CREATE USER IF NOT EXISTS nobody@localhost IDENTIFIED BY 'secret'")
    node.ask("POST", ROWS, {"id": 1}, headers={"Idempotency-Key": "first"})
    kept = lambda: node.sql("SELECT COUNT(*) FROM latsdb_rest.idempotency")["rows"][0][0]
    before = kept()
    statements = ["SELECT REPEAT('x', 100000)", "SELEC", "SELECT JSON_EXTRACT('{', '$')", "CREATE TABLE shop.more (id INT)", "DROP TABLE shop.items",
                  "CREATE USER other", "GRANT SELECT ON *.* TO nobody@localhost", "BEGIN", "COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "SAVEPOINT a",
                  "START TRANSACTION READ ONLY", "SET autocommit = 0", "SET autocommit = 1", "UNLOCK TABLES", "DO 1", "SET @a = 1", "ANALYZE TABLE shop.items",
                  "INSERT INTO shop.items (id) VALUES (2)", "EXPLAIN SELECT 1", "PREPARE a FROM 'SELECT 1'", "CALL shop.nothing()"]
    for at, statement in enumerate(statements):
        ask = lambda path, body: node.ask("POST", path, body, headers={"Idempotency-Key": f"{path} {at}"}, login="nobody:secret")
        one, other = [ask("/v1/sql", {"sql": statement}).status for _ in range(2)]
        assert one == other, (statement, one, other)
        ask("/v1/batch", {"operations": [{"op": "sql", "sql": statement}, {"op": "sql", "sql": "SELECT 1"}]})
        assert kept() == before, statement
    ask = lambda method, path: node.ask(method, path, {"id": 5}, headers={"Idempotency-Key": method}, login="nobody:secret")
    assert {ask(method, path).status for method in ("POST", "PUT", "PATCH") for path in (ROWS, ROWS + "/5", "/v1/nothing")} <= {403, 404, 405}
    assert kept() == before
    node.sql("DROP USER nobody@localhost")


@test
def a_retried_write_is_answered_as_the_first_one(node):
    key = {"Idempotency-Key": "k1"}
    first = node.ask("POST", ROWS, {"id": 1}, headers=key)
    again = node.ask("POST", ROWS, {"id": 1}, headers=key)
    assert (first.status, first.body) == (again.status, again.body) == (201, first.body)
    assert again.headers["idempotency-replayed"] == "true" and first.headers["idempotency-replayed"] is None
    problem(node.ask("POST", ROWS, {"id": 2}, headers=key), 422, "idempotency-key-reused")
    failed = node.ask("POST", ROWS, {"id": 1}, headers={"Idempotency-Key": "k2"})
    assert problem(failed, 409)
    node.ask("DELETE", ROWS + "/1")
    again = [node.ask("POST", ROWS, {"id": 1}, headers={"Idempotency-Key": "k2"}) for _ in range(2)]
    assert [one.status for one in again] == [201, 201], "what has failed has changed nothing, and may be done later"
    insert = {"sql": "INSERT INTO shop.items (id) VALUES (20)"}
    statements = [node.ask("POST", "/v1/sql", insert, headers={"Idempotency-Key": "statement"}) for _ in range(2)]
    assert [one.status for one in statements] == [200, 200] and statements[1].headers["idempotency-replayed"] == "true"
    assert node.ask("GET", ROWS + "/20").status == 200, "what was answered is there"
    create = [node.ask("POST", "/v1/sql", {"sql": "CREATE TABLE shop.once (id INT)"}, headers={"Idempotency-Key": "table"}) for _ in range(2)]
    assert [one.status for one in create] == [200, 200], "a statement that commits by itself"
    # At the same time, one is done.
    operation = {"operations": [{"op": "sql", "sql": "UPDATE shop.items SET stock = stock + 1 WHERE id = 9"}]}
    node.ask("POST", ROWS, {"id": 9, "stock": 0})
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        send = lambda _: node.ask("POST", "/v1/batch", operation, headers={"Idempotency-Key": "k3"})
        answers = list(pool.map(send, range(8)))
    assert {(one.status, one.body) for one in answers} == {(200, answers[0].body)}, [one.text for one in answers]
    assert node.ask("GET", ROWS + "/9").json["stock"] == 1


@test
def whoever_goes_away_holds_nobody_up_for_long(node):
    node.ask("POST", ROWS, {"id": 1, "stock": 0})
    under = node.ask("POST", "/v1/transactions", {"deadline_ms": 2000}).headers["location"]
    assert node.ask("PATCH", under + "/tables/shop/items/rows/1", {"stock": 1}).status == 204
    body = '{"sql": "SELECT SLEEP(30)"}'
    with socket.create_connection(("127.0.0.1", node.http)) as one:
        one.sendall((f"POST {under}/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
        asleep = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'HTTP transaction%' AND STATE NOT LIKE 'Waiting%'"
        while node.sql(asleep)["rows"] != [[1]]:
            time.sleep(0.01)
    # Its deadline ends the transaction, and what runs in it.
    assert node.ask("PATCH", ROWS + "/1", {"stock": 7}).status == 204
    assert node.ask("GET", ROWS + "/1?columns=stock").json == {"stock": 7}
    problem(node.ask("POST", under + "/commit"), 404, "transaction-gone")


# --- bytes ---

@test
def bodies_are_packed_for_those_who_ask(node):
    node.ask("POST", ROWS, [{"id": n, "name": "x" * 50} for n in range(200)])
    plain = node.ask("GET", ROWS + "?limit=200")
    packed = node.ask("GET", ROWS + "?limit=200", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip" and len(packed.body) < len(plain.body) / 4
    assert gzip.decompress(packed.body) == plain.body
    streamed = {"sql": "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT a.i, b.i FROM n a, n b", "format": "ndjson"}
    packed = node.ask("POST", "/v1/sql", streamed, headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(packed.body).count(b"\n") == 250_000
    assert node.ask("GET", ROWS + "?limit=200", headers={"Accept-Encoding": "zstd"}).body[:4] == b"\x28\xb5\x2f\xfd"


@test
def requests_may_come_one_behind_the_other(node):
    node.ask("POST", ROWS, [{"id": n} for n in range(10)])
    head = f"GET {ROWS}/%d?columns=id HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = f"GET {ROWS}/9?columns=id HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    got = node.raw(("".join(head % n for n in range(9)) + last).encode())
    assert [got.count(b'{"id":%d}' % n) for n in range(10)] == [1] * 10, got
    assert got.count(b"HTTP/1.1 200 OK") == 10


@test
def bodies_may_come_in_chunks_and_after_a_while(node):
    head = f"POST {ROWS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    got = node.raw((head + 'Transfer-Encoding: chunked\r\n\r\n4\r\n{"id\r\n5;x=y\r\n": 5}\r\n0\r\nX: y\r\n\r\n').encode())
    assert got.startswith(b"HTTP/1.1 201"), got
    with socket.create_connection(("127.0.0.1", node.http), timeout=10) as one:
        one.sendall((head + "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n").encode())
        assert one.recv(100).startswith(b"HTTP/1.1 100"), "it is asked for its body"
        one.sendall(b'{"id": 6}')
        assert read_all(one).startswith(b"HTTP/1.1 201")
    with socket.create_connection(("127.0.0.1", node.http), timeout=10) as one:
        one.sendall((head + "Authorization: Basic eDp5\r\nContent-Length: 90000\r\nExpect: 100-continue\r\n\r\n").encode())
        assert one.recv(100).startswith(b"HTTP/1.1 401"), "who may not ask is not asked for his body"


@test
def what_may_be_read_in_two_ways_is_refused(node):
    head = f"POST {ROWS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    smuggled = "GET /v1/tables HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for headers, status in [
            ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            ("Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", 400),
            ("Content-Length: 0x5\r\n\r\n", 400),
            ("Transfer-Encoding: identity\r\n\r\n", 501),
            ("Transfer-Encoding: chunked, identity\r\n\r\n", 501),
            ("Transfer-Encoding: chunked\r\n\r\nx\r\n", 400),
            ("Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
            ("Transfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n0\r\n\r\n", 400),
            ("Content-Length : 5\r\n\r\n", 400),
            ("A: b\r\n c: d\r\n\r\n", 400),
            ("A: b\nContent-Length: 1\r\n\r\n", 400),
            ("Host: other\r\n\r\n", 400),
            ("Content-Length: 99999999999\r\n\r\n", 413),
            ("Transfer-Encoding: chunked\r\n\r\n2;\rx\r\n{}\r\n0\r\n\r\n", 400),
            ("Transfer-Encoding: chunked\r\n\r\n2\r;x\r\n{}\r\n0\r\n\r\n", 400),
            ("Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA: \0b\r\n\r\n", 400),
            ("Transfer-Encoding: chunked\r\n\r\nfffffff\r\n", 413)]:
        got = node.raw((head + headers + smuggled).encode())
        assert got.startswith(b"HTTP/1.1 %d" % status), (headers, got)
        assert len(re.findall(rb"HTTP/1.1 \d", got)) == 1, ("nothing behind it is read", headers, got)
    for bytes_, status in [(b"\0\xff\r\n\r\n", 400), (b"GET / HTTP/3\r\n\r\n", 505), (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n", 414),
                           (b"GET / HTTP/1.1\r\n" + b"x: " + b"y" * 20000 + b"\r\n\r\n", 431),
                           (b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 101 + b"\r\n", 431), (b"GET / HTTP/1.1\r\n\r\n", 400),
                           (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 400),
                           (b"GET http://evil.example/v1/tables HTTP/1.1\r\nHost: localhost\r\n\r\n", 400)]:
        assert node.raw(bytes_).startswith(b"HTTP/1.1 %d" % status), bytes_[:40]
    refused = node.raw(b"HEAD /v1/tables HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    assert refused.startswith(b"HTTP/1.1 403") and refused.endswith(b"\r\n\r\n"), refused


@test
def what_two_readers_would_understand_differently_is_refused(node):
    twice = problem(node.ask("POST", ROWS, '{"id": 1, "id": 2}'), 400)
    assert "id stands there twice" in twice["detail"], twice
    problem(node.ask("POST", ROWS, '{"id": 1, "ID": 2}'), 400, code=1110)
    problem(node.ask("PUT", ROWS + "/7", '{"ID": 7, "id": 8}'), 400)
    problem(node.ask("POST", "/v1/sql", '{"sql": "SELECT 1", "sql": "SELECT 2"}'), 400)
    problem(node.ask("POST", "/v1/read", '{"reads": [{"table": "shop.orders", "keys": [{"customer": "a", "number": 1, "number": 2}]}]}'), 400)
    assert node.sql("SELECT COUNT(*) FROM shop.items")["rows"] == [[0]]


@test
def numbers_of_any_size_keep_their_value_or_are_refused(node):
    ask = lambda number: node.ask("POST", "/v1/sql", '{"sql": "SELECT ? AS n", "parameters": [%s]}' % number)
    for number, told in [("18446744073709551616", "18446744073709551616"), ("-9223372036854775809", "-9223372036854775809"),
                         ("-0", 0), ("1E5", 100000), ("1e-999", 0), ("1" * 60, "1" * 60)]:
        assert ask(number).json["rows"] == [[told]], number
    for number in ("1e999", "-1e999", "1e" + "9" * 1000, "1" * 1000):
        problem(ask(number), 422, "bad-value")
    problem(node.ask("POST", ROWS, '{"id": 1, "stock": 18446744073709551616}'), 422, code=1264)


@test
def what_stands_around_chunks_is_bounded(node):
    head = b"POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    for piece in (b"1;" + b"x" * 1000 + b"\r\n \r\n", b"1\r\n \r\n"):
        before, piece, sent = node.resident(), piece * 1000, 0
        with socket.create_connection(("127.0.0.1", node.http), timeout=10) as one:
            try:
                while sent < 256 << 20:
                    one.sendall(piece)
                    sent += len(piece)
            except OSError:
                pass
        assert sent < 128 << 20, sent
        assert node.resident() - before < 256 << 20


@test
def slow_and_greedy_clients_disturb_nobody(node):
    node.ask("POST", ROWS, [{"id": n, "name": "x" * 50} for n in range(1000)])
    before = node.resident()
    slow = []
    for _ in range(200):
        one = socket.create_connection(("127.0.0.1", node.http))
        one.sendall(b"GET /v1/tables HTTP/1.1\r\nx: ")
        slow.append(one)
    # They ask for a lot and read nothing of it.
    many = json.dumps({"sql": "SELECT a.name FROM shop.items a, shop.items b, shop.items c"})
    for _ in range(50):
        one = socket.create_connection(("127.0.0.1", node.http))
        one.sendall(f"POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(many)}\r\n\r\n{many}".encode())
        slow.append(one)
    # They announce much and send little.
    for _ in range(100):
        one = socket.create_connection(("127.0.0.1", node.http))
        one.sendall(f"POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {60 << 20}\r\n\r\n{{".encode())
        slow.append(one)
    took = []
    for n in range(200):
        begun = time.monotonic()
        assert node.ask("GET", f"{ROWS}/{n}").status == 200
        took.append(time.monotonic() - begun)
    assert max(took) < 2, max(took)
    grown = node.resident() - before
    assert grown < 200 << 20, grown
    for one in slow:
        one.close()
    running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'HTTP'"
    until(lambda: node.sql(running)["rows"][0][0] <= 1, "their statements end with them", 20)


@test
def large_bodies_and_deep_documents(node):
    problem(node.ask("POST", ROWS, "[" * 100_000), 400)
    problem(node.ask("POST", "/v1/sql", {"sql": "SELECT 1", "parameters": [json.loads("[" * 100 + "]" * 100)] * 70_000}), 400)
    before = node.resident()
    problem(node.ask("POST", ROWS, "[" + "{}," * 10_000_000 + "{}]"), 507)
    assert node.resident() - before < 600 << 20
    # Objects, lists of names, of tables and of groups are bounded as lists of rows are.
    problem(node.ask("POST", ROWS, "{" + ",".join(f'"c{n}":1' for n in range(3_000_000)) + "}"), 507)
    problem(node.ask("POST", "/v1/read", '{"reads": [{"table": "shop.items", "keys": [1], "columns": [' + '"",' * 15_000_000 + '""]}]}'), 507)
    problem(node.ask("POST", "/v1/read", '{"reads": [' + ",".join(['{"table": "shop.items", "keys": []}'] * 10_001) + "]}"), 413)
    group = '{"table": "shop.items", "features": ["name"]}'
    problem(node.ask("POST", "/v1/features", '{"entities": [], "groups": [' + ",".join([group] * 10_001) + "]}"), 413)
    assert node.resident() - before < 600 << 20
    assert node.ask("POST", "/v1/sql", {"sql": "SELECT LENGTH(?)", "parameters": ["x" * (8 << 20)]}).json["rows"] == [[8 << 20]]


@test
def the_same_address_speaks_tls(node):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    node.sql("CREATE USER IF NOT EXISTS safe@localhost IDENTIFIED BY 'secret' REQUIRE SSL")
    one = http.client.HTTPSConnection("127.0.0.1", node.http, context=context)
    assert node.ask("GET", "/v1/tables", login="safe:secret", connection=one).status == 200
    assert node.ask("GET", "/v1/tables", login="safe:secret").status in (401, 403)
    node.sql("SET GLOBAL require_secure_transport = ON")
    node.sql("CREATE USER IF NOT EXISTS plain@localhost IDENTIFIED BY 'secret'")
    problem(node.ask("GET", "/v1/tables", login="plain:secret"), 403, code=3159)
    one = http.client.HTTPSConnection("127.0.0.1", node.http, context=context)
    assert node.ask("GET", "/v1/tables", login="plain:secret", connection=one).status == 200
    # The node's own pages know it, too.
    node.sql("GRANT PROCESS ON *.* TO safe@localhost")
    one = http.client.HTTPSConnection("127.0.0.1", node.http, context=context)
    assert node.ask("GET", "/status", login="safe:secret", connection=one).status == 200
    assert node.ask("GET", "/status", login="safe:secret").status == 401
    node.sql("SET GLOBAL require_secure_transport = OFF")
    node.sql("DROP USER safe@localhost, plain@localhost")


@test
def a_request_that_is_killed_is_answered(node):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asleep = pool.submit(node.ask, "POST", "/v1/sql", {"sql": "SELECT SLEEP(20)"})
        running = "SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'HTTP' AND ID <> CONNECTION_ID()"
        found = until(lambda: node.sql(running)["rows"], "it runs", 10)
        node.sql(f"KILL QUERY {found[0][0]}")
        answer = asleep.result()
        assert answer.status in (200, 503), answer.text


# --- feature vectors ---

@test
def feature_vectors_come_from_several_tables(node):
    node.sql("CREATE TABLE shop.user_stats (user_id BIGINT PRIMARY KEY, clicks INT, ctr DOUBLE, made DATETIME(3))")
    node.sql("CREATE TABLE shop.item_stats (item VARCHAR(20), region INT, sold INT, PRIMARY KEY (item, region))")
    node.sql("INSERT INTO shop.user_stats VALUES (1, 10, 0.5, UTC_TIMESTAMP(3)), (2, NULL, 0.25, UTC_TIMESTAMP(3) - INTERVAL 1 DAY)")
    node.sql("INSERT INTO shop.item_stats VALUES ('a', 1, 7)")
    groups = [{"table": "shop.user_stats", "name": "user", "features": ["clicks", "ctr"], "defaults": {"clicks": 0}, "event_time": "made",
               "max_age_seconds": 3600},
              {"table": "shop.item_stats", "key": ["item_id", "region"], "features": ["sold"]}]
    entities = [{"user_id": 1, "item_id": "a", "region": 1}, {"user_id": 2, "item_id": "b", "region": 1}, {"user_id": 3, "item_id": "a", "region": 1}]
    passed = [{}, {"ctr": 0.75}, {}]
    got = node.ask("POST", "/v1/features", {"groups": groups, "entities": entities, "passed": passed}).json
    assert [one["name"] for one in got["features"]] == ["clicks", "ctr", "sold"] and got["features"][0]["group"] == "user"
    assert [one["values"] for one in got["vectors"]] == [[10, 0.5, 7], [0, 0.75, None], [0, None, 7]], got
    assert [one["origins"] for one in got["vectors"]] == [["stored", "stored", "stored"], ["default", "passed", "missing"],
                                                          ["default", "missing", "stored"]], got
    assert got["vectors"][1]["age_ms"][0] > 86_000_000 and got["vectors"][2]["age_ms"] == [None, None]
    problem(node.ask("POST", "/v1/features", {"groups": groups, "entities": [{"user_id": 1}]}), 400)


# --- the description ---

@test
def the_description_is_that_of_the_routes(node):
    document = node.ask("GET", "/v1/openapi.json").json
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        for method in operations:
            filled = path.replace("{", "").replace("}", "")
            answer = node.ask(method.upper(), filled, b"" if method == "get" else b"{}")
            assert answer.status != 405, (method, path)
            assert answer.status == 200 or "no operation" not in answer.text, (method, path, answer.text)


@test
def a_generated_client_works(node):
    generated.run(node, os.path.dirname(node.folder))


@test
def the_documents_examples_are_so(node):
    documented.run(node)


@test
def nothing_has_panicked(node):
    assert "latsdb_panics_total 0" in node.ask("GET", "/metrics").text.splitlines()


def main():
    options = runner.prepared(runner.arguments(__doc__))
    node = Node(options.binary, os.path.join(options.dir, "data"))

    def call(run):
        begin(node)
        run(node)

    runner.run_tests(options.names, call, node.stop)


if __name__ == "__main__":
    main()
