#!/usr/bin/env python3
"""Makes the collation tables of this folder.

    generate.py --allkeys-900 allkeys-9.0.0.txt --mariadb='-h127.0.0.1 -P3306 -uroot'

Two sources:

* the Default Unicode Collation Element Table 9.0.0, https://www.unicode.org/Public/UCA/9.0.0/allkeys.txt
  (Unicode licence, see NOTICE at the root of the repository), for utf8mb4_0900_*;
* a running MariaDB 10.11, asked for WEIGHT_STRING(), UPPER() and LOWER() of every character, for the collations
  that it shares with MySQL.

The case maps of utf8mb4_0900_* are those of Unicode 9.0: MariaDB's of Unicode 14.0 without the characters that are younger
than 9.0 (as perl's Unicode tables know their ages).

Layouts (all numbers little-endian):

  uca*.bin         u32 number of pages; u16 page number of each 256 characters (0x1100 of them, 0xFFFF: none);
                   pages of 256 u32 entries; then u32 elements.
                   An element is primary << 14 | secondary << 5 | tertiary. An entry is an element; or
                   0x80000000 | count << 24 | index of the first of several elements; or 0xFFFFFFFF: not in the table.
  general_ci.bin   u8 page number of each 256 characters of the BMP (0xFF: each weighs its code); pages of 256 u16 weights.
  eight_bit.bin    tables of 256 weights: latin1 german1, swedish, danish, general_ci, general_cs, spanish; ascii general_ci.
  upper_*.bin,     pairs of u32: a character and what it becomes.
  lower_*.bin
"""

import argparse
import re
import struct
import subprocess
from pathlib import Path

from server import ask

HERE = Path(__file__).parent
ABSENT = 0xFFFFFFFF


def unicode_query():
    character = "CONVERT(CONVERT(UNHEX(LPAD(HEX(seq), 8, '0')) USING utf32) USING utf8mb4)"
    columns = [f"HEX(WEIGHT_STRING(c COLLATE utf8mb4_{name}))" for name in ("unicode_ci", "unicode_520_ci", "general_ci")]
    for name in ("general_ci", "unicode_520_ci", "uca1400_ai_ci"):
        columns += [f"HEX(CONVERT({f}(c COLLATE utf8mb4_{name}) USING utf32))" for f in ("UPPER", "LOWER")]
    return (f"SELECT seq, {', '.join(columns)} FROM (SELECT seq, {character} c FROM seq_0_to_1114111 "
            "WHERE seq NOT BETWEEN 0xD800 AND 0xDFFF) t ORDER BY seq")


def eight_bit_query(charset, count, collations):
    character = f"CONVERT(UNHEX(LPAD(HEX(seq), 2, '0')) USING {charset})"
    columns = ", ".join(f"HEX(WEIGHT_STRING(c COLLATE {name}))" for name in collations)
    return f"SELECT seq, {columns} FROM (SELECT seq, {character} c FROM seq_0_to_{count - 1}) t ORDER BY seq"


def by_number(mariadb, query):
    for seq, *columns in ask(mariadb, query):
        yield int(seq), columns


def write_uca(path, table):
    """`table` maps a character to its elements."""
    index, pages, expansions, known = [0xFFFF] * 0x1100, [], [], {}
    for character, elements in sorted(table.items()):
        if index[character >> 8] == 0xFFFF:
            index[character >> 8] = len(pages)
            pages.append([ABSENT] * 256)
        if len(elements) == 1:
            entry = elements[0]
        elif not elements:
            entry = 0
        else:
            if elements not in known:
                known[elements] = len(expansions)
                expansions += elements
            entry = 0x80000000 | len(elements) << 24 | known[elements]
        pages[index[character >> 8]][character & 0xFF] = entry
    flat = [entry for page in pages for entry in page] + expansions
    data = struct.pack("<I", len(pages)) + struct.pack(f"<{len(index)}H", *index) + struct.pack(f"<{len(flat)}I", *flat)
    path.write_bytes(data)


