use super::*;

/// In the shape of the bulk API's offer file, regional form.
const OFFER: &str = r#"{
  "formatVersion": "v1.0",
  "disclaimer": "This pricing list is for informational purposes only.",
  "offerCode": "AmazonEC2",
  "version": "20261103174512",
  "publicationDate": "2026-11-03T17:45:12Z",
  "products": {
    "76V3SF2FJC3ZR3GH": {
      "sku": "76V3SF2FJC3ZR3GH",
      "productFamily": "Compute Instance",
      "attributes": {
        "servicecode": "AmazonEC2", "location": "US East (N. Virginia)", "regionCode": "us-east-1",
        "instanceType": "r5n.8xlarge", "vcpu": "32", "memory": "256 GiB", "operatingSystem": "Linux",
        "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used", "operation": "RunInstances"
      }
    },
    "WINDOWS": {
      "sku": "WINDOWS", "productFamily": "Compute Instance",
      "attributes": { "regionCode": "us-east-1", "instanceType": "r5n.8xlarge", "vcpu": "32", "memory": "256 GiB",
        "operatingSystem": "Windows", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used", "operation": "RunInstances:0002" }
    },
    "DEDICATED": {
      "sku": "DEDICATED", "productFamily": "Compute Instance",
      "attributes": { "regionCode": "us-east-1", "instanceType": "r5n.8xlarge", "vcpu": "32", "memory": "256 GiB",
        "operatingSystem": "Linux", "tenancy": "Dedicated", "preInstalledSw": "NA", "capacitystatus": "Used", "operation": "RunInstances" }
    },
    "OTHER": {
      "sku": "OTHER", "productFamily": "Compute Instance",
      "attributes": { "regionCode": "us-east-1", "instanceType": "x1.32xlarge", "vcpu": "128", "memory": "1,952 GiB",
        "operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used", "operation": "RunInstances" }
    },
    "STORAGE": { "sku": "STORAGE", "productFamily": "Storage", "attributes": { "volumeApiName": "gp3", "regionCode": "us-east-1" } }
  },
  "terms": {
    "OnDemand": {
      "76V3SF2FJC3ZR3GH": {
        "76V3SF2FJC3ZR3GH.JRTCKXETXF": {
          "offerTermCode": "JRTCKXETXF", "sku": "76V3SF2FJC3ZR3GH", "effectiveDate": "2026-11-01T00:00:00Z",
          "priceDimensions": {
            "76V3SF2FJC3ZR3GH.JRTCKXETXF.6YS6EN2CT7": {
              "rateCode": "76V3SF2FJC3ZR3GH.JRTCKXETXF.6YS6EN2CT7", "description": "$2.384 per On Demand Linux r5n.8xlarge Instance Hour",
              "beginRange": "0", "endRange": "Inf", "unit": "Hrs", "pricePerUnit": { "USD": "2.3840000000" }, "appliesTo": []
            }
          },
          "termAttributes": {}
        }
      },
      "OTHER": { "OTHER.JRTCKXETXF": { "priceDimensions": { "a": { "unit": "Hrs", "pricePerUnit": { "USD": "13.3380000000" } } }, "termAttributes": {} } }
    },
    "Reserved": {
      "76V3SF2FJC3ZR3GH": {
        "76V3SF2FJC3ZR3GH.4NA7Y494T4": {
          "priceDimensions": { "b": { "unit": "Hrs", "pricePerUnit": { "USD": "1.5020000000" } } },
          "termAttributes": { "LeaseContractLength": "1yr", "OfferingClass": "standard", "PurchaseOption": "No Upfront" }
        },
        "76V3SF2FJC3ZR3GH.7NE97W5U4E": {
          "priceDimensions": { "c": { "unit": "Hrs", "pricePerUnit": { "USD": "1.7270000000" } } },
          "termAttributes": { "LeaseContractLength": "1yr", "OfferingClass": "convertible", "PurchaseOption": "No Upfront" }
        },
        "76V3SF2FJC3ZR3GH.38NPMPTW36": {
          "priceDimensions": { "d": { "unit": "Quantity", "pricePerUnit": { "USD": "9000" } }, "e": { "unit": "Hrs", "pricePerUnit": { "USD": "0.4" } } },
          "termAttributes": { "LeaseContractLength": "3yr", "OfferingClass": "standard", "PurchaseOption": "Partial Upfront" }
        }
      }
    }
  },
  "attributesList": {}
}"#;

