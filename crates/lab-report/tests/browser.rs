//! The report in a real browser (headless Chromium): it opens without a message on the console and without a request
//! to anywhere, every chart is drawn, no label covers another, in light, dark and print.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Looks at the page as laid out and writes down what is wrong, for `--dump-dom` to print.
const LOOK: &str = r##"
(function () {
  document.querySelectorAll("details").forEach(function (d) { d.open = true; });
  var wrong = [], charts = {};
  function name(svg) { return svg.getAttribute("data-chart") + " (" + svg.getAttribute("aria-label") + ")"; }
  document.querySelectorAll("svg[data-chart]").forEach(function (svg) {
    var kind = svg.getAttribute("data-chart"), box = svg.getBoundingClientRect();
    charts[kind] = (charts[kind] || 0) + 1;
    if (box.width < 100 || box.height < 40) wrong.push("not drawn: " + name(svg));
    var texts = Array.from(svg.querySelectorAll("text")).filter(function (t) { return t.textContent.trim(); });
    var boxes = texts.map(function (t) { return t.getBoundingClientRect(); });
    boxes.forEach(function (a, i) {
      if (a.left < box.left - 3 || a.right > box.right + 3 || a.top < box.top - 3 || a.bottom > box.bottom + 3)
        wrong.push("outside: '" + texts[i].textContent + "' of " + name(svg));
      for (var j = i + 1; j < boxes.length; j++) {
        var b = boxes[j];
        var w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (w > 2 && h > 4.5) wrong.push("covers: '" + texts[i].textContent + "' and '" + texts[j].textContent + "' of " + name(svg));
      }
    });
  });
  if (document.documentElement.scrollWidth > window.innerWidth + 1) wrong.push("the page is wider than the window");
  var ids = {};
  document.querySelectorAll("[id]").forEach(function (e) { if (ids[e.id]) wrong.push("id twice: " + e.id); ids[e.id] = true; });
  document.querySelectorAll("nav a").forEach(function (a) { if (!ids[a.getAttribute("href").slice(1)]) wrong.push("leads nowhere: " + a.href); });
  // A click on a number says where it comes from.
  var number = document.querySelector("span.n[data-from]");
  number.click();
  var box = document.getElementById("source");
  if (box.hidden || box.textContent.indexOf(number.getAttribute("data-from")) < 0) wrong.push("a click on a number shows nothing");
  var out = document.createElement("pre");
  out.id = "looked";
  out.textContent = JSON.stringify({ charts: charts, wrong: wrong, background: getComputedStyle(document.body).backgroundColor });
  document.body.append(out);
})();
"##;

fn browser() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| {
            Command::new(name)
                .arg("--version")
                .output()
                .is_ok_and(|output| output.status.success())
        });
    if found.is_none() {
        eprintln!("skipped: no Chromium to open the report with");
    }
    found
}

fn headless(name: &str, profile: &Path, arguments: &[&str], page: &Path) -> (String, String) {
    let output = Command::new(name)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ])
        .args([
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            "--log-level=0",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn report(name: &str, options: crate::fixture::Options) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    crate::fixture::write(&path, options);
    crate::fixture::write_availability(&path);
    lab_report::report(&path).unwrap().html
}

/// The page with [`LOOK`] at its end; what that found.
fn looked_at(browser: &str, html: &Path, dark: bool, width: u32) -> serde_json::Value {
    let mut text = std::fs::read_to_string(html).unwrap();
    if dark {
        text = text.replace("(prefers-color-scheme: dark)", "all");
    }
    let copy = html.with_file_name(format!("look-{dark}-{width}.html"));
    std::fs::write(
        &copy,
        text.replace("</body>", &format!("<script>{LOOK}</script></body>")),
    )
    .unwrap();
    let profile = html.with_file_name("profile");
    let (dom, log) = headless(
        browser,
        &profile,
        &["--dump-dom", &format!("--window-size={width},1000")],
        &copy,
    );
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "the console says: {console:?}");
    let (_, rest) = dom.split_once("<pre id=\"looked\">").expect("the page's script ran");
    let (json, _) = rest.split_once("</pre>").unwrap();
    let json = json.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&json).unwrap()
}

