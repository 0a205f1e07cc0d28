//! Prices out of the providers' own published lists, so that a price file is filled without typing and without a connection:
//! the lists are fetched by whoever has one.
//!
//! ```text
//! AWS      offer file of a region (or of all)   products, then terms                [`aws`]
//! Azure    pages of the Retail Prices API       Items                               [`azure`]
//! Google   pages of the Billing Catalog         skus: a machine is vCPUs + memory   [`gcp`]
//! ```
//!
//! Lists are large (AWS's of all regions is gigabytes), so that they are read as a stream: an entry is looked at and dropped,
//! and what is kept are the machine types asked for. Which list a file is shows in its keys.

mod aws;
mod azure;
mod gcp;
mod merge;
mod stream;

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use lab_results::UnixMicros;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{MachinePrice, PriceError, Prices, day_number};
use stream::EachOf;

pub use merge::merged;

/// More prices than any plan can use: a guard against a list that is something else.
const COUNT_MAX: usize = 100_000;

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{}: {source}", .path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}: {source}", .path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("{}: {what}", .path.display())]
    Unusable { path: PathBuf, what: String },
    #[error(transparent)]
    Prices(#[from] PriceError),
}

/// What to take out of a list.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Entries whose machine types are looked for, with their vCPUs and memory.
    pub known: Prices,
    /// These types alone; empty: every type that `known` has of the provider.
    pub types: Vec<String>,
    /// These regions alone; empty: every region of the list.
    pub regions: Vec<String>,
    /// `YYYY-MM-DD`, for lists that do not say when they were made; the file's own date otherwise.
    pub dated: Option<String>,
}

/// What a list gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    pub machines: Vec<MachinePrice>,
    /// What the reader should know: further pages, types that the list does not price.
    pub notes: Vec<String>,
}

/// Reads a list, given as one file or as its pages: what one page lacks (the memory to a vCPU) another may have. An error
/// names what to do.
pub fn import(pages: &[&Path], wanted: &Wanted) -> Result<Imported, ImportError> {
    let mut list = List::new(wanted);
    let mut oldest: Option<String> = None;
    for &path in pages {
        let io = |source| ImportError::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(io)?;
        let modified = file.metadata().and_then(|data| data.modified()).ok();
        let micros = modified
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .map_or(0, |since| since.as_micros() as u64);
        let date = crate::text::date(UnixMicros(micros));
        oldest = Some(oldest.map_or(date.clone(), |oldest| oldest.min(date)));
        list.read(BufReader::with_capacity(1 << 20, file), path)?;
    }
    let dated = wanted.dated.clone().or(oldest).unwrap_or_default();
    let last = pages.last().copied().unwrap_or(Path::new(""));
    list.finish(&dated).map_err(|what| ImportError::Unusable {
        path: last.to_owned(),
        what,
    })
}

/// What a machine type is known by, whatever the region.
#[derive(Debug, Clone, PartialEq)]
struct Shape {
    machine: String,
    vcpu: u32,
    memory_gib: f64,
}

/// The types that are looked for among one provider's.
struct Types {
    asked: BTreeSet<String>,
    known: Vec<Shape>,
}

impl Types {
    fn of(wanted: &Wanted, provider: &str) -> Types {
        let mut known: Vec<Shape> = Vec::new();
        for entry in wanted.known.machines.iter().filter(|entry| entry.provider == provider) {
            if !known.iter().any(|shape| shape.machine == entry.machine) {
                known.push(Shape {
                    machine: entry.machine.clone(),
                    vcpu: entry.vcpu,
                    memory_gib: entry.memory_gib,
                });
            }
        }
        Types {
            asked: wanted.types.iter().cloned().collect(),
            known,
        }
    }

    fn wants(&self, machine: &str) -> bool {
        if self.asked.is_empty() {
            self.shape(machine).is_some()
        } else {
            self.asked.contains(machine)
        }
    }

    fn shape(&self, machine: &str) -> Option<&Shape> {
        self.known.iter().find(|shape| shape.machine == machine)
    }

    /// Asked for by name, or known.
    fn all(&self) -> Vec<String> {
        if self.asked.is_empty() {
            self.known.iter().map(|shape| shape.machine.clone()).collect()
        } else {
            self.asked.iter().cloned().collect()
        }
    }
}

/// Which types were looked for and not found.
fn absent(types: &Types, found: &[MachinePrice]) -> Option<String> {
    let absent: Vec<String> = types
        .all()
        .into_iter()
        .filter(|name| !found.iter().any(|entry| entry.machine == *name))
        .collect();
    (!absent.is_empty()).then(|| format!("no price of {}", absent.join(", ")))
}

