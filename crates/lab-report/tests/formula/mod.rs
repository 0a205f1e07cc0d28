//! Formulas computed from raw files, by the words of `docs/lab/report.md` and nothing else.

#![allow(dead_code, clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::Value as Json;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Number(f64),
    List(Vec<f64>),
    Text(String),
    Json(Rc<Json>),
}

/// The files of one or several series, by the letter of each.
pub struct Files {
    series: BTreeMap<String, Folder>,
    read: RefCell<BTreeMap<PathBuf, Rc<Json>>>,
    published: Rc<Json>,
}

struct Folder {
    path: PathBuf,
    rungs: BTreeMap<u64, PathBuf>,
}

enum Term {
    Leaf(String),
    Call(String, Vec<Term>),
}

type Answer<T> = Result<T, String>;

impl Files {
    pub fn of(series: &[(&str, &Path)]) -> Files {
        let folder = |path: &Path| {
            let rungs = std::fs::read_dir(path.join("rungs"))
                .unwrap()
                .map(|entry| entry.unwrap().path());
            Folder {
                path: path.to_owned(),
                rungs: rungs
                    .filter(|rung| rung.join("rung.json").exists())
                    .map(|rung| {
                        let text = std::fs::read_to_string(rung.join("rung.json")).unwrap();
                        let json: Json = serde_json::from_str(&text).unwrap();
                        (json["index"].as_u64().unwrap(), rung)
                    })
                    .collect(),
            }
        };
        let published: toml::Table = toml::from_str(include_str!("../../data/published.toml")).unwrap();
        Files {
            series: series
                .iter()
                .map(|(letter, path)| (letter.to_string(), folder(path)))
                .collect(),
            read: RefCell::default(),
            published: Rc::new(serde_json::to_value(published).unwrap()),
        }
    }

    pub fn number(&self, formula: &str) -> Answer<f64> {
        number(self.value(formula)?)
    }

    pub fn value(&self, formula: &str) -> Answer<Value> {
        let mut rest = formula;
        let term = parse(&mut rest)?;
        if rest.is_empty() {
            self.term(&term)
        } else {
            Err(format!("{rest:?} is left over"))
        }
    }

    /// What stands at a place, as text.
    pub fn text(&self, place: &str) -> Answer<String> {
        Ok(match self.reference(place)? {
            Value::Json(json) => match &*json {
                Json::String(text) => text.clone(),
                other => other.to_string().replace("\\\"", "\""),
            },
            other => format!("{other:?}"),
        })
    }

    fn term(&self, term: &Term) -> Answer<Value> {
        match term {
            Term::Leaf(text) => match text.parse::<f64>() {
                Ok(number) => Ok(Value::Number(number)),
                Err(_) => self.reference(text),
            },
            Term::Call(name, arguments) => self.call(name, arguments),
        }
    }