/// A page of the Retail Prices API.
const RETAIL: &str = r#"{
  "BillingCurrency": "USD", "CustomerEntityId": "Default", "CustomerEntityType": "Retail",
  "Items": [
    { "currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 1.008, "unitPrice": 1.008, "armRegionName": "eastus",
      "location": "US East", "effectiveStartDate": "2021-11-01T00:00:00Z", "meterName": "E16s v4", "productName": "Virtual Machines Esv4 Series",
      "skuName": "E16s v4", "serviceName": "Virtual Machines", "serviceFamily": "Compute", "unitOfMeasure": "1 Hour", "type": "Consumption",
      "isPrimaryMeterRegion": true, "armSkuName": "Standard_E16s_v4" },
    { "currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 1.744, "armRegionName": "eastus", "meterName": "E16s v4",
      "productName": "Virtual Machines Esv4 Series Windows", "skuName": "E16s v4", "serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour",
      "type": "Consumption", "armSkuName": "Standard_E16s_v4" },
    { "currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 0.2016, "armRegionName": "eastus", "meterName": "E16s v4 Spot",
      "productName": "Virtual Machines Esv4 Series", "skuName": "E16s v4 Spot", "serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour",
      "type": "Consumption", "armSkuName": "Standard_E16s_v4" },
    { "currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 0.19, "armRegionName": "eastus", "meterName": "E16s v4 Low Priority",
      "productName": "Virtual Machines Esv4 Series", "skuName": "E16s v4 Low Priority", "serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour",
      "type": "Consumption", "armSkuName": "Standard_E16s_v4" },
    { "currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 5256.0, "armRegionName": "eastus", "meterName": "E16s v4",
      "productName": "Virtual Machines Esv4 Series", "skuName": "E16s v4", "serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour",
      "type": "Reservation", "reservationTerm": "1 Year", "armSkuName": "Standard_E16s_v4" },
    { "currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 1.1, "armRegionName": "westeurope", "meterName": "E16s v4",
      "productName": "Virtual Machines Esv4 Series", "skuName": "E16s v4", "serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour",
      "type": "Consumption", "armSkuName": "Standard_E16s_v4" }
  ],
  "NextPageLink": "https://prices.azure.com:443/api/retail/prices?$skip=100", "Count": 6
}"#;

/// A page of the Billing Catalog.
const CATALOG: &str = r#"{
  "skus": [
    { "name": "services/6F81-5844-456A/skus/BB77-5FDA-69D9", "skuId": "BB77-5FDA-69D9", "description": "N2 Instance Core running in Americas",
      "category": { "serviceDisplayName": "Compute Engine", "resourceFamily": "Compute", "resourceGroup": "CPU", "usageType": "OnDemand" },
      "serviceRegions": ["us-central1", "us-east1"],
      "pricingInfo": [ { "summary": "", "pricingExpression": { "usageUnit": "h", "displayQuantity": 1, "tieredRates": [
        { "startUsageAmount": 0, "unitPrice": { "currencyCode": "USD", "units": "0", "nanos": 31611000 } } ] },
        "currencyConversionRate": 1, "effectiveTime": "2026-11-20T09:35:09.573Z" } ],
      "serviceProviderName": "Google" },
    { "skuId": "5B01-D157-A097", "description": "N2 Instance Ram running in Americas",
      "category": { "resourceFamily": "Compute", "resourceGroup": "RAM", "usageType": "OnDemand" }, "serviceRegions": ["us-central1", "us-east1"],
      "pricingInfo": [ { "pricingExpression": { "usageUnit": "GiBy.h", "tieredRates": [
        { "startUsageAmount": 0, "unitPrice": { "currencyCode": "USD", "units": "0", "nanos": 4237000 } } ] } } ] },
    { "skuId": "X", "description": "N2 Custom Instance Core running in Americas",
      "category": { "resourceFamily": "Compute", "usageType": "OnDemand" }, "serviceRegions": ["us-central1"],
      "pricingInfo": [ { "pricingExpression": { "usageUnit": "h", "tieredRates": [
        { "startUsageAmount": 0, "unitPrice": { "currencyCode": "USD", "units": "0", "nanos": 33174000 } } ] } } ] },
    { "skuId": "Y", "description": "Spot Preemptible N2 Instance Core running in Americas",
      "category": { "resourceFamily": "Compute", "usageType": "Preemptible" }, "serviceRegions": ["us-central1"],
      "pricingInfo": [ { "pricingExpression": { "usageUnit": "h", "tieredRates": [
        { "startUsageAmount": 0, "unitPrice": { "currencyCode": "USD", "units": "0", "nanos": 9000000 } } ] } } ] },
    { "skuId": "Z", "description": "Storage PD Capacity", "category": { "resourceFamily": "Storage", "usageType": "OnDemand" },
      "serviceRegions": ["us-central1"], "pricingInfo": [] }
  ],
  "nextPageToken": ""
}"#;

