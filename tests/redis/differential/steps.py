"""What a sequence consists of, as values: they are made, run, shortened, shown, and kept in files."""

import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Step:
    """Something that one connection does on both servers.

    commands   sends them in one write, or in pieces that end at `cuts`
    raw        sends bytes that may be no command
    random     three commands: what is there, a random choice of it, what is there then
    scan       repeats a SCAN command, whose cursor stands at `^`, until the cursor is 0
    restore    DUMP of the first word's key, and RESTORE of that with the other words, where `^` stands for the payload
    block      sends a command that may block, and leaves it
    join       reads the reply to it; whoever is still blocked is unblocked, with the word if there is one
    sleep      milliseconds, the only word
    """

    kind: str
    connection: int = 0
    commands: tuple = ()
    raw: bytes = b""
    cuts: tuple = ()
    whole: bool = False  # its commands belong together

    def text(self):
        if self.kind == "raw":
            return f"{self.connection}> raw {quoted(self.raw)}"
        lines = []
        prefix = "" if self.kind == "commands" else f"{self.kind} "
        for command in self.commands or [()]:
            lines.append(f"{self.connection}> {prefix}{' '.join(map(quoted, command))}")
        if self.cuts:
            lines[-1] += f"    (sent in pieces that end at {', '.join(map(str, self.cuts))})"
        return "\n".join(lines)


def commands(connection, *commands, whole=False, kind="commands"):
    return Step(kind, connection, tuple(tuple(as_bytes(word) for word in command) for command in commands), whole=whole)


def as_bytes(word):
    return word if isinstance(word, bytes) else str(word).encode()


def quoted(word, longest=120):
    """As redis-cli would take it; what is long is cut."""
    cut = word[:longest]
    text = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else {10: "\\n", 13: "\\r", 34: '\\"', 92: "\\\\"}.get(byte, f"\\x{byte:02x}")
                   for byte in cut)
    rest = f"…({len(word)} bytes)" if len(word) > longest else ""
    if text and not rest and all(char.isalnum() or char in "-_.:*+()[]{}<>,/|@#~^=" for char in text):
        return text
    return f'"{text}"{rest}'


def dump(steps):
    return json.dumps([{"kind": step.kind, "connection": step.connection, "commands": [[word.decode("latin-1") for word in command]
                                                                                        for command in step.commands],
                        "raw": step.raw.decode("latin-1"), "cuts": step.cuts, "whole": step.whole} for step in steps])


def load(text):
    return [Step(step["kind"], step["connection"], tuple(tuple(word.encode("latin-1") for word in command) for command in step["commands"]),
                 step["raw"].encode("latin-1"), tuple(step["cuts"]), step["whole"]) for step in json.loads(text)]
