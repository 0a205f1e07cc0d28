// Connector/J and MariaDB Connector/J over several hosts, while nodes of the cluster die. tests/failover/suite.py starts it and judges its lines.

import java.io.PrintStream;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

public final class Failover {
    static final int PAUSE_MS = 20;
    static final int LOST_PAUSE_MS = 50;
    /** A transaction is open for so long, so that some are when a node dies. */
    static final int OPEN_MS = 30;

    static volatile boolean isOver;
    static final PrintStream out = System.out;

    interface Work {
        /** The node that did it, if it says so. */
        String on(Connection connection) throws SQLException;
    }

    static Map<String, String> urls(String hosts) {
        String connectorJ = "/failover?connectTimeout=1000&socketTimeout=2000";
        String mariadb = "/failover?connectTimeout=1000&socketTimeout=2000&sslMode=trust";
        Map<String, String> urls = new LinkedHashMap<>();
        urls.put("connectorj", "jdbc:mysql://" + hosts + connectorJ + "&failOverReadOnly=false");
        urls.put("connectorj-loadbalance", "jdbc:mysql:loadbalance://" + hosts + connectorJ
                + "&loadBalanceBlocklistTimeout=5000&loadBalanceAutoCommitStatementThreshold=10");
        urls.put("mariadb-sequential", "jdbc:mariadb:sequential://" + hosts + mariadb);
        urls.put("mariadb-loadbalance", "jdbc:mariadb:loadbalance://" + hosts + mariadb);
        return urls;
    }

    static final class Client implements Runnable {
        final String name;
        final String url;
        long next;
        long acknowledged = -1;
        Connection connection;

        Client(String name, String url, long first) {
            this.name = name;
            this.url = url;
            this.next = first;
        }

        @Override
        public void run() {
            for (int turn = 0; !isOver; turn++) {
                long id = next++;
                step("insert", "" + id, c -> {
                    insert(c, id);
                    acknowledged = id;
                    return "";
                });
                if (acknowledged >= 0) {
                    step("read", "" + acknowledged, c -> read(c, acknowledged));
                }
                if (turn % 3 == 0) {
                    long one = next++, two = next++;
                    step("transaction", one + "," + two, c -> transaction(c, one, two));
                }
                sleep(PAUSE_MS);
            }
        }

        void step(String what, String ids, Work work) {
            long began = System.currentTimeMillis();
            try {
                if (connection == null) {
                    connection = DriverManager.getConnection(url, System.getenv("DB_USER"), System.getenv("DB_PASSWORD"));
                }
                String node = work.on(connection);
                say(what, "done", ids, began, node, 0, "", "");
            } catch (SQLException error) {
                say(what, "failed", ids, began, "", error.getErrorCode(), error.getSQLState(), error.getMessage());
                recover();
            }
        }

        /** As a pool does: the connection stays if it is good again, and the driver has changed hosts by itself. */
        void recover() {
            try {
                if (connection != null && !connection.isClosed() && connection.isValid(1)) {
                    if (!connection.getAutoCommit()) {
                        connection.rollback();
                        connection.setAutoCommit(true);
                    }
                    return;
                }
            } catch (SQLException error) {
                // It is given up.
            }
            try {
                if (connection != null) {
                    connection.close();
                }
            } catch (SQLException error) {
                // So it was lost already.
            }
            connection = null;
            sleep(LOST_PAUSE_MS);
        }

        void say(String what, String result, String ids, long began, String node, int code, String state, String text) {
            String line = String.join("\t", name, what, result, ids, "" + began, "" + System.currentTimeMillis(), node, "" + code,
                    state == null ? "" : state, text == null ? "" : text.replaceAll("\\s+", " "));
            synchronized (out) {
                out.println(line);
            }
        }
    }

    static void insert(Connection c, long id) throws SQLException {
        try (PreparedStatement s = c.prepareStatement("INSERT INTO written (number) VALUES (?)")) {
            s.setLong(1, id);
            s.executeUpdate();
        }
    }

    static String read(Connection c, long id) throws SQLException {
        try (PreparedStatement s = c.prepareStatement("SELECT COUNT(*), @@server_id FROM written WHERE number = ?")) {
            s.setLong(1, id);
            try (ResultSet rows = s.executeQuery()) {
                rows.next();
                if (rows.getInt(1) != 1) {
                    throw new SQLException("stale: " + rows.getInt(1) + " rows", "STALE");
                }
                return rows.getString(2);
            }
        }
    }

    static String transaction(Connection c, long one, long two) throws SQLException {
        c.setAutoCommit(false);
        insert(c, one);
        sleep(OPEN_MS);
        insert(c, two);
        c.commit();
        c.setAutoCommit(true);
        return "";
    }

    static void sleep(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    /** The number of the first row, and hosts with ports, separated by commas. Runs until its input ends. */
    public static void main(String[] arguments) throws Exception {
        long first = Long.parseLong(arguments[0]);
        List<Thread> threads = new ArrayList<>();
        for (Map.Entry<String, String> url : urls(arguments[1]).entrySet()) {
            Thread thread = new Thread(new Client(url.getKey(), url.getValue(), first));
            thread.start();
            threads.add(thread);
            first += 1_000_000;
        }
        while (System.in.read() >= 0) {
            // Nothing is said to it.
        }
        isOver = true;
        for (Thread thread : threads) {
            thread.join(15_000);
        }
        System.exit(0);
    }
}
