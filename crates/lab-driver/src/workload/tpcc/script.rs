//! The five transactions (clauses 2.4 to 2.8) and their mix (5.2.3): 45 new orders, 43 payments, and 4 each of order status, delivery
//! and stock level in a hundred.
//!
//! Each transaction is a list of steps that is made when it begins, and longer while it runs: an answer decides what follows. The lines
//! of an order are taken in the order of their stock's key, so that new orders do not deadlock among themselves.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::random::Random;
use super::super::{Last, Script, Scripts};
use super::{C_CUSTOMER, C_ITEM, C_LAST_RUN, DISTRICTS, TpccOptions, last_name, money, nurand};
use crate::statement::{Arguments, Catalog, Protocol, RowUse};

pub(in super::super) fn catalog(options: &TpccOptions) -> Catalog {
    build(options).0
}

/// Indexes in the catalog; `kinds` are the transactions as a whole.
#[derive(Debug, Clone)]
struct Statements {
    begin: usize,
    commit: usize,
    rollback: usize,
    customer_and_tax: usize,
    district_next: usize,
    district_took: usize,
    insert_order: usize,
    insert_new_order: usize,
    item: usize,
    /// Of the first district; the others follow.
    stock: usize,
    update_stock: usize,
    insert_line: usize,
    pay_warehouse: usize,
    warehouse: usize,
    pay_district: usize,
    district: usize,
    by_name: usize,
    customer: usize,
    pay_customer: usize,
    pay_bad_customer: usize,
    insert_history: usize,
    last_order: usize,
    lines: usize,
    oldest: usize,
    delete_new_order: usize,
    order_customer: usize,
    carrier: usize,
    deliver_lines: usize,
    amount: usize,
    deliver_customer: usize,
    next_order: usize,
    low_stock: usize,
    kinds: [usize; 5],
}

