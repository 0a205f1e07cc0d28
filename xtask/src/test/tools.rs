//! The toolchains that client suites need: found, or named; and their libraries, fetched once.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::Context;
use super::run::done;

/// Directories beside `PATH` where distributions and toolchains put programs.
const MORE_PATHS: [&str; 3] = ["/usr/local/go/bin", "/usr/sbin", "/usr/local/bin"];

/// The program's path, wherever it is.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(MORE_PATHS.iter().map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Names what is not there, if anything.
pub fn missing(programs: &[&str]) -> Option<String> {
    let missing: Vec<&str> = programs
        .iter()
        .copied()
        .filter(|program| find(program).is_none())
        .collect();
    (!missing.is_empty()).then(|| format!("skipped: {} not found (make install-tools)", missing.join(", ")))
}

fn command(program: &str) -> Command {
    Command::new(find(program).unwrap_or_else(|| PathBuf::from(program)))
}

/// Whether `product` was made from the present content of `source`; the content is kept beside it.
fn is_current(product: &Path, source: &Path) -> Result<bool> {
    let wanted = std::fs::read(source).with_context(|| source.display().to_string())?;
    Ok(std::fs::read(stamp(product)).is_ok_and(|made_from| made_from == wanted))
}

fn note_current(product: &Path, source: &Path) -> Result<()> {
    std::fs::copy(source, stamp(product))?;
    Ok(())
}

fn stamp(product: &Path) -> PathBuf {
    product.join(".made-from")
}

/// A Python with the libraries of the suites.
pub fn python(context: &Context) -> Result<Command> {
    python_with(context, "test-venv", "tests/clients/python/requirements.txt")
}

/// A Python with libraries of its own: Feast wants older ones than the other suites, and many.
pub fn python_of_feast(context: &Context) -> Result<Command> {
    python_with(context, "feast-venv", "clients/feast/tests/requirements.txt")
}

fn python_with(context: &Context, venv: &str, requirements: &str) -> Result<Command> {
    let venv = context.target(venv);
    let requirements = context.root.join(requirements);
    let interpreter = venv.join("bin/python");
    if !is_current(&venv, &requirements)? {
        println!("   installing Python libraries into {}", venv.display());
        let mut create = command("python3");
        create.args(["-m", "venv"]).arg(&venv);
        done(create)?;
        let mut install = Command::new(&interpreter);
        install
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--requirement",
            ])
            .arg(&requirements);
        done(install)?;
        note_current(&venv, &requirements)?;
    }
    let mut python = Command::new(interpreter);
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(python)
}

/// The Go suite, built.
pub fn go_suite(context: &Context) -> Result<Command> {
    go_program(context, ".", "client-go").map(Command::new)
}

/// A program of the Go clients, built.
fn go_program(context: &Context, package: &str, name: &str) -> Result<PathBuf> {
    let binary = context.target(name);
    let mut build = command("go");
    build
        .args(["build", "-o"])
        .arg(&binary)
        .arg(package)
        .current_dir(context.root.join("tests/clients/go"));
    done(build)?;
    Ok(binary)
}

/// Node, with the libraries of the suite beside it.
pub fn node(context: &Context) -> Result<Command> {
    let folder = context.root.join("tests/clients/node");
    let (modules, lock) = (folder.join("node_modules"), folder.join("package-lock.json"));
    if !is_current(&modules, &lock)? {
        println!("   installing Node libraries into {}", modules.display());
        let mut install = command("npm");
        install
            .args(["ci", "--silent", "--no-audit", "--no-fund"])
            .current_dir(&folder);
        done(install)?;
        note_current(&modules, &lock)?;
    }
    Ok(command("node"))
}

/// Java, with the libraries of the suite on its class path.
pub fn java(context: &Context) -> Result<Command> {
    let mut java = command("java");
    java.arg("-cp").arg(java_libraries(context)?.join("*"));
    Ok(java)
}

fn java_libraries(context: &Context) -> Result<PathBuf> {
    let libraries = context.target("client-java");
    let pom = context.root.join("tests/clients/java/pom.xml");
    if !is_current(&libraries, &pom)? {
        println!("   fetching Java libraries into {}", libraries.display());
        std::fs::create_dir_all(&libraries)?;
        let mut fetch = command("mvn");
        fetch
            .args(["--quiet", "--batch-mode", "dependency:copy-dependencies"])
            .arg(format!("-DoutputDirectory={}", libraries.display()));
        fetch.arg("--file").arg(&pom);
        done(fetch)?;
        note_current(&libraries, &pom)?;
    }
    Ok(libraries)
}

/// Tells the suite of failovers which of the drivers' toolchains are there.
pub fn name_drivers(context: &Context, suite: &mut Command) -> Result<()> {
    if missing(&["go"]).is_none() {
        suite.env("FAILOVER_GO", go_program(context, "./failover", "failover-go")?);
    }
    if missing(&["node", "npm"]).is_none() {
        suite.env("FAILOVER_NODE", node(context)?.get_program());
    }
    if missing(&["java", "javac", "mvn"]).is_none() {
        suite.env("FAILOVER_JAVA_LIBRARIES", java_libraries(context)?);
    }
    Ok(())
}

/// The Rust suite, built; it is not of the workspace.
pub fn rust_suite(context: &Context) -> Result<Command> {
    let target = context.target("client-rust");
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["build", "--quiet", "--locked", "--manifest-path"])
        .arg(context.root.join("tests/clients/rust/Cargo.toml"));
    build.env("CARGO_TARGET_DIR", &target);
    done(build)?;
    Ok(Command::new(target.join("debug/client-suite")))
}
