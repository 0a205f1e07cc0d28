//! The replies of Redis to the commands in `tests/replies`.

mod common;

macro_rules! scripts {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/replies/", stringify!($name), ".redis");
                common::run_script(std::path::Path::new(file));
            }
        )*
    };
}

scripts!(
    acl,
    bytes,
    bitmaps,
    dump,
    geo,
    hash_expiry,
    hyperloglog,
    operator,
    scan,
    sort,
    sorted_sets,
    stream_groups,
    streams,
    strings,
    tracking,
    transactions
);
