//! Compiles Lua's sources.

const SOURCES: &[&str] = &[
    "lapi", "lauxlib", "lbaselib", "lcode", "ldebug", "ldo", "lfunc", "lgc", "llex", "lmathlib", "lmem", "lobject",
    "lopcodes", "lparser", "lstate", "lstring", "lstrlib", "ltable", "ltablib", "ltm", "lvm", "lzio",
];

fn main() {
    println!("cargo:rerun-if-changed=c");
    let mut build = cc::Build::new();
    for source in SOURCES {
        build.file(format!("c/{source}.c"));
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
