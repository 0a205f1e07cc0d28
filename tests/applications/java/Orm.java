import jakarta.persistence.*;
import jakarta.persistence.CascadeType;
import jakarta.persistence.Version;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Table;
import java.math.*;
import java.time.*;
import java.util.*;
import org.hibernate.*;
import org.hibernate.annotations.*;
import org.hibernate.cfg.Configuration;

/** What a program with Hibernate does: a schema, entities, queries in HQL and by criteria, locks, batches. */
public class Orm {
    public enum Color { RED, GREEN, BLUE }

    @Entity(name = "Person") @Table(name = "person", indexes = @jakarta.persistence.Index(name = "by_name", columnList = "name, born"), uniqueConstraints = @UniqueConstraint(name = "one_email", columnNames = "email"))
    public static class Person {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        @Version int version;
        @Column(length = 80, nullable = false) String name;
        String email;
        LocalDate born;
        LocalDateTime seen;
        Instant at;
        OffsetDateTime offset;
        LocalTime wakes;
        Duration sleeps;
        @Column(precision = 20, scale = 6) BigDecimal money;
        BigInteger big;
        Double ratio;
        Float small;
        boolean active = true;
        Character letter;
        UUID token;
        @Lob byte[] picture;
        @Lob String story;
        @Enumerated(EnumType.STRING) Color color;
        @Enumerated(EnumType.ORDINAL) Color second;
        @JdbcTypeCode(org.hibernate.type.SqlTypes.JSON) Map<String, Object> data;
        @ElementCollection List<String> nicknames = new ArrayList<>();
        @ElementCollection @MapKeyColumn(name = "k", length = 50) Map<String, Integer> scores = new HashMap<>();
        @ManyToOne(fetch = FetchType.LAZY) Person boss;
        @OneToMany(mappedBy = "boss") Set<Person> staff = new HashSet<>();
        @ManyToMany @OnDelete(action = OnDeleteAction.CASCADE) Set<Team> teams = new HashSet<>();
        @OneToOne(cascade = CascadeType.ALL, orphanRemoval = true) Badge badge;
        @Formula("length(name)") int length;
        @CreationTimestamp LocalDateTime made;
    }
    @Entity(name = "Team") @Table(name = "team") public static class Team {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) long id;
        @NaturalId String name;
        @ManyToMany(mappedBy = "teams") @OrderBy("name") List<Person> members = new ArrayList<>();
    }
    @Entity(name = "Badge") @Table(name = "badge") public static class Badge { @Id @GeneratedValue(strategy = GenerationType.TABLE) long id; String number; }
    @Entity(name = "Animal") @Inheritance(strategy = InheritanceType.JOINED) public static class Animal { @Id @GeneratedValue long id; String name; }
    @Entity(name = "Cat") public static class Cat extends Animal { int lives = 9; }
    @Entity(name = "Dog") public static class Dog extends Animal { boolean barks = true; }

    interface Step { void run() throws Exception; }
    static void check(String name, Step step) {
        try { step.run(); System.out.println("ok Hibernate, " + name); }
        catch (Throwable trouble) {
            Throwable cause = trouble;
            while (cause.getCause() != null) cause = cause.getCause();
            System.out.println("FAILED Hibernate, " + name + ": " + (trouble + " / " + cause).replace('\n', ' '));
            trouble.printStackTrace();
        }
    }
    static void expect(Object wanted, Object got) { if (!Objects.equals(wanted, got)) throw new AssertionError(got + ", not " + wanted); }

    static Configuration configuration(String schema) {
        Configuration c = new Configuration();
        for (Class<?> entity : List.of(Person.class, Team.class, Badge.class, Animal.class, Cat.class, Dog.class)) c.addAnnotatedClass(entity);
        c.setProperty("hibernate.connection.url", "jdbc:mysql://" + System.getenv("DB_HOST") + ":" + System.getenv("DB_PORT") + "/" + System.getenv("DB_NAME") + "?useSSL=false&allowPublicKeyRetrieval=true");
        c.setProperty("hibernate.connection.username", System.getenv("DB_USER"));
        c.setProperty("hibernate.connection.password", "");
        c.setProperty("hibernate.hbm2ddl.auto", schema);
        c.setProperty("hibernate.jdbc.batch_size", "30");
        c.setProperty("hibernate.order_inserts", "true");
        c.setProperty("hibernate.hbm2ddl.halt_on_error", "true");
        return c;
    }

    static SessionFactory factory;

    public static void main(String[] arguments) {
        check("create", () -> configuration("create").buildSessionFactory().close());
        check("validate", () -> configuration("validate").buildSessionFactory().close());
        check("update", () -> configuration("update").buildSessionFactory().close());
        factory = configuration("none").buildSessionFactory();
        LocalDateTime seen = LocalDateTime.of(2024, 2, 29, 23, 59, 59, 123456000);
        UUID token = UUID.fromString("01234567-89ab-cdef-0123-456789abcdef");
        check("persist and find", () -> {
            Long id = factory.fromTransaction(s -> {
                Person p = new Person();
                p.name = "Ann ☃😀"; p.email = "ann@x"; p.born = LocalDate.of(1990, 1, 2); p.seen = seen; p.at = Instant.parse("2024-01-02T03:04:05.678901Z");
                p.offset = OffsetDateTime.parse("2024-01-02T03:04:05+02:00"); p.wakes = LocalTime.of(6, 30, 15); p.sleeps = Duration.ofMinutes(450);
                p.money = new BigDecimal("12345678901234.123456"); p.big = new BigInteger("12345678901234567890"); p.ratio = 0.1; p.small = 1.5f; p.letter = 'ß'; p.token = token;
                p.picture = new byte[100_000]; p.picture[7] = -1; p.story = "long ".repeat(30_000); p.color = Color.BLUE; p.second = Color.GREEN;
                p.data = Map.of("list", List.of(1, 2.5, "x"), "text", "ä");
                p.nicknames.addAll(List.of("a", "b", "c")); p.scores.putAll(Map.of("x", 1, "y", 2));
                p.badge = new Badge(); p.badge.number = "7";
                Team t = new Team(); t.name = "one"; s.persist(t); p.teams.add(t);
                s.persist(p);
                for (int i = 0; i < 100; i++) { Person q = new Person(); q.name = "person " + i; q.boss = p; q.ratio = i / 4.0; q.born = LocalDate.of(2000, 1 + i % 12, 1 + i % 28); q.color = Color.values()[i % 3]; q.money = BigDecimal.valueOf(i, 1); s.persist(q); }
                return p.id;
            });
            factory.inTransaction(s -> {
                Person p = s.find(Person.class, id);
                expect("Ann ☃😀", p.name); expect(seen, p.seen); expect(Instant.parse("2024-01-02T03:04:05.678901Z"), p.at); expect(LocalTime.of(6, 30, 15), p.wakes);
                expect(Duration.ofMinutes(450), p.sleeps); expect(new BigDecimal("12345678901234.123456"), p.money); expect(new BigInteger("12345678901234567890"), p.big); expect(0.1, p.ratio); expect('ß', p.letter);
                expect(token, p.token); expect((byte) -1, p.picture[7]); expect(150_000, p.story.length()); expect(Color.BLUE, p.color); expect(Color.GREEN, p.second);
                expect("ä", p.data.get("text")); expect(3, p.nicknames.size()); expect(2, p.scores.get("y")); expect(100, p.staff.size()); expect(1, p.teams.size()); expect("7", p.badge.number); expect(p.name.length() + 1 > 0, true);
            });
        });
        check("queries", () -> factory.inTransaction(s -> {
            expect(100L, s.createQuery("select count(p) from Person p where p.boss.name like 'Ann%'", Long.class).getSingleResult());
            expect(3, s.createQuery("select p.color, count(*), avg(p.ratio), min(p.born), sum(p.money) from Person p where p.boss is not null group by p.color having count(*) > 3 order by p.color", Object[].class).list().size());
            expect(5, s.createQuery("from Person p left join fetch p.badge where p.id > 2 order by p.name desc, p.id", Person.class).setFirstResult(10).setMaxResults(5).list().size());
            expect(9, s.createQuery("select p.name from Person p where extract(month from p.born) = 2 and p.born > :d", String.class).setParameter("d", LocalDate.of(1999, 1, 1)).list().size());
            s.createQuery("select p.name, rank() over (partition by p.color order by p.ratio desc), sum(p.ratio) over (order by p.id rows between 2 preceding and current row) from Person p", Object[].class).list();
            s.createQuery("with t as (select p.color as color, max(p.ratio) as m from Person p group by p.color) select p.name from Person p join t on t.color = p.color and t.m = p.ratio", String.class).list();
            s.createQuery("select p.name from Person p where exists (select 1 from Person q where q.boss = p) or p.id in (select max(q.id) from Person q)", String.class).list();
            s.createQuery("select concat(p.name, '-', cast(p.id as string)), upper(p.name), substring(p.name, 2, 3), locate('e', p.name), trim(both 'p' from p.name), coalesce(p.email, 'none'), nullif(p.ratio, 0), format(p.seen as 'yyyy-MM-dd') from Person p", Object[].class).list();
            s.createQuery("select p.born + 3 day, p.seen - 2 hour, year(p.born), local date, local datetime, floor(p.ratio), round(p.ratio, 1), power(p.ratio, 2), p.ratio % 3 from Person p where p.born is not null", Object[].class).setMaxResults(4).list();
            s.createQuery("select listagg(p.name, ',') within group (order by p.name) from Person p group by p.color", String.class).list();
            s.createQuery("select p.name from Person p where p.nicknames is not empty or 'x' in indices(p.scores) or size(p.staff) > 5", String.class).list();
            s.createQuery("select p.color from Person p where p.id < 10 union select q.second from Person q", Color.class).list();
            s.createQuery("select p.id from Person p where p.id < 10 intersect select q.id from Person q where q.id > 5", Long.class).list();
            s.createQuery("select json_value(p.data, '$.text') from Person p where p.data is not null", String.class).getSingleResult();
        }));
        check("criteria", () -> factory.inTransaction(s -> {
            var b = s.getCriteriaBuilder(); var q = b.createQuery(Person.class); var p = q.from(Person.class);
            q.where(b.and(b.greaterThan(p.get("ratio"), 5.0), b.or(b.isNull(p.get("email")), b.like(p.get("name"), "%7%", '!')))).orderBy(b.desc(p.get("money")));
            s.createQuery(q).setMaxResults(3).list();
        }));
        check("changes by query", () -> factory.inTransaction(s -> {
            expect(34, s.createMutationQuery("update Person p set p.ratio = p.ratio * 2, p.version = p.version + 1 where p.color = RED").executeUpdate());
            expect(1, s.createMutationQuery("insert into Team (id, name) select max(t.id) + 50000, 'two' from Team t").executeUpdate());
            expect(1, s.createMutationQuery("delete from Person p where p.name = 'person 99'").executeUpdate());
        }));
        check("inheritance", () -> factory.inTransaction(s -> {
            Cat c = new Cat(); c.name = "c"; s.persist(c); Dog d = new Dog(); d.name = "d"; s.persist(d); s.flush(); s.clear();
            expect(2, s.createQuery("from Animal a order by a.name", Animal.class).list().size());
            expect(1, s.createQuery("from Animal a where type(a) = Cat and treat(a as Cat).lives > 5", Animal.class).list().size());
            s.createMutationQuery("update Cat set lives = lives - 1, name = 'x'").executeUpdate();
            s.createMutationQuery("delete from Animal").executeUpdate();
        }));
        check("versions", () -> {
            Person old = factory.fromTransaction(s -> s.createQuery("from Person where name = 'person 5'", Person.class).getSingleResult());
            factory.inTransaction(s -> s.find(Person.class, old.id).ratio = 77.0);
            try { factory.inTransaction(s -> { old.ratio = 1.0; s.merge(old); }); throw new AssertionError("merged what is old"); } catch (OptimisticLockException expected) { }
        });
        check("locks", () -> {
            Session one = factory.openSession(), two = factory.openSession();
            try {
                one.beginTransaction(); two.beginTransaction();
                one.createQuery("from Person where name = 'person 6'", Person.class).setLockMode(LockModeType.PESSIMISTIC_WRITE).getSingleResult();
                expect(0, two.createQuery("from Person where name = 'person 6'", Person.class).setHibernateLockMode(LockMode.UPGRADE_SKIPLOCKED).list().size());
                try { two.createQuery("from Person where name = 'person 6'", Person.class).setHibernateLockMode(LockMode.UPGRADE_NOWAIT).list(); throw new AssertionError("no lock"); }
                catch (jakarta.persistence.PessimisticLockException | jakarta.persistence.LockTimeoutException | HibernateException expected) { }
            } finally { one.getTransaction().rollback(); two.getTransaction().rollback(); one.close(); two.close(); }
        });
        check("duplicates", () -> {
            try { factory.inTransaction(s -> { Person p = new Person(); p.name = "z"; p.email = "ANN@x"; s.persist(p); }); throw new AssertionError("twice"); }
            catch (org.hibernate.exception.ConstraintViolationException e) { expect("one_email", e.getConstraintName() == null ? null : e.getConstraintName().replaceAll(".*\\.", "")); }
        });
        check("generated keys", () -> factory.inTransaction(s -> { for (int i = 0; i < 120; i++) { Team t = new Team(); t.name = "t" + i; s.persist(t); Badge b = new Badge(); b.number = "" + i; s.persist(b); } }));
        check("stateless batch", () -> { try (StatelessSession s = factory.openStatelessSession()) { s.beginTransaction(); for (int i = 0; i < 500; i++) { Dog d = new Dog(); d.name = "d" + i; s.insert(d); } s.getTransaction().commit(); } });
        check("scroll", () -> factory.inTransaction(s -> { int n = 0; try (ScrollableResults<Dog> r = s.createQuery("from Dog order by id", Dog.class).setFetchSize(Integer.MIN_VALUE).scroll(ScrollMode.FORWARD_ONLY)) { while (r.next()) n++; } expect(500, n); }));
        check("delete", () -> factory.inTransaction(s -> { s.createMutationQuery("update Person set boss = null").executeUpdate(); for (Person p : s.createQuery("from Person", Person.class).list()) s.remove(p); }));
        factory.close();
        check("drop", () -> configuration("create-drop").buildSessionFactory().close());
    }
}
