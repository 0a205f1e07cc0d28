// go-sql-driver/mysql over several hosts, while nodes of the cluster die. tests/failover/suite.py starts it and judges its lines.
//
// The driver knows one host for each DSN. Its users give database/sql a connector that tries several, or the driver a dialler that does.
package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	pause     = 20 * time.Millisecond
	lostPause = 50 * time.Millisecond
	// A transaction is open for so long, so that some are when a node dies.
	open = 30 * time.Millisecond
)

var isOver atomic.Bool

func config(network, address string) *mysql.Config {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.DBName = network, address, "failover"
	c.User, c.Passwd = os.Getenv("DB_USER"), os.Getenv("DB_PASSWORD")
	c.Timeout, c.ReadTimeout, c.WriteTimeout = time.Second, 2*time.Second, 2*time.Second
	c.TLSConfig = "skip-verify"
	return c
}

// connectors is a driver.Connector over several hosts. A new connection is wanted where one was lost, so its host is tried last.
type connectors struct {
	each  []driver.Connector
	mutex sync.Mutex
	first int
}

func (c *connectors) Connect(ctx context.Context) (driver.Conn, error) {
	c.mutex.Lock()
	first := c.first
	c.mutex.Unlock()
	var failed []error
	for i := range c.each {
		place := (first + i) % len(c.each)
		connection, err := c.each[place].Connect(ctx)
		if err == nil {
			c.mutex.Lock()
			c.first = (place + 1) % len(c.each)
			c.mutex.Unlock()
			return connection, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

func (c *connectors) Driver() driver.Driver { return c.each[0].Driver() }

func overConnector(hosts []string) *sql.DB {
	c := &connectors{}
	for _, host := range hosts {
		one, err := mysql.NewConnector(config("tcp", host))
		must(err)
		c.each = append(c.each, one)
	}
	return sql.OpenDB(c)
}

// overDialler has one DSN, whose address is a list, of which each connection begins with the next one.
func overDialler(hosts []string) *sql.DB {
	var dialled atomic.Int64
	mysql.RegisterDialContext("cluster", func(ctx context.Context, list string) (net.Conn, error) {
		each := strings.Split(list, ",")
		first := int(dialled.Add(1) - 1)
		var failed error
		for i := range each {
			dialer := net.Dialer{Timeout: time.Second}
			connection, err := dialer.DialContext(ctx, "tcp", each[(first+i)%len(each)])
			if err == nil {
				return connection, nil
			}
			failed = err
		}
		return nil, failed
	})
	connector, err := mysql.NewConnector(config("cluster", strings.Join(hosts, ",")))
	must(err)
	return sql.OpenDB(connector)
}

type client struct {
	name         string
	db           *sql.DB
	next         int64
	acknowledged int64
}

func (c *client) run() {
	c.db.SetMaxOpenConns(1)
	for turn := 0; !isOver.Load(); turn++ {
		id := c.number()
		c.step("insert", []int64{id}, func() (string, error) {
			_, err := c.db.Exec("INSERT INTO written (number) VALUES (?)", id)
			if err == nil {
				c.acknowledged = id
			}
			return "", err
		})
		if c.acknowledged > 0 {
			c.step("read", []int64{c.acknowledged}, c.read)
		}
		if turn%3 == 0 {
			ids := []int64{c.number(), c.number()}
			c.step("transaction", ids, func() (string, error) { return "", c.transaction(ids) })
		}
		time.Sleep(pause)
	}
}

func (c *client) number() int64 {
	c.next++
	return c.next - 1
}

func (c *client) read() (string, error) {
	var count int
	var node string
	err := c.db.QueryRow("SELECT COUNT(*), @@server_id FROM written WHERE number = ?", c.acknowledged).Scan(&count, &node)
	if err == nil && count != 1 {
		err = fmt.Errorf("stale: %d rows", count)
	}
	return node, err
}

func (c *client) transaction(ids []int64) error {
	tx, err := c.db.Begin()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := tx.Exec("INSERT INTO written (number) VALUES (?)", id); err != nil {
			_ = tx.Rollback() // of a connection that may be lost
			return err
		}
		time.Sleep(open)
	}
	return tx.Commit()
}

func (c *client) step(what string, ids []int64, work func() (string, error)) {
	began := time.Now().UnixMilli()
	node, err := work()
	result, code, state, text := "done", uint16(0), "", ""
	if err != nil {
		var server *mysql.MySQLError
		if errors.As(err, &server) {
			code, state = server.Number, string(server.SQLState[:])
		}
		result, text = "failed", strings.Join(strings.Fields(fmt.Sprintf("%T: %v", err, err)), " ")
	}
	var numbers []string
	for _, id := range ids {
		numbers = append(numbers, strconv.FormatInt(id, 10))
	}
	fmt.Printf("%s\t%s\t%s\t%s\t%d\t%d\t%s\t%d\t%s\t%s\n",
		c.name, what, result, strings.Join(numbers, ","), began, time.Now().UnixMilli(), node, code, state, text)
	if err != nil {
		time.Sleep(lostPause)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// The number of the first row, and hosts with ports, separated by commas. Runs until its input ends.
func main() {
	mysql.SetLogger(&mysql.NopLogger{})
	first, err := strconv.ParseInt(os.Args[1], 10, 64)
	must(err)
	hosts := strings.Split(os.Args[2], ",")
	clients := []*client{
		{name: "go-connector", db: overConnector(hosts), next: first},
		{name: "go-dialler", db: overDialler(hosts), next: first + 1_000_000},
	}
	var running sync.WaitGroup
	for _, c := range clients {
		running.Add(1)
		go func(c *client) {
			defer running.Done()
			c.run()
		}(c)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	isOver.Store(true)
	running.Wait()
}
