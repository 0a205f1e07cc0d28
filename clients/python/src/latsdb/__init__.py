"""LatsDB over HTTP.

    import latsdb

    client = latsdb.Client("http://localhost:8306")
    items = client.table("shop.items")
    items.insert({"id": 1, "name": "pen", "price": Decimal("2.50")})
    items.get(1)
    client.sql("SELECT name FROM shop.items WHERE price < ?", [Decimal("3")]).rows

See `Client`, `Table`, `Transaction`, `Group` and `training_set`; the README has examples.
"""

from .client import Client
from .errors import (
    BadRequest,
    BadValue,
    CommitUnknown,
    Conflict,
    DuplicateKey,
    Forbidden,
    ForeignKey,
    LatsdbError,
    NoAnswer,
    NotConnected,
    NotFound,
    NotImplementedByNode,
    OutOfMemory,
    PreconditionFailed,
    Problem,
    StatementTimeout,
    TooMany,
    TransactionGone,
    Unauthorized,
    Unavailable,
)
from .features import Feature, FeatureVectors, Group, Vector
from .operations import Batch, Read
from .results import Changed, Column, Result, RowStream
from .table import Definition, Page, Table, Tagged
from .training import History, training_sql
from .transaction import Transaction

__all__ = [
    "BadRequest",
    "BadValue",
    "Batch",
    "Changed",
    "Client",
    "Column",
    "CommitUnknown",
    "Conflict",
    "Definition",
    "DuplicateKey",
    "Feature",
    "FeatureVectors",
    "Forbidden",
    "ForeignKey",
    "Group",
    "History",
    "LatsdbError",
    "NoAnswer",
    "NotConnected",
    "NotFound",
    "NotImplementedByNode",
    "OutOfMemory",
    "Page",
    "PreconditionFailed",
    "Problem",
    "Read",
    "Result",
    "RowStream",
    "StatementTimeout",
    "Table",
    "Tagged",
    "TooMany",
    "Transaction",
    "TransactionGone",
    "Unauthorized",
    "Unavailable",
    "Vector",
    "training_sql",
]
__version__ = "0.1.0"
