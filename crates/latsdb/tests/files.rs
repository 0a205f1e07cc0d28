//! Files of the server in statements: what is written and read under every clause, as MySQL 9.7 does, and nothing beyond the directory.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use mysql_client::{Answer, Client};

use crate::support::{DataDir, Running, directory, latsdb};

struct Files {
    node: Running,
    path: PathBuf,
    _data: DataDir,
}

impl Files {
    fn start(name: &str) -> Files {
        let data = directory(name);
        let path = data.parent().unwrap().join("files");
        std::fs::create_dir(&path).unwrap();
        let node = Running::start_with(&data, &["--secure-file-priv", path.to_str().unwrap()]);
        Files {
            node,
            path,
            _data: data,
        }
    }

    fn in_files(&self, name: &str) -> String {
        self.path.join(name).to_str().unwrap().to_owned()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path.join(name)).unwrap()
    }
}

/// Rows and warnings.
fn done(client: &mut Client, sql: &str) -> (u64, u16) {
    match client.query(sql) {
        Ok(Answer::Ok { affected, warnings, .. }) => (affected, warnings),
        other => panic!("{sql}: {other:?}"),
    }
}

fn code(client: &mut Client, sql: &str) -> u16 {
    match client.query(sql) {
        Ok(Answer::Error { code, .. }) => code,
        other => panic!("{sql}: {other:?}"),
    }
}

fn value(client: &mut Client, sql: &str) -> Option<Vec<u8>> {
    match client.query(sql) {
        Ok(Answer::Rows { rows, .. }) => rows[0][0].clone(),
        other => panic!("{sql}: {other:?}"),
    }
}

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, b VARCHAR(20), c DECIMAL(5,2), d DATETIME, e VARBINARY(10), \
    z INT(5) ZEROFILL, f FLOAT, g DOUBLE, j JSON, k BIT(8), y YEAR, en ENUM('x,y', 'b'))";
const ROWS: &str = r#"INSERT INTO t VALUES (1, 'a,b"c\\d', 1.5, '2024-01-02 03:04:05', 'x\0y', 7, 1.5, 1e100, '{"a": "q\\"r"}', 65, 1999, 1),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (3, 'tab\there\nnl ä', -0.5, '2000-01-01', 0xff00, 99999, 0, -1, '[]', 0, 2000, 'b')"#;

/// Clauses, warnings, and the file that MySQL makes under them.
const WRITTEN: &[(&str, u16, &[u8])] = &[
    (
        "",
        0,
        b"1\ta,b\"c\\\\d\t1.50\t2024-01-02 03:04:05\tx\\0y\t00007\t1.5\t1e100\t{\"a\": \"q\\\\\"r\"}\tA\t1999\tx,y\n2\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\n3\ttab\\\there\\\nnl \xc3\xa4\t-0.50\t2000-01-01 00:00:00\t\xff\\0\t99999\t0\t-1\t[]\t\\0\t2000\tb\n",
    ),
    (
        "FIELDS TERMINATED BY ',' ENCLOSED BY '\"'",
        0,
        b"\"1\",\"a,b\\\"c\\\\d\",\"1.50\",\"2024-01-02 03:04:05\",\"x\\0y\",\"00007\",\"1.5\",\"1e100\",\"{\\\"a\\\": \\\"q\\\\\\\"r\\\"}\",\"A\",\"1999\",\"x,y\"\n\"2\",\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N\n\"3\",\"tab\there\\\nnl \xc3\xa4\",\"-0.50\",\"2000-01-01 00:00:00\",\"\xff\\0\",\"99999\",\"0\",\"-1\",\"[]\",\"\\0\",\"2000\",\"b\"\n",
    ),
    (
        "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' LINES STARTING BY '>>' TERMINATED BY '\\r\\n'",
        0,
        b">>1,\"a,b\\\"c\\\\d\",1.50,\"2024-01-02 03:04:05\",\"x\\0y\",00007,1.5,1e100,\"{\\\"a\\\": \\\"q\\\\\\\"r\\\"}\",\"A\",1999,\"x,y\"\r\n>>2,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N\r\n>>3,\"tab\there\nnl \xc3\xa4\",-0.50,\"2000-01-01 00:00:00\",\"\xff\\0\",99999,0,-1,\"[]\",\"\\0\",2000,\"b\"\r\n",
    ),
    (
        "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY ''",
        0,
        b"1,\"a,b\"c\\d\",1.50,\"2024-01-02 03:04:05\",\"x\x00y\",00007,1.5,1e100,\"{\"a\": \"q\\\"r\"}\",\"A\",1999,\"x,y\"\n2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL\n3,\"tab\there\nnl \xc3\xa4\",-0.50,\"2000-01-01 00:00:00\",\"\xff\x00\",99999,0,-1,\"[]\",\"\x00\",2000,\"b\"\n",
    ),
    (
        "FIELDS TERMINATED BY 'n'",
        1,
        b"1na,b\"c\\\\dn1.50n2024-01-02 03:04:05nx\\0yn00007n1.5n1e100n{\"a\": \"q\\\\\"r\"}nAn1999nx,y\n2n\\Nn\\Nn\\Nn\\Nn\\Nn\\Nn\\Nn\\Nn\\Nn\\Nn\\N\n3ntab\there\\\nnl \xc3\xa4n-0.50n2000-01-01 00:00:00n\xff\\0n99999n0n-1n[]n\\0n2000nb\n",
    ),
    (
        "CHARACTER SET latin1 FIELDS TERMINATED BY '.' ENCLOSED BY '\"'",
        0,
        b"\"1\".\"a,b\\\"c\\\\d\".\"1.50\".\"2024-01-02 03:04:05\".\"x\\0y\".\"00007\".\"1.5\".\"1e100\".\"{\\\"a\\\": \\\"q\\\\\\\"r\\\"}\".\"A\".\"1999\".\"x,y\"\n\"2\".\\N.\\N.\\N.\\N.\\N.\\N.\\N.\\N.\\N.\\N.\\N\n\"3\".\"tab\there\\\nnl \xe4\".\"-0.50\".\"2000-01-01 00:00:00\".\"\xff\\0\".\"99999\".\"0\".\"-1\".\"[]\".\"\\0\".\"2000\".\"b\"\n",
    ),
    (
        "FIELDS TERMINATED BY '||' ENCLOSED BY 'n' LINES TERMINATED BY ''",
        0,
        b"n1n||na,b\"c\\\\dn||n1.50n||n2024-01-02 03:04:05n||nx\\0yn||n00007n||n1.5n||n1e100n||n{\"a\": \"q\\\\\"r\"}n||nAn||n1999n||nx,yn||n2n||\\N||\\N||\\N||\\N||\\N||\\N||\\N||\\N||\\N||\\N||\\N||n3n||ntab\there\nnnl \xc3\xa4n||n-0.50n||n2000-01-01 00:00:00n||n\xff\\0n||n99999n||n0n||n-1n||n[]n||n\\0n||n2000n||nbn||",
    ),
];