    fn call(&self, name: &str, arguments: &[Term]) -> Answer<Value> {
        let numbers = |from: usize| -> Answer<Vec<f64>> {
            arguments[from..].iter().map(|term| number(self.term(term)?)).collect()
        };
        let histograms = |from: usize| -> Answer<Vec<Histogram>> {
            arguments[from..]
                .iter()
                .map(|term| histogram(&self.term(term)?))
                .collect()
        };
        let at = |index: usize| -> Answer<f64> { number(self.term(&arguments[index])?) };
        let given = |index: usize| -> Answer<&str> {
            match &arguments[index] {
                Term::Leaf(text) => Ok(text),
                Term::Call(..) => Err("a name is wanted".into()),
            }
        };
        let plain = |value: f64| Ok(Value::Number(value));
        match name {
            "add" => plain(numbers(0)?.iter().sum()),
            "sub" => plain(at(0)? - at(1)?),
            "mul" => plain(at(0)? * at(1)?),
            "div" => plain(at(0)? / at(1)?),
            "median" => plain(median(numbers(0)?)),
            "spread" => {
                let all = numbers(0)?;
                let (low, high) = all
                    .iter()
                    .fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
                plain((high - low) / median(all))
            }
            "lo" | "hi" => {
                let all = numbers(1)?;
                let ends = bootstrap(at(0)? as u64, &[all.len()], |draw| {
                    median(draw[0].iter().map(|&i| all[i]).collect())
                });
                plain(if name == "lo" { ends.0 } else { ends.1 })
            }
            "quantile" => plain(quantile(at(0)?, &histograms(1)?)),
            "qlo" | "qhi" => {
                let (q, all) = (at(1)?, histograms(2)?);
                let ends = bootstrap(at(0)? as u64, &[all.len()], |draw| quantile_drawn(q, &all, &draw[0]));
                plain(if name == "qlo" { ends.0 } else { ends.1 })
            }
            "dlo" | "dhi" => {
                let (bases, all) = (at(1)? as usize, numbers(2)?);
                let (base, other) = all.split_at(bases);
                let of = |values: &[f64], draw: &[usize]| median(draw.iter().map(|&i| values[i]).collect());
                let ends = bootstrap(at(0)? as u64, &[base.len(), other.len()], |draw| {
                    of(other, &draw[1]) / of(base, &draw[0])
                });
                plain(if name == "dlo" { ends.0 } else { ends.1 })
            }
            "dqlo" | "dqhi" => {
                let (q, bases, all) = (at(1)?, at(2)? as usize, histograms(3)?);
                let (base, other) = all.split_at(bases);
                let ends = bootstrap(at(0)? as u64, &[base.len(), other.len()], |draw| {
                    quantile_drawn(q, other, &draw[1]) / quantile_drawn(q, base, &draw[0])
                });
                plain(if name == "dqlo" { ends.0 } else { ends.1 })
            }
            "mean" => {
                let all: Histogram = histograms(0)?.concat();
                let count: f64 = all.iter().map(|(_, count)| *count as f64).sum();
                plain(all.iter().map(|(us, count)| *us as f64 * *count as f64).sum::<f64>() / count)
            }
            "count" => plain(histograms(0)?.concat().iter().map(|(_, count)| *count as f64).sum()),
            "change" | "perhour" => {
                let Value::List(values) = self.term(&arguments[0])? else {
                    return Err("a list is wanted".into());
                };
                let (change, per_hour) = theil_sen(&values);
                plain(if name == "change" { change } else { per_hour })
            }
            "heat" => self.heat(given(0)?, [at(1)?, at(2)?, at(3)?, at(4)?]),
            "asked" => {
                let phases = self.json(given(0)?)?;
                let phases = phases.as_array().ok_or("phases are wanted")?;
                let ends = phases
                    .iter()
                    .flat_map(|phase| [&phase["from_per_s"], &phase["to_per_s"]]);
                Ok(Value::List(ends.map(|end| end.as_f64().unwrap()).collect()))
            }
            "secq" => self.second_quantiles(at(0)?, given(1)?),
            "busy" | "steal" | "received" | "sent" => self.samples(name, given(0)?, given(1)?),
            "length" => plain(self.json(given(0)?)?.as_array().ok_or("a list is wanted")?.len() as f64),
            "repeats" => plain(arguments.len() as f64),
            "rungs" => plain(self.series[""].rungs.len() as f64),
            "voids" => self.voids(),
            "votes" | "judged" => {
                let (wanted, from) = if name == "votes" {
                    (Some(given(0)?), 1)
                } else {
                    (None, 0)
                };
                let mut count = 0.0;
                for index in from..arguments.len() {
                    let found = self.json(&format!("{}#/verdict", given(index)?))?;
                    let agrees = wanted.is_none_or(|wanted| found["bottleneck"].as_str() == Some(wanted));
                    count += f64::from(u8::from(!found.is_null() && agrees));
                }
                plain(count)
            }
            "loads" => self.planned(given(0)?, "threads_total", at(1)?),
            "rates" => self.planned(given(0)?, "rate_per_s", at(1)?),
            "utc" => Ok(Value::Text(utc(at(0)?))),
            "duration" => Ok(Value::Text(duration((at(1)? - at(0)?) / 1e6))),
            "days" => {
                let date = self.text(given(0)?)?;
                plain((at(1)? / 86_400e6).floor() - days(&date))
            }
            "list" => self.list(given(0)?, given(1)?),
            other => Err(format!("no function {other}")),
        }
    }

    /// `[letter]file[/part]#/pointer`.
    fn reference(&self, text: &str) -> Answer<Value> {
        let (file, pointer) = text.split_once('#').ok_or(format!("{text:?} names no file"))?;
        let pointer = decoded(pointer);
        if file.ends_with("/seconds") || file.ends_with("/samples") {
            let lines = self.lines(file)?;
            let counted = lines
                .iter()
                .filter(|line| line["second"].as_i64().is_none_or(|second| second >= 0));
            if file.ends_with("/samples") {
                return Ok(Value::Json(Rc::new(Json::Array(counted.cloned().collect()))));
            }
            return counted
                .map(|line| {
                    line.pointer(&pointer)
                        .and_then(Json::as_f64)
                        .ok_or(format!("{text}: no number"))
                })
                .collect::<Answer<Vec<f64>>>()
                .map(Value::List);
        }
        let json = self.file(file)?;
        let found = json.pointer(&pointer).ok_or(format!("nothing at {text}"))?;
        Ok(Value::Json(Rc::new(found.clone())))
    }

