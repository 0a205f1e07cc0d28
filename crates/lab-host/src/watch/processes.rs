//! Processor time of named processes. A name is looked up anew at each reading, for servers come and go.

use std::collections::BTreeMap;
use std::fs;

/// Clock ticks of user and system time, by (pid, start time): a pid that is used again is another process.
pub type ProcessTimes = BTreeMap<(u32, u64), u64>;

/// A command's name as the kernel keeps it.
const NAME_BYTES: usize = 15;

#[derive(Debug)]
pub struct Processes(Vec<String>);

impl Processes {
    pub fn new(words: &[String]) -> Processes {
        Processes(words.to_vec())
    }

    pub fn times(&self) -> BTreeMap<String, ProcessTimes> {
        let mut times: BTreeMap<String, ProcessTimes> = BTreeMap::new();
        if self.0.is_empty() {
            return times;
        }
        let named = self.0.iter().any(|word| word.parse::<u32>().is_err());
        let pids: Vec<u32> = if named {
            all_pids()
        } else {
            self.0.iter().filter_map(|word| word.parse().ok()).collect()
        };
        for pid in pids {
            let Ok(text) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
                continue;
            };
            let Some(process) = Process::parse(&text) else {
                continue;
            };
            for word in &self.0 {
                if is(word, pid, process.name) {
                    let of_word = times.entry(word.clone()).or_default();
                    of_word.insert((pid, process.started), process.ticks);
                }
            }
        }
        times
    }
}

fn all_pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

fn is(word: &str, pid: u32, name: &str) -> bool {
    match word.parse::<u32>() {
        Ok(number) => number == pid,
        Err(_) => {
            let kept = word.len().min(NAME_BYTES);
            word.as_bytes()[..kept] == *name.as_bytes()
        }
    }
}

struct Process<'a> {
    name: &'a str,
    ticks: u64,
    started: u64,
}

impl Process<'_> {
    /// The name is in brackets, and may hold brackets and blanks itself.
    fn parse(stat: &str) -> Option<Process<'_>> {
        let open = stat.find('(')?;
        let close = stat.rfind(')')?;
        let fields: Vec<&str> = stat.get(close + 1..)?.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Process {
            name: stat.get(open + 1..close)?,
            ticks: number(11)? + number(12)?,
            started: number(19)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat =
            "42 (a) b (c) R 1 42 42 0 -1 4194304 100 0 0 0 7 5 0 0 20 0 1 0 9000 1000000 100 18446744073709551615";
        let process = Process::parse(stat).unwrap();
        assert_eq!(process.name, "a) b (c");
        assert_eq!((process.ticks, process.started), (12, 9000));
        assert!(Process::parse("42 (half").is_none());
    }

    #[test]
    fn a_word_is_a_pid_or_a_name_cut_as_the_kernel_cuts_it() {
        assert!(is("42", 42, "mariadbd"));
        assert!(!is("42", 43, "42"));
        assert!(is("mariadbd", 1, "mariadbd"));
        assert!(!is("mariadb", 1, "mariadbd"));
        assert!(is("a-very-long-command", 1, "a-very-long-com"));
    }

    #[test]
    fn this_process_is_found_by_pid() {
        let me = std::process::id().to_string();
        let times = Processes::new(std::slice::from_ref(&me)).times();
        assert_eq!(times[&me].len(), 1);
    }
}
