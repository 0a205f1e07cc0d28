"""Random sequences of commands on a Redis and on the server under test, whose replies have to be equal byte for byte.

    python3 tests/redis/differential/suite.py --redis 127.0.0.1:6379                   against a Redis that it starts
    python3 tests/redis/differential/suite.py --redis … --oracle 127.0.0.1:16379       against that one
    python3 tests/redis/differential/suite.py --types zset,geo --seed 7 --commands 100000
    python3 tests/redis/differential/suite.py --replay target/redis-differential/3.json
    python3 tests/redis/differential/suite.py --planted                                Redis beside a Redis that lies: each lie must be found

A sequence begins on empty servers; its steps come from the grammar that Redis itself publishes (COMMAND DOCS), and from
situations.py. The first difference of each kind is shrunk, printed as a reproducer, and kept in --out. --known names kinds that
are known: a regular expression a line, matched with what stands after "kind:", and `#` before remarks. Without --redis, Redis
is compared with itself: no difference may come up.

Everything follows from the seed, but for the clock. All data of both servers are lost.
"""

import argparse
import contextlib
import dataclasses
import os
import pathlib
import random
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
import planted  # noqa: E402
from grammar import Grammar, missing, TYPES  # noqa: E402
from resp import Connection, address  # noqa: E402
from runner import CONNECTIONS, Pair  # noqa: E402
from server import Server  # noqa: E402
from shrink import shrunk  # noqa: E402
from situations import Draw, PROTOCOL_3, SITUATIONS, WEIGHTS  # noqa: E402
from steps import commands, dump, load  # noqa: E402

STEPS = 150  # of one sequence


def sequence(chance, grammar, types):
    """The steps of one sequence, on empty servers."""
    groups = [group for type in types for group in TYPES[type]]
    data = [group for group in groups if group in grammar.by_group and group not in ("pubsub", "connection", "server", "generic")]
    steps = [commands(PROTOCOL_3, [b"HELLO", 3])]
    if chance.random() < 0.3:
        steps.append(commands(2, [b"HELLO", 3]))
    weights = [WEIGHTS[type] for type in types]
    while len(steps) < STEPS:
        [type] = chance.choices(types, weights)
        kinds = [(weight, situation) for weight, situation in SITUATIONS[type]]
        plain = [group for group in TYPES[type] if grammar.by_group.get(group)]
        if plain:
            kinds.append((1, None))
        if not kinds:
            continue
        [situation] = chance.choices([situation for _, situation in kinds], [weight for weight, _ in kinds])
        if situation:
            made = situation(Draw(chance, grammar, data))
            steps += made if grammar.has(made) else []
        else:
            made = [grammar.command(chance, chance.choice(plain)) for _ in range(chance.choice([1, 1, 1, 2, 3, 6]))]
            step = commands(chance.randrange(CONNECTIONS), *made)
            if chance.random() < 0.1:
                length = sum(map(len, made[0])) + 10
                step = dataclasses.replace(step, cuts=tuple(sorted(chance.randrange(1, length) for _ in range(chance.randint(1, 3)))))
            steps.append(step)
            if type == "pubsub":
                steps.append(commands(step.connection, [b"UNSUBSCRIBE"], [b"PUNSUBSCRIBE"], [b"SUNSUBSCRIBE"]))
    return steps


class Search:
    """Looks for kinds of differences, and keeps an example of each."""

    def __init__(self, pair, options):
        self.pair, self.options = pair, options
        self.kinds, self.known_seen = {}, {}
        self.known = [re.compile(line.partition("#")[0].strip()) for line in (options.known.read_text().splitlines() if options.known else [])
                      if line.partition("#")[0].strip()]

    def is_known(self, signature):
        for pattern in self.known:
            if pattern.search(signature):
                self.known_seen[pattern.pattern] = self.known_seen.get(pattern.pattern, 0) + 1
                return True
        return False

    def look_at(self, steps, name):
        for difference in self.pair.run(steps, known=self.is_known):
            self.kinds[difference.signature] = self.kinds.get(difference.signature, 0) + 1
            if self.kinds[difference.signature] == 1:
                self.report(steps, difference, name)

    def report(self, steps, difference, name):
        def still_differs(candidate):
            return any(found.signature == difference.signature for found in self.pair.run(candidate, dump_every=len(candidate)))

        reproducer = steps[:difference.step + 1]
        again = still_differs(reproducer)
        if again:
            reproducer = shrunk(reproducer, still_differs, self.options.shrink)
            [difference, *_] = [found for found in self.pair.run(reproducer, dump_every=len(reproducer)) if found.signature == difference.signature] or [difference]
        self.options.out.mkdir(parents=True, exist_ok=True)
        file = self.options.out / f"{len(self.kinds)}.json"
        file.write_text(dump(reproducer))
        print(f"DIFFERENCE {len(self.kinds)} ({name}{'' if again else ', not again when repeated'}; {file})\n  kind: {difference.signature}")
        print("  " + "\n".join(step.text() for step in (reproducer if len(reproducer) <= 40 else reproducer[-10:])).replace("\n", "\n  "))
        print(f"  {difference.what} to {difference.command}\n    oracle: {difference.oracle}\n    here:   {difference.other}", flush=True)


