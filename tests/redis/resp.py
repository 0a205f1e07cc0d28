"""The Redis protocol by hand, RESP2 and RESP3, for clients that compare replies byte for byte or break the rules.

A reply is a pair (kind, value). The kind is the type's first byte as text, so that `$-1`, `*-1` and `_` stay apart:

    "+" "-"      bytes            ":"  int              "$" "="  bytes, or None for "$-1"
    "*" "~" ">"  list, or None    "%" "|"  list of pairs    ","  bytes as sent    "#"  bool    "("  int    "_"  None
"""

import argparse
import socket
import time


class Closed(Exception):
    """The server ended the connection."""


class Malformed(Exception):
    """What came is no reply."""


class Refused(Exception):
    """An error reply, where none was expected."""


def address(text):
    """HOST:PORT, for argparse."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise argparse.ArgumentTypeError(f"{text} is not HOST:PORT")
    return host, int(port)


def argument(value):
    if isinstance(value, bytes):
        return value
    return str(value).encode()


def encode(arguments):
    """A command as an array of bulk strings."""
    pieces = [b"*%d\r\n" % len(arguments)]
    for value in arguments:
        value = argument(value)
        pieces.append(b"$%d\r\n%s\r\n" % (len(value), value))
    return b"".join(pieces)


class Connection:
    """A socket that knows replies, but not manners."""

    def __init__(self, address, timeout=20, receive_buffer=None, protocol=2):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.position = b"", 0
        if protocol != 2:
            self.ask("HELLO", protocol)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, *arguments):
        self.send_raw(encode(arguments))

    def send_raw(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionError) as error:
            raise Closed(str(error)) from error

    def ask(self, *arguments):
        """The reply to a command, in Python's own types; an error reply is raised."""
        reply = self.reply(*arguments)
        if reply[0] == "-":
            raise Refused(f"{arguments[0]}: {reply[1].decode(errors='replace')}")
        return plain(reply)

    def reply(self, *arguments):
        self.send(*arguments)
        return self.read()

    def pipeline(self, commands):
        self.send_raw(b"".join(map(encode, commands)))
        return [self.read() for _ in commands]

    def read(self, timeout=None):
        if timeout is not None:
            self.socket.settimeout(timeout)
        return self.read_reply()

    def is_silent(self, seconds):
        """Whether nothing comes within that time."""
        if self.position < len(self.buffer):
            return False
        before = self.socket.gettimeout()
        self.socket.settimeout(seconds)
        try:
            self.receive()
            return False
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(before)

    def is_closed(self, seconds):
        """Whether the server ends the connection within that time, whatever else it sends before."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                self.receive()
            except TimeoutError:
                return False
            except Closed:
                return True
            self.buffer, self.position = b"", 0
        return False

    def receive(self):
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionError as error:
            raise Closed(str(error)) from error
        if not data:
            raise Closed("end of stream")
        self.buffer = self.buffer[self.position:] + data
        self.position = 0

    def line(self):
        while (end := self.buffer.find(b"\r\n", self.position)) < 0:
            if len(self.buffer) - self.position > 1 << 20:
                raise Malformed(f"a line without end: {self.buffer[self.position:][:80]!r}")
            self.receive()
        line = self.buffer[self.position:end]
        self.position = end + 2
        return line

    def exactly(self, count):
        missing = count + 2 - (len(self.buffer) - self.position)
        if missing > 0:
            pieces = [self.buffer[self.position:]]
            while missing > 0:
                self.buffer, self.position = b"", 0
                self.receive()
                pieces.append(self.buffer)
                missing -= len(self.buffer)
            self.buffer, self.position = b"".join(pieces), 0
        data = self.buffer[self.position:self.position + count]
        if self.buffer[self.position + count:self.position + count + 2] != b"\r\n":
            raise Malformed(f"{count} bytes do not end with CRLF: {data[:40]!r}")
        self.position += count + 2
        return data

    def read_reply(self):
        line = self.line()
        kind, rest = line[:1].decode("latin-1"), line[1:]
        try:
            if kind in "+-,":
                return kind, rest
            if kind in ":(":
                return kind, int(rest)
            if kind in "$=":
                length = int(rest)
                return kind, None if length < 0 else self.exactly(length)
            if kind in "*~>":
                count = int(rest)
                return kind, None if count < 0 else [self.read_reply() for _ in range(count)]
            if kind in "%|":
                return kind, [(self.read_reply(), self.read_reply()) for _ in range(int(rest))]
            if kind == "#":
                return kind, {b"t": True, b"f": False}[rest]
            if kind == "_" and not rest:
                return kind, None
        except (ValueError, KeyError) as error:
            raise Malformed(f"{line[:80]!r}") from error
        raise Malformed(f"{line[:80]!r}")


def plain(reply):
    """A reply in Python's own types: maps become dictionaries where their keys can be keys."""
    kind, value = reply
    if value is None:
        return None
    if kind in "*~>":
        return [plain(item) for item in value]
    if kind in "%|":
        return {as_key(plain(key)): plain(item) for key, item in value}
    if kind == "-":
        return Refused(value.decode(errors="replace"))
    if kind == ",":
        return float(value)
    if kind == "=":
        return value[4:]
    return value


def as_key(value):
    return tuple(value) if isinstance(value, list) else value
