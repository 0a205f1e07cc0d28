//! Lists of names that a client may make as long as it likes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Where names stand in a list: each is found in one step, however many there are. Two that [`same_name`](crate::same_name) holds for
/// are one.
#[derive(Debug, Clone, Default)]
pub struct Names {
    places: HashMap<String, Place>,
    count: usize,
}

/// Where a name stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub first: usize,
    /// Whether it stands at another place, too.
    pub is_repeated: bool,
}

impl Names {
    /// Adds a name at the end of the list; gives its first place where it was there.
    pub fn push(&mut self, name: &str) -> Option<usize> {
        let at = self.count;
        self.count += 1;
        match self.places.entry(name.to_lowercase()) {
            Entry::Vacant(entry) => {
                let place = Place {
                    first: at,
                    is_repeated: false,
                };
                entry.insert(place);
                None
            }
            Entry::Occupied(mut entry) => {
                entry.get_mut().is_repeated = true;
                Some(entry.get().first)
            }
        }
    }

    pub fn get(&self, name: &str) -> Option<Place> {
        self.places.get(&name.to_lowercase()).copied()
    }

    /// The first place of a name.
    pub fn first(&self, name: &str) -> Option<usize> {
        self.get(name).map(|place| place.first)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

impl<N: AsRef<str>> FromIterator<N> for Names {
    fn from_iter<I: IntoIterator<Item = N>>(names: I) -> Names {
        let mut list = Names::default();
        for name in names {
            list.push(name.as_ref());
        }
        list
    }
}

/// The first name that stood in the list before.
pub fn first_repeated<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut before = Names::default();
    names.into_iter().find(|name| before.push(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_without_regard_to_case() {
        let names: Names = ["a", "É", "b", "A"].into_iter().collect();
        assert_eq!(names.first("B"), Some(2));
        assert_eq!(names.first("é"), Some(1));
        assert_eq!(names.first("c"), None);
        assert!(
            names
                .get("a")
                .is_some_and(|place| place.first == 0 && place.is_repeated)
        );
        assert!(names.get("b").is_some_and(|place| !place.is_repeated));
        assert_eq!(first_repeated(["x", "y", "X", "Y"]), Some("X"));
        assert_eq!(first_repeated(["x", "y"]), None);
    }
}
