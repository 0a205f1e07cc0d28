# application: mysqld_exporter
# does: every collector that it has
# limit: 90
# quick

install() { debian prometheus-mysqld-exporter curl; }

COLLECTORS="auto_increment.columns binlog_size engine_innodb_status global_status global_variables info_schema.clientstats info_schema.innodb_cmp
    info_schema.innodb_cmpmem info_schema.innodb_metrics info_schema.innodb_tablespaces info_schema.processlist info_schema.query_response_time
    info_schema.schemastats info_schema.tables info_schema.tablestats info_schema.userstats mysql.user perf_schema.eventsstatements
    perf_schema.eventsstatementssum perf_schema.eventswaits perf_schema.file_events perf_schema.file_instances perf_schema.indexiowaits perf_schema.memory_events
    perf_schema.replication_applier_status_by_worker perf_schema.replication_group_member_stats perf_schema.replication_group_members
    perf_schema.tableiowaits perf_schema.tablelocks slave_hosts slave_status"

drive() {
    version "$(debian_version prometheus-mysqld-exporter)"
    database "$DB_NAME"
    sql "$DB_NAME" -e "CREATE TABLE t (id TINYINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, a INT); INSERT INTO t VALUES (100, 1)"
    local flags=() name
    for name in $COLLECTORS; do flags+=("--collect.$name"); done
    DATA_SOURCE_NAME="$DB_USER@tcp($DB_HOST:$DB_PORT)/" prometheus-mysqld-exporter --web.listen-address="127.0.0.1:$WEB_PORT" "${flags[@]}" > "$WORK/exporter.log" 2>&1 &
    until_answers "http://127.0.0.1:$WEB_PORT/"
    check "up" sh -c "curl -s --max-time 60 http://127.0.0.1:$WEB_PORT/metrics > $WORK/metrics; grep '^mysql_up 1' $WORK/metrics"
    for name in $(sed -n 's/^mysql_exporter_collector_success{collector="collect.\(.*\)"} .*/\1/p' "$WORK/metrics"); do
        check "$name" sh -c "grep -q '^mysql_exporter_collector_success{collector=\"collect.$name\"} 1' $WORK/metrics || { grep -a '\"collect.$name\\|scraper=collect.$name\\|$name' $WORK/exporter.log | cut -c 1-300 | tail -n 3; false; }"
    done
    answer "auto increments" sh -c "grep -a 'mysql_info_schema_auto_increment_column.*schema=\"$DB_NAME\"' $WORK/metrics"
    answer "tables" sh -c "grep -a 'mysql_info_schema_table_version{.*schema=\"$DB_NAME\"' $WORK/metrics"
}
