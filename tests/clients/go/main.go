// go-sql-driver/mysql: database/sql over the text protocol, and over prepared statements in binary.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

const database = "client_go"
const mib = 1 << 20

type column struct {
	Name, Definition, Kind string
	Values                 []json.RawMessage
	texts                  []string
}

type errorCase struct {
	SQL        string
	Number     uint16
	States     []string
	NotMariaDB bool `json:"not_mariadb"`
}

var vectors struct {
	Types      []column
	ErrorSetup []string `json:"error_setup"`
	Errors     []errorCase
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func config() *mysql.Config {
	c := mysql.NewConfig()
	c.Net = "tcp"
	c.Addr = env("DB_HOST", "127.0.0.1") + ":" + env("DB_PORT", "3306")
	c.User = env("DB_USER", "root")
	c.Passwd = os.Getenv("DB_PASSWORD")
	c.DBName = database
	c.MaxAllowedPacket = 64 * mib
	return c
}

func open(change func(*mysql.Config)) *sql.DB {
	c := config()
	if change != nil {
		change(c)
	}
	connector, err := mysql.NewConnector(c)
	must(err)
	return sql.OpenDB(connector)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func exec(db interface {
	Exec(string, ...any) (sql.Result, error)
}, query string, args ...any) int64 {
	result, err := db.Exec(query, args...)
	if err != nil {
		panic(fmt.Errorf("%.120s: %w", query, err))
	}
	n, err := result.RowsAffected()
	must(err)
	return n
}

func one[T any](db interface {
	QueryRow(string, ...any) *sql.Row
}, query string, args ...any) (value T) {
	if err := db.QueryRow(query, args...).Scan(&value); err != nil {
		panic(fmt.Errorf("%.120s: %w", query, err))
	}
	return value
}

func equal(got, wanted any, about string) {
	if !reflect.DeepEqual(got, wanted) {
		panic(fmt.Errorf("%s: got %.200v, wanted %.200v", about, got, wanted))
	}
}

func fails(err error, number uint16, states ...string) {
	var failure *mysql.MySQLError
	if !errors.As(err, &failure) {
		panic(fmt.Errorf("wanted error %d, got %v", number, err))
	}
	equal(failure.Number, number, failure.Message)
	for _, state := range states {
		if state == string(failure.SQLState[:]) {
			return
		}
	}
	if len(states) > 0 {
		panic(fmt.Errorf("%d: got SQLSTATE %s, wanted %v", number, failure.SQLState, states))
	}
}

func isMariaDB(db *sql.DB) bool {
	return strings.Contains(one[string](db, "SELECT VERSION()"), "MariaDB")
}

func loadVectors() {
	text, err := os.ReadFile(env("VECTORS", "../vectors.json"))
	must(err)
	must(json.Unmarshal(text, &vectors))
	for i := range vectors.Types {
		c := &vectors.Types[i]
		for _, raw := range c.Values {
			var plain string
			if json.Unmarshal(raw, &plain) != nil {
				var long struct{ Repeat []any }
				must(json.Unmarshal(raw, &long))
				plain = strings.Repeat(long.Repeat[0].(string), int(long.Repeat[1].(float64)))
			}
			c.texts = append(c.texts, plain)
		}
	}
}

func rowCount() (height int) {
	for _, c := range vectors.Types {
		if len(c.texts) > height {
			height = len(c.texts)
		}
	}
	return height + 1 // the last row is NULL throughout
}

func vectorTable(name string) string {
	columns := []string{"id INT PRIMARY KEY"}
	for _, c := range vectors.Types {
		columns = append(columns, c.Name+" "+c.Definition)
	}
	return fmt.Sprintf("CREATE TABLE %s (%s)", name, strings.Join(columns, ", "))
}

// bound is a vector's value as a Go program would bind it.
func bound(c *column, row int) any {
	if row >= len(c.texts) {
		return nil
	}
	text := c.texts[row]
	switch c.Kind {
	case "int", "bit", "year":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		n, err := strconv.ParseUint(text, 10, 64)
		must(err)
		return n
	case "float", "double":
		f, err := strconv.ParseFloat(text, 64)
		must(err)
		return f
	case "bytes":
		raw, err := hex.DecodeString(text)
		must(err)
		return raw
	case "datetime":
		t, err := time.Parse("2006-01-02 15:04:05.999999", text)
		must(err)
		return t
	case "date":
		t, err := time.Parse("2006-01-02", text)
		must(err)
		return t
	}
	return text
}

func same(c *column, row int, got any) bool {
	if row >= len(c.texts) {
		return got == nil
	}
	wanted := c.texts[row]
	if t, isTime := got.(time.Time); isTime {
		return t.Equal(bound(c, row).(time.Time))
	}
	var text string
	if raw, isRaw := got.([]byte); isRaw {
		text = string(raw)
	} else if f, isFloat := got.(float32); isFloat {
		text = strconv.FormatFloat(float64(f), 'g', -1, 32)
	} else {
		text = fmt.Sprint(got)
	}
	switch c.Kind {
	case "bit":
		return new(big.Int).SetBytes([]byte(text)).String() == wanted
	case "bytes":
		return hex.EncodeToString([]byte(text)) == wanted
	case "float":
		g, _ := strconv.ParseFloat(text, 64)
		w, _ := strconv.ParseFloat(wanted, 64)
		return math.Abs(g-w) <= math.Abs(w)*1e-6
	case "double":
		g, _ := strconv.ParseFloat(text, 64)
		w, _ := strconv.ParseFloat(wanted, 64)
		return g == w
	case "json":
		var g, w any
		must(json.Unmarshal([]byte(text), &g))
		must(json.Unmarshal([]byte(wanted), &w))
		return reflect.DeepEqual(g, w)
	}
	return text == wanted
}

func checkVectors(rows *sql.Rows, err error, about string) {
	must(err)
	defer rows.Close()
	wrong := []string{}
	row := 0
	for ; rows.Next(); row++ {
		values := make([]any, len(vectors.Types)+1)
		targets := make([]any, len(values))
		for i := range values {
			targets[i] = &values[i]
		}
		must(rows.Scan(targets...))
		for i := range vectors.Types {
			if c := &vectors.Types[i]; !same(c, row, values[i+1]) {
				wrong = append(wrong, fmt.Sprintf("%s row %d: got %.80v (%T)", c.Name, row, values[i+1], values[i+1]))
			}
		}
	}
	must(rows.Err())
	equal(row, rowCount(), about+": rows")
	if len(wrong) > 0 {
		panic(fmt.Errorf("%s:\n  %s", about, strings.Join(wrong, "\n  ")))
	}
}

func everyType(db *sql.DB, table string) {
	exec(db, "DROP TABLE IF EXISTS "+table)
	exec(db, vectorTable(table))
	insert := "INSERT INTO " + table + " VALUES (?" + strings.Repeat(", ?", len(vectors.Types)) + ")"
	for row := 0; row < rowCount(); row++ {
		args := []any{row}
		for i := range vectors.Types {
			args = append(args, bound(&vectors.Types[i], row))
		}
		equal(exec(db, insert, args...), int64(1), "inserted")
	}
	statement, err := db.Prepare("SELECT * FROM " + table + " WHERE id >= ? ORDER BY id")
	must(err)
	defer statement.Close()
	rows, err := statement.Query(0)
	checkVectors(rows, err, "binary protocol")
	rows, err = db.Query("SELECT * FROM " + table + " ORDER BY id")
	checkVectors(rows, err, "text protocol")
}

var utc = map[string]string{"time_zone": "'+00:00'"}

var tests = []struct {
	name string
	run  func()
}{
	{"connect_and_ping", func() {
		db := open(nil)
		defer db.Close()
		must(db.Ping())
		equal(one[string](db, "SELECT DATABASE()"), database, "database")
		equal(one[int64](db, "SELECT ? + ?", 40, 2), int64(42), "sum")
	}},
	{"wrong_login", func() {
		db := open(func(c *mysql.Config) { c.User, c.Passwd = "nobody", "x" })
		defer db.Close()
		fails(db.Ping(), 1045, "28000")
		other := open(func(c *mysql.Config) { c.DBName = "nowhere_at_all" })
		defer other.Close()
		fails(other.Ping(), 1049, "42000")
	}},
	{"every_type_by_prepared_statements", func() {
		db := open(func(c *mysql.Config) { c.Params = utc })
		defer db.Close()
		everyType(db, "v_prepared")
	}},
	{"every_type_by_interpolated_text", func() {
		db := open(func(c *mysql.Config) { c.Params = utc; c.InterpolateParams = true })
		defer db.Close()
		everyType(db, "v_text")
	}},
	{"times_as_time", func() {
		db := open(func(c *mysql.Config) { c.Params = utc; c.ParseTime = true })
		defer db.Close()
		everyType(db, "v_time")
	}},
	{"errors_have_number_and_sqlstate", func() {
		db := open(nil)
		defer db.Close()
		db.SetMaxOpenConns(1)
		exec(db, "DROP TABLE IF EXISTS e, e2, bad")
		for _, setup := range vectors.ErrorSetup {
			exec(db, setup)
		}
		wrong := []string{}
		for _, c := range vectors.Errors {
			if c.NotMariaDB && isMariaDB(db) {
				continue
			}
			func() {
				defer func() {
					if failure := recover(); failure != nil {
						wrong = append(wrong, fmt.Sprintf("%s: %v", c.SQL, failure))
					}
				}()
				_, err := db.Exec(strings.Replace(c.SQL, "{database}", database, 1))
				fails(err, c.Number, c.States...)
			}()
		}
		if len(wrong) > 0 {
			panic(strings.Join(wrong, "\n  "))
		}
		_, err := db.Exec("INSERT INTO e (id, u) VALUES (?, ?)", 1, 9)
		fails(err, 1062, "23000")
		_, err = db.Prepare("SELECT ? FROM")
		fails(err, 1064, "42000")
	}},
	{"transactions", func() {
		db := open(nil)
		defer db.Close()
		exec(db, "DROP TABLE IF EXISTS tx")
		exec(db, "CREATE TABLE tx (id INT PRIMARY KEY, n INT)")
		tx, err := db.Begin()
		must(err)
		exec(tx, "INSERT INTO tx VALUES (?, ?)", 1, 1)
		equal(one[int](db, "SELECT COUNT(*) FROM tx"), 0, "not visible before commit")
		must(tx.Commit())
		equal(one[int](db, "SELECT COUNT(*) FROM tx"), 1, "visible after commit")
		tx, err = db.Begin()
		must(err)
		exec(tx, "DELETE FROM tx")
		must(tx.Rollback())
		equal(one[int](db, "SELECT COUNT(*) FROM tx"), 1, "rolled back")
		for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
			tx, err = db.BeginTx(context.Background(), &sql.TxOptions{Isolation: level})
			must(err)
			equal(one[int](tx, "SELECT n FROM tx WHERE id = ?", 1), 1, level.String())
			must(tx.Commit())
		}
		tx, err = db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
		must(err)
		_, err = tx.Exec("DELETE FROM tx")
		fails(err, 1792, "25006")
		must(tx.Rollback())
	}},
	{"concurrent_increments_lose_nothing", func() {
		db := open(nil)
		defer db.Close()
		exec(db, "DROP TABLE IF EXISTS counter")
		exec(db, "CREATE TABLE counter (id INT PRIMARY KEY, n INT)")
		exec(db, "INSERT INTO counter VALUES (1, 0)")
		var group sync.WaitGroup
		failures := make(chan error, 8)
		for worker := 0; worker < 8; worker++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for i := 0; i < 50; i++ {
					if _, err := db.Exec("UPDATE counter SET n = n + 1 WHERE id = ?", 1); err != nil {
						failures <- err
						return
					}
				}
			}()
		}
		group.Wait()
		close(failures)
		for err := range failures {
			panic(err)
		}
		equal(one[int](db, "SELECT n FROM counter"), 400, "sum")
	}},
	{"multi_statements", func() {
		db := open(func(c *mysql.Config) { c.MultiStatements = true })
		defer db.Close()
		rows, err := db.Query("SELECT 1; DO 0; SELECT 'a;b', 3")
		must(err)
		defer rows.Close()
		results := []string{}
		for more := true; more; more = rows.NextResultSet() {
			names, err := rows.Columns()
			must(err)
			for rows.Next() {
				results = append(results, strings.Join(names, ","))
			}
		}
		must(rows.Err())
		equal(results, []string{"1", "a;b,3"}, "results")
		plain := open(nil)
		defer plain.Close()
		_, err = plain.Query("SELECT 1; SELECT 2")
		fails(err, 1064, "42000")
	}},
	{"blob_of_20_mb", func() {
		blob := bytes.Repeat([]byte{0, 1, 2, 0xff, '\'', '\\', '\n'}, 20*mib/7)
		for _, interpolate := range []bool{false, true} {
			db := open(func(c *mysql.Config) { c.InterpolateParams = interpolate })
			exec(db, "DROP TABLE IF EXISTS big")
			exec(db, "CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB)")
			exec(db, "INSERT INTO big VALUES (?, ?)", 1, blob)
			if !bytes.Equal(one[[]byte](db, "SELECT b FROM big WHERE id = ?", 1), blob) {
				panic("the blob changed on its way")
			}
			db.Close()
		}
	}},
	{"batch_of_5000_rows", func() {
		db := open(nil)
		defer db.Close()
		exec(db, "DROP TABLE IF EXISTS batch")
		exec(db, "CREATE TABLE batch (id INT PRIMARY KEY, s VARCHAR(20))")
		args := []any{}
		for i := 0; i < 5000; i++ {
			args = append(args, i, fmt.Sprint("row ", i))
		}
		insert := "INSERT INTO batch VALUES (?, ?)" + strings.Repeat(", (?, ?)", 4999)
		equal(exec(db, insert, args...), int64(5000), "inserted")
		rows, err := db.Query("SELECT id, s FROM batch ORDER BY id")
		must(err)
		defer rows.Close()
		n := 0
		for ; rows.Next(); n++ {
			var id int
			var s string
			must(rows.Scan(&id, &s))
			equal(s, fmt.Sprint("row ", id), "row")
		}
		equal(n, 5000, "rows")
	}},
	{"insert_id_and_affected_rows", func() {
		db := open(nil)
		defer db.Close()
		exec(db, "DROP TABLE IF EXISTS counted")
		exec(db, "CREATE TABLE counted (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, n INT)")
		result, err := db.Exec("INSERT INTO counted (n) VALUES (?), (?)", 1, 2)
		must(err)
		id, err := result.LastInsertId()
		must(err)
		equal(id, int64(1), "first id")
		equal(exec(db, "UPDATE counted SET n = 1"), int64(1), "changed rows")
		found := open(func(c *mysql.Config) { c.ClientFoundRows = true })
		defer found.Close()
		equal(exec(found, "UPDATE counted SET n = 1"), int64(2), "found rows")
	}},
	{"metadata", func() {
		db := open(nil)
		defer db.Close()
		exec(db, "DROP TABLE IF EXISTS meta")
		exec(db, "CREATE TABLE meta (a BIGINT UNSIGNED NOT NULL, b VARCHAR(9), c DECIMAL(12,4), d DATETIME(6), e BLOB, f JSON, g TEXT, h TINYINT, i DOUBLE)")
		rows, err := db.Query("SELECT * FROM meta")
		must(err)
		defer rows.Close()
		types, err := rows.ColumnTypes()
		must(err)
		names := []string{}
		for _, t := range types {
			names = append(names, t.DatabaseTypeName())
		}
		last := "JSON"
		if isMariaDB(db) {
			last = "TEXT"
		}
		equal(names, []string{"UNSIGNED BIGINT", "VARCHAR", "DECIMAL", "DATETIME", "BLOB", last, "TEXT", "TINYINT", "DOUBLE"}, "types")
		nullable, known := types[0].Nullable()
		equal([]bool{nullable, known}, []bool{false, true}, "NOT NULL")
		precision, scale, _ := types[2].DecimalSize()
		equal([]int64{precision, scale}, []int64{12, 4}, "DECIMAL(12,4)")
	}},
	{"accounts_of_both_plugins", func() {
		admin := open(nil)
		defer admin.Close()
		plugins := map[string]string{"go_native": "mysql_native_password"}
		if !isMariaDB(admin) {
			plugins["go_sha2"] = "caching_sha2_password"
		}
		for user, plugin := range plugins {
			exec(admin, "DROP USER IF EXISTS "+user+"@'%'")
			how := "WITH " + plugin + " BY"
			if isMariaDB(admin) {
				how = "BY"
			}
			exec(admin, "CREATE USER "+user+"@'%' IDENTIFIED "+how+" 'pässword'")
			exec(admin, "GRANT ALL ON "+database+".* TO "+user+"@'%'")
			for i := 0; i < 2; i++ { // the second time by caching_sha2's fast path
				db := open(func(c *mysql.Config) { c.User, c.Passwd = user, "pässword" })
				equal(one[string](db, "SELECT SUBSTRING_INDEX(USER(), '@', 1)"), user, "user")
				db.Close()
			}
			wrong := open(func(c *mysql.Config) { c.User, c.Passwd = user, "password" })
			fails(wrong.Ping(), 1045, "28000")
			wrong.Close()
			exec(admin, "DROP USER "+user+"@'%'")
		}
	}},
	{"connection_attributes", func() {
		db := open(func(c *mysql.Config) { c.ConnectionAttributes = "program_name:suite,team:ü,empty:" })
		defer db.Close()
		equal(one[int](db, "SELECT 1"), 1, "answer")
	}},
	{"pool_resets_sessions", func() {
		db := open(nil)
		defer db.Close()
		var group sync.WaitGroup
		for i := 0; i < 40; i++ {
			group.Add(1)
			go func(i int) {
				defer group.Done()
				equal(one[int](db, "SELECT ?", i), i, "own answer")
			}(i)
		}
		group.Wait()
	}},
	{"cancelled_query_kills_the_connection_only", func() {
		db := open(nil)
		defer db.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_, err := db.ExecContext(ctx, "DO SLEEP(3)")
		if !errors.Is(err, context.DeadlineExceeded) {
			panic(err)
		}
		equal(one[int](db, "SELECT 1"), 1, "a new connection answers")
	}},
	{"many_prepared_statements", func() {
		db := open(nil)
		defer db.Close()
		db.SetMaxOpenConns(1)
		for i := 0; i < 500; i++ {
			statement, err := db.Prepare(fmt.Sprintf("SELECT ? + %d", i))
			must(err)
			var sum int
			must(statement.QueryRow(1).Scan(&sum))
			equal(sum, i+1, "sum")
			must(statement.Close())
		}
	}},
}

func main() {
	loadVectors()
	db := open(func(c *mysql.Config) { c.DBName = "" })
	exec(db, "DROP DATABASE IF EXISTS "+database)
	exec(db, "CREATE DATABASE "+database+" CHARACTER SET utf8mb4")
	db.Close()
	passed, failed := 0, 0
	for _, test := range tests {
		started := time.Now()
		func() {
			defer func() {
				if failure := recover(); failure != nil {
					failed++
					fmt.Printf("FAILED %s: %v\n", test.name, failure)
				} else {
					passed++
					fmt.Printf("ok %s (%.2f s)\n", test.name, time.Since(started).Seconds())
				}
			}()
			test.run()
		}()
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
