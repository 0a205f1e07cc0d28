//! Lists of Redis to which numbers are pushed, each of them once, and a queue of jobs that are moved from one list to another.

use std::collections::BTreeMap;

use redis_wire::Answer;

use super::appends::end_of;
use super::{Client, Did};
use crate::sql::keys::{DONE, JOBS, is_nothing, name_of, numbers_in};
use crate::sql::tables::LISTS;
use crate::workload::Fail;

impl Client<'_> {
    /// By commands of their own, some of them in one pipeline: together with those that others send at the same time.
    pub(super) fn push_numbers(&mut self) -> Did {
        let count = [1, 1, 1, 3][self.random.below(4) as usize];
        let pushed: Vec<(i64, u32)> = (0..count).map(|_| (self.one_of(LISTS), self.number())).collect();
        let begin = |one: &(i64, u32)| self.bench.key_history.begin(&self.name, vec![*one], BTreeMap::new());
        let attempts: Vec<usize> = pushed.iter().map(begin).collect();
        let answers = self.send_commands(&pushed.iter().map(push).collect::<Vec<_>>());
        let mut did = Ok(());
        for (attempt, answer) in attempts.into_iter().zip(answers) {
            self.bench.key_history.end(attempt, end_of(&answer));
            did = did.and(answer.map(drop));
        }
        did
    }

    /// To two lists at once, by MULTI or by a script; behind what the client has read, where WATCH says that it is so still.
    pub(super) fn push_together(&mut self) -> Did {
        let (one, other) = (self.one_of(LISTS), self.one_of(LISTS));
        let pushed = match one == other {
            true => vec![(one, self.number())],
            false => vec![(one, self.number()), (other, self.number())],
        };
        if self.random.below(3) == 0 {
            return self.push_by_script(&pushed);
        }
        let mut behind = BTreeMap::new();
        if self.random.below(2) == 0 {
            self.command(format!("WATCH {}", name_of(one)))?;
            let found = self.command(format!("LRANGE {} 0 -1", name_of(one)));
            match found {
                Ok(found) => behind.insert(one, numbers_in(&found)),
                Err(fail) => return self.give_up("UNWATCH", fail),
            };
            self.think();
        }
        let attempt = self.bench.key_history.begin(&self.name, pushed.clone(), behind);
        let done = self.exec(pushed.iter().map(push));
        let done = done.and_then(|answer| match is_nothing(&answer) {
            true => Err(Fail::No("a key that was watched has changed".into())),
            false => Ok(answer),
        });
        self.bench.key_history.end(attempt, end_of(&done));
        done.map(drop)
    }

    fn push_by_script(&mut self, pushed: &[(i64, u32)]) -> Did {
        let attempt = self
            .bench
            .key_history
            .begin(&self.name, pushed.to_vec(), BTreeMap::new());
        let keys: Vec<String> = pushed.iter().map(|(list, _)| name_of(*list)).collect();
        let numbers: Vec<String> = pushed.iter().map(|(_, number)| number.to_string()).collect();
        // Words are parted by spaces: there is none in it.
        let script = "for\ti=1,#KEYS\tdo\tredis.call('RPUSH',KEYS[i],ARGV[i])\tend";
        let (count, keys, numbers) = (keys.len(), keys.join(" "), numbers.join(" "));
        let done = self.command(format!("EVAL {script} {count} {keys} {numbers}"));
        self.bench.key_history.end(attempt, end_of(&done));
        done.map(drop)
    }

    /// All lists at one moment.
    pub(super) fn read_pushed(&mut self) -> Did {
        let begun = self.bench.key_history.tick();
        let answer = self.exec((0..LISTS).map(|list| format!("LRANGE {} 0 -1", name_of(list))))?;
        let Answer::List(_, all) = answer else {
            return Err(Fail::No("nothing was told".into()));
        };
        let found = (0..).zip(all.iter().map(numbers_in)).collect();
        self.bench.key_history.read(&self.name, begun, found);
        Ok(())
    }

    pub(super) fn offer_by_key(&mut self) -> Did {
        let jobs = self.new_jobs();
        self.bench.key_jobs.offering(&jobs);
        let words: Vec<String> = jobs.iter().map(u32::to_string).collect();
        let done = self.command(format!("RPUSH {JOBS} {}", words.join(" ")));
        self.bench.key_jobs.offered(&jobs, end_of(&done));
        done.map(drop)
    }

    /// At once, or when somebody brings one.
    pub(super) fn take_by_key(&mut self) -> Did {
        let answer = self.command(match self.random.below(2) {
            0 => format!("LMOVE {JOBS} {DONE} LEFT RIGHT"),
            _ => format!("BLMOVE {JOBS} {DONE} LEFT RIGHT 0.3"),
        })?;
        let taken = numbers_in(&answer);
        self.bench.key_jobs.taken(&self.name, &taken, &self.bench.report);
        Ok(())
    }

    /// Commands as one transaction: what EXEC says, or why nothing was done.
    fn exec(&mut self, commands: impl Iterator<Item = String>) -> Result<Answer, Fail> {
        let mut all = vec!["MULTI".to_owned()];
        all.extend(commands);
        all.push("EXEC".to_owned());
        let mut answers = self.send_commands(&all);
        let last = answers.pop().expect("an answer to EXEC");
        last.and_then(|answer| match answer {
            // Each may have failed by itself.
            Answer::List(_, all) if all.iter().any(|one| matches!(one, Answer::Line('-', _))) => {
                Err(Fail::Unknown(format!("{all:?}")))
            }
            answer => Ok(answer),
        })
    }

    fn give_up(&mut self, by: &str, fail: Fail) -> Did {
        drop(self.command(by.to_owned()));
        Err(fail)
    }
}

fn push((list, number): &(i64, u32)) -> String {
    format!("RPUSH {} {number}", name_of(*list))
}
