# application: Percona Toolkit
# does: pt-online-schema-change, pt-archiver, pt-table-checksum's chunks, pt-duplicate-key-checker, pt-find, pt-show-grants, pt-mysql-summary, pt-kill and others
# limit: 900

install() { debian percona-toolkit libdbd-mysql-perl; }

drive() {
    version "$(debian_version percona-toolkit)"
    database "$DB_NAME"
    sql "$DB_NAME" < "$HERE/percona/data.sql"
    local at="h=$DB_HOST,P=$DB_PORT,u=$DB_USER" to="--host=$DB_HOST --port=$DB_PORT --user=$DB_USER --no-version-check"
    check "pt-online-schema-change" pt-online-schema-change --no-version-check --execute --recursion-method=none --alter "ADD COLUMN more INT NOT NULL DEFAULT 7, ADD INDEX (name)" "$at,D=$DB_NAME,t=item"
    sql "$DB_NAME" -e "CREATE TABLE archive LIKE item"
    check "pt-online-schema-change by foreign keys" pt-online-schema-change --no-version-check --execute --recursion-method=none --alter-foreign-keys-method=rebuild_constraints --alter "MODIFY name VARCHAR(200) NOT NULL" "$at,D=$DB_NAME,t=kind"
    answer "tables" sql "$DB_NAME" -e "SELECT COUNT(*), SUM(id), MIN(name), SUM(price) FROM item; SELECT * FROM kind ORDER BY id; SHOW CREATE TABLE kind"
    check "pt-archiver to a table" pt-archiver --no-version-check --source "$at,D=$DB_NAME,t=item" --dest "$at,D=$DB_NAME,t=archive" --where "id % 3 = 0" --limit 100 --txn-size 100 --statistics --no-check-charset
    check "pt-archiver by bulk" pt-archiver --no-version-check --source "$at,D=$DB_NAME,t=item" --dest "$at,D=$DB_NAME,t=archive" --where "id % 3 = 1" --limit 100 --commit-each --bulk-insert --bulk-delete --no-check-charset
    check "pt-archiver purges" pt-archiver --no-version-check --source "$at,D=$DB_NAME,t=item" --purge --where "id < 500" --limit 50 --txn-size 50 --no-check-charset
    answer "what is left" sql "$DB_NAME" -e "SELECT COUNT(*), SUM(id) FROM item; SELECT COUNT(*), SUM(id) FROM archive"
    # The sizes are made of the estimates of EXPLAIN.
    answer "pt-duplicate-key-checker" sh -c "pt-duplicate-key-checker $to --databases $DB_NAME | grep -v 'Size Duplicate'"
    check "pt-find" pt-find $to --tablesize +0 "$DB_NAME" --print
    check "pt-show-grants" pt-show-grants ${to% --no-version-check}
    check "pt-mysql-summary" pt-mysql-summary --sleep 1 -- --no-defaults --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER"
    check "pt-variable-advisor" pt-variable-advisor --no-version-check "$at"
    check "pt-index-usage" sh -c "echo '# User@Host: a[a] @ b []
# Query_time: 1.0  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1
use $DB_NAME;
SELECT * FROM item WHERE kind = 2;' | pt-index-usage $to --databases $DB_NAME -"
    check "pt-table-usage" pt-table-usage --query "SELECT * FROM item JOIN kind ON kind.id = item.kind WHERE item.price > 3"
    check "pt-kill" pt-kill $to --busy-time 60 --print --run-time 2 --interval 1
    check "pt-deadlock-logger" pt-deadlock-logger --no-version-check --iterations 1 "$at"
    check "pt-fk-error-logger" pt-fk-error-logger --no-version-check --iterations 1 "$at"
    check "pt-query-digest" pt-query-digest --no-version-check --processlist "$at" --run-time 2 --interval 0.5
    check "pt-visual-explain" sh -c "mariadb --no-defaults --host=$DB_HOST --port=$DB_PORT --user=$DB_USER $DB_NAME -e 'EXPLAIN FORMAT=TRADITIONAL SELECT * FROM item i JOIN kind k ON k.id = i.kind' | pt-visual-explain"
    check "pt-table-checksum" pt-table-checksum $to --recursion-method=none --databases "$DB_NAME" --create-replicate-table --replicate "$DB_NAME.checksums" --no-check-binlog-format --no-check-replication-filters --chunk-size 200
    check "pt-heartbeat" pt-heartbeat $to --update --create-table --database "$DB_NAME" --run-time 2 --utc
    # It ends with 2 where it found differences.
    check "pt-table-sync" sh -c "pt-table-sync --no-version-check --print --algorithms Chunk,Nibble $at,D=$DB_NAME,t=archive $at,D=$DB_NAME,t=item; [ \$? -eq 2 ]"
}