/// Lists of values and clauses, warnings, and the file that MySQL makes.
const SEPARATORS: &[(&str, &str, u16, &[u8])] = &[
    ("'a1e'", "FIELDS TERMINATED BY '1'", 0, b"a\\1e\n"),
    ("'a1e', 21", "FIELDS TERMINATED BY '1'", 1, b"a1e121\n"),
    ("21", "FIELDS TERMINATED BY '1'", 1, b"21\n"),
    ("21", "FIELDS TERMINATED BY '1' ENCLOSED BY '\"'", 0, b"\"21\"\n"),
    (
        "'a1e', 21",
        "FIELDS TERMINATED BY '1' OPTIONALLY ENCLOSED BY '\"'",
        1,
        b"\"a1e\"121\n",
    ),
    ("'a0n', 20", "FIELDS TERMINATED BY '0'", 1, b"a0n020\n"),
    (
        "'anb', 20",
        "FIELDS TERMINATED BY 'n' ENCLOSED BY 'b'",
        0,
        b"banbbbnb20b\n",
    ),
    (
        "'anb', 20",
        "FIELDS TERMINATED BY 'n' OPTIONALLY ENCLOSED BY 'b'",
        0,
        b"banbbbn20\n",
    ),
    (
        "'a-b', -20",
        "FIELDS TERMINATED BY '-' OPTIONALLY ENCLOSED BY '#'",
        1,
        b"#a-b#--20\n",
    ),
    ("'a-b', -20", "FIELDS TERMINATED BY '-'", 1, b"a-b--20\n"),
    ("'a,b', -20", "FIELDS TERMINATED BY ','", 0, b"a\\,b,-20\n"),
    (
        "'a2b', -20",
        "FIELDS TERMINATED BY ',' ENCLOSED BY '2'",
        0,
        b"2a\\2b2,2-\\202\n",
    ),
];

