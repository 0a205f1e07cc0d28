//! `lab prices import`, from the command line to a price file that a plan can name.

use std::path::{Path, PathBuf};

use lab_report::Prices;

const PAGE: &str = r#"{ "BillingCurrency": "USD", "Items": [
    { "currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 1.25, "armRegionName": "eastus", "productName": "Virtual Machines Esv4 Series",
      "skuName": "E16s v4", "meterName": "E16s v4", "serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour", "type": "Consumption",
      "armSkuName": "Standard_E16s_v4" } ], "NextPageLink": null, "Count": 1 }"#;

fn run(arguments: &[&str]) -> Result<(), String> {
    let all = ["lab", "prices", "import"].iter().chain(arguments);
    let matches = lab::command()
        .try_get_matches_from(all)
        .map_err(|error| error.to_string())?;
    lab::run(&matches).map_err(|error| format!("{error:#}"))
}

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_list_fills_a_price_file_and_again_changes_it() {
    let folder = folder("prices-import");
    let (list, file) = (folder.join("page.json"), folder.join("prices.toml"));
    std::fs::write(&list, PAGE).unwrap();
    std::fs::write(&file, "# Ours.\n").unwrap();
    let arguments = ["--from", text(&list), "--into", text(&file), "--dated", "2026-11-20"];
    run(&arguments).unwrap();
    let price = || {
        let prices = Prices::read(&file).unwrap();
        prices
            .machine("azure", "eastus", "Standard_E16s_v4", "")
            .unwrap()
            .clone()
    };
    assert_eq!(
        (price().usd_per_hour, price().vcpu, price().dated.as_str()),
        (Some(1.25), 16, "2026-11-20")
    );
    std::fs::write(&list, PAGE.replace("1.25", "1.5")).unwrap();
    run(&arguments).unwrap();
    assert_eq!(price().usd_per_hour, Some(1.5));
    let whole = std::fs::read_to_string(&file).unwrap();
    assert!(
        whole.starts_with("# Ours.\n") && whole.matches("[[machine]]").count() == 1,
        "{whole}"
    );
    // A file that is refused leaves the price file as it is.
    std::fs::write(&list, "{}").unwrap();
    let refused = run(&arguments).unwrap_err();
    assert!(refused.contains("none of the lists"), "{refused}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), whole);
    let itself = run(&["--from", text(&file), "--into", text(&file)]).unwrap_err();
    assert!(itself.contains("both a list and the price file"), "{itself}");
}
