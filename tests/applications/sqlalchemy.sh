# application: SQLAlchemy
# does: its own test suite for dialects, and its tests of the MySQL dialect
# limit: 900

install() {
    python_with sqlalchemy==2.1.9 pymysql==1.2.4 cryptography pytest
    python_source sqlalchemy==2.1.9
}

drive() {
    version "2.1.9, PyMySQL 1.2.4"
    database "$DB_NAME" test_schema
    cd "$SOURCE"
    "$PYTHON" -m pytest -q -p no:cacheprovider -p no:warnings --maxfail=100000 --junitxml="$WORK/report.xml" \
        --dburi "mysql+pymysql://$DB_URL/$DB_NAME?charset=utf8mb4" test/dialect/test_suite.py test/dialect/mysql > "$WORK/pytest.log" 2>&1
    "$PYTHON" "$HERE/junit.py" "$WORK/report.xml"
    sql -e "DROP DATABASE test_schema"
}
