"""How feature views lie in tables: one table for each, with one row for each entity and one column for each feature.

    entity_key  VARBINARY   the entity's key, as Feast writes it; the primary key
    event_ts    DATETIME    in UTC. The view's time to live counts from here: an older row is seen by nobody, and purged
    created_ts  DATETIME    in UTC, or NULL
    <feature>   LONGBLOB    the value, as Feast writes it; NULL: this row never had one

A value is kept as Feast has it (its Value message), for SQL has no NaN, no lists and no null that differs from *not there*.
"""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from typing import Optional, Sequence

KEY, EVENT, CREATED = "entity_key", "event_ts", "created_ts"
OWN = frozenset([KEY, EVENT, CREATED])
#: What an index takes. A longer key is refused.
KEY_BYTES = 3072
NAME_MAX = 64


def safe_name(name: str, taken: frozenset[str] = frozenset()) -> str:
    """A name for SQL. One that SQL could take for another (names of columns have neither case nor accents), or that is too long, gets a hash."""
    if re.fullmatch(r"[a-z0-9_$]+", name) and len(name) <= NAME_MAX and name not in taken:
        return name
    readable = re.sub(r"[^a-z0-9_]+", "_", name.lower())[: NAME_MAX - 17]
    return f"{readable}_{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def column_of(feature: str) -> str:
    return safe_name(feature, OWN)


def quoted(*names: str) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


def ttl_rule(ttl: Optional[timedelta]) -> Optional[str]:
    """The interval after which rows are gone; None: they stay."""
    if not ttl:
        return None
    micros = ttl // timedelta(microseconds=1)
    whole, part = divmod(micros, 1_000_000)
    return f"INTERVAL {micros} MICROSECOND" if part else f"INTERVAL {whole} SECOND"


def create(database: str, table: str, comment: str, features: Sequence[str], ttl: Optional[timedelta]) -> str:
    columns = "".join(f", {quoted(column_of(feature))} LONGBLOB" for feature in features)
    rule = ttl_rule(ttl)
    # The purge finds what has expired by the index, and looks at nothing else.
    index, expires = (f", KEY ({EVENT})", f" TTL = {EVENT} + {rule}") if rule else ("", "")
    return (
        f"CREATE TABLE IF NOT EXISTS {quoted(database, table)} ({KEY} VARBINARY({KEY_BYTES}) NOT NULL PRIMARY KEY,"
        f" {EVENT} DATETIME(6) NOT NULL, {CREATED} DATETIME(6){columns}{index})"
        f" COMMENT = {text(comment)}{expires}"
    )


def changes(
    present: Sequence[str], indexed: bool, rule_now: Optional[str], features: Sequence[str], ttl: Optional[timedelta]
) -> list[str]:
    """What ALTER TABLE has to do to a table that is there already."""
    wanted = [column_of(feature) for feature in features]
    had = [column for column in present if column not in OWN]
    done = [f"ADD COLUMN {quoted(column)} LONGBLOB" for column in wanted if column not in had]
    done += [f"DROP COLUMN {quoted(column)}" for column in had if column not in wanted]
    rule = ttl_rule(ttl)
    if rule is not None and not indexed:
        done.append(f"ADD KEY ({EVENT})")
    if rule != rule_now:
        done.append(f"TTL = {EVENT} + {rule}" if rule is not None else "REMOVE TTL")
    return done


def rule_of(create_options: str) -> Optional[str]:
    """The interval in `information_schema.TABLES.CREATE_OPTIONS`."""
    found = re.search(r"TTL=`[^`]*` \+ (INTERVAL \d+ \w+)", create_options)
    return found.group(1) if found else None


def upsert(database: str, table: str, features: Sequence[str]) -> str:
    """Writes many rows that come as one JSON document: lists of key, times and values in base 64."""
    shape = [("k", "LONGTEXT"), ("e", "DATETIME(6)"), ("c", "DATETIME(6)")]
    shape += [(f"v{at}", "LONGTEXT") for at in range(len(features))]
    # Without ERROR ON ERROR, what does not fit would become NULL.
    paths = ", ".join(f"{name} {kind} PATH '$[{at}]' ERROR ON ERROR" for at, (name, kind) in enumerate(shape))
    values = "".join(f", FROM_BASE64(j.v{at})" for at in range(len(features)))
    rows = f"SELECT * FROM (SELECT FROM_BASE64(j.k), j.e, j.c{values} FROM JSON_TABLE(?, '$[*]' COLUMNS ({paths})) AS j) AS n"
    return f"{_insert(database, table, features)} {rows}{_newest_wins(database, table, features)}"


def upsert_few(database: str, table: str, features: Sequence[str], count: int) -> str:
    """The same with a parameter for each value, which for few rows takes a fraction of the time."""
    row = f"({', '.join(['?'] * (len(features) + 3))})"
    rows = ", ".join([row] * count)
    return f"{_insert(database, table, features)} VALUES {rows}{_newest_wins(database, table, features)}"


def _insert(database: str, table: str, features: Sequence[str]) -> str:
    columns = [KEY, EVENT, CREATED, *(quoted(column_of(feature)) for feature in features)]
    return f"INSERT INTO {quoted(database, table)} ({', '.join(columns)})"


def _newest_wins(database: str, table: str, features: Sequence[str]) -> str:
    """A row that is there gives way to one of a later event, or of the same one that was made later; where nobody says when, to the one that
    comes last."""
    target = quoted(database, table)
    is_newer = (
        f"VALUES({EVENT}) > {target}.{EVENT} OR VALUES({EVENT}) = {target}.{EVENT} AND"
        f" (VALUES({CREATED}) IS NULL OR {target}.{CREATED} IS NULL OR VALUES({CREATED}) >= {target}.{CREATED})"
    )
    # From left to right: the times last, as the others go by them.
    columns = [*(quoted(column_of(feature)) for feature in features), CREATED]
    taken = [f"{column} = IF({is_newer}, VALUES({column}), {target}.{column})" for column in columns]
    taken.append(f"{EVENT} = GREATEST(VALUES({EVENT}), {target}.{EVENT})")
    return f" ON DUPLICATE KEY UPDATE {', '.join(taken)}"


def text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
