#!/usr/bin/env python3
"""LatsDB as Feast's online store, driven by Feast itself: apply, materialize, get_online_features, time to live, teardown.

    suite.py --binary target/debug/latsdb --dir target/test-data/feast
"""

import asyncio
import concurrent.futures
import math
import os
import pickle
import sys
from datetime import datetime, timedelta, timezone

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = [os.path.join(HERE, "../src"), os.path.join(HERE, "../../python/src")]
sys.path[:0] = [*SOURCES, os.path.join(HERE, "../../python/tests"), os.path.join(HERE, "../../../tests/lib"), HERE]
os.environ["FEAST_USAGE"] = "False"
os.environ["PYTHONPATH"] = os.pathsep.join(SOURCES)

import feast_latsdb.store
import latsdb
import pandas
import runner
from click.testing import CliRunner
from feast import Entity, FeatureService, FeatureStore, FeatureView, Field, FileSource, PushSource, RequestSource, ValueType
from feast.cli.cli import cli
from feast.on_demand_feature_view import on_demand_feature_view
from feast.protos.feast.types.EntityKey_pb2 import EntityKey
from feast.protos.feast.types.Value_pb2 import Value
from feast.types import Array, Bool, Bytes, Float32, Float64, Int32, Int64, String, UnixTimestamp
from node import Node
from proxy import Proxy
from runner import test, until

NOW = datetime.now(timezone.utc).replace(microsecond=0)


class Place:
    """A repository of Feast's, with its files and its store."""

    def __init__(self, folder, address, client):
        self.folder, self.client = folder, client
        os.makedirs(folder)
        self.configure(address)

    def configure(self, address, registry="registry: registry.db", **more):
        lines = [f"    {name}: {value}" for name, value in {"address": address, **more}.items()]
        with open(os.path.join(self.folder, "feature_store.yaml"), "w") as file:
            file.write(f"project: shop\n{registry}\nprovider: local\noffline_store:\n    type: file\nonline_store:\n"
                       "    type: feast_latsdb.LatsdbOnlineStore\n" + "\n".join(lines) + "\nentity_key_serialization_version: 3\n")
        self.store = FeatureStore(repo_path=self.folder)

    def source(self, name, rows):
        """A parquet file."""
        path = os.path.join(self.folder, f"{name}.parquet")
        pandas.DataFrame(rows).to_parquet(path)
        return FileSource(name=name, path=path, timestamp_field="event_timestamp", created_timestamp_column="created")

    def ask(self, features, rows, **named):
        return self.store.get_online_features(features=features, entity_rows=rows, **named).to_dict()

    def tables(self):
        return {name for name, in self.client.sql("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'feast'")}


DRIVER = Entity(name="driver", join_keys=["driver_id"], value_type=ValueType.INT64)
CUSTOMER = Entity(name="customer", join_keys=["customer_id"], value_type=ValueType.STRING)


def driver_rows(ages=(1, 5, 30)):
    """Two events of each driver, the second one as many hours old."""
    rows = []
    for driver, hours in enumerate(ages, 1001):
        for late in (0, 1):
            at = NOW - timedelta(hours=hours + 1 - late)
            rows.append({"driver_id": driver, "conv_rate": driver / 4 + late, "trips": driver * 10 + late, "event_timestamp": at, "created": at})
    return rows


def driver_view(place, ttl=timedelta(days=1), rows=None, **named):
    schema = [Field(name="conv_rate", dtype=Float32), Field(name="trips", dtype=Int64)]
    return FeatureView(name="driver_stats", entities=[DRIVER], ttl=ttl, schema=schema, source=place.source("drivers", rows or driver_rows()), **named)


def write(place, view, rows):
    place.store.write_to_online_store(view, pandas.DataFrame(rows))


