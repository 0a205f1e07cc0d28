"""Training sets: what was known of entities at the moments of their events (a *point-in-time join*).

For each event the newest row of each history counts that is not younger than the event, nor older than `max_age_seconds` before it. SQL says it
with a LATERAL join, which reads one row of the history's primary key for each event:

    SELECT e.*, h0.clicks FROM events AS e
    LEFT JOIN LATERAL (SELECT h.clicks FROM user_stats AS h WHERE h.user_id = e.user_id AND h.made <= e.at
                       ORDER BY h.made DESC LIMIT 1) AS h0 ON TRUE
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence, Union

from . import values
from .errors import LatsdbError
from .table import split_name

if TYPE_CHECKING:
    import pyarrow

    from .client import Client
    from .operations import Operations

#: Events of one statement, where they are sent along. All statements of a training set see one snapshot.
EVENTS_AT_ONCE = 100_000


@dataclass(frozen=True)
class History:
    """Features with their past: a table whose primary key is an entity's key and, behind it, the time from which on a row holds."""

    table: str
    features: Sequence[str]
    #: A DATETIME or TIMESTAMP in UTC, or milliseconds since 1970.
    event_time: str
    #: Columns of the events that are the entity's key, in the order of the primary key, or by the columns of the table; those of the same names
    #: by default.
    key: Union[Sequence[str], Mapping[str, str], None] = None
    #: Of rows of the same time, the one that was made last counts.
    created: Optional[str] = None
    max_age_seconds: Optional[float] = None
    #: In the place of nothing, and of NULL.
    defaults: Mapping[str, Any] = field(default_factory=dict)
    #: Stands before the features' names: `user__clicks`.
    name: Optional[str] = None
    #: Whether the time of the row that counts is a column, too: `made`, or `user__made`.
    with_event_time: bool = False

    def columns(self) -> list[tuple[str, str]]:
        """Columns of the table, and their names in the training set."""
        wanted = [*self.features, *([self.event_time] if self.with_event_time else [])]
        return [(column, f"{self.name}__{column}" if self.name else column) for column in wanted]


@dataclass(frozen=True)
class _Shape:
    """What the node says of a history's table."""

    key: Mapping[str, str]
    #: By column: its type as SQL writes it, and its collation.
    types: Mapping[str, tuple[str, Optional[str]]]


def training_sql(asker: "Operations", events: str, event_time: str, histories: Sequence[History]) -> tuple[str, list[Any]]:
    """The statement for events that are in the database, and its parameters. `events` is a table, `database.table`, or a query."""
    shapes = [_shape(asker, history) for history in histories]
    source = f"({events})" if " " in events.strip() else ".".join(map(_quoted, split_name(events.strip())))
    keys = [{column: f"e.{_quoted(of)}" for of, column in shape.key.items()} for shape in shapes]
    return _statement(["e.*"], source, f"e.{_quoted(event_time)}", histories, shapes, keys)


def training_set(
    client: "Client",
    events: Any,
    event_time: str,
    histories: Sequence[History],
    timeout: Optional[float] = None,
) -> "pyarrow.Table":
    """Events, each with the features that were known at its time. `events` is a table, `database.table`, a query, a data frame of pandas, a
    table of Arrow, or a list of dicts; these are sent along, and come back in their order."""
    if isinstance(events, str):
        text, parameters = training_sql(client, events, event_time, histories)
        return client.arrow(text, parameters, timeout=timeout)
    return _of_given(client, _as_arrow(events), event_time, histories, timeout)


def _of_given(
    client: "Client", events: "pyarrow.Table", event_time: str, histories: Sequence[History], timeout: Optional[float]
) -> "pyarrow.Table":
    import pyarrow

    shapes = [_shape(client, history) for history in histories]
    # A column for each key and type that some history has it in.
    places: dict[tuple[str, str, Optional[str]], str] = {}
    keys = []
    for shape in shapes:
        of_table = {}
        for of, column in shape.key.items():
            type_name, collation = shape.types[column]
            place = places.setdefault((of, type_name, collation), f"k{len(places)}")
            of_table[column] = f"FROM_BASE64(e.{place})" if _is_binary(type_name) else f"e.{place}"
        keys.append(of_table)
    columns = ["n FOR ORDINALITY", "t DATETIME(6) PATH '$[0]'"]
    for at, ((_, type_name, collation), place) in enumerate(places.items(), 1):
        columns.append(f"{place} {_json_type(type_name, collation)} PATH '$[{at}]'")
    source = f"JSON_TABLE(?, '$[*]' COLUMNS ({', '.join(columns)}))"
    text, parameters = _statement(["e.n AS `latsdb n`"], source, "e.t", histories, shapes, keys)
    sent = [events.column(event_time), *(events.column(of) for of, _, _ in places)]
    parts: list[Any] = []

    def ask(asker: "Operations", begin: int) -> None:
        lists = [column.slice(begin, EVENTS_AT_ONCE).to_pylist() for column in sent]
        times = [_moment(given) for given in lists[0]]
        given = values.dumps(list(zip(times, *lists[1:]))).decode()
        part = asker.arrow(text, _with_source(parameters, given), timeout=timeout).sort_by("latsdb n")
        if part.num_rows != len(times):
            raise LatsdbError(f"{len(times)} events have become {part.num_rows}")
        parts.append(part.drop_columns(["latsdb n"]))

    if events.num_rows <= EVENTS_AT_ONCE:
        ask(client, 0)
    else:
        with client.transaction(read_only=True, deadline=60) as transaction:
            for begin in range(0, events.num_rows, EVENTS_AT_ONCE):
                ask(transaction, begin)
    found = pyarrow.concat_tables(parts)
    for name in found.column_names:
        events = events.append_column(name, found.column(name))
    return events


