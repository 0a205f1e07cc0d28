#!/usr/bin/env python3
"""The Python client as programs use it: values, rows, statements, transactions, lost answers, Arrow and pandas, feature vectors, training sets.

    suite.py --binary target/debug/latsdb --dir target/test-data/python-client
"""

import concurrent.futures
import datetime
import os
import ssl
import sys
import threading
import time
from decimal import Decimal

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../src"), os.path.join(HERE, "../../../tests/lib")]
import latsdb
import runner
from latsdb import Group, Read
from node import Node, free_port
from runner import test, until

import examples
import training
from proxy import Proxy

UTC = datetime.timezone.utc
EVERYTHING = {
    "id": 7, "d": Decimal("12345678901234567890123456789012345678.25"), "b": True, "bits": 5, "span": datetime.timedelta(hours=-12, seconds=-1.5),
    "seen": datetime.datetime(2024, 1, 1, 0, 0, 0, 123456, tzinfo=UTC), "made": datetime.datetime(2024, 2, 29, 1, 2, 3, 4000), "kind": "x",
    "kinds": "p,q", "document": {"a": [1.5, "é", None]}, "data": b"\0\xff", "year": 2024, "f": 0.5, "g": 0.1, "large": 2**64 - 1, "day": datetime.date(2024, 2, 29),
    "name": 'ö"\\\n😀'}


def raises(kind, act):
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def begin(client):
    client.forget_tables()
    client.sql("DROP DATABASE IF EXISTS shop")
    client.sql("CREATE DATABASE shop")
    client.sql("CREATE TABLE shop.items (id INT PRIMARY KEY, name VARCHAR(50), price DECIMAL(10,2), stock BIGINT, KEY by_name (name, price))")
    client.sql("CREATE TABLE shop.orders (customer VARBINARY(20), number INT, item INT, PRIMARY KEY (customer, number),"
               " FOREIGN KEY (item) REFERENCES shop.items (id))")


def address(node):
    return f"http://127.0.0.1:{node.http}"


# --- values ---

@test
def values_keep_their_types_both_ways(node, client):
    client.sql("CREATE TABLE shop.a (id INT PRIMARY KEY, d DECIMAL(40,2), b BIT(1), bits BIT(8), span TIME(3), seen TIMESTAMP(6) NULL, made DATETIME(3),"
               " kind ENUM('x','y'), kinds SET('p','q'), document JSON, data VARBINARY(20), year YEAR, f FLOAT, g DOUBLE, large BIGINT UNSIGNED, day DATE,"
               " name VARCHAR(20))")
    table = client.table("shop.a")
    assert table.insert(EVERYTHING) == (1, 0)
    got = table.get(7)
    assert got == EVERYTHING, got
    assert [type(value) for value in got.values()] == [type(value) for value in EVERYTHING.values()]
    result = client.sql("SELECT * FROM shop.a WHERE id = ?", [7])
    assert result.dicts() == [EVERYTHING] and result.columns[0] == ("id", "int")
    with client.stream("SELECT * FROM shop.a") as rows:
        assert list(rows) == [tuple(EVERYTHING.values())]
    assert client.read([Read("shop.a", [7, 8])]) == [[EVERYTHING, None]]
    assert list(table.rows()) == [EVERYTHING]
    table.insert({"id": 8})
    assert set(table.get(8).values()) == {8, None}
    assert table.get(7, ["D", "id"]) == {"d": EVERYTHING["d"], "id": 7} or table.get(7, ["D", "id"]) == {"D": EVERYTHING["d"], "id": 7}


