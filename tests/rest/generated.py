"""A client that openapi-python-client makes of the node's own description, used as a program would."""

import importlib
import os
import shutil
import subprocess
import sys

CONFIG = "project_name_override: latsdb-client\npackage_name_override: latsdb_client\npost_hooks: []\n"


def run(node, folder):
    made = os.path.join(folder, "client")
    shutil.rmtree(made, ignore_errors=True)
    document, config = os.path.join(folder, "openapi.json"), os.path.join(folder, "config.yml")
    with open(document, "wb") as file:
        file.write(node.ask("GET", "/v1/openapi.json").body)
    with open(config, "w") as file:
        file.write(CONFIG)
    generator = [sys.executable, "-m", "openapi_python_client"]
    told = subprocess.run([*generator, "generate", "--path", document, "--config", config, "--output-path", made, "--fail-on-warning"],
                          capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
    sys.path.insert(0, made)
    client = importlib.import_module("latsdb_client").Client(base_url=f"http://127.0.0.1:{node.http}")
    models = importlib.import_module("latsdb_client.models")

    def operation(name):
        return importlib.import_module(f"latsdb_client.api.default.{name}")
    row = models.Row.from_dict({"id": 1, "name": "made by a client", "price": "2.5"})
    assert operation("insert_rows").sync_detailed("shop", "items", client=client, body=row).status_code == 201
    got = operation("get_row").sync("shop", "items", "1", client=client)
    assert got.to_dict()["name"] == "made by a client", got
    table = operation("get_table").sync("shop", "items", client=client)
    assert table.primary_key == ["id"] and table.columns[0].name == "id"
    page = operation("list_rows").sync("shop", "items", client=client, limit=10)
    assert page.next_ is None and len(page.rows) == 1
    read = models.ReadRequest.from_dict({"reads": [{"table": "shop.items", "keys": [1, 2]}]})
    assert operation("read_many").sync(client=client, body=read).reads[0].to_dict()["rows"][1] is None
    begun = operation("begin_transaction").sync(client=client, body=models.TransactionRequest(deadline_ms=5000))
    sql = models.SqlRequest.from_dict({"sql": "UPDATE shop.items SET name = ? WHERE id = ?", "parameters": ["new", 1]})
    assert operation("run_sql_in_transaction").sync(begun.transaction, client=client, body=sql).affected_rows == 1
    assert operation("commit_in_transaction").sync(begun.transaction, client=client).committed
    refused = operation("get_row").sync("shop", "items", "9", client=client)
    assert refused.status == 404 and "no row" in refused.detail, refused
