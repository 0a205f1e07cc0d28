//! `/metrics`: the names, units and help texts under which the figures are published.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelValue, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::node::{Distribution, Figures};

/// The figures as OpenMetrics text.
pub fn exposition(figures: Figures) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("latsdb");
    registry.register_collector(Box::new(Arc::new(Published(figures))));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Published(Figures);

impl Collector for Published {
    fn encode(&self, encoder: DescriptorEncoder) -> fmt::Result {
        let f = &self.0;
        let mut page = Page(encoder);
        page.labelled_gauge("build", "Version of this node", "version", [(f.version.as_str(), 1)])?;
        page.seconds("uptime", "Time since the node started", f.uptime_seconds)?;

        page.gauge(
            "serving",
            "1: clients are served; 0: /health says why not",
            u64::from(f.is_serving),
        )?;

        page.gauge("connections_open", "Client connections open now", f.connections_open)?;
        page.counter(
            "connections_accepted",
            "Client connections accepted",
            f.connections_accepted,
        )?;
        page.counter(
            "connections_refused",
            "Client connections refused: limit, bad login, bad packets",
            f.connections_refused,
        )?;

        page.counter(
            "logins_denied",
            "Logins with a wrong password or an unknown user",
            f.logins_denied,
        )?;
        page.counter(
            "logins_delayed",
            "Logins that had to wait because of earlier failures",
            f.logins_delayed,
        )?;
        page.counter(
            "logins_refused",
            "Logins refused because too many waited",
            f.logins_refused,
        )?;
        page.counter(
            "logins_pushed_out",
            "Unfinished logins that made room for new ones",
            f.logins_pushed_out,
        )?;

        let cut = f.answers_cut.iter().map(|(why, n)| (why.as_str(), *n));
        page.labelled_counter(
            "answers_cut",
            "Answers cut because their clients did not read them, by the reason",
            "reason",
            cut,
        )?;

        let statements = f.statements.iter().map(|(kind, n)| (kind.as_str(), *n));
        page.labelled_counter("statements", "Statements finished, by kind", "kind", statements)?;
        page.labelled_counter(
            "errors",
            "Errors sent to clients, by MySQL number",
            "number",
            f.errors.iter().copied(),
        )?;

        page.counter(
            "panics",
            "Panics of any thread since the start: each is a defect",
            f.panics,
        )?;
        page.distribution(
            "commit",
            "From the request to commit until its answer",
            Some(&Unit::Seconds),
            &f.commit_seconds,
        )?;
        page.distribution(
            "commit_group_size",
            "Transactions per log entry",
            None,
            &f.commit_group_size,
        )?;
        page.distribution(
            "log_sync",
            "One sync of the log to disk",
            Some(&Unit::Seconds),
            &f.log_sync_seconds,
        )?;
        page.counter("log_written_bytes", "Bytes written to the log", f.log_bytes_written)?;
        page.gauge(
            "log_unsynced_milliseconds",
            "How long the oldest commit has waited that was answered and is not on the disk",
            f.log_unsynced_ms,
        )?;

        page.gauge(
            "log_unchecked_bytes",
            "Log that no checkpoint covers: a restart replays it",
            f.log_unchecked_bytes,
        )?;
        page.counter("checkpoints", "Checkpoints written", f.checkpoints)?;
        page.counter(
            "checkpoint_failures",
            "Tries to write a checkpoint that came to nothing",
            f.checkpoint_failures,
        )?;
        if let Some(disk) = f.disk {
            page.gauge("disk_size_bytes", "Size of the data directory's disk", disk.size_bytes)?;
            page.gauge(
                "disk_free_bytes",
                "Room that the node may still take of the data directory's disk",
                disk.free_bytes,
            )?;
        }

        let memory = f.memory_used_bytes.iter().map(|(used_for, n)| (used_for.as_str(), *n));
        page.labelled_gauge("memory_used_bytes", "Memory accounted, by use", "use", memory)?;
        page.gauge(
            "memory_limit_bytes",
            "The hard limit of accounted memory",
            f.memory_limit_bytes,
        )?;
        page.gauge(
            "memory_allocated_bytes",
            "What the whole process has allocated",
            f.memory_allocated_bytes,
        )?;
        page.gauge(
            "memory_resident_bytes",
            "What the process takes of the system's memory",
            f.memory_resident_bytes,
        )?;
        page.counter(
            "compaction_passes",
            "Passes over all rows that moved some out of sparse pages",
            f.compaction_passes,
        )?;
        page.counter(
            "compaction_moved",
            "Row versions and index entries moved out of sparse pages",
            f.compaction_moved,
        )?;
        page.counter(
            "compaction_moved_bytes",
            "Bytes of row versions and index entries moved out of sparse pages",
            f.compaction_moved_bytes,
        )?;
        page.gauge(
            "past_bytes",
            "Superseded row versions and dead index entries, kept or not collected yet",
            f.past_bytes,
        )?;
        page.gauge(
            "past_readable_milliseconds",
            "How long ago the oldest moment was that AS OF TIMESTAMP can read, in ms",
            f.past_readable_ms,
        )?;
        page.gauge("rows", "Rows in all tables", f.rows)?;

        page.gauge("locks_held", "Row and key locks held now", f.locks_held)?;
        page.counter("lock_waits", "Times a statement waited for a lock", f.lock_waits)?;
        page.counter("deadlocks", "Transactions rolled back to break a deadlock", f.deadlocks)?;

        page.gauge("shard_leads", "1: this node leads the shard", u64::from(f.leads))?;
        page.gauge(
            "shard_has_leader",
            "1: this node knows who leads the shard",
            u64::from(f.has_leader),
        )?;
        page.gauge(
            "shard_lag_entries",
            "Log entries that some node has written and this one has not applied",
            f.lag_entries,
        )?;
        page.gauge(
            "witness",
            "1: this node votes and keeps the log, and has no rows",
            u64::from(f.is_witness),
        )?;
        page.gauge(
            "feature_level",
            "Feature level of the cluster",
            u64::from(f.feature_level),
        )?;
        page.gauge(
            "feature_level_highest",
            "Highest feature level that this node speaks",
            u64::from(f.feature_level_highest),
        )?;
        page.gauge("shard_term", "The shard's term: each leader has one of its own", f.term)?;
        page.gauge("shard_applied_index", "Newest log entry applied here", f.applied_index)?;
        page.counter(
            "cluster_calls",
            "Calls to the leader for sessions of this node",
            f.cluster_calls,
        )?;
        page.gauge(
            "cluster_guests",
            "Transactions of other nodes that hold locks here",
            f.cluster_guests,
        )?;
        page.counter(
            "messages_to_nodes",
            "Messages of Redis clients that other nodes have taken for theirs",
            f.messages_to_nodes,
        )?;
        page.counter(
            "messages_from_nodes",
            "Messages of Redis clients of other nodes for those of this one",
            f.messages_from_nodes,
        )?;
        page.counter(
            "messages_lost",
            "Messages for clients of other nodes that were lost: the node was out of reach, or too slow",
            f.messages_lost,
        )?;
        let trips = f.peer_round_trip_micros.iter();
        let trips = trips
            .map(|(node, micros)| (node.to_string(), *micros))
            .collect::<Vec<_>>();
        page.labelled_gauge(
            "peer_round_trip_microseconds",
            "Round trip to another node, smoothed; absent: it cannot be reached",
            "node",
            trips.iter().map(|(node, micros)| (node.as_str(), *micros)),
        )
    }
}

