//! What is fuzzed.
//!
//! | target | what gets the bytes | what must hold |
//! |---|---|---|
//! | `statement` | the parser | printed and parsed again, the tree is the same |
//! | `program` | the parser of stored programs and of expressions in the catalog | printed and parsed again, the tree is the same |
//! | `document` | texts and bytes as JSON documents and paths | printed and parsed again, the document is the same |
//! | `command` | the server's side of the protocol: login, commands, parameters | no panic |
//! | `answer` | the client's side: greeting, OK, errors, columns, rows | no panic |
//! | `request` | HTTP: a request's head, its target, chunks and the values of its headers | the same at once and byte by byte |
//! | `row` | a stored row, under layouts of every type | what is valid can be read |
//! | `write_set` | a transaction's changes | no panic |
//! | `batch` | a log entry of many transactions | no panic |
//! | `checkpoint` | a checkpoint's head | no panic |
//! | `backup` | a record of a backup, whose checksum was made to fit, and the end of one | no panic |
//! | `connection` | a handshake between nodes and frames, whose checksums were made to fit | no panic, no more memory than bytes |
//! | `peer` | what nodes ask and answer, keys of locks | written again as it was |
//! | `words` | what nodes say to each other of messages, heard by one | written again as it was |
//! | `journal` | a directory whose segment has these bytes in the middle | it opens or says what is damaged |
//! | `record` | a journal record whose checksum was made to fit | no panic |
//! | `catalog` | a row of the system table | no panic |
//! | `load_data` | a text file under formats of every kind | no panic, and pieces cut it as the whole does |

use std::path::Path;
use std::sync::Arc;

use env::{Env, SimDisk};
use journal::{Entry, EntryId, Journal, Options};
use mysql_wire::Capabilities;
use mysql_wire::column::{ColumnDefinition, ColumnType};
use mysql_wire::command::Command;
use mysql_wire::frame;
use mysql_wire::handshake::{Greeting, Login};
use mysql_wire::response::{EofPacket, ErrPacket, OkPacket};
use mysql_wire::row::{binary_values, text_values};
use sql::exec::dml::load::format::Records;
use sql::plan::load::FileFormat;
use store::{IndexSpec, KeyColumn, TableSpec, WriteSet, WriteSetError};
use types::row::RowLayout;
use types::row::generation::{ColumnChange, ColumnSource, Generations};
use types::{CollationId, Labels, SqlType, TypeKind, Value};

/// Something that takes bytes.
pub struct Target {
    pub name: &'static str,
    pub body: fn(&[u8]),
    /// Inputs to begin with.
    pub corpus: fn() -> Vec<Vec<u8>>,
}

pub const TARGETS: &[Target] = &[
    Target {
        name: "statement",
        body: statement,
        corpus: statements,
    },
    Target {
        name: "program",
        body: program,
        corpus: programs,
    },
    Target {
        name: "document",
        body: document,
        corpus: documents,
    },
    Target {
        name: "command",
        body: command,
        corpus: commands,
    },
    Target {
        name: "answer",
        body: answer,
        corpus: answers,
    },
    Target {
        name: "request",
        body: http_wire::fuzz::request,
        corpus: http_wire::fuzz::requests,
    },
    Target {
        name: "row",
        body: row,
        corpus: rows,
    },
    Target {
        name: "write_set",
        body: write_set,
        corpus: write_sets,
    },
    Target {
        name: "batch",
        body: shard::fuzz::batch,
        corpus: || shard::fuzz::batches(&write_sets()),
    },
    Target {
        name: "checkpoint",
        body: shard::fuzz::checkpoint_head,
        corpus: checkpoint_heads,
    },
    Target {
        name: "backup",
        body: shard::fuzz::backup_record,
        corpus: backup_records,
    },
    Target {
        name: "connection",
        body: net::fuzz::connection,
        corpus: net::fuzz::connections,
    },
    Target {
        name: "peer",
        body: shard::fuzz::peer,
        corpus: shard::fuzz::peers,
    },
    Target {
        name: "words",
        body: keyspace::neighbours::fuzz::words,
        corpus: keyspace::neighbours::fuzz::corpus,
    },
    Target {
        name: "journal",
        body: journal,
        corpus: journals,
    },
    Target {
        name: "record",
        body: journal::fuzz::record,
        corpus: journal::fuzz::records,
    },
    Target {
        name: "catalog",
        body: catalog,
        corpus: catalogs,
    },
    Target {
        name: "load_data",
        body: load_data,
        corpus: files,
    },
];

pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

fn statement(input: &[u8]) {
    let Some((&bits, text)) = input.split_first() else {
        return;
    };
    let mode = parser::SqlMode {
        ansi_quotes: bits & 1 != 0,
        pipes_as_concat: bits & 2 != 0,
        no_backslash_escapes: bits & 4 != 0,
        high_not_precedence: bits & 8 != 0,
        ignore_space: bits & 16 != 0,
        real_as_float: bits & 32 != 0,
    };
    let _ = parser::digest::normalize(text, mode);
    let Ok(parsed) = parser::parse(text, mode) else { return };
    assert!(parsed.consumed <= text.len());
    // Bodies of stored programs are kept as text, in the mode they were written in.
    if mode != parser::SqlMode::default() {
        return;
    }
    let printed = parser::printer::to_sql(&parsed.statement);
    match parser::parse(&printed, mode) {
        Ok(again) => assert_eq!(again.statement, parsed.statement),
        Err(error) => assert!(
            matches!(error.kind, parser::ParseErrorKind::TooDeep { .. }),
            "{error}: {}",
            String::from_utf8_lossy(&printed)
        ),
    }
}

fn statements() -> Vec<Vec<u8>> {
    [
        "SELECT a.b, COUNT(DISTINCT c) FROM t a LEFT JOIN u USING (id) WHERE x IN (1, 2) GROUP BY 1 WITH ROLLUP HAVING 1 ORDER BY 2 LIMIT 3",
        "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT SUM(n) OVER (PARTITION BY n ROWS 1 PRECEDING) FROM r",
        "INSERT INTO t (a, b) VALUES (1, 'x'), (DEFAULT, _utf8mb4'y' COLLATE utf8mb4_bin) ON DUPLICATE KEY UPDATE a = VALUES(a)",
        "CREATE TABLE t (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, j JSON, g INT AS (id + 1) STORED, KEY k (j(5) DESC)) ENGINE=InnoDB",
        "ALTER TABLE t ADD COLUMN x DECIMAL(10,2) DEFAULT 0.5 AFTER y, DROP INDEX k, ADD CONSTRAINT c FOREIGN KEY (a) REFERENCES u (b)",
        "SELECT CASE WHEN a BETWEEN 1 AND 2 THEN x'41' ELSE b'01' END, @v := @@session.sql_mode, INTERVAL(1, 2), t.* FROM t FOR UPDATE",
        "SELECT JSON_EXTRACT(d, '$.a'), d->'$.b', d->>'$.c', NOW() + INTERVAL '1:2' MINUTE_SECOND, CAST(a AS CHAR(3)), ~1, !2, -3 FROM dual",
        "GRANT SELECT (a), INSERT ON `d%`.* TO 'u'@'h' WITH GRANT OPTION",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY; SHOW FULL COLUMNS FROM t LIKE 'a%'",
        "UPDATE t, u SET t.a = u.b WHERE t.id = u.id AND (t.a, u.b) NOT IN (SELECT 1, 2) /* c */ -- d",
    ]
    .iter()
    .map(|sql| [b"\0", sql.as_bytes()].concat())
    .collect()
}

/// The definition of a stored program with what is in it, or an expression of the catalog.
fn program(input: &[u8]) {
    let Some((&choice, text)) = input.split_first() else {
        return;
    };
    let mode = parser::SqlMode::default();
    if choice & 1 == 1 {
        let Ok(parsed) = parser::parse_expr(text, mode) else {
            return;
        };
        let printed = parser::printer::expr_to_sql(&parsed);
        match parser::parse_expr(&printed, mode) {
            Ok(again) => assert_eq!(again, parsed),
            Err(error) => assert!(is_too_deep(&error), "{error}: {}", String::from_utf8_lossy(&printed)),
        }
        return;
    }
    let Ok((statement, _)) = parser::parse_program(text, mode) else {
        return;
    };
    let printed = parser::printer::to_sql(&statement);
    match parser::parse_program(&printed, mode) {
        Ok((again, _)) => assert_eq!(again, statement),
        Err(error) => assert!(is_too_deep(&error), "{error}: {}", String::from_utf8_lossy(&printed)),
    }
}

