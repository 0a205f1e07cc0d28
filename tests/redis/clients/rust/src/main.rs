//! fred, over RESP2 and RESP3: `redis-clients --redis HOST:PORT`.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::time::Duration;

use fred::clients::SubscriberClient;
use fred::prelude::*;
use fred::types::scan::Scanner;
use fred::types::streams::XReadResponse;
use fred::types::{RespVersion, scripts::Script};
use futures::TryStreamExt;

type Outcome = Result<(), Box<dyn std::error::Error>>;

struct Count {
    passed: u32,
    failed: u32,
}

impl Count {
    async fn test(&mut self, name: &str, client: &Client, body: impl Future<Output = Outcome>) {
        let outcome = async {
            client.flushall::<()>(false).await?;
            tokio::time::timeout(Duration::from_secs(60), body).await?
        };
        match outcome.await {
            Ok(()) => self.passed += 1,
            Err(error) => {
                println!("FAILED {name}: {error}");
                self.failed += 1;
            }
        }
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(got: T, wanted: T) -> Outcome {
    if got == wanted {
        Ok(())
    } else {
        Err(format!("{got:?} is not {wanted:?}").into())
    }
}

fn config(address: &str, version: RespVersion) -> Result<Config, Error> {
    let mut config = Config::from_url(&format!("redis://{address}"))?;
    config.version = version;
    Ok(config)
}

async fn suite(address: &str, version: RespVersion, name: &str, count: &mut Count) -> Outcome {
    let client = Builder::from_config(config(address, version.clone())?).build()?;
    client.init().await?;
    let c = &client;

    count
        .test(&format!("{name}: strings"), c, async {
            c.client_setname("suite").await?;
            equal(c.client_getname::<String>().await?, "suite".to_owned())?;
            c.set::<(), _, _>("s", "v", Some(Expiration::EX(100)), Some(SetOptions::NX), false)
                .await?;
            equal(c.get::<Option<String>, _>("s").await?, Some("v".to_owned()))?;
            equal(c.get::<Option<String>, _>("missing").await?, None)?;
            equal(c.ttl::<i64, _>("s").await? > 90, true)?;
            equal(c.incr_by::<i64, _>("n", 41).await?, 41)?;
            equal(c.incr_by_float::<f64, _>("n", 0.5).await?, 41.5)?;
            let every: Vec<u8> = (0..100_000u32).map(|n| n as u8).collect();
            c.set::<(), _, _>("bytes", every.as_slice(), None, None, false).await?;
            equal(c.get::<Vec<u8>, _>("bytes").await? == every, true)?;
            equal(c.incr::<i64, _>("s").await.is_err(), true)
        })
        .await;
    count
        .test(&format!("{name}: hashes, lists, sets, sorted sets"), c, async {
            c.hset::<(), _, _>("h", vec![("a", "1"), ("b", "two")]).await?;
            let all: HashMap<String, String> = c.hgetall("h").await?;
            equal(all.get("b").map(String::as_str), Some("two"))?;
            equal(c.rpush::<i64, _, _>("l", vec!["a", "b", "c"]).await?, 3)?;
            equal(
                c.lrange::<Vec<String>, _>("l", 0, -1).await?,
                vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
            )?;
            c.sadd::<(), _, _>("u", vec!["a", "b"]).await?;
            c.sadd::<(), _, _>("w", vec!["b", "c"]).await?;
            equal(
                c.sinter::<HashSet<String>, _>(vec!["u", "w"]).await?,
                HashSet::from(["b".to_owned()]),
            )?;
            c.zadd::<(), _, _>("z", None, None, false, false, vec![(1.0, "a"), (2.5, "b")])
                .await?;
            equal(c.zscore::<f64, _, _>("z", "b").await?, 2.5)?;
            let range: Vec<(String, f64)> = c.zrange("z", 0, -1, None, false, None, true).await?;
            equal(range, vec![("a".to_owned(), 1.0), ("b".to_owned(), 2.5)])
        })
        .await;
    count
        .test(&format!("{name}: pipelines"), c, async {
            let pipeline = c.pipeline();
            for _ in 0..2000 {
                pipeline.incr::<(), _>("n").await?;
            }
            equal(pipeline.all::<Vec<i64>>().await?, (1..=2000).collect())
        })
        .await;
    count
        .test(&format!("{name}: transactions"), c, async {
            let transaction = c.multi();
            transaction.set::<(), _, _>("a", 1, None, None, false).await?;
            transaction.incr::<(), _>("a").await?;
            let (set, incremented): (String, i64) = transaction.exec(true).await?;
            equal((set.as_str(), incremented), ("OK", 2))?;
            // A client of its own, since WATCH belongs to a connection.
            let own = c.clone_new();
            own.init().await?;
            own.watch("a").await?;
            c.set::<(), _, _>("a", 9, None, None, false).await?;
            let transaction = own.multi();
            transaction.set::<(), _, _>("a", "mine", None, None, false).await?;
            let result: Value = transaction.exec(true).await?;
            equal(result.is_null(), true)?;
            equal(c.get::<i64, _>("a").await?, 9)?;
            own.quit().await?;
            Ok(())
        })
        .await;
    count
        .test(&format!("{name}: publish and subscribe"), c, async {
            let subscriber: SubscriberClient =
                Builder::from_config(config(address, version.clone())?).build_subscriber_client()?;
            subscriber.init().await?;
            let mut messages = subscriber.message_rx();
            subscriber.subscribe("c").await?;
            subscriber.psubscribe("n.*").await?;
            // fred does not wait for the server's word.
            while c
                .custom::<i64, String>(fred::cmd!("PUBSUB"), vec!["NUMPAT".to_owned()])
                .await?
                == 0
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            equal(c.publish::<i64, _, _>("c", "one").await?, 1)?;
            equal(c.publish::<i64, _, _>("n.x", "two").await?, 1)?;
            let (one, two) = (messages.recv().await?, messages.recv().await?);
            equal(
                (one.channel.to_string(), one.value.convert::<String>()?),
                ("c".to_owned(), "one".to_owned()),
            )?;
            equal(
                (two.channel.to_string(), two.value.convert::<String>()?),
                ("n.x".to_owned(), "two".to_owned()),
            )?;
            subscriber.unsubscribe("c").await?;
            subscriber.punsubscribe("n.*").await?;
            subscriber.quit().await?;
            Ok(())
        })
        .await;
    count
        .test(&format!("{name}: blocking pops"), c, async {
            let waiting = c.clone_new();
            waiting.init().await?;
            let popped = tokio::spawn(async move { waiting.blpop::<(String, String), _>(vec!["a", "b"], 10.0).await });
            while !c
                .custom::<String, String>(fred::cmd!("CLIENT"), vec!["LIST".to_owned()])
                .await?
                .contains("cmd=blpop")
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            c.rpush::<(), _, _>("b", "x").await?;
            equal(popped.await??, ("b".to_owned(), "x".to_owned()))
        })
        .await;
    count
        .test(&format!("{name}: scripts"), c, async {
            let script = Script::from_lua("return {KEYS[1], tonumber(ARGV[1]) + 1}");
            script.load(c).await?;
            let (key, n): (String, i64) = script.evalsha(c, "k", 41).await?;
            equal((key.as_str(), n), ("k", 42))?;
            c.script_flush(false).await?;
            equal(script.evalsha::<Value, _, _, _>(c, "k", 41).await.is_err(), true)
        })
        .await;
    count
        .test(&format!("{name}: streams and groups"), c, async {
            c.xgroup_create::<(), _, _, _>("x", "g", "$", true).await?;
            let id: String = c.xadd("x", false, None, "*", vec![("f", "v")]).await?;
            let read: XReadResponse<String, String, String, String> =
                c.xreadgroup_map("g", "alice", Some(10), None, false, "x", ">").await?;
            equal(read["x"][0].0.clone(), id.clone())?;
            equal(read["x"][0].1["f"].clone(), "v".to_owned())?;
            equal(c.xack::<i64, _, _, _>("x", "g", id).await?, 1)?;
            equal(c.xlen::<i64, _>("x").await?, 1)
        })
        .await;
    count
        .test(&format!("{name}: iterators"), c, async {
            let pipeline = c.pipeline();
            for n in 0..1000 {
                pipeline.set::<(), _, _>(format!("k{n}"), n, None, None, false).await?;
            }
            pipeline.all::<Value>().await?;
            let mut found = HashSet::new();
            let mut scan = c.scan("k*", Some(50), None);
            while let Some(mut page) = scan.try_next().await? {
                found.extend(page.take_results().unwrap_or_default());
                page.next();
            }
            equal(found.len(), 1000)
        })
        .await;
    client.quit().await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().collect();
    let address = match arguments.iter().position(|argument| argument == "--redis") {
        Some(at) => arguments.get(at + 1).ok_or("--redis HOST:PORT")?.clone(),
        None => "127.0.0.1:6379".to_owned(),
    };
    let mut count = Count { passed: 0, failed: 0 };
    suite(&address, RespVersion::RESP2, "RESP2", &mut count).await?;
    suite(&address, RespVersion::RESP3, "RESP3", &mut count).await?;
    println!("{} passed, {} failed", count.passed, count.failed);
    std::process::exit(i32::from(count.failed > 0));
}
