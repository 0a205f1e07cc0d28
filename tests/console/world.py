"""What the suite's node has in it: tables, accounts, keys, names that no page deserves."""

import socket

HOSTILE = "<img src=x onerror=\"window.hacked=1\">'`&amp;"
# A name has 64 characters at most; a user 32.
HOSTILE_NAME = "<svg onload=window.hacked=2>`'\"&lt;"
HOSTILE_USER = "<b onclick=window.hacked=3>'x"


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def fill(node):
    node.sql("CREATE DATABASE shop")
    node.sql("CREATE TABLE shop.customers (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(60) NOT NULL, city VARCHAR(40), KEY by_city (city)) COMMENT = 'who buys'")
    node.sql("CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, customer INT NOT NULL, total DECIMAL(10, 2), note JSON, KEY by_customer (customer))")
    node.sql("CREATE TABLE shop.visits (id INT PRIMARY KEY, seen DATETIME(3), KEY (seen)) TTL = seen + INTERVAL 3 DAY")
    cities = ["London", "Paris", "Kyiv", "Lagos"]
    node.sql("INSERT INTO shop.customers (name, city) VALUES " + ", ".join(f"('Customer {n}', '{cities[n % 4]}')" for n in range(200)))
    for part in range(5):
        rows = range(part * 500, part * 500 + 500)
        node.sql("INSERT INTO shop.orders VALUES " + ", ".join(f"({n}, {n % 200 + 1}, {n}.25, '{{\"gift\": true}}')" for n in rows))
    node.sql("INSERT INTO shop.orders VALUES (9007199254740993, 1, NULL, NULL)")
    node.sql("CREATE USER app@localhost IDENTIFIED BY 'secret'")
    node.sql("GRANT ALL ON shop.* TO app@localhost")
    node.sql("GRANT PROCESS ON *.* TO app@localhost")
    node.sql("CREATE USER clerk@localhost IDENTIFIED BY 'clerk'")
    node.sql("GRANT SELECT ON shop.customers TO clerk@localhost")


def fill_with_hostile_names(node):
    database, table = quoted("db " + HOSTILE_NAME), quoted("t " + HOSTILE_NAME)
    node.sql(f"CREATE DATABASE {database}")
    node.sql(f"CREATE TABLE {database}.{table} (id INT PRIMARY KEY, {quoted('c ' + HOSTILE_NAME)} TEXT) COMMENT = ?".replace("?", "'" + HOSTILE.replace("'", "''") + "'"))
    node.sql(f"INSERT INTO {database}.{table} VALUES (1, ?)", HOSTILE)
    node.sql("CREATE USER '" + HOSTILE_USER.replace("'", "''") + "'@localhost IDENTIFIED BY 'x'")
    node.sql("GRANT ALL ON *.* TO '" + HOSTILE_USER.replace("'", "''") + "'@localhost")


def redis(address, *commands):
    """Sends commands, and takes their replies as bytes."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as one:
        for command in commands:
            words = [word if isinstance(word, bytes) else word.encode() for word in command]
            one.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        one.sendall(b"*1\r\n$4\r\nQUIT\r\n")
        got = b""
        while piece := one.recv(1 << 16):
            got += piece
    assert b"\r\n-" not in b"\r\n" + got, got
    return got


def fill_keys(address):
    keys = [("SET", f"item:{n:04}", str(n)) for n in range(150)]
    redis(address, ("SET", "greeting", "hello"), ("HSET", "user:1", "name", "Ada", "city", "London"), ("RPUSH", "queue", "a", "b"),
          ("SADD", "tags", "x", "y"), ("ZADD", "board", "1", "ann", "2.5", "bob"), ("XADD", "log", "*", "event", "login"),
          ("SET", b"bin\xff\x00", b"\x01\x02"), ("SET", "short", "t", "EX", "5000"), ("SET", HOSTILE, HOSTILE), ("HSET", "hostile", HOSTILE, HOSTILE), *keys)
