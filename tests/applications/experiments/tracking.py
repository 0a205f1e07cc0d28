"""Experiments, runs, searches, registered models and deletion, by MLflow's client. Tells what came of it without ids and times."""

import logging
import sys

logging.disable(logging.WARNING)

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag, ViewType

url, artifacts = sys.argv[1:]
client = MlflowClient(tracking_uri=url, registry_uri=url)

experiments = [client.create_experiment(f"experiment {n} ☃", artifact_location=artifacts, tags={"kind": "a" if n % 2 else "b"}) for n in range(4)]
for e, experiment in enumerate(experiments):
    for r in range(6):
        run = client.create_run(experiment, start_time=1_700_000_000_000 + r, run_name=f"run {e}.{r}", tags={"team": "red" if r < 3 else "blue"})
        client.log_batch(
            run.info.run_id,
            metrics=[Metric("loss", 1 / (1 + step + r), 1_700_000_000_000 + step, step) for step in range(50)]
            + [Metric("odd", float("nan") if r == 1 else float("inf") if r == 2 else r, 1_700_000_000_000, 0)],
            params=[Param("rate", str(0.1 * r)), Param("text", "x" * 3000)],
            tags=[RunTag("note", "ein längerer Text ☃" * 20)],
        )
        client.set_terminated(run.info.run_id, "FAILED" if r == 5 else "FINISHED", end_time=1_700_000_100_000)


def told(title, runs):
    print(title, [(run.info.run_name, run.info.status, round(run.data.metrics.get("loss", -1), 6), run.data.params.get("rate")) for run in runs])


told("loss", client.search_runs(experiments, "metrics.loss < 0.019", order_by=["metrics.loss ASC", "attributes.run_name DESC"]))
told("tags", client.search_runs(experiments[:2], "tags.team = 'red' AND params.rate != '0.0'", order_by=["attributes.run_name"]))
told("like", client.search_runs(experiments, "attributes.run_name LIKE '%.5' AND tags.note ILIKE 'EIN L%'", order_by=["attributes.run_name"]))
told("in", client.search_runs(experiments, "attributes.status = 'FAILED'", order_by=["params.rate DESC", "attributes.run_name"]))
told("odd", client.search_runs(experiments[:1], order_by=["metrics.odd DESC", "attributes.run_name"]))
page = client.search_runs(experiments, order_by=["attributes.run_name"], max_results=5)
told("page", page)
told("next page", client.search_runs(experiments, order_by=["attributes.run_name"], max_results=5, page_token=page.token))
one = page[0].info.run_id
history = client.get_metric_history(one, "loss")
print("history", len(history), round(sum(metric.value for metric in history), 6))
print("experiments", [found.name for found in client.search_experiments(filter_string="tags.kind = 'a'", order_by=["name DESC"])])
client.set_experiment_tag(experiments[0], "kind", "c")
client.rename_experiment(experiments[0], "renamed")
print("renamed", client.get_experiment_by_name("renamed").tags["kind"])
try:
    client.create_experiment("renamed")
except Exception as error:
    print("twice", type(error).__name__, str(error).split(".")[0][:60])
try:
    client.log_param(one, "rate", "another")
except Exception as error:
    print("param", type(error).__name__)

# Before it has versions: MySQL refuses to cascade the new name to what hangs by two of its foreign keys.
client.create_registered_model("first", tags={"a": "1"}, description="beschrieben ☃")
client.rename_registered_model("first", "model")
for n in range(3):
    client.create_model_version("model", f"{artifacts}/{n}", run_id=one, tags={"n": str(n)})
client.set_registered_model_alias("model", "champion", "2")
client.set_model_version_tag("model", "3", "more", "yes")
print("alias", client.get_model_version_by_alias("model", "champion").version)
print("versions", [(found.version, dict(sorted(found.tags.items()))) for found in client.search_model_versions("name = 'model'", order_by=["version_number DESC"])])
client.delete_model_version("model", "1")
print("models", [(found.name, found.description, dict(found.aliases)) for found in client.search_registered_models("name LIKE '%model'")])
client.delete_registered_model("model")

client.delete_run(one)
client.delete_experiment(experiments[3])
print("deleted", [found.name for found in client.search_experiments(view_type=ViewType.DELETED_ONLY)],
      len(client.search_runs(experiments, run_view_type=ViewType.DELETED_ONLY)), len(client.search_runs(experiments)))
client.restore_experiment(experiments[3])
client.restore_run(one)
print("restored", len(client.search_runs(experiments)))
client.delete_experiment(experiments[2])
