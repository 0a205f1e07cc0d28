//! Scripts in Lua: the replies that a Redis 7.0.15 gives, and those to scripts that want harm.
//!
//! `tests/script/*.redis` are lists of commands in the words of a line of Redis's protocol, each with the bytes of its reply:
//!
//! ```text
//! > EVAL "return 1" 0
//! :1\r\n
//! own> SCRIPT DEBUG YES         ours alone, written by hand
//! protocol 3                    the form of the replies that follow
//! ```
//!
//! `RECORD=127.0.0.1:6395 cargo test -p keyspace --test script` asks a Redis there, which loses all it has, and writes its replies down.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use env::{Env, SimDisk};
use keyspace::session::alone::Alone;
use keyspace::{Keyspace, Session};
use redis_wire::{Protocol, Reply, Requests, Scan};
use shard::Shard;
use sql::engine::Engine;
use sql_api::host::BlockingHost;
use sql_api::session::SessionAccount;
use store::MemoryBudget;

const MEMORY_BYTES: u64 = 96 << 20;

struct Database {
    keyspace: Arc<Keyspace>,
    disk: Arc<SimDisk>,
}

fn open(disk: Arc<SimDisk>) -> Database {
    let env = Env::simulated(disk.clone(), 1);
    let schema = sql::schema::Schema::new();
    let config = shard::Config {
        observer: Some(schema.clone()),
        ..shard::Config::new(env.clone(), "/data", MemoryBudget::new(MEMORY_BYTES))
    };
    let shard = Arc::new(Shard::open(config).expect("a disk that works"));
    let engine = Engine::open(env, shard, schema, &BlockingHost).expect("a start");
    Database {
        keyspace: Keyspace::new(engine),
        disk,
    }
}

fn client_of(keyspace: &Arc<Keyspace>) -> Session {
    let account = Some(SessionAccount::Server);
    Session::new(keyspace.clone(), 1, account.clone(), Box::new(Alone(account)))
}

impl Database {
    fn client(&self) -> Session {
        client_of(&self.keyspace)
    }
}

fn send(session: &mut Session, words: &[&[u8]]) -> Vec<u8> {
    let mut reply = Reply::new(session.protocol);
    session.run(&[words.to_vec()], &BlockingHost, &mut reply);
    reply.bytes
}

fn ask(session: &mut Session, words: &[&str]) -> String {
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    send(session, &words).escape_ascii().to_string()
}

fn eval(session: &mut Session, script: &str) -> String {
    ask(session, &["EVAL", script, "0"])
}

fn words(line: &str) -> Vec<Vec<u8>> {
    let mut bytes = line.as_bytes().to_vec();
    bytes.extend_from_slice(b"\r\n");
    let mut requests = Requests::default();
    match requests.scan(&bytes) {
        Ok(Scan::Complete { .. }) => requests.args(&bytes).map(<[u8]>::to_vec).collect(),
        other => panic!("{line}: {other:?}"),
    }
}

/// The reply of the Redis that replies are recorded from.
fn ask_redis(stream: &mut TcpStream, words: &[Vec<u8>]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
    // What follows marks the end.
    request.extend_from_slice(b"*2\r\n$4\r\nECHO\r\n$9\r\n#the end#\r\n");
    const END: &[u8] = b"$9\r\n#the end#\r\n";
    stream.write_all(&request).expect("Redis listens");
    let mut bytes = Vec::new();
    loop {
        if let Some(reply) = bytes.strip_suffix(END) {
            return reply.to_vec();
        }
        let mut more = [0; 65536];
        let len = stream.read(&mut more).expect("Redis answers");
        assert!(
            len > 0,
            "Redis has closed the connection at {:?}",
            words[1].escape_ascii().to_string()
        );
        bytes.extend_from_slice(&more[..len]);
    }
}

