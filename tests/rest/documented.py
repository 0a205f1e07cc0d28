"""The examples of docs/rest.md, run one after another: each `$ curl …` must print what stands below it. `…` stands for anything."""

import os
import re
import subprocess

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/rest.md")


def examples():
    with open(DOCUMENT) as file:
        text = file.read()
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
            lines = example.splitlines()
            command = lines.pop(0)
            while command.endswith("\\") or command.count("'") % 2:
                command += "\n" + lines.pop(0)
            yield command, "\n".join(lines).strip()


def run(node):
    variables = {}
    for command, expected in examples():
        shell = command.replace("localhost:8306", f"localhost:{node.http}")
        for name, value in variables.items():
            shell = shell.replace(f"${name}", value)
        got = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
        told = got.stdout.replace("\r", "").strip()
        pattern = re.escape(expected).replace("…", "(.*?)").replace("\\\n", "\n")
        found = re.fullmatch(pattern, told, re.S)
        assert found, f"\n$ {shell}\n{told}\n--- instead of ---\n{expected}\n{got.stderr[-500:]}"
        if id := re.search(r'"transaction":"(\w+)"', told):
            variables["ID"] = id.group(1)
        if token := re.search(r'"token":"(\w+)"', told):
            variables["TOKEN"] = token.group(1)
