"""How the keys of Redis lie in tables: the only place of these tests that knows the layout.

A string is a row of `redis.db0`: its key, the type 'string', and the value as text. SQL and Redis see one another's changes.
"""

import pymysql


class Tables:
    """One SQL connection to the tables of database 0."""

    def __init__(self, host, port, user="root", password=""):
        self.connection = pymysql.connect(host=host, port=port, user=user, password=password, autocommit=True, read_timeout=20, write_timeout=20, connect_timeout=5)

    def close(self):
        self.connection.close()

    def run(self, sql, *values):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values)
            return cursor.fetchall()

    def add(self, key, amount):
        """INCRBY."""
        self.run("INSERT INTO redis.db0 (`key`, type, value) VALUES (%s, 'string', %s) ON DUPLICATE KEY UPDATE value = CAST(value AS SIGNED) + %s",
                 key, str(amount), amount)

    def transfer(self, source, target, amount):
        """Moves an amount from one key to another, in one transaction; whether the source had it."""
        try:
            self.run("BEGIN")
            rows = dict(self.run("SELECT `key`, CAST(value AS SIGNED) FROM redis.db0 WHERE `key` IN (%s, %s) FOR UPDATE", source, target))
            if rows[source] < amount:
                self.run("ROLLBACK")
                return False
            self.run("UPDATE redis.db0 SET value = CAST(value AS SIGNED) - %s WHERE `key` = %s", amount, source)
            self.run("UPDATE redis.db0 SET value = CAST(value AS SIGNED) + %s WHERE `key` = %s", amount, target)
            self.run("COMMIT")
            return True
        except pymysql.MySQLError:
            self.connection.rollback()
            raise

    def total(self, prefix):
        """The sum over all keys with a prefix."""
        [[total]] = self.run("SELECT SUM(CAST(value AS SIGNED)) FROM redis.db0 WHERE `key` LIKE %s", prefix + "%")
        return int(total)


# Of these a client knows that nothing was done, and may try again: a deadlock, a lock wait, a conflict.
RETRIED = {1205, 1213, 3572, 1020}


def is_retried(error):
    return isinstance(error, pymysql.MySQLError) and error.args and error.args[0] in RETRIED