fn run_file(name: &str) {
    let path = format!("{}/tests/script/{name}.redis", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("a list of commands");
    let mut redis = std::env::var("RECORD").ok().map(|address| {
        let mut stream = TcpStream::connect(address).expect("a Redis listens there");
        for line in ["FLUSHALL", "SCRIPT FLUSH", "FUNCTION FLUSH"] {
            ask_redis(&mut stream, &words(line));
        }
        stream
    });
    let database = open(SimDisk::new(1));
    let mut session = database.client();
    let (mut recorded, mut differences) = (String::new(), Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        recorded.push_str(line);
        recorded.push('\n');
        if line.is_empty() || line.starts_with("# ") {
            continue;
        }
        if let Some(version) = line.strip_prefix("protocol ") {
            session.protocol = if version == "3" {
                Protocol::Resp3
            } else {
                Protocol::Resp2
            };
            if let Some(stream) = &mut redis {
                ask_redis(stream, &words(&format!("HELLO {version}")));
            }
            continue;
        }
        let (how, command) = line.split_once("> ").expect("a command");
        let is_command = |line: &str| {
            line.split_once("> ")
                .is_some_and(|(how, _)| how.is_empty() || how == "own")
        };
        let expected = lines.next_if(|line| !line.is_empty() && !line.starts_with("# ") && !is_command(line));
        let words = words(command);
        let reply = match (&mut redis, how) {
            (Some(stream), "") => ask_redis(stream, &words),
            (Some(_), _) => Vec::new(),
            (None, _) => {
                let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
                send(&mut session, &words)
            }
        };
        let shown = reply.escape_ascii().to_string();
        match (&redis, how) {
            (Some(_), "") => recorded.push_str(&shown),
            (Some(_), _) => recorded.push_str(expected.unwrap_or_default()),
            (None, _) if Some(shown.as_str()) == expected => {}
            (None, _) => differences.push(format!(
                "{line}\n  ours     {shown}\n  expected {}",
                expected.unwrap_or_default()
            )),
        }
        recorded.push('\n');
    }
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
    if redis.is_some() {
        std::fs::write(path, recorded).expect("the file can be written");
    }
}

macro_rules! files {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                run_file(stringify!($name));
            }
        )*
    };
}

files!(calls, functions, json, language, packed, resp3);

#[test]
fn what_a_script_leaves_does_not_reach_the_next() {
    let database = open(SimDisk::new(1));
    let mut session = database.client();
    for attempt in [
        "x = 1",
        "_G.x = 1",
        "rawset(_G, 'x', 1)",
        "string.x = 1",
        "getmetatable('').__index = nil",
        "setmetatable(_G, nil)",
        "redis.call = nil",
        "table.insert(string, 1)",
        "table.sort(redis)",
        "setmetatable(string, {})",
        "getmetatable(_G).__index = nil",
        "loadstring('x = 1')()",
        "coroutine.wrap(function() x = 1 end)()",
    ] {
        let reply = eval(&mut session, attempt);
        let is_sorted = attempt.starts_with("table.sort");
        assert!(
            is_sorted || reply.contains("Attempt to modify a readonly table"),
            "{attempt}: {reply}"
        );
    }
    eval(
        &mut session,
        "math.randomseed(7) cjson.encode_max_depth(1) collectgarbage('stop') KEYS[1] = 'left'",
    );
    let random = |session: &mut Session| eval(session, "return math.random(1e9)");
    eval(&mut session, "math.randomseed(7)");
    let after_seed = random(&mut session);
    eval(&mut session, "math.randomseed(7)");
    assert_ne!(random(&mut session), after_seed);
    assert_eq!(
        eval(&mut session, "return cjson.encode({{{1}}})"),
        "$7\\r\\n[[[1]]]\\r\\n"
    );
    assert_eq!(eval(&mut session, "return #KEYS"), ":0\\r\\n");
}

/// Ends, and the next script runs as ever.
fn ends(session: &mut Session, script: &str) -> String {
    let reply = eval(session, script);
    assert_eq!(
        eval(session, "return redis.call('ECHO', 'well')"),
        "$4\\r\\nwell\\r\\n",
        "after {script}"
    );
    reply
}