#: Where the events stand among a statement's parameters.
_SOURCE = object()


def _with_source(parameters: Sequence[Any], given: str) -> list[Any]:
    return [given if one is _SOURCE else one for one in parameters]


def _statement(
    columns: list[str],
    source: str,
    time: str,
    histories: Sequence[History],
    shapes: Sequence[_Shape],
    keys: Sequence[Mapping[str, str]],
) -> tuple[str, list[Any]]:
    columns = list(columns)
    joins: list[str] = []
    defaults: list[Any] = []
    ages: list[Any] = []
    for at, (history, shape, key) in enumerate(zip(histories, shapes, keys)):
        place = f"h{at}"
        for column, shown in history.columns():
            value = f"{place}.{_quoted(column)}"
            if column in history.defaults:
                value = f"COALESCE({value}, ?)"
                defaults.append(history.defaults[column])
            columns.append(f"{value} AS {_quoted(shown)}")
        made = f"h.{_quoted(history.event_time)}"
        in_ms = _is_integer(shape.types[history.event_time][0])
        now = f"FLOOR(UNIX_TIMESTAMP({time}) * 1000)" if in_ms else time
        conditions = [f"h.{_quoted(column)} = {value}" for column, value in key.items()]
        conditions.append(f"{made} <= {now}")
        if history.max_age_seconds is not None:
            if in_ms:
                conditions.append(f"{made} >= {now} - ?")
                ages.append(round(history.max_age_seconds * 1000))
            else:
                conditions.append(f"{made} >= {time} - INTERVAL ? MICROSECOND")
                ages.append(round(history.max_age_seconds * 1_000_000))
        order = [f"{made} DESC"] + ([f"h.{_quoted(history.created)} DESC"] if history.created else [])
        wanted = ", ".join(dict.fromkeys(f"h.{_quoted(column)}" for column, _ in history.columns()))
        table = ".".join(map(_quoted, split_name(history.table)))
        joins.append(
            f"LEFT JOIN LATERAL (SELECT {wanted} FROM {table} AS h WHERE {' AND '.join(conditions)}"
            f" ORDER BY {', '.join(order)} LIMIT 1) AS {place} ON TRUE"
        )
    is_sent = [_SOURCE] if source.startswith("JSON_TABLE(?") else []
    text = f"SELECT {', '.join(columns)} FROM {source} AS e {' '.join(joins)}".rstrip()
    return text, [*defaults, *is_sent, *ages]


def _shape(asker: "Operations", history: History) -> _Shape:
    database, table = split_name(history.table)
    told = asker.sql(
        "SELECT COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
        [database, table],
    )
    types = {name: (_text(type_name), collation) for name, type_name, collation in told.rows}
    if not types:
        raise LatsdbError(f"there is no table {history.table}")
    for column in [history.event_time, *history.features, *([history.created] if history.created else [])]:
        if column not in types:
            raise LatsdbError(f"{history.table} has no column {column}")
    return _Shape(_key_of(asker, history), types)


def _key_of(asker: "Operations", history: History) -> dict[str, str]:
    """By columns of the events, those of the table."""
    if isinstance(history.key, Mapping):
        return {of: column for column, of in history.key.items()}
    primary = asker._definitions.of(history.table, asker).primary_key or []
    times = (history.event_time, history.created)
    columns = [column for column in primary if column not in times]
    if not columns:
        raise LatsdbError(f"the primary key of {history.table} names no entity: say by `key` which columns do")
    names = list(history.key) if history.key is not None else columns
    if len(names) != len(columns):
        raise LatsdbError(f"the key of {history.table} is {', '.join(columns)}, and {', '.join(names)} are given")
    return dict(zip(names, columns))


def _as_arrow(events: Any) -> "pyarrow.Table":
    import pyarrow

    kind = type(events).__module__.partition(".")[0]
    if kind == "pandas":
        return pyarrow.Table.from_pandas(events, preserve_index=False)
    if kind == "pyarrow":
        return events if isinstance(events, pyarrow.Table) else pyarrow.Table.from_batches([events])
    rows: Iterable[Mapping[str, Any]] = events
    return pyarrow.Table.from_pylist([dict(row) for row in rows])


def _moment(given: Any) -> str:
    """In UTC, to the microsecond: an event that is younger by less sees nothing that it should not."""
    if not isinstance(given, datetime.datetime):
        raise TypeError(f"the time of an event is a moment, not {given!r}")
    # What Arrow gives for nanoseconds is pandas' own datetime.
    return values.datetime_text(given)


def _json_type(type_name: str, collation: Optional[str]) -> str:
    base = type_name.split("(", 1)[0].split(" ", 1)[0].lower()
    if _is_binary(type_name):
        return "LONGTEXT"
    if base in ("enum", "set") or collation is not None and base not in ("char", "varchar"):
        type_name = "VARCHAR(4096)"
    return type_name if collation is None else f"{type_name} CHARACTER SET {collation.split('_', 1)[0]} COLLATE {collation}"


def _is_binary(type_name: str) -> bool:
    return type_name.split("(", 1)[0].strip().lower() in values.BINARY_TYPES


def _is_integer(type_name: str) -> bool:
    return type_name.lower().startswith(("bigint", "int"))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
