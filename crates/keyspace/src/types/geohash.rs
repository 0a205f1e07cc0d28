//! Places as 52-bit numbers: bits of the latitude and the longitude in turn, so that what is near often has a common beginning.
//!
//! As Redis has it (`geohash.c`, `geohash_helper.c`), to the last bit: scores of the two can be compared and carried over.

use std::f64::consts::PI;

/// Of the Mercator projection.
pub const LATITUDE_MAX: f64 = 85.051_128_78;
pub const LONGITUDE_MAX: f64 = 180.0;
/// Bits of each coordinate.
pub const STEPS: u32 = 26;
const EARTH_RADIUS_M: f64 = 6_372_797.560_856;
const MERCATOR_MAX_M: f64 = 20_037_726.37;
const X_BITS: u64 = 0xaaaa_aaaa_aaaa_aaaa;
const Y_BITS: u64 = 0x5555_5555_5555_5555;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    pub longitude: f64,
    pub latitude: f64,
}

/// A cell of the grid that so many bits of each coordinate make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    bits: u64,
    steps: u32,
}

/// What a cell covers.
struct Area {
    min: Place,
    max: Place,
}

/// The bits of a number, with a zero above each.
fn spread(value: u32) -> u64 {
    let mut bits = u64::from(value);
    for (shift, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, Y_BITS),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

/// The inverse of [`spread`].
fn gather(bits: u64) -> u32 {
    let mut bits = bits & Y_BITS;
    for (shift, mask) in [
        (1, 0x3333_3333_3333_3333),
        (2, 0x0f0f_0f0f_0f0f_0f0f),
        (4, 0x00ff_00ff_00ff_00ff),
        (8, 0x0000_ffff_0000_ffff),
        (16, 0x0000_0000_ffff_ffff),
    ] {
        bits = (bits | bits >> shift) & mask;
    }
    bits as u32
}

impl Cell {
    pub fn of(place: Place, latitude_max: f64, steps: u32) -> Cell {
        let part = |value: f64, max: f64| ((value + max) / (max + max) * (1u64 << steps) as f64) as u32;
        let (y, x) = (part(place.latitude, latitude_max), part(place.longitude, LONGITUDE_MAX));
        Cell {
            bits: spread(y) | spread(x) << 1,
            steps,
        }
    }

    pub fn of_score(score: f64) -> Cell {
        Cell {
            bits: score as u64,
            steps: STEPS,
        }
    }

    pub fn bits(self) -> u64 {
        self.bits
    }

    fn area(self) -> Area {
        let (y, x) = (gather(self.bits), gather(self.bits >> 1));
        let scale = (1u64 << self.steps) as f64;
        let at = |part: f64, max: f64| -max + part / scale * (max + max);
        let corner = |more: f64| Place {
            longitude: at(f64::from(x) + more, LONGITUDE_MAX),
            latitude: at(f64::from(y) + more, LATITUDE_MAX),
        };
        Area {
            min: corner(0.0),
            max: corner(1.0),
        }
    }

    pub fn center(self) -> Place {
        let Area { min, max } = self.area();
        let middle = |a: f64, b: f64, limit: f64| ((a + b) / 2.0).clamp(-limit, limit);
        Place {
            longitude: middle(min.longitude, max.longitude, LONGITUDE_MAX),
            latitude: middle(min.latitude, max.latitude, LATITUDE_MAX),
        }
    }

    /// The scores from which, and below which, its places have theirs.
    pub fn scores(self) -> (f64, f64) {
        let shift = 52 - 2 * self.steps;
        ((self.bits << shift) as f64, ((self.bits + 1) << shift) as f64)
    }

    /// The cell next to it; the grid has no edges.
    fn moved(self, x: i8, y: i8) -> Cell {
        let cut = 64 - 2 * self.steps;
        let step = |bits: u64, by: i8, own: u64, others: u64| {
            let others = others >> cut;
            let moved = match by {
                0 => bits,
                1.. => bits.wrapping_add(others + 1),
                _ => (bits | others).wrapping_sub(others + 1),
            };
            moved & own >> cut
        };
        let bits = step(self.bits & X_BITS, x, X_BITS, Y_BITS) | step(self.bits & Y_BITS, y, Y_BITS, X_BITS);
        Cell { bits, ..self }
    }
}

/// What is searched.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// In meters.
    Circle {
        radius: f64,
    },
    Box {
        width: f64,
        height: f64,
    },
}

