//! Imported prices into a price file, whose other entries and comments stay as they are.

use std::path::Path;

use super::{MachinePrice, Prices};
use crate::price::PriceError;

/// The text of `file` (empty for a new one) with `machines` in it: an entry of the same provider, region, type and terms is
/// replaced where it stands, the others go to the end. What comes out is read again before it is given back.
pub fn merged(file: &str, machines: &[MachinePrice], path: &Path) -> Result<String, PriceError> {
    Prices::parse(file, path)?;
    let mut left: Vec<&MachinePrice> = machines.iter().collect();
    let mut text = String::new();
    for block in blocks(file) {
        let (entry, rest) = split(block);
        let own: Option<MachinePrice> = entry
            .starts_with("[[machine]]")
            .then(|| Prices::parse(entry, path).ok()?.machines.pop())
            .flatten();
        let replaced = own.and_then(|own| left.iter().position(|new| same(&own, new)));
        match replaced {
            Some(at) => text.push_str(&written(left.remove(at))),
            None => text.push_str(entry),
        }
        text.push_str(rest);
    }
    for entry in left {
        if !text.is_empty() {
            text.push_str(if text.ends_with("\n\n") { "" } else { "\n" });
        }
        text.push_str(&written(entry));
    }
    Prices::parse(&text, path)?;
    Ok(text)
}

fn same(a: &MachinePrice, b: &MachinePrice) -> bool {
    (&a.provider, &a.region, &a.machine, &a.terms) == (&b.provider, &b.region, &b.machine, &b.terms)
}

/// From each line that begins an entry to the next; what stands before the first is one too.
fn blocks(file: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = vec![0];
    let mut at = 0;
    for line in file.split_inclusive('\n') {
        if line.starts_with("[[") && at > 0 {
            starts.push(at);
        }
        at += line.len();
    }
    starts.push(file.len());
    starts.windows(2).map(|pair| &file[pair[0]..pair[1]]).collect()
}

/// The entry's own lines, and the empty lines and comments after it, which belong to the next.
fn split(block: &str) -> (&str, &str) {
    let mut end = block.len();
    for line in block.split_inclusive('\n').rev() {
        let bare = line.trim();
        if !bare.is_empty() && !bare.starts_with('#') {
            break;
        }
        end -= line.len();
    }
    block.split_at(end)
}

fn written(entry: &MachinePrice) -> String {
    let usd = entry.usd_per_hour.map_or(String::new(), |usd| {
        // Billionths of a dollar: the smallest that a provider prices by.
        let digits = format!("{usd:.9}");
        let digits = digits.trim_end_matches('0');
        let zero = if digits.ends_with('.') { "0" } else { "" };
        format!("usd_per_hour = {digits}{zero}\n")
    });
    format!(
        "[[machine]]\nprovider = {}\nregion = {}\ntype = {}\nvcpu = {}\nmemory_gib = {}\n{usd}terms = {}\nsource = {}\ndated = {}\n",
        quoted(&entry.provider),
        quoted(&entry.region),
        quoted(&entry.machine),
        entry.vcpu,
        entry.memory_gib,
        quoted(&entry.terms),
        quoted(&entry.source),
        quoted(&entry.dated),
    )
}

/// As a basic string of TOML.
fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => {
                text.push('\\');
                text.push(c);
            }
            c if c.is_control() => text.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_read_back_as_it_was() {
        for name in ["plain", "a \"quoted\" \\ name", "line\nbreak\u{1b}[31m"] {
            let table: toml::Table = toml::from_str(&format!("name = {}", quoted(name))).unwrap();
            assert_eq!(table["name"].as_str(), Some(name));
        }
    }
}
