//! The price file: machines, disks and transfers, each with region, terms, source and date.

use std::path::{Path, PathBuf};

use lab_results::run::{Price, PriceLine};
use serde::Deserialize;

const SHIPPED: &str = include_str!("../../data/prices.toml");

#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    #[error("{}: {source}", .path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("price file {}: {source}", .path.display())]
    Toml { path: PathBuf, source: toml::de::Error },
    #[error("price file {}: {what}", .path.display())]
    Invalid { path: PathBuf, what: String },
    #[error(
        "no {what} in the price file; it has: {known}. Add it, with its source and date, to a price file of your own"
    )]
    Unknown { what: String, known: String },
    #[error("{what} is listed without a price: add one, with its source and date, to a price file of your own")]
    NoPrice { what: String },
}

/// Prices by provider, region, type and terms.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    #[serde(default, rename = "machine")]
    pub machines: Vec<MachinePrice>,
    #[serde(default, rename = "disk")]
    pub disks: Vec<DiskPrice>,
    #[serde(default, rename = "transfer")]
    pub transfers: Vec<TransferPrice>,
}

/// A machine by the hour.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachinePrice {
    /// `aws`, `gcp`, `azure`, or any name.
    pub provider: String,
    pub region: String,
    #[serde(rename = "type")]
    pub machine: String,
    pub vcpu: u32,
    pub memory_gib: f64,
    /// Absent: known as a type, not by its price.
    pub usd_per_hour: Option<f64>,
    /// `on-demand`, `reserved-1y`, `reserved-3y` or `spot`.
    pub terms: String,
    #[serde(default)]
    pub source: String,
    /// `YYYY-MM-DD`: when the source said so.
    #[serde(default)]
    pub dated: String,
}

/// A disk by the month, as clouds bill it; a month has 730 hours.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskPrice {
    pub provider: String,
    pub region: String,
    #[serde(rename = "type")]
    pub disk: String,
    pub usd_per_gb_month: f64,
    /// Beyond what is included.
    #[serde(default)]
    pub usd_per_iops_month: f64,
    #[serde(default)]
    pub included_iops: u32,
    #[serde(default)]
    pub usd_per_mb_s_month: f64,
    #[serde(default)]
    pub included_mb_s: u32,
    pub source: String,
    pub dated: String,
}

/// Bytes that leave a zone.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferPrice {
    pub provider: String,
    pub region: String,
    /// `cross-zone`, `cross-region`, `internet`.
    #[serde(rename = "type")]
    pub transfer: String,
    /// Both directions together.
    pub usd_per_gb: f64,
    pub source: String,
    pub dated: String,
}

/// A part of a cluster that costs something.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Machine {
        provider: String,
        region: String,
        machine: String,
        terms: String,
        count: u32,
    },
    Disk {
        provider: String,
        region: String,
        disk: String,
        gb: f64,
        iops: u32,
        mb_s: u32,
        count: u32,
    },
    /// Traffic as it is expected, since a plan is priced before it runs.
    Transfer {
        provider: String,
        region: String,
        transfer: String,
        gb_per_hour: f64,
    },
    /// A price that the plan itself gives (own hardware, a managed service).
    Given {
        what: String,
        count: u32,
        usd_per_hour: f64,
        source: String,
        dated: String,
    },
}

impl Prices {
    /// The prices that this version ships.
    pub fn shipped() -> Prices {
        Prices::parse(SHIPPED, Path::new("prices.toml")).expect("the shipped price file is valid: a test reads it")
    }

    pub fn read(path: &Path) -> Result<Prices, PriceError> {
        let text = std::fs::read_to_string(path).map_err(|source| PriceError::Io {
            path: path.to_owned(),
            source,
        })?;
        Prices::parse(&text, path)
    }

