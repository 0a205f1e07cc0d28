#!/usr/bin/env python3
"""Makes the tables of the folder `tailorings`: what the collations of languages change of the Unicode collation algorithm.

    generate_tailorings.py '-h127.0.0.1 -P13390 -uroot'

A running MySQL 9.7 is asked what each character of the first two planes weighs in a collation of a language and in the one that it is made from.
Languages that weigh two characters together otherwise than one after the other (as Czech `ch`), or an ASCII letter by several weights, are left out.

Layout (little-endian): u16 number of characters; for each, rising, u32 the character, u16 the place of its first weight, three u8: how many
weights it has at each level, u8 0; then u16 weights.
"""

import struct
import sys
from pathlib import Path

from server import ask

HERE = Path(__file__).parent / "tailorings"
# Those in which an ASCII letter has several weights.
SEVERAL = "et_0900_ai_ci et_0900_as_cs tr_0900_ai_ci tr_0900_as_cs lv_0900_as_cs lt_0900_as_cs la_0900_as_cs".split()
TOGETHER = "czech danish lithuanian slovak spanish2 croatian cs da sk es_trad hu hr ja zh nb nn sr_latn bs".split()
BASES = {"unicode_ci", "unicode_520_ci", "general_ci", "bin", "0900_ai_ci", "0900_as_ci", "0900_as_cs", "0900_bin"}
NUMBERS = ("WITH RECURSIVE digits (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM digits WHERE d < 255), "
           "numbers (n) AS (SELECT p.d * 65536 + h.d * 256 + l.d FROM digits p, digits h, digits l WHERE p.d < 2) ")
CHARACTER = "CONVERT(CONVERT(UNHEX(LPAD(HEX(n), 8, '0')) USING utf32) USING utf8mb4)"


def weights(options, collation):
    query = (f"{NUMBERS} SELECT n, HEX(WEIGHT_STRING({CHARACTER} COLLATE utf8mb4_{collation})) FROM numbers "
             "WHERE n NOT BETWEEN 0xD800 AND 0xDFFF")
    return {int(n): found for n, found in ask(options, query)}


def levels(found, has_levels):
    """The weights at each of three levels."""
    result = [[]]
    for at in range(0, len(found), 4):
        weight = int(found[at:at + 4], 16)
        if weight == 0 and has_levels:
            result.append([])
        else:
            result[-1].append(weight)
    return result + [[]] * (3 - len(result))


def main():
    options = sys.argv[1]
    HERE.mkdir(exist_ok=True)
    bases = {}
    names = ask(options, "SELECT SUBSTRING(COLLATION_NAME, 9) FROM information_schema.COLLATIONS WHERE CHARACTER_SET_NAME = 'utf8mb4'")
    for (name,) in names:
        language = name.removesuffix("_0900_ai_ci").removesuffix("_0900_as_cs").removesuffix("_0900_as_cs_ks").removesuffix("_ci")
        if name in BASES or name in SEVERAL or language in TOGETHER:
            continue
        base = "0900_as_cs" if name.endswith("as_cs") else "0900_ai_ci" if name.endswith("ai_ci") else "unicode_ci"
        if base not in bases:
            bases[base] = weights(options, base)
        changed = {c: levels(found, "0900" in name) for c, found in weights(options, name).items() if found != bases[base][c]}
        entries, all_weights = b"", []
        for character, by_level in sorted(changed.items()):
            entries += struct.pack("<IHBBBB", character, len(all_weights), *map(len, by_level), 0)
            all_weights += [weight for level in by_level for weight in level]
        data = struct.pack("<H", len(changed)) + entries + struct.pack(f"<{len(all_weights)}H", *all_weights)
        (HERE / f"{name}.bin").write_bytes(data)
        print(name, base, len(changed), file=sys.stderr)


if __name__ == "__main__":
    main()