def search(options, oracle, other):
    with Connection(oracle) as connection:
        version = re.search(rb"redis_version:(\S+)", connection.ask("INFO", "server"))[1].decode()
    lacking = []
    if not options.all:
        with Connection(other) as connection:
            lacking = missing(connection, version)
    if lacking:
        print(f"left out, since the server does not have them: {' '.join(lacking)}", flush=True)
    grammar = Grammar(version, lacking)
    pair = Pair(oracle, other)
    found = Search(pair, options)
    started, done, number = time.monotonic(), 0, 0
    while done < options.commands and time.monotonic() - started < options.seconds and len(found.kinds) < options.most:
        steps = sequence(random.Random(f"{options.seed}-{number}"), grammar, options.types)
        found.look_at(steps, f"seed {options.seed}, sequence {number}")
        done += sum(max(1, len(step.commands)) for step in steps)
        number += 1
    pair.close()
    seconds = time.monotonic() - started
    print(f"Redis {version}; seed {options.seed}: {done} commands in {number} sequences, {seconds:.0f} s; {len(found.kinds)} kinds of differences")
    for signature, count in sorted(found.kinds.items(), key=lambda item: -item[1]):
        print(f"  {count:5}  {signature}")
    if options.coverage:
        for name, (asked, answered) in sorted(pair.coverage.items()):
            print(f"  {name[:40]:40} {asked:7} answered, {answered:7} without error")
    for pattern, count in found.known_seen.items():
        print(f"  {count:5}  known: {pattern}")
    return number, len(found.kinds)


def replay(options, oracle, other):
    pair = Pair(oracle, other)
    steps = load(options.replay.read_text())
    differences = pair.run(steps)
    print("\n".join(step.text() for step in steps))
    for difference in differences:
        print(f"step {difference.step}: {difference.what} to {difference.command}\n  oracle: {difference.oracle}\n  here:   {difference.other}")
    return 1, len(differences)


def all_planted(options, oracle):
    """Each lie has to be found."""
    failed = 0
    for name, lie in planted.LIES.items():
        with planted.Proxy(oracle, lie) as proxy, contextlib.redirect_stdout(None):
            few = argparse.Namespace(**{**vars(options), "most": 1, "commands": 200_000, "shrink": 10, "types": lie.types or options.types})
            with Server(options.oracle_version) as second:
                proxy.target = second.address
                _, kinds = search(few, oracle, proxy.address)
        print(f"{'found' if kinds else 'FAILED, not found'}: {name}", flush=True)
        failed += not kinds
    return len(planted.LIES) - failed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redis", type=address, default=os.environ.get("REDIS_ADDRESS"), help="the server under test; without it, a second Redis")
    parser.add_argument("--oracle", type=address, help="a Redis; without it, one is started")
    parser.add_argument("--oracle-version", help="7.2 or 7.0; without it, the newest that can be had")
    parser.add_argument("--seed", default=None)
    parser.add_argument("--commands", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--types", type=lambda text: text.split(","), default=list(TYPES), help=", ".join(TYPES))
    parser.add_argument("--all", action="store_true", help="also commands that the server under test says it does not have")
    parser.add_argument("--known", type=pathlib.Path)
    parser.add_argument("--most", type=int, default=100, help="stop after so many kinds of differences")
    parser.add_argument("--shrink", type=float, default=20, help="seconds for making one difference shorter")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[3] / "target/redis-differential")
    parser.add_argument("--replay", type=pathlib.Path)
    parser.add_argument("--coverage", action="store_true", help="tell how often each command came up")
    parser.add_argument("--planted", action="store_true")
    options = parser.parse_args()
    options.seed = options.seed or str(random.SystemRandom().randrange(1 << 32))
    if unknown := set(options.types) - set(TYPES):
        parser.error(f"there is no type {', '.join(unknown)}")
    with contextlib.ExitStack() as stack:
        def own():
            return stack.enter_context(Server(options.oracle_version)).address

        oracle = options.oracle or own()
        if options.planted:
            passed, failed = all_planted(options, oracle)
        else:
            run = replay if options.replay else search
            passed, failed = run(options, oracle, options.redis or own())
    print(f"{max(0, passed - failed) if not options.planted else passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
