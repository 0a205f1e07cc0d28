# application: Drivers (go-sql-driver/mysql, mysqlclient)
# does: each driver's own tests
# limit: 600

install() {
    python_with mysqlclient==2.3.1 sqlalchemy==2.1.9 pytest==9.2.0
    python_source mysqlclient==2.3.1
    GO_DRIVER=$CACHE/go/pkg/mod/github.com/go-sql-driver/mysql@v1.9.3
    [ -x "$CACHE/go-driver.test" ] && return
    (cd "$CACHE" && go mod download github.com/go-sql-driver/mysql@v1.9.3 && cd "$GO_DRIVER" && go test -mod=mod -c -o "$CACHE/go-driver.test" .)
}

drive() {
    version "1.9.3, 2.3.1"
    database "$DB_NAME" "${DB_NAME}_python"
    # What is left out needs no server, or waits ten seconds for an address outside, where no answer comes from.
    (cd "$GO_DRIVER" && MYSQL_TEST_ADDR=$DB_HOST:$DB_PORT MYSQL_TEST_USER=$DB_USER MYSQL_TEST_DBNAME=$DB_NAME MYSQL_TEST_CONCURRENT=1 \
        timeout 300 "$CACHE/go-driver.test" -test.v -test.run '^Test' -test.skip TestConnectorReturnsTimeout > "$WORK/go.log" 2>&1)
    sed -n 's/^--- PASS: \([^ ]*\).*/ok go: \1/p; s/^--- FAIL: \([^ ]*\).*/FAILED go: \1: see go.log/p; s/^--- SKIP: \([^ ]*\).*/skipped go: \1/p' "$WORK/go.log"
    check "go: all were run" grep -qE '^(PASS|FAIL)$' "$WORK/go.log"
    printf '[MySQLdb-tests]\nhost=%s\nport=%s\nuser=%s\ndatabase=%s\ndefault-character-set=utf8mb4\n' "$DB_HOST" "$DB_PORT" "$DB_USER" "${DB_NAME}_python" > "$WORK/mysqlclient.cnf"
    # The one that is left out looks for an answer that takes long, and hopes for a server with many tables.
    (cd "$SOURCE" && TESTDB=$WORK/mysqlclient.cnf timeout 250 "$PYTHON" -m pytest -q -p no:cacheprovider --deselect tests/test_connection.py::test_result_concurrent_use_raises \
        --junitxml="$WORK/report.xml" tests > "$WORK/mysqlclient.log" 2>&1)
    "$PYTHON" "$HERE/junit.py" "$WORK/report.xml"
}
