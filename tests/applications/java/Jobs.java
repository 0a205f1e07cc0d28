import java.sql.*;
import java.util.*;
import java.util.concurrent.*;
import org.quartz.*;
import org.quartz.impl.StdSchedulerFactory;

/** Quartz' job store: its own schema, two schedulers as a cluster, misfires, each job once. */
public class Jobs {
    static final ConcurrentHashMap<String, Integer> RUNS = new ConcurrentHashMap<>();
    public static class Work implements Job { public void execute(JobExecutionContext c) { RUNS.merge(c.getJobDetail().getKey().getName(), 1, Integer::sum); } }
    interface Step { void run() throws Exception; }
    static void check(String name, Step step) {
        try { step.run(); System.out.println("ok Quartz, " + name); }
        catch (Throwable trouble) { System.out.println("FAILED Quartz, " + name + ": " + trouble.toString().replace('\n', ' ')); trouble.printStackTrace(); }
    }

    static Scheduler scheduler(String id) throws SchedulerException {
        Properties p = new Properties();
        String url = "jdbc:mysql://" + System.getenv("DB_HOST") + ":" + System.getenv("DB_PORT") + "/" + System.getenv("DB_NAME") + "_quartz?useSSL=false&allowPublicKeyRetrieval=true";
        for (String line : List.of("scheduler.instanceName=test", "scheduler.instanceId=" + id, "threadPool.threadCount=4", "jobStore.class=org.quartz.impl.jdbcjobstore.JobStoreTX", "jobStore.driverDelegateClass=org.quartz.impl.jdbcjobstore.StdJDBCDelegate",
            "jobStore.dataSource=d", "jobStore.tablePrefix=QRTZ_", "jobStore.isClustered=true", "jobStore.clusterCheckinInterval=1000", "scheduler.skipUpdateCheck=true", "dataSource.d.connectionProvider.class=Jobs$Connections", "dataSource.d.url=" + url)) p.put("org.quartz." + line.split("=", 2)[0], line.split("=", 2)[1]);
        return new StdSchedulerFactory(p).getScheduler();
    }
    public static class Connections implements org.quartz.utils.ConnectionProvider {
        String url;
        public void setUrl(String u) { url = u; }
        public Connection getConnection() throws SQLException { return DriverManager.getConnection(url, System.getenv("DB_USER"), ""); }
        public void shutdown() { }
        public void initialize() { }
    }

    public static void main(String[] arguments) throws Exception {
        check("schema", () -> {
            String script = new String(Jobs.class.getResourceAsStream("/org/quartz/impl/jdbcjobstore/tables_mysql_innodb.sql").readAllBytes());
            try (Connection c = new Connections() {{ url = "jdbc:mysql://" + System.getenv("DB_HOST") + ":" + System.getenv("DB_PORT") + "/" + System.getenv("DB_NAME") + "_quartz?useSSL=false&allowPublicKeyRetrieval=true"; }}.getConnection(); Statement s = c.createStatement()) {
                for (String one : script.replaceAll("(?m)^#.*$", "").split(";")) if (!one.isBlank() && !one.strip().equalsIgnoreCase("commit")) s.execute(one);
            }
        });
        Scheduler[] both = new Scheduler[2];
        check("two schedulers run each job once", () -> {
            both[0] = scheduler("one"); both[1] = scheduler("two");
            for (int i = 0; i < 40; i++)
                both[i % 2].scheduleJob(JobBuilder.newJob(Work.class).withIdentity("job" + i).usingJobData("k", "v☃").build(), TriggerBuilder.newTrigger().startNow().build());
            both[0].scheduleJob(JobBuilder.newJob(Work.class).withIdentity("cron").build(), TriggerBuilder.newTrigger().withSchedule(CronScheduleBuilder.cronSchedule("0/1 * * * * ?")).build());
            both[0].start(); both[1].start();
            long end = System.currentTimeMillis() + 30_000;
            while (RUNS.size() < 41 && System.currentTimeMillis() < end) Thread.sleep(100);
            Thread.sleep(1500);
            for (int i = 0; i < 40; i++) if (RUNS.getOrDefault("job" + i, 0) != 1) throw new AssertionError("job" + i + " ran " + RUNS.get("job" + i) + " times");
            if (RUNS.getOrDefault("cron", 0) < 2) throw new AssertionError("cron ran " + RUNS.get("cron"));
        });
        check("pause and delete", () -> { both[0].pauseJob(new JobKey("cron")); both[1].resumeAll(); both[0].deleteJob(new JobKey("cron")); both[0].getJobKeys(org.quartz.impl.matchers.GroupMatcher.anyGroup()); both[0].clear(); });
        for (Scheduler s : both) if (s != null) s.shutdown(true);
    }
}