    /// `path` is only named in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Prices, PriceError> {
        let prices: Prices = toml::from_str(text).map_err(|source| PriceError::Toml {
            path: path.to_owned(),
            source,
        })?;
        prices.check().map_err(|what| PriceError::Invalid {
            path: path.to_owned(),
            what,
        })?;
        Ok(prices)
    }

    /// Both; where they speak of the same thing, `first` is right.
    pub fn preferring(self, mut first: Prices) -> Prices {
        first.machines.extend(self.machines);
        first.disks.extend(self.disks);
        first.transfers.extend(self.transfers);
        first
    }

    /// The machine's entry, with or without a price. `terms` defaults to on-demand when empty.
    pub fn machine(
        &self,
        provider: &str,
        region: &str,
        machine: &str,
        terms: &str,
    ) -> Result<&MachinePrice, PriceError> {
        let terms = if terms.is_empty() { "on-demand" } else { terms };
        self.machines
            .iter()
            .find(|entry| {
                entry.provider == provider && entry.region == region && entry.machine == machine && entry.terms == terms
            })
            .ok_or_else(|| PriceError::Unknown {
                what: format!("machine {machine} of {provider} in {region}, {terms}"),
                known: known(
                    self.machines
                        .iter()
                        .filter(|entry| entry.provider == provider)
                        .map(|entry| format!("{} in {} ({})", entry.machine, entry.region, entry.terms)),
                ),
            })
    }

    /// The cost of a cluster per hour, line by line, dated by its oldest price.
    pub fn cluster(&self, parts: &[Part]) -> Result<Price, PriceError> {
        let lines = parts
            .iter()
            .map(|part| self.line(part))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Price {
            micro_usd_per_hour: lines
                .iter()
                .map(|line| line.micro_usd_per_hour.saturating_mul(u64::from(line.count)))
                .fold(0, u64::saturating_add),
            dated: lines.iter().map(|line| line.dated.clone()).min().unwrap_or_default(),
            lines,
        })
    }

    /// `micro_usd_per_hour` of a line is for one piece.
    fn line(&self, part: &Part) -> Result<PriceLine, PriceError> {
        match part {
            Part::Machine {
                provider,
                region,
                machine,
                terms,
                count,
            } => {
                let entry = self.machine(provider, region, machine, terms)?;
                let usd = entry.usd_per_hour.ok_or_else(|| PriceError::NoPrice {
                    what: format!("machine {machine} of {provider} in {region}, {}", entry.terms),
                })?;
                Ok(PriceLine {
                    what: format!("{machine} ({} vCPU, {} GiB)", entry.vcpu, entry.memory_gib),
                    count: *count,
                    micro_usd_per_hour: micro_usd(usd),
                    provider: provider.clone(),
                    region: region.clone(),
                    terms: entry.terms.clone(),
                    source: entry.source.clone(),
                    dated: entry.dated.clone(),
                })
            }
            Part::Disk {
                provider,
                region,
                disk,
                gb,
                iops,
                mb_s,
                count,
            } => {
                let entry = self
                    .disks
                    .iter()
                    .find(|entry| entry.provider == *provider && entry.region == *region && entry.disk == *disk)
                    .ok_or_else(|| PriceError::Unknown {
                        what: format!("disk {disk} of {provider} in {region}"),
                        known: known(
                            self.disks
                                .iter()
                                .map(|entry| format!("{} of {} in {}", entry.disk, entry.provider, entry.region)),
                        ),
                    })?;
                let month = gb * entry.usd_per_gb_month
                    + f64::from(iops.saturating_sub(entry.included_iops)) * entry.usd_per_iops_month
                    + f64::from(mb_s.saturating_sub(entry.included_mb_s)) * entry.usd_per_mb_s_month;
                Ok(PriceLine {
                    what: format!("{disk}, {gb} GB, {iops} IOPS, {mb_s} MB/s"),
                    count: *count,
                    micro_usd_per_hour: micro_usd(month / HOURS_PER_MONTH),
                    provider: provider.clone(),
                    region: region.clone(),
                    terms: "on-demand".into(),
                    source: entry.source.clone(),
                    dated: entry.dated.clone(),
                })
            }
            Part::Transfer {
                provider,
                region,
                transfer,
                gb_per_hour,
            } => {
                let entry = self
                    .transfers
                    .iter()
                    .find(|entry| entry.provider == *provider && entry.region == *region && entry.transfer == *transfer)
                    .ok_or_else(|| PriceError::Unknown {
                        what: format!("transfer {transfer} of {provider} in {region}"),
                        known: known(
                            self.transfers
                                .iter()
                                .map(|entry| format!("{} of {} in {}", entry.transfer, entry.provider, entry.region)),
                        ),
                    })?;
                Ok(PriceLine {
                    what: format!("{transfer} transfer, {gb_per_hour} GB/h"),
                    count: 1,
                    micro_usd_per_hour: micro_usd(gb_per_hour * entry.usd_per_gb),
                    provider: provider.clone(),
                    region: region.clone(),
                    terms: "on-demand".into(),
                    source: entry.source.clone(),
                    dated: entry.dated.clone(),
                })
            }
            Part::Given {
                what,
                count,
                usd_per_hour,
                source,
                dated,
            } => Ok(PriceLine {
                what: what.clone(),
                count: *count,
                micro_usd_per_hour: micro_usd(*usd_per_hour),
                provider: "given in the plan".into(),
                region: String::new(),
                terms: String::new(),
                source: source.clone(),
                dated: dated.clone(),
            }),
        }
    }

    fn check(&self) -> Result<(), String> {
        let dated = |what: &str, source: &str, dated: &str| {
            if source.is_empty() {
                return Err(format!("{what} has a price without a source"));
            }
            match super::day_number(dated) {
                Some(_) => Ok(()),
                None => Err(format!("{what} is dated \"{dated}\", which is not YYYY-MM-DD")),
            }
        };
        for entry in &self.machines {
            let what = format!("machine {} of {} in {}", entry.machine, entry.provider, entry.region);
            if !["on-demand", "reserved-1y", "reserved-3y", "spot"].contains(&entry.terms.as_str()) {
                return Err(format!(
                    "{what} has terms \"{}\": use on-demand, reserved-1y, reserved-3y or spot",
                    entry.terms
                ));
            }
            if let Some(usd) = entry.usd_per_hour {
                amount(&what, usd)?;
                dated(&what, &entry.source, &entry.dated)?;
            }
        }
        for entry in &self.disks {
            let what = format!("disk {} of {} in {}", entry.disk, entry.provider, entry.region);
            amount(&what, entry.usd_per_gb_month)?;
            amount(&what, entry.usd_per_iops_month)?;
            amount(&what, entry.usd_per_mb_s_month)?;
            dated(&what, &entry.source, &entry.dated)?;
        }
        for entry in &self.transfers {
            let what = format!("transfer {} of {} in {}", entry.transfer, entry.provider, entry.region);
            amount(&what, entry.usd_per_gb)?;
            dated(&what, &entry.source, &entry.dated)?;
        }
        Ok(())
    }
}

