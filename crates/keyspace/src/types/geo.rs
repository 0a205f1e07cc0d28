//! GEOADD, GEOSEARCH and what was before it: places as the scores of a sorted set ([`super::geohash`]).

use std::ops::ControlFlow;

use redis_wire::number::parse_f64;

use crate::call::{Call, is_word};
use crate::collection::Collection;
use crate::failure::{Failure, Outcome, syntax};
use crate::head::Kind;
use crate::types::geohash::{self, Cell, LATITUDE_MAX, LONGITUDE_MAX, Place, STEPS, Shape};
use crate::types::zset::{self, AddOptions, Scored};

fn place(longitude: &[u8], latitude: &[u8]) -> Outcome<Place> {
    let float = |arg| parse_f64(arg).ok_or_else(crate::failure::not_float);
    let (longitude, latitude) = (float(longitude)?, float(latitude)?);
    match longitude.abs() <= LONGITUDE_MAX && latitude.abs() <= LATITUDE_MAX {
        true => Ok(Place { longitude, latitude }),
        false => Err(Failure::Reply(
            format!("ERR invalid longitude,latitude pair {longitude:.6},{latitude:.6}").into(),
        )),
    }
}

/// How many meters a unit has.
fn unit(arg: &[u8]) -> Outcome<f64> {
    match arg {
        unit if is_word(unit, "m") => Ok(1.0),
        unit if is_word(unit, "km") => Ok(1000.0),
        unit if is_word(unit, "ft") => Ok(0.3048),
        unit if is_word(unit, "mi") => Ok(1609.34),
        _ => Err(Failure::reply(
            "ERR unsupported unit provided. please use M, KM, FT, MI",
        )),
    }
}

/// The place of a member.
fn place_of(call: &Call, set: &Collection, member: &[u8]) -> Option<Place> {
    let score = zset::score_of(call.work, &call.db, set.id, member)?;
    Some(Cell::of_score(score).center())
}

impl Call<'_, '_> {
    fn places(&self, key: &[u8]) -> Outcome<Option<Collection>> {
        self.work.collection(&self.db, key, Kind::SortedSet)
    }

    /// Four digits behind the point; a string in each protocol.
    fn answer_distance(&mut self, distance: f64) {
        self.reply.bulk(format!("{distance:.4}").as_bytes());
    }

    fn answer_place(&mut self, place: Place) {
        self.reply.array(2);
        for degrees in [place.longitude, place.latitude] {
            let text = format!("{degrees:.17}");
            let text = text.trim_end_matches('0').trim_end_matches('.');
            let text = if text == "-0" { "0" } else { text };
            self.reply.double_text(text.as_bytes());
        }
    }
}

pub fn geoadd(call: &mut Call) -> Outcome {
    let (options, places) = AddOptions::read(call, &["NX", "XX", "CH"]);
    if !places.len().is_multiple_of(3) || options.only_new && options.only_existing {
        return Err(syntax());
    }
    let mut scored = Vec::with_capacity(places.len() / 3);
    for three in places.chunks(3) {
        governor::tick()?;
        let cell = Cell::of(place(three[0], three[1])?, LATITUDE_MAX, STEPS);
        scored.push((three[2], cell.bits() as f64));
    }
    if scored.is_empty() {
        return Err(syntax());
    }
    zset::add(call, &scored, &options)
}

pub fn geodist(call: &mut Call) -> Outcome {
    let unit = match call.args {
        [_, _, _, _] => 1.0,
        [_, _, _, _, name] => unit(name)?,
        _ => return Err(syntax()),
    };
    let set = call.places(call.args[1])?;
    let places = set.and_then(|set| {
        let first = place_of(call, &set, call.args[2])?;
        Some((first, place_of(call, &set, call.args[3])?))
    });
    match places {
        Some((a, b)) => call.answer_distance(geohash::distance(a, b) / unit),
        None => call.reply.null(),
    }
    Ok(())
}

pub fn geohash(call: &mut Call) -> Outcome {
    const DIGITS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
    let set = call.places(call.args[1])?;
    call.reply.array(call.args.len() - 2);
    for member in &call.args[2..] {
        governor::tick()?;
        let place = set.as_ref().and_then(|set| place_of(call, set, member));
        let Some(place) = place else {
            call.reply.null();
            continue;
        };
        // The usual form has latitudes up to the poles.
        let bits = Cell::of(place, 90.0, STEPS).bits();
        let mut text = [b'0'; 11];
        for (at, digit) in text[..10].iter_mut().enumerate() {
            *digit = DIGITS[(bits >> (52 - (at + 1) * 5)) as usize & 31];
        }
        call.reply.bulk(&text);
    }
    Ok(())
}

