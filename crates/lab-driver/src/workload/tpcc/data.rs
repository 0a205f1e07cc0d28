//! The tables and their first rows (clauses 1.3 and 4.3.3.1). Everything about an order that two tables must agree on (its customer, the
//! number of its lines) follows from its place, not from what was drawn before.

use mysql_wire::put;

use super::super::TableLoad;
use super::super::random::Random;
use super::{C_LAST_LOAD, DISTRICTS, TpccOptions, last_name, money, nurand};

/// When everything that is loaded happened.
const LOADED_AT: &[u8] = b"'2026-01-01 00:00:00'";
/// The first payment of each customer, in cents.
const FIRST_PAYMENT: i64 = 1_000;

pub(in super::super) fn tables(options: &TpccOptions) -> Vec<TableLoad> {
    vec![
        item(options),
        warehouse(options),
        district(options),
        customer(options),
        history(options),
        orders(options),
        new_order(options),
        order_line(options),
        stock(options),
    ]
}

fn table(
    name: &str,
    columns: &str,
    units: u64,
    unit_len_max: usize,
    write: impl Fn(u64, &mut Row) + Send + Sync + 'static,
) -> TableLoad {
    TableLoad {
        name: name.to_owned(),
        create: format!("CREATE TABLE {name} ({columns})"),
        insert: format!("INSERT INTO {name} VALUES"),
        units,
        unit_len_max,
        gapless_key: None,
        after: Vec::new(),
        write: Box::new(move |unit, random, out| {
            let mut row = Row { out, random };
            row.out.push(b'(');
            write(unit, &mut row);
            if row.out.last() == Some(&b',') {
                row.out.pop();
            }
            row.out.push(b')');
        }),
    }
}

/// A row in the making: each value is followed by a comma.
struct Row<'a> {
    out: &'a mut Vec<u8>,
    random: &'a mut Random,
}

impl Row<'_> {
    fn int(&mut self, value: u64) {
        put::decimal_u64(self.out, value);
        self.out.push(b',');
    }

    fn raw(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
        self.out.push(b',');
    }

    fn cents(&mut self, cents: i64) {
        money(cents, self.out);
        self.out.push(b',');
    }

    /// Ten-thousandths up to `most`, for rates.
    fn rate(&mut self, most: u64) {
        let rate = self.random.uniform(0, most);
        self.raw(format!("0.{rate:04}").as_bytes());
    }

    fn text(&mut self, write: impl FnOnce(&mut Random, &mut Vec<u8>)) {
        self.out.push(b'\'');
        write(self.random, self.out);
        self.out.extend_from_slice(b"',");
    }

    fn letters(&mut self, least: u64, most: u64) {
        self.text(|random, out| letters(random, least, most, out));
    }

    fn digits(&mut self, count: u64) {
        self.text(|random, out| (0..count).for_each(|_| out.push(b'0' + random.below(10) as u8)));
    }

    fn address(&mut self) {
        self.letters(10, 20);
        self.letters(10, 20);
        self.letters(10, 20);
        self.letters(2, 2);
        self.text(|random, out| {
            (0..4).for_each(|_| out.push(b'0' + random.below(10) as u8));
            out.extend_from_slice(b"11111");
        });
    }

    /// One in ten contains ORIGINAL.
    fn data(&mut self) {
        self.text(|random, out| {
            let begin = out.len();
            letters(random, 26, 50, out);
            if random.below(10) == 0 {
                let at = begin + random.below((out.len() - begin - 8) as u64 + 1) as usize;
                out[at..at + 8].copy_from_slice(b"ORIGINAL");
            }
        });
    }

    /// The next row of the same unit.
    fn next(&mut self) {
        self.out.pop();
        self.out.extend_from_slice(b"),(");
    }
}

fn letters(random: &mut Random, least: u64, most: u64, out: &mut Vec<u8>) {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for _ in 0..random.uniform(least, most) {
        out.push(LETTERS[random.below(LETTERS.len() as u64) as usize]);
    }
}

/// Warehouse, district and place within it of a number that counts through all districts, each from 1.
fn place(number: u64, in_district: u64) -> (u64, u64, u64) {
    let district = number / in_district;
    (
        district / DISTRICTS + 1,
        district % DISTRICTS + 1,
        number % in_district + 1,
    )
}

