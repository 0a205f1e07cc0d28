//! The console's files, embedded: what `GET /` and what is below `/console/` answer.
//!
//! ```text
//!   assets/index.html ──▶ main.js ──▶ views/*.js ──▶ client.js ──▶ /v1/sql, /status, /status/history
//!                            └──────▶ shell: login, navigation, theme
//! ```

use std::hash::{DefaultHasher, Hash, Hasher};

/// One file.
#[derive(Debug)]
pub struct Asset {
    pub path: &'static str,
    pub content_type: &'static str,
    pub body: &'static [u8],
}

impl Asset {
    /// Another one for other content.
    pub fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.body.hash(&mut hasher);
        format!("W/\"{:016x}\"", hasher.finish())
    }
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! assets {
    ($($path:literal $content_type:ident $file:literal),* $(,)?) => {
        &[$(Asset { path: $path, content_type: $content_type, body: include_bytes!(concat!("../assets/", $file)) }),*]
    };
}

#[rustfmt::skip]
pub static ASSETS: &[Asset] = assets![
    "/" HTML "index.html",
    "/favicon.ico" SVG "icon.svg",
    "/console/icon.svg" SVG "icon.svg",
    "/console/base.css" CSS "base.css",
    "/console/parts.css" CSS "parts.css",
    "/console/theme.js" JS "theme.js",
    "/console/main.js" JS "main.js",
    "/console/client.js" JS "client.js",
    "/console/stream.js" JS "stream.js",
    "/console/split.js" JS "split.js",
    "/console/login.js" JS "login.js",
    "/console/dom.js" JS "dom.js",
    "/console/format.js" JS "format.js",
    "/console/table.js" JS "table.js",
    "/console/chart.js" JS "chart.js",
    "/console/plan.js" JS "plan.js",
    "/console/dialog.js" JS "dialog.js",
    "/console/views/overview.js" JS "views/overview.js",
    "/console/views/sessions.js" JS "views/sessions.js",
    "/console/views/locks.js" JS "views/locks.js",
    "/console/views/statements.js" JS "views/statements.js",
    "/console/views/tables.js" JS "views/tables.js",
    "/console/views/backups.js" JS "views/backups.js",
    "/console/views/editor.js" JS "views/editor.js",
    "/console/views/redis.js" JS "views/redis.js",
    "/console/views/lab.js" JS "views/lab.js",
];

/// The file of a path.
pub fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> impl Iterator<Item = (&'static str, &'static str)> {
        ASSETS
            .iter()
            .map(|asset| (asset.path, std::str::from_utf8(asset.body).expect("text")))
    }

    #[test]
    fn what_a_file_names_is_there() {
        for (path, text) in texts().filter(|(path, _)| path.ends_with(".js")) {
            let (folder, _) = path.rsplit_once('/').expect("a path");
            for line in text.lines().filter(|line| line.starts_with("import")) {
                let named = line.split('"').nth(1).expect("a module");
                let named = match named.strip_prefix("../") {
                    Some(above) => format!("/console/{above}"),
                    None => format!("{folder}/{}", named.trim_start_matches("./")),
                };
                assert!(find(&named).is_some(), "{path} imports {named}");
            }
        }
        let (_, page) = texts().find(|(path, _)| *path == "/").expect("a page");
        for named in page.split("=\"/console/").skip(1) {
            let named = named.split('"').next().expect("a name");
            assert!(find(&format!("/console/{named}")).is_some(), "the page names {named}");
        }
        // What is fetched at once need not wait for what imports it.
        for (path, _) in texts().filter(|(path, _)| path.ends_with(".js")) {
            assert!(
                page.contains(&format!("\"{path}\"")),
                "the page does not fetch {path} ahead"
            );
        }
    }

    #[test]
    fn nothing_is_made_of_text_but_text() {
        for (path, text) in texts().filter(|(path, _)| path.ends_with(".js")) {
            for way in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "setAttribute(\"on",
            ] {
                assert!(!text.contains(way), "{path} uses {way}");
            }
        }
    }

    #[test]
    fn nothing_comes_from_elsewhere() {
        for (path, text) in texts() {
            let text = text.replace("http://www.w3.org/", "");
            for scheme in ["http://", "https://", "//cdn"] {
                let elsewhere = text
                    .match_indices(scheme)
                    .find(|(at, _)| !text[at + scheme.len()..].starts_with("$"));
                assert!(elsewhere.is_none(), "{path} names another place");
            }
        }
    }
}
