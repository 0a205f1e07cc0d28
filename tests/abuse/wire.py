"""The MySQL protocol by hand, for clients that break it."""

import hashlib
import socket
import struct

PROTOCOL_41, LONG_PASSWORD, SECURE_CONNECTION, PLUGIN_AUTH, MULTI_STATEMENTS = 1 << 9, 1, 1 << 15, 1 << 19, 1 << 16
LOCAL_FILES = 1 << 7
CAPABILITIES = PROTOCOL_41 | LONG_PASSWORD | SECURE_CONNECTION | PLUGIN_AUTH
COM_QUIT, COM_QUERY, COM_PING, COM_STMT_PREPARE, COM_STMT_EXECUTE, COM_STMT_SEND_LONG_DATA, COM_STMT_CLOSE = 1, 3, 14, 22, 23, 24, 25
COM_RESET_CONNECTION = 31
MORE_RESULTS = 8


class ServerError(Exception):
    """An ERR packet."""

    def __init__(self, number, state, message):
        super().__init__(f"{number} ({state}): {message}")
        self.number, self.state, self.message = number, state, message


class Closed(Exception):
    """The server ended the connection."""


def frame(payload, sequence=0):
    """A payload as frames, numbered from `sequence`."""
    framed = b""
    while True:
        piece, payload = payload[:0xFFFFFF], payload[0xFFFFFF:]
        framed += struct.pack("<I", len(piece))[:3] + bytes([sequence % 256]) + piece
        sequence += 1
        if len(piece) < 0xFFFFFF:
            return framed


def login_payload(user, password, nonce, capabilities=CAPABILITIES):
    answer = b""
    if password:
        once = hashlib.sha1(password.encode()).digest()
        salted = hashlib.sha1(nonce + hashlib.sha1(once).digest()).digest()
        answer = bytes(a ^ b for a, b in zip(once, salted))
    return (struct.pack("<IIB23x", capabilities, 1 << 30, 45) + user.encode() + b"\0" + bytes([len(answer)]) + answer
            + b"mysql_native_password\0")


class Connection:
    """A socket that knows packets, but not manners."""

    capabilities = CAPABILITIES

    def __init__(self, address, user=None, password="", timeout=20, receive_buffer=None):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sequence = 0
        self.greeting = None
        if user is not None:
            self.log_in(user, password)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send_raw(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionError) as error:
            raise Closed(error) from error

    def end_sending(self):
        """Says that nothing more comes, where the server still listens."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def receive_exactly(self, count):
        data = b""
        while len(data) < count:
            try:
                piece = self.socket.recv(count - len(data))
            except ConnectionError as error:
                raise Closed(error) from error
            if not piece:
                raise Closed("end of stream")
            data += piece
        return data

    def receive(self):
        """The next payload; an ERR packet is raised."""
        payload = b""
        while True:
            header = self.receive_exactly(4)
            length = int.from_bytes(header[:3], "little")
            self.sequence = header[3] + 1
            payload += self.receive_exactly(length)
            if length < 0xFFFFFF:
                break
        if payload[:1] == b"\xff":
            number = struct.unpack("<H", payload[1:3])[0]
            state, message = ("", payload[3:]) if payload[3:4] != b"#" else (payload[4:9].decode(), payload[9:])
            raise ServerError(number, state, message.decode(errors="replace"))
        return payload

    def greet(self):
        self.greeting = self.receive()
        version_end = self.greeting.index(b"\0", 1)
        head = self.greeting[version_end + 5 : version_end + 13]
        tail = self.greeting[version_end + 13 + 19 :]
        return head + tail[:12]

    def log_in(self, user, password=""):
        nonce = self.greet()
        self.send_raw(frame(login_payload(user, password, nonce, self.capabilities), 1))
        answer = self.receive()
        while answer[:1] != b"\0":
            if answer[:1] == b"\xfe":  # another plugin: an account without password answers with nothing
                self.send_raw(frame(b"", self.sequence))
            answer = self.receive()

    def command(self, payload):
        self.send_raw(frame(payload))
        return self.receive()

    def query(self, sql):
        """The first packet of the answer."""
        return self.command(bytes([COM_QUERY]) + (sql if isinstance(sql, bytes) else sql.encode()))

    def drain(self, packet):
        """Reads an answer, which begins with this packet, to its end, with all its results."""
        while True:
            if packet[:1] == b"\0":
                at = 1
                for _ in range(2):
                    at += {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(packet[at], 1)
                status = packet[at]
            else:
                for _ in range(2):
                    packet = self.receive()
                    while not (packet[:1] == b"\xfe" and len(packet) < 9):
                        packet = self.receive()
                status = packet[3]
            if not status & MORE_RESULTS:
                return
            packet = self.receive()

    def rows(self, sql):
        """All rows, each as raw bytes, of a small result."""
        count = self.query(sql)[0]
        for _ in range(count):
            self.receive()
        self.receive()
        rows = []
        while True:
            packet = self.receive()
            if packet[:1] == b"\xfe" and len(packet) < 9:
                return rows
            rows.append(packet)

    def is_closed_within(self, seconds):
        """Reads and drops what comes until the server closes."""
        self.socket.settimeout(seconds)
        try:
            while self.socket.recv(1 << 16):
                pass
        except TimeoutError:
            return False
        except ConnectionError:
            pass
        return True