fn wanted(types: &[&str], regions: &[&str]) -> Wanted {
    Wanted {
        known: Prices::shipped(),
        types: types.iter().map(|name| name.to_string()).collect(),
        regions: regions.iter().map(|name| name.to_string()).collect(),
        dated: None,
    }
}

fn read_text(text: &str, wanted: &Wanted) -> Result<Imported, ImportError> {
    read_pages(&[text], wanted)
}

fn read_pages(pages: &[&str], wanted: &Wanted) -> Result<Imported, ImportError> {
    let path = Path::new("list.json");
    let mut list = List::new(wanted);
    for page in pages {
        list.read(page.as_bytes(), path)?;
    }
    let dated = wanted.dated.as_deref().unwrap_or("2026-11-21");
    list.finish(dated).map_err(|what| ImportError::Unusable {
        path: path.to_owned(),
        what,
    })
}

fn prices(imported: &Imported) -> Vec<(&str, &str, &str, f64)> {
    imported
        .machines
        .iter()
        .map(|entry| {
            let usd = entry.usd_per_hour.unwrap();
            (entry.machine.as_str(), entry.region.as_str(), entry.terms.as_str(), usd)
        })
        .collect()
}

#[test]
fn aws_gives_linux_on_shared_machines_and_standard_reservations() {
    let imported = read_text(OFFER, &wanted(&["r5n.8xlarge"], &[])).unwrap();
    assert_eq!(
        prices(&imported),
        [
            ("r5n.8xlarge", "us-east-1", "on-demand", 2.384),
            ("r5n.8xlarge", "us-east-1", "reserved-1y", 1.502),
        ]
    );
    let first = &imported.machines[0];
    assert_eq!((first.vcpu, first.memory_gib), (32, 256.0));
    assert_eq!(first.dated, "2026-11-03", "the list's own date");
    assert!(first.source.contains("20261103174512"), "{}", first.source);
    // A type that nobody knew comes with its vCPUs and memory.
    let other = read_text(OFFER, &wanted(&["x1.32xlarge"], &["us-east-1"])).unwrap();
    assert_eq!((other.machines[0].vcpu, other.machines[0].memory_gib), (128, 1_952.0));
    let elsewhere = read_text(OFFER, &wanted(&["r5n.8xlarge"], &["eu-west-1"])).unwrap_err();
    assert!(elsewhere.to_string().contains("no price of a machine"), "{elsewhere}");
}

#[test]
fn awss_index_of_regions_is_told_from_an_offer() {
    let index = r#"{ "formatVersion": "v1.0", "publicationDate": "2026-11-03T17:45:12Z", "regions": {
        "us-east-1": { "regionCode": "us-east-1", "currentVersionUrl": "/offers/v1.0/aws/AmazonEC2/20261103174512/us-east-1/index.json" } } }"#;
    let error = read_text(index, &wanted(&[], &[])).unwrap_err().to_string();
    assert!(
        error.contains("list.json") && error.contains("currentVersionUrl"),
        "{error}"
    );
}