fn is_too_deep(error: &parser::ParseError) -> bool {
    matches!(error.kind, parser::ParseErrorKind::TooDeep { .. })
}

fn programs() -> Vec<Vec<u8>> {
    let programs = [
        "CREATE PROCEDURE p(IN a INT, OUT b TEXT, INOUT c JSON) COMMENT 'x' SQL SECURITY INVOKER BEGIN DECLARE x, y DECIMAL(5,2) DEFAULT a + 1; \
         DECLARE e CONDITION FOR SQLSTATE '45000'; DECLARE k CURSOR FOR SELECT 1, x; DECLARE CONTINUE HANDLER FOR e, NOT FOUND, 1062 SET b = 'x'; \
         OPEN k; FETCH NEXT FROM k INTO x, y; CLOSE k; SIGNAL e SET MESSAGE_TEXT = 'm', MYSQL_ERRNO = 7; RESIGNAL; END",
        "CREATE DEFINER = u@h PROCEDURE p() l: LOOP IF 1 THEN LEAVE l; ELSEIF 2 THEN ITERATE l; ELSE DO 3; END IF; END LOOP l",
        "CREATE PROCEDURE p() REPEAT WHILE a DO CASE x WHEN 1 THEN BEGIN END; ELSE SELECT 2 INTO @a; END CASE; END WHILE; UNTIL 1 END REPEAT",
        "CREATE PROCEDURE p() BEGIN GET STACKED DIAGNOSTICS CONDITION 1 @a = RETURNED_SQLSTATE; PREPARE s FROM 'SELECT 1'; EXECUTE s; CALL p(1, @b); END",
    ];
    let expressions = [
        "(`a` + 1) * JSON_EXTRACT(`b`, '$.x')",
        "CASE WHEN `a` IN (1, 2) THEN CAST(`b` AS CHAR(3)) ELSE _latin1'x' COLLATE latin1_bin END",
        "`a` BETWEEN DATE'2020-01-01' AND NOW() + INTERVAL 1 DAY",
    ];
    let programs = programs.iter().map(|text| [b"\0", text.as_bytes()].concat());
    let expressions = expressions.iter().map(|text| [b"\x01", text.as_bytes()].concat());
    programs.chain(expressions).collect()
}

fn document(input: &[u8]) {
    let Some((&choice, bytes)) = input.split_first() else {
        return;
    };
    let parse = |text: &str| types::json::Json::parse(text).ok();
    if choice & 1 == 0 {
        let Some(found) = types::json::JsonRef::from_bytes(bytes) else {
            return;
        };
        // Moments and numbers beyond a document's own types are printed as others.
        if let Some(printed) = parse(&found.to_string()) {
            let again = parse(&printed.as_ref().to_string());
            assert_eq!(again.map(|again| again.to_string()), Some(printed.to_string()));
        }
        return;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(found) = parse(text) {
        assert!(types::json::JsonRef::from_bytes(found.as_ref().as_bytes()).is_some());
        let again = parse(&found.to_string());
        assert_eq!(again.map(|again| again.to_string()), Some(found.to_string()));
    }
    if let Ok(path) = types::json::JsonPath::parse(text) {
        let again = types::json::JsonPath::parse(&path.to_string());
        assert_eq!(again.map(|again| again.to_string()), Ok(path.to_string()));
    }
}

fn documents() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"a": [1, -2.5e10, "x\u00e9\n", null, true], "bb": {"c": 18446744073709551615}}"#,
        r#"$.a[*]."b c"[last-1 to last]**.d[0]"#,
        "[[[]], {}, 1.0, \"\"]",
    ];
    let mut corpus: Vec<Vec<u8>> = texts.iter().map(|text| [b"\x01", text.as_bytes()].concat()).collect();
    let made = texts.iter().filter_map(|text| types::json::Json::parse(text).ok());
    corpus.extend(made.map(|document| [b"\0", document.as_ref().as_bytes()].concat()));
    corpus
}

const CLIENT: Capabilities = Capabilities::PROTOCOL_41;