impl Shape {
    /// How far a place is from the center; `None`: it is outside.
    pub fn distance(self, center: Place, place: Place) -> Option<f64> {
        match self {
            Shape::Circle { radius } => Some(distance(center, place)).filter(|&distance| distance <= radius),
            Shape::Box { width, height } => {
                let above = EARTH_RADIUS_M * (radians(center.latitude) - radians(place.latitude)).abs();
                let beside = Place {
                    latitude: place.latitude,
                    ..center
                };
                (above <= height / 2.0 && self::distance(place, beside) <= width / 2.0).then(|| distance(center, place))
            }
        }
    }

    /// The cells in which all of it is, the middle one first.
    pub fn cells(self, center: Place) -> Vec<Cell> {
        let (radius, width, height) = match self {
            Shape::Circle { radius } => (radius, radius, radius),
            Shape::Box { width, height } => {
                let (width, height) = (width / 2.0, height / 2.0);
                ((width * width + height * height).sqrt(), width, height)
            }
        };
        let (min, max) = bounds(center, width, height);
        let mut steps = steps_for(radius, center.latitude);
        let mut cell = Cell::of(center, LATITUDE_MAX, steps);
        let is_too_small = cell.moved(0, 1).area().max.latitude < max.latitude
            || cell.moved(0, -1).area().min.latitude > min.latitude
            || cell.moved(1, 0).area().max.longitude < max.longitude
            || cell.moved(-1, 0).area().min.longitude > min.longitude;
        if steps > 1 && is_too_small {
            steps -= 1;
            cell = Cell::of(center, LATITUDE_MAX, steps);
        }
        let area = cell.area();
        let mut cells: Vec<Cell> = Vec::new();
        for (x, y) in [
            (0, 0),
            (0, 1),
            (0, -1),
            (1, 0),
            (-1, 0),
            (1, 1),
            (-1, 1),
            (1, -1),
            (-1, -1),
        ] {
            // The middle one alone reaches the limit on that side.
            let is_useless = steps >= 2
                && (y < 0 && area.min.latitude < min.latitude
                    || y > 0 && area.max.latitude > max.latitude
                    || x < 0 && area.min.longitude < min.longitude
                    || x > 0 && area.max.longitude > max.longitude);
            let next = cell.moved(x, y);
            // Where the grid is coarse, both ways lead to the same cell.
            if !is_useless && cells.last() != Some(&next) {
                cells.push(next);
            }
        }
        cells
    }
}

fn radians(degrees: f64) -> f64 {
    degrees * (PI / 180.0)
}

fn degrees(radians: f64) -> f64 {
    radians / (PI / 180.0)
}

/// Meters on the great circle.
pub fn distance(a: Place, b: Place) -> f64 {
    let (a_latitude, b_latitude) = (radians(a.latitude), radians(b.latitude));
    let u = ((b_latitude - a_latitude) / 2.0).sin();
    let v = ((radians(b.longitude) - radians(a.longitude)) / 2.0).sin();
    let part = u * u + a_latitude.cos() * b_latitude.cos() * v * v;
    2.0 * EARTH_RADIUS_M * part.sqrt().asin()
}

/// The corners of a box around a place, of which half the width and half the height are given in meters.
fn bounds(center: Place, width: f64, height: f64) -> (Place, Place) {
    let up = degrees(height / EARTH_RADIUS_M);
    // Towards the pole a meter is more degrees.
    let widest = match center.latitude < 0.0 {
        true => center.latitude - up,
        false => center.latitude + up,
    };
    let aside = degrees(width / EARTH_RADIUS_M / radians(widest).cos());
    let corner = |sign: f64| Place {
        longitude: center.longitude + sign * aside,
        latitude: center.latitude + sign * up,
    };
    (corner(-1.0), corner(1.0))
}

/// How fine the grid is whose cells are about as large as a radius.
fn steps_for(mut radius: f64, latitude: f64) -> u32 {
    if radius == 0.0 {
        return STEPS;
    }
    let mut steps: i32 = 1;
    while radius < MERCATOR_MAX_M {
        radius *= 2.0;
        steps += 1;
    }
    steps -= 2;
    // Cells are narrower towards the poles.
    steps -= i32::from(latitude.abs() > 66.0) + i32::from(latitude.abs() > 80.0);
    steps.clamp(1, STEPS as i32) as u32
}
