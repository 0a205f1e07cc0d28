import static org.jooq.impl.DSL.*;

import java.math.BigDecimal;
import java.sql.*;
import java.util.*;
import org.jooq.*;
import org.jooq.impl.*;

/** jOOQ's queries, its export of the metadata, and its upserts. */
public class Jooq {
    interface Step { void run() throws Exception; }
    static void check(String name, Step step) {
        try { step.run(); System.out.println("ok jOOQ, " + name); }
        catch (Throwable trouble) { System.out.println("FAILED jOOQ, " + name + ": " + trouble.toString().replace('\n', ' ')); trouble.printStackTrace(); }
    }
    static void expect(Object wanted, Object got) { if (!wanted.equals(got)) throw new AssertionError(got + ", not " + wanted); }

    public static void main(String[] arguments) throws Exception {
        Connection c = DriverManager.getConnection("jdbc:mysql://" + System.getenv("DB_HOST") + ":" + System.getenv("DB_PORT") + "/" + System.getenv("DB_NAME") + "?useSSL=false&allowPublicKeyRetrieval=true", System.getenv("DB_USER"), "");
        DSLContext d = DSL.using(c, SQLDialect.MYSQL);
        var t = table(name("book")); var id = field(name("id"), SQLDataType.INTEGER.identity(true)); var title = field(name("title"), SQLDataType.VARCHAR(100).nullable(false));
        var price = field(name("price"), SQLDataType.NUMERIC(10, 2)); var data = field(name("data"), SQLDataType.JSON); var at = field(name("at"), SQLDataType.TIMESTAMP(6).defaultValue(currentTimestamp(6)));
        check("tables", () -> {
            d.dropTableIfExists(t).execute();
            d.createTable(t).columns(id, title, price, data, at).constraints(primaryKey(id), unique(title), constraint("positive").check(price.ge(BigDecimal.ZERO))).comment("books").execute();
            d.createIndex("by_price").on(t, price.desc(), title).execute();
            d.alterTable(t).add(field(name("pages"), SQLDataType.INTEGER.defaultValue(1))).execute();
            d.alterTable(t).renameColumn(name("pages")).to(name("sheets")).execute();
            d.createView("cheap").as(select(id, title).from(t).where(price.lt(BigDecimal.TEN))).execute();
        });
        check("inserts", () -> {
            for (int i = 1; i <= 50; i++) d.insertInto(t, title, price, data).values("book " + i, new BigDecimal(i), JSON.json("{\"n\": " + i + "}")).execute();
            expect(1, d.insertInto(t, title, price).values("book 1", BigDecimal.ONE).onDuplicateKeyIgnore().execute() + 1);
            d.insertInto(t, title, price).values("book 2", BigDecimal.ONE).onDuplicateKeyUpdate().set(price, price.add(BigDecimal.ONE)).execute();
            expect(new BigDecimal("3.00"), d.select(price).from(t).where(title.eq("book 2")).fetchOne(price));
            expect(51, d.insertInto(t).set(title, "with key").returningResult(id).fetchOne().get(id) > 50 ? 51 : 0);
            d.batch(d.insertInto(t, title).values((String) null), d.deleteFrom(t)).getClass();
        });
        check("selects", () -> {
            d.select(title, rowNumber().over(orderBy(price.desc())), sum(price).over().partitionBy(id.mod(3)).orderBy(id).rowsBetweenPreceding(2).andCurrentRow(), lag(price, 2).over(orderBy(id)), ntile(4).over(orderBy(id))).from(t).fetch();
            d.with("x").as(select(id.mod(5).as("m"), max(price).as("p")).from(t).groupBy(id.mod(5))).select().from(table(name("x"))).orderBy(1, 2).fetch();
            d.withRecursive("n", "i").as(select(val(1)).unionAll(select(field(name("i"), Integer.class).plus(1)).from(name("n")).where(field(name("i"), Integer.class).lt(10)))).selectFrom(name("n")).fetch();
            d.select(count(), groupConcat(title).orderBy(title).separator("|"), avg(price), stddevPop(price)).from(t).groupBy(rollup(id.mod(3))).fetch();
            d.select(jsonObject(key("t").value(title), key("p").value(price)), jsonArrayAgg(title)).from(t).groupBy(title, price).limit(3).fetch();
            d.select(multiset(select(id).from(t).where(id.lt(5)))).fetch();
            d.selectFrom(t).where(row(id, title).in(row(1, "book 1"), row(2, "book 2"))).and(exists(selectOne().from(name("cheap")))).and(title.likeRegex("^b.*[0-9]$")).forUpdate().skipLocked().fetch();
            d.selectFrom(t).where(price.between(BigDecimal.ONE, BigDecimal.TEN)).intersect(selectFrom(t).where(id.gt(3))).except(selectFrom(t).where(id.eq(7))).orderBy(1).fetch();
            d.select(dateAdd(currentDate(), 3), localDateTimeDiff(currentLocalDateTime(), currentLocalDateTime()), trunc(val(1.567), 1), md5("x"), bitXor(5, 3), lpad(val("a"), 5, "x"), position("abc", "c"), greatest(val(1), val(2)), nvl(val((Integer) null), 3)).fetch();
            d.select(title).from(t).crossJoin(lateral(select(count().as("c")).from(t.as("o")).where(field(name("o", "id"), Integer.class).lt(field(name("book", "id"), Integer.class)))).as("l")).where(field(name("c"), Integer.class).eq(3)).fetch();
            expect(50, d.fetchCount(selectFrom(t).where(data.isNotNull())));
        });
        check("changes", () -> {
            expect(16, d.update(t).set(price, price.mul(new BigDecimal("1.1"))).where(id.mod(3).eq(0)).and(id.le(50)).execute());
            expect(2, d.deleteFrom(t).orderBy(id.desc()).limit(2).execute());
            try { d.transaction(x -> { x.dsl().deleteFrom(t).execute(); try { x.dsl().transaction(y -> { throw new RuntimeException("back"); }); } catch (RuntimeException e) { } throw new org.jooq.exception.DataAccessException("all back") { }; }); } catch (org.jooq.exception.DataAccessException expected) { }
            expect(49, d.fetchCount(t));
        });
        check("metadata", () -> {
            Meta meta = d.meta(c.getMetaData()).filterSchemas(x -> x.getName().equals(System.getenv("DB_NAME")));
            Table<?> book = meta.getTables().stream().filter(x -> x.getName().equals("book")).findFirst().orElseThrow();
            expect(6, book.fields().length); expect("id", book.getPrimaryKey().getFields().get(0).getName()); expect(1, book.getUniqueKeys().size()); expect(true, book.getIndexes().size() >= 1);
            meta.ddl(); meta.toString();
        });
        check("driver's metadata", () -> {
            DatabaseMetaData m = c.getMetaData(); String base = System.getenv("DB_NAME");
            for (ResultSet r : List.of(m.getTables(base, null, "%", null), m.getColumns(base, null, "book", "%"), m.getIndexInfo(base, null, "book", false, false), m.getImportedKeys(base, null, "book"), m.getExportedKeys(base, null, "book"), m.getProcedures(base, null, "%"), m.getFunctions(base, null, "%"),
                m.getTypeInfo(), m.getCatalogs(), m.getTablePrivileges(base, null, "%"), m.getColumnPrivileges(base, null, "book", "%"), m.getVersionColumns(base, null, "book"), m.getBestRowIdentifier(base, null, "book", 0, true), m.getProcedureColumns(base, null, "%", "%"), m.getClientInfoProperties(), m.getCrossReference(base, null, "book", base, null, "book"))) { while (r.next()) r.getString(1); r.close(); }
            m.getSQLKeywords(); m.getNumericFunctions();
        });
        check("clean", () -> { d.dropView("cheap").execute(); d.dropTable(t).execute(); });
    }
}