@test
def what_is_materialized_is_served(place):
    place.store.apply([DRIVER, driver_view(place)])
    assert place.tables() == {"shop_driver_stats"}
    place.store.materialize(NOW - timedelta(days=7), NOW)
    got = place.store.get_online_features(features=["driver_stats:conv_rate", "driver_stats:trips"],
                                          entity_rows=[{"driver_id": driver} for driver in (1002, 1003, 1001, 1, 1002)])
    assert got.to_dict() == {"driver_id": [1002, 1003, 1001, 1, 1002], "conv_rate": [251.5, None, 251.25, None, 251.5],
                             "trips": [10021, None, 10011, None, 10021]}, got.to_dict()
    # The third driver's newest event is older than a day.
    at = [one.seconds for one in got.proto.results[1].event_timestamps]
    assert at == [int((NOW - timedelta(hours=5)).timestamp()), 0, int((NOW - timedelta(hours=1)).timestamp()), 0, at[0]]
    frame = got.to_df()
    assert frame["trips"].tolist()[0] == 10021


@test
def the_command_line_works(place):
    with open(os.path.join(place.folder, "definitions.py"), "w") as file:
        file.write("from datetime import timedelta\nfrom feast import Entity, FeatureView, Field, FileSource, ValueType\nfrom feast.types import Float32, Int64\n"
                   "driver = Entity(name='driver', join_keys=['driver_id'], value_type=ValueType.INT64)\n"
                   "stats = FeatureView(name='driver_stats', entities=[driver], ttl=timedelta(days=1), schema=[Field(name='conv_rate', dtype=Float32),"
                   " Field(name='trips', dtype=Int64)], source=FileSource(path='drivers.parquet', timestamp_field='event_timestamp'))\n")
    place.source("drivers", driver_rows())
    # In this process: to import Feast takes five seconds of a core.
    def feast(*arguments):
        done = CliRunner().invoke(cli, ["--chdir", place.folder, *arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    feast("apply")
    assert place.tables() == {"shop_driver_stats"}
    feast("materialize-incremental", NOW.strftime("%Y-%m-%dT%H:%M:%S"))
    place.store = FeatureStore(repo_path=place.folder)
    assert place.ask(["driver_stats:trips"], [{"driver_id": 1001}])["trips"] == [10011]
    feast("teardown")
    assert place.tables() == set()


@test
def values_of_all_types_come_back(place):
    schema = {"i32": Int32, "i64": Int64, "f32": Float32, "f64": Float64, "flag": Bool, "word": String, "data": Bytes, "at": UnixTimestamp,
              "floats": Array(Float32), "words": Array(String)}
    view = FeatureView(name="all_types", entities=[DRIVER], ttl=timedelta(days=1), schema=[Field(name=name, dtype=kind) for name, kind in schema.items()],
                       source=place.source("types", [{"driver_id": 1, "event_timestamp": NOW, "created": NOW}]))
    place.store.apply([DRIVER, view])
    values = {"i32": -2**31, "i64": 2**63 - 1, "f32": 0.5, "f64": 0.1, "flag": True, "word": "ö'\\\n😀", "data": b"\0\xff", "at": NOW,
              "floats": [1.5, -2.5], "words": ["a", ""]}
    none = dict.fromkeys(values)
    write(place, "all_types", [{"driver_id": 1, "event_timestamp": NOW, "created": NOW, **values}])
    write(place, "all_types", [{"driver_id": 2, "event_timestamp": NOW, "created": NOW, **none}])
    got = place.ask([f"all_types:{name}" for name in schema], [{"driver_id": 1}, {"driver_id": 2}])
    assert {name: found[0] for name, found in got.items()} == {"driver_id": 1, **values}, got
    assert {name: found[1] for name, found in got.items()} == {"driver_id": 2, **none}, got
    # What SQL has no number for.
    online = place.store._get_provider().online_store
    odd = {"f64": Value(double_val=math.nan), "f32": Value(float_val=-math.inf), "word": Value(string_val="")}
    key = EntityKey(join_keys=["driver_id"], entity_values=[Value(int64_val=3)])
    online.online_write_batch(place.store.config, view, [(key, odd, NOW, None)], None)
    [(at, found)] = online.online_read(place.store.config, view, [key])
    assert at == NOW and math.isnan(found["f64"].double_val) and found["f32"].float_val == -math.inf and found["word"] == odd["word"]
    assert set(found) == set(odd), "features that were never written are not there"


@test
def the_newest_event_wins(place):
    place.store.apply([DRIVER, driver_view(place)])
    hour = timedelta(hours=1)
    def row(trips, age, created=0, driver=1):
        return {"driver_id": driver, "conv_rate": 1.0, "trips": trips, "event_timestamp": NOW - age * hour, "created": NOW - created * hour}
    def trips(driver=1):
        return place.ask(["driver_stats:trips"], [{"driver_id": driver}])["trips"][0]
    for wanted, given in [(1, row(1, 5)), (2, row(2, 3)), (2, row(3, 4)), (2, row(4, 3, created=1)), (5, row(5, 3)), (6, row(6, 2, created=9))]:
        write(place, "driver_stats", [given])
        assert trips() == wanted, (given, trips())
    # In one batch, in any order: a small one, and one that goes as a document.
    for driver, more in ((2, 0), (4, 100)):
        write(place, "driver_stats", [row(n, age, driver=driver) for n, age in enumerate([4, 2, 1, 3])] + [row(n, 5, driver=driver) for n in range(more)])
        assert trips(driver) == 2
        write(place, "driver_stats", [row(n, 0.9, driver=driver) for n in range(1 + more)])
        assert trips(driver) == more
    # By many at once, the newest is left.
    ages = [n / 50 for n in range(1, 41)]
    def work(age):
        write(place, "driver_stats", [row(int(age * 1000), age, driver=3)])
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(work, ages[::2] + ages[1::2]))
    assert trips(3) == int(ages[0] * 1000)


@test
def rows_beyond_their_time_to_live_are_not_returned_and_purged(place):
    place.store.apply([DRIVER, driver_view(place, ttl=timedelta(seconds=3600))])
    def row(driver, at):
        return {"driver_id": driver, "conv_rate": 1.0, "trips": driver, "event_timestamp": at, "created": at}
    def trips(drivers):
        return place.ask(["driver_stats:trips"], [{"driver_id": driver} for driver in drivers])["trips"]
    soon = datetime.now(timezone.utc) - timedelta(seconds=3600 - 4)
    write(place, "driver_stats", [row(1, NOW), row(2, NOW - timedelta(seconds=3601)), row(3, soon)])
    assert trips([1, 2]) == [1, None]
    assert trips([3]) == [3] or datetime.now(timezone.utc) > soon + timedelta(seconds=3600)
    until(lambda: trips([1, 3]) == [1, None])
    assert datetime.now(timezone.utc) >= soon + timedelta(seconds=3600)
    # What is stored, whether or not anybody sees it.
    stored = "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'feast'"
    until(lambda: place.client.sql(stored).value() == 1)
    # An older event may take the place of one that is gone; a newer one lives from its own time on.
    write(place, "driver_stats", [row(3, datetime.now(timezone.utc))])
    assert trips([3]) == [3]
    # Another time to live counts for what is there.
    place.store.apply([driver_view(place, ttl=timedelta(seconds=7200))])
    write(place, "driver_stats", [row(2, NOW - timedelta(seconds=3700))])
    assert trips([1, 2, 3]) == [1, 2, 3]
    place.store.apply([driver_view(place, ttl=timedelta(seconds=1800))])
    assert trips([1, 2, 3]) == [1, None, 3]
    place.store.apply([driver_view(place, ttl=timedelta(0))])
    write(place, "driver_stats", [row(4, NOW - timedelta(days=900))])
    assert trips([1, 2, 3, 4]) == [1, None, 3, 4]
    place.store.apply([driver_view(place, ttl=timedelta(milliseconds=3_600_500))])
    assert "3600500000 MICROSECOND" in place.client.sql("SELECT CREATE_OPTIONS FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'feast'").value()
    assert trips([1, 4]) == [1, None]


def several_views(place):
    orders = [{"customer_id": name, "spent": 1.5 * n, "event_timestamp": NOW, "created": NOW} for n, name in enumerate(["ann", "bob", "o'ö\\"])]
    both = [{"customer_id": name, "driver_id": 1001, "rides": n, "event_timestamp": NOW, "created": NOW} for n, name in enumerate(["ann", "bob"])]
    world = [{"temperature": 21, "event_timestamp": NOW, "created": NOW}]
    views = [driver_view(place),
             FeatureView(name="customer_stats", entities=[CUSTOMER], schema=[Field(name="spent", dtype=Float64)], source=place.source("orders", orders)),
             FeatureView(name="rides", entities=[DRIVER, CUSTOMER], schema=[Field(name="rides", dtype=Int64)], source=place.source("rides", both)),
             FeatureView(name="world", entities=[], schema=[Field(name="temperature", dtype=Int64)], source=place.source("world", world))]
    place.store.apply([DRIVER, CUSTOMER, *views])
    place.store.materialize(NOW - timedelta(days=7), NOW + timedelta(seconds=1))
    return views


ALL = ["driver_stats:trips", "customer_stats:spent", "rides:rides", "world:temperature"]
ROWS = [{"driver_id": 1001, "customer_id": "ann"}, {"driver_id": 1002, "customer_id": "bob"}, {"driver_id": 1001, "customer_id": "o'ö\\"}]
EXPECTED = {"trips": [10011, 10021, 10011], "spent": [0.0, 1.5, 3.0], "rides": [0, None, None], "temperature": [21, 21, 21]}


@test
def several_views_are_read_in_one_request(place, node):
    several_views(place)
    proxy = Proxy(node.http)
    place.configure(proxy.url)
    def asked(run):
        before = proxy.requests
        got = run()
        return {name: got[name] for name in EXPECTED}, proxy.requests - before
    run = lambda: place.ask(ALL, ROWS)
    run()  # Asks what the tables are made of, too.
    assert asked(run) == (EXPECTED, 1)
    assert asked(lambda: asyncio.run(place.store.get_online_features_async(features=ALL, entity_rows=ROWS)).to_dict()) == (EXPECTED, 1)
    named = place.ask(ALL, ROWS[:1], full_feature_names=True)
    assert named["driver_stats__trips"] == [10011] and named["world__temperature"] == [21]
    # An answer that is lost is asked for again, and a write done again does no harm.
    proxy.lose = 1
    assert asked(run)[0] == EXPECTED
    proxy.lose = 1
    write(place, "customer_stats", [{"customer_id": "ann", "spent": 9.0, "event_timestamp": NOW + timedelta(seconds=1), "created": NOW}])
    assert proxy.lose == 0 and place.ask(["customer_stats:spent"], [{"customer_id": "ann"}])["spent"] == [9.0]
    proxy.stop()


@test
def on_demand_views_and_services(place):
    views = several_views(place)
    extra = RequestSource(name="extra", schema=[Field(name="bonus", dtype=Int64)])

    @on_demand_feature_view(sources=[views[0], extra], schema=[Field(name="paid", dtype=Float64)], mode="python")
    def paid(inputs):
        return {"paid": [float(trips or 0) + bonus for trips, bonus in zip(inputs["trips"], inputs["bonus"])]}
    service = FeatureService(name="ranking", features=[views[0][["trips"]], views[1], paid])
    place.store.apply([paid, service])
    rows = [{**row, "bonus": n} for n, row in enumerate(ROWS)]
    got = place.store.get_online_features(features=place.store.get_feature_service("ranking"), entity_rows=rows).to_dict()
    assert got["paid"] == [10011.0, 10022.0, 10013.0] and got["spent"] == EXPECTED["spent"], got


@test
def what_is_pushed_is_served(place):
    batch = place.source("drivers", driver_rows())
    pushed = PushSource(name="pushed", batch_source=batch)
    schema = [Field(name="conv_rate", dtype=Float32), Field(name="trips", dtype=Int64)]
    view = FeatureView(name="driver_stats", entities=[DRIVER], ttl=timedelta(days=1), schema=schema, source=pushed)
    place.store.apply([DRIVER, view])
    frame = pandas.DataFrame([{"driver_id": 7, "conv_rate": 0.5, "trips": 70, "event_timestamp": NOW, "created": NOW}])
    place.store.push("pushed", frame)
    frame["trips"] = 71
    asyncio.run(place.store.push_async("pushed", frame))
    assert place.ask(["driver_stats:trips"], [{"driver_id": 7}])["trips"] == [71]


@test
def a_view_that_changes_keeps_its_rows(place):
    place.store.apply([DRIVER, driver_view(place)])
    write(place, "driver_stats", [{"driver_id": 1, "conv_rate": 0.5, "trips": 10, "event_timestamp": NOW, "created": NOW}])
    schema = [Field(name="trips", dtype=Int64), Field(name="Rating", dtype=Float64), Field(name="rating", dtype=Int64),
              Field(name="event_ts", dtype=String), Field(name="é" * 80, dtype=Int64)]
    view = FeatureView(name="driver_stats", entities=[DRIVER], ttl=timedelta(days=2), schema=schema, source=place.source("drivers", driver_rows()))
    place.store.apply([view])
    names = [f"driver_stats:{field.name}" for field in schema]
    assert [found[0] for found in list(place.ask(names, [{"driver_id": 1}]).values())[1:]].count(10) == 1
    write(place, "driver_stats", [{"driver_id": 1, "trips": 11, "Rating": 4.5, "rating": 4, "event_ts": "mine", "é" * 80: 5,
                                   "event_timestamp": NOW, "created": NOW}])
    got = place.ask(names, [{"driver_id": 1}])
    assert got == {"driver_id": [1], "trips": [11], "Rating": [4.5], "rating": [4], "event_ts": ["mine"], "é" * 80: [5]}, got
    # Applied again, nothing is changed; a view that is taken out takes its table along.
    before = place.client.sql("SHOW CREATE TABLE feast.shop_driver_stats").one()
    place.store.apply([view])
    assert place.client.sql("SHOW CREATE TABLE feast.shop_driver_stats").one() == before
    other = FeatureView(name="Other View!" * 9, entities=[DRIVER], schema=[Field(name="trips", dtype=Int64)], source=place.source("o", driver_rows()))
    place.store.apply([other])
    assert len(place.tables()) == 2
    place.store.apply([], objects_to_delete=[view], partial=False)
    assert len(place.tables()) == 1 and not any("driver" in name for name in place.tables())
    place.store.teardown()
    assert place.tables() == set()


@test
def versions_of_a_view_have_tables_of_their_own(place):
    place.configure(place.store.config.online_store.address, "registry:\n    path: registry.db\n    enable_online_feature_view_versioning: true")
    row = {"driver_id": 1, "event_timestamp": NOW, "created": NOW}
    place.store.apply([DRIVER, driver_view(place)])
    write(place, "driver_stats", [{**row, "conv_rate": 0.5, "trips": 10}])
    schema = [Field(name="trips", dtype=Int64), Field(name="rating", dtype=Float64)]
    second = FeatureView(name="driver_stats", entities=[DRIVER], ttl=timedelta(days=1), schema=schema, source=place.source("drivers", driver_rows()))
    place.store.apply([second])
    assert place.tables() == {"shop_driver_stats", "shop_driver_stats_v1"}
    write(place, "driver_stats", [{**row, "trips": 11, "rating": 4.5}])
    got = place.ask(["driver_stats@v0:trips", "driver_stats@v1:trips", "driver_stats@v1:rating"], [{"driver_id": 1}], full_feature_names=True)
    assert got == {"driver_id": [1], "driver_stats@v0__trips": [10], "driver_stats@v1__trips": [11], "driver_stats@v1__rating": [4.5]}, got
    place.store.teardown()
    assert place.tables() == set()


@test
def a_table_of_another_view_is_left_alone(place):
    place.client.sql("CREATE DATABASE IF NOT EXISTS feast")
    place.client.sql("CREATE TABLE feast.shop_driver_stats (id INT PRIMARY KEY)")
    place.client.sql("CREATE TABLE feast.notes (id INT PRIMARY KEY)")
    try:
        place.store.apply([DRIVER, driver_view(place)])
    except latsdb.LatsdbError as error:
        assert "not that of Feast: shop/driver_stats" in str(error)
    else:
        raise AssertionError("it was taken")
    place.store.teardown()
    assert place.tables() == {"shop_driver_stats", "notes"}


@test
def many_rows_are_written_and_read_in_pieces(place):
    place.store.apply([DRIVER, driver_view(place)])
    count, done = 2500, []
    place.configure(place.store.config.online_store.address, write_rows=1000)
    online, view = place.store._get_provider().online_store, place.store.get_feature_view("driver_stats")
    keys = [EntityKey(join_keys=["driver_id"], entity_values=[Value(int64_val=n)]) for n in range(count)]
    data = [(key, {"conv_rate": Value(float_val=0.5), "trips": Value(int64_val=n)}, NOW, None) for n, key in enumerate(keys)]
    online.online_write_batch(place.store.config, view, data, done.append)
    assert done == [1000, 1000, 500]
    feast_latsdb.store.KEYS_AT_ONCE = 1000
    found = online.online_read(place.store.config, view, keys + keys[:1], ["trips"])
    assert [values["trips"].int64_val for _, values in found] == [*range(count), 0]
    assert online.online_read(place.store.config, view, []) == []
    feast_latsdb.store.KEYS_AT_ONCE = 10_000
    # To other processes it goes without its connections.
    sent = pickle.loads(pickle.dumps(online))
    assert sent.online_read(place.store.config, view, keys[5:6])[0][1]["trips"].int64_val == 5


@test
def an_account_with_few_rights_is_enough_for_serving(place):
    place.store.apply([DRIVER, driver_view(place)])
    place.store.materialize(NOW - timedelta(days=7), NOW)
    place.client.sql("CREATE USER IF NOT EXISTS serving@localhost IDENTIFIED BY 'secret'")
    place.client.sql("GRANT SELECT ON feast.* TO serving@localhost")
    place.configure(place.store.config.online_store.address, user="serving", password="secret")
    assert place.ask(["driver_stats:trips"], [{"driver_id": 1001}])["trips"] == [10011]
    try:
        write(place, "driver_stats", [{"driver_id": 1, "conv_rate": 0.5, "trips": 1, "event_timestamp": NOW, "created": NOW}])
    except latsdb.Forbidden as problem:
        assert problem.code == 1142
    else:
        raise AssertionError("it may only read")
    place.client.sql("DROP USER serving@localhost")


@test
def precomputed_vectors_are_kept(place):
    place.store.apply([DRIVER, driver_view(place)])
    online, config = place.store._get_provider().online_store, place.store.config
    key = EntityKey(join_keys=["driver_id"], entity_values=[Value(int64_val=1)])
    other = EntityKey(join_keys=["driver_id"], entity_values=[Value(int64_val=2)])
    assert online.read_precomputed_vectors(config, "ranking", "shop", [key]) == [None]
    online.write_precomputed_vector(config, "ranking", "shop", key, b"\0vector")
    assert online.read_precomputed_vectors(config, "ranking", "shop", [other, key]) == [None, b"\0vector"]
    place.store.teardown()
    assert place.tables() == set()


def main():
    options = runner.prepared(runner.arguments(__doc__))
    node = Node(options.binary, os.path.join(options.dir, "data"))
    address = f"http://127.0.0.1:{node.http}"

    def call(run):
        with latsdb.Client(address) as client:
            client.sql("DROP DATABASE IF EXISTS feast")
            place = Place(os.path.join(options.dir, run.__name__), address, client)
            run(place, node) if run.__code__.co_argcount == 2 else run(place)

    runner.run_tests(options.names, call, node.stop)


if __name__ == "__main__":
    main()
