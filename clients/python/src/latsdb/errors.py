"""What can go wrong, as exceptions.

    LatsdbError
      ├─ Problem            the node has answered, and has not done it (RFC 9457)
      │    ├─ BadRequest, BadValue, Unauthorized, Forbidden, NotFound, TransactionGone, DuplicateKey, ForeignKey, Conflict,
      │    └─ PreconditionFailed, TooMany, Unavailable, OutOfMemory, StatementTimeout, NotImplementedByNode, CommitUnknown
      ├─ NotConnected       no node was reached: nothing was done
      └─ NoAnswer           the request was sent, and no answer has come: a write may have been done
"""

from __future__ import annotations

import json
from typing import Any, Mapping, Optional


class LatsdbError(Exception):
    """Of everything that this package raises by itself."""

    #: Whether what was asked for may have been done all the same.
    maybe_done = False


class NotConnected(LatsdbError):
    """No node was reached in time."""


class NoAnswer(LatsdbError):
    """A request was sent, and its answer did not come whole: the connection ended, or the time was over."""

    def __init__(self, message: str, maybe_done: bool) -> None:
        super().__init__(message)
        self.maybe_done = maybe_done


class Problem(LatsdbError):
    """What the node says of a request that it has not done. `code` and `sqlstate` are MySQL's, where a statement has failed."""

    def __init__(self, status: int, told: Mapping[str, Any], retry_after: Optional[float] = None) -> None:
        self.status = status
        #: Seconds after which the node may be asked again, where it says so.
        self.retry_after = retry_after
        self.type: str = str(told.get("type", "about:blank"))
        self.title: str = str(told.get("title", ""))
        self.detail: str = str(told.get("detail", ""))
        self.code: Optional[int] = told.get("code")
        self.sqlstate: Optional[str] = told.get("sqlstate")
        #: Of a batch, which operation it was.
        self.operation: Optional[int] = told.get("operation")
        #: Whether the same request may be done the next time.
        self.retry: bool = bool(told.get("retry", False))
        number = f"{self.code} ({self.sqlstate}): " if self.code is not None else ""
        place = f" (operation {self.operation})" if self.operation is not None else ""
        super().__init__(f"{status} {number}{self.detail or self.title}{place}")

    @property
    def name(self) -> str:
        """The end of its type's address: `duplicate-key`, say."""
        return self.type.rsplit("/", 1)[-1]


class BadRequest(Problem):
    """It cannot be understood, or the statement cannot be run."""


class BadValue(Problem):
    """A value does not fit its column, or an idempotency key is another request's."""


class Unauthorized(Problem):
    """No login, or a wrong one."""


class Forbidden(Problem):
    """The account has not the right."""


class NotFound(Problem):
    """No such row, table, database or operation."""


class TransactionGone(NotFound):
    """The transaction was ended, or its deadline has passed: nothing of it is left."""


class DuplicateKey(Problem):
    """The key is there already."""


class ForeignKey(Problem):
    """Another row refers to it, or is missing."""


class Conflict(Problem):
    """Another transaction was in the way: run it again."""


class PreconditionFailed(Problem):
    """The row is another one now."""


class TooMany(Problem):
    """Too many connections, transactions or requests."""


class Unavailable(Problem):
    """The node does not serve now, or the statement was interrupted."""


class OutOfMemory(Problem):
    """The node has no room for it."""


class StatementTimeout(Problem):
    """The statement took too long."""


class NotImplementedByNode(Problem):
    """The node does not know how."""


class CommitUnknown(Problem):
    """A commit has failed, or nobody can tell what became of it."""

    maybe_done = True


_BY_NAME = {
    "bad-value": BadValue,
    "idempotency-key-reused": BadValue,
    "transaction-gone": TransactionGone,
    "duplicate-key": DuplicateKey,
    "foreign-key": ForeignKey,
    "conflict": Conflict,
    "transaction-busy": Conflict,
    "commit": CommitUnknown,
}
_BY_STATUS = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    412: PreconditionFailed,
    422: BadValue,
    429: TooMany,
    501: NotImplementedByNode,
    503: Unavailable,
    504: StatementTimeout,
    507: OutOfMemory,
}


def problem_of(status: int, told: Mapping[str, Any], retry_after: Optional[float] = None) -> Problem:
    """The exception for an answer's status and its problem details."""
    name = str(told.get("type", "")).rsplit("/", 1)[-1]
    return _BY_NAME.get(name, _BY_STATUS.get(status, Problem))(status, told, retry_after)


def problem_of_body(status: int, body: bytes, retry_after: Optional[float]) -> Problem:
    """As `problem_of`, of a body that may come of a proxy, or of one of the node's pages."""
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        told = {"detail": body[:500].decode("utf-8", "replace")}
    elif "detail" not in told and "error" in told:
        told = {"detail": told["error"], "retry": status == 503}
    return problem_of(status, told, retry_after)
