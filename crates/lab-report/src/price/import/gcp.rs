//! Pages of Google's Cloud Billing Catalog (`services/6F81-5844-456A/skus`, Compute Engine).
//!
//! The catalog prices no machine: a machine type is its vCPUs at its family's rate and its GiB at the family's other rate.
//! `N2 Instance Core running in Americas` and `N2 Instance Ram running in Americas` are such a pair. On-demand and spot;
//! commitments are by vCPU of any type and are left out.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};

use super::{COUNT_MAX, Imported, List, MachinePrice, Types};

pub struct Catalog {
    types: Types,
    /// By family, region and terms: a vCPU, a GiB, dollars an hour.
    rates: BTreeMap<(String, String, &'static str), Rates>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Rates {
    vcpu: Option<f64>,
    gib: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Sku {
    description: String,
    category: Category,
    service_regions: Vec<String>,
    pricing_info: Vec<PricingInfo>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Category {
    resource_family: String,
    usage_type: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PricingInfo {
    pricing_expression: PricingExpression,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PricingExpression {
    usage_unit: String,
    tiered_rates: Vec<TieredRate>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TieredRate {
    start_usage_amount: f64,
    unit_price: Money,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Money {
    currency_code: String,
    /// Whole dollars, as text or as a number.
    #[serde(deserialize_with = "text_or_number")]
    units: f64,
    nanos: f64,
}

fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Units {
        Text(String),
        Number(f64),
    }
    match Units::deserialize(deserializer)? {
        Units::Number(number) => Ok(number),
        Units::Text(text) => text.parse().map_err(serde::de::Error::custom),
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Vcpu,
    Gib,
}

/// Family and part of a SKU's description: `Spot Preemptible N2D AMD Instance Ram running in Iowa` is `n2d`, `Gib`.
fn family_of(description: &str) -> Option<(String, Part)> {
    let (what, _) = description.split_once(" running in ")?;
    let what = what
        .trim_start_matches("Spot Preemptible ")
        .trim_start_matches("Preemptible ");
    // Other offers of the same machines.
    if [
        "Custom",
        "Sole Tenancy",
        "Commitment",
        "Reserved",
        "DWS",
        "Premium",
        "Extended",
    ]
    .iter()
    .any(|other| what.contains(other))
    {
        return None;
    }
    let (what, part) = match what.strip_suffix(" Core") {
        Some(what) => (what, Part::Vcpu),
        None => (what.strip_suffix(" Ram")?, Part::Gib),
    };
    if what == "Compute optimized" {
        return Some(("c2".into(), part));
    }
    let family = what.strip_suffix(" Instance")?.split_whitespace().next()?;
    Some((family.to_lowercase(), part))
}

impl Catalog {
    pub fn new(types: Types) -> Catalog {
        Catalog {
            types,
            rates: BTreeMap::new(),
        }
    }

    pub fn look(&mut self, sku: &Sku, regions: &BTreeSet<String>) -> Result<(), String> {
        let terms = match sku.category.usage_type.as_str() {
            "OnDemand" => "on-demand",
            "Preemptible" => "spot",
            _ => return Ok(()),
        };
        if sku.category.resource_family != "Compute" {
            return Ok(());
        }
        let Some((family, part)) = family_of(&sku.description) else {
            return Ok(());
        };
        // Of the timeline of prices, the newest stands last.
        let Some(expression) = sku.pricing_info.last().map(|info| &info.pricing_expression) else {
            return Ok(());
        };
        let unit = match part {
            Part::Vcpu => "h",
            Part::Gib => "GiBy.h",
        };
        if expression.usage_unit != unit {
            return Err(format!(
                "{} is priced by \"{}\", not by \"{unit}\"",
                sku.description, expression.usage_unit
            ));
        }
        let Some(rate) = expression
            .tiered_rates
            .iter()
            .find(|rate| rate.start_usage_amount == 0.0)
        else {
            return Ok(());
        };
        if rate.unit_price.currency_code != "USD" {
            return Err(format!(
                "the list is in {}: fetch it in USD",
                rate.unit_price.currency_code
            ));
        }
        let usd = rate.unit_price.units + rate.unit_price.nanos / 1e9;
        for region in sku
            .service_regions
            .iter()
            .filter(|region| List::wants_region(regions, region))
        {
            if self.rates.len() >= COUNT_MAX {
                return Err(format!("more than {COUNT_MAX} rates: ask for some with --region"));
            }
            let rates = self.rates.entry((family.clone(), region.clone(), terms)).or_default();
            let of_part = match part {
                Part::Vcpu => &mut rates.vcpu,
                Part::Gib => &mut rates.gib,
            };
            if let Some(other) = of_part.replace(usd)
                && (other - usd).abs() > usd * 1e-6
            {
                return Err(format!(
                    "{} has two prices in {region} ({terms}): {other} and {usd}",
                    sku.description
                ));
            }
        }
        Ok(())
    }

    pub fn finish(self, dated: &str) -> Result<Imported, String> {
        let mut machines = Vec::new();
        for name in self.types.all() {
            let family = name.split('-').next().unwrap_or_default();
            for ((_, region, terms), rates) in self.rates.iter().filter(|((of, ..), _)| of == family) {
                let (Some(vcpu), Some(gib)) = (rates.vcpu, rates.gib) else {
                    continue;
                };
                let shape = self.types.shape(&name).ok_or_else(|| {
                    format!(
                        "Google's list says neither vCPUs nor memory of {name}: add it to the price file first, with vcpu and memory_gib and without a price"
                    )
                })?;
                machines.push(MachinePrice {
                    provider: "gcp".into(),
                    region: region.clone(),
                    machine: name.clone(),
                    vcpu: shape.vcpu,
                    memory_gib: shape.memory_gib,
                    usd_per_hour: Some(f64::from(shape.vcpu) * vcpu + shape.memory_gib * gib),
                    terms: (*terms).to_owned(),
                    source: format!("Cloud Billing Catalog: {vcpu} a vCPU and {gib} a GiB of {family}"),
                    dated: dated.to_owned(),
                });
            }
        }
        let absent = super::absent(&self.types, &machines);
        Ok(Imported {
            machines,
            notes: absent.into_iter().collect(),
        })
    }
}