fn build(options: &TpccOptions) -> (Catalog, Statements) {
    let mut catalog = Catalog::default();
    let protocol = if options.prepared {
        Protocol::Prepared
    } else {
        Protocol::Text
    };
    let kinds = ["new_order", "payment", "order_status", "delivery", "stock_level"].map(|kind| catalog.kind(kind));
    let add = |catalog: &mut Catalog, kind: &'static str, sql: &str| catalog.add(kind, sql.to_owned(), protocol);
    let keep = |catalog: &mut Catalog, kind: &'static str, sql: &str| {
        let index = catalog.add(kind, sql.to_owned(), protocol);
        catalog.statements[index].rows = RowUse::Keep;
        index
    };
    let c = &mut catalog;
    let stock_statements: Vec<usize> = (1..=DISTRICTS)
        .map(|d| {
            let sql =
                format!("SELECT s_quantity, s_dist_{d:02}, s_data FROM stock WHERE s_i_id=? AND s_w_id=? FOR UPDATE");
            keep(c, "select_stock", &sql)
        })
        .collect();
    let statements = Statements {
        stock: stock_statements[0],
        begin: add(c, "begin", "BEGIN"),
        commit: add(c, "commit", "COMMIT"),
        rollback: add(c, "rollback", "ROLLBACK"),
        customer_and_tax: add(
            c,
            "select_customer",
            "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id=? AND c_w_id=w_id AND c_d_id=? AND c_id=?",
        ),
        district_next: keep(
            c,
            "select_district",
            "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id=? AND d_id=? FOR UPDATE",
        ),
        district_took: add(
            c,
            "update_district",
            "UPDATE district SET d_next_o_id=? WHERE d_w_id=? AND d_id=?",
        ),
        insert_order: add(
            c,
            "insert_order",
            "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, NOW(), ?, ?)",
        ),
        insert_new_order: add(
            c,
            "insert_order",
            "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
        ),
        item: keep(
            c,
            "select_item",
            "SELECT i_price, i_name, i_data FROM item WHERE i_id=?",
        ),
        update_stock: add(
            c,
            "update_stock",
            "UPDATE stock SET s_quantity=?, s_ytd=s_ytd+?, s_order_cnt=s_order_cnt+1, s_remote_cnt=s_remote_cnt+? WHERE s_i_id=? AND \
             s_w_id=?",
        ),
        insert_line: add(
            c,
            "insert_line",
            "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ),
        pay_warehouse: add(c, "update_warehouse", "UPDATE warehouse SET w_ytd=w_ytd+? WHERE w_id=?"),
        warehouse: add(
            c,
            "select_warehouse",
            "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse WHERE w_id=?",
        ),
        pay_district: add(
            c,
            "update_district",
            "UPDATE district SET d_ytd=d_ytd+? WHERE d_w_id=? AND d_id=?",
        ),
        district: add(
            c,
            "select_district",
            "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id=? AND d_id=?",
        ),
        by_name: keep(
            c,
            "select_by_name",
            "SELECT c_id FROM customer WHERE c_w_id=? AND c_d_id=? AND c_last=? ORDER BY c_first",
        ),
        customer: keep(
            c,
            "select_customer",
            "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, \
             c_discount, c_balance FROM customer WHERE c_w_id=? AND c_d_id=? AND c_id=? FOR UPDATE",
        ),
        pay_customer: add(
            c,
            "update_customer",
            "UPDATE customer SET c_balance=c_balance-?, c_ytd_payment=c_ytd_payment+?, c_payment_cnt=c_payment_cnt+1 WHERE c_w_id=? AND \
             c_d_id=? AND c_id=?",
        ),
        pay_bad_customer: add(
            c,
            "update_customer",
            "UPDATE customer SET c_balance=c_balance-?, c_ytd_payment=c_ytd_payment+?, c_payment_cnt=c_payment_cnt+1, \
             c_data=LEFT(CONCAT(?, c_data), 500) WHERE c_w_id=? AND c_d_id=? AND c_id=?",
        ),
        insert_history: add(
            c,
            "insert_history",
            "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, NOW(), ?, \
             ?)",
        ),
        last_order: keep(
            c,
            "select_order",
            "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id=? AND o_d_id=? AND o_c_id=? ORDER BY o_id DESC LIMIT 1",
        ),
        lines: add(
            c,
            "select_lines",
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id=? AND ol_d_id=? AND \
             ol_o_id=?",
        ),
        oldest: keep(
            c,
            "select_new_order",
            "SELECT no_o_id FROM new_order WHERE no_w_id=? AND no_d_id=? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
        ),
        delete_new_order: add(
            c,
            "delete_new_order",
            "DELETE FROM new_order WHERE no_w_id=? AND no_d_id=? AND no_o_id=?",
        ),
        order_customer: keep(
            c,
            "select_order",
            // Locked: a snapshot that is older than the order would not show it.
            "SELECT o_c_id FROM orders WHERE o_w_id=? AND o_d_id=? AND o_id=? FOR UPDATE",
        ),
        carrier: add(
            c,
            "update_order",
            "UPDATE orders SET o_carrier_id=? WHERE o_w_id=? AND o_d_id=? AND o_id=?",
        ),
        deliver_lines: add(
            c,
            "update_lines",
            "UPDATE order_line SET ol_delivery_d=NOW() WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?",
        ),
        amount: keep(
            c,
            "select_lines",
            "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?",
        ),
        deliver_customer: add(
            c,
            "update_customer",
            "UPDATE customer SET c_balance=c_balance+?, c_delivery_cnt=c_delivery_cnt+1 WHERE c_w_id=? AND c_d_id=? AND c_id=?",
        ),
        next_order: keep(
            c,
            "select_district",
            "SELECT d_next_o_id FROM district WHERE d_w_id=? AND d_id=?",
        ),
        low_stock: add(
            c,
            "select_stock",
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id<? AND ol_o_id>=? AND s_w_id=? \
             AND s_i_id=ol_i_id AND s_quantity<?",
        ),
        kinds,
    };
    (catalog, statements)
}

