//! Expressions over the columns in scope.

use crate::functions::{AGGREGATES, CONDITIONS, FUNCTIONS};
use crate::kind::{self, Kind};
use crate::rng::Rng;

/// A column that an expression may name.
#[derive(Debug, Clone)]
pub struct Name {
    /// As it is written, with its table.
    pub sql: String,
    pub kind: Kind,
}

/// What expressions are made of.
pub struct Scope<'a> {
    pub names: &'a [Name],
    /// Subqueries that yield one value, made beforehand.
    pub scalars: &'a [String],
    /// Subqueries that yield a condition.
    pub conditions: &'a [String],
}

impl<'a> Scope<'a> {
    pub fn of(names: &'a [Name]) -> Scope<'a> {
        Scope {
            names,
            scalars: &[],
            conditions: &[],
        }
    }

    /// An expression of the kind, at most `depth` calls deep.
    pub fn expression(&self, rng: &mut Rng, kind: Kind, depth: usize) -> String {
        if depth == 0 || rng.chance(35) {
            return self.leaf(rng, kind);
        }
        if kind == Kind::Int && rng.chance(8) && !self.scalars.is_empty() {
            return rng.pick(self.scalars).clone();
        }
        let has_documents = self.names.iter().any(|name| name.kind == Kind::Json);
        let fitting: Vec<&str> = FUNCTIONS
            .iter()
            .filter(|(template, yields)| *yields == kind && (has_documents || !template.contains("{jc}")))
            .map(|(template, _)| *template)
            .collect();
        if fitting.is_empty() {
            return self.leaf(rng, kind);
        }
        let template = *rng.pick(&fitting);
        self.fill(rng, template, depth - 1)
    }

    pub fn condition(&self, rng: &mut Rng, depth: usize) -> String {
        if !self.conditions.is_empty() && rng.chance(12) {
            return rng.pick(self.conditions).clone();
        }
        let template = *rng.pick(CONDITIONS);
        self.fill(rng, template, depth.saturating_sub(1))
    }

    /// An aggregate and what it yields.
    pub fn aggregate(&self, rng: &mut Rng, depth: usize) -> (String, Kind) {
        let (template, kind) = *rng.pick(AGGREGATES);
        (self.fill(rng, template, depth), kind)
    }

    /// Any expression and its kind.
    pub fn any(&self, rng: &mut Rng, depth: usize) -> (String, Kind) {
        let kind = any_kind(rng);
        (self.expression(rng, kind, depth), kind)
    }

    fn leaf(&self, rng: &mut Rng, kind: Kind) -> String {
        let fitting: Vec<&Name> = self.names.iter().filter(|name| name.kind == kind).collect();
        if !fitting.is_empty() && rng.chance(75) {
            return rng.pick(&fitting).sql.clone();
        }
        kind::literal(rng, kind)
    }

    fn fill(&self, rng: &mut Rng, template: &str, depth: usize) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            let end = rest[at..].find('}').map_or(rest.len(), |len| at + len);
            out.push_str(&self.argument(rng, &rest[at + 1..end], depth));
            rest = &rest[end + 1..];
        }
        out + rest
    }

    fn argument(&self, rng: &mut Rng, placeholder: &str, depth: usize) -> String {
        let fixed = |rng: &mut Rng, of: &[&str]| (*rng.pick(of)).to_owned();
        match placeholder {
            "i" => self.expression(rng, Kind::Int, depth),
            "n" => {
                let kind = *rng.pick(&[Kind::Int, Kind::Int, Kind::Decimal, Kind::Decimal, Kind::Double]);
                self.expression(rng, kind, depth)
            }
            "s" => self.expression(rng, Kind::Text, depth),
            "d" => {
                let kind = *rng.pick(&[Kind::Date, Kind::Datetime]);
                self.expression(rng, kind, depth)
            }
            "t" => self.expression(rng, Kind::Time, depth),
            "j" => self.expression(rng, Kind::Json, depth),
            // The operators take a column, and nothing else.
            "jc" => {
                let columns: Vec<&Name> = self.names.iter().filter(|name| name.kind == Kind::Json).collect();
                match columns.is_empty() {
                    true => "NULL".to_owned(),
                    false => rng.pick(&columns).sql.clone(),
                }
            }
            "b" => self.condition(rng, depth),
            "k" => rng.between(0, 9).to_string(),
            "p" => fixed(rng, &["'$'", "'$.a'", "'$.b'", "'$[0]'", "'$.b[1].c'", "'$[1]'"]),
            "r" => fixed(rng, &["'a'", "'^a'", "'b$'", "'[a-c]+'", "'(a|b)c?'", "'.b'"]),
            "u" => fixed(
                rng,
                &["SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"],
            ),
            "f" => fixed(rng, &["'%Y/%m/%d'", "'%a %b %e %H:%i'", "'%j %U %w'", "'%W, %M %D %y'"]),
            _ => self.any(rng, depth).0,
        }
    }
}

fn any_kind(rng: &mut Rng) -> Kind {
    *rng.pick(&[
        Kind::Int,
        Kind::Int,
        Kind::Decimal,
        Kind::Double,
        Kind::Text,
        Kind::Text,
        Kind::Date,
        Kind::Datetime,
        Kind::Time,
        Kind::Json,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_name_known_placeholders() {
        let known = ["i", "n", "s", "d", "t", "j", "b", "k", "p", "r", "u", "f", "*", "jc"];
        let templates = FUNCTIONS.iter().map(|(template, _)| *template);
        let all = templates
            .chain(CONDITIONS.iter().copied())
            .chain(AGGREGATES.iter().map(|(template, _)| *template));
        for template in all {
            let mut parts = template.split('{').skip(1);
            assert!(
                parts.all(|part| known.contains(&part.split('}').next().unwrap_or_default())),
                "{template}"
            );
        }
    }

    #[test]
    fn expressions_are_filled() {
        let names = [Name {
            sql: "a0.c0".to_owned(),
            kind: Kind::Int,
        }];
        let scope = Scope::of(&names);
        let mut rng = Rng::new(1);
        for _ in 0..1000 {
            let (sql, _) = scope.any(&mut rng, 4);
            // A document may hold braces; a placeholder would be one letter between them.
            assert!(!sql.contains("{n}") && !sql.contains("{*}"), "{sql}");
        }
    }
}