    fn json(&self, text: &str) -> Answer<Rc<Json>> {
        match self.reference(text)? {
            Value::Json(json) => Ok(json),
            other => Err(format!("{other:?}")),
        }
    }

    fn file(&self, name: &str) -> Answer<Rc<Json>> {
        if name == "published" {
            return Ok(self.published.clone());
        }
        let (folder, name) = self.folder(name)?;
        let path = match name.strip_prefix('r').and_then(|index| index.parse::<u64>().ok()) {
            Some(index) => folder
                .rungs
                .get(&index)
                .ok_or(format!("no rung {index}"))?
                .join("rung.json"),
            None => folder.path.join(format!("{name}.json")),
        };
        self.cached(&path, |text| serde_json::from_str(text).unwrap())
    }

    fn lines(&self, name: &str) -> Answer<Vec<Json>> {
        let (folder, name) = self.folder(name)?;
        let (rung, part) = name.split_once('/').ok_or("a rung's part is wanted")?;
        let index: u64 = rung[1..].parse().map_err(|_| format!("{rung} is no rung"))?;
        let path = folder
            .rungs
            .get(&index)
            .ok_or(format!("no rung {index}"))?
            .join(format!("{part}.jsonl"));
        let all = self.cached(&path, |text| {
            text.lines()
                .map(|line| serde_json::from_str::<Json>(line).unwrap())
                .collect()
        })?;
        Ok(all.as_array().unwrap().clone())
    }