const HOURS_PER_MONTH: f64 = 730.0;

fn micro_usd(usd: f64) -> u64 {
    (usd * 1e6).round() as u64
}

fn amount(what: &str, usd: f64) -> Result<(), String> {
    if usd.is_finite() && (0.0..1e6).contains(&usd) {
        Ok(())
    } else {
        Err(format!("{what} costs {usd}, which is no price in dollars"))
    }
}

fn known(entries: impl Iterator<Item = String>) -> String {
    let mut entries: Vec<String> = entries.collect();
    entries.sort();
    entries.dedup();
    if entries.is_empty() {
        "nothing of that provider".into()
    } else {
        entries.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Prices, PriceError> {
        Prices::parse(text, Path::new("mine.toml"))
    }

    const MINE: &str = r#"
        [[machine]]
        provider = "aws"
        region = "us-east-1"
        type = "r5.4xlarge"
        vcpu = 16
        memory_gib = 128
        usd_per_hour = 0.9
        terms = "on-demand"
        source = "a contract"
        dated = "2026-10-01"

        [[disk]]
        provider = "aws"
        region = "us-east-1"
        type = "gp3"
        usd_per_gb_month = 0.08
        usd_per_iops_month = 0.005
        included_iops = 3000
        usd_per_mb_s_month = 0.04
        included_mb_s = 125
        source = "a list"
        dated = "2026-07-01"

        [[transfer]]
        provider = "aws"
        region = "us-east-1"
        type = "cross-zone"
        usd_per_gb = 0.02
        source = "a list"
        dated = "2026-08-01"
    "#;

    fn machine(name: &str, count: u32) -> Part {
        Part::Machine {
            provider: "aws".into(),
            region: "us-east-1".into(),
            machine: name.into(),
            terms: String::new(),
            count,
        }
    }

    #[test]
    fn the_shipped_file_has_a_source_and_a_date_for_every_price() {
        let shipped = Prices::shipped();
        assert!(shipped.machines.len() >= 15);
        let priced: Vec<_> = shipped
            .machines
            .iter()
            .filter(|entry| entry.usd_per_hour.is_some())
            .collect();
        assert!(!priced.is_empty());
        assert!(
            priced
                .iter()
                .all(|entry| !entry.source.is_empty() && !entry.dated.is_empty())
        );
    }

    #[test]
    fn a_cluster_costs_its_lines_and_is_as_old_as_its_oldest_price() {
        let disk = Part::Disk {
            provider: "aws".into(),
            region: "us-east-1".into(),
            disk: "gp3".into(),
            gb: 730.0,
            iops: 4_460,
            mb_s: 125,
            count: 2,
        };
        let transfer = Part::Transfer {
            provider: "aws".into(),
            region: "us-east-1".into(),
            transfer: "cross-zone".into(),
            gb_per_hour: 10.0,
        };
        let price = parsed(MINE)
            .unwrap()
            .cluster(&[machine("r5.4xlarge", 2), disk, transfer])
            .unwrap();
        // 2 × 0.9 + 2 × (730 × 0.08 + 1,460 × 0.005) / 730 + 10 × 0.02
        assert_eq!(price.micro_usd_per_hour, 1_800_000 + 2 * 90_000 + 200_000);
        assert_eq!(price.dated, "2026-07-01");
        assert_eq!(price.lines.len(), 3);
    }

    #[test]
    fn your_own_price_comes_before_the_shipped_one() {
        let both = Prices::shipped().preferring(parsed(MINE).unwrap());
        let found = both.machine("aws", "us-east-1", "r5.4xlarge", "").unwrap();
        assert_eq!(found.usd_per_hour, Some(0.9));
        assert!(both.machine("aws", "us-east-1", "c5.4xlarge", "").is_ok());
    }

    #[test]
    fn a_machine_without_a_price_gives_none_and_an_unknown_one_names_the_known() {
        let listed = parsed(&MINE.replacen("usd_per_hour = 0.9", "", 1)).unwrap();
        let without = listed.cluster(&[machine("r5.4xlarge", 1)]).unwrap_err();
        assert!(without.to_string().contains("without a price"), "{without}");
        let unknown = Prices::shipped()
            .cluster(&[machine("r99.large", 1)])
            .unwrap_err()
            .to_string();
        assert!(
            unknown.contains("r99.large") && unknown.contains("c5.4xlarge in us-east-1 (on-demand)"),
            "{unknown}"
        );
    }

    /// What the providers' own arithmetic gives: a machine of Google's is its vCPUs and its GiB, one of AWS's or
    /// Azure's a multiple of the smallest of its family.
    #[test]
    fn the_shipped_prices_are_what_the_providers_arithmetic_gives() {
        let shipped = Prices::shipped();
        let rates = [
            ("n2-", 0.031_611, 0.004_237),
            ("e2-", 0.021_811_59, 0.002_923_53),
            ("c3-", 0.034_65, 0.003_938),
            ("c3d-", 0.029_563, 0.003_959),
            // One rate per vCPU, its four GiB included.
            ("t2a-", 0.038_5, 0.0),
            ("r5.", 0.063, 0.0),
            ("r5n.", 0.074_5, 0.0),
            ("c5.", 0.042_5, 0.0),
            ("c6g.", 0.034, 0.0),
            ("t3a.", 0.018_8, 0.0),
            ("Standard_E", 0.063, 0.0),
            ("Standard_F", 0.042_3, 0.0),
        ];
        for entry in &shipped.machines {
            let (_, vcpu, gib) = rates
                .iter()
                .find(|(family, ..)| entry.machine.starts_with(family))
                .unwrap_or_else(|| panic!("no arithmetic for {}", entry.machine));
            let wanted = f64::from(entry.vcpu) * vcpu + entry.memory_gib * gib;
            let usd = entry.usd_per_hour.expect("every shipped type has a price");
            assert!(
                (usd / wanted - 1.0).abs() < 0.01,
                "{}: {usd}, not {wanted}",
                entry.machine
            );
        }
    }

    #[test]
    fn a_price_without_source_date_or_sense_is_refused() {
        for (from, to, message) in [
            ("source = \"a contract\"", "source = \"\"", "without a source"),
            ("dated = \"2026-10-01\"", "dated = \"October\"", "not YYYY-MM-DD"),
            ("usd_per_hour = 0.9", "usd_per_hour = -1.0", "no price in dollars"),
            ("terms = \"on-demand\"", "terms = \"cheap\"", "use on-demand"),
            ("vcpu = 16", "vcpus = 16", "vcpus"),
        ] {
            let error = parsed(&MINE.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(message) && error.contains("mine.toml"), "{error}");
        }
    }
}
