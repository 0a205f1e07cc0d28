"""Reads a report in JUnit's form, as pytest writes it, and says for each test `ok`, `FAILED` or `skipped`."""

import sys
import xml.etree.ElementTree as tree

for case in tree.parse(sys.argv[1]).iter("testcase"):
    name = f"{case.get('classname')}.{case.get('name')}".replace(": ", ":").replace("\n", " ")
    bad = [child for child in case if child.tag in ("failure", "error")]
    if bad:
        print(f"FAILED {name}: {' '.join((bad[0].get('message') or '').split())[:400]}")
    elif any(child.tag == "skipped" for child in case):
        print(f"skipped {name}: ")
    else:
        print(f"ok {name}")
