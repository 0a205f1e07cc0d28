#!/usr/bin/env bash
# The `mariadb` command line: batch mode, scripts, the tables it draws, exit codes, and a dump that loads again.
set -u
cd "$(dirname "$0")"
: "${DB_HOST:=127.0.0.1}" "${DB_PORT:=3306}" "${DB_USER:=root}" "${DB_PASSWORD:=}"
export MYSQL_PWD=$DB_PASSWORD
DATABASE=client_cli
passed=0 failed=0

sql() { mariadb --no-defaults --protocol=tcp -h "$DB_HOST" -P "$DB_PORT" -u "$DB_USER" --default-character-set=utf8mb4 "$@"; }

# check NAME WANTED GOT: one test.
check() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
        echo "ok $1"
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n  wanted: %s\n  got:    %s\n' "$1" "${2:0:400}" "${3:0:400}"
    fi
}

sql -e "DROP DATABASE IF EXISTS $DATABASE; CREATE DATABASE $DATABASE CHARACTER SET utf8mb4" || { echo "0 passed, 1 failed"; exit 1; }
mariadb=$(sql -BNe 'SELECT VERSION() LIKE "%MariaDB%"')

check one_statement 42 "$(sql -BNe 'SELECT 40 + 2')"
check several_statements_by_e $'1\n2' "$(sql -BNe 'SELECT 1; SELECT 2')"
check database_on_the_command_line $DATABASE "$(sql -BN $DATABASE -e 'SELECT DATABASE()')"
check use_in_a_script $DATABASE "$(printf 'USE %s;\nSELECT DATABASE();\n' $DATABASE | sql -BN)"
check unicode 'ü😀 東京' "$(sql -BNe "SELECT 'ü😀 東京'")"
check null_in_batch_mode $'NULL\t1' "$(sql -BNe 'SELECT NULL, 1')"
check heading_in_batch_mode $'a\tb\n1\tx' "$(sql -Be "SELECT 1 AS a, 'x' AS b")"
check escapes_in_batch_mode 'tab\there' "$(sql -BNe "SELECT 'tab\\there'")"
check table_mode $'+----+------+\n| id | s    |\n+----+------+\n|  1 | one  |\n|  2 | NULL |\n+----+------+' \
    "$(sql -te "SELECT 1 AS id, 'one' AS s UNION ALL SELECT 2, NULL")"
check vertical_mode $'*************************** 1. row ***************************\na: 1' "$(sql -te 'SELECT 1 AS a\G')"
check xml_mode '<field name="a">1</field>' "$(sql -Xe 'SELECT 1 AS a' | grep -o '<field.*field>')"

sql -e 'SELECT * FROM nowhere.at_all' 2> /dev/null
check exit_code_of_an_error 1 $?
check text_of_an_error "ERROR 1064 (42000) at line 2: You have an error in your SQL syntax" \
    "$(printf 'SELECT 1;\nSELEC 2;\n' | sql -BN 2>&1 > /dev/null | grep ^ERROR | cut -d';' -f1)"
check force_goes_on 3 "$(printf 'SELEC 1;\nSELECT 3;\n' | sql -BN --force 2> /dev/null)"
check delimiter $'1\n2' "$(printf 'DELIMITER //\nSELECT 1//\nSELECT 2//\n' | sql -BN)"
check comments 7 "$(printf -- '-- one\n# two\n/* three */ SELECT /*! 7 */;\n' | sql -BN --comments)"
check wrong_password 'ERROR 1045 (28000)' "$(MYSQL_PWD=wrong sql -u nobody -e 'SELECT 1' 2>&1 | cut -d: -f1)"

check rows_in_and_out $'1\tone\n2\ttwo' "$(sql -BN $DATABASE -e "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9));
    INSERT INTO t VALUES (2, 'two'), (1, 'one'); SELECT * FROM t ORDER BY id")"
check counts 'Query OK, 2 rows affected' "$(sql -vvv $DATABASE -e "UPDATE t SET s = 'x'" | grep -o 'Query OK, 2 rows affected')"
check matched 'Rows matched: 2  Changed: 0  Warnings: 0' "$(sql -vvv $DATABASE -e "UPDATE t SET s = 'x'" | grep -o 'Rows matched.*')"
check warnings 'Note (Code 1051)' "$(sql -vvv --show-warnings $DATABASE -e 'DROP TABLE IF EXISTS never' | grep -o 'Note (Code 1051)')"
check transaction 0 "$(sql -BN $DATABASE -e 'BEGIN; DELETE FROM t; ROLLBACK; SELECT COUNT(*) - 2 FROM t')"
check quick_mode 2 "$(sql -BN --quick $DATABASE -e 'SELECT * FROM t' | wc -l | tr -d ' ')"
check describe $'id\tint' "$(sql -BN $DATABASE -e 'DESCRIBE t' | head -1 | cut -f1,2 | sed 's/(11)//')"
check show_tables t "$(sql -BN $DATABASE -e 'SHOW TABLES')"
check status_command "Current database:	$DATABASE" "$(sql $DATABASE -e 'status' | grep 'Current database' | tr -s '\t')"

