"""Hostile expressions: every function, operator and cast over values at the edges of their types.

An expression is a tree, so that one that breaks the server can be shrunk: `Call(name, args)`, `Shape(pieces, args)` for
operators and casts (the pieces stand around the arguments), and text for a literal.
"""

import re
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "crates/sql-expr/src/functions"
ROW = re.compile(
    r'Function::(?:strict|nullable|exact|lazy|new)\(\s*"([^"]+)",\s*(exactly|between|at_least)\(([0-9, ]+)\)')

# They wait, or repeat by a number, as they are told.
NOT_CALLED = {"SLEEP", "GET_LOCK", "BENCHMARK"}
# Written with a syntax of their own.
SYNTAX = {
    "CAST": None,
    "MEMBER OF": ("", " MEMBER OF (", ")"),
    "CHAR": ("CHAR(", ", ", ")"),
    "JSON_VALUE": ("JSON_VALUE(", ", '$[0]' RETURNING CHAR)"),
    "EXTRACT": ("EXTRACT(DAY_MICROSECOND FROM ", ")"),
    "POSITION": ("POSITION(", " IN ", ")"),
}
UNITS = ["MICROSECOND", "SECOND", "DAY", "MONTH", "YEAR", "QUARTER", "DAY_MICROSECOND", "YEAR_MONTH", "HOUR_SECOND"]

NUMBERS = [
    "0", "1", "-1", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "18446744073709551615", "18446744073709551616", "1e308", "-1e308", "1e-308", "1.7976931348623157e308", "0.0", "-0.0",
    "0e0", "-0e0", "9" * 65, "-" + "9" * 65, "9" * 64 + ".9", "0." + "9" * 30, "9" * 35 + "." + "9" * 30, "1.5", "-1.5",
    "127", "128", "255", "256", "65535", "65536", "86400", "2038", "9999", "10000", "400", "-400", "63", "64", "65",
]
TEXTS = [
    "''", "'a'", "' '", "'\\0'", "'é'", "'😀'", "'\u0301'", "'ß'", "'%'", "'_'", "'\\\\'", "'a,b,c'", "'NaN'", "'inf'", "'1e400'",
    "'-'", "'+'", "'.'", "'1e'", "'0x'", "'" + "9" * 400 + "'", "'1." + "0" * 400 + "1'", "'a' COLLATE utf8mb4_bin", "_binary'\\xff\\xfe'",
    "_latin1'\\xe9'", "_utf8mb4 0xF0908D88", "x''", "x'ff'", "x'" + "ff" * 300 + "'", "b''", "b'1'", "0xffffffffffffffffff",
    "REPEAT('a', 70000)", "REPEAT('é', 100000)", "CONCAT(REPEAT('a', 50000), 'b')", "REPEAT('%a', 30000)", "REPEAT('1', 100000)",
    "REPEAT(' ', 100000)", "REPEAT('a,', 100000)", "REPEAT('1:', 50000)", "SPACE(3)", "UNHEX('80')", "CHAR(0x80 USING utf8mb4)",
]
LARGE = ["REPEAT('a', 60000000)", "REPEAT('a,', 30000000)", "CONCAT('[', REPEAT('1,', 20000000), '1]')", "REPEAT('é', 30000000)",
         "CONCAT(REPEAT('a', 30000000), 'b')", "REPEAT('%a', 20000000)"]