pub fn geopos(call: &mut Call) -> Outcome {
    let set = call.places(call.args[1])?;
    call.reply.array(call.args.len() - 2);
    for member in &call.args[2..] {
        governor::tick()?;
        match set.as_ref().and_then(|set| place_of(call, set, member)) {
            Some(place) => call.answer_place(place),
            None => call.reply.null_array(),
        }
    }
    Ok(())
}

/// How a command says where it searches, and what becomes of it.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// GEORADIUS: a place and a radius; it may store.
    Place { stores: bool },
    /// GEORADIUSBYMEMBER
    Member { stores: bool },
    /// GEOSEARCH
    Search,
    /// GEOSEARCHSTORE
    SearchStore,
}

impl Form {
    fn is_search(self) -> bool {
        matches!(self, Form::Search | Form::SearchStore)
    }

    fn takes_store(self) -> bool {
        matches!(self, Form::Place { stores: true } | Form::Member { stores: true })
    }
}

#[derive(Default)]
struct Search<'c> {
    center: Option<Place>,
    has_center: bool,
    shape: Option<Shape>,
    unit: f64,
    with_distance: bool,
    with_score: bool,
    with_place: bool,
    any: bool,
    count: Option<usize>,
    /// Some(true): the farthest first.
    order: Option<bool>,
    target: Option<&'c [u8]>,
    stores_distance: bool,
}

fn length(arg: &[u8], name: &'static str) -> Outcome<f64> {
    parse_f64(arg).ok_or_else(|| Failure::Reply(format!("ERR need numeric {name}").into()))
}

impl Search<'_> {
    fn set_circle(&mut self, radius: &[u8], unit_name: &[u8]) -> Outcome {
        let radius = length(radius, "radius")?;
        if radius < 0.0 {
            return Err(Failure::reply("ERR radius cannot be negative"));
        }
        self.unit = unit(unit_name)?;
        let radius = radius * self.unit;
        self.shape = Some(Shape::Circle { radius });
        Ok(())
    }

    fn set_box(&mut self, width: &[u8], height: &[u8], unit_name: &[u8]) -> Outcome {
        let (width, height) = (length(width, "width")?, length(height, "height")?);
        if width < 0.0 || height < 0.0 {
            return Err(Failure::reply("ERR height or width cannot be negative"));
        }
        self.unit = unit(unit_name)?;
        let (width, height) = (width * self.unit, height * self.unit);
        self.shape = Some(Shape::Box { width, height });
        Ok(())
    }

    fn set_member(&mut self, call: &Call, set: &Option<Collection>, member: &[u8]) -> Outcome {
        self.has_center = true;
        if let Some(set) = set {
            let place = place_of(call, set, member);
            self.center = Some(place.ok_or_else(|| Failure::reply("ERR could not decode requested zset member"))?);
        }
        Ok(())
    }
}

fn read<'c>(call: &Call<'c, '_>, form: Form, set: &Option<Collection>) -> Outcome<Search<'c>> {
    let mut search = Search::default();
    let from = match form {
        Form::Place { .. } => {
            search.center = Some(place(call.arg(2), call.arg(3))?);
            search.set_circle(call.arg(4), call.arg(5))?;
            6
        }
        Form::Member { .. } => {
            search.set_member(call, set, call.arg(2))?;
            // Without a key there is nothing to be measured.
            if set.is_some() {
                search.set_circle(call.arg(3), call.arg(4))?;
            }
            5
        }
        Form::Search => 2,
        Form::SearchStore => {
            search.target = Some(call.arg(1));
            3
        }
    };
    let (mut has_member, mut has_place, mut is_circle, mut is_box) = (false, false, false, false);
    let mut options = call.options(from);
    while let Some(option) = options.next() {
        governor::tick()?;
        let left = options.rest().len();
        match option {
            option if is_word(option, "WITHDIST") => search.with_distance = true,
            option if is_word(option, "WITHHASH") => search.with_score = true,
            option if is_word(option, "WITHCOORD") => search.with_place = true,
            option if is_word(option, "ANY") => search.any = true,
            option if is_word(option, "ASC") => search.order = Some(false),
            option if is_word(option, "DESC") => search.order = Some(true),
            option if is_word(option, "COUNT") && left >= 1 => {
                let count = options.integer()?;
                if count <= 0 {
                    return Err(Failure::reply("ERR COUNT must be > 0"));
                }
                search.count = Some(usize::try_from(count).unwrap_or(usize::MAX));
            }
            option if form.takes_store() && is_word(option, "STORE") && left >= 1 => {
                search.target = options.next();
                search.stores_distance = false;
            }
            option if form.takes_store() && is_word(option, "STOREDIST") && left >= 1 => {
                search.target = options.next();
                search.stores_distance = true;
            }
            option if form == Form::SearchStore && is_word(option, "STOREDIST") => search.stores_distance = true,
            option if form.is_search() && is_word(option, "FROMMEMBER") && left >= 1 && !has_place => {
                search.set_member(call, set, options.value()?)?;
                has_member = true;
            }
            option if form.is_search() && is_word(option, "FROMLONLAT") && left >= 2 && !has_member => {
                search.center = Some(place(options.value()?, options.value()?)?);
                search.has_center = true;
                has_place = true;
            }
            option if form.is_search() && is_word(option, "BYRADIUS") && left >= 2 && !is_box => {
                search.set_circle(options.value()?, options.value()?)?;
                is_circle = true;
            }
            option if form.is_search() && is_word(option, "BYBOX") && left >= 3 && !is_circle => {
                search.set_box(options.value()?, options.value()?, options.value()?)?;
                is_box = true;
            }
            _ => return Err(syntax()),
        }
    }
    let command = String::from_utf8_lossy(call.arg(0));
    let with = search.with_distance || search.with_score || search.with_place;
    let wrong = if search.target.is_some() && with {
        let what = match form {
            Form::SearchStore => "GEOSEARCHSTORE",
            _ => "STORE option in GEORADIUS",
        };
        format!("ERR {what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options")
    } else if form.is_search() && !search.has_center {
        format!("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for {command}")
    } else if form.is_search() && !is_circle && !is_box {
        format!("ERR exactly one of BYRADIUS and BYBOX can be specified for {command}")
    } else if search.any && search.count.is_none() {
        "ERR the ANY argument requires COUNT argument".to_owned()
    } else {
        return Ok(search);
    };
    Err(Failure::Reply(wrong.into()))
}

