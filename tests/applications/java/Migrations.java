import java.nio.file.*;
import java.sql.*;
import liquibase.Liquibase;
import liquibase.database.*;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.*;
import liquibase.snapshot.*;
import liquibase.structure.core.*;
import org.flywaydb.core.Flyway;

/** Flyway and Liquibase: migrations, again, a broken one, repair, the state, and back. */
public class Migrations {
    interface Step { void run() throws Exception; }
    static void check(String name, Step step) {
        try { step.run(); System.out.println("ok " + name); }
        catch (Throwable trouble) { System.out.println("FAILED " + name + ": " + trouble.toString().replace('\n', ' ')); trouble.printStackTrace(); }
    }
    static void expect(Object wanted, Object got) { if (!wanted.equals(got)) throw new AssertionError(got + ", not " + wanted); }
    static String url(String part) { return "jdbc:mysql://" + System.getenv("DB_HOST") + ":" + System.getenv("DB_PORT") + "/" + System.getenv("DB_NAME") + part + "?useSSL=false&allowPublicKeyRetrieval=true"; }

    public static void main(String[] arguments) throws Exception {
        String user = System.getenv("DB_USER");
        Path here = Path.of(System.getenv("WORK"), "flyway");
        Files.createDirectories(here);
        Files.writeString(here.resolve("V1__first.sql"), "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, t TEXT NOT NULL, at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);\nINSERT INTO a (t) VALUES ('x; y'), ('it''s');\n");
        Files.writeString(here.resolve("V2__second.sql"), "ALTER TABLE a ADD COLUMN n INT NOT NULL DEFAULT 5, ADD INDEX (n);\nDELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT COUNT(*) FROM a; END//\nDELIMITER ;\nCALL p();\n");
        Files.writeString(here.resolve("R__view.sql"), "CREATE OR REPLACE VIEW v AS SELECT id, t FROM a;\n");
        var flyway = Flyway.configure().dataSource(url("_flyway"), user, "").locations("filesystem:" + here).cleanDisabled(false);
        check("Flyway, migrate", () -> expect(3, flyway.load().migrate().migrationsExecuted));
        check("Flyway, again", () -> expect(0, flyway.load().migrate().migrationsExecuted));
        check("Flyway, info", () -> expect(3, flyway.load().info().applied().length));
        check("Flyway, validate", () -> flyway.load().validate());
        Files.writeString(here.resolve("V3__broken.sql"), "CREATE TABLE b (id INT PRIMARY KEY);\nINSERT INTO none VALUES (1);\n");
        check("Flyway, a broken one", () -> { try { flyway.load().migrate(); throw new IllegalStateException("it passed"); } catch (org.flywaydb.core.api.FlywayException e) { if (!e.getMessage().contains("doesn't exist")) throw e; } });
        Files.writeString(here.resolve("V3__broken.sql"), "CREATE TABLE IF NOT EXISTS b (id INT PRIMARY KEY);\n");
        check("Flyway, repair", () -> { flyway.load().repair(); expect(1, flyway.load().migrate().migrationsExecuted); });
        check("Flyway, two at once", () -> {
            Files.writeString(here.resolve("V4__slow.sql"), "INSERT INTO b SELECT SLEEP(0.5) + 1;\nINSERT INTO b VALUES (2);\n");
            int[] done = new int[2];
            Thread[] threads = { new Thread(() -> done[0] = flyway.load().migrate().migrationsExecuted), new Thread(() -> done[1] = flyway.load().migrate().migrationsExecuted) };
            for (Thread t : threads) t.start();
            for (Thread t : threads) t.join();
            expect(1, done[0] + done[1]);
        });
        check("Flyway, clean", () -> flyway.load().clean());
        check("Flyway, baseline", () -> { flyway.baselineVersion("2").load().baseline(); });

        Path change = Path.of(System.getenv("WORK"), "changelog.xml");
        Files.copy(Path.of(System.getenv("HERE"), "java/changelog.xml"), change, StandardCopyOption.REPLACE_EXISTING);
        Database database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(DriverManager.getConnection(url("_liquibase"), user, "")));
        Liquibase liquibase = new Liquibase("changelog.xml", new DirectoryResourceAccessor(change.getParent()), database);
        check("Liquibase, update", () -> liquibase.update(""));
        check("Liquibase, again", () -> { liquibase.update(""); expect(0, liquibase.listUnrunChangeSets(null, null).size()); });
        check("Liquibase, tag", () -> { liquibase.tag("here"); expect(true, liquibase.tagExists("here")); });
        check("Liquibase, diff", () -> {
            var snapshot = SnapshotGeneratorFactory.getInstance().createSnapshot(database.getDefaultSchema(), database, new SnapshotControl(database));
            expect(2, (int) snapshot.get(Table.class).stream().filter(t -> !t.getName().startsWith("DATABASECHANGE")).count());
            expect(1, snapshot.get(ForeignKey.class).size());
        });
        check("Liquibase, rollback", () -> liquibase.rollback(3, ""));
        check("Liquibase, update again", () -> liquibase.update(""));
        check("Liquibase, locks", () -> { expect(0, liquibase.listLocks().length); liquibase.forceReleaseLocks(); });
        check("Liquibase, drop all", () -> liquibase.dropAll());
        database.close();
    }
}
