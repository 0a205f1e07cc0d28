//! Order, equality, hash, containment.

use super::{BIT_TYPE, JsonRef, JsonView};
use crate::decimal::Decimal;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

impl<'a> JsonRef<'a> {
    /// MySQL's order: kinds first (null, numbers, strings, objects, arrays, booleans, dates, times, datetimes, opaque values),
    /// numbers exactly, strings by bytes, arrays by the first different element.
    pub fn compare(self, other: JsonRef<'_>) -> Ordering {
        governor::pause();
        let (a, b) = (self.view(), other.view());
        rank(&a).cmp(&rank(&b)).then_with(|| compare_same_rank(a, b))
    }

    /// Feeds a hash such that values that compare equal hash equally.
    pub fn hash_value<H: Hasher>(self, state: &mut H) {
        let view = self.view();
        rank(&view).hash(state);
        match view {
            JsonView::Null => {}
            JsonView::Bool(v) => v.hash(state),
            JsonView::Int(_) | JsonView::UInt(_) | JsonView::Double(_) | JsonView::Decimal(_) => {
                (to_f64(view) + 0.0).to_bits().hash(state);
            }
            JsonView::Str(v) => v.hash(state),
            JsonView::Array(v) => v.iter().for_each(|item| item.hash_value(state)),
            JsonView::Object(v) => v.iter().for_each(|(name, value)| {
                name.hash(state);
                value.hash_value(state);
            }),
            JsonView::Date(v) => v.hash(state),
            JsonView::Time(v) => v.micros.hash(state),
            JsonView::DateTime(v) => (v.packed_seconds(), v.micros).hash(state),
            JsonView::Opaque(ty, bytes) => (ty, bytes).hash(state),
        }
    }

    /// Appends a key that two documents share exactly when they compare as equal: `1` and `1.0` have one. Keys do not order; several in a
    /// row stay apart.
    pub fn write_key(self, out: &mut Vec<u8>) {
        governor::pause();
        let mut bytes = |bytes: &[u8]| {
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        let view = self.view();
        bytes(&[rank(&view)]);
        match view {
            JsonView::Null => {}
            JsonView::Bool(v) => bytes(&[u8::from(v)]),
            JsonView::Int(_) | JsonView::UInt(_) | JsonView::Double(_) | JsonView::Decimal(_) => {
                // Zeros of both signs are equal.
                let nearest = to_f64(view) + 0.0;
                bytes(&nearest.to_bits().to_le_bytes());
                let exact = to_exact(view).map(|number| number.normalized().to_string());
                bytes(exact.unwrap_or_default().as_bytes());
            }
            JsonView::Str(v) => bytes(v.as_bytes()),
            JsonView::Array(v) => {
                bytes(&(v.len() as u64).to_le_bytes());
                v.iter().for_each(|item| item.write_key(out));
            }
            JsonView::Object(v) => {
                bytes(&(v.len() as u64).to_le_bytes());
                for (name, value) in v.iter() {
                    out.extend_from_slice(&(name.len() as u32).to_le_bytes());
                    out.extend_from_slice(name.as_bytes());
                    value.write_key(out);
                }
            }
            JsonView::Date(v) => bytes(&v.to_packed().to_le_bytes()),
            JsonView::Time(v) => bytes(&v.micros.to_le_bytes()),
            JsonView::DateTime(v) => {
                bytes(&v.packed_seconds().to_le_bytes());
                bytes(&v.micros.to_le_bytes());
            }
            JsonView::Opaque(ty, content) => {
                bytes(&[ty]);
                bytes(content);
            }
        }
    }

    /// JSON_CONTAINS: a scalar contains its equal, an array what its elements contain and arrays of such, an object objects whose
    /// members it contains.
    pub fn contains(self, candidate: JsonRef<'_>) -> bool {
        if !governor::go_on() {
            return false;
        }
        match (self.view(), candidate.view()) {
            (JsonView::Array(target), JsonView::Array(items)) if target.len() * items.len() <= FEW_PAIRS => items
                .iter()
                .all(|item| target.iter().any(|element| contains_element(element, item))),
            (JsonView::Array(_), JsonView::Array(items)) => {
                let target = Reachable::of(self);
                items.iter().all(|item| target.contains(item))
            }
            (JsonView::Array(target), _) => target.iter().any(|element| element.contains(candidate)),
            (JsonView::Object(target), JsonView::Object(members)) => members
                .iter()
                .all(|(name, value)| target.get(name).is_some_and(|own| own.contains(value))),
            _ => self.compare(candidate).is_eq(),
        }
    }

    /// JSON_OVERLAPS: two arrays share an element, two objects a member, two scalars are equal; a scalar is an array of one.
    pub fn overlaps(self, other: JsonRef<'_>) -> bool {
        match (self.view(), other.view()) {
            (JsonView::Array(a), JsonView::Array(b)) => {
                let elements = ValueSet::of(a.iter());
                b.iter().any(|value| elements.has(value))
            }
            (JsonView::Array(a), _) => a.iter().any(|x| x.compare(other).is_eq()),
            (_, JsonView::Array(b)) => b.iter().any(|y| y.compare(self).is_eq()),
            (JsonView::Object(a), JsonView::Object(b)) => a
                .iter()
                .any(|(name, x)| b.get(name).is_some_and(|y| x.compare(y).is_eq())),
            _ => self.compare(other).is_eq(),
        }
    }
}

/// So many pairs are compared faster than put into a table.
const FEW_PAIRS: usize = 64;

/// Within arrays, an array is contained by an array element only.
fn contains_element(element: JsonRef<'_>, item: JsonRef<'_>) -> bool {
    let is_array = |v: JsonRef<'_>| matches!(v.view(), JsonView::Array(_));
    (!is_array(item) || is_array(element)) && element.contains(item)
}

/// Values that are looked up by their hash.
struct ValueSet<'a> {
    values: HashMap<u64, Vec<JsonRef<'a>>>,
    hasher: RandomState,
}