    fn folder<'a>(&self, name: &'a str) -> Answer<(&Folder, &'a str)> {
        let (letter, rest) = match name.split_once(':') {
            Some((letter, rest)) => (format!("{letter}:"), rest),
            None => (String::new(), name),
        };
        self.series
            .get(&letter)
            .map(|folder| (folder, rest))
            .ok_or(format!("no series {letter}"))
    }

    fn cached(&self, path: &Path, read: impl Fn(&str) -> Json) -> Answer<Rc<Json>> {
        if let Some(json) = self.read.borrow().get(path) {
            return Ok(json.clone());
        }
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let json = Rc::new(read(&text));
        self.read.borrow_mut().insert(path.to_owned(), json.clone());
        Ok(json)
    }

    fn second_quantiles(&self, q: f64, place: &str) -> Answer<Value> {
        let (file, _) = place.split_once('#').ok_or("a file is wanted")?;
        let lines = self.lines(file)?;
        let values = lines
            .iter()
            .filter(|line| line["second"].as_i64().unwrap() >= 0)
            .map(|line| pairs(&line["latency"]))
            .filter(|histogram| !histogram.is_empty())
            .map(|histogram| quantile(q, &[histogram]) / 1_000.0)
            .collect();
        Ok(Value::List(values))
    }

    /// Column by column of so many seconds, the share of its transactions in each of the rows: row i holds what took at least
    /// 10^((first + i) / steps) µs and less than the next.
    fn heat(&self, place: &str, [width, steps, first, rows]: [f64; 4]) -> Answer<Value> {
        let (file, pointer) = place.split_once('#').ok_or("a file is wanted")?;
        let lines = if file.ends_with("/seconds") {
            self.lines(file)?
        } else {
            let all = self.file(file)?;
            let list = all.pointer(&decoded(pointer)).ok_or(format!("nothing at {place}"))?;
            list.as_array().ok_or("a list is wanted")?.clone()
        };
        let mut columns: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for line in lines.iter().filter(|line| line["second"].as_i64().unwrap() >= 0) {
            let column = line["second"].as_i64().unwrap() / width as i64;
            let cells = columns.entry(column).or_insert_with(|| vec![0.0; rows as usize]);
            let held = line.get("latency").map(pairs).unwrap_or_default();
            for (us, count) in held {
                let row = (0..rows as usize)
                    .rev()
                    .find(|row| us as f64 >= 10_f64.powf((first + *row as f64) / steps))
                    .ok_or("below the first row")?;
                cells[row] += count as f64;
            }
        }
        let last = columns.keys().max().copied().ok_or("no seconds")?;
        let shares = (0..=last).flat_map(|column| {
            let cells = columns
                .get(&column)
                .cloned()
                .unwrap_or_else(|| vec![0.0; rows as usize]);
            let whole: f64 = cells.iter().sum();
            cells
                .into_iter()
                .map(move |count| if whole > 0.0 { count / whole } else { 0.0 })
        });
        Ok(Value::List(shares.collect()))
    }

    fn samples(&self, what: &str, place: &str, node: &str) -> Answer<Value> {
        let (file, _) = place.split_once('#').ok_or("a file is wanted")?;
        let rung = self.file(file.strip_suffix("/samples").ok_or("samples are wanted")?)?;
        let node = decoded(node.trim_start_matches("#/"));
        let (started, length) = (rung["started"].as_f64().unwrap(), rung["measured_s"].as_f64().unwrap());
        let values = self
            .lines(file)?
            .iter()
            .filter(|sample| sample["node"] == node.as_str())
            .filter(|sample| {
                sample["at"].as_f64().is_some_and(|at| {
                    let second = (at - started) / 1e6;
                    second > 0.0 && second <= length + 0.5
                })
            })
            .map(|sample| {
                let cpu = |field: &str| sample["cpu"][field].as_f64().unwrap();
                let network = |field: &str| {
                    let bytes: f64 = sample["network"]
                        .as_object()
                        .unwrap()
                        .values()
                        .map(|nic| nic[field].as_f64().unwrap())
                        .sum();
                    let span = sample["span_s"].as_f64().unwrap();
                    bytes / if span > 0.0 { span } else { 1.0 } / 1e6
                };
                match what {
                    "busy" => ((1.0 - cpu("idle") - cpu("iowait")) * 100.0).clamp(0.0, 100.0),
                    "steal" => (cpu("steal") * 100.0).clamp(0.0, 100.0),
                    "received" => network("rx_bytes"),
                    _ => network("tx_bytes"),
                }
            })
            .collect();
        Ok(Value::List(values))
    }

    fn voids(&self) -> Answer<Value> {
        let mut count = 0.0;
        for index in self.series[""].rungs.keys() {
            count += f64::from(u8::from(!self.json(&format!("r{index}#/void"))?.is_null()));
        }
        Ok(Value::Number(count))
    }

    /// A load that some rung of the series was measured at.
    fn planned(&self, run: &str, field: &str, wanted: f64) -> Answer<Value> {
        let letter = run.strip_suffix("run").ok_or("run is wanted")?;
        for index in self.series[letter].rungs.keys() {
            let load = self.json(&format!("{letter}r{index}#/load"))?;
            if load[field].as_f64() == Some(wanted) {
                return Ok(Value::Number(wanted));
            }
        }
        Err(format!("no rung has {field} {wanted}"))
    }

    fn list(&self, place: &str, fields: &str) -> Answer<Value> {
        let json = self.json(place)?;
        let sum = |line: &Json| {
            fields
                .split('+')
                .map(|field| line[field].as_f64().unwrap())
                .sum::<f64>()
        };
        Ok(Value::List(
            json.as_array().ok_or("a list is wanted")?.iter().map(sum).collect(),
        ))
    }
}

type Histogram = Vec<(u64, u64)>;

fn pairs(json: &Json) -> Histogram {
    json.as_array()
        .unwrap()
        .iter()
        .map(|pair| (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap()))
        .collect()
}

fn histogram(value: &Value) -> Answer<Histogram> {
    match value {
        Value::Json(json) if json.is_array() => Ok(pairs(json)),
        other => Err(format!("{other:?} is no histogram")),
    }
}

/// The value of rank ceil(q x count), at least 1, of all histograms together.
fn quantile(q: f64, histograms: &[Histogram]) -> f64 {
    let indices: Vec<usize> = (0..histograms.len()).collect();
    quantile_drawn(q, histograms, &indices)
}

