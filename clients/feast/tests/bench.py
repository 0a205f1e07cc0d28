#!/usr/bin/env python3
"""How fast features are read and written: by the store as it is, over REST, and the same rows over MySQL's protocol.

    pip install PyMySQL; bench.py --http 127.0.0.1:8306 --mysql 127.0.0.1:3306 [--rows 100000] [--seconds 3]

The node must let `root` in without a password, over loopback. Each figure is of one client in one thread, values decoded.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../src"), os.path.join(HERE, "../../python/src")]
import pandas
import pymysql
from feast import Entity, FeatureStore, FeatureView, Field, FileSource, ValueType
from feast.infra.key_encoding_utils import serialize_entity_key
from feast.protos.feast.types.EntityKey_pb2 import EntityKey
from feast.protos.feast.types.Value_pb2 import Value
from feast.types import Float64
from feast_latsdb import tables

VIEWS, FEATURES = 3, 10
NAMES = [f"f{n}" for n in range(FEATURES)]
NOW = datetime.now(timezone.utc).replace(microsecond=0)


def entity_key(n):
    return EntityKey(join_keys=["user_id"], entity_values=[Value(int64_val=n)])


def store_in(folder, http):
    with open(os.path.join(folder, "feature_store.yaml"), "w") as file:
        file.write(f"project: bench\nregistry: registry.db\nprovider: local\noffline_store:\n    type: file\nonline_store:\n"
                   f"    type: feast_latsdb.LatsdbOnlineStore\n    address: http://{http}\nentity_key_serialization_version: 3\n")
    path = os.path.join(folder, "source.parquet")
    pandas.DataFrame([{"user_id": 1, **dict.fromkeys(NAMES, 0.5), "event_timestamp": NOW}]).to_parquet(path)
    store = FeatureStore(repo_path=folder)
    user = Entity(name="user", join_keys=["user_id"], value_type=ValueType.INT64)
    schema = [Field(name=name, dtype=Float64) for name in NAMES]
    views = [FeatureView(name=f"view{n}", entities=[user], ttl=timedelta(days=1), schema=schema,
                         source=FileSource(name=f"s{n}", path=path, timestamp_field="event_timestamp")) for n in range(VIEWS)]
    store.apply([user, *views])
    return store, views


def data(begin, end):
    return [(entity_key(n), {name: Value(double_val=random.random()) for name in NAMES}, NOW, None) for n in range(begin, end)]


class OverMysql:
    """The same, by PyMySQL: a statement for each view, all in one snapshot."""

    def __init__(self, address):
        host, port = address.split(":")
        self.cursor = pymysql.connect(host=host, port=int(port), user="root", database="feast", autocommit=True).cursor()

    def read(self, keys):
        found = []
        sent = [serialize_entity_key(key, entity_key_serialization_version=3) for key in keys]
        self.cursor.execute("START TRANSACTION READ ONLY")
        for view in range(VIEWS):
            places = ", ".join(["%s"] * len(sent))
            self.cursor.execute(f"SELECT entity_key, event_ts, {', '.join(NAMES)} FROM bench_view{view} WHERE entity_key IN ({places})", sent)
            rows = {row[0]: (row[1], dict(zip(NAMES, map(Value.FromString, row[2:])))) for row in self.cursor.fetchall()}
            found.append([rows.get(key, (None, None)) for key in sent])
        self.cursor.execute("COMMIT")
        return found

    def write(self, rows):
        columns = ["entity_key", "event_ts", *NAMES]
        newer = "VALUES(event_ts) >= event_ts"
        taken = ", ".join(f"{name} = IF({newer}, VALUES({name}), {name})" for name in NAMES) + ", event_ts = GREATEST(VALUES(event_ts), event_ts)"
        given = [(serialize_entity_key(key, entity_key_serialization_version=3), event.strftime("%Y-%m-%d %H:%M:%S"),
                  *(value.SerializeToString() for value in values.values())) for key, values, event, _ in rows]
        self.cursor.executemany(f"INSERT INTO bench_view0 ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})"
                                f" ON DUPLICATE KEY UPDATE {taken}", given)


def measured(name, count, seconds, run):
    took, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        argument = count()
        begun = time.perf_counter()
        run(argument)
        took.append((time.perf_counter() - begun, len(argument)))
    times = sorted(one for one, _ in took)
    rate = sum(n for _, n in took) / sum(times)
    print(f"| {name} | {times[len(times) // 2] * 1e3:.2f} | {times[int(len(times) * 0.99)] * 1e3:.2f} | {rate:,.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", required=True)
    parser.add_argument("--mysql", required=True)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store, views = store_in(folder, options.http)
        online, config = store._get_provider().online_store, store.config
        for view in views:
            for begin in range(0, options.rows, 20_000):
                online.online_write_batch(config, view, data(begin, min(begin + 20_000, options.rows)), None)
        mysql = OverMysql(options.mysql)
        print("| | p50 ms | p99 ms | keys/s |\n|---|---|---|---|")
        for count in (1, 10, 100, 1000):
            numbers = lambda: [random.randrange(options.rows) for _ in range(count)]
            keys = lambda: list(map(entity_key, numbers()))
            assert mysql.read([entity_key(7)])[2][0][1] == online._read(config, [(views[2], [entity_key(7)], NAMES)])[0][0][1]
            measured(f"{count} keys, REST", keys, options.seconds, lambda given: online._read(config, [(view, given, NAMES) for view in views]))
            measured(f"{count} keys, MySQL's protocol", keys, options.seconds, mysql.read)
        features = [f"view{view}:{name}" for view in range(VIEWS) for name in NAMES]
        for count in (1, 100):
            rows = lambda: [{"user_id": random.randrange(options.rows)} for _ in range(count)]
            measured(f"{count} keys, `get_online_features`", rows, options.seconds,
                     lambda given: store.get_online_features(features, given, full_feature_names=True))
        for count in (1, 2000):
            rows = lambda: [data(n, n + 1)[0] for n in random.sample(range(options.rows), count)]
            measured(f"{count} rows written, REST", rows, options.seconds, lambda given: online.online_write_batch(config, views[0], given, None))
            measured(f"{count} rows written, MySQL's protocol", rows, options.seconds, mysql.write)
        store.teardown()


if __name__ == "__main__":
    main()
