#!/usr/bin/env python3
"""Makes the tables of the character sets other than Unicode, and of their collations, in the folder `charsets`.

    generate_charsets.py '-h127.0.0.1 -P13390 -uroot'

A running MySQL 9.7 is asked for every code of each character set and every character of the basic multilingual plane.

Each file is a map from 16 bits to 16 bits, little-endian: u8 page number of each 256 keys (0xFF: none of them is there); pages of 256 u16
values, 0 where a key is not there. Of a character set S

  S.decode       a code (one byte, or the first byte in the high half) to its character
  S.encode       a character to its code
  S.upper        a character to what UPPER() makes of it, where that is another one; S.lower likewise
  COLLATION      a character to its weight and one, for each collation of S that does not go by the codes; weights of one byte beyond ASCII are
                 in the high half where S has codes of two bytes, so that they come among those of two bytes by their first
"""

import struct
import sys
from pathlib import Path

from server import ask

HERE = Path(__file__).parent / "charsets"
ONE_BYTE = ("armscii8 cp1250 cp1251 cp1256 cp1257 cp850 cp852 cp866 dec8 geostd8 greek hebrew hp8 keybcs2 koi8r koi8u latin2 latin5 latin7 "
            "macce macroman swe7").split()
TWO_BYTES = "big5 cp932 euckr gb2312 gbk sjis".split()
# Those that do not give each character one weight.
OTHER = ["cp1250_czech_cs", "latin2_czech_cs"]
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


def main():
    options = sys.argv[1]
    HERE.mkdir(exist_ok=True)
    collations = {}
    for name, charset in ask(options, "SELECT COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATIONS"):
        if not name.endswith("_bin") and name not in OTHER:
            collations.setdefault(charset, []).append(name)
    for charset in ONE_BYTE + TWO_BYTES:
        character = "CONVERT(UNHEX(LPAD(HEX(n), 8, '0')) USING utf32)"
        own = f"CONVERT({character} USING {charset})"
        weights = "".join(f", HEX(WEIGHT_STRING({own} COLLATE {name}))" for name in collations.get(charset, []))
        cases = "".join(f", HEX(CONVERT({function}({own}) USING utf32))" for function in ("UPPER", "LOWER"))
        rows = ask(options, f"{NUMBERS} SELECT n, HEX({own}){cases}{weights} FROM numbers WHERE n NOT BETWEEN 0xD800 AND 0xDFFF ORDER BY n")
        encode = {int(n): int(code, 16) for n, code, *_ in rows if code != "3F" or int(n) == 0x3F}
        write(f"{charset}.encode", encode)
        for i, name in enumerate(("upper", "lower")):
            mapped = {int(row[0]): int(row[2 + i], 16) for row in rows if int(row[0]) in encode}
            write(f"{charset}.{name}", {n: value for n, value in mapped.items() if value != n})
        for i, name in enumerate(collations.get(charset, [])):
            table = {int(row[0]): int(row[4 + i], 16) for row in rows if int(row[0]) in encode}
            if charset in TWO_BYTES:
                table = {n: value << 8 if 0x80 <= value <= 0xFF else value for n, value in table.items()}
            write(name, {n: value + 1 for n, value in table.items()})
        widths = "IF(n < 256, 2, 4)"
        rows = ask(options, f"{NUMBERS} SELECT n, HEX(CONVERT(CONVERT(UNHEX(LPAD(HEX(n), {widths}, '0')) USING {charset}) USING utf32)) FROM numbers "
                   f"WHERE n < {256 if charset in ONE_BYTE else 65536}")
        decode = {}
        for n, found in rows:
            # What is no code is NULL, or comes as question marks, or as two characters.
            if found not in ("NULL", "") and len(found) == 8 and (found != "0000003F" or int(n) == 0x3F):
                decode[int(n)] = int(found, 16)
        write(f"{charset}.decode", decode)
        print(charset, len(encode), len(decode), collations.get(charset), file=sys.stderr)


if __name__ == "__main__":
    main()