#[test]
fn azure_gives_linux_spot_and_reservations_by_the_hour() {
    let imported = read_text(RETAIL, &wanted(&[], &["eastus"])).unwrap();
    assert_eq!(
        prices(&imported),
        [
            ("Standard_E16s_v4", "eastus", "on-demand", 1.008),
            ("Standard_E16s_v4", "eastus", "reserved-1y", 0.6),
            ("Standard_E16s_v4", "eastus", "spot", 0.2016),
        ]
    );
    assert_eq!(
        imported.machines[0].dated, "2026-11-21",
        "a page has no date of its own"
    );
    let notes = imported.notes.join("\n");
    assert!(
        notes.contains("after the last page") && notes.contains("Standard_F16s_v2"),
        "{notes}"
    );
    assert_eq!(
        read_text(RETAIL, &wanted(&[], &[])).unwrap().machines.len(),
        4,
        "every region"
    );
    let unknown = RETAIL.replace("Standard_E16s_v4", "Standard_New_v9");
    let error = read_text(&unknown, &wanted(&["Standard_New_v9"], &[]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("neither vCPUs nor memory"), "{error}");
    let euros = RETAIL.replace("\"BillingCurrency\": \"USD\"", "\"BillingCurrency\": \"EUR\"");
    assert!(
        read_text(&euros, &wanted(&[], &[]))
            .unwrap_err()
            .to_string()
            .contains("EUR")
    );
    let twice = RETAIL
        .replace("\"retailPrice\": 1.744", "\"retailPrice\": 1.5")
        .replace(" Windows", "");
    let error = read_text(&twice, &wanted(&[], &[])).unwrap_err().to_string();
    assert!(error.contains("two prices"), "{error}");
}

#[test]
fn google_gives_machines_of_their_vcpus_and_memory() {
    let imported = read_text(CATALOG, &wanted(&["n2-highmem-16", "n2-standard-16"], &["us-central1"])).unwrap();
    let rounded: Vec<(&str, &str, f64)> = prices(&imported)
        .into_iter()
        .map(|(machine, _, terms, usd)| (machine, terms, (usd * 1e6).round() / 1e6))
        .collect();
    // 16 vCPUs and 128 or 64 GiB; of spot only one half is in the list.
    assert_eq!(
        rounded,
        [
            ("n2-highmem-16", "on-demand", 1.048_112),
            ("n2-standard-16", "on-demand", 0.776_944)
        ]
    );
    assert!(imported.notes.is_empty(), "{:?}", imported.notes);
    let both = read_text(CATALOG, &wanted(&["n2-standard-16"], &[])).unwrap();
    assert_eq!(both.machines.len(), 2, "a machine per region of the rates");
    // Cores on one page, memory on the next.
    let core = CATALOG
        .replace("N2 Instance Ram", "N2 Other Ram")
        .replace("\"nextPageToken\": \"\"", "\"nextPageToken\": \"x\"");
    let ram = CATALOG.replace("Instance Core", "Other Core");
    assert!(read_text(&core, &wanted(&["n2-standard-16"], &[])).is_err());
    let joined = read_pages(&[&core, &ram], &wanted(&["n2-standard-16"], &[])).unwrap();
    assert_eq!(joined.machines, both.machines);
    assert!(
        joined.notes.is_empty(),
        "the last page is the list's: {:?}",
        joined.notes
    );
    let mixed = read_pages(&[&core, RETAIL], &wanted(&[], &[])).unwrap_err().to_string();
    assert!(mixed.contains("several providers"), "{mixed}");
}

#[test]
fn what_is_no_list_is_refused_by_name() {
    for (text, said) in [
        ("{\"a\": 1}", "none of the lists"),
        ("[1, 2]", "a provider's list"),
        ("{\"skus\": [", "EOF"),
        ("", "EOF"),
    ] {
        let error = read_text(text, &wanted(&[], &[])).unwrap_err().to_string();
        assert!(error.contains("list.json") && error.contains(said), "{error}");
    }
    let mut undated = wanted(&[], &[]);
    undated.dated = Some("yesterday".into());
    let error = read_text(RETAIL, &undated).unwrap_err();
    assert!(error.to_string().contains("YYYY-MM-DD"), "{error}");
}

#[test]
fn a_price_file_keeps_its_comments_and_its_other_entries() {
    let file = "# Mine.\n\n# The old one.\n[[machine]]\nprovider = \"aws\"\nregion = \"us-east-1\"\ntype = \"r5n.8xlarge\"\nvcpu = 32\nmemory_gib = 256\nterms = \"on-demand\"\n\n# By contract.\n[[machine]]\nprovider = \"cellar\"\nregion = \"home\"\ntype = \"box\"\nvcpu = 4\nmemory_gib = 8\nusd_per_hour = 0.01\nterms = \"on-demand\"\nsource = \"the bill\"\ndated = \"2026-01-01\"\n\n[[transfer]]\nprovider = \"aws\"\nregion = \"us-east-1\"\ntype = \"cross-zone\"\nusd_per_gb = 0.02\nsource = \"the bill\"\ndated = \"2026-01-01\"\n";
    let path = Path::new("mine.toml");
    let imported = read_text(OFFER, &wanted(&["r5n.8xlarge"], &[])).unwrap();
    let text = merged(file, &imported.machines, path).unwrap();
    assert!(
        text.starts_with("# Mine.\n\n# The old one.\n[[machine]]\nprovider = \"aws\""),
        "{text}"
    );
    assert!(
        text.contains("usd_per_hour = 2.384\n") && text.contains("\n# By contract.\n"),
        "{text}"
    );
    assert_eq!(
        text.matches("\"on-demand\"").count(),
        2,
        "replaced where it stood: {text}"
    );
    let read = Prices::parse(&text, path).unwrap();
    assert_eq!((read.machines.len(), read.transfers.len()), (3, 1));
    assert_eq!(
        read.machine("aws", "us-east-1", "r5n.8xlarge", "reserved-1y")
            .unwrap()
            .usd_per_hour,
        Some(1.502)
    );
    // Once more changes nothing.
    assert_eq!(merged(&text, &imported.machines, path).unwrap(), text);
    // A new file.
    let fresh = merged("", &imported.machines, path).unwrap();
    assert_eq!(Prices::parse(&fresh, path).unwrap().machines.len(), 2);
    let broken = merged("[[machine]]\nprovider = 1\n", &imported.machines, path).unwrap_err();
    assert!(broken.to_string().contains("mine.toml"), "{broken}");
}