@test
def parameters_keep_their_types(node, client):
    given = [1, 2**64 - 1, Decimal("0.1"), 0.1, "a", b"\xff\x00", None, True, datetime.date(2024, 1, 2), {"$binary": "AA=="}]
    got = client.sql("SELECT ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS DATE), JSON_UNQUOTE(JSON_EXTRACT(?, '$.\"$binary\"'))", given)
    assert got.one() == (1, 2**64 - 1, Decimal("0.1"), 0.1, "a", b"\xff\x00", None, 1, datetime.date(2024, 1, 2), "AA=="), got
    assert [column.type for column in got.columns][2:4] == ["decimal", "double"]
    assert client.sql("SELECT ? = 9007199254740993", [Decimal("9007199254740993.5")]).value() == 0, "no digits are lost"
    moment = datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    assert client.sql("SELECT CAST(? AS DATETIME)", [moment]).value() == datetime.datetime(2024, 7, 1, 10)
    for bad in (float("nan"), float("inf"), Decimal("NaN")):
        raises(ValueError, lambda: client.sql("SELECT ?", [bad]))
    raises(TypeError, lambda: client.sql("SELECT ?", [object()]))
    raises(TypeError, lambda: client.sql("SELECT ?", "x"))


@test
def a_column_that_is_new_or_of_another_type_is_looked_up(node, client):
    items = client.table("shop.items")
    items.insert({"id": 1, "stock": 5})
    assert items.get(1)["stock"] == 5
    client.sql("ALTER TABLE shop.items ADD COLUMN weight DECIMAL(5,3) DEFAULT 1.5")
    assert items.get(1)["weight"] == Decimal("1.500")
    client.sql("ALTER TABLE shop.items MODIFY stock DECIMAL(10,1)")
    client.forget_tables()
    assert items.get(1)["stock"] == Decimal("5.0")


# --- rows ---

@test
def rows_are_changed_by_key(node, client):
    items = client.table("shop.items")
    assert items.put(1, {"name": "pen", "price": Decimal("2.5")}) is True and items.put(1, {"name": "pencil"}) is False
    assert items.get(1) == {"id": 1, "name": "pencil", "price": None, "stock": None}
    items.patch(1, {"stock": 3})
    assert items.get(1, ["stock"]) == {"stock": 3} and items.get(2) is None
    assert items.delete(1) is True and items.delete(1) is False
    assert items.insert([{"id": n} for n in range(3)]).affected_rows == 3
    problem = raises(latsdb.DuplicateKey, lambda: items.insert({"id": 1}))
    assert (problem.code, problem.sqlstate, problem.status, problem.retry) == (1062, "23000", 409, False)
    raises(latsdb.NotFound, lambda: client.table("shop.none").get(1))
    assert raises(latsdb.NotFound, lambda: client.table("shop.none").delete(1)).code == 1146
    raises(latsdb.BadValue, lambda: items.insert({"id": "x"}))
    raises(latsdb.BadRequest, lambda: items.insert({"id": 9, "nothing": 1}))
    assert raises(latsdb.ForeignKey, lambda: client.table("shop.orders").insert({"customer": b"a", "number": 1, "item": 99})).code == 1452


@test
def keys_may_be_anything(node, client):
    orders = client.table("shop.orders")
    for key in [(b"a,b/c %\xff\0", 1), (b"", -2)]:
        orders.insert({"customer": key[0], "number": key[1]})
        assert orders.get(key) == {"customer": key[0], "number": key[1], "item": None}
        assert orders.get_many([key, {"customer": key[0], "number": key[1]}])[1] == orders.get(key)
        assert orders.delete(key)
    client.sql("CREATE TABLE shop.words (word VARCHAR(100) PRIMARY KEY, n INT)")
    words = client.table("shop.words")
    for word in ["a,b", "ü/?#", "..", " ", "%2C", "+"]:
        words.insert({"word": word, "n": 1})
        words.patch(word, {"n": 2})
        assert words.get(word) == {"word": word, "n": 2}, word
    words.insert({"word": "", "n": 5})
    raises(ValueError, lambda: words.get(""))
    assert words.get_many([""])[0]["n"] == 5
    client.batch().delete("shop.words", "").run()
    assert words.get_many([""]) == [None]


