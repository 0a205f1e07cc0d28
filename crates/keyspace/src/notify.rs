//! Keyspace notifications: what happens to keys, as messages on channels (`notify-keyspace-events`).
//!
//! | | |
//! |---|---|
//! | `K`, `E` | channels by key (`__keyspace@0__:key`), by event (`__keyevent@0__:del`) |
//! | `g` `$` `l` `s` `h` `z` `t` | events of any type, of strings, lists, sets, hashes, sorted sets, streams |
//! | `x`, `n` | keys that have expired, new keys |
//! | `A` | all of `g$lshzxt` |
//!
//! Evictions (`e`), misses (`m`) and modules (`d`) do not happen here; they are taken, and never heard of.

use crate::hub::Hub;
use crate::neighbours::Neighbours;
use crate::neighbours::interest::Channels;
use crate::work::{Class, Event};

const BY_KEY: u32 = 1;
const BY_EVENT: u32 = 2;
const ALL: &str = "g$lshzxetd";
/// In the order in which they are shown.
const LETTERS: [(char, u32); 14] = [
    ('g', 1 << 2),
    ('$', 1 << 3),
    ('l', 1 << 4),
    ('s', 1 << 5),
    ('h', 1 << 6),
    ('z', 1 << 7),
    ('x', 1 << 8),
    ('e', 1 << 9),
    ('t', 1 << 10),
    ('d', 1 << 11),
    ('K', BY_KEY),
    ('E', BY_EVENT),
    ('m', 1 << 12),
    ('n', 1 << 13),
];

/// The bits of a value of the parameter; `None`: a letter means nothing.
pub fn parse(letters: &str) -> Option<u32> {
    let mut bits = 0;
    for letter in letters.chars() {
        bits |= match letter {
            'A' => parse(ALL)?,
            letter => LETTERS.iter().find(|(known, _)| *known == letter)?.1,
        };
    }
    Some(bits)
}

/// As CONFIG GET shows it.
pub fn text(bits: u32) -> String {
    let all = parse(ALL).unwrap_or_default();
    let mut text = String::new();
    let mut rest = bits;
    if bits & all == all {
        text.push('A');
        rest &= !all;
    }
    text.extend(
        LETTERS
            .iter()
            .filter(|(_, bit)| rest & bit != 0)
            .map(|(letter, _)| letter),
    );
    text
}

/// What the parameter has to say for events of a class.
pub fn bit_of(class: Class) -> u32 {
    let letter = match class {
        Class::Generic => 'g',
        Class::String => '$',
        Class::List => 'l',
        Class::Set => 's',
        Class::Hash => 'h',
        Class::SortedSet => 'z',
        Class::Stream => 't',
        Class::Expired => 'x',
        Class::New => 'n',
    };
    LETTERS
        .iter()
        .find(|(known, _)| *known == letter)
        .map_or(0, |(_, bit)| *bit)
}

/// Publishes an event on each node that wants it: what the parameter says there decides.
pub fn tell(hub: &Hub, neighbours: &Neighbours, event: &Event) {
    let (here, elsewhere) = (hub.notified(), neighbours.notified());
    let class = bit_of(event.class);
    if (here | elsewhere) & class == 0 {
        return;
    }
    let publish = |bits: u32, channel: &[u8], text: &[u8]| {
        if here & bits == bits {
            hub.publish(channel, text);
        }
        neighbours.publish(Channels::Plain, channel, text, bits);
    };
    if (here | elsewhere) & BY_KEY != 0 {
        let mut channel = format!("__keyspace@{}__:", event.db).into_bytes();
        channel.extend_from_slice(&event.key);
        publish(class | BY_KEY, &channel, event.name.as_bytes());
    }
    if (here | elsewhere) & BY_EVENT != 0 {
        let channel = format!("__keyevent@{}__:{}", event.db, event.name);
        publish(class | BY_EVENT, channel.as_bytes(), &event.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_shown_as_redis_shows_them() {
        for (given, shown) in [
            ("KEA", "AKE"),
            ("Kx", "xK"),
            ("", ""),
            ("g$lshzxetdE", "AE"),
            ("Elg", "glE"),
        ] {
            assert_eq!(text(parse(given).unwrap()), shown);
        }
        assert_eq!(parse("Kq"), None);
    }
}
