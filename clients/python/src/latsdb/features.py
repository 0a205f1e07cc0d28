"""Feature vectors: groups of features that are asked for, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Sequence

from . import values

if TYPE_CHECKING:
    import pandas
    import pyarrow


@dataclass(frozen=True)
class Group:
    """Features of one table, whose primary key names entities."""

    table: str
    features: Sequence[str]
    #: In the answer; the table's by default.
    name: Optional[str] = None
    #: What of an entity is the primary key; columns of the same names by default.
    key: Optional[Sequence[str]] = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    #: The column that says when a row was made: in UTC, or milliseconds since 1970.
    event_time: Optional[str] = None
    #: Rows that are older are stale.
    max_age_seconds: Optional[int] = None

    def told(self) -> dict[str, Any]:
        told: dict[str, Any] = {"table": self.table, "features": list(self.features)}
        if self.name is not None:
            told["name"] = self.name
        if self.key is not None:
            told["key"] = list(self.key)
        if self.defaults:
            told["defaults"] = dict(self.defaults)
        if self.event_time is not None:
            told["event_time"] = self.event_time
        if self.max_age_seconds is not None:
            told["max_age_seconds"] = self.max_age_seconds
        return told


class Feature(NamedTuple):
    group: str
    name: str
    #: As SQL names it.
    type: str


class Vector(NamedTuple):
    """The features of one entity, in the order of `FeatureVectors.features`."""

    values: tuple[Any, ...]
    #: Where each value comes from: `stored`, `passed`, `default`, `stale` or `missing`.
    origins: tuple[str, ...]
    #: Of each group's row; None: its event time is not known.
    ages_ms: tuple[Optional[int], ...]


@dataclass(frozen=True)
class FeatureVectors:
    features: Sequence[Feature]
    vectors: Sequence[Vector]
    #: Milliseconds since 1970.
    read_at_ms: int

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, at: int) -> Vector:
        return self.vectors[at]

    def names(self) -> list[str]:
        """A name for each feature: with its group before it, where several have the same."""
        names = [feature.name for feature in self.features]
        return [f"{f.group}.{f.name}" if names.count(f.name) > 1 else f.name for f in self.features]

    def dicts(self) -> list[dict[str, Any]]:
        names = self.names()
        return [dict(zip(names, vector.values)) for vector in self.vectors]

    def to_arrow(self) -> "pyarrow.Table":
        from . import frames

        columns = [[vector.values[at] for vector in self.vectors] for at in range(len(self.features))]
        return frames.table_of_columns(self.names(), [feature.type for feature in self.features], columns)

    def to_pandas(self) -> "pandas.DataFrame":
        from . import frames

        return frames.frame_of(self.to_arrow())


def vectors_of(told: Mapping[str, Any]) -> FeatureVectors:
    features = [Feature(one["group"], one["name"], one["type"]) for one in told["features"]]
    converters = [values.converter(feature.type) for feature in features]

    def value(given: Any, origin: str, made: Optional[values.Converter]) -> Any:
        # What is passed, and defaults, are as the caller has them in JSON; most are of the column's type.
        if given is None or made is None:
            return given
        if origin == "stored":
            return made(given)
        try:
            return made(given)
        except (ValueError, TypeError, ArithmeticError):
            return given

    vectors = []
    for one in told["vectors"]:
        each = zip(one["values"], one["origins"], converters)
        vectors.append(Vector(tuple(value(*v) for v in each), tuple(one["origins"]), tuple(one["age_ms"])))
    return FeatureVectors(features, vectors, told["read_at_ms"])
