"""A client of HTTP/2 whose every frame the tests choose."""

import contextlib
import json
import socket
import ssl
import time

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags=0, stream=0, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


class Client:
    """One connection, with as many exchanges at once as are wanted."""

    def __init__(self, node, tls=None, window=None):
        self.socket = socket.create_connection(("127.0.0.1", node.http), timeout=30)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
            assert self.socket.selected_alpn_protocol() == "h2"
        self.host = f"127.0.0.1:{node.http}"
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.initiate_connection()
        if window is not None:
            self.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.takes = window is None
        self.answers, self.ended = {}, None
        self.flush()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def begin(self, method, path, body=None, headers=(), end=True):
        """Sends a request; its number."""
        number = self.h2.get_next_available_stream_id()
        head = [(":method", method), (":path", path), (":scheme", "http"), (":authority", self.host), *headers]
        if body is not None and not isinstance(body, bytes):
            body, head = json.dumps(body).encode(), [*head, ("content-type", "application/json")]
        self.answers[number] = Answer()
        self.h2.send_headers(number, head, end_stream=body is None and end)
        if body is not None:
            self.send(number, body, end)
        self.flush()
        return number

    def send(self, number, body, end):
        while body:
            room = min(self.h2.local_flow_control_window(number), self.h2.max_outbound_frame_size)
            if room == 0:
                self.flush()
                self.hear()
                continue
            self.h2.send_data(number, body[:room])
            body = body[room:]
        if end:
            self.h2.end_stream(number)

    def hear(self):
        """Takes in what comes next; false once the node has closed the connection."""
        piece = self.socket.recv(1 << 16)
        try:
            events = self.h2.receive_data(piece) if piece else []
        except h2.exceptions.ProtocolError:
            # The library takes no ping behind the word that the connection ends, by which the node learns that it has been heard.
            assert b"\0\0\x08\x07" in piece or self.ended is not None
            self.ended, events = 0, []
        for event in events:
            answer = self.answers.get(getattr(event, "stream_id", None))
            match event:
                case h2.events.ResponseReceived():
                    answer.headers = dict(event.headers)
                    answer.status = int(answer.headers[":status"])
                case h2.events.DataReceived():
                    answer.body += event.data
                    if self.takes and event.flow_controlled_length:
                        self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case h2.events.StreamEnded():
                    answer.at = time.monotonic()
                case h2.events.StreamReset():
                    answer.reset, answer.at = event.error_code, time.monotonic()
                case h2.events.ConnectionTerminated():
                    self.ended = event.error_code
        self.flush()
        return bool(piece)

    def wait(self, *numbers):
        """Until these are answered, or broken off."""
        answers = [self.answers[number] for number in numbers]
        while not all(answer.at for answer in answers):
            assert self.hear(), "the node has closed the connection"
        return answers

    def ask(self, method, path, body=None, headers=()):
        return self.wait(self.begin(method, path, body, headers))[0]

    def close(self):
        self.socket.close()


class Answer:
    def __init__(self):
        self.headers, self.status, self.body, self.reset, self.at = {}, None, b"", None, None

    @property
    def json(self):
        return json.loads(self.body)


@contextlib.contextmanager
def connected(node, **options):
    client = Client(node, **options)
    try:
        yield client
    finally:
        client.close()


def tls_context(node):
    context = ssl.create_default_context(cafile=f"{node.folder}/server-cert.pem")
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


def raw(node, *pieces, enough=lambda got: False):
    """Sends bytes behind the preface and empty settings; what comes back until the node closes, or that is enough."""
    with socket.create_connection(("127.0.0.1", node.http), timeout=10) as one:
        got = b""
        try:
            one.sendall(PREFACE + frame(4))
            for piece in pieces:
                one.sendall(piece)
            while not enough(got) and (piece := one.recv(1 << 16)):
                got += piece
        except (TimeoutError, ConnectionError):
            pass
        return got


def frames(got):
    """Kind, flags, stream and payload of each frame."""
    found, at = [], 0
    while at + 9 <= len(got):
        size = int.from_bytes(got[at:at + 3], "big")
        found.append((got[at + 3], got[at + 4], int.from_bytes(got[at + 5:at + 9], "big"), got[at + 9:at + 9 + size]))
        at += 9 + size
    return found
