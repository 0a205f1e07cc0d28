"""Optuna's studies in a database: trials by several threads, pruning, attributes, copies and deletion."""

import sys

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)
storage = optuna.storages.RDBStorage(sys.argv[1], heartbeat_interval=1, engine_kwargs={"pool_size": 8})


def objective(trial):
    x, y = trial.suggest_float("x", -10, 10), trial.suggest_int("y", 0, 5)
    kind = trial.suggest_categorical("kind", ["a", "b", None])
    for step in range(4):
        trial.report(abs(x) + step, step)
        if trial.should_prune():
            raise optuna.TrialPruned()
    trial.set_user_attr("note", {"text": "☃" * 100, "kind": kind})
    return x * x + y


study = optuna.create_study(storage=storage, study_name="one", sampler=optuna.samplers.TPESampler(seed=1), pruner=optuna.pruners.MedianPruner(n_startup_trials=3))
study.optimize(objective, n_trials=25)
print("one", len(study.trials), sorted({trial.state.name for trial in study.trials}), round(study.best_value, 6), study.best_trial.user_attrs["note"]["kind"])

many = optuna.create_study(storage=storage, study_name="many", sampler=optuna.samplers.RandomSampler(), directions=["minimize", "maximize"])
many.optimize(lambda trial: (trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)), n_trials=40, n_jobs=4)
print("many", sorted(trial.number for trial in many.trials) == list(range(40)), all(trial.state.name == "COMPLETE" for trial in many.trials))

study.enqueue_trial({"x": 0.0, "y": 0, "kind": None})
study.optimize(objective, n_trials=1)
print("enqueued", study.trials[-1].params, study.trials[-1].value)
study.add_trial(optuna.create_trial(value=float("inf"), params={"x": 1.0}, distributions={"x": optuna.distributions.FloatDistribution(-10, 10)}))
study.set_user_attr("owner", "x" * 2000)
optuna.copy_study(from_study_name="one", from_storage=storage, to_storage=storage, to_study_name="copy")
copy = optuna.load_study(storage=storage, study_name="copy")
print("copy", [trial.params for trial in copy.trials] == [trial.params for trial in study.trials], len(copy.user_attrs["owner"]))
again = optuna.create_study(storage=storage, study_name="one", load_if_exists=True)
print("again", len(again.trials), again.trials[-1].value)
try:
    optuna.create_study(storage=storage, study_name="one")
except optuna.exceptions.DuplicatedStudyError as error:
    print("twice", type(error).__name__)
optuna.delete_study(storage=storage, study_name="many")
print("summaries", [(summary.study_name, summary.n_trials) for summary in optuna.get_all_study_summaries(storage=storage)])