/// A list while it is read: one of the three fills.
struct List {
    regions: BTreeSet<String>,
    aws: aws::Offer,
    azure: azure::Items,
    gcp: gcp::Catalog,
    seen: BTreeSet<&'static str>,
    currency: Option<String>,
    more: bool,
}

impl List {
    fn new(wanted: &Wanted) -> List {
        List {
            regions: wanted.regions.iter().cloned().collect(),
            aws: aws::Offer::new(Types::of(wanted, "aws")),
            azure: azure::Items::new(Types::of(wanted, "azure")),
            gcp: gcp::Catalog::new(Types::of(wanted, "gcp")),
            seen: BTreeSet::new(),
            currency: None,
            more: false,
        }
    }

    /// `path` is only named in errors.
    fn read(&mut self, from: impl Read, path: &Path) -> Result<(), ImportError> {
        // Each page says whether there is another.
        self.more = false;
        let mut json = serde_json::Deserializer::from_reader(from);
        ListSeed(self)
            .deserialize(&mut json)
            .and_then(|()| json.end())
            .map_err(|source| ImportError::Json {
                path: path.to_owned(),
                source,
            })
    }

    /// `dated` is for lists without a date of their own.
    fn finish(self, dated: &str) -> Result<Imported, String> {
        if day_number(dated).is_none() {
            return Err(format!("\"{dated}\" is not a date: write YYYY-MM-DD"));
        }
        if self.seen.len() > 1 {
            return Err("the files are lists of several providers: import one after the other".into());
        }
        if let Some(currency) = self.currency.filter(|currency| currency != "USD") {
            return Err(format!("the list is in {currency}: fetch it in USD"));
        }
        let mut imported = if self.seen.contains("products") {
            self.aws.finish(dated)?
        } else if self.seen.contains("Items") {
            self.azure.finish(dated)?
        } else if self.seen.contains("skus") {
            self.gcp.finish(dated)?
        } else if self.seen.contains("regions") {
            return Err(
                "this is AWS's index of regions, which holds no price: fetch the file that its currentVersionUrl names for your region, from https://pricing.us-east-1.amazonaws.com"
                    .into(),
            );
        } else {
            return Err(
                "this is none of the lists: AWS's offer file has \"products\", a page of Azure's Retail Prices API \"Items\", a page of Google's Billing Catalog \"skus\""
                    .into(),
            );
        };
        if self.more {
            imported.notes.push(
                "the list goes on after the last page given: fetch the others too and give all with --from".into(),
            );
        }
        if imported.machines.is_empty() {
            return Err(format!(
                "no price of a machine that was looked for is in it{}",
                imported
                    .notes
                    .iter()
                    .map(|note| format!("; {note}"))
                    .collect::<String>()
            ));
        }
        imported.machines.sort_by(|a, b| {
            let key = |entry: &MachinePrice| (entry.region.clone(), entry.machine.clone(), entry.terms.clone());
            key(a).cmp(&key(b))
        });
        Ok(imported)
    }

    fn wants_region(regions: &BTreeSet<String>, region: &str) -> bool {
        !region.is_empty() && (regions.is_empty() || regions.contains(region))
    }
}

/// The file's outermost object.
struct ListSeed<'a>(&'a mut List);

impl<'de> DeserializeSeed<'de> for ListSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ListSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a provider's list of prices (a JSON object)")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let List {
            regions,
            aws,
            azure,
            gcp,
            seen,
            currency,
            more,
        } = self.0;
        let regions = &*regions;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "products" => {
                    seen.insert("products");
                    map.next_value_seed(aws.products(regions))?;
                }
                "terms" => map.next_value_seed(aws.terms())?,
                "version" => aws.version = map.next_value()?,
                "publicationDate" => aws.published = map.next_value()?,
                "Items" => {
                    seen.insert("Items");
                    map.next_value_seed(EachOf::new(|item| azure.look(&item, regions)))?;
                }
                "skus" => {
                    seen.insert("skus");
                    map.next_value_seed(EachOf::new(|sku| gcp.look(&sku, regions)))?;
                }
                "BillingCurrency" => *currency = map.next_value()?,
                "NextPageLink" | "nextPageToken" => {
                    *more = map.next_value::<Option<String>>()?.is_some_and(|link| !link.is_empty());
                }
                "regions" => {
                    seen.insert("regions");
                    map.next_value::<IgnoredAny>()?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