# 5,000 rows by one script, and a 20 MB value in one statement.
{ echo 'CREATE TABLE big (id INT PRIMARY KEY, s VARCHAR(20));'; for i in $(seq 5000); do echo "INSERT INTO big VALUES ($i, 'row $i');"; done; } |
    { echo 'SET autocommit = 0;'; cat; echo 'COMMIT;'; } | sql $DATABASE
check script_of_5000_statements $'5000\t12502500' "$(sql -BN $DATABASE -e 'SELECT COUNT(*), SUM(id) FROM big')"
{ printf "SELECT LENGTH('"; head -c 20971520 /dev/zero | tr '\0' 'x'; printf "');\n"; } > "${TMPDIR:-/tmp}/client-cli-$$.sql"
check statement_of_20_mb 20971520 "$(sql -BN --max-allowed-packet=64M < "${TMPDIR:-/tmp}/client-cli-$$.sql")"
rm -f "${TMPDIR:-/tmp}/client-cli-$$.sql"

# Compressed, alone and below TLS.
for options in --compress '--compress --ssl'; do
    # shellcheck disable=SC2086 # the options are words
    check "compression $options" ON "$(sql $options -BNe "SHOW STATUS LIKE 'Compression'" | cut -f2)"
    # shellcheck disable=SC2086
    check "rows $options" "$(sql -BN $DATABASE -e 'SELECT * FROM big' | md5sum)" "$(sql $options -BN $DATABASE -e 'SELECT * FROM big' | md5sum)"
    # shellcheck disable=SC2086
    check "long statement $options" 5000000 "$({ printf "SELECT LENGTH('"; head -c 5000000 /dev/urandom | base64 -w0 | head -c 5000000; printf "')"; } |
        sql $options -BN --max-allowed-packet=64M)"
done

# Dumps that load again, with the locks and flushes that they ask for.
dump() { mariadb-dump --no-defaults --protocol=tcp -h "$DB_HOST" -P "$DB_PORT" -u "$DB_USER" "$@"; }
sums='SELECT COUNT(*), SUM(id), SUM(LENGTH(s)) FROM big'
for how in --lock-tables --lock-all-tables '--single-transaction --flush-logs'; do
    # shellcheck disable=SC2086 # the options are words
    dump $how $DATABASE big > "${TMPDIR:-/tmp}/client-cli-$$.sql"
    sql -e "DROP DATABASE IF EXISTS ${DATABASE}_copy; CREATE DATABASE ${DATABASE}_copy"
    sql "${DATABASE}_copy" < "${TMPDIR:-/tmp}/client-cli-$$.sql"
    check "dump $how" "$(sql -BN $DATABASE -e "$sums")" "$(sql -BN "${DATABASE}_copy" -e "$sums")"
done
sql -e "DROP DATABASE ${DATABASE}_copy"
check dump_of_all_databases 0 "$(dump --all-databases > "${TMPDIR:-/tmp}/client-cli-$$.sql" 2>&1; echo $?)"
rm -f "${TMPDIR:-/tmp}/client-cli-$$.sql"

# Accounts.
for plugin in mysql_native_password caching_sha2_password; do
    if [ "$mariadb" = 1 ]; then how='BY'; else how="WITH $plugin BY"; fi
    sql -e "DROP USER IF EXISTS cli@'%'; CREATE USER cli@'%' IDENTIFIED $how 'pass word'; GRANT ALL ON $DATABASE.* TO cli@'%'"
    if [ "$mariadb" != 1 ]; then
        check "account_${plugin}_encrypted" TLSv1.3 "$(MYSQL_PWD='pass word' sql --ssl -u cli -BN -e "SHOW STATUS LIKE 'Ssl_version'" 2>&1 | cut -f2)"
        check "account_${plugin}_wrong" 'ERROR 1045 (28000)' "$(MYSQL_PWD='pass' sql --ssl -u cli -e 'SELECT 1' 2>&1 | cut -d: -f1)"
    fi
    check "account_$plugin" cli "$(MYSQL_PWD='pass word' sql -u cli -BN $DATABASE -e "SELECT SUBSTRING_INDEX(USER(), '@', 1)" 2>&1)"
    [ "$mariadb" = 1 ] && break
done
sql -e "DROP USER cli@'%'"

# Ctrl-C while a statement runs: the client kills the query and leaves.
started=$SECONDS
timeout --signal=INT 1 mariadb --no-defaults --protocol=tcp -h "$DB_HOST" -P "$DB_PORT" -u "$DB_USER" -e 'SELECT SLEEP(20)' > /dev/null 2>&1
check interrupt 1 $((SECONDS - started < 10))

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