fn command(input: &[u8]) {
    let Some((&choice, bytes)) = input.split_first() else {
        return;
    };
    let _ = frame::scan(bytes, choice, 1 << 20);
    let capabilities = capabilities(choice);
    let _ = Login::decode(bytes, capabilities);
    if let Ok(Command::StmtExecute(execute)) = Command::decode(bytes, capabilities) {
        let count = usize::from(choice & 15);
        let Ok(mut parameters) = execute.parameters(count) else {
            return;
        };
        let Some(types) = parameters.types() else { return };
        for (at, ty) in types.enumerate() {
            let Ok(ty) = ty else { return };
            if !parameters.is_null(at) && parameters.read(at, ty).is_err() {
                return;
            }
        }
    }
}

fn capabilities(choice: u8) -> Capabilities {
    match choice >> 4 {
        0 => CLIENT,
        1 => CLIENT | Capabilities::PLUGIN_AUTH | Capabilities::SECURE_CONNECTION,
        2 => CLIENT | Capabilities::PLUGIN_AUTH | Capabilities::CONNECT_ATTRS | Capabilities::CONNECT_WITH_DB,
        _ => {
            CLIENT
                | Capabilities::PLUGIN_AUTH
                | Capabilities::SECURE_CONNECTION
                | Capabilities::CONNECT_ATTRS
                | Capabilities::DEPRECATE_EOF
        }
    }
}

fn commands() -> Vec<Vec<u8>> {
    let mut corpus: Vec<Vec<u8>> = (0..=32u8)
        .map(|code| vec![0x33, code, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 0, 7, 0, 0, 0])
        .collect();
    corpus.push(b"\x30\x03SELECT 1".to_vec());
    // A login: capabilities, packet size, collation, filler, user, answer, database, plugin.
    let mut login = vec![0x30, 0x85, 0xa6, 0xff, 0x01, 0, 0, 0, 1, 45];
    login.extend([0; 23]);
    login.extend(b"root\0\x14aaaaaaaaaaaaaaaaaaaatest\0mysql_native_password\0\x0c\x04_pid\x061234567");
    corpus.push(login);
    corpus
}

fn answer(input: &[u8]) {
    let _ = Greeting::decode(input);
    if let Ok((_, changes)) = OkPacket::decode(input) {
        let _ = OkPacket::decode_changes(changes);
    }
    let _ = ErrPacket::decode(input);
    let _ = EofPacket::decode(input);
    let _ = ColumnDefinition::decode(input);
    text_values(input).take(10_000).for_each(drop);
    let types = ColumnType::ALL
        .iter()
        .map(|&ty| (ty, input.first().is_some_and(|byte| byte & 1 == 1)));
    let _ = binary_values(input, types);
}

fn answers() -> Vec<Vec<u8>> {
    let mut greeting = b"\x0a8.0.30\0\x08\0\0\0aaaaaaaa\0\xff\xf7\x2d\x02\0\xff\xdf\x15".to_vec();
    greeting.extend([0; 10]);
    greeting.extend(b"bbbbbbbbbbbb\0caching_sha2_password\0");
    vec![
        greeting,
        vec![0, 1, 2, 2, 0, 3, 0],
        b"\xff\x15\x04#28000Access denied".to_vec(),
        vec![0xfe, 0, 0, 2, 0],
        b"\x03def\x01d\x01t\x01t\x01a\x01a\x0c\x2d\0\x0b\0\0\0\x03\x01\x10\0\0\0".to_vec(),
        b"\x011\xfb\x03abc".to_vec(),
        [
            vec![0; 8],
            vec![4, 0xe5, 7, 3, 4, 8, 0, 1, 0, 0, 0, 10, 11, 12],
            vec![1; 40],
        ]
        .concat(),
    ]
}

/// A layout of every type, in three orders.
fn layouts() -> Vec<RowLayout> {
    let labels = Labels::new(["a", "b", "c"]);
    let all = vec![
        SqlType::int(),
        SqlType::bigint_unsigned(),
        SqlType::decimal(20, 6),
        SqlType::float(),
        SqlType::double(),
        SqlType::bit(9),
        SqlType::char(8, CollationId::UTF8MB4_GENERAL_CI),
        SqlType::varchar(20, CollationId::UTF8MB4_GENERAL_CI),
        SqlType::binary(5),
        SqlType::varbinary(20),
        SqlType::text(TypeKind::Text, CollationId::UTF8MB4_GENERAL_CI),
        SqlType::blob(TypeKind::Blob),
        SqlType::date(),
        SqlType::time(3),
        SqlType::datetime(6),
        SqlType::timestamp(0),
        SqlType::year(),
        SqlType::enumeration(labels.clone(), CollationId::UTF8MB4_GENERAL_CI),
        SqlType::set(labels, CollationId::UTF8MB4_GENERAL_CI),
        SqlType::json(),
    ];
    let mut turned = all.clone();
    turned.reverse();
    let change = ColumnChange {
        columns: turned.clone(),
        sources: (1..all.len() as u16)
            .rev()
            .map(ColumnSource::Stored)
            .chain([ColumnSource::Added(None)])
            .collect(),
    };
    let generations = change
        .apply(&all, Some(&Generations::default()))
        .expect("the columns fit");
    vec![
        RowLayout::of_generations(&turned, generations.as_ref()),
        RowLayout::new(&all),
        RowLayout::new(&turned),
        RowLayout::new(&all[..1]),
        RowLayout::new(&all[19..]),
    ]
}

