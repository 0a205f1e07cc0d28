//! The transactions, statement by statement.
//!
//! A table is drawn once per statement kind, not once per statement: ten point selects hit one table. Ids come from the
//! workload's distribution, ranges are not clipped at the end of the table: both as in sysbench.

use std::sync::Arc;

use super::super::random::{Random, Sampler};
use super::super::{Last, Script, Scripts};
use super::data::{c, pad};
use super::{Data, InKeys, OltpKind, OltpOptions};
use crate::statement::{Arguments, Catalog, Protocol};

/// A statement kind of the transaction, executed so many times on one table.
#[derive(Debug, Clone, Copy)]
struct Step {
    what: What,
    times: u32,
    /// Statement of the first table; the others follow.
    first: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Begin,
    Commit,
    Point,
    InList,
    Range,
    IndexUpdate,
    NonIndexUpdate,
    /// Deletes a row and inserts it again: two statements each time.
    DeleteInsert,
    Delete,
    Insert,
    RandomPoints,
    RandomRanges,
}

impl What {
    fn statements(self) -> u32 {
        if self == What::DeleteInsert { 2 } else { 1 }
    }

    fn writes(self) -> bool {
        matches!(self, What::IndexUpdate | What::NonIndexUpdate | What::DeleteInsert)
    }
}

pub(in super::super) fn catalog(kind: OltpKind, options: &OltpOptions) -> Catalog {
    build(kind, options).0
}

pub(in super::super) fn scripts(kind: OltpKind, options: &OltpOptions, seed: u64, connections: usize) -> Scripts {
    let steps = build(kind, options).1;
    let options = options.clone();
    Box::new(move |connection| Box::new(OltpScript::new(steps.clone(), &options, seed, connection, connections)))
}

/// The statements and the order in which an event sends them.
fn build(kind: OltpKind, options: &OltpOptions) -> (Catalog, Arc<[Step]>) {
    let mut builder = Builder {
        catalog: Catalog::default(),
        steps: Vec::new(),
        options,
    };
    let in_transaction = matches!(kind, OltpKind::ReadWrite | OltpKind::ReadOnly | OltpKind::WriteOnly);
    let transaction = in_transaction && !options.skip_trx;
    if transaction {
        builder.single("begin", What::Begin, "BEGIN");
    }
    if matches!(kind, OltpKind::ReadWrite | OltpKind::ReadOnly) {
        builder.points(options.point_selects);
        builder.ranges();
    }
    if matches!(kind, OltpKind::ReadWrite | OltpKind::WriteOnly) {
        builder.index_updates();
        builder.non_index_updates();
        builder.delete_inserts();
    }
    match kind {
        OltpKind::ReadWrite | OltpKind::ReadOnly | OltpKind::WriteOnly => {}
        OltpKind::PointSelect => builder.points(1),
        OltpKind::UpdateIndex => builder.index_updates(),
        OltpKind::UpdateNonIndex => builder.non_index_updates(),
        OltpKind::Delete => builder.each_table("delete", What::Delete, 1, |t| {
            format!("DELETE FROM sbtest{t} WHERE id=?")
        }),
        OltpKind::Insert => builder.text_inserts(),
        OltpKind::SelectRandomPoints => builder.random_points(),
        OltpKind::SelectRandomRanges => builder.random_ranges(),
    }
    if transaction {
        builder.single("commit", What::Commit, "COMMIT");
    }
    (builder.catalog, builder.steps.into())
}

struct Builder<'a> {
    catalog: Catalog,
    steps: Vec<Step>,
    options: &'a OltpOptions,
}

