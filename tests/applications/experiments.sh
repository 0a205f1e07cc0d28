# application: MLflow, Optuna
# does: every migration of MLflow's schema; experiments, runs, metrics, searches, registered models, traces, deletion and garbage; Optuna's studies, trials by several threads, pruning
# limit: 400

install() { python_with mlflow==3.17.2 optuna==5.0.0 pymysql==1.2.4 cryptography; }

drive() {
    version "3.17.2, 5.0.0, SQLAlchemy, PyMySQL 1.2.4"
    database "$DB_NAME" "${DB_NAME}_optuna"
    local url="mysql+pymysql://$DB_USER@$DB_HOST:$DB_PORT/$DB_NAME"
    check "migrations" "${PYTHON%python}mlflow" db upgrade "$url"
    check "migrations again" "${PYTHON%python}mlflow" db upgrade "$url"
    answer "what there is" sql "$DB_NAME" -e "SELECT table_name, column_name, column_type, column_default, is_nullable, column_key, extra, collation_name
        FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1, ordinal_position;
        SELECT table_name, index_name, seq_in_index, column_name, non_unique, sub_part, nullable FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY 1, 2, 3;
        SELECT constraint_name, table_name, referenced_table_name, update_rule, delete_rule FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE() ORDER BY 2, 1;
        SELECT constraint_name, constraint_type, table_name FROM information_schema.table_constraints WHERE constraint_schema = DATABASE() ORDER BY 3, 2, 1"
    export MLFLOW_TRACKING_URI=$url MLFLOW_DISABLE_TELEMETRY=true DO_NOT_TRACK=true
    answer "tracking" "$PYTHON" -W ignore "$HERE/experiments/tracking.py" "$url" "$WORK/artifacts"
    check "garbage" "${PYTHON%python}mlflow" gc --backend-store-uri "$url" --artifacts-destination "$WORK/artifacts"
    answer "optuna" "$PYTHON" -W ignore "$HERE/experiments/studies.py" "mysql+pymysql://$DB_USER@$DB_HOST:$DB_PORT/${DB_NAME}_optuna"
}
