//! mysql_async: text and binary protocol, with the values as they stand on the wire.

use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use mysql_async::prelude::*;
use mysql_async::{Conn, Error, IsolationLevel, Opts, OptsBuilder, Params, Pool, Row, TxOpts, Value};
use serde_json::Value as Json;

const DATABASE: &str = "client_rust";
const MIB: usize = 1 << 20;

type Failure = Box<dyn std::error::Error>;
type Result<T = ()> = std::result::Result<T, Failure>;
type Test = fn() -> Pin<Box<dyn Future<Output = Result>>>;

struct Column {
    name: String,
    definition: String,
    kind: String,
    values: Vec<String>,
}

impl Column {
    fn at(&self, row: usize) -> Option<&str> {
        self.values.get(row).map(String::as_str)
    }
}

fn vectors() -> Result<Json> {
    let path = std::env::var("VECTORS").unwrap_or_else(|_| "../vectors.json".to_owned());
    Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?)
}

fn columns() -> Result<Vec<Column>> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let vectors = vectors()?;
    let types = vectors["types"].as_array().ok_or("vectors.json has types")?;
    Ok(types
        .iter()
        .map(|column| Column {
            name: text(&column["name"]),
            definition: text(&column["definition"]),
            kind: text(&column["kind"]),
            values: column["values"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|value| match value.get("repeat") {
                    Some(repeat) => text(&repeat[0]).repeat(repeat[1].as_u64().unwrap_or(1) as usize),
                    None => text(value),
                })
                .collect(),
        })
        .collect())
}

fn options() -> OptsBuilder {
    let variable = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    OptsBuilder::default()
        .ip_or_hostname(variable("DB_HOST", "127.0.0.1"))
        .tcp_port(variable("DB_PORT", "3306").parse().unwrap_or(3306))
        .user(Some(variable("DB_USER", "root")))
        .pass(Some(variable("DB_PASSWORD", "")).filter(|password| !password.is_empty()))
        .db_name(Some(DATABASE))
        .prefer_socket(false)
        .max_allowed_packet(Some(64 * MIB))
}

async fn open() -> Result<Conn> {
    Ok(Conn::new(options()).await?)
}

async fn is_mariadb(conn: &mut Conn) -> Result<bool> {
    let version: String = conn.query_first("SELECT VERSION()").await?.ok_or("a version")?;
    Ok(version.contains("MariaDB"))
}

fn equal<T: PartialEq + std::fmt::Debug>(got: T, wanted: T, about: &str) -> Result {
    if got == wanted { Ok(()) } else { Err(format!("{about}: got {got:.300?}, wanted {wanted:.300?}").into()) }
}

fn fails<T>(outcome: mysql_async::Result<T>, number: u16, states: &[&str]) -> Result {
    match outcome {
        Err(Error::Server(error)) => {
            equal(error.code, number, &error.message)?;
            if !states.is_empty() && !states.contains(&error.state.as_str()) {
                return Err(format!("{number}: got SQLSTATE {}, wanted {states:?}", error.state).into());
            }
            Ok(())
        }
        Err(other) => Err(format!("wanted error {number}, got {other}").into()),
        Ok(_) => Err(format!("did not fail with {number}").into()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).filter_map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

/// A vector's value as it would be bound, in the most specific type of the protocol.
fn bound(column: &Column, row: usize) -> Result<Value> {
    let Some(text) = column.at(row) else { return Ok(Value::NULL) };
    let number = |part: &str| part.parse::<u32>().unwrap_or_default();
    Ok(match column.kind.as_str() {
        "int" | "bit" | "year" => match text.parse::<i64>() {
            Ok(signed) => Value::Int(signed),
            Err(_) => Value::UInt(text.parse()?),
        },
        "float" => Value::Float(text.parse()?),
        "double" => Value::Double(text.parse()?),
        "bytes" => Value::Bytes(unhex(text)),
        "date" | "datetime" => {
            let p: Vec<u32> = text.split(['-', ' ', ':', '.']).map(number).chain([0; 7]).collect();
            let fraction = text.split('.').nth(1).map_or(0, |digits| number(&format!("{digits:0<6}")));
            Value::Date(p[0] as u16, p[1] as u8, p[2] as u8, p[3] as u8, p[4] as u8, p[5] as u8, fraction)
        }
        "time" => {
            let p: Vec<u32> = text.trim_start_matches('-').split([':', '.']).map(number).collect();
            let fraction = text.split('.').nth(1).map_or(0, |digits| number(&format!("{digits:0<6}")));
            Value::Time(text.starts_with('-'), p[0] / 24, (p[0] % 24) as u8, p[1] as u8, p[2] as u8, fraction)
        }
        _ => Value::Bytes(text.as_bytes().to_vec()),
    })
}

fn same(column: &Column, row: usize, got: &Value) -> Result<bool> {
    let Some(wanted) = column.at(row) else { return Ok(*got == Value::NULL) };
    let text = match got {
        Value::NULL => return Ok(false),
        Value::Bytes(bytes) => match column.kind.as_str() {
            "bytes" => return Ok(hex(bytes) == wanted),
            "bit" => return Ok(bytes.iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte)).to_string() == wanted),
            "json" => return Ok(serde_json::from_slice::<Json>(bytes)? == serde_json::from_str::<Json>(wanted)?),
            "float" => {
                let (got, wanted) = (String::from_utf8_lossy(bytes).parse::<f64>()?, wanted.parse::<f64>()?);
                return Ok((got - wanted).abs() <= wanted.abs() * 1e-6);
            }
            "double" => return Ok(String::from_utf8_lossy(bytes).parse::<f64>()? == wanted.parse::<f64>()?),
            _ => String::from_utf8(bytes.clone())?,
        },
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        Value::Float(_) | Value::Double(_) | Value::Date(..) | Value::Time(..) => return Ok(*got == bound(column, row)?),
    };
    Ok(text == wanted)
}

