"""What a client and a transaction of his have in common: rows, statements, batches, feature vectors."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, Iterable, Mapping, NamedTuple, Optional, Sequence, Union
from urllib.parse import quote

from . import values
from .features import FeatureVectors, Group, vectors_of
from .results import Changed, Result, RowStream, result_of
from .table import Definition, Table, split_name
from .transport import JSON, Answer, Request, Stream

if TYPE_CHECKING:
    import pandas
    import pyarrow

Key = Any
Row = Mapping[str, Any]

#: Statements that only read begin with one of these.
READS = frozenset(["select", "show", "describe", "desc", "explain", "table", "values", "help"])
#: Statements that take an idempotency key: others may end the transaction that the key is committed with.
KEYED = frozenset(["insert", "update", "delete", "replace"])


class Read(NamedTuple):
    """Rows of one table by their primary keys."""

    table: str
    keys: Sequence[Key]
    columns: Optional[Sequence[str]] = None


class Operations:
    """Everything that can be asked for inside and outside of a transaction."""

    #: In the place of `/v1`.
    _root = "/v1"
    #: Whether writes get idempotency keys by themselves.
    _keys_writes = False
    _definitions: "Definitions"

    def _send(self, request: Request, timeout: Optional[float]) -> Answer:
        raise NotImplementedError

    def _open(self, request: Request, timeout: Optional[float]) -> Stream:
        raise NotImplementedError

    # --- rows ---

    def table(self, name: str) -> Table:
        """A table, by `database.table`."""
        return Table(self, *split_name(name))

    def read(self, reads: Iterable[Read], timeout: Optional[float] = None) -> list[list[Optional[dict[str, Any]]]]:
        """Rows by their keys from several tables, all as they were at one moment: for each read a list in the order of its keys, with None
        where there is no row. A key is a value, a tuple or list of values, or a dict by columns. Up to 10 000 keys."""
        wanted = list(reads)
        body = {"reads": [_read_of(one) for one in wanted]}
        told = self._ask("POST", "/read", body, timeout=timeout)["reads"]
        found = []
        for one, got in zip(wanted, told):
            definition = self._definitions.of(one.table, self)
            found.append([None if row is None else definition.row(row, self) for row in got["rows"]])
        return found

    # --- statements ---

    def sql(
        self,
        text: str,
        parameters: Sequence[Any] = (),
        *,
        database: Optional[str] = None,
        timeout: Optional[float] = None,
        idempotency_key: Optional[str] = None,
        repeatable: Optional[bool] = None,
    ) -> Result:
        """Runs a statement; `?` stand for the parameters. All rows are collected.

        `repeatable`: the statement may be run twice without harm, so that it is sent again if its answer is lost. By default reads are, and
        INSERT, UPDATE, DELETE and REPLACE outside of a transaction, which get an idempotency key."""
        request = self._statement(text, parameters, database, "json", idempotency_key, repeatable)
        return result_of(json.loads(self._send(request, timeout).body))

    def stream(
        self, text: str, parameters: Sequence[Any] = (), *, database: Optional[str] = None, timeout: Optional[float] = None
    ) -> RowStream:
        """As [sql], with rows as they come: for results that are larger than memory. To be closed, or read to its end.

            with client.stream("SELECT id, name FROM shop.items") as rows:
                for id, name in rows: …
        """
        return RowStream(self._open(self._statement(text, parameters, database, "json", None, None), timeout))

    def arrow(
        self, text: str, parameters: Sequence[Any] = (), *, database: Optional[str] = None, timeout: Optional[float] = None
    ) -> "pyarrow.Table":
        """A query's rows as a table of Arrow, as the node sends them."""
        from . import frames

        return frames.table_of(self._open(self._statement(text, parameters, database, "arrow", None, None), timeout))

    def arrow_batches(
        self, text: str, parameters: Sequence[Any] = (), *, database: Optional[str] = None, timeout: Optional[float] = None
    ) -> "Iterable[pyarrow.RecordBatch]":
        """As [arrow], batch by batch as they come."""
        from . import frames

        return frames.batches_of(self._open(self._statement(text, parameters, database, "arrow", None, None), timeout))

    def pandas(
        self, text: str, parameters: Sequence[Any] = (), *, database: Optional[str] = None, timeout: Optional[float] = None
    ) -> "pandas.DataFrame":
        """A query's rows as a data frame. No value is rounded: whole numbers with NULLs among them get pandas' types with NULLs, DECIMAL
        stays Decimal."""
        from . import frames

        return frames.frame_of(self.arrow(text, parameters, database=database, timeout=timeout))

    # --- several changes at once ---

    def batch(self) -> "Batch":
        """Operations that are collected, and done by its `run`, or at the end of its `with`: all or none."""
        return Batch(self)

    # --- features ---

    def features(
        self,
        groups: Sequence[Group],
        entities: Sequence[Row],
        passed: Optional[Sequence[Row]] = None,
        timeout: Optional[float] = None,
    ) -> FeatureVectors:
        """Feature vectors of entities, from several tables, all as they were at one moment. A value is what is passed, else what is stored
        and young enough, else the default, else None."""
        body: dict[str, Any] = {"groups": [group.told() for group in groups], "entities": list(entities)}
        if passed is not None:
            body["passed"] = list(passed)
        return vectors_of(self._ask("POST", "/features", body, timeout=timeout))

    # --- requests ---

    def _ask(self, method: str, path: str, body: Any = None, timeout: Optional[float] = None) -> Any:
        """A read, answered in JSON."""
        encoded = None if body is None else values.dumps(body)
        return json.loads(self._send(Request(method, self._root + path, encoded), timeout).body)

    def _change(
        self,
        method: str,
        path: str,
        body: Optional[bytes],
        *,
        headers: Optional[Mapping[str, str]] = None,
        idempotency_key: Optional[str] = None,
        content_type: str = JSON,
        timeout: Optional[float] = None,
    ) -> Answer:
        """A write. Outside of transactions it has an idempotency key, unless the client is told otherwise."""
        all_headers = dict(headers or {})
        key = self._key(idempotency_key)
        if key is not None:
            all_headers["Idempotency-Key"] = key
        request = Request(method, self._root + path, body, content_type, all_headers, True, key is not None)
        return self._send(request, timeout)

    def _key(self, given: Optional[str]) -> Optional[str]:
        if given is None and self._keys_writes:
            return uuid.uuid4().hex
        return given

    def _statement(
        self,
        text: str,
        parameters: Sequence[Any],
        database: Optional[str],
        form: str,
        idempotency_key: Optional[str],
        repeatable: Optional[bool],
    ) -> Request:
        if isinstance(parameters, (str, bytes)):
            raise TypeError("parameters are a list or a tuple")
        word = text.lstrip(" \t\r\n(")[:12].split(None, 1)[0].lower() if text.strip(" \t\r\n(") else ""
        is_read = word in READS
        headers = {}
        key = idempotency_key
        if key is None and word in KEYED and repeatable is None and form == "json":
            key = self._key(None)
        if key is not None:
            headers["Idempotency-Key"] = key
        fields = [f'"sql":{json.dumps(text)}']
        if parameters:
            fields.append(f'"parameters":{values.parameters(parameters)}')
        if database is not None:
            fields.append(f'"database":{json.dumps(database)}')
        if form != "json":
            fields.append(f'"format":{json.dumps(form)}')
        body = ("{" + ",".join(fields) + "}").encode()
        may_repeat = bool(repeatable) if repeatable is not None else is_read or key is not None
        return Request("POST", f"{self._root}/sql", body, JSON, headers, not is_read, may_repeat)


