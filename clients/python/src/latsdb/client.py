"""The client: nodes, logins, transactions."""

from __future__ import annotations

import json
import random
import ssl
import time
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence, TypeVar, Union

from . import frames, training, values
from .errors import Conflict, LatsdbError
from .operations import Definitions, Operations
from .training import History
from .transaction import Transaction
from .transport import Answer, Endpoint, Request, Settings, Stream, Transport, authorization_of

if TYPE_CHECKING:
    import pandas
    import pyarrow

T = TypeVar("T")


class Client(Operations):
    """A client of one node, or of several of a cluster. Threads may share it; it keeps connections, and `close` ends them.

        client = latsdb.Client("http://localhost:8306", user="shop", password="…")

    With several addresses, the next one is asked where one cannot be reached or does not serve. `timeout` is for a whole request, with what is
    sent again; `retries` says how often. Writes have idempotency keys, so that those whose answers are lost can be sent again, unless
    `idempotent_writes` is False, or `retries` 0. A certificate that no authority has signed is trusted by `ca`, its file."""

    def __init__(
        self,
        address: Union[str, Sequence[str]] = "http://localhost:8306",
        *,
        user: Optional[str] = None,
        password: Optional[str] = None,
        token: Optional[str] = None,
        tls: Optional[ssl.SSLContext] = None,
        ca: Optional[str] = None,
        connect_timeout: float = 3.0,
        timeout: float = 30.0,
        retries: int = 4,
        pool_size: int = 32,
        idempotent_writes: bool = True,
        compress: bool = False,
    ) -> None:
        if ca is not None:
            if tls is not None:
                raise ValueError("either a context of TLS or an authority's certificate")
            tls = ssl.create_default_context(cafile=ca)
        addresses = [address] if isinstance(address, str) else list(address)
        settings = Settings(
            authorization=authorization_of(user, password, token),
            tls=tls,
            connect_timeout=connect_timeout,
            timeout=timeout,
            retries=retries,
            pool_size=pool_size,
            compress=compress,
        )
        self._transport = Transport([Endpoint.of(one) for one in addresses], settings)
        self._definitions = Definitions()
        self._keys_writes = idempotent_writes and retries > 0

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def forget_tables(self) -> None:
        """What is known of tables is looked up anew: after a column has got another type."""
        self._definitions.forget()

    # --- transactions ---

    def transaction(
        self, *, deadline: float = 10.0, isolation: Optional[str] = None, read_only: bool = False
    ) -> Transaction:
        """A transaction over several requests, for `with`: committed at its end, rolled back where an exception leaves it. The node rolls it
        back by itself after `deadline` seconds, 60 at most. `isolation` is `repeatable read`, `read committed` or `serializable`."""
        wanted: dict[str, Any] = {"deadline_ms": round(deadline * 1000)}
        if isolation is not None:
            wanted["isolation"] = isolation
        if read_only:
            wanted["read_only"] = True
        return Transaction(self._transport, self._definitions, values.dumps(wanted))

    def transact(
        self,
        work: Callable[[Transaction], T],
        *,
        attempts: int = 5,
        deadline: float = 10.0,
        isolation: Optional[str] = None,
    ) -> T:
        """Does work as a transaction, and again where another one was in its way: what `work` does beside it should bear that. A commit whose
        outcome is not known is not tried again."""
        attempt = 1
        while True:
            try:
                with self.transaction(deadline=deadline, isolation=isolation) as transaction:
                    return work(transaction)
            except Conflict:
                if attempt >= attempts:
                    raise
            time.sleep(0.005 * 2**attempt * (0.5 + random.random() / 2))
            attempt += 1

    # --- training sets ---

    def training_set(
        self, events: Any, event_time: str, histories: Sequence[History], timeout: Optional[float] = None
    ) -> "pyarrow.Table":
        """Events, each with the features that were known at its time (a point-in-time join). `events` is a table, `database.table`, a query, a
        data frame of pandas, a table of Arrow, or a list of dicts."""
        return training.training_set(self, events, event_time, histories, timeout)

    def training_frame(
        self, events: Any, event_time: str, histories: Sequence[History], timeout: Optional[float] = None
    ) -> "pandas.DataFrame":
        """As [training_set], as a data frame."""
        return frames.frame_of(self.training_set(events, event_time, histories, timeout))

    # --- tokens ---

    def create_token(
        self,
        name: Optional[str] = None,
        *,
        expires_in_seconds: Optional[int] = None,
        requests_per_second: Optional[int] = None,
    ) -> str:
        """Makes a token of the account that asks. It is shown this once."""
        wanted = {"name": name, "expires_in_seconds": expires_in_seconds, "requests_per_second": requests_per_second}
        body = values.dumps({key: value for key, value in wanted.items() if value is not None})
        answer = self._send(Request("POST", "/v1/tokens", body, writes=True, repeatable=False), None)
        return str(json.loads(answer.body)["token"])

    def tokens(self) -> list[dict[str, Any]]:
        tokens: list[dict[str, Any]] = self._ask("GET", "/tokens")["tokens"]
        return tokens

    def delete_token(self, id: str) -> None:
        self._send(Request("DELETE", f"/v1/tokens/{id}", writes=True, repeatable=False), None)

    # --- the node ---

    def is_ready(self, timeout: float = 3.0) -> bool:
        """Whether a node serves clients."""
        try:
            self._transport.send(Request("GET", "/health/ready"), timeout)
        except LatsdbError:
            return False
        return True

    def _send(self, request: Request, timeout: Optional[float]) -> Answer:
        return self._transport.send(request, timeout)

    def _open(self, request: Request, timeout: Optional[float]) -> Stream:
        return self._transport.open(request, timeout)
