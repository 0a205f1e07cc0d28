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
            let by_number = self.0.iter().any(|word| word.parse() == Ok(pid));
            for word in &self.0 {
                // A process that was given by its pid is not one of its name's: the lab and the server may be one binary.
                let is_meant = match word.parse::<u32>() {
                    Ok(number) => number == pid,
                    Err(_) => !by_number && has_name(word, process.name),
                };
                if is_meant {
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

fn has_name(word: &str, name: &str) -> bool {
    let kept = word.len().min(NAME_BYTES);
    word.as_bytes()[..kept] == *name.as_bytes()
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
    fn a_name_is_cut_as_the_kernel_cuts_it() {
        assert!(has_name("mariadbd", "mariadbd"));
        assert!(!has_name("mariadb", "mariadbd"));
        assert!(has_name("a-very-long-command", "a-very-long-com"));
    }

    #[test]
    fn a_process_given_by_pid_is_not_counted_under_its_name() {
        let pid = std::process::id().to_string();
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        let name = Process::parse(&stat).unwrap().name.to_owned();
        let by_name = Processes::new(std::slice::from_ref(&name)).times();
        let me = |times: &BTreeMap<String, ProcessTimes>, word: &str| {
            let pids = times.get(word).into_iter().flatten().map(|(process, _)| process.0);
            pids.filter(|found| found.to_string() == pid).count()
        };
        assert_eq!(me(&by_name, &name), 1);
        let by_both = Processes::new(&[name.clone(), pid.clone()]).times();
        assert_eq!((me(&by_both, &name), me(&by_both, &pid)), (0, 1));
    }
}