class Batch:
    """Operations that are done as one transaction. A problem says by `operation` which one has failed."""

    def __init__(self, owner: Operations) -> None:
        self._owner = owner
        self._operations: list[str] = []

    def __len__(self) -> int:
        return len(self._operations)

    def insert(self, table: str, row: Union[Row, Sequence[Row]]) -> "Batch":
        named = {"row": row} if isinstance(row, Mapping) else {"rows": list(row)}
        return self._add({"op": "insert", "table": table, **named})

    def put(self, table: str, key: Key, row: Row, *, if_match: Optional[str] = None, if_absent: bool = False) -> "Batch":
        return self._add({"op": "put", "table": table, "key": key, "row": row, **_conditions(if_match, if_absent)})

    def patch(self, table: str, key: Key, row: Row, *, if_match: Optional[str] = None) -> "Batch":
        return self._add({"op": "patch", "table": table, "key": key, "row": row, **_conditions(if_match, False)})

    def delete(self, table: str, key: Key, *, if_match: Optional[str] = None) -> "Batch":
        return self._add({"op": "delete", "table": table, "key": key, **_conditions(if_match, False)})

    def sql(self, text: str, parameters: Sequence[Any] = ()) -> "Batch":
        self._operations.append(f'{{"op":"sql","sql":{json.dumps(text)},"parameters":{values.parameters(parameters)}}}')
        return self

    def run(self, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None) -> list[Changed]:
        """Does all of it, and begins a new one."""
        operations, self._operations = self._operations, []
        if not operations:
            return []
        body = ('{"operations":[' + ",".join(operations) + "]}").encode()
        answer = self._owner._change("POST", "/batch", body, idempotency_key=idempotency_key, timeout=timeout)
        return [Changed(one["affected_rows"], one["last_insert_id"]) for one in json.loads(answer.body)["results"]]

    def _add(self, operation: Mapping[str, Any]) -> "Batch":
        self._operations.append(values.dumps(operation).decode())
        return self

    def __enter__(self) -> "Batch":
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.run()


class Definitions:
    """What is known of tables: of which type their columns are. Looked up once, and again where a row has a column that is not known.

    A column whose type was changed since keeps its old type here until `client.forget_tables()`."""

    def __init__(self) -> None:
        self._known: dict[str, Definition] = {}

    def of(self, name: str, asker: Operations) -> Definition:
        found = self._known.get(name)
        if found is None:
            database, table = split_name(name)
            told = asker._ask("GET", f"/tables/{quote(database, safe='')}/{quote(table, safe='')}")
            found = self._known[name] = Definition(name, told, self)
        return found

    def forget(self, name: Optional[str] = None) -> None:
        if name is None:
            self._known.clear()
        else:
            self._known.pop(name, None)


def _read_of(read: Read) -> dict[str, Any]:
    told: dict[str, Any] = {"table": read.table, "keys": list(read.keys)}
    if read.columns is not None:
        told["columns"] = list(read.columns)
    return told


def _conditions(if_match: Optional[str], if_absent: bool) -> dict[str, str]:
    told = {}
    if if_match is not None:
        told["if_match"] = if_match
    if if_absent:
        told["if_none_match"] = "*"
    return told
