"""Values of SQL as values of Python, and back.

    integers, YEAR         int              DATE              date
    DECIMAL                Decimal          DATETIME          datetime without a zone
    FLOAT, DOUBLE          float            TIMESTAMP         datetime in UTC
    texts, ENUM, SET       str              TIME              timedelta
    BINARY, BLOB           bytes            JSON              what json.loads makes of it
    BIT(1), BIT(n)         bool, int        NULL              None

A date that is in no calendar (`0000-00-00`) stays the text that it is.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import uuid
from decimal import Decimal
from typing import Any, Callable, Iterable, Optional, Sequence

Converter = Callable[[Any], Any]
UTC = datetime.timezone.utc

BINARY_TYPES = frozenset(["binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"])


def _date(text: str) -> Any:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return text


def _datetime(text: str) -> Any:
    try:
        day, _, time = text.partition(" ")
        whole, _, part = time.partition(".")
        micros = int(part.ljust(6, "0")) if part else 0
        return datetime.datetime(
            int(day[:4]), int(day[5:7]), int(day[8:10]), int(whole[:2]), int(whole[3:5]), int(whole[6:8]), micros
        )
    except ValueError:
        return text


def _moment(text: str) -> Any:
    found = _datetime(text)
    return found if isinstance(found, str) else found.replace(tzinfo=UTC)


def _time(text: str) -> datetime.timedelta:
    sign = -1 if text.startswith("-") else 1
    hours, minutes, seconds = text.lstrip("-").split(":")
    whole, _, part = seconds.partition(".")
    micros = int(part.ljust(6, "0")) if part else 0
    return sign * datetime.timedelta(hours=int(hours), minutes=int(minutes), seconds=int(whole), microseconds=micros)


def _bits(value: Any) -> Any:
    return value if isinstance(value, bool) else int.from_bytes(base64.b64decode(value), "big")


_CONVERTERS: dict[str, Converter] = {
    "decimal": Decimal,
    "float": float,
    "double": float,
    "date": _date,
    "datetime": _datetime,
    "timestamp": _moment,
    "time": _time,
    "bit": _bits,
    **{name: base64.b64decode for name in BINARY_TYPES},
}


def base_type(name: str) -> str:
    """`bigint` of `bigint unsigned`."""
    return name.split(" ", 1)[0]


def converter(type_name: str) -> Optional[Converter]:
    """What makes the Python value of a JSON value that is not null; None: it is the value already."""
    return _CONVERTERS.get(base_type(type_name))


def convert_rows(rows: Iterable[Sequence[Any]], types: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows as JSON has them, as Python has them."""
    converters = [(at, made) for at, made in enumerate(map(converter, types)) if made is not None]
    if not converters:
        return [tuple(row) for row in rows]
    return [_converted(row, converters) for row in rows]


def _converted(row: Sequence[Any], converters: Sequence[tuple[int, Converter]]) -> tuple[Any, ...]:
    values = list(row)
    for at, made in converters:
        if values[at] is not None:
            values[at] = made(values[at])
    return tuple(values)


# --- the other way ---


def datetime_text(moment: datetime.datetime) -> str:
    """As SQL writes it. One with a zone is told in UTC, which is the time zone of every request's session."""
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    text = f"{moment.year:04}-{moment.month:02}-{moment.day:02} {moment.hour:02}:{moment.minute:02}:{moment.second:02}"
    return f"{text}.{moment.microsecond:06}" if moment.microsecond else text


def time_text(span: datetime.timedelta) -> str:
    micros = span // datetime.timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, micros = divmod(micros, 1_000_000)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{micros:06}" if micros else text


def decimal_text(number: Decimal) -> str:
    if not number.is_finite():
        raise ValueError(f"SQL has no {number}")
    return format(number, "f")


def plain(value: Any) -> Any:
    """A value that JSON does not know, as one that it does. Of rows, where the column tells what a text stands for."""
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime.datetime):
        # Not equal to itself: the missing moment of pandas.
        return datetime_text(value) if value == value else None
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return time_text(value)
    if isinstance(value, (set, frozenset)):
        return ",".join(sorted(map(str, value)))
    if hasattr(value, "tolist"):
        return value.tolist()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(f"SQL has no value for a {type(value).__name__}")


def dumps(value: Any) -> bytes:
    """JSON as it is sent: rows, keys, whole requests."""
    return json.dumps(value, default=plain, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def parameter(value: Any) -> str:
    """A parameter of a statement as JSON. Its type is kept: no column tells what it stands for."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"SQL has no {value}")
        text = repr(float(value))
        # With an exponent it is a DOUBLE, without one a DECIMAL.
        return text if "e" in text else text + "e0"
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return json.dumps({"$binary": base64.b64encode(value).decode("ascii")})
    if isinstance(value, (dict, list, tuple)):
        # A document, as text.
        return json.dumps(dumps(value).decode())
    if hasattr(value, "item") and not isinstance(value, (int, str)):
        return parameter(value.item())
    return dumps(value).decode()


def parameters(values: Sequence[Any]) -> str:
    return "[" + ",".join(map(parameter, values)) + "]"
