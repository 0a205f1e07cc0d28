//! What must hold of the tables whatever ran: conditions 1 to 10 and 12 of clause 3.3.2, each as a query that gives what breaks it.

use crate::{Control, DriverError};

/// `(condition, query that counts the warehouses, districts, orders or customers that break it)`.
const CONDITIONS: [(&str, &str); 11] = [
    (
        "1: w_ytd is the sum of its districts' d_ytd",
        "SELECT COUNT(*) FROM (SELECT w_id FROM warehouse JOIN district ON d_w_id = w_id GROUP BY w_id, w_ytd HAVING w_ytd <> SUM(d_ytd)) broken",
    ),
    (
        "2: d_next_o_id - 1 is the district's greatest order",
        "SELECT COUNT(*) FROM (SELECT d_w_id, d_id FROM district JOIN orders ON o_w_id = d_w_id AND o_d_id = d_id GROUP BY d_w_id, d_id, \
         d_next_o_id HAVING d_next_o_id - 1 <> MAX(o_id)) broken",
    ),
    (
        "3: the numbers of a district's new orders have no gap",
        "SELECT COUNT(*) FROM (SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> \
         COUNT(*)) broken",
    ),
    (
        "4: a district's o_ol_cnt add up to its order lines",
        "SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS lines_said FROM orders GROUP BY o_w_id, o_d_id) said JOIN (SELECT \
         ol_w_id, ol_d_id, COUNT(*) AS lines_there FROM order_line GROUP BY ol_w_id, ol_d_id) there ON ol_w_id = o_w_id AND ol_d_id = \
         o_d_id WHERE lines_said <> lines_there",
    ),
    (
        "5: an order has no carrier exactly if it is a new order",
        "SELECT COUNT(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id WHERE (o_carrier_id \
         IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        "6: an order has o_ol_cnt lines",
        "SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, o_id FROM orders LEFT JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND \
         ol_o_id = o_id GROUP BY o_w_id, o_d_id, o_id, o_ol_cnt HAVING o_ol_cnt <> COUNT(ol_number)) broken",
    ),
    (
        "7: a line is delivered exactly if its order has a carrier",
        "SELECT COUNT(*) FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id WHERE (ol_delivery_d IS \
         NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        "8: w_ytd is the sum of the payments",
        "SELECT COUNT(*) FROM (SELECT w_id FROM warehouse JOIN history ON h_w_id = w_id GROUP BY w_id, w_ytd HAVING w_ytd <> \
         SUM(h_amount)) broken",
    ),
    (
        "9: d_ytd is the sum of the payments",
        "SELECT COUNT(*) FROM (SELECT d_w_id, d_id FROM district JOIN history ON h_w_id = d_w_id AND h_d_id = d_id GROUP BY d_w_id, d_id, \
         d_ytd HAVING d_ytd <> SUM(h_amount)) broken",
    ),
    (
        "10: c_balance is what was delivered less what was paid",
        "SELECT COUNT(*) FROM customer JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history GROUP BY h_c_w_id, \
         h_c_d_id, h_c_id) payments ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, \
         SUM(ol_amount) AS delivered FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE \
         ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) deliveries ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         WHERE c_balance <> COALESCE(delivered, 0) - paid",
    ),
    (
        "12: c_balance and c_ytd_payment add up to what was delivered",
        "SELECT COUNT(*) FROM customer LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM orders JOIN order_line ON \
         ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) \
         deliveries ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id WHERE c_balance + c_ytd_payment <> COALESCE(delivered, 0)",
    ),
];

/// The conditions that do not hold, each as a sentence.
pub(crate) fn conditions(control: &mut Control) -> Result<Vec<String>, DriverError> {
    let mut problems = Vec::new();
    for (condition, sql) in CONDITIONS {
        let broken = control.value(sql)?;
        if broken.as_deref() != Some("0") {
            problems.push(format!(
                "{}: TPC-C's condition {condition}: broken {} times",
                control.server(),
                broken.as_deref().unwrap_or("?")
            ));
        }
    }
    Ok(problems)
}
