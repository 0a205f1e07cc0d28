#!/usr/bin/env python3
"""Makes the tables of the folder `tailorings`: what the collations of languages change of the Unicode collation algorithm.

    generate_tailorings.py '-h127.0.0.1 -P13390 -uroot' [NAME…]

A running MySQL 9.7 is asked what each character of the first two planes weighs in a collation of a language and in the one that it is made from,
and which sequences of up to four letters, of those that the language writes together, weigh otherwise than the shorter ones in them. Of Chinese
and Japanese all planes are asked for. Their ideographs are in files of their own, NAME.ranks.bin without _ks (see ranks.py): the one primary weight of each,
beside the common secondary and tertiary ones.

Layout (little-endian):

  u16 flags        1: upper case comes first
  u16 numbers      of shifts, of characters and of contractions
  shifts           u16 first, u16 last, u16 what is added to these primary weights of the characters that are not below; 0: 0xFB86 comes before
                   each of them. Of the two weights that ideographs and unassigned characters have by their codes this concerns the first
  characters       rising: u32 the character, u16 the place of its first weight, four u8: how many weights it has at each level
  contractions     rising: four u16 characters (0 behind the last), u16 the place of the first weight, four u8 as above
  u16 weights      of one level after the other; in contractions 1 for the weight 0, which counts there
"""

import itertools
import struct
import sys
from pathlib import Path

from ranks import write_ranks
from server import ask

HERE = Path(__file__).parent / "tailorings"
LEVELS = 4
WITH_IDEOGRAPHS = "ja zh".split()
BASES = {"unicode_ci", "unicode_520_ci", "general_ci", "bin", "0900_ai_ci", "0900_as_ci", "0900_as_cs", "0900_bin"}
UPPER_FIRST = {"da_0900_as_cs"}
# The letters of the contractions.
TOGETHER = {
    "czech": "chCH", "slovak": "chCH", "lithuanian": "chCH", "cs": "chCH", "sk": "chCH",
    "danish": "aA", "da": "aA", "nb": "aA", "nn": "aA",
    "spanish2": "chlCHL", "es_trad": "chlCHL",
    "croatian": "djlnžDJLNŽ", "hr": "djlnžDJLNŽ", "bs": "djlnžDJLNŽ", "sr_latn": "djlnžDJLNŽ",
    "hu": "cdglnstyzCDGLNSTYZ",
    "lt": "\u0307\u0300\u0301\u0303",
    "zh": "mMnN\u0300\u0304\u030c",
    "ja": "".join(map(chr, [*range(0x3041, 0x3100), *range(0x31F0, 0x3200), *range(0xFF65, 0xFFA0)])),
}
# Japanese marks that stand for something of the kana before them. MySQL reads what is before the first character of a text, too, from where it
# ended last; so sequences that begin with a mark tell nothing.
MARKS = "\u30fc\u309d\u309e\u30fd\u30fe"
# A shift of fewer weights than these is written with the characters.
FEW = 30
# What comes before the weights of scripts that are sorted behind all ideographs.
LEAD = 0xFB86
NUMBERS = ("WITH RECURSIVE digits (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM digits WHERE d < 255), "
           "numbers (n) AS (SELECT p.d * 65536 + h.d * 256 + l.d FROM digits p, digits h, digits l WHERE p.d {planes}) ")
ALPHABET = NUMBERS.format(planes="= 0")
CHARACTER = "CONVERT(CONVERT(UNHEX(LPAD(HEX(n), 8, '0')) USING utf32) USING utf8mb4)"


def weights(options, collation, planes):
    result = {}
    for few in planes:
        query = (f"{NUMBERS.format(planes=few)} SELECT n, HEX(WEIGHT_STRING({CHARACTER} COLLATE utf8mb4_{collation})) FROM numbers "
                 "WHERE n NOT BETWEEN 0xD800 AND 0xDFFF")
        result |= {int(n): found for n, found in ask(options, query)}
    return result


def weights_of_sequences(options, collation, letters, length):
    alphabet = f"SELECT SUBSTRING(_utf8mb4'{letters}', n + 1, 1) l FROM numbers WHERE n < {len(letters)}"
    tables = ", ".join(f"({alphabet}) t{i}" for i in range(length))
    sequence = f"CONCAT({', '.join(f't{i}.l' for i in range(length))})"
    query = f"{ALPHABET} SELECT HEX({sequence}), HEX(WEIGHT_STRING({sequence} COLLATE utf8mb4_{collation})) FROM {tables}"
    return {bytes.fromhex(sequence).decode(): found for sequence, found in ask(options, query)}


def units(found):
    return [int(found[at:at + 4], 16) for at in range(0, len(found), 4)]


def levels(found, has_levels):
    """The weights at each level."""
    result = [[]]
    for weight in units(found):
        if weight == 0 and has_levels:
            result.append([])
        else:
            result[-1].append(weight)
    return result + [[]] * (LEVELS - len(result))


def of_contraction(found, has_levels):
    # A weight of 0 before the first separator counts.
    if has_levels and found.startswith("0000"):
        return [[1], *levels(found[8:], has_levels)][:LEVELS]
    return levels(found, has_levels)


