"""Network namespaces on this machine: one for each node, on a bridge, so that the way between two nodes can be cut, thinned and healed.

Everything has a name beginning with a prefix, and is taken away again by it. Needs root and `ip`; to lose packets at random, `nft`.
"""
import contextlib
import ctypes
import os
import shutil
import subprocess
import threading

CLONE_NEWNET = 0x40000000
NOBODY = "02:00:00:00:00:ff"
libc = ctypes.CDLL(None, use_errno=True)


def why_not():
    """Why this machine has no namespaces for us; None: it has."""
    if os.geteuid() != 0:
        return "not root"
    missing = [tool for tool in ("ip", "openssl") if shutil.which(tool) is None]
    if missing:
        return f"no {', '.join(missing)}"
    if subprocess.run(["ip", "netns", "list"], capture_output=True).returncode != 0:
        return "no network namespaces"
    return None


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


class Network:
    """Hosts 1 to `hosts`, and this machine's own as the last address of the subnet."""

    def __init__(self, prefix="lats-a", subnet="10.79.0", hosts=4):
        self.prefix, self.subnet, self.hosts = prefix, subnet, hosts
        self.bridge = f"{prefix}-br"

    def address(self, host):
        return f"{self.subnet}.{host}"

    def local(self, _host, port):
        """Where programs on that host find a port of its node."""
        return f"127.0.0.1:{port}"

    def namespace(self, host):
        return f"{self.prefix}{host}"

    def build(self):
        self.remove()
        run("ip", "link", "add", self.bridge, "type", "bridge")
        run("ip", "addr", "add", f"{self.subnet}.254/24", "dev", self.bridge)
        run("ip", "link", "set", self.bridge, "up")
        for host in range(1, self.hosts + 1):
            space, outside = self.namespace(host), f"{self.prefix}-v{host}"
            run("ip", "netns", "add", space)
            run("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", space)
            run("ip", "link", "set", outside, "master", self.bridge, "up")
            inside = ("ip", "-n", space)
            run(*inside, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
            run(*inside, "link", "set", "eth0", "up")
            run(*inside, "link", "set", "lo", "up")
            self.heal(host)

    def remove(self):
        for host in range(1, 10):
            subprocess.run(["ip", "link", "del", f"{self.prefix}-v{host}"], capture_output=True)
            subprocess.run(["ip", "netns", "del", self.namespace(host)], capture_output=True)
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True)

    def command(self, host, *words):
        """The command, to be run on that host."""
        return ["ip", "netns", "exec", self.namespace(host), *words]

    @contextlib.contextmanager
    def at(self, host):
        """Sockets that this thread makes meanwhile are that host's."""
        with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{self.namespace(host)}") as there:
            enter(there)
            try:
                yield
            finally:
                enter(home)

    # --- faults ---

    def cut(self, source, target):
        """What `source` sends does not reach `target`: no answer, no reset. It goes to a link address that nobody has."""
        run("ip", "-n", self.namespace(source), "neigh", "replace", self.address(target), "lladdr", NOBODY, "dev", "eth0", "nud", "permanent")

    def part(self, one, other):
        self.cut(one, other)
        self.cut(other, one)

    def isolate(self, host):
        for other in range(1, self.hosts + 1):
            if other != host:
                self.part(host, other)

    def lose(self, host, percent):
        """So many packets of a hundred that come to the host are lost."""
        script = ("add table inet fault; add chain inet fault in { type filter hook input priority 0; }; "
                  f"add rule inet fault in iifname eth0 numgen random mod 100 < {percent} drop")
        run(*self.command(host, "nft", script))

    def heal(self, *hosts):
        """Takes back the faults at these hosts, or at all of them."""
        for host in hosts or range(1, self.hosts + 1):
            run("ip", "-n", self.namespace(host), "neigh", "flush", "dev", "eth0", "nud", "permanent")
            if shutil.which("nft"):
                run(*self.command(host, "nft", "add table inet fault; delete table inet fault"))


def enter(namespace):
    if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Background(threading.Thread):
    """A thread whose error is raised where it is joined."""

    def __init__(self, target, *arguments):
        super().__init__(daemon=True)
        self.target, self.arguments, self.error = target, arguments, None
        self.start()

    def run(self):
        try:
            self.target(*self.arguments)
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def join(self, timeout=None):
        super().join(timeout)
        if self.is_alive():
            raise RuntimeError(f"{self.target.__name__} takes longer than {timeout} s")
        if self.error:
            raise self.error
