//! What sysbench prints, as figures: the interval lines, the histogram, the statistics at the end.
//!
//! Its percentile is the edge of a bucket and can lie above its maximum; with `--histogram` all buckets are there, and any
//! percentile can be taken from them.

use lab_results::Latency;

/// A run's output. What was not printed is zero, empty or `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    pub intervals: Vec<Interval>,
    /// `(highest value of the bucket in ms, count)`.
    pub histogram: Vec<(f64, u64)>,
    pub reads: u64,
    pub writes: u64,
    pub others: u64,
    pub transactions: u64,
    pub queries: u64,
    pub ignored_errors: u64,
    pub reconnects: u64,
    pub total_time_s: f64,
    pub latency_min_ms: f64,
    pub latency_avg_ms: f64,
    pub latency_max_ms: f64,
    /// Which percentile (95) and its value.
    pub percentile: Option<(f64, f64)>,
    /// Lines that begin with FATAL, without it.
    pub fatal: Vec<String>,
}

/// A line of `--report-interval`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval {
    /// Seconds since the start, at the end of the interval.
    pub at_s: f64,
    pub threads: u32,
    pub tps: f64,
    pub qps: f64,
    pub percentile_ms: f64,
    pub errors_per_s: f64,
    pub reconnects_per_s: f64,
}

impl Report {
    /// Reads whatever of sysbench's output is there; other lines are passed over.
    pub fn parse(text: &str) -> Report {
        let mut report = Report::default();
        text.lines().for_each(|line| report.line(line));
        report
    }

    pub(super) fn line(&mut self, line: &str) {
        let line = line.trim();
        if line.starts_with('[') {
            self.intervals.extend(Interval::parse(line));
        } else if let Some(fatal) = line.strip_prefix("FATAL:") {
            self.fatal.push(fatal.trim().to_owned());
        } else if let Some((value, rest)) = line.split_once(" |") {
            let count = rest.rsplit([' ', '*']).next().and_then(|count| count.parse().ok());
            if let (Ok(value), Some(count)) = (value.trim().parse(), count) {
                self.histogram.push((value, count));
            }
        } else if let Some((name, value)) = line.split_once(':') {
            self.named(name, value);
        }
    }

    fn named(&mut self, name: &str, value: &str) {
        let first = value.split_whitespace().next().unwrap_or_default();
        let count = || first.parse().unwrap_or_default();
        let real = || first.trim_end_matches('s').parse().unwrap_or_default();
        match name {
            "read" => self.reads = count(),
            "write" => self.writes = count(),
            "other" => self.others = count(),
            "transactions" => self.transactions = count(),
            "queries" => self.queries = count(),
            "ignored errors" => self.ignored_errors = count(),
            "reconnects" => self.reconnects = count(),
            // The newer line says "time elapsed".
            "total time" | "time elapsed" => self.total_time_s = real(),
            "min" => self.latency_min_ms = real(),
            "avg" => self.latency_avg_ms = real(),
            "max" => self.latency_max_ms = real(),
            _ => {
                if let Some(which) = name.strip_suffix("th percentile") {
                    self.percentile = which.parse().ok().map(|which| (which, real()));
                }
            }
        }
    }

    /// The histogram as a distribution; empty without `--histogram`.
    pub fn latency(&self) -> Latency {
        let mut latency = Latency::default();
        for (value_ms, count) in &self.histogram {
            latency.record_us_times((value_ms * 1e3).round() as u64, *count);
        }
        latency
    }
}

impl Interval {
    /// `[ 1s ] thds: 8 tps: 415.98 qps: 8319.6 (r/w/o: …) lat (ms,95%): 0.42 err/s: 0.00 reconn/s: 0.00`
    fn parse(line: &str) -> Option<Interval> {
        let (at, rest) = line.strip_prefix('[')?.split_once(']')?;
        let after = |label: &str| -> Option<f64> {
            let (_, value) = rest.split_once(label)?;
            value.split_whitespace().next()?.parse().ok()
        };
        let latency = rest
            .split_once("lat (ms,")
            .and_then(|(_, rest)| rest.split_once("):"))
            .and_then(|(_, value)| value.split_whitespace().next()?.parse().ok());
        Some(Interval {
            at_s: at.trim().strip_suffix('s')?.parse().ok()?,
            threads: after("thds: ")? as u32,
            tps: after("tps: ")?,
            qps: after("qps: ")?,
            percentile_ms: latency.unwrap_or_default(),
            errors_per_s: after("err/s: ").unwrap_or_default(),
            reconnects_per_s: after("reconn/s: ").unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Threads started!

[ 1s ] thds: 8 tps: 1314.17 qps: 26360.32 (r/w/o: 18463.31/5259.68/2637.33) lat (ms,95%): 9.22 err/s: 1.99 reconn/s: 0.00
[ 2s ] thds: 8 tps: 1407.05 qps: 28139.03 (r/w/o: 19693.72/5629.21/2816.10) lat (ms,95%): 8.58 err/s: 0.00 reconn/s: 0.00
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       2.389 |                                         1
       5.470 |**************************************** 2700
       8.580 |*********                                25
SQL statistics:
    queries performed:
        read:                            38178
        write:                           10908
        other:                           5454
        total:                           54540
    transactions:                        2726   (1361.60 per sec.)
    queries:                             54540  (27242.03 per sec.)
    ignored errors:                      2      (1.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          2.0009s
    total number of events:              2726

Latency (ms):
         min:                                    2.37
         avg:                                    5.87
         max:                                    8.57
         95th percentile:                        8.58
         sum:                                16001.00
";

    #[test]
    fn every_figure_is_read() {
        let report = Report::parse(OUTPUT);
        assert_eq!(report.intervals.len(), 2);
        let first = report.intervals[0];
        assert_eq!((first.at_s, first.threads, first.tps), (1.0, 8, 1314.17));
        assert_eq!(
            (first.qps, first.percentile_ms, first.errors_per_s),
            (26360.32, 9.22, 1.99)
        );
        assert_eq!((report.reads, report.writes, report.others), (38178, 10908, 5454));
        assert_eq!(
            (report.transactions, report.queries, report.ignored_errors),
            (2726, 54540, 2)
        );
        assert_eq!((report.total_time_s, report.latency_max_ms), (2.0009, 8.57));
        assert_eq!(report.percentile, Some((95.0, 8.58)));
        let latency = report.latency();
        assert_eq!((latency.count(), latency.quantile_us(0.5)), (2726, Some(5471)));
    }

    #[test]
    fn a_fatal_line_is_kept() {
        let report = Report::parse("FATAL: error 2002: Can't connect\n(last message repeated 1 times)");
        assert_eq!(report.fatal, ["error 2002: Can't connect"]);
    }
}