thread_local! {
    static LAYOUTS: Vec<RowLayout> = layouts();
}

fn row(input: &[u8]) {
    LAYOUTS.with(|layouts| {
        for layout in layouts {
            if layout.validate(input).is_err() {
                continue;
            }
            let values = layout.decode(input);
            let mut again = Vec::new();
            layout.encode(&values, &mut again);
            assert_eq!(layout.validate(&again), Ok(()));
            // Text may stand for numbers whose values are another's, so values are compared, not bytes.
            assert_eq!(format!("{:?}", layout.decode(&again)), format!("{values:?}"));
        }
    });
}

fn rows() -> Vec<Vec<u8>> {
    let mut corpus = Vec::new();
    for layout in layouts() {
        let null = |_: usize| Value::Null;
        let nulls: Vec<Value> = (0..layout.columns().len()).map(null).collect();
        let values: Vec<Value> = layout
            .columns()
            .iter()
            .map(|ty| match ty.kind {
                TypeKind::Int => Value::Int(-5),
                TypeKind::Double => Value::Double(1.5),
                kind if kind.is_text() => Value::Str("abc".into()),
                kind if kind.is_binary() && kind != TypeKind::Json => Value::Bytes(b"ab\0cd"[..].into()),
                _ => Value::Null,
            })
            .collect();
        for values in [nulls, values] {
            let mut row = Vec::new();
            layout.encode(&values, &mut row);
            corpus.push(row);
        }
    }
    corpus
}

fn write_set(input: &[u8]) {
    let _: Result<Vec<_>, WriteSetError> = store::WriteOps::decode_all(input);
}

fn write_sets() -> Vec<Vec<u8>> {
    let mut set = WriteSet::new();
    let spec = TableSpec {
        generations: None,
        expiry: None,
        id: types::TableId(77),
        columns: vec![SqlType::int(), SqlType::varchar(20, CollationId::UTF8MB4_GENERAL_CI)],
        primary: Some(vec![KeyColumn::ascending(0)]),
        indexes: vec![IndexSpec {
            id: types::IndexId(1),
            key: vec![KeyColumn::ascending(1)],
            unique: true,
            text: None,
        }],
    };
    set.create_table(&spec);
    set.put(types::TableId(77), &[1, 0, 0, 0], b"row of bytes");
    set.delete(types::TableId(77), &[2, 0, 0, 0]);
    vec![set.as_bytes().to_vec(), WriteSet::new().as_bytes().to_vec()]
}

fn journal(input: &[u8]) {
    let Some((&[low, high], bytes)) = input.split_first_chunk() else {
        return;
    };
    let disk = SimDisk::new(1);
    let env = Env::simulated(disk.clone(), 1);
    let dir = Path::new("journal");
    let options = || Options {
        segment_bytes: 16 << 10,
    };
    fill(&env, dir, options());
    // In place of what stood there: a torn tail, or damage.
    let Some(path) = disk.paths().into_iter().filter(|path| path.starts_with(dir)).max() else {
        return;
    };
    let mut contents = disk.contents(&path).unwrap_or_default();
    let at = usize::from(u16::from_le_bytes([low, high])) % contents.len().max(1);
    for (byte, new) in contents[at..].iter_mut().zip(bytes) {
        *byte = *new;
    }
    disk.put(&path, contents);
    let _ = Journal::open(&env, dir, options());
}

