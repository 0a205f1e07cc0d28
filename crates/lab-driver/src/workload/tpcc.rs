//! TPC-C's five transactions on its nine tables, without terminals: no keying and no think times, so its figures are not tpmC and are
//! not comparable with published ones. (TPC Benchmark C, revision 5.11: the clauses are named where they are followed.)
//!
//! [`data`] fills the tables (clause 4.3), [`script`] is the transactions (clause 2), [`consistency`] the conditions that must hold
//! afterwards (clause 3.3.2).

mod consistency;
mod data;
mod script;

pub(crate) use consistency::conditions;
pub(super) use data::tables;
pub(super) use script::{catalog, scripts};

use super::WorkloadError;
use super::options::OptionReader;
use super::random::Random;

pub(super) const NAME: &str = "tpcc";

/// Districts of a warehouse.
const DISTRICTS: u64 = 10;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TpccOptions {
    pub warehouses: u32,
    /// 100,000 and 3,000 in the standard; fewer for tests.
    pub items: u32,
    pub customers: u32,
    pub prepared: bool,
}

impl TpccOptions {
    pub(super) fn read(reader: &mut OptionReader) -> Result<TpccOptions, WorkloadError> {
        Ok(TpccOptions {
            warehouses: reader.number("warehouses", 1, 1)?,
            items: reader.number("items", 100_000, 100)?,
            customers: reader.number("customers", 3_000, 30)?,
            prepared: reader.choice(
                "db_ps_mode",
                "auto (prepared statements) or disable (text)",
                &[("auto", true), ("disable", false)],
            )?,
        })
    }

    fn districts(&self) -> u64 {
        u64::from(self.warehouses) * DISTRICTS
    }

    /// Customers of all districts; there are as many first orders.
    fn customers_all(&self) -> u64 {
        self.districts() * u64::from(self.customers)
    }

    /// Orders of each district that are delivered from the start: 2,100 of 3,000.
    fn delivered(&self) -> u64 {
        u64::from(self.customers) * 7 / 10
    }

    /// All rows, with ten lines for each order.
    pub fn rows(&self) -> u64 {
        let warehouses = u64::from(self.warehouses);
        let fixed = u64::from(self.items) * (1 + warehouses) + warehouses + self.districts();
        fixed + self.customers_all() * 13 + self.districts() * (u64::from(self.customers) - self.delivered())
    }
}

/// Non-uniform random numbers (clause 2.1.6) within `first..=last`.
fn nurand(random: &mut Random, a: u64, c: u64, first: u64, last: u64) -> u64 {
    ((random.uniform(0, a) | random.uniform(first, last)) + c) % (last - first + 1) + first
}

/// The constants C of [`nurand`]: one set loads, another runs, as far apart as clause 2.1.6.1 asks for.
const C_LAST_LOAD: u64 = 77;
const C_LAST_RUN: u64 = 177;
const C_CUSTOMER: u64 = 511;
const C_ITEM: u64 = 4_095;

/// A customer's last name from a number below 1,000 (clause 4.3.2.3).
fn last_name(number: u64, out: &mut Vec<u8>) {
    const SYLLABLES: [&str; 10] = [
        "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
    ];
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        out.extend_from_slice(SYLLABLES[digit as usize].as_bytes());
    }
}

/// Whole cents as a decimal number.
fn money(cents: i64, out: &mut Vec<u8>) {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    out.extend_from_slice(format!("{sign}{}.{:02}", cents / 100, cents % 100).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_money_are_the_standards() {
        let mut out = Vec::new();
        last_name(371, &mut out);
        out.push(b' ');
        money(-105, &mut out);
        assert_eq!(out, b"PRICALLYOUGHT -1.05");
    }

    #[test]
    fn nurand_stays_in_its_range_and_is_not_uniform() {
        let mut random = Random::new(1, 1);
        let mut counts = vec![0_u32; 1001];
        for _ in 0..100_000 {
            counts[nurand(&mut random, 255, C_LAST_LOAD, 1, 1000) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        let most = counts.iter().max().copied().unwrap();
        assert!(most > 300, "a uniform draw would have some 100 of each, not {most}");
    }
}
