//! Compiles Lua: the sources of the crate `lua-src`, with the changes in `patches`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CRATE: &str = "lua-src";
const FOLDER: &str = "lua-5.1.5";
const SOURCES: &[&str] = &[
    "lapi", "lauxlib", "lbaselib", "lcode", "ldebug", "ldo", "lfunc", "lgc", "llex", "lmathlib", "lmem", "lobject",
    "lopcodes", "lparser", "lstate", "lstring", "lstrlib", "ltable", "ltablib", "ltm", "lvm", "lzio",
];

fn main() {
    println!("cargo:rerun-if-changed=patches");
    println!("cargo:rerun-if-changed=Cargo.toml");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where"));
    let out = folder.join("lua");
    write_sources(&sources_of_crate(&folder), Path::new("patches"), &out);
    let mut build = cc::Build::new();
    for source in SOURCES {
        build.file(out.join(source).with_extension("c"));
    }
    // Always optimized: its frames are on the stacks of statements, its loops between two ticks.
    build
        .opt_level(2)
        .define("LUA_USE_ULONGJMP", None)
        .flag_if_supported("-fwrapv")
        .flag_if_supported("-fno-strict-aliasing")
        .warnings(false)
        .compile("lua51");
}

/// Where cargo has put the crate: it does not tell those who depend on it. It is asked by a package that depends on nothing else, in the version
/// of the workspace's lock file: asked for the whole workspace, it would want packages that this build needs not and has not fetched.
fn sources_of_crate(folder: &Path) -> PathBuf {
    let cargo = env::var_os("CARGO").expect("cargo runs this");
    let package = folder.join("sources-of-crate");
    fs::create_dir_all(&package).expect("the folder can be made");
    let manifest = package.join("Cargo.toml");
    let text = format!(
        "[package]\nname = \"sources-of-crate\"\n[lib]\npath = \"none.rs\"\n[dependencies]\n{CRATE} = \"*\"\n[workspace]\n"
    );
    fs::write(&manifest, text).expect("the file can be written");
    fs::copy("../../Cargo.lock", package.join("Cargo.lock")).expect("the workspace has a lock file");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--manifest-path"])
        .arg(manifest)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let manifest = packages
        .iter()
        .find(|package| package["name"] == CRATE)
        .and_then(|package| package["manifest_path"].as_str())
        .expect("this package depends on it");
    Path::new(manifest).with_file_name(FOLDER)
}

/// Copies the sources; those that a patch is there for are changed by it. It has to fit.
fn write_sources(from: &Path, patches: &Path, out: &Path) {
    fs::create_dir_all(out).expect("the folder can be made");
    for entry in fs::read_dir(from).expect("the sources are there") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a text");
        let text = match fs::read_to_string(patches.join(format!("{name}.patch"))) {
            Ok(patch) => {
                let patch = diffy::Patch::from_str(&patch).unwrap_or_else(|error| panic!("{name}.patch: {error}"));
                diffy::apply(&text, &patch).unwrap_or_else(|error| panic!("{name}.patch: {error}"))
            }
            Err(_) => text,
        };
        fs::write(out.join(name), text).expect("the file can be written");
    }
}