def read_allkeys(path):
    """The elements of single characters; MySQL leaves the contractions out."""
    table = {}
    for line in path.read_text().splitlines():
        match = re.match(r"([0-9A-F]+)\s*;\s*(\S+)", line)
        if match:
            weights = re.findall(r"\[[.*]([0-9A-F]+)\.([0-9A-F]+)\.([0-9A-F]+)", match[2])
            table[int(match[1], 16)] = tuple(
                int(p, 16) << 14 | int(s, 16) << 5 | int(t, 16) for p, s, t in weights)
    return table


def implicit(character):
    """The rule for characters without an entry in versions 4.0 and 5.2."""
    if 0x3400 <= character <= 0x4DB5:
        base = 0xFB80
    elif 0x4E00 <= character <= 0x9FA5:
        base = 0xFB40
    else:
        base = 0xFBC0
    return [base + (character >> 15), character & 0x7FFF | 0x8000]


def primaries(weight_string):
    return [int(weight_string[i:i + 4], 16) for i in range(0, len(weight_string), 4)]


def write_case_map(path, pairs):
    path.write_bytes(b"".join(struct.pack("<II", *pair) for pair in pairs))


def characters_of_unicode_9():
    script = r'for (0..0x10FFFF) { next if $_ >= 0xD800 && $_ <= 0xDFFF; print "$_\n" if chr($_) =~ /\p{Present_In: 9.0}/ }'
    return {int(line) for line in subprocess.run(["perl", "-e", script], text=True, capture_output=True, check=True).stdout.split()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--allkeys-900", type=Path, required=True)
    parser.add_argument("--mariadb", required=True, help="options of the mariadb client")
    options = parser.parse_args()

    write_uca(HERE / "uca900.bin", read_allkeys(options.allkeys_900))

    v400, v520, general = {}, {}, {}
    case = {name: [] for name in ("upper_general", "lower_general", "upper_520", "lower_520", "upper_900", "lower_900")}
    young = characters_of_unicode_9()
    for character, (w400, w520, w_general, *cases) in by_number(options.mariadb, unicode_query()):
        if character <= 0xFFFF:
            if primaries(w400) != implicit(character):
                v400[character] = tuple(weight << 14 for weight in primaries(w400))
            general[character] = int(w_general, 16)
        else:
            assert w400 == w_general == "FFFD", character
        if primaries(w520) != implicit(character):
            v520[character] = tuple(weight << 14 for weight in primaries(w520))
        for name, mapped in zip(case, cases):
            mapped = int(mapped, 16)
            if mapped != character and (not name.endswith("900") or {character, mapped} <= young):
                case[name].append((character, mapped))

    write_uca(HERE / "uca400.bin", v400)
    write_uca(HERE / "uca520.bin", v520)
    for name, pairs in case.items():
        write_case_map(HERE / f"{name}.bin", pairs)

    index, pages = [], b""
    for page in range(256):
        weights = [general.get(page << 8 | i, page << 8 | i) for i in range(256)]
        if all(weight == page << 8 | i for i, weight in enumerate(weights)):
            index.append(0xFF)
        else:
            index.append(len(pages) // 512)
            pages += struct.pack("<256H", *weights)
    (HERE / "general_ci.bin").write_bytes(bytes(index) + pages)

    latin1 = ["latin1_german1_ci", "latin1_swedish_ci", "latin1_danish_ci", "latin1_general_ci", "latin1_general_cs",
              "latin1_spanish_ci"]
    rows = [columns for _, columns in by_number(options.mariadb, eight_bit_query("latin1", 256, latin1))]
    tables = [bytes(int(row[i], 16) for row in rows) for i in range(len(latin1))]
    rows = [columns for _, columns in by_number(options.mariadb, eight_bit_query("ascii", 128, ["ascii_general_ci"]))]
    tables.append(bytes(int(row[0], 16) for row in rows) + bytes(range(128, 256)))
    (HERE / "eight_bit.bin").write_bytes(b"".join(tables))


if __name__ == "__main__":
    main()