/// A place that was found.
struct Found {
    member: Vec<u8>,
    score: f64,
    place: Place,
    distance: f64,
}

fn find(call: &Call, set: &Collection, center: Place, shape: Shape, most: usize) -> Outcome<Vec<Found>> {
    let mut found = Vec::new();
    for cell in shape.cells(center) {
        if found.len() >= most {
            break;
        }
        let (min, max) = cell.scores();
        zset::each_scored(call.work, &call.db, set.id, min, max, |member, score| {
            let place = Cell::of_score(score).center();
            if let Some(distance) = shape.distance(center, place) {
                found.push(Found {
                    member: member.to_vec(),
                    score,
                    place,
                    distance,
                });
            }
            Ok(match found.len() < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
    }
    Ok(found)
}

fn search(call: &mut Call, form: Form) -> Outcome {
    let source = call.arg(if form == Form::SearchStore { 2 } else { 1 });
    let set = call.places(source)?;
    let mut search = read(call, form, &set)?;
    let mut found = Vec::new();
    if let (Some(set), Some(center), Some(shape)) = (&set, search.center, search.shape) {
        let most = search.count.filter(|_| search.any);
        found = find(call, set, center, shape, most.unwrap_or(usize::MAX))?;
    }
    // The nearest are wanted, where not just any are.
    if search.count.is_some() && !search.any && search.order.is_none() {
        search.order = Some(false);
    }
    if let Some(reverse) = search.order {
        governor::sort::sort_by(&mut found, |a, b| match reverse {
            false => a.distance.total_cmp(&b.distance),
            true => b.distance.total_cmp(&a.distance),
        })?;
    }
    found.truncate(search.count.unwrap_or(usize::MAX));
    for found in &mut found {
        found.distance /= search.unit;
    }
    if let Some(target) = search.target {
        let scored: Vec<Scored> = found
            .into_iter()
            .map(|found| {
                let score = match search.stores_distance {
                    true => found.distance,
                    false => found.score,
                };
                (found.member, score)
            })
            .collect();
        let event = match form {
            Form::SearchStore => "geosearchstore",
            _ => "georadiusstore",
        };
        return call.store_scored(target, &scored, event);
    }
    call.reply.array(found.len());
    let parts = [search.with_distance, search.with_score, search.with_place];
    let parts = parts.iter().filter(|&&part| part).count();
    for found in found {
        governor::tick()?;
        if parts > 0 {
            call.reply.array(parts + 1);
        }
        call.reply.bulk(&found.member);
        if search.with_distance {
            call.answer_distance(found.distance);
        }
        if search.with_score {
            call.reply.integer(found.score as i64);
        }
        if search.with_place {
            call.answer_place(found.place);
        }
    }
    Ok(())
}

pub fn georadius(call: &mut Call) -> Outcome {
    search(call, Form::Place { stores: true })
}

pub fn georadius_ro(call: &mut Call) -> Outcome {
    search(call, Form::Place { stores: false })
}

pub fn georadiusbymember(call: &mut Call) -> Outcome {
    search(call, Form::Member { stores: true })
}

pub fn georadiusbymember_ro(call: &mut Call) -> Outcome {
    search(call, Form::Member { stores: false })
}

pub fn geosearch(call: &mut Call) -> Outcome {
    search(call, Form::Search)
}

pub fn geosearchstore(call: &mut Call) -> Outcome {
    search(call, Form::SearchStore)
}