TIMES = [
    "'0000-00-00'", "'9999-12-31 23:59:59.999999'", "'9999-12-31'", "'2024-02-30'", "'2024-02-29'", "'0001-01-01'", "'1000-01-01'",
    "'10000-01-01'", "'838:59:59'", "'-838:59:59.000001'", "'999:99:99'", "'24:00:00'", "'00:00:60'", "'2024-13-01'", "'20240101'",
    "DATE'9999-12-31'", "DATE'0000-01-01'", "TIME'-838:59:59'", "TIME'838:59:59.999999'", "TIMESTAMP'9999-12-31 23:59:59.999999'",
    "TIMESTAMP'0000-01-01 00:00:00'", "101010", "991231235959", "99999999999999", "20240229.5", "'%Y-%m-%d %H:%i:%s.%f'",
    "'%j %U %u %V %v %X %x %w %%'", "'+14:00'", "'-13:59'", "'+99:99'", "'UTC'", "'SYSTEM'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:08'",
]
DOCUMENTS = [
    "'null'", "'[]'", "'{}'", "'[1, [2, [3]]]'", "'{\"a\": {\"b\": [1, 2]}}'", "'\"x\"'", "'1e308'", "'-0.0'", "'18446744073709551615'",
    "CONCAT(REPEAT('[', 100), REPEAT(']', 100))", "CONCAT(REPEAT('[', 101), REPEAT(']', 101))", "CONCAT(REPEAT('{\"a\":', 100), '1', REPEAT('}', 100))",
    "CONCAT(REPEAT('[', 90), '\"', REPEAT('x', 70000), '\"', REPEAT(']', 90))", "CONCAT('[', REPEAT('1,', 20000), '1]')",
    "CAST('[1, 2.5, \"a\", null, true]' AS JSON)", "JSON_OBJECT('k', 1)", "'$'", "'$.a'", "'$[0]'", "'$[last]'", "'$**[0]'", "'$.*'",
    "'$[last-4294967295]'", "'$[0 to 4294967295]'", "CONCAT('$', REPEAT('[0]', 5000))", "CONCAT('$', REPEAT('**[*]', 200), '[0]')", "'one'", "'all'",
]
REGEXPS = ["'a*'", "'(a+)+$'", "'(a{0,100}){0,100}'", "'[[:alpha:]]+'", "'('", "'\\\\p{L}*'", "'(?i)é|É'", "'a{99999}'", "CONCAT(REPEAT('(', 300), REPEAT(')', 300))"]
POOL = ["NULL"] + NUMBERS + TEXTS + TIMES + DOCUMENTS + REGEXPS

TYPES = ["SIGNED", "UNSIGNED", "CHAR", "CHAR(0)", "CHAR(5)", "CHAR(4294967295)", "BINARY", "BINARY(3)", "BINARY(1000000)", "DATE", "TIME", "TIME(6)", "DATETIME", "DATETIME(6)",
         "YEAR", "DECIMAL", "DECIMAL(65,30)", "DECIMAL(65,0)", "DECIMAL(1,1)", "DECIMAL(30,30)", "DOUBLE", "FLOAT", "FLOAT(24)", "JSON", "NCHAR(3)"]
CHARSETS = ["utf8mb4", "utf8mb3", "latin1", "ascii", "binary"]
COLLATIONS = ["utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_0900_as_ci", "utf8mb4_0900_bin", "utf8mb4_bin", "utf8mb4_general_ci",
              "utf8mb4_unicode_ci", "utf8mb4_unicode_520_ci", "latin1_swedish_ci", "latin1_bin", "ascii_general_ci", "binary"]
BINARY = ["+", "-", "*", "/", "DIV", "%", "&", "|", "^", "<<", ">>", "=", "<=>", "<", ">=", "<>", "LIKE", "REGEXP", "AND", "OR", "XOR", "IN", "MEMBER OF"]
AGGREGATES = ["COUNT", "COUNT(DISTINCT", "SUM", "SUM(DISTINCT", "AVG", "AVG(DISTINCT", "MIN", "MAX", "BIT_AND", "BIT_OR", "BIT_XOR", "STD", "VAR_SAMP", "GROUP_CONCAT",
              "GROUP_CONCAT(DISTINCT", "JSON_ARRAYAGG", "ANY_VALUE"]


@dataclass(frozen=True)
class Shape:
    """`pieces[0] args[0] pieces[1] …`"""
    pieces: tuple
    args: tuple

    def __str__(self):
        return "".join(piece + (str(self.args[i]) if i < len(self.args) else "") for i, piece in enumerate(self.pieces))

    def smaller(self):
        yield from self.args
        for i, arg in enumerate(self.args):
            simpler = list(arg.smaller()) if isinstance(arg, Shape) else []
            for other in simpler + [text for text in ("1", "'a'", "NULL") if arg != text]:
                yield Shape(self.pieces, self.args[:i] + (other,) + self.args[i + 1:])


def call(name, args):
    return Shape(tuple([name + "("] + [", "] * (len(args) - 1) + [")"]) if args else (name + "()",), tuple(args))


