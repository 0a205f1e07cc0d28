//! A large transaction is there as a whole: each changes all pages alike.

use crate::report::Report;
use crate::schema::Row;

pub fn check(node: u32, pages: &[Row], report: &Report) {
    let is_same = |row: &Row| row.number == pages[0].number && row.bytes.len() == pages[0].bytes.len();
    if !pages.iter().all(is_same) {
        report.violation(
            "whole",
            format_args!("on node {node} a part of a large transaction is there"),
        );
    }
}
