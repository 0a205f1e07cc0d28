//! AWS's offer file of EC2 (`index.json` of the Price List bulk API), of one region or of all.
//!
//! Products come first, each with its attributes, then the terms by product: the products that are wanted are kept, and of the
//! terms those of kept products are read. Linux, shared tenancy, nothing pre-installed, no capacity reservation;
//! reserved means standard class without upfront payment.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::{COUNT_MAX, Imported, List, MachinePrice, Shape, Types};

pub struct Offer {
    types: Types,
    /// By SKU.
    products: HashMap<String, (Shape, String)>,
    /// By SKU and terms, dollars an hour.
    prices: BTreeMap<(String, &'static str), f64>,
    pub version: String,
    pub published: String,
}

#[derive(Deserialize)]
struct Product {
    #[serde(default, rename = "productFamily")]
    family: String,
    #[serde(default)]
    attributes: Attributes,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Attributes {
    instance_type: String,
    vcpu: String,
    memory: String,
    region_code: String,
    operating_system: String,
    tenancy: String,
    pre_installed_sw: String,
    capacitystatus: String,
    operation: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Term {
    #[serde(default)]
    price_dimensions: HashMap<String, Dimension>,
    #[serde(default)]
    term_attributes: TermAttributes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dimension {
    #[serde(default)]
    unit: String,
    #[serde(default)]
    price_per_unit: HashMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct TermAttributes {
    lease_contract_length: String,
    offering_class: String,
    purchase_option: String,
}

impl Offer {
    pub fn new(types: Types) -> Offer {
        Offer {
            types,
            products: HashMap::new(),
            prices: BTreeMap::new(),
            version: String::new(),
            published: String::new(),
        }
    }

    pub fn products<'a>(&'a mut self, regions: &'a BTreeSet<String>) -> Products<'a> {
        Products { offer: self, regions }
    }

    pub fn terms(&mut self) -> Terms<'_> {
        Terms(self)
    }

    fn keep(&mut self, sku: String, product: &Product, regions: &BTreeSet<String>) -> Result<(), String> {
        let of = &product.attributes;
        let is_plain = product.family.starts_with("Compute Instance")
            && of.operating_system == "Linux"
            && of.tenancy == "Shared"
            && of.pre_installed_sw == "NA"
            && of.capacitystatus == "Used"
            && of.operation == "RunInstances";
        if !is_plain || !self.types.wants(&of.instance_type) || !List::wants_region(regions, &of.region_code) {
            return Ok(());
        }
        let memory = of.memory.trim_end_matches(" GiB").replace(',', "");
        let (Ok(vcpu), Ok(memory_gib)) = (of.vcpu.parse(), memory.parse()) else {
            return Err(format!(
                "{} has {} vCPUs and \"{}\" of memory, which are no numbers",
                of.instance_type, of.vcpu, of.memory
            ));
        };
        if self.products.len() >= COUNT_MAX {
            return Err(format!(
                "more than {COUNT_MAX} machines: ask for some with --type and --region"
            ));
        }
        let shape = Shape {
            machine: of.instance_type.clone(),
            vcpu,
            memory_gib,
        };
        self.products.insert(sku, (shape, of.region_code.clone()));
        Ok(())
    }

    fn price(&mut self, sku: &str, kind: &str, term: &Term) {
        let of = &term.term_attributes;
        let terms = match (kind, of.lease_contract_length.as_str()) {
            ("OnDemand", _) => "on-demand",
            _ if of.offering_class != "standard" || of.purchase_option != "No Upfront" => return,
            (_, "1yr") => "reserved-1y",
            (_, "3yr") => "reserved-3y",
            _ => return,
        };
        let hourly = term
            .price_dimensions
            .values()
            .filter(|dimension| dimension.unit == "Hrs")
            .filter_map(|dimension| dimension.price_per_unit.get("USD")?.parse::<f64>().ok())
            .find(|usd| *usd > 0.0);
        if let Some(usd) = hourly {
            self.prices.insert((sku.to_owned(), terms), usd);
        }
    }

    pub fn finish(self, dated: &str) -> Result<Imported, String> {
        let dated = self.published.get(..10).unwrap_or(dated);
        let machines: Vec<MachinePrice> = self
            .prices
            .iter()
            .filter_map(|((sku, terms), usd)| {
                let (shape, region) = self.products.get(sku)?;
                Some(MachinePrice {
                    provider: "aws".into(),
                    region: region.clone(),
                    machine: shape.machine.clone(),
                    vcpu: shape.vcpu,
                    memory_gib: shape.memory_gib,
                    usd_per_hour: Some(*usd),
                    terms: (*terms).to_owned(),
                    source: format!("AWS Price List, AmazonEC2 offer version {}", self.version),
                    dated: dated.to_owned(),
                })
            })
            .collect();
        let absent = super::absent(&self.types, &machines);
        Ok(Imported {
            machines,
            notes: absent.into_iter().collect(),
        })
    }
}

/// `products`: SKU by SKU.
pub struct Products<'a> {
    offer: &'a mut Offer,
    regions: &'a BTreeSet<String>,
}

impl<'de> DeserializeSeed<'de> for Products<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Products<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("products by SKU")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((sku, product)) = map.next_entry::<String, Product>()? {
            self.offer.keep(sku, &product, self.regions).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// `terms`: `OnDemand` and `Reserved`, each SKU by SKU.
pub struct Terms<'a>(&'a mut Offer);

impl<'de> DeserializeSeed<'de> for Terms<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Terms<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("terms by kind")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(kind) = map.next_key::<String>()? {
            if kind == "OnDemand" || kind == "Reserved" {
                map.next_value_seed(OfKind {
                    offer: &mut *self.0,
                    kind: &kind,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct OfKind<'a> {
    offer: &'a mut Offer,
    kind: &'a str,
}

impl<'de> DeserializeSeed<'de> for OfKind<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OfKind<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("terms by SKU")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(sku) = map.next_key::<String>()? {
            if self.offer.products.contains_key(&sku) {
                for term in map.next_value::<HashMap<String, Term>>()?.values() {
                    self.offer.price(&sku, self.kind, term);
                }
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