#[test]
fn bombs_end_with_an_error() {
    let database = open(SimDisk::new(1));
    let mut session = database.client();
    for script in [
        "return string.rep('x', 1e9)",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} for i = 1, 1e9 do t[i] = {} end",
        "return table.concat({string.rep('x', 5e7), string.rep('x', 5e7)}, string.rep('x', 5e7))",
        "local t = {} while true do t[#t + 1] = string.rep('x', 1e6) .. #t end",
        "local s = string.rep('x', 1e6) while true do s = string.gsub(s, 'x', 'xx') end",
        "local t = {} for i = 1, 30 do t = {t, t} end return cjson.encode(t)",
        "while true do pcall(function() local s = 'x' while true do s = s .. s end end) end",
        "local co = coroutine.wrap(function() local s = 'x' while true do s = s .. s end end) while true do pcall(co) end",
    ] {
        let reply = ends(&mut session, script);
        assert!(reply.starts_with("-OOM"), "{script}: {reply:.200}");
    }
    for script in [
        "local function f() return f() + 1 end return f()",
        "local f f = function() return coroutine.wrap(f)() end return f()",
        "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return t.x",
        "local f f = function() return string.gsub('x', 'x', f) end return f()",
        "local f f = function() return pcall(f) end return f() == f and error('x') or error('deep')",
        "return loadstring('return ' .. string.rep('(', 1e5) .. '1')()",
        "return loadstring(string.rep('do ', 1e5))()",
        "return string.find(string.rep('a', 1e5), string.rep('a?', 1e5))",
        "return string.find(string.rep('(', 33), string.rep('(', 33))",
        "return string.rep('x', -1):rep(1e9):rep(1e9) + {}",
        "return unpack({}, 1, 1e9)",
        "return unpack({}, -2, 2147483647)",
        "local t = {} for i = 1, 250 do t[i] = 'a' .. i end \
         return loadstring('return function(' .. table.concat(t, ',', 1, 180) .. ', ...) return ... end')()() + 1",
        "return cjson.decode(string.rep('[', 1e5))",
        "cjson.decode_max_depth(1e9) return cjson.decode(string.rep('[', 1e5))",
        "return cmsgpack.unpack(string.rep('\\145', 1e5))",
        "return cmsgpack.unpack('\\221\\255\\255\\255\\255')",
        "return struct.unpack('c2147483647', 'x')",
        "return struct.pack('!0i', 1)",
        "return struct.pack('c2147483648', 'x')",
        "return string.format('%99999d', 1)",
        "return string.format('%1000s', 'x')",
        "return loadstring('\\27Lua')()",
        "return debug.getinfo(1)",
        "return io.open('/etc/passwd')",
        "return os.execute('true')",
        "return require('os')",
        "return dofile('x')",
        "return newproxy(true)",
        "return getfenv(0)",
        "return setfenv(1, {})",
        "return string.dump(function() end)",
        "error(setmetatable({}, {__tostring = function() while true do end end})) ",
        "coroutine.yield()",
        "return redis.call('EVAL', 'return 1', 0)",
        "local co co = coroutine.create(function() return coroutine.resume(co) end) local _, ok, e = coroutine.resume(co) error(e)",
        "return select(-1e9, 1)",
        "return setmetatable({}, {__metatable = 1, __index = error}).x",
        "return xpcall(function() error('x') end, function() error('y') end) and 1 or error('z')",
        "table.sort({3, 2, 1, 4, 5, 6}, function() error('in sort') end)",
    ] {
        let reply = ends(&mut session, script);
        assert!(
            reply.starts_with('-') && !reply.contains("OOM"),
            "{script}: {reply:.300}"
        );
    }
    // Pattern and parser go deep, but have their ends.
    let deep = eval(
        &mut session,
        "local t = {} local r = t for i = 1, 20000 do t[1] = {} t = t[1] end return r",
    );
    assert!(deep.ends_with("-ERR reached lua stack limit\\r\\n"));
}

