"""Lies that the search has to find: a proxy before a real Redis changes what is asked or what is answered."""

import dataclasses
import re
import socket
import threading


@dataclasses.dataclass
class Lie:
    """What is replaced in requests, or in answers."""

    pattern: bytes
    replacement: bytes
    in_answers: bool = False
    types: list | None = None


LIES = {
    "RPUSH puts at the wrong end": Lie(rb"\r\nRPUSH\r\n", b"\r\nLPUSH\r\n"),
    "LREM counts from the wrong side": Lie(rb"(\r\nLREM\r\n\$\d+\r\n.{1,5}\r\n)\$1\r\n([1-9])\r\n", rb"\1$2\r\n-\2\r\n", types=["list"]),
    "ZADD takes GT for LT": Lie(rb"\r\nGT\r\n", b"\r\nLT\r\n", types=["zset"]),
    "EXPIRE XX works as NX": Lie(rb"(\r\nEXPIRE\r\n.*)\r\nXX\r\n", rb"\1\r\nNX\r\n", types=["generic", "string"]),
    "a null array for a null bulk string": Lie(rb"^\$-1\r\n", b"*-1\r\n", in_answers=True),
    "a map of RESP3 as an array": Lie(rb"^%1\r\n", b"*2\r\n", in_answers=True),
    "another text of an error": Lie(rb"ERR no such key", b"ERR No such key", in_answers=True),
    "infinity in other letters": Lie(rb"\r\ninf\r\n", b"\r\nInf\r\n", in_answers=True, types=["zset"]),
    "SETRANGE one byte off": Lie(rb"(\r\nSETRANGE\r\n\$\d+\r\n.{1,5}\r\n)\$1\r\n5\r\n", rb"\1$1\r\n4\r\n", types=["string"]),
    "INCR adds two": Lie(rb"\$4\r\nINCR\r\n\$2\r\n(..)\r\n", rb"$6\r\nINCRBY\r\n$2\r\n\1\r\n$1\r\n2\r\n", types=["string"]),
    "BITOP OR works as AND": Lie(rb"\$2\r\nOR\r\n", b"$3\r\nAND\r\n", types=["bitmap"]),
    "a consumer's entries are gone after XACK of another": Lie(rb"\r\nXACK\r\n(\$\d+\r\n..\r\n\$2\r\n)g2", rb"\r\nXACK\r\n\1g1", types=["stream"]),
    "WATCH is forgotten": Lie(rb"\$5\r\nWATCH\r\n", b"$5\r\nTOUCH\r\n", types=["transactions", "string"]),
    "a message is lost": Lie(rb"\r\nPUBLISH\r\n\$2\r\nc1", b"\r\nPUBLISH\r\n$2\r\nc9", types=["pubsub"]),
    "BLPOP pops from the other end": Lie(rb"\r\nBLPOP\r\n", b"\r\nBRPOP\r\n", types=["list", "blocking"]),
    "SPOP gives what is not there": Lie(rb"\$1\r\nm1\r\n|\$2\r\nm1\r\n", b"$2\r\nm7\r\n", in_answers=True, types=["set"]),
}


class Proxy:
    """Listens on a port of its own, and passes on to `target`, with the lie."""

    def __init__(self, target, lie):
        self.target, self.lie = target, lie
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target)
            except OSError:
                return
            for one, two, is_answer in ((client, server, False), (server, client, True)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.pass_on, args=(one, two, is_answer), daemon=True).start()

    def pass_on(self, source, sink, is_answer):
        try:
            while data := source.recv(1 << 20):
                if is_answer == self.lie.in_answers:
                    data = re.sub(self.lie.pattern, self.lie.replacement, data, flags=re.DOTALL)
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