fn quantile_drawn(q: f64, histograms: &[Histogram], draw: &[usize]) -> f64 {
    let mut sum: BTreeMap<u64, u64> = BTreeMap::new();
    for &index in draw {
        for &(us, count) in &histograms[index] {
            *sum.entry(us).or_default() += count;
        }
    }
    let total: u64 = sum.values().sum();
    let rank = ((q * total as f64).ceil() as u64).max(1);
    let mut reached = 0;
    for (us, count) in sum {
        reached += count;
        if reached >= rank {
            return us as f64;
        }
    }
    0.0
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

/// 2,000 resamples by SplitMix64; of each group as many indices as it has members, drawn one after the other; the
/// 51st lowest and the 51st highest outcome.
fn bootstrap(seed: u64, groups: &[usize], statistic: impl Fn(&[Vec<usize>]) -> f64) -> (f64, f64) {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut known: BTreeMap<Vec<Vec<usize>>, f64> = BTreeMap::new();
    let mut outcomes: Vec<f64> = (0..2_000)
        .map(|_| {
            let draws: Vec<Vec<usize>> = groups
                .iter()
                .map(|&size| {
                    let mut draw: Vec<usize> = (0..size)
                        .map(|_| (((next() >> 32) * size as u64) >> 32) as usize)
                        .collect();
                    draw.sort();
                    draw
                })
                .collect();
            *known.entry(draws).or_insert_with_key(|draws| statistic(draws))
        })
        .collect();
    outcomes.sort_by(|a, b| a.partial_cmp(b).unwrap());
    (outcomes[50], outcomes[1_949])
}

/// Change over the interval and per hour, as shares of the median.
fn theil_sen(values: &[f64]) -> (f64, f64) {
    let width = values.len().div_ceil(360);
    let blocks: Vec<f64> = values
        .chunks_exact(width)
        .map(|block| block.iter().sum::<f64>() / width as f64)
        .collect();
    let mut slopes = Vec::new();
    for i in 0..blocks.len() {
        for j in i + 1..blocks.len() {
            slopes.push((blocks[j] - blocks[i]) / ((j - i) * width) as f64);
        }
    }
    let (slope, middle) = (median(slopes), median(blocks));
    (slope * values.len() as f64 / middle, slope * 3_600.0 / middle)
}

pub fn number(value: Value) -> Answer<f64> {
    match value {
        Value::Number(number) => Ok(number),
        Value::Json(json) => match &*json {
            Json::Number(number) => Ok(number.as_f64().unwrap()),
            // Facts of a plan are text.
            Json::String(text) => text.parse().map_err(|_| format!("{text:?} is no number")),
            other => Err(format!("{other} is no number")),
        },
        other => Err(format!("{other:?} is no number")),
    }
}

fn parse(rest: &mut &str) -> Answer<Term> {
    let end = rest.find(['(', ',', ')']).unwrap_or(rest.len());
    let name = rest[..end].to_owned();
    *rest = &rest[end..];
    if !rest.starts_with('(') {
        return Ok(Term::Leaf(name));
    }
    *rest = &rest[1..];
    let mut arguments = Vec::new();
    if let Some(after) = rest.strip_prefix(')') {
        *rest = after;
        return Ok(Term::Call(name, arguments));
    }
    loop {
        arguments.push(parse(rest)?);
        match rest.chars().next() {
            Some(',') => *rest = &rest[1..],
            Some(')') => {
                *rest = &rest[1..];
                return Ok(Term::Call(name, arguments));
            }
            _ => return Err(format!("{name}( does not end")),
        }
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Days since the epoch, counted year by year.
fn days(date: &str) -> f64 {
    let parts: Vec<i64> = date.split('-').map(|part| part.parse().unwrap()).collect();
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = |year: i64| {
        [
            31,
            if leap(year) { 29 } else { 28 },
            31,
            30,
            31,
            30,
            31,
            31,
            30,
            31,
            30,
            31,
        ]
    };
    let years: i64 = (1970..parts[0]).map(|year| lengths(year).iter().sum::<i64>()).sum();
    let months: i64 = lengths(parts[0])[..parts[1] as usize - 1].iter().sum();
    (years + months + parts[2] - 1) as f64
}

fn utc(micros: f64) -> String {
    let seconds = (micros / 1e6).floor() as i64;
    let (mut year, mut month, mut day) = (1970, 1, 1);
    let target = seconds.div_euclid(86_400);
    // Day by day is slow and certain.
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    for _ in 0..target {
        let length = match month {
            2 => 28 + i64::from(leap(year)),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        day += 1;
        if day > length {
            (day, month) = (1, month + 1);
        }
        if month > 12 {
            (month, year) = (1, year + 1);
        }
    }
    let of_day = seconds.rem_euclid(86_400);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60
    )
}

fn duration(seconds: f64) -> String {
    let seconds = seconds as u64;
    if seconds < 60 {
        format!("{seconds} s")
    } else if seconds < 3_600 {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    } else {
        format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60)
    }
}