@test
def ranges_come_page_by_page(node, client):
    items = client.table("shop.items")
    items.insert([{"id": n, "name": f"n,{n % 10}", "price": n} for n in range(1000)])
    assert [row["id"] for row in items.rows(page_rows=64)] == list(range(1000))
    assert [row["id"] for row in items.rows(start=[990], stop=[995], descending=True)] == [994, 993, 992, 991, 990]
    found = list(items.rows(index="by_name", prefix=["n,3"], page_rows=7, columns=["id", "price"]))
    assert [row["id"] for row in found] == list(range(3, 1000, 10)) and found[0]["price"] == Decimal("3.00")
    assert [row["id"] for row in items.rows(index="by_name", start=["n,9", Decimal("989.00")])] == [989, 999]
    page = items.page(limit=2)
    assert len(page.rows) == 2 and items.page(limit=2, after=page.next).rows[0]["id"] == 2
    raises(TypeError, lambda: items.page(prefix="n"))


@test
def tags_guard_rows(node, client):
    items = client.table("shop.items")
    items.insert({"id": 1, "stock": 1})
    row, tag = items.get_tagged(1)
    items.patch(1, {"stock": row["stock"] + 1}, if_match=tag)
    raises(latsdb.PreconditionFailed, lambda: items.patch(1, {"stock": 9}, if_match=tag))
    raises(latsdb.PreconditionFailed, lambda: items.put(1, {}, if_absent=True))
    problem = raises(latsdb.PreconditionFailed, lambda: client.batch().insert("shop.items", {"id": 2}).delete("shop.items", 1, if_match=tag).run())
    assert problem.operation == 1 and items.get(2) is None and items.get(1)["stock"] == 2


# --- statements ---

@test
def results_say_what_was_done(node, client):
    done = client.sql("INSERT INTO shop.items (id) VALUES (1), (2)")
    assert (done.affected_rows, len(done)) == (2, 0)
    assert client.sql("SELECT id FROM shop.items", database="shop").rows == [(1,), (2,)]
    assert client.sql("SELECT id FROM items WHERE id > ?", [1], database="shop").value() == 2
    assert client.sql("SELECT id FROM shop.items WHERE id > 9").one() is None
    client.sql("CREATE PROCEDURE shop.two() BEGIN SELECT 1 AS a; SELECT 'x', 2.5; END")
    called = client.sql("CALL shop.two()")
    assert called.rows == [(1,)] and called.results[1].rows == [("x", Decimal("2.5"))]
    problem = raises(latsdb.BadRequest, lambda: client.sql("SELEC 1"))
    assert (problem.code, problem.sqlstate) == (1064, "42000")


