"""A way to the node on which answers get lost."""

import contextlib
import socket
import threading


class Proxy:
    """Forwards connections. Of the next `lose` answers it sends nothing, of the next `cut` ones the first bytes, and closes; it swallows the next
    `swallow` ones and lets the client wait."""

    def __init__(self, port):
        self.node = port
        self.lose = self.cut = self.swallow = 0
        #: Requests that were passed on, and connections.
        self.requests = self.connections = 0
        self._open = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def close_all(self):
        """As a node that ends idle connections does."""
        with self._lock:
            for one in self._open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            self._open = []

    def stop(self):
        self._listener.close()
        self.close_all()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            node = socket.create_connection(("127.0.0.1", self.node))
            with self._lock:
                self._open += [client, node]
            threading.Thread(target=self._pass_on, args=(client, node, True), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(node, client, False), daemon=True).start()

    def _pass_on(self, source, target, is_request):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                if is_request:
                    # A head and its body may come one after the other.
                    self.requests += piece.startswith((b"GET ", b"POST ", b"PUT ", b"PATCH ", b"DELETE "))
                elif self.swallow > 0:
                    self.swallow -= 1
                    continue
                elif self.lose > 0:
                    self.lose -= 1
                    break
                elif self.cut > 0:
                    self.cut -= 1
                    target.sendall(piece[:-1])
                    break
                target.sendall(piece)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