/// The customer of a district's first orders: each has one, in an order that looks drawn.
fn customer_of(order: u64, customers: u64) -> u64 {
    // A factor without common divisor permutes.
    let mut factor = (customers * 5 / 8) | 1;
    while gcd(factor, customers) != 1 {
        factor += 2;
    }
    (order * factor + 17) % customers + 1
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Lines of a first order: 5 to 15.
fn lines_of(warehouse: u64, district: u64, order: u64) -> u64 {
    Random::new(warehouse * DISTRICTS + district, order).uniform(5, 15)
}

fn item(options: &TpccOptions) -> TableLoad {
    let mut table = table(
        "item",
        "i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50), PRIMARY KEY (i_id)",
        options.items.into(),
        150,
        |unit, row| {
            row.int(unit + 1);
            let image = row.random.uniform(1, 10_000);
            row.int(image);
            row.letters(14, 24);
            let price = row.random.uniform(100, 10_000) as i64;
            row.cents(price);
            row.data();
        },
    );
    table.gapless_key = Some("i_id");
    table
}

fn warehouse(options: &TpccOptions) -> TableLoad {
    let customers = i64::from(options.customers);
    let mut table = table(
        "warehouse",
        "w_id INT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), \
         w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2), PRIMARY KEY (w_id)",
        options.warehouses.into(),
        200,
        move |unit, row| {
            row.int(unit + 1);
            row.letters(6, 10);
            row.address();
            row.rate(2_000);
            row.cents(FIRST_PAYMENT * customers * DISTRICTS as i64);
        },
    );
    table.gapless_key = Some("w_id");
    table
}

fn district(options: &TpccOptions) -> TableLoad {
    let customers = u64::from(options.customers);
    table(
        "district",
        "d_id INT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), d_city VARCHAR(20), \
         d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id)",
        options.districts(),
        220,
        move |unit, row| {
            row.int(unit % DISTRICTS + 1);
            row.int(unit / DISTRICTS + 1);
            row.letters(6, 10);
            row.address();
            row.rate(2_000);
            row.cents(FIRST_PAYMENT * customers as i64);
            row.int(customers + 1);
        },
    )
}

fn customer(options: &TpccOptions) -> TableLoad {
    let customers = u64::from(options.customers);
    table(
        "customer",
        "c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16), \
         c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16), c_since \
         DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), c_ytd_payment \
         DECIMAL(12,2), c_payment_cnt INT, c_delivery_cnt INT, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id), KEY \
         c_by_name (c_w_id, c_d_id, c_last, c_first)",
        options.customers_all(),
        900,
        move |unit, row| {
            let (warehouse, district, customer) = place(unit, customers);
            row.int(customer);
            row.int(district);
            row.int(warehouse);
            row.letters(8, 16);
            row.raw(b"'OE'");
            row.text(|random, out| {
                let number = match customer {
                    1..=1000 => customer - 1,
                    _ => nurand(random, 255, C_LAST_LOAD, 0, 999),
                };
                last_name(number, out);
            });
            row.address();
            row.digits(16);
            row.raw(LOADED_AT);
            let bad = row.random.below(10) == 0;
            row.raw(if bad { b"'BC'" } else { b"'GC'" });
            row.cents(5_000_000);
            row.rate(5_000);
            row.cents(-FIRST_PAYMENT);
            row.cents(FIRST_PAYMENT);
            row.int(1);
            row.int(0);
            row.letters(300, 500);
        },
    )
}

fn history(options: &TpccOptions) -> TableLoad {
    let customers = u64::from(options.customers);
    table(
        "history",
        "h_c_id INT, h_c_d_id INT, h_c_w_id INT, h_d_id INT, h_w_id INT, h_date DATETIME, h_amount DECIMAL(6,2), h_data VARCHAR(24)",
        options.customers_all(),
        120,
        move |unit, row| {
            let (warehouse, district, customer) = place(unit, customers);
            for value in [customer, district, warehouse, district, warehouse] {
                row.int(value);
            }
            row.raw(LOADED_AT);
            row.cents(FIRST_PAYMENT);
            row.letters(12, 24);
        },
    )
}

fn orders(options: &TpccOptions) -> TableLoad {
    let (customers, delivered) = (u64::from(options.customers), options.delivered());
    table(
        "orders",
        "o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT, o_entry_d DATETIME, o_carrier_id INT, o_ol_cnt INT, \
         o_all_local INT, PRIMARY KEY (o_w_id, o_d_id, o_id), KEY o_by_customer (o_w_id, o_d_id, o_c_id, o_id)",
        options.customers_all(),
        100,
        move |unit, row| {
            let (warehouse, district, order) = place(unit, customers);
            row.int(order);
            row.int(district);
            row.int(warehouse);
            row.int(customer_of(order, customers));
            row.raw(LOADED_AT);
            if order <= delivered {
                let carrier = row.random.uniform(1, 10);
                row.int(carrier);
            } else {
                row.raw(b"NULL");
            }
            row.int(lines_of(warehouse, district, order));
            row.int(1);
        },
    )
}

fn new_order(options: &TpccOptions) -> TableLoad {
    let (customers, delivered) = (u64::from(options.customers), options.delivered());
    let waiting = customers - delivered;
    table(
        "new_order",
        "no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
        options.districts() * waiting,
        40,
        move |unit, row| {
            let (warehouse, district, number) = place(unit, waiting);
            row.int(delivered + number);
            row.int(district);
            row.int(warehouse);
        },
    )
}

fn order_line(options: &TpccOptions) -> TableLoad {
    let (customers, delivered, items) = (u64::from(options.customers), options.delivered(), options.items);
    table(
        "order_line",
        "ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL, ol_number INT NOT NULL, ol_i_id INT, ol_supply_w_id INT, \
         ol_delivery_d DATETIME, ol_quantity INT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, \
         ol_number)",
        options.customers_all(),
        15 * 130,
        move |unit, row| {
            let (warehouse, district, order) = place(unit, customers);
            for line in 1..=lines_of(warehouse, district, order) {
                if line > 1 {
                    row.next();
                }
                row.int(order);
                row.int(district);
                row.int(warehouse);
                row.int(line);
                let item = row.random.uniform(1, items.into());
                row.int(item);
                row.int(warehouse);
                let is_delivered = order <= delivered;
                row.raw(if is_delivered { LOADED_AT } else { b"NULL" });
                row.int(5);
                let amount = if is_delivered {
                    0
                } else {
                    row.random.uniform(1, 999_999)
                };
                row.cents(amount as i64);
                row.letters(24, 24);
            }
        },
    )
}

fn stock(options: &TpccOptions) -> TableLoad {
    let items = u64::from(options.items);
    let districts: Vec<String> = (1..=DISTRICTS).map(|d| format!("s_dist_{d:02} CHAR(24), ")).collect();
    table(
        "stock",
        &format!(
            "s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity INT, {}s_ytd INT, s_order_cnt INT, s_remote_cnt INT, s_data VARCHAR(50), \
             PRIMARY KEY (s_w_id, s_i_id)",
            districts.concat()
        ),
        items * u64::from(options.warehouses),
        400,
        move |unit, row| {
            row.int(unit % items + 1);
            row.int(unit / items + 1);
            let quantity = row.random.uniform(10, 100);
            row.int(quantity);
            (0..DISTRICTS).for_each(|_| row.letters(24, 24));
            (0..3).for_each(|_| row.int(0));
            row.data();
        },
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_customer_has_one_first_order() {
        for customers in [30, 31, 100, 3000] {
            let seen: BTreeSet<u64> = (1..=customers).map(|order| customer_of(order, customers)).collect();
            assert_eq!((seen.len() as u64, seen.last()), (customers, Some(&customers)));
        }
    }

    #[test]
    fn rows_fit_their_room_and_agree_on_lines() {
        let options = TpccOptions {
            warehouses: 2,
            items: 100,
            customers: 40,
            prepared: true,
        };
        for table in tables(&options) {
            let mut random = Random::new(3, 3);
            for unit in (0..table.units).step_by(7) {
                let mut row = Vec::new();
                (table.write)(unit, &mut random, &mut row);
                assert!(row.len() <= table.unit_len_max, "{}: {}", table.name, row.len());
                if table.name == "order_line" {
                    let (warehouse, district, order) = place(unit, 40);
                    let rows = row.windows(3).filter(|three| three == b"),(").count() as u64 + 1;
                    assert_eq!(rows, lines_of(warehouse, district, order));
                }
            }
        }
    }
}