def functions():
    """(name, least, most) of every row of the server's table."""
    found = {}
    for file in sorted(SOURCE.glob("*.rs")):
        for name, kind, numbers in ROW.findall(file.read_text()):
            numbers = [int(number) for number in numbers.replace(" ", "").split(",") if number]
            least = numbers[0]
            most = {"exactly": least, "between": numbers[-1], "at_least": least + 3}[kind]
            found[name] = (least, most)
    assert len(found) > 200, "the table of functions is not where it was"
    return [(name, least, most) for name, (least, most) in found.items() if name not in NOT_CALLED]


class Generator:
    def __init__(self, random, large):
        self.random, self.large, self.functions = random, large, functions()
        self.next_function = 0

    def literal(self):
        kind = self.random.random()
        if self.large and kind < 0.04:
            return self.random.choice(LARGE)
        if kind < 0.35:
            return self.random.choice(NUMBERS)
        return self.random.choice(POOL)

    def value(self, depth=1):
        return self.expression(depth - 1) if depth > 0 and self.random.random() < 0.25 else self.literal()

    def expression(self, depth=1):
        # Functions come in turn, so that each is called as often as any other.
        kind = self.random.random()
        if kind < 0.7:
            name, least, most = self.functions[self.next_function % len(self.functions)]
            self.next_function += 1
            return self.function(name, self.random.randint(least, most), depth)
        if kind < 0.8:
            operator = self.random.choice(BINARY)
            close = ")" if operator in ("IN", "MEMBER OF") else ""
            return Shape(("((", f") {operator} (", ")" + close.replace(")", "") + ")"), (self.value(depth), self.value(depth)))
        if kind < 0.9:
            return Shape(("CAST(", f" AS {self.random.choice(TYPES)})"), (self.value(depth),))
        if kind < 0.93:
            return Shape(("CONVERT(", f" USING {self.random.choice(CHARSETS)})"), (self.value(depth),))
        if kind < 0.96:
            return Shape(("(CONVERT(", f" USING utf8mb4) COLLATE {self.random.choice(COLLATIONS[:8])})"), (self.value(depth),))
        if kind < 0.98:
            return Shape(("(", f" {self.random.choice('+-')} INTERVAL ", f" {self.random.choice(UNITS)})"), (self.value(depth), self.value(depth)))
        return Shape((self.random.choice(["-", "~", "!", "NOT "]) + "(", ")"), (self.value(depth),))

    def function(self, name, count, depth):
        args = [self.value(depth) for _ in range(count)]
        if name == "CHAR":
            args = args[:max(1, count - 1)]
        if name in SYNTAX and SYNTAX[name]:
            pieces = SYNTAX[name]
            if name == "CHAR":
                return call("CHAR", args)
            return Shape(pieces, tuple(args[:len(pieces) - 1]))
        if name in ("TIMESTAMPADD", "TIMESTAMPDIFF"):
            return Shape((f"{name}({self.random.choice(UNITS[:6])}, ", ", ", ")"), (self.value(depth), self.value(depth)))
        if name in ("DATE_ADD", "DATE_SUB", "ADDDATE", "SUBDATE"):
            return Shape((f"{name}(", ", INTERVAL ", f" {self.random.choice(UNITS)})"), (self.value(depth), self.value(depth)))
        if name in ("GET_FORMAT",):
            return call(name, ["DATE", "'EUR'"])
        return call(name, args)

    def statement(self):
        kind = self.random.random()
        expression = self.expression(2)
        if kind < 0.75:
            return Shape(("SELECT LENGTH(", ")"), (expression,))
        if kind < 0.85:
            return Shape(("SELECT LENGTH(HEX(", f")) FROM one WHERE id <=> ", ""), (expression, self.value(0)))
        name = self.random.choice(AGGREGATES)
        opened = name if "(" in name else name + "("
        if kind < 0.95:
            return Shape((f"SELECT LENGTH({opened} ", f")) FROM hundred GROUP BY ", ""), (expression, self.value(0)))
        over = self.random.choice(["ORDER BY id", "PARTITION BY s ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "ORDER BY id RANGE BETWEEN 5 PRECEDING AND 3 FOLLOWING"])
        name = self.random.choice(["SUM(", "MIN(", "LAG(", "FIRST_VALUE(", "NTILE(", "COUNT("])
        return Shape((f"SELECT LENGTH({name}", f") OVER ({over})) FROM hundred"), (expression,))