@test
def rows_are_streamed(node, client):
    text = ("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)"
            " SELECT a.i, b.i, REPEAT('ö€😀', a.i % 7), CAST(a.i AS DECIMAL(10,2)) / 4 FROM n a, n b ORDER BY a.i, b.i")
    seen = 0
    with client.stream(text) as rows:
        assert [column.type for column in rows.columns] == ["bigint", "bigint", "varchar", "decimal"] or rows.columns
        for a, b, text_, quarter in rows:
            assert (a, b) == (seen // 200 + 1, seen % 200 + 1) and text_ == "ö€😀" * (a % 7) and quarter == Decimal(a) / 4
            seen += 1
    assert seen == 40_000
    # Long values, and none.
    with client.stream("SELECT REPEAT('é', 3000000), 1 UNION ALL SELECT '', 2") as rows:
        assert [(len(text_), n) for text_, n in rows] == [(3000000, 1), (0, 2)]
    with client.stream("SELECT 1 FROM shop.items") as rows:
        assert list(rows) == [] and len(rows.columns) == 1
    with client.stream("INSERT INTO shop.items (id) VALUES (1)") as rows:
        assert list(rows) == []
    raises(latsdb.BadRequest, lambda: client.stream("SELECT nothing"))
    # Whoever has read enough leaves, and the client goes on.
    with client.stream("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT a.i FROM n a, n b, n c") as rows:
        assert next(iter(rows)) == (1,)
    assert client.sql("SELECT 1").value() == 1


FAILS_LATE = ("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)"
              " SELECT a.i, IF(a.i = 250 AND b.i = 250, (SELECT 1 UNION SELECT 2), REPEAT('x', 50)) FROM n a, n b")


@test
def errors_behind_rows_are_raised(node, client):
    def read_all():
        with client.stream(FAILS_LATE) as rows:
            for _ in rows:
                read.append(1)
    read = []
    assert raises(latsdb.Problem, read_all).code == 1242 and len(read) > 1000
    raises(latsdb.LatsdbError, lambda: client.arrow(FAILS_LATE))


# --- several changes at once ---

@test
def batches_are_done_whole_or_not_at_all(node, client):
    with client.batch() as batch:
        batch.insert("shop.items", [{"id": 1, "stock": 1}, {"id": 2}]).patch("shop.items", 1, {"price": Decimal("0.5")})
        batch.sql("UPDATE shop.items SET stock = stock + ? WHERE id = ?", [Decimal("1"), 1]).put("shop.items", 3, {"name": "c"}).delete("shop.items", 2)
    assert client.sql("SELECT id, price, stock FROM shop.items").rows == [(1, Decimal("0.50"), 2), (3, None, None)]
    problem = raises(latsdb.DuplicateKey, lambda: client.batch().insert("shop.items", {"id": 9}).insert("shop.items", {"id": 1}).run())
    assert problem.operation == 1 and client.table("shop.items").get(9) is None
    assert client.batch().run() == []


@test
def transactions_commit_and_roll_back(node, client):
    items = client.table("shop.items")
    with client.transaction() as transaction:
        transaction.table("shop.items").insert({"id": 1, "stock": 5})
        assert transaction.sql("SELECT stock FROM shop.items").value() == 5 and items.get(1) is None
        assert transaction.read([Read("shop.items", [1])])[0][0]["stock"] == 5
        transaction.batch().patch("shop.items", 1, {"stock": 6}).run()
    assert items.get(1)["stock"] == 6
    def fails():
        with client.transaction() as transaction:
            transaction.table("shop.items").delete(1)
            raise KeyError("x")
    raises(KeyError, fails)
    assert items.get(1)["stock"] == 6
    with client.transaction() as transaction:
        transaction.table("shop.items").delete(1)
        transaction.rollback()
    raises(latsdb.TransactionGone, lambda: transaction.sql("SELECT 1"))
    assert items.get(1)["stock"] == 6
    with client.transaction(isolation="serializable", read_only=True) as transaction:
        assert transaction.table("shop.items").get(1)["stock"] == 6
        raises(latsdb.Problem, lambda: transaction.table("shop.items").delete(1))
    def too_late():
        with client.transaction(deadline=0.2) as transaction:
            transaction.table("shop.items").patch(1, {"stock": 7})
            time.sleep(0.5)
    raises(latsdb.TransactionGone, too_late)
    assert items.get(1)["stock"] == 6
    open_ones = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'HTTP transaction%'"
    until(lambda: not client.sql(open_ones).value(), "it is rolled back", 10)


@test
def a_transaction_that_was_in_the_way_is_run_again(node, client):
    items = client.table("shop.items")
    items.insert([{"id": 1, "stock": 0}])
    runs = []

    def add(transaction):
        runs.append(1)
        stock = transaction.table("shop.items").get(1)["stock"]
        transaction.table("shop.items").patch(1, {"stock": stock + 1})

    def many():
        for _ in range(5):
            client.transact(add, attempts=50)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for one in [pool.submit(many) for _ in range(4)]:
            one.result()
    assert items.get(1)["stock"] == 20 and len(runs) > 20, (items.get(1), len(runs))


# --- lost answers ---

@test
def a_write_whose_answer_is_lost_is_done_once(node, client):
    proxy = Proxy(node.http)
    through = latsdb.Client(proxy.url, timeout=10)
    client.sql("INSERT INTO shop.items (id, stock) VALUES (1, 0)")
    writes = [
        lambda: through.sql("UPDATE shop.items SET stock = stock + 1 WHERE id = 1"),
        lambda: through.batch().sql("UPDATE shop.items SET stock = stock + 1 WHERE id = 1").run(),
        lambda: through.table("shop.items").insert({"id": 50}),
        lambda: through.table("shop.items").load([{"id": n} for n in range(100, 150)], batch_rows=20),
    ]
    for write in writes:
        for how in ("lose", "cut"):
            through.sql("DELETE FROM shop.items WHERE id > 1")
            before = proxy.requests
            setattr(proxy, how, 1)
            write()
            assert getattr(proxy, how) == 0 and proxy.requests >= before + 2, "it was sent again"
    assert client.table("shop.items").get(1)["stock"] == 4
    assert client.sql("SELECT COUNT(*) FROM shop.items").value() == 51
    # Without a key nobody knows, and the client says so.
    careful = latsdb.Client(proxy.url, idempotent_writes=False)
    proxy.lose = 1
    error = raises(latsdb.NoAnswer, lambda: careful.sql("UPDATE shop.items SET stock = stock + 1 WHERE id = 1"))
    assert error.maybe_done
    # So it does of a statement that takes none. Reads are sent again.
    proxy.lose = 1
    raises(latsdb.NoAnswer, lambda: through.sql("CREATE TABLE shop.b (a INT)"))
    proxy.lose = 2
    assert careful.sql("SELECT stock FROM shop.items WHERE id = 1").value() == 5
    proxy.lose = 100
    assert not raises(latsdb.NoAnswer, lambda: careful.table("shop.items").get(1)).maybe_done
    proxy.stop()


@test
def a_commit_whose_answer_is_lost_is_unknown(node, client):
    proxy = Proxy(node.http)
    through = latsdb.Client(proxy.url)
    def loses():
        with through.transaction() as transaction:
            transaction.table("shop.items").insert({"id": 1})
            proxy.lose = 1
    assert raises(latsdb.NoAnswer, loses).maybe_done
    assert client.table("shop.items").get(1) is not None
    proxy.stop()


@test
def connections_are_kept_and_stale_ones_are_not_used(node, client):
    proxy = Proxy(node.http)
    through = latsdb.Client(proxy.url, idempotent_writes=False)
    for n in range(20):
        through.table("shop.items").insert({"id": n})
    assert proxy.connections == 1
    proxy.close_all()
    time.sleep(0.1)
    through.table("shop.items").insert({"id": 50})
    assert proxy.connections == 2, "a write that cannot be repeated is not risked on a connection that has ended"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: through.table("shop.items").get(n % 20)["id"], range(400))) == [n % 20 for n in range(400)]
    assert proxy.connections <= 10
    proxy.stop()


