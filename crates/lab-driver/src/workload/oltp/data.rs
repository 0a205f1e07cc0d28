//! sysbench's tables: `sbtest1` …, rows of random digits, ids from 1 without gaps.

use mysql_wire::put;

use super::super::TableLoad;
use super::super::random::{Random, Sampler};
use super::{Data, OltpKind, OltpOptions};

const C_GROUPS: usize = 10;
const PAD_GROUPS: usize = 5;
/// What RonDB's older sysbench writes in place of random digits.
const RONDB_PAD: &[u8] = &[b'q'; 50];
const RONDB_C_UPDATED: &[u8] = &[b'a'; 99];

pub(in super::super) fn tables(kind: OltpKind, options: &OltpOptions) -> Vec<TableLoad> {
    let rows = kind.rows_loaded(options);
    (1..=options.tables)
        .map(|number| table(number, rows, options))
        .collect()
}

fn table(number: u32, rows: u32, options: &OltpOptions) -> TableLoad {
    let auto_increment = if options.auto_inc { " AUTO_INCREMENT" } else { "" };
    let key = if options.secondary { "KEY xid" } else { "PRIMARY KEY" };
    let filter = if options.filter {
        "filter_col INTEGER DEFAULT '0' NOT NULL, "
    } else {
        ""
    };
    let create = format!(
        "CREATE TABLE sbtest{number}(id INTEGER NOT NULL{auto_increment}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT \
         NULL, pad CHAR(60) DEFAULT '' NOT NULL, {filter}{key} (id)) /*! ENGINE = {engine} */ {more}",
        engine = options.mysql_storage_engine,
        more = options.create_table_options,
    );
    let after = if options.create_secondary {
        vec![format!("CREATE INDEX k_{number} ON sbtest{number}(k)")]
    } else {
        Vec::new()
    };
    let columns = if options.filter {
        "id, k, c, pad, filter_col"
    } else {
        "id, k, c, pad"
    };
    let keys = Sampler::new(options.distribution, options.table_size.into());
    let (data, filter) = (options.data, options.filter);
    TableLoad {
        name: format!("sbtest{number}"),
        create,
        insert: format!("INSERT INTO sbtest{number}({columns}) VALUES"),
        units: rows.into(),
        unit_len_max: 3 * 11 + 119 + 59 + 10,
        gapless_key: Some("id"),
        after,
        write: Box::new(move |unit, random, out| {
            let id = unit + 1;
            out.push(b'(');
            put::decimal_u64(out, id);
            out.push(b',');
            put::decimal_u64(
                out,
                match data {
                    Data::Sysbench1 => keys.draw(random) + 1,
                    Data::Rondb => 0,
                },
            );
            out.extend_from_slice(b",'");
            loaded_c(data, random, out);
            out.extend_from_slice(b"','");
            pad(data, random, out);
            out.push(b'\'');
            if filter {
                out.push(b',');
                put::decimal_u64(out, id);
            }
            out.push(b')');
        }),
    }
}

fn loaded_c(data: Data, random: &mut Random, out: &mut Vec<u8>) {
    match data {
        Data::Sysbench1 => digits(C_GROUPS, random, out),
        Data::Rondb => out.push(b' '),
    }
}

/// `c` of an update or a new row.
pub(super) fn c(data: Data, random: &mut Random, out: &mut Vec<u8>) {
    match data {
        Data::Sysbench1 => digits(C_GROUPS, random, out),
        Data::Rondb => out.extend_from_slice(RONDB_C_UPDATED),
    }
}

pub(super) fn pad(data: Data, random: &mut Random, out: &mut Vec<u8>) {
    match data {
        Data::Sysbench1 => digits(PAD_GROUPS, random, out),
        Data::Rondb => out.extend_from_slice(RONDB_PAD),
    }
}

/// So many groups of eleven random digits, with dashes between.
#[inline]
fn digits(groups: usize, random: &mut Random, out: &mut Vec<u8>) {
    for group in 0..groups {
        if group > 0 {
            out.push(b'-');
        }
        let mut number = random.below(100_000_000_000);
        let mut text = [0; 11];
        for digit in text.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        out.extend_from_slice(&text);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Workload;

    #[test]
    fn rows_look_as_sysbench_writes_them() {
        let options = BTreeMap::from([("table_size".to_owned(), "77".to_owned())]);
        let workload = Workload::new("oltp_read_write", &options).unwrap();
        let tables = workload.tables();
        let table = &tables[0];
        let mut row = Vec::new();
        (table.write)(76, &mut Random::new(1, 1), &mut row);
        let row = String::from_utf8(row).unwrap();
        let parts: Vec<&str> = row.trim_matches(['(', ')']).split(',').collect();
        assert_eq!(parts[0], "77");
        assert!((1..=77).contains(&parts[1].parse::<u32>().unwrap()));
        for (text, groups) in [(parts[2], 10), (parts[3], 5)] {
            let groups_seen: Vec<&str> = text.trim_matches('\'').split('-').collect();
            assert_eq!(groups_seen.len(), groups);
            assert!(
                groups_seen
                    .iter()
                    .all(|group| group.len() == 11 && group.bytes().all(|c| c.is_ascii_digit()))
            );
        }
        assert!(row.len() <= table.unit_len_max);
    }
}