fn check_vectors(columns: &[Column], rows: Vec<Row>, about: &str) -> Result {
    let height = columns.iter().map(|column| column.values.len()).max().unwrap_or(0) + 1;
    equal(rows.len(), height, about)?;
    let mut wrong = Vec::new();
    for (number, row) in rows.into_iter().enumerate() {
        for (column, got) in columns.iter().zip(row.unwrap().iter().skip(1)) {
            if !same(column, number, got)? {
                wrong.push(format!("{} row {number}: got {got:.100?}, wanted {:.100?}", column.name, column.at(number)));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{about}:\n  {}", wrong.join("\n  ")).into()) }
}

async fn connect_and_ping() -> Result {
    let mut conn = open().await?;
    conn.ping().await?;
    equal(conn.query_first("SELECT DATABASE()").await?, Some(DATABASE.to_owned()), "database")?;
    equal(conn.exec_first("SELECT ? + ?", (40, 2)).await?, Some(42), "sum")?;
    conn.disconnect().await?;
    Ok(())
}

async fn wrong_login() -> Result {
    fails(Conn::new(options().user(Some("nobody")).pass(Some("x"))).await, 1045, &["28000"])?;
    fails(Conn::new(options().db_name(Some("nowhere_at_all"))).await, 1049, &["42000"])
}

async fn every_type() -> Result {
    let columns = columns()?;
    let mut conn = open().await?;
    conn.query_drop("SET time_zone = '+00:00'").await?;
    conn.query_drop("DROP TABLE IF EXISTS v").await?;
    let definitions: Vec<String> = columns.iter().map(|column| format!("{} {}", column.name, column.definition)).collect();
    conn.query_drop(format!("CREATE TABLE v (id INT PRIMARY KEY, {})", definitions.join(", "))).await?;
    let insert = format!("INSERT INTO v VALUES (?{})", ", ?".repeat(columns.len()));
    let height = columns.iter().map(|column| column.values.len()).max().unwrap_or(0) + 1;
    for row in 0..height {
        let mut values = vec![Value::Int(row as i64)];
        for column in &columns {
            values.push(bound(column, row)?);
        }
        conn.exec_drop(&insert, Params::Positional(values)).await?;
        equal(conn.affected_rows(), 1, "inserted")?;
    }
    check_vectors(&columns, conn.exec("SELECT * FROM v ORDER BY id", ()).await?, "binary protocol")?;
    check_vectors(&columns, conn.query("SELECT * FROM v ORDER BY id").await?, "text protocol")
}

async fn errors_have_number_and_sqlstate() -> Result {
    let vectors = vectors()?;
    let mut conn = open().await?;
    conn.query_drop("DROP TABLE IF EXISTS e, e2, bad").await?;
    for sql in vectors["error_setup"].as_array().into_iter().flatten().filter_map(Json::as_str) {
        conn.query_drop(sql).await?;
    }
    let mariadb = is_mariadb(&mut conn).await?;
    let mut wrong = Vec::new();
    for case in vectors["errors"].as_array().into_iter().flatten() {
        if mariadb && case.get("not_mariadb").is_some() {
            continue;
        }
        let sql = case["sql"].as_str().unwrap_or_default().replace("{database}", DATABASE);
        let states: Vec<&str> = case["states"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        let number = case["number"].as_u64().unwrap_or(0) as u16;
        if let Err(error) = fails(conn.query_drop(&sql).await, number, &states) {
            wrong.push(format!("{sql}: {error}"));
        }
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n  ").into());
    }
    fails(conn.exec_drop("INSERT INTO e (id, u) VALUES (?, ?)", (1, 9)).await, 1062, &["23000"])?;
    fails(conn.prep("SELECT ? FROM").await, 1064, &["42000"])
}

async fn transactions() -> Result {
    let (mut conn, mut other) = (open().await?, open().await?);
    conn.query_drop("DROP TABLE IF EXISTS tx").await?;
    conn.query_drop("CREATE TABLE tx (id INT PRIMARY KEY)").await?;
    let mut tx = conn.start_transaction(TxOpts::default()).await?;
    tx.exec_batch("INSERT INTO tx VALUES (?)", (1..=3).map(|id| (id,))).await?;
    equal(other.query_first("SELECT COUNT(*) FROM tx").await?, Some(0), "not visible before commit")?;
    tx.commit().await?;
    equal(other.query_first("SELECT COUNT(*) FROM tx").await?, Some(3), "visible after commit")?;
    let mut tx = conn.start_transaction(TxOpts::default()).await?;
    tx.query_drop("DELETE FROM tx").await?;
    tx.rollback().await?;
    equal(other.query_first("SELECT COUNT(*) FROM tx").await?, Some(3), "rolled back")?;
    let mut options = TxOpts::default();
    options.with_consistent_snapshot(true).with_isolation_level(IsolationLevel::RepeatableRead).with_readonly(true);
    let mut tx = conn.start_transaction(options).await?;
    fails(tx.query_drop("DELETE FROM tx").await, 1792, &["25006"])?;
    tx.rollback().await?;
    Ok(())
}

async fn multi_statements() -> Result {
    let mut conn = open().await?;
    let mut result = conn.query_iter("SELECT 1; DO 0; SELECT 'a;b', 3").await?;
    equal(result.collect::<i32>().await?, vec![1], "first")?;
    equal(result.collect::<i32>().await?, vec![], "second")?;
    equal(result.collect::<(String, i32)>().await?, vec![("a;b".to_owned(), 3)], "third")?;
    drop(result);
    equal(conn.query_first("SELECT 4").await?, Some(4), "the connection lives on")?;
    fails(conn.query_drop("SELECT 1; SELECT nothing; SELECT 2").await, 1054, &[])?;
    equal(conn.query_first("SELECT 5").await?, Some(5), "the connection lives on after an error")
}

async fn blob_of_20_mb() -> Result {
    let blob: Vec<u8> = (0..20 * MIB).map(|n| (n * 31) as u8).collect();
    let mut conn = open().await?;
    conn.query_drop("DROP TABLE IF EXISTS big").await?;
    conn.query_drop("CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB)").await?;
    conn.exec_drop("INSERT INTO big VALUES (?, ?)", (1, &blob)).await?;
    let got: Option<Vec<u8>> = conn.exec_first("SELECT b FROM big WHERE id = ?", (1,)).await?;
    if got.as_ref() != Some(&blob) {
        return Err("the blob changed on its way".into());
    }
    let text: Option<Vec<u8>> = conn.query_first("SELECT b FROM big").await?;
    if text.as_ref() != Some(&blob) {
        return Err("the blob changed on its way (text)".into());
    }
    Ok(())
}

async fn batch_of_5000_rows() -> Result {
    let mut conn = open().await?;
    conn.query_drop("DROP TABLE IF EXISTS batch").await?;
    conn.query_drop("CREATE TABLE batch (id INT PRIMARY KEY, s VARCHAR(20))").await?;
    let rows: Vec<(i32, String)> = (0..5000).map(|id| (id, format!("row {id}"))).collect();
    let values: Vec<String> = rows.iter().map(|(id, s)| format!("({id}, '{s}')")).collect();
    conn.query_drop(format!("INSERT INTO batch VALUES {}", values.join(","))).await?;
    equal((conn.affected_rows(), conn.info().into_owned()), (5000, "Records: 5000  Duplicates: 0  Warnings: 0".to_owned()), "inserted")?;
    let got: Vec<(i32, String)> = conn.exec("SELECT * FROM batch ORDER BY id", ()).await?;
    if got != rows {
        return Err("the rows changed on their way".into());
    }
    Ok(())
}

async fn accounts_of_both_plugins() -> Result {
    let mut admin = open().await?;
    let mariadb = is_mariadb(&mut admin).await?;
    for plugin in ["mysql_native_password", "caching_sha2_password"] {
        if mariadb && plugin == "caching_sha2_password" {
            continue;
        }
        let how = if mariadb { "BY".to_owned() } else { format!("WITH {plugin} BY") };
        admin.query_drop("DROP USER IF EXISTS rust_user@'%'").await?;
        admin.query_drop(format!("CREATE USER rust_user@'%' IDENTIFIED {how} 'pass word'")).await?;
        admin.query_drop(format!("GRANT ALL ON {DATABASE}.* TO rust_user@'%'")).await?;
        for _ in 0..2 {
            // the second time by caching_sha2's fast path
            let mut conn = Conn::new(options().user(Some("rust_user")).pass(Some("pass word"))).await?;
            equal(conn.query_first("SELECT SUBSTRING_INDEX(USER(), '@', 1)").await?, Some("rust_user".to_owned()), plugin)?;
        }
        fails(Conn::new(options().user(Some("rust_user")).pass(Some("wrong"))).await, 1045, &["28000"])?;
        admin.query_drop("DROP USER rust_user@'%'").await?;
    }
    Ok(())
}

async fn reset_and_change_user() -> Result {
    let mut conn = open().await?;
    conn.query_drop("SET @x = 1").await?;
    equal(conn.reset().await?, true, "COM_RESET_CONNECTION")?;
    equal(conn.query_first("SELECT @x").await?, Some(Value::NULL), "user variable")?;
    conn.query_drop("SET @x = 1").await?;
    conn.change_user(Default::default()).await?;
    equal(conn.query_first("SELECT @x").await?, Some(Value::NULL), "user variable after COM_CHANGE_USER")
}

async fn pool() -> Result {
    let pool = Pool::new(Opts::from(options()));
    for n in 0..20 {
        let mut conn = pool.get_conn().await?;
        equal(conn.query_first("SELECT @x").await?, Some(Value::NULL), "a clean session")?;
        conn.query_drop(format!("SET @x = {n}")).await?;
    }
    pool.disconnect().await?;
    Ok(())
}

async fn metadata() -> Result {
    use mysql_async::consts::{ColumnFlags, ColumnType};
    let mut conn = open().await?;
    conn.query_drop("DROP TABLE IF EXISTS meta").await?;
    conn.query_drop("CREATE TABLE meta (id INT UNSIGNED NOT NULL PRIMARY KEY, s VARCHAR(9), d DECIMAL(9,3), e ENUM('a'), b BLOB)").await?;
    let statement = conn.prep("SELECT id, s AS alias, d, e, b FROM meta WHERE id = ? AND s = ?").await?;
    equal((statement.num_params(), statement.num_columns()), (2, 5), "prepared")?;
    let prepared = statement.columns().to_vec();
    let result = conn.query_iter("SELECT id, s AS alias, d, e, b FROM meta").await?;
    let text = result.columns_ref().to_vec();
    for columns in [prepared, text] {
        let names: Vec<String> = columns.iter().map(|column| format!("{}={}", column.name_str(), column.org_name_str())).collect();
        equal(names.join(" "), "id=id alias=s d=d e=e b=b".to_owned(), "names")?;
        let types: Vec<ColumnType> = columns.iter().map(|column| column.column_type()).collect();
        use ColumnType::{MYSQL_TYPE_BLOB, MYSQL_TYPE_LONG, MYSQL_TYPE_NEWDECIMAL, MYSQL_TYPE_STRING, MYSQL_TYPE_VAR_STRING};
        equal(types, vec![MYSQL_TYPE_LONG, MYSQL_TYPE_VAR_STRING, MYSQL_TYPE_NEWDECIMAL, MYSQL_TYPE_STRING, MYSQL_TYPE_BLOB], "types")?;
        let flags = ColumnFlags::NOT_NULL_FLAG | ColumnFlags::PRI_KEY_FLAG | ColumnFlags::UNSIGNED_FLAG;
        equal(columns[0].flags() & flags, flags, "flags of id")?;
        equal(columns[3].flags().contains(ColumnFlags::ENUM_FLAG), true, "flag of e")?;
        equal(columns[2].decimals(), 3, "scale")?;
    }
    Ok(())
}

macro_rules! tests {
    ($($name:ident),* $(,)?) => { [$((stringify!($name), (|| Box::pin($name())) as Test)),*] };
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result {
    let mut conn = Conn::new(options().db_name(None::<String>)).await?;
    conn.query_drop(format!("DROP DATABASE IF EXISTS {DATABASE}")).await?;
    conn.query_drop(format!("CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")).await?;
    conn.disconnect().await?;
    let tests = tests![
        connect_and_ping,
        wrong_login,
        every_type,
        errors_have_number_and_sqlstate,
        transactions,
        multi_statements,
        blob_of_20_mb,
        batch_of_5000_rows,
        accounts_of_both_plugins,
        reset_and_change_user,
        pool,
        metadata,
    ];
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in tests {
        let started = Instant::now();
        match test().await {
            Ok(()) => {
                passed += 1;
                println!("ok {name} ({:.2} s)", started.elapsed().as_secs_f64());
            }
            Err(error) => {
                failed += 1;
                println!("FAILED {name}: {error}");
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    std::process::exit(i32::from(failed > 0));
}