#[test]
fn files_are_written_as_by_mysql_and_read_again() {
    let files = Files::start("files_written");
    let mut client = files.node.client();
    done(&mut client, "USE test");
    done(&mut client, TABLE);
    done(&mut client, ROWS);
    for (number, (clauses, warnings, wanted)) in WRITTEN.iter().enumerate() {
        let (charset, clauses) = match clauses.strip_prefix("CHARACTER SET latin1 ") {
            Some(rest) => ("CHARACTER SET latin1 ", rest),
            None => ("", *clauses),
        };
        let name = format!("written-{number}");
        let path = files.in_files(&name);
        let sql = format!("SELECT * FROM t ORDER BY id INTO OUTFILE '{path}' {charset}{clauses}");
        assert_eq!(done(&mut client, &sql), (3, *warnings), "{sql}");
        let written = files.bytes(&name);
        assert!(written == *wanted, "{clauses}\n{}", String::from_utf8_lossy(&written));
    }
    for (number, (values, clauses, warnings, wanted)) in SEPARATORS.iter().enumerate() {
        let name = format!("separated-{number}");
        let sql = format!("SELECT {values} INTO OUTFILE '{}' {clauses}", files.in_files(&name));
        assert_eq!(done(&mut client, &sql), (1, *warnings), "{sql}");
        assert_eq!(
            String::from_utf8(files.bytes(&name)),
            String::from_utf8(wanted.to_vec()),
            "{sql}"
        );
    }
    done(&mut client, "CREATE TABLE back LIKE t");
    for number in [0, 1, 2] {
        let (clauses, ..) = WRITTEN[number];
        done(&mut client, "DELETE FROM back");
        let path = files.in_files(&format!("written-{number}"));
        let sql = format!("LOAD DATA INFILE '{path}' INTO TABLE back {clauses}");
        assert_eq!(done(&mut client, &sql), (3, 0), "{sql}");
        assert!(value(&mut client, "CHECKSUM TABLE t, back").is_some());
        let same = "SELECT COUNT(*) FROM t JOIN back USING (id, b, c, d, e, z, f, g, k, y, en)";
        assert_eq!(value(&mut client, same).unwrap(), b"2", "{sql}");
        // A value that is there already ends it, unless it is told otherwise.
        assert_eq!(code(&mut client, &sql), 1062);
        let again = |word: &str| sql.replace("' INTO", &format!("' {word} INTO"));
        assert_eq!(done(&mut client, &again("IGNORE")), (0, 3));
        assert_eq!(done(&mut client, &again("REPLACE")).1, 0);
    }
    let dumped = files.in_files("dumped");
    let sql = format!("SELECT b, c, NULL, e, k FROM t WHERE id = 1 INTO DUMPFILE '{dumped}'");
    assert_eq!(done(&mut client, &sql), (1, 0));
    assert_eq!(files.bytes("dumped"), b"a,b\"c\\d1.50\0x\0yA");
    assert_eq!(
        value(&mut client, &format!("SELECT LOAD_FILE('{dumped}')")).unwrap(),
        files.bytes("dumped")
    );
    let several = files.in_files("several");
    assert_eq!(
        code(&mut client, &format!("SELECT b FROM t INTO DUMPFILE '{several}'")),
        1172
    );
    let empty = files.in_files("empty");
    assert_eq!(
        done(&mut client, &format!("SELECT b FROM t WHERE 0 INTO DUMPFILE '{empty}'")),
        (0, 0)
    );
    assert_eq!(files.bytes("empty"), b"");
    let mode = std::fs::metadata(&empty).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn what_fails_leaves_no_file_and_what_is_there_stays() {
    let files = Files::start("files_failed");
    let mut client = files.node.client();
    done(&mut client, "USE test");
    let path = files.in_files("f");
    done(&mut client, &format!("SELECT 'first' INTO OUTFILE '{path}'"));
    for sql in ["SELECT 1 INTO OUTFILE", "SELECT 1 INTO DUMPFILE"] {
        assert_eq!(code(&mut client, &format!("{sql} '{path}'")), 1086);
    }
    assert_eq!(files.bytes("f"), b"first\n");
    let failing = files.in_files("failing");
    let sql =
        format!("SELECT CAST(CONCAT('x', a) AS JSON) FROM (SELECT 1 a UNION ALL SELECT 2) d INTO OUTFILE '{failing}'");
    assert_eq!(code(&mut client, &sql), 3141);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while Path::new(&failing).exists() {
        assert!(std::time::Instant::now() < deadline, "a file of nothing stays");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // It is made when it is run, each time anew.
    done(
        &mut client,
        &format!("PREPARE p FROM \"SELECT 1, 2 INTO OUTFILE '{}'\"", files.in_files("p")),
    );
    assert_eq!(done(&mut client, "EXECUTE p"), (1, 0));
    assert_eq!(code(&mut client, "EXECUTE p"), 1086);
    for clauses in ["FIELDS ENCLOSED BY 'ab'", "FIELDS ESCAPED BY 'ab'"] {
        assert_eq!(
            code(&mut client, &format!("SELECT 1 INTO OUTFILE '{failing}' {clauses}")),
            1083
        );
    }
    let unknown = format!("SELECT 1 INTO OUTFILE '{failing}' CHARACTER SET unknown");
    assert_eq!(code(&mut client, &unknown), 1115);
    let fixed = format!("SELECT 1 INTO OUTFILE '{failing}' FIELDS TERMINATED BY '' ENCLOSED BY ''");
    assert_eq!(code(&mut client, &fixed), 1235);
    done(&mut client, "CREATE TABLE t (a INT)");
    let load = |path: &str| format!("LOAD DATA INFILE '{path}' INTO TABLE t");
    assert_eq!(code(&mut client, &load(&files.in_files("none"))), 13);
    assert_eq!(code(&mut client, &load(&files.in_files(""))), 1085);
    assert_eq!(code(&mut client, &load(&files.in_files("f"))), 1366);
    assert_eq!(
        code(
            &mut client,
            &format!("SELECT 1 INTO OUTFILE '{}'", files.in_files("none/f"))
        ),
        1
    );
    assert_eq!(value(&mut client, "SELECT LOAD_FILE(NULL)"), None);
    assert_eq!(
        value(&mut client, &format!("SELECT LOAD_FILE('{}')", files.in_files("none"))),
        None
    );
    let shown = value(&mut client, "SELECT @@secure_file_priv").unwrap();
    assert_eq!(
        shown,
        format!("{}/", files.path.canonicalize().unwrap().display()).into_bytes()
    );
}

#[test]
fn nothing_beyond_the_directory_is_touched_and_file_is_asked_for() {
    let files = Files::start("files_beyond");
    let mut client = files.node.client();
    done(&mut client, "USE test");
    done(&mut client, "CREATE TABLE t (a TEXT)");
    let beside = files.path.parent().unwrap().join("beside");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("secret"), "secret\n").unwrap();
    symlink(&beside, files.path.join("absolute")).unwrap();
    symlink("../beside", files.path.join("relative")).unwrap();
    symlink("../beside/secret", files.path.join("file")).unwrap();
    let secret = beside.join("secret").to_str().unwrap().to_owned();
    let paths = [
        secret.clone(),
        files.in_files("../beside/secret"),
        files.in_files("absolute/secret"),
        files.in_files("relative/secret"),
        files.in_files("file"),
        "beside/secret".to_owned(),
        "/etc/passwd".to_owned(),
        format!("{}-not/f", files.path.display()),
    ];
    for path in &paths {
        assert_eq!(
            code(&mut client, &format!("LOAD DATA INFILE '{path}' INTO TABLE t")),
            1290,
            "{path}"
        );
        assert_eq!(
            value(&mut client, &format!("SELECT LOAD_FILE('{path}')")),
            None,
            "{path}"
        );
    }
    for path in ["../beside/new", "absolute/new", "relative/new"] {
        let sql = format!("SELECT 1 INTO OUTFILE '{}'", files.in_files(path));
        assert_eq!(code(&mut client, &sql), 1290, "{path}");
    }
    assert!(!beside.join("new").exists());
    let own = files.in_files("own");
    done(&mut client, &format!("SELECT 'x' INTO OUTFILE '{own}'"));
    done(&mut client, "CREATE USER low");
    done(&mut client, "GRANT ALL ON test.* TO low");
    let mut low = files.node.client_of("low");
    done(&mut low, "USE test");
    assert_eq!(code(&mut low, &format!("LOAD DATA INFILE '{own}' INTO TABLE t")), 1045);
    assert_eq!(
        code(&mut low, &format!("SELECT 1 INTO OUTFILE '{}'", files.in_files("low"))),
        1227
    );
    assert_eq!(value(&mut low, &format!("SELECT LOAD_FILE('{own}')")), None);
    done(&mut client, "GRANT FILE ON *.* TO low");
    assert_eq!(value(&mut low, &format!("SELECT LOAD_FILE('{own}')")).unwrap(), b"x\n");
    done(&mut client, "REVOKE FILE ON *.* FROM low");
    assert_eq!(value(&mut low, &format!("SELECT LOAD_FILE('{own}')")), None);
}

#[test]
fn a_directory_that_holds_the_data_is_refused() {
    let data = directory("files_refused");
    let top = data.parent().unwrap().to_owned();
    for (files, why) in [
        (top.to_str().unwrap(), "hold each other"),
        (data.to_str().unwrap(), "hold each other"),
        ("relative", "absolute path"),
        ("", "absolute path"),
        ("/no/such/directory", "cannot use secure_file_priv"),
    ] {
        let arguments = ["serve", "--mysql-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0"];
        let flag = format!("--secure-file-priv={files}");
        let output = latsdb(&[&arguments[..], &[&flag]].concat(), &data).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{files}: {said}");
    }
}