/// The encoder with one method per shape of figure.
struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let gauge = ConstGauge::new(signed(value));
        gauge.encode(self.0.encode_descriptor(name, help, None, MetricType::Gauge)?)
    }

    fn seconds(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        ConstGauge::new(value).encode(
            self.0
                .encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Gauge)?,
        )
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        ConstCounter::new(value).encode(self.0.encode_descriptor(name, help, None, MetricType::Counter)?)
    }

    fn labelled_gauge<V: EncodeLabelValue>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: impl IntoIterator<Item = (V, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (label_value, value) in values {
            ConstGauge::new(signed(value)).encode(family.encode_family(&[(label, label_value)])?)?;
        }
        Ok(())
    }

    fn labelled_counter<V: EncodeLabelValue>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: impl IntoIterator<Item = (V, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (label_value, value) in values {
            ConstCounter::new(value).encode(family.encode_family(&[(label, label_value)])?)?;
        }
        Ok(())
    }

    fn distribution(&mut self, name: &str, help: &str, unit: Option<&Unit>, seen: &Distribution) -> fmt::Result {
        let mut buckets = seen.buckets.clone();
        buckets.push((f64::INFINITY, seen.beyond));
        let count = buckets.iter().map(|(_, n)| n).sum();
        let mut metric = self.0.encode_descriptor(name, help, unit, MetricType::Histogram)?;
        metric.encode_histogram::<NoLabelSet>(seen.sum, count, &buckets, None)
    }
}

/// The encoder's gauges are signed; no figure of ours comes near the difference.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Disk;

    #[test]
    fn figures_are_published_under_their_names() {
        let figures = Figures {
            version: "0.1.0".into(),
            connections_open: 3,
            statements: vec![("select".into(), 7)],
            errors: vec![(1062, 2)],
            panics: 1,
            is_serving: true,
            answers_cut: vec![("memory".into(), 4)],
            disk: Some(Disk {
                size_bytes: 100,
                free_bytes: 40,
            }),
            commit_seconds: Distribution {
                buckets: vec![(0.001, 4), (0.01, 1)],
                beyond: 2,
                sum: 0.5,
            },
            memory_used_bytes: vec![("rows".into(), 1024)],
            ..Figures::default()
        };
        let text = exposition(figures).unwrap();
        for line in [
            "latsdb_build{version=\"0.1.0\"} 1",
            "latsdb_connections_open 3",
            "latsdb_statements_total{kind=\"select\"} 7",
            "latsdb_errors_total{number=\"1062\"} 2",
            "latsdb_panics_total 1",
            "latsdb_serving 1",
            "latsdb_answers_cut_total{reason=\"memory\"} 4",
            "latsdb_disk_free_bytes 40",
            "latsdb_commit_seconds_bucket{le=\"0.001\"} 4",
            "latsdb_commit_seconds_bucket{le=\"0.01\"} 5",
            "latsdb_commit_seconds_bucket{le=\"+Inf\"} 7",
            "latsdb_commit_seconds_count 7",
            "latsdb_memory_used_bytes{use=\"rows\"} 1024",
        ] {
            assert!(text.lines().any(|l| l == line), "no line {line:?} in:\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}
