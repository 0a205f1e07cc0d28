//! SWAPDB: the tables of two databases change their names, all at once.

use redis_wire::number::parse_i64;
use sql::result::BufferedRows;
use sql::session::{Session as SqlSession, SessionOptions};

use crate::failure::{Failure, Outcome};
use crate::session::SessionCall;
use crate::tables::{DATABASE, DATABASES, Part};
use crate::work::Events;

pub fn swapdb(call: &mut SessionCall) -> Outcome {
    let number = |arg: &[u8], wrong: &'static str| {
        let number = parse_i64(arg).filter(|&number| i32::try_from(number).is_ok());
        number.ok_or_else(|| Failure::reply(wrong))
    };
    let one = number(call.args[1], "ERR invalid first DB index")?;
    let other = number(call.args[2], "ERR invalid second DB index")?;
    let database = |number: i64| {
        let number = u32::try_from(number).ok().filter(|&number| number < DATABASES);
        number.ok_or_else(|| Failure::reply("ERR DB index is out of range"))
    };
    let (one, other) = (database(one)?, database(other)?);
    if call.session.held_messages.is_some() {
        return Err(Failure::reply(
            "ERR SWAPDB is not possible in a transaction or a script: it changes the schema, which is a transaction of its own",
        ));
    }
    let keyspace = call.session.keyspace.clone();
    if one != other {
        keyspace.db(one, call.host)?;
        keyspace.db(other, call.host)?;
        let renames: Vec<String> = Part::ALL.iter().map(|part| rename(*part, one, other)).collect();
        let statement = format!("RENAME TABLE {}", renames.join(", "));
        let mut session = SqlSession::new(keyspace.engine().clone(), SessionOptions::default())?;
        session.query(statement.as_bytes(), call.host, &mut BufferedRows::default())?;
        // Whoever waits for a key has another one before him.
        let events = Events {
            has_others: true,
            ..Events::default()
        };
        keyspace.publish(&events, call.host);
    }
    call.reply.ok();
    Ok(())
}

fn rename(part: Part, one: u32, other: u32) -> String {
    let (one, other) = (part.name(one), part.name(other));
    let between = format!("{one}_swapped");
    format!(
        "{DATABASE}.{one} TO {DATABASE}.{between}, {DATABASE}.{other} TO {DATABASE}.{one}, {DATABASE}.{between} TO {DATABASE}.{other}"
    )
}