impl<'a> ValueSet<'a> {
    fn of(values: impl Iterator<Item = JsonRef<'a>>) -> ValueSet<'a> {
        let mut set = ValueSet {
            values: HashMap::new(),
            hasher: RandomState::new(),
        };
        values
            .take_while(|_| governor::go_on())
            .for_each(|value| set.add(value));
        set
    }

    fn add(&mut self, value: JsonRef<'a>) {
        let hash = self.hash(value);
        let alike = self.values.entry(hash).or_default();
        if !alike.iter().any(|other| other.compare(value).is_eq()) {
            alike.push(value);
        }
    }

    fn has(&self, value: JsonRef<'_>) -> bool {
        governor::go_on()
            && self
                .values
                .get(&self.hash(value))
                .is_some_and(|alike| alike.iter().any(|other| other.compare(value).is_eq()))
    }

    fn hash(&self, value: JsonRef<'_>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        value.hash_value(&mut hasher);
        hasher.finish()
    }
}

/// What an array contains, looked up in it many times.
struct Reachable<'a> {
    /// Through arrays of arrays, too.
    scalars: ValueSet<'a>,
    objects: Vec<JsonRef<'a>>,
    /// The array's own elements.
    arrays: Vec<JsonRef<'a>>,
}

impl<'a> Reachable<'a> {
    fn of(array: JsonRef<'a>) -> Reachable<'a> {
        let mut reachable = Reachable {
            scalars: ValueSet::of(std::iter::empty()),
            objects: Vec::new(),
            arrays: Vec::new(),
        };
        reachable.add_elements(array, 0);
        reachable
    }

    fn add_elements(&mut self, array: JsonRef<'a>, depth: usize) {
        let JsonView::Array(elements) = array.view() else {
            return;
        };
        for element in elements.iter().take_while(|_| governor::go_on()) {
            match element.view() {
                JsonView::Array(_) => {
                    if depth == 0 {
                        self.arrays.push(element);
                    }
                    self.add_elements(element, depth + 1);
                }
                JsonView::Object(_) => self.objects.push(element),
                _ => self.scalars.add(element),
            }
        }
    }

    fn contains(&self, item: JsonRef<'_>) -> bool {
        match item.view() {
            JsonView::Array(_) => self.arrays.iter().any(|element| element.contains(item)),
            JsonView::Object(_) => self.objects.iter().any(|element| element.contains(item)),
            _ => self.scalars.has(item),
        }
    }
}

/// The order of kinds; numbers are one kind.
fn rank(view: &JsonView<'_>) -> u8 {
    match view {
        JsonView::Null => 0,
        JsonView::Int(_) | JsonView::UInt(_) | JsonView::Double(_) | JsonView::Decimal(_) => 1,
        JsonView::Str(_) => 2,
        JsonView::Object(_) => 3,
        JsonView::Array(_) => 4,
        JsonView::Bool(_) => 5,
        JsonView::Date(_) => 6,
        JsonView::Time(_) => 7,
        JsonView::DateTime(_) => 8,
        JsonView::Opaque(BIT_TYPE, _) => 9,
        JsonView::Opaque(..) => 10,
    }
}

fn compare_same_rank(a: JsonView<'_>, b: JsonView<'_>) -> Ordering {
    match (a, b) {
        (JsonView::Str(a), JsonView::Str(b)) => a.cmp(b),
        (JsonView::Bool(a), JsonView::Bool(b)) => a.cmp(&b),
        (JsonView::Date(a), JsonView::Date(b)) => a.cmp(&b),
        (JsonView::Time(a), JsonView::Time(b)) => a.cmp(&b),
        (JsonView::DateTime(a), JsonView::DateTime(b)) => a.cmp(&b),
        (JsonView::Opaque(ta, a), JsonView::Opaque(tb, b)) => ta.cmp(&tb).then_with(|| a.cmp(b)),
        (JsonView::Array(a), JsonView::Array(b)) => {
            let different = a
                .iter()
                .zip(b.iter())
                .map(|(x, y)| x.compare(y))
                .find(|order| order.is_ne());
            different.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (JsonView::Object(a), JsonView::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
            let members = a.iter().zip(b.iter());
            let mut orders = members.map(|((an, av), (bn, bv))| an.cmp(bn).then_with(|| av.compare(bv)));
            orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        }),
        (a, b) => compare_numbers(a, b),
    }
}

/// By their nearest doubles; among numbers that share one, exactly. So the order is total, as sorting needs it.
fn compare_numbers(a: JsonView<'_>, b: JsonView<'_>) -> Ordering {
    let nearest = to_f64(a).total_cmp(&to_f64(b));
    if to_f64(a) != to_f64(b) {
        return nearest;
    }
    match (to_exact(a), to_exact(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => Ordering::Equal,
    }
}

fn to_exact(v: JsonView<'_>) -> Option<Decimal> {
    match v {
        JsonView::Int(v) => Some(v.into()),
        JsonView::UInt(v) => Some(v.into()),
        JsonView::Decimal(v) => Some(v),
        // The digits that it prints are a number of their own for each double.
        JsonView::Double(v) => Decimal::parse(&v.to_string()),
        _ => None,
    }
}

fn to_f64(v: JsonView<'_>) -> f64 {
    match v {
        JsonView::Int(v) => v as f64,
        JsonView::UInt(v) => v as f64,
        JsonView::Double(v) => v,
        JsonView::Decimal(v) => v.to_f64(),
        _ => 0.0,
    }
}
