use super::*;

#[test]
fn the_printed_plan_is_a_plan() {
    let plan = parse(template::TEMPLATE).unwrap();
    assert_eq!(plan.name, "first");
    assert_eq!(plan.workloads.len(), 2);
}

/// Every commented key of the template, taken literally, is one that the plan knows.
#[test]
fn what_the_printed_plan_shows_in_comments_exists() {
    let is_shown = |bare: &str| {
        let key = bare.split(" = ").next().unwrap_or_default();
        bare.starts_with('[') || (bare.contains(" = ") && key.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
    };
    // Keys that exclude one that is shown before them, or name a file that must be there.
    let alternatives = ["password_file", "agent =", "tls =", "tls_ca"];
    let mut text = String::new();
    for line in template::TEMPLATE.lines() {
        let bare = line.trim_start_matches("# ");
        let shown = is_shown(bare) && !alternatives.iter().any(|key| bare.starts_with(key));
        text.push_str(if shown { bare } else { line });
        text.push('\n');
    }
    parse(&text).unwrap();
}

#[test]
fn the_examples_of_the_documentation_are_plans() {
    for text in [
        include_str!("../../../../docs/lab/examples/comparison.toml"),
        include_str!("../../../../docs/lab/examples/faults.toml"),
    ] {
        parse(text).unwrap();
    }
}

/// One golden file: each plan with what is said of it.
#[test]
fn refusals_say_where_and_what_to_do() {
    let golden = include_str!("refusals.txt");
    let mut found = Vec::new();
    for case in golden.trim_end().split("\n====\n") {
        let (text, _) = case.split_once("\n----\n").unwrap();
        let said = match parse(text) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => without_lists(&format!("{error:#}")),
        };
        found.push(format!("{text}\n----\n{said}"));
    }
    let found = found.join("\n====\n") + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/plan/refusals.txt"), &found).unwrap();
    } else {
        assert!(found == golden, "UPDATE_GOLDEN=1 rewrites the file; found:\n{found}");
    }
}

/// What the driver has is the driver's to say.
fn without_lists(said: &str) -> String {
    let lines: Vec<&str> = said
        .lines()
        .map(|line| line.split("; there are ").next().unwrap_or(line))
        .map(|line| line.split("; it has ").next().unwrap_or(line))
        .collect();
    lines.join("\n")
}

#[test]
fn a_password_comes_from_outside_and_is_not_in_the_plan() {
    let path = std::env::temp_dir().join(format!("lab-plan-password-{}", std::process::id()));
    std::fs::write(&path, "from a file\n").unwrap();
    let text = format!(
        "name = \"x\"\n[[target]]\nname = \"a\"\nhosts = [\"h:1\"]\npassword_file = {path:?}\n[[workload]]\nname = \"w\"\nkind = \"oltp_insert\"\n[ladder]\nthreads_per_server = [1]\n"
    );
    let plan = parse(&text).unwrap();
    assert_eq!(plan.targets[0].password().unwrap(), "from a file");
    std::fs::remove_file(&path).unwrap();
    let error = format!("{:#}", plan.targets[0].password().unwrap_err());
    assert!(error.contains("target `a`"), "{error}");
}

#[test]
fn the_lab_drives_the_load_unless_another_machine_is_to() {
    let with_nodes = |nodes: &str| {
        let plan = format!(
            "name = \"x\"\n[[target]]\nname = \"a\"\nhosts = [\"h:1\"]\n{nodes}[[workload]]\nname = \"w\"\nkind = \
             \"oltp_insert\"\n[ladder]\nthreads_per_server = [1]\n"
        );
        let plan = parse(&plan).unwrap();
        (plan.drives_here(), plan.load_nodes().count())
    };
    let node =
        |name: &str, roles: &str, reach: &str| format!("[[node]]\nname = \"{name}\"\nroles = [{roles}]\n{reach}\n");
    let here = node("here", "\"load\", \"sql\"", "");
    let far = node("far", "\"load\"", "ssh = \"far\"");
    let sql = node("sql", "\"sql\"", "ssh = \"sql\"");
    assert_eq!(with_nodes(""), (true, 0));
    assert_eq!(with_nodes(&sql), (true, 0));
    assert_eq!(with_nodes(&format!("{here}{sql}")), (true, 1));
    assert_eq!(with_nodes(&format!("{sql}{far}")), (false, 1));
    assert_eq!(with_nodes(&format!("{here}{far}")), (false, 2));
}