pub(in super::super) fn scripts(options: &TpccOptions, seed: u64) -> Scripts {
    let statements = Arc::new(build(options).1);
    let options = options.clone();
    Box::new(move |connection| {
        Box::new(TpccScript {
            statements: statements.clone(),
            options: options.clone(),
            random: Random::new(seed, connection as u64 + 1),
            // Connections have a home warehouse, in turns.
            home: connection as u64 % u64::from(options.warehouses) + 1,
            kind: 0,
            steps: VecDeque::new(),
            asked: None,
            order: Order::default(),
        })
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Begin,
    Commit,
    Rollback,
    CustomerAndTax,
    DistrictNext,
    DistrictTook,
    InsertOrder,
    InsertNewOrder,
    Item(usize),
    Stock(usize),
    UpdateStock(usize),
    InsertLine(usize),
    PayWarehouse,
    Warehouse,
    PayDistrict,
    District,
    ByName,
    Customer,
    PayCustomer,
    InsertHistory,
    LastOrder,
    Lines,
    Oldest(u64),
    DeleteNewOrder(u64),
    OrderCustomer(u64),
    Carrier(u64),
    DeliverLines(u64),
    Amount(u64),
    DeliverCustomer(u64),
    NextOrder,
    LowStock,
}

/// What the transaction is about: drawn when it begins, completed by answers.
#[derive(Debug, Default)]
struct Order {
    district: u64,
    customer: u64,
    /// Where the customer lives: for a payment perhaps another warehouse.
    customer_warehouse: u64,
    customer_district: u64,
    last_name: u64,
    bad_credit: bool,
    id: i64,
    lines: Vec<Line>,
    /// The last item does not exist: the order is rolled back (clause 2.4.1.4).
    fails: bool,
    amount: i64,
    carrier: u64,
    threshold: u64,
}

#[derive(Debug, Clone, Default)]
struct Line {
    item: u64,
    supply: u64,
    quantity: i64,
    price: i64,
    stock: i64,
    info: String,
}

struct TpccScript {
    statements: Arc<Statements>,
    options: TpccOptions,
    random: Random,
    home: u64,
    kind: usize,
    steps: VecDeque<Step>,
    /// The step whose answer is awaited.
    asked: Option<Step>,
    order: Order,
}

impl Script for TpccScript {
    fn begin(&mut self) {
        self.asked = None;
        self.steps.clear();
        self.order = Order {
            district: self.random.uniform(1, DISTRICTS),
            ..Order::default()
        };
        self.order.customer_warehouse = self.home;
        self.order.customer_district = self.order.district;
        self.steps.push_back(Step::Begin);
        self.kind = match self.random.below(100) {
            0..45 => self.new_order(),
            45..88 => self.payment(),
            88..92 => self.order_status(),
            92..96 => self.delivery(),
            _ => self.stock_level(),
        };
    }

    fn next(&mut self, arguments: &mut Arguments, last: &Last) -> Option<usize> {
        if let Some(step) = self.asked.take() {
            self.answered(step, last);
        }
        let step = self.steps.pop_front()?;
        self.asked = Some(step);
        Some(self.statement(step, arguments))
    }

    fn transaction_kind(&self) -> Option<usize> {
        Some(self.statements.kinds[self.kind])
    }
}

impl TpccScript {
    fn draw_customer(&mut self) -> u64 {
        nurand(&mut self.random, 1023, C_CUSTOMER, 1, self.options.customers.into())
    }

    /// Six in ten customers are known by name (clauses 2.5.1.2, 2.6.1.2).
    fn find_customer(&mut self) {
        if self.random.below(100) < 60 {
            let names = u64::from(self.options.customers).min(1000);
            self.order.last_name = nurand(&mut self.random, 255, C_LAST_RUN, 0, names - 1);
            self.steps.push_back(Step::ByName);
        } else {
            self.order.customer = self.draw_customer();
        }
    }

    fn other_warehouse(&mut self) -> u64 {
        let others = u64::from(self.options.warehouses) - 1;
        if others == 0 {
            return self.home;
        }
        let drawn = self.random.uniform(1, others);
        if drawn >= self.home { drawn + 1 } else { drawn }
    }

    fn new_order(&mut self) -> usize {
        self.order.customer = self.draw_customer();
        self.order.fails = self.random.below(100) == 0;
        for _ in 0..self.random.uniform(5, 15) {
            let remote = self.random.below(100) == 0;
            let line = Line {
                item: nurand(&mut self.random, 8191, C_ITEM, 1, self.options.items.into()),
                supply: if remote { self.other_warehouse() } else { self.home },
                quantity: self.random.uniform(1, 10) as i64,
                ..Line::default()
            };
            self.order.lines.push(line);
        }
        self.order.lines.sort_by_key(|line| (line.supply, line.item));
        if self.order.fails
            && let Some(line) = self.order.lines.last_mut()
        {
            line.item = u64::from(self.options.items) + 1;
        }
        self.steps.extend([
            Step::CustomerAndTax,
            Step::DistrictNext,
            Step::DistrictTook,
            Step::InsertOrder,
            Step::InsertNewOrder,
        ]);
        for line in 0..self.order.lines.len() {
            self.steps.extend([
                Step::Item(line),
                Step::Stock(line),
                Step::UpdateStock(line),
                Step::InsertLine(line),
            ]);
        }
        self.steps.push_back(Step::Commit);
        0
    }

    fn payment(&mut self) -> usize {
        self.order.amount = self.random.uniform(100, 500_000) as i64;
        if self.random.below(100) < 15 {
            self.order.customer_warehouse = self.other_warehouse();
            self.order.customer_district = self.random.uniform(1, DISTRICTS);
        }
        self.steps
            .extend([Step::PayWarehouse, Step::Warehouse, Step::PayDistrict, Step::District]);
        self.find_customer();
        self.steps
            .extend([Step::Customer, Step::PayCustomer, Step::InsertHistory, Step::Commit]);
        1
    }

    fn order_status(&mut self) -> usize {
        self.find_customer();
        self.steps.extend([Step::LastOrder, Step::Lines, Step::Commit]);
        2
    }

    fn delivery(&mut self) -> usize {
        self.order.carrier = self.random.uniform(1, 10);
        self.steps.extend((1..=DISTRICTS).map(Step::Oldest));
        self.steps.push_back(Step::Commit);
        3
    }

    fn stock_level(&mut self) -> usize {
        self.order.threshold = self.random.uniform(10, 20);
        self.steps.extend([Step::NextOrder, Step::LowStock, Step::Commit]);
        4
    }

    /// Takes from an answer what later steps need.
    fn answered(&mut self, step: Step, last: &Last) {
        let order = &mut self.order;
        match step {
            Step::DistrictNext | Step::NextOrder => order.id = last.rows.int(0, 0).unwrap_or_default(),
            Step::Item(line) => match last.rows.text(0, 0) {
                Some(price) => order.lines[line].price = cents(&price),
                None => self.steps = VecDeque::from([Step::Rollback]),
            },
            Step::Stock(line) => {
                order.lines[line].stock = last.rows.int(0, 0).unwrap_or_default();
                order.lines[line].info = last.rows.text(0, 1).unwrap_or_default();
            }
            Step::ByName => {
                // The middle one, rounded up.
                let found = last.rows.len();
                order.customer = match last.rows.int(found.div_ceil(2).saturating_sub(1), 0) {
                    Some(id) => id as u64,
                    // No customer has the name (few customers): any will do.
                    None => 1,
                };
            }
            Step::Customer => order.bad_credit = last.rows.text(0, 0).as_deref() == Some("BC"),
            Step::LastOrder => order.id = last.rows.int(0, 0).unwrap_or_default(),
            Step::Oldest(district) => {
                if let Some(id) = last.rows.int(0, 0) {
                    order.id = id;
                    let steps = [
                        Step::DeleteNewOrder(district),
                        Step::OrderCustomer(district),
                        Step::Carrier(district),
                        Step::DeliverLines(district),
                        Step::Amount(district),
                        Step::DeliverCustomer(district),
                    ];
                    steps.into_iter().rev().for_each(|step| self.steps.push_front(step));
                }
            }
            Step::OrderCustomer(_) => order.customer = last.rows.int(0, 0).unwrap_or_default() as u64,
            Step::Amount(_) => order.amount = last.rows.text(0, 0).map_or(0, |sum| cents(&sum)),
            _ => {}
        }
    }

    /// The step's statement, its parameters added.
    fn statement(&self, step: Step, arguments: &mut Arguments) -> usize {
        let (s, order) = (&self.statements, &self.order);
        let (home, district) = (self.home as i64, order.district as i64);
        let mut ints = |values: &[i64]| values.iter().for_each(|value| arguments.int(*value));
        let lives = [order.customer_warehouse as i64, order.customer_district as i64];
        match step {
            Step::Begin => s.begin,
            Step::Commit => s.commit,
            Step::Rollback => s.rollback,
            Step::CustomerAndTax => {
                ints(&[home, district, order.customer as i64]);
                s.customer_and_tax
            }
            Step::DistrictNext => {
                ints(&[home, district]);
                s.district_next
            }
            Step::DistrictTook => {
                ints(&[order.id + 1, home, district]);
                s.district_took
            }
            Step::InsertOrder => {
                let local = order.lines.iter().all(|line| line.supply == self.home);
                let (lines, local) = (order.lines.len() as i64, i64::from(local));
                ints(&[order.id, district, home, order.customer as i64, lines, local]);
                s.insert_order
            }
            Step::InsertNewOrder => {
                ints(&[order.id, district, home]);
                s.insert_new_order
            }
            Step::Item(line) => {
                ints(&[order.lines[line].item as i64]);
                s.item
            }
            Step::Stock(line) => {
                ints(&[order.lines[line].item as i64, order.lines[line].supply as i64]);
                s.stock + order.district as usize - 1
            }
            Step::UpdateStock(line) => {
                let line = &order.lines[line];
                let left = line.stock - line.quantity;
                let left = if left >= 10 { left } else { left + 91 };
                let remote = i64::from(line.supply != self.home);
                ints(&[left, line.quantity, remote, line.item as i64, line.supply as i64]);
                s.update_stock
            }
            Step::InsertLine(number) => {
                let line = &order.lines[number];
                let (item, supply) = (line.item as i64, line.supply as i64);
                ints(&[order.id, district, home, number as i64 + 1, item, supply, line.quantity]);
                arguments.text(|out| money(line.price * line.quantity, out));
                arguments.text(|out| out.extend_from_slice(line.info.as_bytes()));
                s.insert_line
            }
            Step::PayWarehouse => {
                arguments.text(|out| money(order.amount, out));
                arguments.int(home);
                s.pay_warehouse
            }
            Step::Warehouse => {
                ints(&[home]);
                s.warehouse
            }
            Step::PayDistrict => {
                arguments.text(|out| money(order.amount, out));
                arguments.int(home);
                arguments.int(district);
                s.pay_district
            }
            Step::District => {
                ints(&[home, district]);
                s.district
            }
            Step::ByName => {
                ints(&lives);
                arguments.text(|out| last_name(order.last_name, out));
                s.by_name
            }
            Step::Customer => {
                ints(&lives);
                arguments.int(order.customer as i64);
                s.customer
            }
            Step::PayCustomer => {
                arguments.text(|out| money(order.amount, out));
                arguments.text(|out| money(order.amount, out));
                if order.bad_credit {
                    let [warehouse, lives_in] = lives;
                    let paid = format!(
                        "{} {lives_in} {warehouse} {district} {home} {} | ",
                        order.customer, order.amount
                    );
                    arguments.text(|out| out.extend_from_slice(paid.as_bytes()));
                }
                lives.iter().for_each(|value| arguments.int(*value));
                arguments.int(order.customer as i64);
                if order.bad_credit {
                    s.pay_bad_customer
                } else {
                    s.pay_customer
                }
            }
            Step::InsertHistory => {
                ints(&[lives[1], lives[0], order.customer as i64, district, home]);
                arguments.text(|out| money(order.amount, out));
                arguments.text(|out| out.extend_from_slice(b"warehouse    district"));
                s.insert_history
            }
            Step::LastOrder => {
                ints(&[home, district, order.customer as i64]);
                s.last_order
            }
            Step::Lines => {
                ints(&[home, district, order.id]);
                s.lines
            }
            Step::Oldest(district) => {
                ints(&[home, district as i64]);
                s.oldest
            }
            Step::DeleteNewOrder(district) => {
                ints(&[home, district as i64, order.id]);
                s.delete_new_order
            }
            Step::OrderCustomer(district) => {
                ints(&[home, district as i64, order.id]);
                s.order_customer
            }
            Step::Carrier(district) => {
                ints(&[order.carrier as i64, home, district as i64, order.id]);
                s.carrier
            }
            Step::DeliverLines(district) => {
                ints(&[home, district as i64, order.id]);
                s.deliver_lines
            }
            Step::Amount(district) => {
                ints(&[home, district as i64, order.id]);
                s.amount
            }
            Step::DeliverCustomer(district) => {
                arguments.text(|out| money(order.amount, out));
                arguments.int(home);
                arguments.int(district as i64);
                arguments.int(order.customer as i64);
                s.deliver_customer
            }
            Step::NextOrder => {
                ints(&[home, district]);
                s.next_order
            }
            Step::LowStock => {
                ints(&[home, district, order.id, order.id - 20, home, order.threshold as i64]);
                s.low_stock
            }
        }
    }
}

/// A decimal number with up to two places, in cents.
fn cents(text: &str) -> i64 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction: i64 = format!("{fraction:0<2}")[..2].parse().unwrap_or_default();
    let value = whole.trim_start_matches('-').parse::<i64>().unwrap_or_default() * 100 + fraction;
    if text.starts_with('-') { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_as_cents() {
        assert_eq!(["12.34", "0.5", "7", "-1.05"].map(cents), [1234, 50, 700, -105]);
    }
}
