//! The ten OLTP workloads of sysbench 1.0, statement by statement, and variants that are not in it:
//!
//! * `filter`: the range scans return one row of `range_size`: a test of processors where the plain one tests the network.
//! * `in_list`: point selects look up that many keys with one `IN (…)`; the figure is key lookups per second.
//! * `clip_ranges`, `sort_keys`, `data`: ranges that end with the table, updates in key order so that no two deadlock, rows as
//!   RonDB's older sysbench loads them.

use super::WorkloadError;
mod data;
mod script;

pub(super) use data::tables;
pub(super) use script::{catalog, scripts};

use super::options::OptionReader;
use super::random::Distribution;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OltpKind {
    ReadWrite,
    ReadOnly,
    WriteOnly,
    PointSelect,
    UpdateIndex,
    UpdateNonIndex,
    Insert,
    Delete,
    SelectRandomPoints,
    SelectRandomRanges,
}

impl OltpKind {
    pub const ALL: [OltpKind; 10] = [
        OltpKind::ReadWrite,
        OltpKind::ReadOnly,
        OltpKind::WriteOnly,
        OltpKind::PointSelect,
        OltpKind::UpdateIndex,
        OltpKind::UpdateNonIndex,
        OltpKind::Insert,
        OltpKind::Delete,
        OltpKind::SelectRandomPoints,
        OltpKind::SelectRandomRanges,
    ];

    /// sysbench's name of the script.
    pub fn name(self) -> &'static str {
        match self {
            OltpKind::ReadWrite => "oltp_read_write",
            OltpKind::ReadOnly => "oltp_read_only",
            OltpKind::WriteOnly => "oltp_write_only",
            OltpKind::PointSelect => "oltp_point_select",
            OltpKind::UpdateIndex => "oltp_update_index",
            OltpKind::UpdateNonIndex => "oltp_update_non_index",
            OltpKind::Insert => "oltp_insert",
            OltpKind::Delete => "oltp_delete",
            OltpKind::SelectRandomPoints => "select_random_points",
            OltpKind::SelectRandomRanges => "select_random_ranges",
        }
    }

    /// Rows of each table before the run. Inserts with ids of their own begin with an empty table, or they would meet loaded rows.
    pub(super) fn rows_loaded(self, options: &OltpOptions) -> u32 {
        if self == OltpKind::Insert && !options.auto_inc {
            0
        } else {
            options.table_size
        }
    }

    /// With or without `oltp_` and `select_`.
    pub fn from_name(name: &str) -> Option<OltpKind> {
        OltpKind::ALL.into_iter().find(|kind| {
            let full = kind.name();
            name == full || full.strip_prefix("oltp_") == Some(name) || full.strip_prefix("select_") == Some(name)
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InKeys {
    Random,
    Consecutive,
}

/// sysbench's options, under its names and with its defaults except two: `rand_type` is uniform (as in sysbench's newer line) and
/// `auto_inc` off (ids are explicit, so that no server leaves gaps).
#[derive(Debug, Clone, PartialEq)]
pub struct OltpOptions {
    pub tables: u32,
    pub table_size: u32,
    pub range_size: u32,
    pub point_selects: u32,
    pub simple_ranges: u32,
    pub sum_ranges: u32,
    pub order_ranges: u32,
    pub distinct_ranges: u32,
    pub index_updates: u32,
    pub non_index_updates: u32,
    pub delete_inserts: u32,
    pub skip_trx: bool,
    pub auto_inc: bool,
    pub secondary: bool,
    pub create_secondary: bool,
    pub mysql_storage_engine: String,
    pub create_table_options: String,
    pub prepared: bool,
    pub distribution: Distribution,
    pub random_points: u32,
    pub number_of_ranges: u32,
    pub delta: u32,
    pub filter: bool,
    /// 0: point selects by `id=?`.
    pub in_list: u32,
    pub in_keys: InKeys,
    pub clip_ranges: bool,
    pub sort_keys: bool,
    pub data: Data,
}

/// What the rows hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Random digits, as sysbench 1.0 writes them.
    Sysbench1,
    /// k=0, c=' ', a constant pad: what RonDB's sysbench 0.4.12 loads; updates write a constant of 99 characters.
    Rondb,
}

impl OltpOptions {
    pub(super) fn read(reader: &mut OptionReader) -> Result<OltpOptions, WorkloadError> {
        let range_selects = reader.switch("range_selects", true)?;
        let ranges = |reader: &mut OptionReader, name| {
            reader
                .number(name, 1, 0)
                .map(|count| if range_selects { count } else { 0 })
        };
        Ok(OltpOptions {
            tables: reader.number("tables", 1, 1)?,
            table_size: reader.number("table_size", 10_000, 1)?,
            range_size: reader.number("range_size", 100, 1)?,
            point_selects: reader.number("point_selects", 10, 0)?,
            simple_ranges: ranges(reader, "simple_ranges")?,
            sum_ranges: ranges(reader, "sum_ranges")?,
            order_ranges: ranges(reader, "order_ranges")?,
            distinct_ranges: ranges(reader, "distinct_ranges")?,
            index_updates: reader.number("index_updates", 1, 0)?,
            non_index_updates: reader.number("non_index_updates", 1, 0)?,
            delete_inserts: reader.number("delete_inserts", 1, 0)?,
            skip_trx: reader.switch("skip_trx", false)?,
            auto_inc: reader.switch("auto_inc", false)?,
            secondary: reader.switch("secondary", false)?,
            create_secondary: reader.switch("create_secondary", true)?,
            mysql_storage_engine: reader.text("mysql_storage_engine", "innodb"),
            create_table_options: reader.text("create_table_options", ""),
            prepared: reader.choice(
                "db_ps_mode",
                "auto (prepared statements) or disable (text)",
                &[("auto", true), ("disable", false)],
            )?,
            distribution: Distribution::read(reader)?,
            random_points: reader.number("random_points", 10, 1)?,
            number_of_ranges: reader.number("number_of_ranges", 10, 1)?,
            delta: reader.number("delta", 5, 0)?,
            filter: reader.switch("filter", false)?,
            in_list: reader.number("in_list", 0, 0)?,
            in_keys: reader.choice(
                "in_keys",
                "random or consecutive",
                &[("random", InKeys::Random), ("consecutive", InKeys::Consecutive)],
            )?,
            clip_ranges: reader.switch("clip_ranges", false)?,
            sort_keys: reader.switch("sort_keys", false)?,
            data: reader.choice(
                "data",
                "sysbench1 or rondb",
                &[("sysbench1", Data::Sysbench1), ("rondb", Data::Rondb)],
            )?,
        })
    }
}