@test
def a_pool_has_an_end(node, client):
    narrow = latsdb.Client(address(node), pool_size=1, retries=0)
    with narrow.stream("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT a.i FROM n a, n b, n c") as rows:
        assert rows.columns
        raises(latsdb.NotConnected, lambda: narrow.sql("SELECT 1", timeout=0.3))
    assert narrow.sql("SELECT 1").value() == 1


@test
def time_is_limited(node, client):
    begun = time.monotonic()
    error = raises(latsdb.NoAnswer, lambda: client.sql("SELECT SLEEP(20)", timeout=0.5))
    assert time.monotonic() - begun < 5 and not error.maybe_done
    # Nobody listens behind a port that is taken and accepts nothing.
    with __import__("socket").create_server(("127.0.0.1", 0), backlog=0) as silent:
        begun = time.monotonic()
        mute = latsdb.Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.5)
        raises(latsdb.LatsdbError, lambda: mute.sql("SELECT 1"))
        assert time.monotonic() - begun < 5


@test
def another_node_is_asked_where_one_is_away(node, client):
    two = latsdb.Client([f"http://127.0.0.1:{free_port()}", address(node)])
    assert two.sql("SELECT 1").value() == 1 and two.is_ready()
    two.table("shop.items").insert({"id": 1})
    with two.transaction() as transaction:
        transaction.table("shop.items").delete(1)
    assert client.table("shop.items").get(1) is None
    begun = time.monotonic()
    raises(latsdb.NotConnected, lambda: latsdb.Client(f"http://127.0.0.1:{free_port()}", retries=2).sql("SELECT 1"))
    assert time.monotonic() - begun < 5