/// A journal of a few entries.
fn fill(env: &Env, dir: &Path, options: Options) {
    let mut journal = Journal::open(env, dir, options).expect("a new journal opens");
    for index in 0..6 {
        let entry = Entry {
            id: EntryId { term: 1, index },
            tag: 0,
            payload: Arc::new(vec![index as u8; 100 * index as usize]),
        };
        journal.append(&[entry]).expect("the disk is sound");
    }
    journal.sync().expect("the disk is sound");
}

/// A head without tables, and nearly one.
fn checkpoint_heads() -> Vec<Vec<u8>> {
    let mut head = vec![1, 1];
    head.extend([7; 16]);
    head.push(0);
    head.extend(20u32.to_le_bytes());
    head.extend([1; 20]);
    head.extend(9u64.to_le_bytes());
    head.push(0);
    head.extend(0u64.to_le_bytes());
    vec![head.clone(), head[..30].to_vec()]
}

/// A description, a chunk, entries, a position, an end.
fn backup_records() -> Vec<Vec<u8>> {
    let mut meta = vec![2];
    meta.extend(&checkpoint_heads()[0]);
    let chunk = [&[3][..], &[0; 8], &[255; 8], &[7; 24]].concat();
    let mut entry = vec![4];
    entry.extend([1u64, 2].iter().flat_map(|number| number.to_le_bytes()));
    entry.push(0);
    entry.extend(0u32.to_le_bytes());
    vec![
        meta,
        chunk,
        entry,
        [&[5][..], &[1; 24]].concat(),
        [&[6][..], &[0; 36]].concat(),
    ]
}

fn journals() -> Vec<Vec<u8>> {
    let mut corpus: Vec<Vec<u8>> = (0..32u8).map(|at| vec![at.wrapping_mul(37), at, 0, 0, 0, 0]).collect();
    corpus.extend(
        journal::fuzz::records()
            .into_iter()
            .map(|record| [vec![0, 16], record].concat()),
    );
    corpus
}

fn catalog(input: &[u8]) {
    let Some((&len, rest)) = input.split_first() else {
        return;
    };
    let (key, row) = rest.split_at(usize::from(len).min(rest.len()));
    let _ = catalog::Catalog::from_rows([(key, row)], types::Timestamp(1));
}

fn catalogs() -> Vec<Vec<u8>> {
    let mut edit = catalog::CatalogEdit::new(Arc::new(catalog::Catalog::default()));
    edit.put_database(catalog::DatabaseDef {
        name: "d".to_owned(),
        collation: CollationId::UTF8MB4_GENERAL_CI,
        read_only: false,
    });
    let rows = edit
        .rows()
        .filter_map(|(key, row)| Some([&[key.len() as u8], key, row?].concat()));
    let mut corpus: Vec<Vec<u8>> = rows.collect();
    corpus.push(b"\x05abcde{\"Table\":{\"id\":7,\"columns\":[]}}".to_vec());
    corpus
}

fn load_data(input: &[u8]) {
    let Some((&[fields, lines, choice], text)) = input.split_first_chunk() else {
        return;
    };
    let format = FileFormat {
        fields_terminated: if choice & 1 == 0 {
            vec![fields]
        } else {
            vec![fields, b';']
        },
        enclosed: (choice & 2 != 0).then_some(b'"'),
        escaped: (choice & 4 != 0).then_some(b'\\'),
        lines_starting: if choice & 8 == 0 { Vec::new() } else { b">>".to_vec() },
        lines_terminated: if choice & 16 == 0 {
            vec![lines]
        } else {
            vec![lines, b'\n']
        },
    };
    let cut = |piece: usize| {
        let mut got = Vec::new();
        let mut records = Records::new(&format, u64::from(choice >> 6), 1 << 20);
        let whole = text.chunks(piece.max(1)).try_for_each(|piece| {
            records.push(piece, &mut |fields| {
                got.push(fields);
                Ok(())
            })
        });
        let end = whole.and_then(|()| {
            records.finish(&mut |fields| {
                got.push(fields);
                Ok(())
            })
        });
        (end.is_ok(), got)
    };
    assert_eq!(cut(text.len()), cut(3));
}

fn files() -> Vec<Vec<u8>> {
    vec![
        b"\t\n\x04a\tb\\tc\t\\N\n1\t2\t3\n".to_vec(),
        b",\n\x06\"a, b\",\"c\"\"d\",e\n\"x\ny\",2,3".to_vec(),
        b",\r\x1e>>1,2\r\n>>3,\"4\"\r\n".to_vec(),
    ]
}
