"""Requests and their answers: connections that are kept, times that are limited, and requests that are sent again.

A request is sent again, at most `retries` times and within its time,

  * where no node was reached, or the node says that it may be (`retry` of a problem): then nothing was done;
  * where its answer did not come, if it is *repeatable*: a read, or a write with an idempotency key.

A write whose answer did not come, and that is not repeatable, raises [NoAnswer][latsdb.NoAnswer]: nobody knows whether it was done.
"""

from __future__ import annotations

import base64
import http.client
import os
import random
import select
import ssl
import threading
import time
import zlib
from dataclasses import dataclass, field, replace
from typing import Callable, Iterator, Mapping, Optional, Sequence, TypeVar, Union
from urllib.parse import urlsplit

from .errors import CommitUnknown, LatsdbError, NoAnswer, NotConnected, Problem, problem_of_body

JSON = "application/json"
#: The longest wait between two tries.
WAIT_MAX = 2.0
T = TypeVar("T")
#: Bytes that are read of an answer at once.
PIECE = 1 << 16


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: Optional[bytes] = None
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    #: It may change something.
    writes: bool = False
    #: Sending it twice does no harm: it changes nothing, has an idempotency key, or the caller says so.
    repeatable: bool = True


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Endpoint:
    """A node's address."""

    host: str
    port: int
    tls: bool

    @staticmethod
    def of(url: str) -> "Endpoint":
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.query:
            raise ValueError(f"{url} is not http://HOST:PORT or https://HOST:PORT")
        if parts.username is not None:
            raise ValueError("user and password are given beside the address, not in it")
        return Endpoint(parts.hostname, parts.port or 8306, parts.scheme == "https")

    def __str__(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"


@dataclass(frozen=True)
class Settings:
    authorization: Optional[str] = None
    tls: Optional[ssl.SSLContext] = None
    connect_timeout: float = 3.0
    timeout: float = 30.0
    retries: int = 4
    pool_size: int = 32
    compress: bool = False


def authorization_of(user: Optional[str], password: Optional[str], token: Optional[str]) -> Optional[str]:
    if token is not None:
        if user is not None:
            raise ValueError("either a user or a token")
        return f"Bearer {token}"
    if user is None:
        return None
    return "Basic " + base64.b64encode(f"{user}:{password or ''}".encode()).decode("ascii")


class Pool:
    """Connections to one node that are kept, the last used first."""

    def __init__(self, endpoint: Endpoint, settings: Settings) -> None:
        self.endpoint = endpoint
        self._settings = settings
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(settings.pool_size)
        self._process = os.getpid()

    def take(self, deadline: float) -> http.client.HTTPConnection:
        """A connection that nobody else uses; it is given back or dropped."""
        self._forget_those_of_a_parent()
        if not self._places.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise NotConnected(f"all {self._settings.pool_size} connections to {self.endpoint} are in use")
        try:
            while True:
                with self._lock:
                    kept = self._idle.pop() if self._idle else None
                if kept is None:
                    return self._connect(deadline)
                if not _is_over(kept):
                    return kept
                kept.close()
        except BaseException:
            self._places.release()
            raise

    def give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._idle.append(connection)
        self._places.release()

    def drop(self, connection: http.client.HTTPConnection) -> None:
        connection.close()
        self._places.release()

    def close(self) -> None:
        with self._lock:
            kept, self._idle = self._idle, []
        for connection in kept:
            connection.close()

    def _connect(self, deadline: float) -> http.client.HTTPConnection:
        left = min(self._settings.connect_timeout, deadline - time.monotonic())
        if left <= 0:
            raise NotConnected(f"no time is left to connect to {self.endpoint}")
        host, port = self.endpoint.host, self.endpoint.port
        made: http.client.HTTPConnection
        if self.endpoint.tls:
            made = http.client.HTTPSConnection(host, port, timeout=left, context=self._settings.tls)
        else:
            made = http.client.HTTPConnection(host, port, timeout=left)
        try:
            made.connect()
        except OSError as error:
            made.close()
            raise NotConnected(f"{self.endpoint}: {error}") from error
        return made

    def _forget_those_of_a_parent(self) -> None:
        """After a fork the connections are the parent's: two processes on one would read each other's answers."""
        if self._process != os.getpid():
            self._lock = threading.Lock()
            self._places = threading.BoundedSemaphore(self._settings.pool_size)
            for connection in self._idle:
                if connection.sock is not None:
                    # Not `close` of TLS, which would say goodbye on the parent's behalf.
                    os.close(connection.sock.detach())
            self._idle = []
            self._process = os.getpid()


def _is_over(connection: http.client.HTTPConnection) -> bool:
    """Whether the other side has closed it: between answers it has nothing to say."""
    sock = connection.sock
    if sock is None:
        return True
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


class Held:
    """One connection for many requests: those of a transaction, which lives on the node that it was begun on, whatever balances in between."""

    def __init__(self, pool: Pool) -> None:
        self.endpoint = pool.endpoint
        self._pool = pool
        self._kept: Optional[http.client.HTTPConnection] = None
        self._is_over = False

    def take(self, deadline: float) -> http.client.HTTPConnection:
        kept, self._kept = self._kept, None
        if kept is not None and _is_over(kept):
            self._pool.drop(kept)
            kept = None
        return kept or self._pool.take(deadline)

    def give_back(self, connection: http.client.HTTPConnection) -> None:
        if self._is_over:
            self._pool.give_back(connection)
        else:
            self._kept = connection

    def drop(self, connection: http.client.HTTPConnection) -> None:
        self._pool.drop(connection)

    def end(self) -> None:
        self._is_over = True
        if self._kept is not None:
            self._pool.give_back(self._kept)
            self._kept = None


Source = Union[Pool, Held]


class Stream:
    """An answer that is read as it comes. It holds its connection until it is read to its end, or closed."""

    def __init__(
        self, source: Source, connection: http.client.HTTPConnection, response: http.client.HTTPResponse, writes: bool
    ) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        self._source, self._connection, self._response = source, connection, response
        self._writes = writes
        self._is_open = True
        self._unpack = zlib.decompressobj(31) if self.headers.get("content-encoding") == "gzip" else None

    def read(self, size: int = PIECE) -> bytes:
        """At least one byte, or nothing at the end."""
        while self._is_open:
            try:
                piece = self._response.read1(size)
                if not piece and self._response.length:
                    raise http.client.IncompleteRead(b"", self._response.length)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                raise NoAnswer(f"the answer was cut: {error!r}", self._writes) from error
            if not piece:
                self._end()
                return self._unpack.flush() if self._unpack else b""
            piece = self._unpack.decompress(piece) if self._unpack else piece
            if piece:
                return piece
        return b""

    def _end(self) -> None:
        self._is_open = False
        closes = self._response.will_close
        self._response.close()
        if closes:
            self._source.drop(self._connection)
        else:
            self._source.give_back(self._connection)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._response.close()
            self._source.drop(self._connection)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read():
            yield piece


class Transport:
    """The nodes of one client. Safe for many threads."""

    def __init__(self, endpoints: Sequence[Endpoint], settings: Settings) -> None:
        if not endpoints:
            raise ValueError("no address is given")
        if any(endpoint.tls for endpoint in endpoints) and settings.tls is None:
            settings = replace(settings, tls=ssl.create_default_context())
        self.settings = settings
        self._pools = [Pool(endpoint, settings) for endpoint in endpoints]
        #: Which node is asked first.
        self._first = 0

    def close(self) -> None:
        for pool in self._pools:
            pool.close()

    def begin(self, request: Request, timeout: Optional[float] = None) -> tuple[Held, Answer]:
        """Sends the first request of a series, and gives the connection that the rest of it is to use."""

        def held(asked: Source, deadline: float) -> tuple[Held, Answer]:
            assert isinstance(asked, Pool)
            source = Held(asked)
            try:
                with self._try(request, source, deadline) as stream:
                    body = b"".join(stream)
                    return source, Answer(stream.status, stream.headers, body)
            except BaseException:
                source.end()
                raise

        return self._repeated(request, held, timeout, None)

    def send(self, request: Request, timeout: Optional[float] = None, source: Optional[Source] = None) -> Answer:
        """The whole answer, with the status of success. To a `source` it is sent once."""

        def whole(asked: Source, deadline: float) -> Answer:
            with self._try(request, asked, deadline) as stream:
                body = b"".join(stream)
                return Answer(stream.status, stream.headers, body)

        return self._repeated(request, whole, timeout, source)

    def open(self, request: Request, timeout: Optional[float] = None, source: Optional[Source] = None) -> Stream:
        """An answer to be read as it comes. What goes wrong behind its head is not tried again."""
        return self._repeated(request, lambda asked, deadline: self._try(request, asked, deadline), timeout, source)

    def _repeated(
        self,
        request: Request,
        act: Callable[[Source, float], T],
        timeout: Optional[float],
        source: Optional[Source],
    ) -> T:
        deadline = time.monotonic() + (self.settings.timeout if timeout is None else timeout)
        if source is not None:
            return act(source, deadline)
        attempt = 0
        while True:
            pool = self._pools[self._first % len(self._pools)]
            try:
                return act(pool, deadline)
            except LatsdbError as error:
                wait = _wait_before(attempt, error)
                is_late = attempt >= self.settings.retries or time.monotonic() + wait >= deadline
                if is_late or not _may_be_sent_again(error, request):
                    raise
            # Another node may do better.
            if self._pools[self._first % len(self._pools)] is pool:
                self._first += 1
            time.sleep(wait)
            attempt += 1

    def _try(self, request: Request, source: Source, deadline: float) -> Stream:
        connection = source.take(deadline)
        stream = None
        try:
            left = deadline - time.monotonic()
            if left <= 0 or connection.sock is None:
                raise NotConnected(f"no time is left to ask {source.endpoint}")
            connection.sock.settimeout(left)
            response = self._exchange(request, connection, source)
            stream = Stream(source, connection, response, request.writes)
        finally:
            if stream is None:
                source.drop(connection)
        if stream.status >= 400:
            with stream:
                body = b"".join(stream)
            told_to_wait = stream.headers.get("retry-after", "")
            raise problem_of_body(stream.status, body, float(told_to_wait) if told_to_wait.isdigit() else None)
        return stream

    def _exchange(
        self, request: Request, connection: http.client.HTTPConnection, source: Source
    ) -> http.client.HTTPResponse:
        headers = dict(request.headers)
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        if self.settings.authorization is not None:
            headers["Authorization"] = self.settings.authorization
        if self.settings.compress:
            headers["Accept-Encoding"] = "gzip"
        try:
            connection.request(request.method, request.path, request.body, headers)
            return connection.getresponse()
        except TimeoutError as error:
            raise NoAnswer(f"{source.endpoint} has not answered in time", request.writes) from error
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswer(f"{source.endpoint} has not answered: {error!r}", request.writes) from error


def _may_be_sent_again(error: LatsdbError, request: Request) -> bool:
    if isinstance(error, Problem):
        return error.retry or (isinstance(error, CommitUnknown) and request.repeatable)
    return isinstance(error, NotConnected) or (isinstance(error, NoAnswer) and request.repeatable)


def _wait_before(attempt: int, error: LatsdbError) -> float:
    """Longer each time, and not the same for all clients."""
    wait = 0.02 * 2.0**attempt
    if isinstance(error, Problem) and error.retry_after is not None:
        wait = max(wait, error.retry_after)
    return min(wait, WAIT_MAX) * (0.5 + random.random() / 2)
