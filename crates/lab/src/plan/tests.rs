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
    let mut text = String::new();
    for line in template::TEMPLATE.lines() {
        let bare = line.trim_start_matches("# ");
        let is_key = bare.contains(" = ") || bare.starts_with('[');
        text.push_str(if line.starts_with("# ") && is_key { bare } else { line });
        text.push('\n');
    }
    // Alternatives that exclude each other, and a file that is not there.
    let text = text
        .replace("\npassword_file", "\n# password_file")
        .replace("\nagent = ", "\n# agent = ")
        .replace("# Lines that begin with", "#");
    parse(&text).unwrap();
}

/// One golden file: each plan with what is said of it.
#[test]
fn refusals_say_where_and_what_to_do() {
    let golden = include_str!("refusals.txt");
    for case in golden.split("\n====\n") {
        let (text, expected) = case.split_once("\n----\n").unwrap();
        let found = match parse(text.trim_start()) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        assert_eq!(found.trim(), expected.trim(), "of the plan\n{text}");
    }
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