fn nothing_wrong(found: &serde_json::Value) {
    let wrong = found["wrong"].as_array().unwrap();
    let first: Vec<_> = wrong.iter().take(20).map(|line| line.as_str().unwrap()).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), first.join("\n"));
}

#[test]
fn the_report_opens_whole_in_a_browser() {
    let Some(browser) = browser() else { return };
    let html = report("browser", crate::fixture::Options::default());
    let light = looked_at(browser, &html, false, 1_320);
    nothing_wrong(&light);
    let dark = looked_at(browser, &html, true, 1_320);
    nothing_wrong(&dark);
    assert_ne!(light["background"], dark["background"]);
    // A laptop's half screen.
    nothing_wrong(&looked_at(browser, &html, false, 760));
    for kind in [
        "throughput",
        "best",
        "latency",
        "latency-throughput",
        "percentiles",
        "lookups",
        "open-loop",
        "verdicts",
        "timeline",
        "heat",
        "one-thread",
        "per-dollar",
        "per-million",
        "pareto-rate",
        "pareto-latency",
        "topology",
        "published",
    ] {
        assert!(
            light["charts"][kind].as_u64() >= Some(1),
            "no chart {kind}: {}",
            light["charts"]
        );
    }
}

#[test]
fn the_report_asks_for_nothing() {
    let Some(browser) = browser() else { return };
    let html = report(
        "offline",
        crate::fixture::Options {
            threads: &[1, 4],
            repeats: 1,
            ..crate::fixture::Options::default()
        },
    );
    let log = html.with_file_name("net.json");
    headless(
        browser,
        &html.with_file_name("profile"),
        &["--dump-dom", &format!("--log-net-log={}", log.display())],
        &html,
    );
    let log = std::fs::read_to_string(log).unwrap();
    let asked: Vec<&str> = log
        .split('"')
        .filter(|text| {
            (text.starts_with("http://") || text.starts_with("https://") || text.starts_with("ws"))
                && text.contains("://")
        })
        // What the browser does for itself is not the page's.
        .filter(|url| {
            !["google.com", "googleapis.com", "gstatic.com", "gvt1.com"]
                .iter()
                .any(|host| url.contains(host))
        })
        .collect();
    assert!(asked.is_empty(), "{asked:?}");
    let text = std::fs::read_to_string(&html).unwrap();
    for outside in [
        "src=",
        "@import",
        "url(http",
        "url(//",
        "<link rel=\"stylesheet",
        "<iframe",
        "<img",
    ] {
        assert!(!text.contains(outside), "{outside} fetches something");
    }
}

#[test]
fn the_report_prints() {
    let Some(browser) = browser() else { return };
    let html = report(
        "printed",
        crate::fixture::Options {
            threads: &[1, 8, 64],
            ..crate::fixture::Options::default()
        },
    );
    let pdf = html.with_file_name("report.pdf");
    let print = format!("--print-to-pdf={}", pdf.display());
    headless(
        browser,
        &html.with_file_name("profile"),
        &[&print, "--no-pdf-header-footer"],
        &html,
    );
    let bytes = std::fs::read(&pdf).unwrap();
    assert!(bytes.starts_with(b"%PDF-"));
    let pages = String::from_utf8_lossy(&bytes).matches("/Type /Page\n").count();
    assert!((4..60).contains(&pages), "{pages} pages");
}

#[test]
fn a_comparison_of_many_lines_opens_whole_in_a_browser() {
    let Some(browser) = browser() else { return };
    let options = crate::fixture::Options {
        threads: &[1, 8, 64],
        repeats: 2,
        ..crate::fixture::Options::default()
    };
    let folder = report("many", options).parent().unwrap().to_owned();
    // Twelve lines that lie on one another: their names must not.
    let comparison = lab_report::compare(&[folder.as_path(); 4], lab_report::Unlike::Refuse).unwrap();
    let html = folder.join("comparison.html");
    std::fs::write(&html, comparison.html()).unwrap();
    let found = looked_at(browser, &html, false, 1_320);
    nothing_wrong(&found);
    assert_eq!(found["charts"]["throughput"], 2);
}
