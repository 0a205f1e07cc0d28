//! The console's files, as they are sent. They are the same for everybody: who asks is found out when they ask for data.

use console::Asset;
use http_wire::Headers;
use rest::Head;

/// The page runs its own scripts alone, talks to its own node alone, and is in no other page.
const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    ),
    ("x-frame-options", "DENY"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    // Another version of the node has other files: it is asked each time whether they are the same.
    ("cache-control", "no-cache"),
];

/// The file's head and body: 304, and nothing, where the browser has it.
pub fn answer(asset: &'static Asset, headers: Headers<'_>) -> (Head, &'static [u8]) {
    let tag = asset.tag();
    let has_it = headers.get("if-none-match").is_some_and(|known| {
        known
            .split(|byte| *byte == b',')
            .any(|known| known.trim_ascii() == tag.as_bytes())
    });
    let mut head = Head::new(if has_it { 304 } else { 200 });
    head.content_type = asset.content_type;
    for (name, value) in HEADERS {
        head.header(name, value);
    }
    head.header("etag", &tag);
    (head, if has_it { b"" } else { asset.body })
}
