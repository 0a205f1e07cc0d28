#!/usr/bin/env python3
"""Makes the tables of the character sets other than Unicode, and of their collations, in the folder `charsets`.

    generate_charsets.py '-h127.0.0.1 -P13390 -uroot' [CHARSET…]

A running MySQL 9.7 is asked for every code of each character set and every character of the basic multilingual plane.

Each file is a map from 16 bits to 16 bits, little-endian: u8 page number of each 256 keys (0xFF: none of them is there); pages of 256 u16
values, 0 where a key is not there. Of a character set S

  S.decode       a code (one byte, or the first byte in the high half) to its character
                 in codes of three bytes, which all begin with 0x8F, the other two without the highest bit of the last
  S.encode       a character to its code; in gb18030 only where that has two bytes
  S.upper        a character to what UPPER() makes of it, where that is another one; S.lower likewise
  COLLATION      a character to its weight and one, for each collation of S that does not go by the codes; weights of one byte beyond ASCII are
                 in the high half where S has codes of two bytes, so that they come among those of two bytes by their first;
                 of ujis and eucjpms there is none: it folds the cases of ASCII and goes by the codes

Others have layouts of their own:

  gb18030.runs           runs of characters with codes of four bytes whose numbers (the second and fourth byte have ten values, the first and
                         third 126) follow each other: u16 first character, u16 first number, u16 how many; by the characters, and then once
                         more by the numbers
  gb18030_chinese_ci     a character to its rank among those by pinyin: u16 page number of each 256 of the first 0x30000 characters (0xFFFF: none
                         of them has one); pages of 256 u16 ranks, 0 where there is none
  utf8mb3_*              weights of the basic multilingual plane, as in general_ci.bin
  latin1_german2_ci      the first weight of each byte, then the second or 0
  latin2_czech_cs        the weights of each byte in the four passes (0: ignored, 2: a space), then of Ch, CH and ch in each pass; then the order
                         by which INSTR goes
  cp1250_czech_cs        the same of two passes, without the last
  tis620_thai_ci         the order by which LIKE and INSTR go
"""

import struct
import sys
from pathlib import Path

from ranks import write_ranks
from server import ask

HERE = Path(__file__).parent / "charsets"
ONE_BYTE = ("armscii8 cp1250 cp1251 cp1256 cp1257 cp850 cp852 cp866 dec8 geostd8 greek hebrew hp8 keybcs2 koi8r koi8u latin2 latin5 latin7 "
            "macce macroman swe7 tis620").split()
TWO_BYTES = "big5 cp932 euckr gb2312 gbk sjis".split()
THREE_BYTES = "eucjpms ujis".split()
# Those that do not give each character one weight, or go by the codes.
OTHER = "cp1250_czech_cs latin2_czech_cs tis620_thai_ci eucjpms_japanese_ci ujis_japanese_ci gb18030_chinese_ci gb18030_unicode_520_ci".split()
NUMBERS = ("WITH RECURSIVE digits (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM digits WHERE d < 255), "
           "numbers (n) AS (SELECT h.d * 256 + l.d FROM digits h, digits l) ")


