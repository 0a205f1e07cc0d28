"""Training sets beside pandas' merge_asof, on events and features made at random."""

import datetime
import random
from decimal import Decimal

import pandas
import pyarrow

from latsdb import History, LatsdbError

SECOND = datetime.timedelta(seconds=1)
BEGIN = datetime.datetime(2024, 1, 1)


def run(client):
    for seed, max_age in enumerate([None, 5000, 2.5]):
        of_seed(client, random.Random(seed), max_age, users=15, rows=400, events=250, span=100_000)
    errors(client)


def of_seed(client, chance, max_age, users, rows, events, span):
    made = made_at_random(client, chance, users, rows, span)
    # Beyond both ends of what is known, at the very moments of rows, and of users that nobody knows.
    moments = [BEGIN + chance.randrange(-span // 10, span + span // 10) * SECOND for _ in range(events)]
    who = [chance.randrange(users + 3) for _ in moments]
    # Up to the very age at which a row does not count any more, and behind it.
    late = [0, 1, 3, max_age or 4]
    known = made["user"][["user_id", "made"]].itertuples(index=False)
    for at, (user, moment) in enumerate(chance.sample(list(known), events // 3)):
        moments[at], who[at] = moment.to_pydatetime() + chance.choice(late) * SECOND, user
    words = [chance.choice(["A", "b", "ü", "none"]) for _ in moments]
    for at, (word, moment) in enumerate(chance.sample(list(made["words"]), events // 3), events // 3):
        moments[at], words[at] = moment + chance.choice(late) * SECOND, word
    label = pandas.DataFrame({"at": pandas.Series(moments).astype("datetime64[us]"), "who": who, "word": words, "label": range(len(moments))})
    histories = [
        History("shop.by_user", ["clicks", "price"], "made", key={"user_id": "who"}, created="created", max_age_seconds=max_age, name="user",
                defaults={"clicks": -1}),
        History("shop.by_word", ["score"], "at_ms", key={"word": "word"}, max_age_seconds=max_age, with_event_time=True),
        History("shop.by_both", ["flag"], "made", key=["data", "who"]),
    ]
    label["data"] = [f"d{n % 3}".encode() for n in range(len(label))]
    expected = as_pandas_has_it(label, made, max_age)
    got = client.training_frame(label, "at", histories)
    compare(got, expected)
    # The same, of a table and of a query.
    client.sql("CREATE TABLE shop.events (label INT PRIMARY KEY, at DATETIME(6), who BIGINT, word VARCHAR(20), data VARBINARY(10))")
    client.table("shop.events").load(label)
    compare(client.training_frame("shop.events", "at", histories), expected)
    query = "SELECT label, at, who, word, data FROM shop.events WHERE label >= 10"
    compare(client.training_frame(query, "at", histories), expected[expected["label"] >= 10])
    plan = [row for row in client.sql("EXPLAIN " + client_sql(client, histories)[0], client_sql(client, histories)[1]).dicts()]
    lookups = [row for row in plan if row["select_type"] == "DEPENDENT DERIVED"]
    assert len(lookups) == 3 and all(row["key"] == "PRIMARY" and row["type"] == "range" for row in lookups), plan
    # As Arrow, and as rows, with moments that have a zone.
    zoned = [{"at": row["at"].to_pydatetime().replace(tzinfo=datetime.timezone.utc), "who": row["who"], "label": row["label"]}
             for _, row in label[:50].iterrows()]
    table = client.training_set(zoned, "at", histories[:1])
    assert isinstance(table, pyarrow.Table) and table.column("label").to_pylist() == label["label"][:50].tolist()
    assert table.column("user__clicks").to_pylist() == expected["user__clicks"][:50].tolist()
    client.sql("DROP TABLE shop.events, shop.by_user, shop.by_word, shop.by_both")


def client_sql(client, histories):
    import latsdb

    return latsdb.training_sql(client, "shop.events", "at", histories)


def made_at_random(client, chance, users, rows, span):
    # Its key has rows of one time in another order than that of their making.
    client.sql("CREATE TABLE shop.by_user (user_id BIGINT, made DATETIME(3), n INT, created DATETIME(3), clicks INT, price DECIMAL(10,3),"
               " PRIMARY KEY (user_id, made, n))")
    client.sql("CREATE TABLE shop.by_word (word VARCHAR(10) COLLATE utf8mb4_bin, at_ms BIGINT, score DOUBLE, PRIMARY KEY (word, at_ms))")
    client.sql("CREATE TABLE shop.by_both (data VARBINARY(10), who INT, made TIMESTAMP(6), flag BOOLEAN, PRIMARY KEY (data, who, made))")
    found = {}
    for _ in range(rows):
        moment, user = BEGIN + chance.randrange(span) * SECOND, chance.randrange(users)
        for late in range(chance.choice([1, 1, 1, 3])):
            key = (user, moment, moment + late * SECOND)
            clicks = None if chance.random() < 0.1 else chance.randrange(1000)
            found[key] = (clicks, Decimal(chance.randrange(10**6)) / 1000)
    frame = pandas.DataFrame([(*key, *value) for key, value in found.items()], columns=["user_id", "made", "created", "clicks", "price"])
    frame["clicks"] = frame["clicks"].astype("Int64")
    frame["made"] = frame["made"].astype("datetime64[us]")
    frame["n"] = -frame["created"].rank().astype(int)
    client.table("shop.by_user").load(frame)
    frame = frame.drop(columns="n")
    words = {(chance.choice(["a", "A", "b", "ü"]), BEGIN + chance.randrange(span) * SECOND): chance.random() for _ in range(rows)}
    utc = datetime.timezone.utc
    client.table("shop.by_word").load({"word": word, "at_ms": round(at.replace(tzinfo=utc).timestamp() * 1000), "score": score}
                                      for (word, at), score in words.items())
    both = {(f"d{chance.randrange(3)}".encode(), chance.randrange(users), BEGIN + chance.randrange(span) * SECOND): chance.random() < 0.5
            for _ in range(rows)}
    client.table("shop.by_both").load({"data": data, "who": who, "made": at, "flag": flag} for (data, who, at), flag in both.items())
    return {"user": frame, "words": words, "both": both}


def as_pandas_has_it(label, made, max_age):
    tolerance = None if max_age is None else pandas.Timedelta(seconds=max_age)
    events = label.sort_values("at", kind="stable")
    users = made["user"].sort_values(["made", "created"], kind="stable").drop_duplicates(["user_id", "made"], keep="last")
    users = users.rename(columns={"user_id": "who", "clicks": "user__clicks", "price": "user__price"}).drop(columns="created")
    joined = pandas.merge_asof(events, users, left_on="at", right_on="made", by="who", tolerance=tolerance).drop(columns="made")
    joined["user__clicks"] = joined["user__clicks"].fillna(-1)
    words = pandas.DataFrame([(*key, score) for key, score in made["words"].items()], columns=["word", "word_at", "score"])
    words["word_at"] = words["word_at"].astype("datetime64[us]")
    joined = pandas.merge_asof(joined, words.sort_values("word_at"), left_on="at", right_on="word_at", by="word", tolerance=tolerance)
    both = pandas.DataFrame([(*key, flag) for key, flag in made["both"].items()], columns=["data", "who", "both_at", "flag"])
    both["both_at"] = both["both_at"].astype("datetime64[us]")
    joined = pandas.merge_asof(joined, both.sort_values("both_at"), left_on="at", right_on="both_at", by=["data", "who"])
    return joined.sort_values("label")


def compare(got, expected):
    assert len(got) == len(expected) > 100
    got = got.sort_values("label")
    none = lambda column: [None if pandas.isna(value) else value for value in column]
    for name in ("label", "user__clicks", "user__price", "score", "flag"):
        ours, theirs = none(got[name]), none(expected[name])
        assert ours == theirs, (name, [(n, a, b) for n, (a, b) in enumerate(zip(ours, theirs)) if a != b][:5])
    ours = [None if value is None else pandas.Timestamp(int(value), unit="ms") for value in none(got["at_ms"])]
    assert ours == none(expected["word_at"])
    # Neither all of it is there nor nothing: the comparison says something.
    missing = [int(got["score"].isna().sum()), int((got["user__clicks"] == -1).sum())]
    assert all(0 < count < len(got) for count in missing), (missing, len(got))


def errors(client):
    client.sql("CREATE TABLE shop.h (k INT, at DATETIME, x INT, PRIMARY KEY (k, at))")
    events = [{"k": 1, "at": BEGIN}]
    for wrong in (History("shop.nothing", ["x"], "at"), History("shop.h", ["y"], "at"), History("shop.h", ["x"], "y"),
                  History("shop.h", ["x"], "at", key=["a", "b"])):
        try:
            client.training_set(events, "at", [wrong])
        except LatsdbError:
            continue
        raise AssertionError(wrong)
    assert client.training_set(events, "at", [History("shop.h", ["x"], "at")]).to_pylist() == [{"k": 1, "at": BEGIN, "x": None}]
