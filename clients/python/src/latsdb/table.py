"""Rows of one table: by key, by index, and changed."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union
from urllib.parse import quote, urlencode

from . import values
from .errors import NotFound
from .results import Changed
from .transport import Request

if TYPE_CHECKING:
    from .operations import Definitions, Operations

Key = Any
Row = Mapping[str, Any]
NDJSON = "application/x-ndjson"


class Page(NamedTuple):
    rows: list[dict[str, Any]]
    #: Where the next page begins; None: this is the last one.
    next: Optional[str]


class Tagged(NamedTuple):
    row: dict[str, Any]
    #: Of the row as it is now: what `if_match` takes.
    tag: str


class Definition:
    """What a table is made of."""

    def __init__(self, name: str, told: Mapping[str, Any], known: "Definitions") -> None:
        self.database: str = told["database"]
        self.table: str = told["table"]
        self.columns: list[dict[str, Any]] = told["columns"]
        self.primary_key: Optional[list[str]] = told["primary_key"]
        self.indexes: list[dict[str, Any]] = told["indexes"]
        self._name, self._known = name, known
        #: By names in lower case: SQL's names of columns have no case.
        self._converters = {one["name"].lower(): values.converter(one["type"]) for one in self.columns}

    def row(self, told: dict[str, Any], asker: "Operations") -> dict[str, Any]:
        """A row with Python's values."""
        if not all(name.lower() in self._converters for name in told):
            # The table has been changed.
            self._known.forget(self._name)
            return self._known.of(self._name, asker)._converted(told)
        return self._converted(told)

    def _converted(self, told: dict[str, Any]) -> dict[str, Any]:
        for name, value in told.items():
            made = self._converters.get(name.lower())
            if made is not None and value is not None:
                told[name] = made(value)
        return told