def write(name, table):
    index, pages = [], b""
    for page in range(256):
        values = [table.get(page << 8 | i, 0) for i in range(256)]
        if any(values):
            index.append(len(pages) // 512)
            pages += struct.pack("<256H", *values)
        else:
            index.append(0xFF)
    (HERE / f"{name}.bin").write_bytes(bytes(index) + pages)


def planes(first, last):
    return ("WITH RECURSIVE digits (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM digits WHERE d < 255), numbers (n) AS "
            f"(SELECT p.d * 65536 + h.d * 256 + l.d FROM digits p, digits h, digits l WHERE p.d BETWEEN {first} AND {last}) ")


def packed(code):
    """A code as the tables have it."""
    return code & 0xFF7F if code > 0xFFFF else code


def character_of(found):
    """The character of an answer; of what is no code that is NULL, or question marks, or two characters."""
    return int(found, 16) if found not in ("NULL", "") and len(found) == 8 else None


def decoded(options, charset):
    """The character of each code."""
    one, two, three = ("FROM numbers WHERE n < 256", 2, ""), ("FROM numbers WHERE n > 0x7FFF", 4, ""), ("FROM numbers", 4, "8F")
    asked = [one] if charset in ONE_BYTE else [one, two] if charset not in THREE_BYTES else [one, two, three]
    result = {}
    for numbers, width, before in asked:
        code = f"UNHEX(CONCAT('{before}', LPAD(HEX(n), {width}, '0')))"
        for n, found in ask(options, f"{NUMBERS} SELECT n, HEX(CONVERT(CONVERT({code} USING {charset}) USING utf32)) {numbers}"):
            code = int(before + "%0*X" % (width, int(n)), 16)
            character = character_of(found)
            is_whole = width == 2 or charset not in THREE_BYTES or int(n) & 0x80
            if character is not None and is_whole and (character != 0x3F or code == 0x3F):
                result[packed(code)] = character
    return result


def gb18030(options):
    character = "CONVERT(UNHEX(LPAD(HEX(n), 8, '0')) USING utf32)"
    own = f"CONVERT({character} USING gb18030)"
    cases = "".join(f", HEX(CONVERT({function}({own}) USING utf32))" for function in ("UPPER", "LOWER"))
    rows = ask(options, f"{planes(0, 2)} SELECT n, HEX({own}){cases}, HEX(WEIGHT_STRING({own} COLLATE gb18030_chinese_ci)) FROM numbers "
               "WHERE n NOT BETWEEN 0xD800 AND 0xDFFF ORDER BY n")
    basic = [row for row in rows if int(row[0]) < 0x10000]
    write("gb18030.encode", {int(n): int(code, 16) for n, code, *_ in basic if len(code) == 4})
    write("gb18030.decode", {int(code, 16): int(n) for n, code, *_ in basic if len(code) == 4})
    for i, name in enumerate(("upper", "lower")):
        write(f"gb18030.{name}", {int(row[0]): int(row[2 + i], 16) for row in basic if int(row[2 + i], 16) != int(row[0])})
    runs = []
    for n, code, *_ in basic:
        if len(code) == 8:
            a, b, c, d = bytes.fromhex(code)
            number = (((a - 0x81) * 10 + b - 0x30) * 126 + c - 0x81) * 10 + d - 0x30
            if runs and runs[-1][0] + runs[-1][2] == int(n) and runs[-1][1] + runs[-1][2] == number:
                runs[-1][2] += 1
            else:
                runs.append([int(n), number, 1])
    runs += sorted(runs, key=lambda run: run[1])
    (HERE / "gb18030.runs.bin").write_bytes(b"".join(struct.pack("<3H", *run) for run in runs))
    # Of those by pinyin the weights are 0xFFA00000 and the rank.
    write_ranks(HERE / "gb18030_chinese_ci.bin", {int(row[0]): int(row[4][4:], 16) for row in rows if row[4].startswith("FFA0")})


def classes(options, collation, query):
    """The order of the bytes that `query` tells the same pairs of: that of the first byte of each class."""
    charset = collation.split("_")[0]
    byte = f"CONVERT(CAST(CHAR(n) AS BINARY) USING {charset}) COLLATE {collation}"
    pairs = ask(options, f"{NUMBERS}, bytes (n, c) AS (SELECT n, {byte} FROM numbers WHERE n < 256) SELECT b.n, MIN(a.n) FROM bytes a, bytes b "
                f"WHERE {query} GROUP BY b.n")
    order = list(range(256))
    for n, first in pairs:
        order[int(n)] = int(first)
    return bytes(order)


def latin1_german2(options):
    weights = [found for (found,) in ask(options, f"{NUMBERS} SELECT HEX(WEIGHT_STRING(CONVERT(UNHEX(LPAD(HEX(n), 2, '0')) USING latin1) "
                                         "COLLATE latin1_german2_ci)) FROM numbers WHERE n < 256 ORDER BY n")]
    data = bytes(int(found[:2], 16) for found in weights) + bytes(int(found[2:] or "0", 16) for found in weights)
    (HERE / "latin1_german2_ci.bin").write_bytes(data)


def utf8mb3(options):
    for name in ("utf8mb3_general_mysql500_ci", "utf8mb3_tolower_ci"):
        character = "CONVERT(CONVERT(UNHEX(LPAD(HEX(n), 8, '0')) USING utf32) USING utf8mb3)"
        rows = ask(options, f"{NUMBERS} SELECT n, HEX(WEIGHT_STRING({character} COLLATE {name})) FROM numbers WHERE n NOT BETWEEN 0xD800 AND 0xDFFF")
        weights = {int(n): int(weight, 16) for n, weight in rows}
        index, pages = [], []
        for page in range(256):
            characters = range(page << 8, (page + 1) << 8)
            values = [weights.get(c, c) for c in characters]
            index.append(0xFF if values == list(characters) else len(pages))
            pages += [] if values == list(characters) else [struct.pack("<256H", *values)]
        (HERE / f"{name}.bin").write_bytes(bytes(index) + b"".join(pages))


def czech(options, collation, passes):
    charset = collation.split("_")[0]

    def weights(text):
        found = bytes.fromhex(ask(options, f"SELECT HEX(WEIGHT_STRING(_{charset} X'{text.hex()}' COLLATE {collation}))")[0][0])
        if passes == 2:
            return list(found)
        # Each pass ends with a 1, the last with a 0. Spaces show nothing where a text ends.
        levels = found[:-1].split(b"\1")
        return [level[0] if level else 2 if not any(levels) else 0 for level in levels]

    columns = [weights(bytes([byte])) for byte in range(256)] + [weights(text) for text in (b"Ch", b"CH", b"ch")]
    by_pass = list(zip(*columns))
    data = b"".join(bytes(column[:256]) for column in by_pass) + b"".join(bytes(column[256:]) for column in by_pass)
    if passes == 4:
        data += classes(options, collation, "INSTR(CONCAT(a.c, 'y'), CONCAT(b.c, 'y'))")
    (HERE / f"{collation}.bin").write_bytes(data)


def main():
    options, *chosen = sys.argv[1:]
    HERE.mkdir(exist_ok=True)
    collations = {}
    for name, charset in ask(options, "SELECT COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATIONS"):
        if not name.endswith("_bin") and name not in OTHER:
            collations.setdefault(charset, []).append(name)
    for charset in ONE_BYTE + TWO_BYTES + THREE_BYTES:
        if chosen and charset not in chosen:
            continue
        character = "CONVERT(UNHEX(LPAD(HEX(n), 8, '0')) USING utf32)"
        own = f"CONVERT({character} USING {charset})"
        weights = "".join(f", HEX(WEIGHT_STRING({own} COLLATE {name}))" for name in collations.get(charset, []))
        cases = "".join(f", HEX(CONVERT({function}({own}) USING utf32))" for function in ("UPPER", "LOWER"))
        rows = ask(options, f"{NUMBERS} SELECT n, HEX({own}){cases}{weights} FROM numbers WHERE n NOT BETWEEN 0xD800 AND 0xDFFF ORDER BY n")
        encode = {int(n): packed(int(code, 16)) for n, code, *_ in rows if code != "3F" or int(n) == 0x3F}
        write(f"{charset}.encode", encode)
        for i, name in enumerate(("upper", "lower")):
            mapped = {int(row[0]): int(row[2 + i], 16) for row in rows if int(row[0]) in encode}
            write(f"{charset}.{name}", {n: value for n, value in mapped.items() if value != n})
        for i, name in enumerate(collations.get(charset, [])):
            table = {int(row[0]): int(row[4 + i], 16) for row in rows if int(row[0]) in encode}
            if charset in TWO_BYTES:
                table = {n: value << 8 if 0x80 <= value <= 0xFF else value for n, value in table.items()}
            write(name, {n: value + 1 for n, value in table.items()})
        decode = decoded(options, charset)
        write(f"{charset}.decode", decode)
        print(charset, len(encode), len(decode), collations.get(charset), file=sys.stderr)
    others = {"gb18030": gb18030, "latin1": latin1_german2, "utf8mb3": utf8mb3}
    others["latin2"] = lambda options: czech(options, "latin2_czech_cs", 4)
    others["cp1250"] = lambda options: czech(options, "cp1250_czech_cs", 2)
    others["tis620"] = lambda options: (HERE / "tis620_thai_ci.bin").write_bytes(classes(options, "tis620_thai_ci", "b.n NOT IN (37, 92, 95) AND a.c LIKE b.c"))
    for charset, make in others.items():
        if not chosen or charset in chosen:
            make(options)


if __name__ == "__main__":
    main()