@test
def a_forked_process_has_connections_of_its_own(node, client):
    client.sql("SELECT 1")
    child = os.fork()
    if child == 0:
        ok = all(client.sql("SELECT ?", [n]).value() == n for n in range(50))
        os._exit(0 if ok else 1)
    assert all(client.sql("SELECT ?", [-n]).value() == -n for n in range(50))
    assert os.waitpid(child, 0)[1] == 0


# --- who asks ---

@test
def logins_tokens_and_tls(node, client):
    client.sql("CREATE USER IF NOT EXISTS shop@localhost IDENTIFIED BY 'secret'")
    client.sql("GRANT SELECT ON shop.* TO shop@localhost")
    shop = latsdb.Client(address(node), user="shop", password="secret")
    assert shop.sql("SELECT CURRENT_USER()").value() == "shop@localhost"
    assert raises(latsdb.Forbidden, lambda: shop.sql("DELETE FROM shop.items")).code == 1142
    raises(latsdb.Unauthorized, lambda: latsdb.Client(address(node), user="shop", password="wrong").sql("SELECT 1"))
    token = shop.create_token("test", expires_in_seconds=60)
    by_token = latsdb.Client(address(node), token=token)
    assert by_token.sql("SELECT CURRENT_USER()").value() == "shop@localhost"
    shop.delete_token(shop.tokens()[0]["id"])
    raises(latsdb.Unauthorized, lambda: by_token.sql("SELECT 1"))
    raises(ValueError, lambda: latsdb.Client("http://a:b@localhost"))
    context = ssl.create_default_context(cafile=os.path.join(node.folder, "server-cert.pem"))
    context.check_hostname = False
    safe = latsdb.Client(f"https://127.0.0.1:{node.http}", user="shop", password="secret", tls=context)
    assert safe.sql("SELECT 1").value() == 1
    proxy = Proxy(node.http)
    kept = latsdb.Client(f"https://127.0.0.1:{proxy.port}", user="shop", password="secret", tls=context)
    assert [kept.sql("SELECT ?", [n]).value() for n in range(20)] == list(range(20)) and proxy.connections == 1
    proxy.stop()
    raises(latsdb.NotConnected, lambda: latsdb.Client(f"https://127.0.0.1:{node.http}", retries=0).sql("SELECT 1"))
    client.sql("DROP USER shop@localhost")


# --- Arrow and pandas ---

@test
def arrow_and_pandas_are_exact(node, client):
    import pyarrow

    items = client.table("shop.items")
    large = 2**60 + 1
    items.insert([{"id": 1, "name": "a", "price": Decimal("0.10"), "stock": large}, {"id": 2, "name": None}])
    table = client.arrow("SELECT * FROM shop.items ORDER BY id")
    assert table.to_pylist()[0] == {"id": 1, "name": "a", "price": Decimal("0.10"), "stock": large}
    assert table.schema.field("price").type == pyarrow.decimal128(10, 2)
    frame = client.pandas("SELECT * FROM shop.items ORDER BY id")
    assert frame["stock"].dtype == "Int64" and frame["stock"][0] == large and frame["price"][0] == Decimal("0.10")
    assert frame["id"].dtype == "int32" and frame["stock"].isna().tolist() == [False, True]
    batches = list(client.arrow_batches("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT a.i FROM n a, n b"))
    assert len(batches) > 1 and sum(batch.num_rows for batch in batches) == 90_000
    assert client.arrow("SELECT id FROM shop.items WHERE id < 0").num_rows == 0
    raises(latsdb.BadRequest, lambda: client.arrow("SELECT nothing"))
    raises(latsdb.LatsdbError, lambda: client.arrow("DELETE FROM shop.items WHERE id < 0"))
    packed = latsdb.Client(address(node), compress=True)
    assert packed.arrow("SELECT * FROM shop.items ORDER BY id") == table and packed.sql("SELECT 1").value() == 1