class Table:
    def __init__(self, owner: "Operations", database: str, name: str) -> None:
        self._owner = owner
        self.database, self.name = database, name
        self._path = f"/tables/{quote(database, safe='')}/{quote(name, safe='')}"

    @property
    def full_name(self) -> str:
        return f"{self.database}.{self.name}"

    def definition(self) -> Definition:
        return self._owner._definitions.of(self.full_name, self._owner)

    # --- reading ---

    def get(
        self, key: Key, columns: Optional[Sequence[str]] = None, timeout: Optional[float] = None
    ) -> Optional[dict[str, Any]]:
        """The row with a primary key; None: there is none. A composite key is a tuple."""
        found = self._get(key, columns, timeout)
        return None if found is None else found[0]

    def get_tagged(self, key: Key, timeout: Optional[float] = None) -> Optional[Tagged]:
        """As [get], with the row's tag."""
        found = self._get(key, None, timeout)
        return None if found is None else Tagged(*found)

    def get_many(
        self, keys: Sequence[Key], columns: Optional[Sequence[str]] = None, timeout: Optional[float] = None
    ) -> list[Optional[dict[str, Any]]]:
        """The rows with these keys, in their order, all as they were at one moment."""
        from .operations import Read

        return self._owner.read([Read(self.full_name, keys, columns)], timeout)[0]

    def page(
        self,
        *,
        index: Optional[str] = None,
        prefix: Optional[Sequence[Any]] = None,
        start: Optional[Sequence[Any]] = None,
        stop: Optional[Sequence[Any]] = None,
        descending: bool = False,
        limit: int = 100,
        after: Optional[str] = None,
        columns: Optional[Sequence[str]] = None,
        timeout: Optional[float] = None,
    ) -> Page:
        """A page of rows in the order of an index (the primary key without one). `start` is the first that is wanted, `stop` the first that is
        not, `prefix` what the leading columns are, or begin with: each a list of values for leading columns of the index."""
        wanted: dict[str, str] = {"limit": str(limit)}
        if index is not None:
            wanted["index"] = index
        if descending:
            wanted["order"] = "desc"
        for name, bound in (("prefix", prefix), ("from", start), ("to", stop)):
            if bound is not None:
                if isinstance(bound, (str, bytes)):
                    raise TypeError(f"{name} is a list of values")
                wanted[name] = values.dumps(list(bound)).decode()
        if after is not None:
            wanted["after"] = after
        if columns is not None:
            wanted["columns"] = ",".join(columns)
        told = self._owner._ask("GET", f"{self._path}/rows?{urlencode(wanted)}", timeout=timeout)
        definition = self.definition()
        return Page([definition.row(row, self._owner) for row in told["rows"]], told["next"])

    def rows(self, *, page_rows: int = 1000, **wanted: Any) -> Iterator[dict[str, Any]]:
        """All rows of a range, read page by page; what [page] takes. Each page is of its own moment."""
        after = None
        while True:
            page = self.page(limit=page_rows, after=after, **wanted)
            yield from page.rows
            after = page.next
            if after is None:
                return

    # --- changing ---

    def insert(
        self,
        rows: Union[Row, Sequence[Row]],
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Changed:
        """Adds a row, or several: all or none."""
        body = values.dumps(rows if isinstance(rows, Mapping) else list(rows))
        answer = self._owner._change(
            "POST", f"{self._path}/rows", body, idempotency_key=idempotency_key, timeout=timeout
        )
        return _changed(answer.body)

    def load(self, rows: Any, *, batch_rows: int = 5000, timeout: Optional[float] = None) -> int:
        """Adds many rows, `batch_rows` in a transaction: dicts one after another, a data frame of pandas, or a table of Arrow. Says how many."""
        from . import frames

        loaded, each = 0, iter(frames.rows_of(rows))
        while batch := list(itertools.islice(each, batch_rows)):
            body = b"\n".join(map(values.dumps, batch))
            answer = self._owner._change("POST", f"{self._path}/rows", body, content_type=NDJSON, timeout=timeout)
            loaded += _changed(answer.body).affected_rows
        return loaded

    def put(
        self,
        key: Key,
        row: Row,
        *,
        if_match: Optional[str] = None,
        if_absent: bool = False,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> bool:
        """Puts a row in the place of the one with this key: columns that are not given get their defaults. True: there was none."""
        headers = _conditions(if_match)
        if if_absent:
            headers["If-None-Match"] = "*"
        answer = self._owner._change(
            "PUT",
            self._row_path(key),
            values.dumps(row),
            headers=headers,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return answer.status == 201

    def patch(
        self,
        key: Key,
        row: Row,
        *,
        if_match: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> None:
        """Changes the columns that are given."""
        self._owner._change(
            "PATCH",
            self._row_path(key),
            values.dumps(row),
            headers=_conditions(if_match),
            idempotency_key=idempotency_key,
            timeout=timeout,
        )

    def delete(
        self,
        key: Key,
        *,
        if_match: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> bool:
        """Removes the row. False: there was none."""
        try:
            self._owner._change(
                "DELETE",
                self._row_path(key),
                None,
                headers=_conditions(if_match),
                idempotency_key=idempotency_key,
                timeout=timeout,
            )
        except NotFound as problem:
            # Of a table that is not there, the statement has failed.
            if problem.code is not None or problem.name != "not-found":
                raise
            return False
        return True

    def _get(
        self, key: Key, columns: Optional[Sequence[str]], timeout: Optional[float]
    ) -> Optional[tuple[dict[str, Any], str]]:
        query = "?" + urlencode({"columns": ",".join(columns)}) if columns is not None else ""
        request = Request("GET", self._owner._root + self._row_path(key) + query)
        try:
            answer = self._owner._send(request, timeout)
        except NotFound as problem:
            if problem.code is not None or problem.name != "not-found":
                raise
            return None
        row = self.definition().row(json.loads(answer.body), self._owner)
        return row, answer.headers.get("etag", "")

    def _row_path(self, key: Key) -> str:
        parts = key if isinstance(key, (tuple, list)) else [key]
        texts = [_key_text(part) for part in parts]
        if texts == [""]:
            raise ValueError("an empty key has no path: it is read by get_many, and changed in a batch")
        return f"{self._path}/rows/{','.join(texts)}"


def _key_text(part: Any) -> str:
    if part is None:
        raise ValueError("no part of a primary key is NULL")
    if isinstance(part, bool):
        return "1" if part else "0"
    text = part if isinstance(part, str) else part if isinstance(part, (int, float)) else values.plain(part)
    return quote(str(text), safe="")


def _conditions(if_match: Optional[str]) -> dict[str, str]:
    return {} if if_match is None else {"If-Match": if_match}


def _changed(body: bytes) -> Changed:
    told = json.loads(body)
    return Changed(told["affected_rows"], told["last_insert_id"])


def split_name(name: str) -> tuple[str, str]:
    """`shop.orders` as its two names."""
    database, dot, table = name.partition(".")
    if not dot or not database or not table:
        raise ValueError(f"{name!r} is not database.table")
    return database, table
