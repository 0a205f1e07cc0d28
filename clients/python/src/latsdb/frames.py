"""Arrow and pandas. Both are optional: `pip install latsdb[arrow]`, `pip install latsdb[pandas]`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Sequence

from .errors import LatsdbError, NoAnswer
from .results import result_of
from .transport import Stream
from .values import BINARY_TYPES, base_type

if TYPE_CHECKING:
    import pandas
    import pyarrow

ARROW = "application/vnd.apache.arrow.stream"
#: What ends a stream of Arrow.
END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def _arrow() -> Any:
    try:
        import pyarrow.ipc

        return pyarrow
    except ImportError as error:
        raise LatsdbError("this takes pyarrow: pip install latsdb[arrow]") from error


def _pandas() -> Any:
    try:
        import pandas

        return pandas
    except ImportError as error:
        raise LatsdbError("this takes pandas: pip install latsdb[pandas]") from error


class _File:
    """An answer as a file that Arrow reads. It looks whether the stream has its end: one that was cut by an error has none."""

    closed = False

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._pieces = bytearray()
        self._last = b""

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._pieces) < size:
            piece = self._stream.read()
            if not piece:
                break
            self._last = (self._last + piece)[-len(END) :]
            self._pieces += piece
        taken = bytes(self._pieces) if size < 0 else bytes(self._pieces[:size])
        del self._pieces[: len(taken)]
        return taken

    def check_end(self) -> None:
        while self._stream.read():
            pass
        if self._last != END:
            raise NoAnswer("the answer was cut behind some of its rows", maybe_done=False)

    def close(self) -> None:
        self._stream.close()

    def readable(self) -> bool:
        return True


def batches_of(stream: Stream) -> Iterator["pyarrow.RecordBatch"]:
    arrow = _arrow()
    with stream:
        if stream.headers.get("content-type") != ARROW:
            _refuse(stream)
        file = _File(stream)
        reader = arrow.ipc.open_stream(arrow.PythonFile(file, mode="r"))
        yield from reader
        file.check_end()


def table_of(stream: Stream) -> "pyarrow.Table":
    arrow = _arrow()
    with stream:
        if stream.headers.get("content-type") != ARROW:
            _refuse(stream)
        file = _File(stream)
        table = arrow.ipc.open_stream(arrow.PythonFile(file, mode="r")).read_all()
        file.check_end()
        return table


def _refuse(stream: Stream) -> None:
    told = json.loads(b"".join(stream))
    if isinstance(told, dict):
        # An error behind the head is raised by this.
        result_of(told)
    raise LatsdbError("the statement has no rows")


def frame_of(table: "pyarrow.Table") -> "pandas.DataFrame":
    """Whole numbers and truth values with NULLs among them are of pandas' types that have NULLs: no number is rounded to a double."""
    arrow, pandas = _arrow(), _pandas()
    integers = {
        arrow.int8(): pandas.Int8Dtype(),
        arrow.int16(): pandas.Int16Dtype(),
        arrow.int32(): pandas.Int32Dtype(),
        arrow.int64(): pandas.Int64Dtype(),
        arrow.uint8(): pandas.UInt8Dtype(),
        arrow.uint16(): pandas.UInt16Dtype(),
        arrow.uint32(): pandas.UInt32Dtype(),
        arrow.uint64(): pandas.UInt64Dtype(),
        arrow.bool_(): pandas.BooleanDtype(),
    }
    with_nulls = {at for at, column in enumerate(table.columns) if column.null_count}
    frame = table.to_pandas()
    for at, field in enumerate(table.schema):
        if at in with_nulls and field.type in integers:
            exact = table.column(at).to_pandas(types_mapper=integers.get)
            frame.isetitem(at, exact)
    return frame


def table_of_columns(names: Sequence[str], types: Sequence[str], columns: Sequence[Sequence[Any]]) -> "pyarrow.Table":
    """Columns of Python's values, by the types that SQL has for them."""
    arrow = _arrow()
    made = []
    for name, values in zip(types, columns):
        wanted = _arrow_type(arrow, name)
        try:
            made.append(arrow.array(values, type=wanted))
        except (arrow.ArrowInvalid, arrow.ArrowTypeError):
            # A default, or what was passed, is of another type than the column.
            made.append(arrow.array(values))
    return arrow.table(made, names=list(names))


def _arrow_type(arrow: Any, name: str) -> Any:
    base, unsigned = base_type(name), name.endswith(" unsigned")
    sizes = {"tinyint": 8, "smallint": 16, "mediumint": 32, "int": 32, "bigint": 64}
    if base in sizes:
        return getattr(arrow, f"{'u' if unsigned else ''}int{sizes[base]}")()
    if base in BINARY_TYPES:
        return arrow.binary()
    types = {
        "float": arrow.float32(),
        "double": arrow.float64(),
        "date": arrow.date32(),
        "datetime": arrow.timestamp("us"),
        "timestamp": arrow.timestamp("us", "UTC"),
        "time": arrow.duration("us"),
        "year": arrow.uint16(),
        # Its digits, and the shape of bits and documents, are told by the values.
        "decimal": None,
        "bit": None,
        "json": None,
    }
    return types.get(base, arrow.string())


def rows_of(rows: Any) -> Iterable[Mapping[str, Any]]:
    """Rows of a data frame, of a table or batch of Arrow, or as they are."""
    kind = type(rows).__module__.partition(".")[0]
    if kind == "pandas":
        names = [str(name) for name in rows.columns]
        columns = [rows.iloc[:, at].astype(object).where(rows.iloc[:, at].notna(), None) for at in range(len(names))]
        return (dict(zip(names, values)) for values in zip(*columns))
    if kind == "pyarrow":
        batches = rows.to_batches() if hasattr(rows, "to_batches") else [rows]
        return (row for batch in batches for row in batch.to_pylist())
    each: Iterable[Mapping[str, Any]] = rows
    return each