@test
def frames_and_tables_are_loaded(node, client):
    import pandas
    import pyarrow

    client.sql("CREATE TABLE shop.loaded (id INT PRIMARY KEY, x DOUBLE, d DECIMAL(10,2), seen TIMESTAMP(6) NULL, name VARCHAR(10), n BIGINT)")
    loaded = client.table("shop.loaded")
    seen = pandas.to_datetime(["2024-01-01T10:00:00.5Z", None])
    frame = pandas.DataFrame({"id": [1, 2], "x": [0.5, float("nan")], "d": [Decimal("1.25"), None], "seen": seen, "name": ["a", None],
                              "n": pandas.array([2**60 + 1, None], dtype="Int64")})
    assert loaded.load(frame) == 2
    expected = [{"id": 1, "x": 0.5, "d": Decimal("1.25"), "seen": datetime.datetime(2024, 1, 1, 10, 0, 0, 500000, tzinfo=UTC), "name": "a", "n": 2**60 + 1},
                {"id": 2, "x": None, "d": None, "seen": None, "name": None, "n": None}]
    assert loaded.get_many([1, 2]) == expected
    client.sql("DELETE FROM shop.loaded")
    assert loaded.load(pyarrow.Table.from_pylist(expected), batch_rows=1) == 2
    assert loaded.get_many([1, 2]) == expected
    assert loaded.load(({"id": n} for n in range(10, 12_010)), batch_rows=5000) == 12_000
    raises(latsdb.DuplicateKey, lambda: loaded.load([{"id": 5}, {"id": 1}]))
    assert loaded.get(5) is None


# --- features ---

@test
def feature_vectors(node, client):
    client.sql("CREATE TABLE shop.users (user_id BIGINT PRIMARY KEY, clicks INT, ctr DECIMAL(5,3), avatar VARBINARY(10), made DATETIME(3))")
    client.sql("INSERT INTO shop.users VALUES (1, 10, 0.5, 'a', UTC_TIMESTAMP(3)), (2, NULL, 0.25, 'b', UTC_TIMESTAMP(3) - INTERVAL 1 DAY)")
    client.sql("INSERT INTO shop.items (id, stock) VALUES (5, 7)")
    groups = [Group("shop.users", ["clicks", "ctr", "avatar"], name="user", defaults={"clicks": 0}, event_time="made", max_age_seconds=3600),
              Group("shop.items", ["stock"], key=["item"])]
    got = client.features(groups, [{"user_id": 1, "item": 5}, {"user_id": 2, "item": 6}], [{}, {"ctr": Decimal("0.75")}])
    assert got.names() == ["clicks", "ctr", "avatar", "stock"]
    assert [one.values for one in got.vectors] == [(10, Decimal("0.500"), b"a", 7), (0, Decimal("0.75"), None, None)]
    assert got[1].origins == ("default", "passed", "stale", "missing") and got[1].ages_ms[0] > 86_000_000 and got[0].ages_ms[1] is None
    assert got.to_arrow().to_pylist()[0] == {"clicks": 10, "ctr": Decimal("0.50"), "avatar": b"a", "stock": 7}
    frame = got.to_pandas()
    assert frame["clicks"].tolist() == [10, 0] and frame["stock"].dtype == "Int64" and len(frame) == 2
    with client.transaction() as transaction:
        transaction.sql("UPDATE shop.items SET stock = 8")
        assert transaction.features(groups, [{"user_id": 1, "item": 5}])[0].values[3] == 8


@test
def training_sets_are_those_of_pandas(node, client):
    training.run(client)


@test
def the_documents_examples_are_so(node, client):
    examples.run(os.path.join(HERE, "../README.md"), address(node))
    client.sql("DROP DATABASE shop")
    examples.run(os.path.join(HERE, "../../../docs/features.md"), address(node))


def main():
    options = runner.prepared(runner.arguments(__doc__))
    node = Node(options.binary, os.path.join(options.dir, "data"))

    def call(run):
        with latsdb.Client(address(node)) as client:
            begin(client)
            run(node, client)

    def end():
        threads = [one for one in threading.enumerate() if not one.daemon]
        assert len(threads) == 1, threads
        node.stop()

    runner.run_tests(options.names, call, end)


if __name__ == "__main__":
    main()
