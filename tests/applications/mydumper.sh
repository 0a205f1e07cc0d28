# application: mydumper
# does: a dump of two databases by four threads, with chunks and views; myloader loads it under another name
# limit: 400
# quick

install() { debian mydumper; }

drive() {
    version "$(debian_version mydumper)"
    database "$DB_NAME" "${DB_NAME}_two"
    sql "$DB_NAME" < "$HERE/percona/data.sql"
    sql "${DB_NAME}_two" < "$HERE/phpmyadmin/data.sql"
    local to="--host=$DB_HOST --port=$DB_PORT --user=$DB_USER"
    check "mydumper" mydumper $to --regex "^$DB_NAME" --outputdir "$WORK/dump" --threads 4 --rows 500 --triggers --events --routines --trx-consistency-only --verbose 3
    check "mydumper with a lock" mydumper $to --database "$DB_NAME" --outputdir "$WORK/dump2" --threads 4 --compress --build-empty-files
    check "myloader" myloader $to --directory "$WORK/dump" --source-db "$DB_NAME" --database "${DB_NAME}_back" --threads 4 --queries-per-transaction 100 --overwrite-tables --verbose 3
    check "myloader of compressed files" myloader $to --directory "$WORK/dump2" --source-db "$DB_NAME" --database "${DB_NAME}_back" --threads 4 --overwrite-tables --verbose 3
    check "myloader of the other" myloader $to --directory "$WORK/dump" --source-db "${DB_NAME}_two" --database "${DB_NAME}_back2" --threads 4 --overwrite-tables --verbose 3
    answer "what came back" sql -e "SELECT COUNT(*), SUM(id), SUM(price), MAX(at), SUM(LENGTH(name)) FROM ${DB_NAME}_back.item; SELECT e, s, d, j, bin, txt, y, ti FROM ${DB_NAME}_back2.sample; SELECT * FROM ${DB_NAME}_back2.v"
    check "no warning" sh -c "! grep -ai 'critical\|error' $WORK/log/m*"
}
