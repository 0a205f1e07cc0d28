//! Pages of Azure's Retail Prices API (`https://prices.azure.com/api/retail/prices`): a list of meters.
//!
//! A page says neither vCPUs nor memory, so that only types are priced that a price file knows. A reservation's price is of its
//! whole term, though its unit reads "1 Hour".

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{COUNT_MAX, Imported, List, MachinePrice, Types};

const HOURS_PER_YEAR: f64 = 8_760.0;

pub struct Items {
    types: Types,
    /// By type, region and terms, dollars an hour.
    prices: BTreeMap<(String, String, &'static str), f64>,
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
pub struct Item {
    currency_code: String,
    retail_price: f64,
    tier_minimum_units: f64,
    arm_region_name: String,
    arm_sku_name: String,
    product_name: String,
    sku_name: String,
    meter_name: String,
    service_name: String,
    unit_of_measure: String,
    #[serde(rename = "type")]
    kind: String,
    reservation_term: String,
}

impl Items {
    pub fn new(types: Types) -> Items {
        Items {
            types,
            prices: BTreeMap::new(),
        }
    }

    pub fn look(&mut self, item: &Item, regions: &BTreeSet<String>) -> Result<(), String> {
        let is_machine = item.service_name == "Virtual Machines" && item.unit_of_measure == "1 Hour";
        // Cloud services share the machines' names, at prices of their own.
        let is_plain = !["Windows", "Cloud Services", "CloudServices"]
            .iter()
            .any(|other| item.product_name.contains(other))
            && !item.sku_name.contains("Low Priority")
            && !item.meter_name.contains("Low Priority");
        if !is_machine
            || !is_plain
            || item.tier_minimum_units > 0.0
            || item.retail_price <= 0.0
            || !self.types.wants(&item.arm_sku_name)
            || !List::wants_region(regions, &item.arm_region_name)
        {
            return Ok(());
        }
        if item.currency_code != "USD" {
            return Err(format!("the list is in {}: fetch it in USD", item.currency_code));
        }
        let (terms, hours) = match (item.kind.as_str(), item.reservation_term.as_str()) {
            ("Consumption", _) if item.sku_name.contains("Spot") => ("spot", 1.0),
            ("Consumption", _) => ("on-demand", 1.0),
            ("Reservation", "1 Year") => ("reserved-1y", HOURS_PER_YEAR),
            ("Reservation", "3 Years") => ("reserved-3y", 3.0 * HOURS_PER_YEAR),
            _ => return Ok(()),
        };
        if self.prices.len() >= COUNT_MAX {
            return Err(format!(
                "more than {COUNT_MAX} prices: ask for some with --type and --region"
            ));
        }
        let key = (item.arm_sku_name.clone(), item.arm_region_name.clone(), terms);
        let usd = item.retail_price / hours;
        match self.prices.insert(key, usd) {
            Some(other) if (other - usd).abs() > usd * 1e-6 => Err(format!(
                "{} in {} has two prices ({terms}): {other} and {usd}",
                item.arm_sku_name, item.arm_region_name
            )),
            _ => Ok(()),
        }
    }

    pub fn finish(self, dated: &str) -> Result<Imported, String> {
        let mut machines = Vec::new();
        for ((machine, region, terms), usd) in &self.prices {
            let shape = self.types.shape(machine).ok_or_else(|| {
                format!(
                    "Azure's list says neither vCPUs nor memory of {machine}: add it to the price file first, with vcpu and memory_gib and without a price"
                )
            })?;
            machines.push(MachinePrice {
                provider: "azure".into(),
                region: region.clone(),
                machine: machine.clone(),
                vcpu: shape.vcpu,
                memory_gib: shape.memory_gib,
                usd_per_hour: Some(*usd),
                terms: (*terms).to_owned(),
                source: "Azure Retail Prices API".into(),
                dated: dated.to_owned(),
            });
        }
        let absent = super::absent(&self.types, &machines);
        Ok(Imported {
            machines,
            notes: absent.into_iter().collect(),
        })
    }
}
