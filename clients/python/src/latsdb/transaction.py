"""A transaction over several requests."""

from __future__ import annotations

import json
import threading
from typing import Any, Optional

from .errors import LatsdbError, TransactionGone
from .operations import Definitions, Operations
from .transport import Answer, Held, Request, Stream, Transport


class Transaction(Operations):
    """Begun by `with`, which commits it, or rolls it back where an exception leaves it.

    Its requests go to the node that it was begun on, one after another; nothing of it is sent twice, for nobody would know in which state it is.
    A [Conflict][latsdb.Conflict] may have ended it: run it again, as `Client.transact` does."""

    def __init__(self, transport: Transport, definitions: Definitions, wanted: bytes) -> None:
        self._transport = transport
        self._definitions = definitions
        self._wanted = wanted
        self._source: Optional[Held] = None
        self._lock = threading.Lock()
        self.id: Optional[str] = None

    def __enter__(self) -> "Transaction":
        if self._source is not None:
            raise LatsdbError("a transaction is begun once")
        request = Request("POST", "/v1/transactions", self._wanted, writes=False, repeatable=True)
        # Begun twice, the first one ends at its deadline, and has done nothing.
        self._source, answer = self._transport.begin(request)
        self.id = json.loads(answer.body)["transaction"]
        self._root = f"/v1/transactions/{self.id}"
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        try:
            if self.id is not None:
                if kind is None:
                    self.commit()
                else:
                    self._roll_back_quietly()
        finally:
            self._leave()

    def commit(self) -> None:
        """Commits now. Where the answer is lost, nobody knows whether it was done: `maybe_done` of the exception is True."""
        self._end("commit")

    def rollback(self) -> None:
        self._end("rollback")

    @property
    def is_open(self) -> bool:
        return self.id is not None

    def _end(self, how: str) -> None:
        request = Request("POST", f"{self._root}/{how}", writes=how == "commit", repeatable=False)
        try:
            self._send(request, None)
        finally:
            self.id = None

    def _roll_back_quietly(self) -> None:
        """An exception is on its way already. What cannot be rolled back now ends at its deadline."""
        try:
            self.rollback()
        except LatsdbError:
            pass

    def _leave(self) -> None:
        if self._source is not None:
            self._source.end()

    def _send(self, request: Request, timeout: Optional[float]) -> Answer:
        with self._lock:
            return self._transport.send(request, timeout, self._open_source())

    def _open(self, request: Request, timeout: Optional[float]) -> Stream:
        with self._lock:
            return self._transport.open(request, timeout, self._open_source())

    def _open_source(self) -> Held:
        if self._source is None:
            raise LatsdbError("the transaction is not begun: use it by `with`")
        if self.id is None:
            raise TransactionGone(404, {"type": "transaction-gone", "detail": "the transaction was ended"})
        return self._source