impl Builder<'_> {
    fn protocol(&self) -> Protocol {
        if self.options.prepared {
            Protocol::Prepared
        } else {
            Protocol::Text
        }
    }

    fn single(&mut self, kind: &'static str, what: What, sql: &str) {
        let first = self.catalog.add(kind, sql.to_owned(), self.protocol());
        self.steps.push(Step { what, times: 1, first });
    }

    fn statements(&mut self, kind: &'static str, protocol: Protocol, sql: impl Fn(u32) -> String) -> usize {
        let first = self.catalog.statements.len();
        for table in 1..=self.options.tables {
            self.catalog.add(kind, sql(table), protocol);
        }
        first
    }

    fn each_table(&mut self, kind: &'static str, what: What, times: u32, sql: impl Fn(u32) -> String) {
        if times > 0 {
            let first = self.statements(kind, self.protocol(), sql);
            self.steps.push(Step { what, times, first });
        }
    }

    fn points(&mut self, times: u32) {
        let keys = self.options.in_list;
        let before = self.catalog.statements.len();
        if keys == 0 {
            self.each_table("point_select", What::Point, times, |t| {
                format!("SELECT c FROM sbtest{t} WHERE id=?")
            });
        } else {
            let places = vec!["?"; keys as usize].join(",");
            self.each_table("in_select", What::InList, times, |t| {
                format!("SELECT c FROM sbtest{t} WHERE id IN ({places})")
            });
        }
        for statement in &mut self.catalog.statements[before..] {
            statement.key_lookups = keys.max(1);
        }
    }

    fn ranges(&mut self) {
        let options = self.options;
        let filter = if options.filter { " AND filter_col=?" } else { "" };
        let ranges = [
            ("simple_range", options.simple_ranges, "c", ""),
            ("sum_range", options.sum_ranges, "SUM(k)", ""),
            ("order_range", options.order_ranges, "c", " ORDER BY c"),
            ("distinct_range", options.distinct_ranges, "DISTINCT c", " ORDER BY c"),
        ];
        for (kind, times, what, order) in ranges {
            self.each_table(kind, What::Range, times, |t| {
                format!("SELECT {what} FROM sbtest{t} WHERE id BETWEEN ? AND ?{filter}{order}")
            });
        }
    }

    fn index_updates(&mut self) {
        self.each_table("index_update", What::IndexUpdate, self.options.index_updates, |t| {
            format!("UPDATE sbtest{t} SET k=k+1 WHERE id=?")
        });
    }

    fn non_index_updates(&mut self) {
        self.each_table(
            "non_index_update",
            What::NonIndexUpdate,
            self.options.non_index_updates,
            |t| format!("UPDATE sbtest{t} SET c=? WHERE id=?"),
        );
    }

    fn delete_inserts(&mut self) {
        let times = self.options.delete_inserts;
        if times > 0 {
            let first = self.statements("delete", self.protocol(), |t| {
                format!("DELETE FROM sbtest{t} WHERE id=?")
            });
            let insert = self.insert_sql();
            self.statements("insert", self.protocol(), insert);
            let what = What::DeleteInsert;
            self.steps.push(Step { what, times, first });
        }
    }

    fn insert_sql(&self) -> impl Fn(u32) -> String + use<> {
        let filter = self.options.filter;
        move |t| match filter {
            false => format!("INSERT INTO sbtest{t} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
            true => format!("INSERT INTO sbtest{t} (id, k, c, pad, filter_col) VALUES (?, ?, ?, ?, ?)"),
        }
    }

    /// sysbench sends these as text whatever `db-ps-mode` says.
    fn text_inserts(&mut self) {
        let insert = self.insert_sql();
        let first = self.statements("insert", Protocol::Text, insert);
        let what = What::Insert;
        self.steps.push(Step { what, times: 1, first });
    }

    fn random_points(&mut self) {
        let places = vec!["?"; self.options.random_points as usize].join(", ");
        // The blanks and line ends are sysbench's: a server may tell texts apart by them.
        let sql =
            format!("        SELECT id, k, c, pad\n          FROM sbtest1\n          WHERE k IN ({places})\n        ");
        self.single("random_points", What::RandomPoints, &sql);
        if let Some(statement) = self.catalog.statements.last_mut() {
            statement.key_lookups = self.options.random_points;
        }
    }

    fn random_ranges(&mut self) {
        let ranges = vec!["k BETWEEN ? AND ?"; self.options.number_of_ranges as usize].join(" OR ");
        let sql = format!("        SELECT count(k)\n          FROM sbtest1\n          WHERE {ranges}");
        self.single("random_ranges", What::RandomRanges, &sql);
    }
}

struct OltpScript {
    steps: Arc<[Step]>,
    options: OltpOptions,
    random: Random,
    ids: Sampler,
    /// The connection's own part of the keys, for the two `select_random_` workloads.
    slice: Sampler,
    slice_first: u64,
    connection: u64,
    connections: u64,
    /// `oltp_insert`: where the run's numbers begin, and how many this connection has used.
    new_first: u64,
    inserted: u64,
    /// `sort_keys`: the ids of this transaction's writes that are still to come, the least last.
    write_ids: Vec<u64>,
    /// The step, and the statements of it that were sent.
    at: usize,
    done: u32,
    table: usize,
    id: u64,
}