def contractions(options, name, by_character, letters):
    found = {}
    is_japanese = name.startswith("ja")

    def put_together(sequence):
        result = [[] for _ in range(LEVELS)]
        while sequence:
            unit = next(sequence[:length] for length in range(4, 0, -1) if length == 1 or sequence[:length] in found)
            by_level = found[unit] if len(unit) > 1 else levels(by_character[ord(unit)], "0900" in name)
            for level, more in zip(result, by_level):
                level += more
            sequence = sequence[len(unit):]
        return result

    def shown(by_level):
        return [0 if weight == 1 and i == 0 else weight for i, level in enumerate(by_level) if i == 0 or level for weight in [0] * (i > 0) + level]

    for length in (2,) if is_japanese else (2, 3, 4):
        for sequence, weight_string in sorted(weights_of_sequences(options, name, letters, length).items()):
            if is_japanese and (sequence[0] in MARKS or sequence[1] not in MARKS):
                continue
            if shown(put_together(sequence)) != units(weight_string):
                found[sequence] = of_contraction(weight_string, "0900" in name)
                assert shown(found[sequence]) == units(weight_string), (name, sequence, weight_string)
    return found


def is_by_code(first):
    """Whether these are the primary weights that a character has by its code."""
    return len(first) == 2 and first[0] >= 0xFB00 and first[1] >= 0x8000


def shifts(base, tailored):
    """The ranges of primary weights that are moved together."""
    seen = {}
    for character, before in base.items():
        after = tailored[character]
        if before[1:] != after[1:]:
            continue
        first, then = before[0], after[0]
        if is_by_code(first):
            pairs = [(first[0], then[0] - first[0] & 0xFFFF or None)] if len(then) == 2 else []
        elif len(first) == 1 and then == [LEAD, *first]:
            pairs = [(first[0], 0)]
        else:
            pairs = [(weight, moved - weight & 0xFFFF or None) for weight, moved in zip(first, then)] if len(first) == len(then) else []
        for weight, by in pairs:
            counts = seen.setdefault(weight, {})
            counts[by] = counts.get(by, 0) + 1
    runs = []
    for weight, counts in sorted(seen.items()):
        by = max(counts, key=counts.get)
        if runs and runs[-1][2] == by:
            runs[-1][1] = weight
            runs[-1][3] += 1
        else:
            runs.append([weight, weight, by, 1])
    return [run[:3] for run in runs if run[2] is not None and (run[3] >= FEW or run[0] >= 0xFB00)]


def rank_of_case(weight):
    return 0x100 if 0x08 <= weight <= 0x0C or weight in (0x0E, 0x11, 0x12, 0x1D) else 0x300


def derived(by_level, moved, upper_first):
    """What is made of the weights of the base by rule."""
    def shift(weight):
        by = next((by for first, last, by in moved if first <= weight <= last), None)
        return [weight] if by is None else [LEAD, weight] if by == 0 else [weight + by & 0xFFFF]

    first, second, third, *others = by_level
    kept = [first.pop()] if is_by_code(first := [*first]) else []
    return [[*itertools.chain(*map(shift, first)), *kept], second, [weight | rank_of_case(weight) if upper_first else weight for weight in third], *others]


def main():
    options, *chosen = sys.argv[1:]
    HERE.mkdir(exist_ok=True)
    bases = {}
    names = ask(options, "SELECT SUBSTRING(COLLATION_NAME, 9) FROM information_schema.COLLATIONS WHERE CHARACTER_SET_NAME = 'utf8mb4'")
    for (name,) in names:
        language = name.removesuffix("_0900_ai_ci").removesuffix("_0900_as_cs_ks").removesuffix("_0900_as_cs").removesuffix("_ci")
        if name in BASES or chosen and name not in chosen:
            continue
        has_ideographs = language in WITH_IDEOGRAPHS
        planes = ["BETWEEN 0 AND 3", "BETWEEN 4 AND 9", "BETWEEN 10 AND 16"] if has_ideographs else ["< 2"]
        base = "0900_as_cs" if "as_cs" in name else "0900_ai_ci" if name.endswith("ai_ci") else "unicode_ci"
        has_levels = "0900" in name
        if (base, has_ideographs) not in bases:
            bases[base, has_ideographs] = {c: levels(found, has_levels) for c, found in weights(options, base, planes).items()}
        untailored = bases[base, has_ideographs]
        found = weights(options, name, planes)
        tailored = {c: levels(string, has_levels) for c, string in found.items()}
        together = contractions(options, name, found, TOGETHER[language]) if language in TOGETHER else {}
        moved = shifts(untailored, tailored)
        upper_first = name in UPPER_FIRST
        changed = {c: by_level for c, by_level in tailored.items() if by_level != derived(untailored[c], moved, upper_first)}
        if has_ideographs:
            ranks = {c: first[0] for c, (first, *others) in changed.items()
                     if c >= 0x2E80 and not 0x3000 <= c < 0x3400 and len(first) == 1 and others == [[0x20], [0x02], []]}
            changed = {c: by_level for c, by_level in changed.items() if c not in ranks}
            write_ranks(HERE / f"{name.removesuffix('_ks')}.ranks.bin", ranks)

        all_weights = []

        def entry(by_level):
            place = struct.pack("<H4B", len(all_weights), *map(len, by_level))
            all_weights.extend(itertools.chain(*by_level))
            return place

        data = struct.pack("<4H", upper_first, len(moved), len(changed), len(together))
        data += b"".join(struct.pack("<3H", *run) for run in moved)
        data += b"".join(struct.pack("<I", character) + entry(by_level) for character, by_level in sorted(changed.items()))
        for sequence, by_level in sorted(together.items()):
            data += struct.pack("<4H", *map(ord, sequence.ljust(4, "\0"))) + entry(by_level)
        data += struct.pack(f"<{len(all_weights)}H", *all_weights)
        (HERE / f"{name}.bin").write_bytes(data)
        print(name, base, [[*map(hex, run)] for run in moved], len(changed), "".join(f" {s}" for s in sorted(together)), file=sys.stderr)


if __name__ == "__main__":
    main()