#[test]
fn a_script_is_killed_wherever_it_is() {
    let database = open(SimDisk::new(1));
    let mut session = database.client();
    eval(&mut session, "return 1");
    for script in [
        "while true do end",
        "redis.call('SET', 'killed', 'x') while true do end",
        "while true do pcall(function() while true do end end) end",
        "local f = function() while true do pcall(error) end end while true do pcall(coroutine.wrap(f)) end",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "return string.find(string.rep('a', 40), string.rep('a*', 30) .. 'b')",
        "return string.find(string.rep('a', 1e6), '.-.-.-.-b')",
        "return string.gsub(string.rep('a', 1e6), '(.-)(.-)(.-)b', '')",
        "string.rep('', 1e9) while true do string.rep('', 1e9) end",
        "local t = {} for i = 1, 1e6 do t[i] = i end while true do table.insert(t, 1, 1) table.remove(t, 1) end",
        "local t = {} for i = 1, 1e6 do t[i] = 1 end while true do table.sort(t) end",
        "local t = {} for i = 1, 1e6 do t[i] = i end for i = 1, 1e6 do t[i] = nil end while true do next(t) end",
        "local s = string.rep('x', 1e7) while true do local a = s .. s end",
        "while true do redis.pcall('GET', 'x') end",
        "while true do redis.pcall('NOSUCH') end",
        "local t = {} for i = 1, 1e5 do t[i] = i end while true do cjson.decode(cjson.encode(t)) end",
        "local s = string.rep('a', 1e5) while true do string.find(s .. s, s .. 'b', 1, true) end",
        "xpcall(function() while true do end end, function() while true do end end)",
        "local t = setmetatable({}, {__index = function() while true do end end}) return t.x",
        "local s = 'return ' .. string.rep('1+', 1e6) .. '1' while true do loadstring(s) end",
        "for i = 1, 1e9 do end for i = 1, 1e9 do end for i = 1, 1e9 do end for i = 1, 1e9 do end",
        "while true do collectgarbage() end",
    ] {
        let keyspace = database.keyspace.clone();
        let killer = std::thread::spawn(move || {
            let mut session = client_of(&keyspace);
            // Not before it has begun.
            while ask(&mut session, &["SCRIPT", "KILL"]) != "+OK\\r\\n" {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let reply = eval(&mut session, script);
        killer.join().expect("somebody kills");
        assert!(reply.contains("Script killed by user"), "{script}: {reply:.200}");
    }
    assert_eq!(
        ask(&mut session, &["EXISTS", "killed"]),
        ":0\\r\\n",
        "what was killed has done nothing"
    );
    assert!(ask(&mut session, &["SCRIPT", "KILL"]).starts_with("-NOTBUSY"));
}

#[test]
fn a_script_is_one_transaction() {
    let database = open(SimDisk::new(1));
    let mut session = database.client();
    ask(&mut session, &["MSET", "a", "0", "b", "0"]);
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let keyspace = database.keyspace.clone();
            std::thread::spawn(move || {
                let mut session = client_of(&keyspace);
                for _ in 0..100 {
                    // Keys that are declared, and one that is not.
                    let script = "local n = redis.call('INCR', KEYS[1]) redis.call('INCR', 'undeclared') \
                                  redis.call('SET', KEYS[2], n) return n";
                    let reply = ask(&mut session, &["EVAL", script, "2", "a", "b"]);
                    assert!(reply.starts_with(':'), "{reply}");
                    let reply = ask(
                        &mut session,
                        &["EVAL", "return redis.call('MGET', 'a', 'b', 'undeclared')", "0"],
                    );
                    let numbers: Vec<&str> = reply.split("\\r\\n").skip(2).step_by(2).collect();
                    assert_eq!(numbers[0], numbers[1], "{reply}");
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().expect("a worker"));
    assert_eq!(
        ask(&mut session, &["MGET", "a", "b", "undeclared"]),
        "*3\\r\\n$3\\r\\n400\\r\\n$3\\r\\n400\\r\\n$3\\r\\n400\\r\\n"
    );
    // An error of the script's own leaves what it wrote before, as Redis does.
    assert!(eval(&mut session, "redis.call('SET', 'kept', 'x') error('now')").starts_with("-ERR"));
    assert_eq!(ask(&mut session, &["GET", "kept"]), "$1\\r\\nx\\r\\n");
    // In MULTI, too, it is a part of the transaction.
    ask(&mut session, &["MULTI"]);
    ask(&mut session, &["SET", "a", "1"]);
    assert_eq!(
        ask(&mut session, &["EVAL", "return redis.call('INCR', KEYS[1])", "1", "a"]),
        "+QUEUED\\r\\n"
    );
    assert_eq!(ask(&mut session, &["EXEC"]), "*2\\r\\n+OK\\r\\n:2\\r\\n");
}

#[test]
fn libraries_survive_a_restart_and_sql_sees_them() {
    let database = open(SimDisk::new(1));
    let mut session = database.client();
    let library = "#!lua name=lib\nredis.register_function('f', function(keys, args) return redis.call('INCRBY', keys[1], args[1]) end)";
    assert_eq!(ask(&mut session, &["FUNCTION", "LOAD", library]), "$3\\r\\nlib\\r\\n");
    assert_eq!(ask(&mut session, &["FCALL", "f", "1", "k", "5"]), ":5\\r\\n");
    // A transaction with others.
    ask(&mut session, &["MULTI"]);
    ask(&mut session, &["FCALL", "f", "1", "k", "1"]);
    ask(&mut session, &["FCALL", "f", "1", "k", "1"]);
    assert_eq!(ask(&mut session, &["EXEC"]), "*2\\r\\n:6\\r\\n:7\\r\\n");
    // Another version of the same length, in another thread.
    let other = library.replace("INCRBY", "DECRBY");
    assert_eq!(
        ask(&mut session, &["FUNCTION", "LOAD", "REPLACE", &other]),
        "$3\\r\\nlib\\r\\n"
    );
    assert_eq!(ask(&mut session, &["FCALL", "f", "1", "k", "1"]), ":6\\r\\n");
    drop(session);
    let Database { keyspace, disk } = database;
    drop(keyspace);
    let database = open(disk);
    let mut session = database.client();
    assert_eq!(ask(&mut session, &["FCALL", "f", "1", "k", "1"]), ":5\\r\\n");
    let dump = send(&mut session, &[b"FUNCTION", b"DUMP"]);
    let begin = dump.iter().position(|byte| *byte == b'\n').expect("a length") + 1;
    let dump = &dump[begin..dump.len() - 2];
    assert_eq!(ask(&mut session, &["FUNCTION", "FLUSH"]), "+OK\\r\\n");
    assert!(ask(&mut session, &["FCALL", "f", "1", "k", "1"]).starts_with("-ERR Function not found"));
    assert_eq!(send(&mut session, &[b"FUNCTION", b"RESTORE", dump]), b"+OK\r\n");
    assert_eq!(ask(&mut session, &["FCALL", "f", "1", "k", "1"]), ":4\\r\\n");
    let resp3 = {
        session.protocol = Protocol::Resp3;
        ask(&mut session, &["FUNCTION", "STATS"])
    };
    assert!(resp3.starts_with("%2"), "{resp3}");
}

/// Not a measurement: shows what a small script costs.
#[test]
#[ignore = "prints times"]
fn cost_of_a_small_script() {
    let database = open(SimDisk::new(1));
    let mut session = database.client();
    ask(&mut session, &["SET", "k", "v"]);
    for script in ["return 1", "return redis.call('GET', KEYS[1])"] {
        let begun = Instant::now();
        for _ in 0..10_000 {
            ask(&mut session, &["EVAL", script, "1", "k"]);
        }
        println!("{script}: {:?}", begun.elapsed() / 10_000);
    }
}