impl Script for OltpScript {
    fn begin(&mut self) {
        self.at = 0;
        self.done = 0;
        self.write_ids.clear();
        if self.options.sort_keys {
            let writes: u32 = self.steps.iter().filter(|s| s.what.writes()).map(|s| s.times).sum();
            for _ in 0..writes {
                let id = self.draw_id();
                self.write_ids.push(id);
            }
            self.write_ids.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    #[inline]
    fn next(&mut self, arguments: &mut Arguments, _last: &Last) -> Option<usize> {
        let step = loop {
            let step = *self.steps.get(self.at)?;
            if self.done < step.times * step.what.statements() {
                break step;
            }
            self.at += 1;
            self.done = 0;
        };
        if self.done == 0 {
            self.draw_table(step);
        }
        let done = self.done;
        self.done += 1;
        let statement = step.first + self.table;
        match step.what {
            What::Begin | What::Commit => return Some(step.first),
            What::RandomPoints => {
                for _ in 0..self.options.random_points {
                    let k = self.slice_first + self.slice.draw(&mut self.random);
                    arguments.int(k as i64);
                }
                return Some(step.first);
            }
            What::RandomRanges => {
                for _ in 0..self.options.number_of_ranges {
                    let k = self.slice_first + self.slice.draw(&mut self.random);
                    arguments.int(k as i64);
                    arguments.int((k + u64::from(self.options.delta)) as i64);
                }
                return Some(step.first);
            }
            What::Point => arguments.int(self.draw_id() as i64),
            What::InList => self.in_list(arguments),
            What::Range => self.range(arguments),
            What::IndexUpdate => arguments.int(self.write_id() as i64),
            What::NonIndexUpdate => {
                let id = self.write_id();
                arguments.text(|out| c(self.options.data, &mut self.random, out));
                arguments.int(id as i64);
            }
            What::Delete => arguments.int(self.draw_id() as i64),
            What::DeleteInsert if done.is_multiple_of(2) => {
                self.id = self.write_id();
                arguments.int(self.id as i64);
            }
            What::DeleteInsert => {
                self.row(self.id as i64, arguments);
                return Some(statement + self.options.tables as usize);
            }
            What::Insert => {
                let id = self.new_id();
                self.row(id, arguments);
            }
        }
        Some(statement)
    }
}

impl OltpScript {
    fn new(steps: Arc<[Step]>, options: &OltpOptions, seed: u64, connection: usize, connections: usize) -> OltpScript {
        let table_size = u64::from(options.table_size);
        let slice = table_size as f64 / connections.max(1) as f64;
        let slice_first = (slice * connection as f64) as u64;
        let slice_last = (slice * (connection + 1) as f64) as u64;
        OltpScript {
            ids: Sampler::new(options.distribution, table_size),
            slice: Sampler::new(options.distribution, slice_last - slice_first + 1),
            slice_first,
            random: Random::new(seed, connection as u64 + 1),
            new_first: Random::new(seed, 0).next_u64() >> 32,
            inserted: 0,
            connection: connection as u64,
            connections: connections.max(1) as u64,
            write_ids: Vec::new(),
            steps,
            options: options.clone(),
            at: 0,
            done: 0,
            table: 0,
            id: 0,
        }
    }

    fn draw_table(&mut self, step: Step) {
        // With sorted keys, all writes of a transaction go to one table: order is only order within a table.
        let keep = self.options.sort_keys && step.what.writes() && self.at > 0 && self.steps[self.at - 1].what.writes();
        if self.options.tables > 1 && !keep {
            self.table = self.random.below(self.options.tables.into()) as usize;
        }
    }

    #[inline]
    fn draw_id(&mut self) -> u64 {
        self.ids.draw(&mut self.random) + 1
    }

    fn write_id(&mut self) -> u64 {
        match self.write_ids.pop() {
            Some(id) => id,
            None => self.draw_id(),
        }
    }

    fn range(&mut self, arguments: &mut Arguments) {
        let length = u64::from(self.options.range_size);
        let mut first = self.draw_id();
        if self.options.clip_ranges {
            first = first.min(u64::from(self.options.table_size).saturating_sub(length) + 1);
        }
        let last = first + length - 1;
        arguments.int(first as i64);
        arguments.int(last as i64);
        if self.options.filter {
            arguments.int(last as i64);
        }
    }

    fn in_list(&mut self, arguments: &mut Arguments) {
        let count = u64::from(self.options.in_list);
        match self.options.in_keys {
            InKeys::Random => (0..count).for_each(|_| arguments.int(self.draw_id() as i64)),
            InKeys::Consecutive => {
                let first_most = u64::from(self.options.table_size).saturating_sub(count) + 1;
                let first = self.draw_id().min(first_most);
                (first..first + count).for_each(|id| arguments.int(id as i64));
            }
        }
    }

    fn row(&mut self, id: i64, arguments: &mut Arguments) {
        let k = match self.options.data {
            Data::Sysbench1 => self.draw_id() as i64,
            Data::Rondb => 0,
        };
        arguments.int(id);
        arguments.int(k);
        arguments.text(|out| c(self.options.data, &mut self.random, out));
        arguments.text(|out| pad(self.options.data, &mut self.random, out));
        if self.options.filter {
            arguments.int(id);
        }
    }

    /// With `auto_inc`, 0: the server gives the number. Without, a number that no other insert of this run has (and none of a run with
    /// another seed, most likely), from anywhere in the column's range, as sysbench's are: its table begins empty.
    fn new_id(&mut self) -> i64 {
        if self.options.auto_inc {
            return 0;
        }
        let number = self.new_first + self.inserted * self.connections + self.connection;
        self.inserted += 1;
        // Multiplied by an odd factor, 32 bits are permuted: distinct numbers stay distinct and look drawn.
        i64::from((number as u32).wrapping_mul(0x9e37_79b1) as i32)
    }
}
