//! What the machine says it is: /proc/cpuinfo, /etc/os-release and a few files of /sys. What is not said stays empty.

use std::fs;
use std::path::Path;

use lab_results::host::Identity;

pub fn identity() -> Identity {
    let cpuinfo = read("/proc/cpuinfo");
    let meminfo = read("/proc/meminfo");
    Identity {
        cpu_model: cpu_model(&cpuinfo),
        bogomips: field(&cpuinfo, "bogomips")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0.0),
        cores: cpuinfo.lines().filter(|line| line.starts_with("processor")).count() as u32,
        memory_bytes: field(&meminfo, "MemTotal")
            .and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok())
            .unwrap_or(0)
            * 1024,
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        distribution: distribution(&read("/etc/os-release")),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        transparent_huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled").map(|text| chosen(&text)),
        hypervisor: hypervisor(&cpuinfo),
        nic_driver: nic_driver(&read("/proc/net/route")),
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The first `name : value`, whatever the case of the name.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim().eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim())
}

/// ARM processors give numbers for a name.
fn cpu_model(cpuinfo: &str) -> String {
    if let Some(model) = field(cpuinfo, "model name") {
        return model.to_owned();
    }
    match (field(cpuinfo, "CPU implementer"), field(cpuinfo, "CPU part")) {
        (Some(implementer), Some(part)) => {
            let name = match (implementer, part) {
                ("0x41", "0xd0c") => "ARM Neoverse N1",
                ("0x41", "0xd40") => "ARM Neoverse V1",
                ("0x41", "0xd49") => "ARM Neoverse N2",
                ("0x41", "0xd4f") => "ARM Neoverse V2",
                ("0xc0", "0xac3" | "0xac4") => "Ampere-1",
                _ => return format!("ARM implementer {implementer} part {part}"),
            };
            name.to_owned()
        }
        _ => String::new(),
    }
}

fn distribution(os_release: &str) -> String {
    os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map(|name| name.trim_matches('"').to_owned())
        .unwrap_or_default()
}

/// `always [madvise] never` → `madvise`.
fn chosen(choices: &str) -> String {
    choices
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(choices, |(inside, _)| inside)
        .to_owned()
}

/// What the firmware and the kernel say of a hypervisor; `None` on bare metal, and where it hides.
fn hypervisor(cpuinfo: &str) -> Option<String> {
    let guest = field(cpuinfo, "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let product = ["sys_vendor", "product_name"]
        .iter()
        .filter_map(|name| line(&format!("/sys/class/dmi/id/{name}")))
        .collect::<Vec<_>>()
        .join(" ");
    let kind = line("/sys/hypervisor/type").or_else(|| {
        line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .filter(|clock| clock == "kvm-clock")
            .map(|_| "KVM".to_owned())
    });
    match (kind, guest, product.is_empty()) {
        (Some(kind), _, true) => Some(kind),
        (Some(kind), _, false) => Some(format!("{kind} ({product})")),
        (None, true, true) => Some("unnamed".to_owned()),
        (None, true, false) => Some(product),
        (None, false, _) => None,
    }
}

/// The driver of the interface that the default route leaves by.
fn nic_driver(routes: &str) -> Option<String> {
    let interface = routes.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace();
        let (interface, destination) = (fields.next()?, fields.next()?);
        (destination == "00000000").then_some(interface)
    })?;
    let driver = fs::read_link(Path::new("/sys/class/net").join(interface).join("device/driver")).ok()?;
    Some(driver.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_or_numbered() {
        assert_eq!(
            cpu_model("processor\t: 0\nmodel name\t: AMD EPYC 7B12\n"),
            "AMD EPYC 7B12"
        );
        let arm = "processor : 0\nBogoMIPS : 243.75\nCPU implementer : 0x41\nCPU part : ";
        assert_eq!(cpu_model(&format!("{arm}0xd0c\n")), "ARM Neoverse N1");
        assert_eq!(cpu_model(&format!("{arm}0xfff\n")), "ARM implementer 0x41 part 0xfff");
        assert_eq!(field(arm, "bogomips"), Some("243.75"));
    }

    #[test]
    fn the_choice_is_in_brackets() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn this_machine_says_what_it_is() {
        let identity = identity();
        assert!(identity.cores > 0);
        assert!(identity.memory_bytes > 0);
        assert!(!identity.cpu_model.is_empty());
        assert!(!identity.kernel.is_empty());
    }
}
