//! The lab as a program of its own, without the database: quick to build.

fn main() -> anyhow::Result<()> {
    let matches = lab::command().get_matches();
    lab::run(&matches)
}
