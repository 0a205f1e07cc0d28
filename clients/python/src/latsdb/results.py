"""What statements come to: rows with their columns, or what was changed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from .errors import LatsdbError, NoAnswer, problem_of
from .transport import Stream
from .values import Converter, convert_rows, converter


class Column(NamedTuple):
    name: str
    #: As SQL names it, without its length: `bigint unsigned`.
    type: str


class Changed(NamedTuple):
    """What a write has done."""

    affected_rows: int
    last_insert_id: int


@dataclass(frozen=True)
class Result:
    """A statement's result. It is a sequence of its rows, which are tuples."""

    columns: Sequence[Column] = ()
    rows: Sequence[tuple[Any, ...]] = ()
    affected_rows: int = 0
    last_insert_id: int = 0
    warnings: int = 0
    info: str = ""
    #: Of a CALL: all of its results. The first of them is this one, too.
    results: Sequence["Result"] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __getitem__(self, at: int) -> tuple[Any, ...]:
        return self.rows[at]

    def dicts(self) -> list[dict[str, Any]]:
        """Rows by their columns' names."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row)) for row in self.rows]

    def one(self) -> Optional[tuple[Any, ...]]:
        """The first row, if there is one."""
        return self.rows[0] if self.rows else None

    def value(self) -> Any:
        """The first value of the first row; None: there is none."""
        return self.rows[0][0] if self.rows and self.rows[0] else None


def result_of(told: Mapping[str, Any]) -> Result:
    """Of the answer of POST /v1/sql. An error behind rows is raised."""
    if "results" in told:
        _raise_error(told)
        all_of_them = [result_of(one) for one in told["results"]]
        first = all_of_them[0] if all_of_them else Result()
        return Result(**{**first.__dict__, "results": all_of_them})
    _raise_error(told)
    if "columns" not in told:
        return Result(
            affected_rows=told["affected_rows"],
            last_insert_id=told["last_insert_id"],
            warnings=told["warnings"],
            info=told.get("info", ""),
        )
    columns = [Column(one["name"], one["type"]) for one in told["columns"]]
    rows = convert_rows(told["rows"], [column.type for column in columns])
    return Result(columns=columns, rows=rows, warnings=told.get("warnings", 0))


def _raise_error(told: Mapping[str, Any]) -> None:
    error = told.get("error")
    if error is not None:
        raise problem_of(int(error.get("status", 500)), error)


class RowStream:
    """Rows of a statement as they come, one after another. Memory holds a piece of the answer at a time.

    The answer is `{"columns":[…],"rows":[[…],[…],…],"warnings":0}`. It is read row by row: of a row that is not there whole, more is waited for.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._at = 0
        #: Bytes of a character that is not there whole.
        self._rest = b""
        self._is_last_try = False
        self.columns: Sequence[Column] = ()
        self._rows = self._read()
        self._first: Optional[tuple[Any, ...]] = next(self._rows, None)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if self._first is not None:
            first, self._first = self._first, None
            yield first
        yield from self._rows

    def __enter__(self) -> "RowStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the statement, if it still runs."""
        self._stream.close()

    def _read(self) -> Iterator[tuple[Any, ...]]:
        with self._stream:
            self._expect('{"')
            if self._has("results"):
                raise LatsdbError("the results of a CALL are not streamed: `sql` collects them")
            if not self._has("columns"):
                # A statement without rows.
                while self._more():
                    pass
                return
            self._expect('columns":')
            self.columns = [Column(one["name"], one["type"]) for one in self._value()]
            made = [(at, one) for at, one in enumerate(converter(c.type) for c in self.columns) if one is not None]
            self._expect(',"rows":[')
            while not self._has("]"):
                row = self._value()
                yield _row(row, made)
                if self._has(","):
                    self._at += 1
            while self._more():
                pass
            self._end()

    def _end(self) -> None:
        """Behind the rows: `],"warnings":0}` or `],"error":{…}}`."""
        try:
            told = json.loads("{" + self._text[self._at + 2 :])
        except ValueError as error:
            raise NoAnswer("the answer was cut behind some of its rows", maybe_done=False) from error
        _raise_error(told)

    def _value(self) -> Any:
        worth_a_try = 1
        while True:
            there = len(self._text) - self._at
            if there >= worth_a_try:
                try:
                    value, self._at = self._decoder.raw_decode(self._text, self._at)
                    return value
                except ValueError:
                    # A long value is not looked at again for each piece of it, but each time that it has doubled.
                    worth_a_try = 2 * there
            if not self._more():
                if self._is_last_try:
                    raise NoAnswer("the answer was cut behind some of its rows", maybe_done=False)
                # What is there is all that comes.
                self._is_last_try, worth_a_try = True, 0

    def _has(self, text: str) -> bool:
        """Whether the text follows."""
        while len(self._text) - self._at < len(text):
            if not self._more():
                return False
        return self._text.startswith(text, self._at)

    def _expect(self, text: str) -> None:
        if not self._has(text):
            raise NoAnswer(f"the answer is not that of a statement: {self._text[self._at:self._at + 100]!r}", False)
        self._at += len(text)

    def _more(self) -> bool:
        piece = self._stream.read()
        if not piece:
            return False
        data = self._rest + piece
        # UTF-8 may be cut within a character.
        text, used = _decoded(data)
        self._rest = data[used:]
        self._text = self._text[self._at :] + text
        self._at = 0
        return True


def _row(row: Sequence[Any], made: Sequence[tuple[int, Converter]]) -> tuple[Any, ...]:
    values = list(row)
    for at, one in made:
        if values[at] is not None:
            values[at] = one(values[at])
    return tuple(values)


def _decoded(data: bytes) -> tuple[str, int]:
    end = len(data)
    # At most three bytes of a character may stand at the end.
    for back in range(1, min(4, end) + 1):
        byte = data[end - back]
        if byte & 0xC0 == 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            end = end - back if length > back else end
            break
        if byte < 0x80:
            break
    return data[:end].decode("utf-8"), end
