// MariaDB Connector/J: JDBC with prepared statements on the client (text) and on the server (binary).

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

public final class Suite {
    static final String DATABASE = "client_java";
    static final int MIB = 1 << 20;

    record Column(String name, String definition, String kind, List<String> values) {
        String at(int row) {
            return row < values.size() ? values.get(row) : null;
        }
    }

    interface Test {
        void run() throws Exception;
    }

    static List<Column> columns = new ArrayList<>();
    static JsonObject vectors;
    static int height;

    static String env(String name, String otherwise) {
        return Objects.requireNonNullElse(System.getenv(name), otherwise);
    }

    static String url(String database, String options) {
        return "jdbc:mariadb://" + env("DB_HOST", "127.0.0.1") + ":" + env("DB_PORT", "3306") + "/" + database
                + "?maxAllowedPacket=67108864&allowPublicKeyRetrieval=true" + options;
    }

    static Connection open(String options) throws SQLException {
        return DriverManager.getConnection(url(DATABASE, options), env("DB_USER", "root"), env("DB_PASSWORD", ""));
    }

    static int execute(Connection c, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = c.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
            statement.execute();
            return statement.getUpdateCount();
        }
    }

    static Object value(Connection c, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = c.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? rows.getObject(1) : null;
            }
        }
    }

    static long number(Connection c, String sql, Object... values) throws SQLException {
        return ((Number) value(c, sql, values)).longValue();
    }

    static void equal(Object got, Object wanted, String about) {
        if (!Objects.deepEquals(got, wanted)) {
            throw new AssertionError(about + ": got " + shorten(got) + ", wanted " + shorten(wanted));
        }
    }

    static String shorten(Object value) {
        String text = value instanceof Object[] list ? Arrays.deepToString(list) : String.valueOf(value);
        return text.length() < 200 ? text : text.substring(0, 200) + " …";
    }

    static void fails(int number, List<String> states, Test test) throws Exception {
        try {
            test.run();
        } catch (SQLException error) {
            equal(error.getErrorCode(), number, error.getMessage());
            if (!states.isEmpty() && !states.contains(error.getSQLState())) {
                throw new AssertionError(number + ": got SQLSTATE " + error.getSQLState() + ", wanted " + states);
            }
            return;
        }
        throw new AssertionError("did not fail with " + number);
    }

    static boolean isMariadb(Connection c) throws SQLException {
        return ((String) value(c, "SELECT VERSION()")).contains("MariaDB");
    }

    static void loadVectors() throws Exception {
        vectors = JsonParser.parseString(Files.readString(Path.of(env("VECTORS", "../vectors.json")))).getAsJsonObject();
        for (JsonElement element : vectors.getAsJsonArray("types")) {
            JsonObject type = element.getAsJsonObject();
            List<String> values = new ArrayList<>();
            for (JsonElement value : type.getAsJsonArray("values")) {
                if (value.isJsonObject()) {
                    JsonArray repeat = value.getAsJsonObject().getAsJsonArray("repeat");
                    values.add(repeat.get(0).getAsString().repeat(repeat.get(1).getAsInt()));
                } else {
                    values.add(value.getAsString());
                }
            }
            columns.add(new Column(type.get("name").getAsString(), type.get("definition").getAsString(), type.get("kind").getAsString(), values));
            height = Math.max(height, values.size() + 1); // the last row is NULL throughout
        }
    }

    static void bind(PreparedStatement statement, int at, Column column, String text) throws SQLException {
        if (text == null) {
            statement.setNull(at, Types.NULL);
            return;
        }
        switch (column.kind) {
            case "int", "decimal" -> statement.setBigDecimal(at, new BigDecimal(text));
            case "bit" -> statement.setBytes(at, bits(new BigInteger(text)));
            case "float" -> statement.setFloat(at, Float.parseFloat(text));
            case "double" -> statement.setDouble(at, Double.parseDouble(text));
            case "bytes" -> statement.setBytes(at, HexFormat.of().parseHex(text));
            case "year" -> statement.setInt(at, Integer.parseInt(text));
            default -> statement.setString(at, text);
        }
    }

    static byte[] bits(BigInteger number) {
        byte[] bytes = number.toByteArray();
        return bytes.length > 1 && bytes[0] == 0 ? Arrays.copyOfRange(bytes, 1, bytes.length) : bytes;
    }

    static boolean same(Column column, String wanted, ResultSet rows, int at) throws SQLException {
        if (wanted == null) return rows.getString(at) == null && rows.wasNull();
        return switch (column.kind) {
            case "bit" -> new BigInteger(1, rows.getBytes(at)).equals(new BigInteger(wanted));
            case "bytes" -> HexFormat.of().formatHex(rows.getBytes(at)).equals(wanted);
            case "decimal" -> rows.getBigDecimal(at).equals(new BigDecimal(wanted));
            case "float" -> Math.abs(rows.getFloat(at) - Float.parseFloat(wanted)) <= Math.abs(Float.parseFloat(wanted)) * 1e-6;
            case "double" -> rows.getDouble(at) == Double.parseDouble(wanted);
            case "year" -> rows.getInt(at) == Integer.parseInt(wanted);
            case "json" -> JsonParser.parseString(rows.getString(at)).equals(JsonParser.parseString(wanted));
            case "datetime" -> rows.getString(at).equals(wanted) || rows.getString(at).equals(wanted + "000"); // shown with six digits
            default -> rows.getString(at).equals(wanted);
        };
    }

    static void everyType(Connection c, String table) throws SQLException {
        execute(c, "SET time_zone = '+00:00'");
        execute(c, "DROP TABLE IF EXISTS " + table);
        List<String> definitions = new ArrayList<>(List.of("id INT PRIMARY KEY"));
        for (Column column : columns) definitions.add(column.name + " " + column.definition);
        execute(c, "CREATE TABLE " + table + " (" + String.join(", ", definitions) + ")");
        try (PreparedStatement insert = c.prepareStatement("INSERT INTO " + table + " VALUES (?" + ", ?".repeat(columns.size()) + ")")) {
            for (int row = 0; row < height; row++) {
                insert.setInt(1, row);
                for (int i = 0; i < columns.size(); i++) bind(insert, i + 2, columns.get(i), columns.get(i).at(row));
                equal(insert.executeUpdate(), 1, "inserted");
            }
        }
        List<String> wrong = new ArrayList<>();
        try (PreparedStatement select = c.prepareStatement("SELECT * FROM " + table + " WHERE id >= ? ORDER BY id")) {
            select.setInt(1, 0);
            try (ResultSet rows = select.executeQuery()) {
                int row = 0;
                for (; rows.next(); row++) {
                    for (int i = 0; i < columns.size(); i++) {
                        Column column = columns.get(i);
                        if (!same(column, column.at(row), rows, i + 2)) {
                            wrong.add(column.name + ": got " + shorten(rows.getString(i + 2)) + ", wanted " + shorten(column.at(row)));
                        }
                    }
                }
                equal(row, height, "rows");
            }
        }
        if (!wrong.isEmpty()) throw new AssertionError(String.join("\n  ", wrong));
    }

    static final Map<String, Test> TESTS = new LinkedHashMap<>();

    static void connecting() {
        TESTS.put("connect_and_ping", () -> {
            try (Connection c = open("")) {
                equal(c.isValid(5), true, "ping");
                equal(value(c, "SELECT DATABASE()"), DATABASE, "database");
                equal(c.getCatalog(), DATABASE, "catalog");
                c.getMetaData().getDatabaseProductVersion();
                equal(c.getTransactionIsolation(), Connection.TRANSACTION_REPEATABLE_READ, "isolation");
            }
        });
        TESTS.put("wrong_login", () -> {
            fails(1045, List.of("28000"), () -> DriverManager.getConnection(url(DATABASE, ""), "nobody", "x").close());
            fails(1049, List.of("42000"), () -> DriverManager.getConnection(url("nowhere_at_all", ""), env("DB_USER", "root"), env("DB_PASSWORD", "")).close());
        });
        TESTS.put("accounts_of_both_plugins", () -> {
            try (Connection admin = open("")) {
                boolean mariadb = isMariadb(admin);
                for (String plugin : mariadb ? List.of("mysql_native_password") : List.of("mysql_native_password", "caching_sha2_password")) {
                    execute(admin, "DROP USER IF EXISTS java_user@'%'");
                    execute(admin, "CREATE USER java_user@'%' IDENTIFIED " + (mariadb ? "BY" : "WITH " + plugin + " BY") + " 'pass word'");
                    execute(admin, "GRANT ALL ON " + DATABASE + ".* TO java_user@'%'");
                    for (int i = 0; i < 2; i++) { // the second time by caching_sha2's fast path
                        try (Connection c = DriverManager.getConnection(url(DATABASE, ""), "java_user", "pass word")) {
                            equal(value(c, "SELECT SUBSTRING_INDEX(USER(), '@', 1)"), "java_user", plugin);
                        }
                    }
                    fails(1045, List.of("28000"), () -> DriverManager.getConnection(url(DATABASE, ""), "java_user", "wrong").close());
                    execute(admin, "DROP USER java_user@'%'");
                }
            }
        });
        TESTS.put("connection_attributes", () -> {
            try (Connection c = open("&connectionAttributes=program_name:suite,team:x")) {
                equal(number(c, "SELECT 1"), 1L, "answer");
            }
        });
        TESTS.put("reset_connection", () -> {
            try (Connection c = open("&useResetConnection=true")) {
                execute(c, "SET @x = 1");
                c.unwrap(org.mariadb.jdbc.Connection.class).reset();
                // The driver sends COM_RESET_CONNECTION to servers that call themselves MariaDB only.
                if (isMariadb(c)) equal(value(c, "SELECT @x"), null, "user variable");
                equal(number(c, "SELECT 1"), 1L, "answer");
            }
        });
    }

    static void values() {
        TESTS.put("every_type_by_client_side_statements", () -> {
            try (Connection c = open("")) {
                everyType(c, "v_text");
            }
        });
        TESTS.put("every_type_by_server_side_statements", () -> {
            try (Connection c = open("&useServerPrepStmts=true")) {
                everyType(c, "v_prepared");
            }
        });
        TESTS.put("blob_of_20_mb", () -> {
            byte[] blob = new byte[20 * MIB];
            for (int i = 0; i < blob.length; i++) blob[i] = (byte) (i * 31);
            for (String options : List.of("", "&useServerPrepStmts=true", "&useCompression=true")) {
                try (Connection c = open(options)) {
                    execute(c, "DROP TABLE IF EXISTS big");
                    execute(c, "CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB)");
                    execute(c, "INSERT INTO big VALUES (?, ?)", 1, blob);
                    try (PreparedStatement select = c.prepareStatement("SELECT b FROM big WHERE id = ?")) {
                        select.setInt(1, 1);
                        try (ResultSet rows = select.executeQuery()) {
                            rows.next();
                            equal(Arrays.equals(rows.getBytes(1), blob), true, "the blob is unchanged");
                        }
                    }
                }
            }
        });
        TESTS.put("batch_of_5000_rows", () -> {
            for (String options : List.of("", "&useServerPrepStmts=true", "&useBulkStmts=true")) {
                try (Connection c = open(options)) {
                    execute(c, "DROP TABLE IF EXISTS batch");
                    execute(c, "CREATE TABLE batch (id INT PRIMARY KEY, s VARCHAR(20))");
                    c.setAutoCommit(false);
                    try (PreparedStatement insert = c.prepareStatement("INSERT INTO batch VALUES (?, ?)")) {
                        for (int i = 0; i < 5000; i++) {
                            insert.setInt(1, i);
                            insert.setString(2, "row " + i);
                            insert.addBatch();
                        }
                        equal(insert.executeBatch().length, 5000, "results");
                    }
                    c.commit();
                    equal(number(c, "SELECT COUNT(*) FROM batch"), 5000L, "rows");
                }
            }
        });
        TESTS.put("streamed_rows", () -> {
            try (Connection c = open("&useServerPrepStmts=true"); PreparedStatement select = c.prepareStatement("SELECT id FROM batch ORDER BY id")) {
                select.setFetchSize(100);
                try (ResultSet rows = select.executeQuery()) {
                    for (int i = 0; i < 5000; i++) {
                        rows.next();
                        equal(rows.getInt(1), i, "row");
                    }
                    equal(rows.next(), false, "end");
                }
            }
        });
    }

    static void statements() {
        TESTS.put("errors_have_number_and_sqlstate", () -> {
            try (Connection c = open("")) {
                execute(c, "DROP TABLE IF EXISTS e, e2, bad");
                for (JsonElement setup : vectors.getAsJsonArray("error_setup")) execute(c, setup.getAsString());
                boolean mariadb = isMariadb(c);
                List<String> wrong = new ArrayList<>();
                for (JsonElement element : vectors.getAsJsonArray("errors")) {
                    JsonObject test = element.getAsJsonObject();
                    String sql = test.get("sql").getAsString().replace("{database}", DATABASE);
                    if (test.has("not_mariadb") && mariadb) continue;
                    List<String> states = new ArrayList<>();
                    for (JsonElement state : test.getAsJsonArray("states")) states.add(state.getAsString());
                    try (Statement statement = c.createStatement()) {
                        fails(test.get("number").getAsInt(), states, () -> statement.execute(sql));
                    } catch (AssertionError error) {
                        wrong.add(sql + ": " + error.getMessage());
                    }
                }
                if (!wrong.isEmpty()) throw new AssertionError(String.join("\n  ", wrong));
            }
            try (Connection c = open("&useServerPrepStmts=true")) {
                fails(1062, List.of("23000"), () -> execute(c, "INSERT INTO e (id, u) VALUES (?, ?)", 1, 9));
                fails(1064, List.of("42000"), () -> execute(c, "SELECT ? FROM", 1));
            }
        });
        TESTS.put("transactions", () -> {
            try (Connection c = open(""); Connection other = open("")) {
                execute(c, "DROP TABLE IF EXISTS tx");
                execute(c, "CREATE TABLE tx (id INT PRIMARY KEY)");
                c.setAutoCommit(false);
                execute(c, "INSERT INTO tx VALUES (1)");
                equal(number(other, "SELECT COUNT(*) FROM tx"), 0L, "not visible before commit");
                c.commit();
                equal(number(other, "SELECT COUNT(*) FROM tx"), 1L, "visible after commit");
                execute(c, "INSERT INTO tx VALUES (2)");
                Savepoint savepoint = c.setSavepoint("half");
                execute(c, "INSERT INTO tx VALUES (3)");
                c.rollback(savepoint);
                c.commit();
                equal(number(other, "SELECT SUM(id) FROM tx"), 3L, "savepoint");
                execute(c, "DELETE FROM tx");
                c.rollback();
                equal(number(other, "SELECT COUNT(*) FROM tx"), 2L, "rolled back");
                for (int level : List.of(Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_SERIALIZABLE, Connection.TRANSACTION_REPEATABLE_READ)) {
                    c.setTransactionIsolation(level);
                    equal(c.getTransactionIsolation(), level, "isolation");
                    c.commit();
                }
                c.setReadOnly(true);
            }
        });
        TESTS.put("multi_statements", () -> {
            try (Connection c = open("&allowMultiQueries=true"); Statement statement = c.createStatement()) {
                equal(statement.execute("SELECT 1; DO 0; SELECT 'a;b'"), true, "first is a result");
                equal(statement.getMoreResults(), false, "second is none");
                equal(statement.getUpdateCount(), 0, "second counts nothing");
                equal(statement.getMoreResults(), true, "third is a result");
                try (ResultSet rows = statement.getResultSet()) {
                    rows.next();
                    equal(rows.getString(1), "a;b", "third");
                }
                equal(statement.getMoreResults() || statement.getUpdateCount() != -1, false, "no fourth");
            }
            try (Connection c = open(""); Statement statement = c.createStatement()) {
                fails(1064, List.of("42000"), () -> statement.execute("SELECT 1; SELECT 2"));
            }
        });
        TESTS.put("generated_keys_and_counts", () -> {
            try (Connection c = open("")) {
                execute(c, "DROP TABLE IF EXISTS counted");
                execute(c, "CREATE TABLE counted (id BIGINT PRIMARY KEY AUTO_INCREMENT, n INT UNIQUE)");
                try (PreparedStatement insert = c.prepareStatement("INSERT INTO counted (n) VALUES (?), (?)", Statement.RETURN_GENERATED_KEYS)) {
                    insert.setInt(1, 1);
                    insert.setInt(2, 2);
                    equal(insert.executeUpdate(), 2, "inserted");
                    try (ResultSet keys = insert.getGeneratedKeys()) {
                        keys.next();
                        equal(keys.getLong(1), 1L, "first key");
                    }
                }
                // JDBC counts found rows unless told otherwise
                equal(execute(c, "UPDATE counted SET n = 1 WHERE id = 1"), 1, "found");
            }
            try (Connection c = open("&useAffectedRows=true")) {
                equal(execute(c, "UPDATE counted SET n = 1 WHERE id = 1"), 0, "changed");
            }
        });
        TESTS.put("batch_error_names_the_row", () -> {
            try (Connection c = open(""); PreparedStatement insert = c.prepareStatement("INSERT INTO counted (n) VALUES (?)")) {
                for (int n : new int[] {10, 1, 11}) {
                    insert.setInt(1, n);
                    insert.addBatch();
                }
                try {
                    insert.executeBatch();
                    throw new AssertionError("the batch should fail");
                } catch (BatchUpdateException error) {
                    equal(error.getErrorCode(), 1062, error.getMessage());
                }
            }
        });
        TESTS.put("metadata", () -> {
            for (String options : List.of("", "&useServerPrepStmts=true")) {
                try (Connection c = open(options)) {
                    execute(c, "DROP TABLE IF EXISTS meta");
                    execute(c, "CREATE TABLE meta (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, s VARCHAR(9), d DECIMAL(12,4), t DATETIME(3), b BLOB, x TEXT)");
                    try (PreparedStatement select = c.prepareStatement("SELECT id, s AS alias, d, t, b, x FROM meta"); ResultSet rows = select.executeQuery()) {
                        ResultSetMetaData meta = rows.getMetaData();
                        equal(meta.getColumnCount(), 6, "columns");
                        equal(meta.getColumnLabel(2), "alias", "label");
                        equal(meta.getColumnName(2), "s", "name");
                        equal(meta.getTableName(1), "meta", "table");
                        equal(meta.isSigned(1), false, "unsigned");
                        equal(meta.isAutoIncrement(1), true, "auto increment");
                        equal(meta.isNullable(1), ResultSetMetaData.columnNoNulls, "NOT NULL");
                        equal(List.of(meta.getPrecision(3), meta.getScale(3)), List.of(12, 4), "DECIMAL(12,4)");
                        equal(meta.getPrecision(2), 9, "VARCHAR(9)");
                        equal(meta.getColumnType(4), Types.TIMESTAMP, "DATETIME");
                    }
                }
            }
        });
        TESTS.put("database_metadata", () -> {
            try (Connection c = open("")) {
                List<String> names = new ArrayList<>();
                try (ResultSet rows = c.getMetaData().getColumns(DATABASE, null, "meta", "%")) {
                    while (rows.next()) names.add(rows.getString("COLUMN_NAME") + " " + rows.getInt("DATA_TYPE"));
                }
                equal(names.size(), 6, "columns: " + names);
                equal(names.get(2), "d " + Types.DECIMAL, "third");
                try (ResultSet rows = c.getMetaData().getPrimaryKeys(DATABASE, null, "meta")) {
                    rows.next();
                    equal(rows.getString("COLUMN_NAME"), "id", "primary key");
                }
                try (ResultSet rows = c.getMetaData().getIndexInfo(DATABASE, null, "meta", true, false)) {
                    rows.next();
                    equal(rows.getString("INDEX_NAME"), "PRIMARY", "index");
                }
                boolean found = false;
                try (ResultSet rows = c.getMetaData().getTables(DATABASE, null, "%", new String[] {"TABLE"})) {
                    while (rows.next()) found |= rows.getString("TABLE_NAME").equals("meta");
                }
                equal(found, true, "getTables");
            }
        });
        TESTS.put("query_timeout", () -> {
            try (Connection c = open(""); Statement statement = c.createStatement()) {
                c.setNetworkTimeout(Runnable::run, 10_000);
                equal(number(c, "SELECT 5"), 5L, "answer");
                fails(1317, List.of(), () -> {
                    Thread canceller = new Thread(() -> {
                        try {
                            Thread.sleep(200);
                            statement.cancel();
                        } catch (Exception error) {
                            throw new IllegalStateException(error);
                        }
                    });
                    canceller.start();
                    statement.execute("SELECT SLEEP(5), id FROM counted");
                });
                equal(number(c, "SELECT 6"), 6L, "the connection lives on");
            }
        });
    }

    public static void main(String[] arguments) throws Exception {
        System.setProperty("mariadb.logging.disable", "true"); // expected errors are no news
        loadVectors();
        try (Connection c = DriverManager.getConnection(url("", ""), env("DB_USER", "root"), env("DB_PASSWORD", ""))) {
            execute(c, "DROP DATABASE IF EXISTS " + DATABASE);
            execute(c, "CREATE DATABASE " + DATABASE + " CHARACTER SET utf8mb4");
        }
        connecting();
        values();
        statements();
        int passed = 0;
        int failed = 0;
        for (Map.Entry<String, Test> test : TESTS.entrySet()) {
            long started = System.nanoTime();
            try {
                test.getValue().run();
                passed++;
                System.out.printf("ok %s (%.2f s)%n", test.getKey(), (System.nanoTime() - started) / 1e9);
            } catch (Throwable failure) {
                failed++;
                System.out.println("FAILED " + test.getKey() + ": " + failure);
                failure.printStackTrace(System.out);
            }
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed > 0 ? 1 : 0);
    }
}
