//! MATCH … AGAINST among the names of a query: which table it searches, by which index.

use std::sync::Arc;

use parser::ast::{self, MatchMode};
use sql_expr::Expr;
use sql_expr::scope::unknown_column;
use types::{ErrorKind, SqlError, SqlResult};

use super::index_hints;
use super::scope::{QueryScope, ScopeTable, TableSource, quoted_name};
use crate::full_text::{MAX_MATCHES, Match, check_against, index_of, relevance_type, shown as shown_search};

impl QueryScope<'_, '_, '_> {
    /// The base table and the column that a name stands for: 1210 where it is no column of a stored table.
    fn searched_column(&mut self, name: &ast::ColumnName) -> SqlResult<(usize, usize)> {
        let Some(mut slot) = self.find(name)? else {
            // What a query around it calls so, the search is of that.
            let clause = self.clause;
            let outer = self.outer().map(|outer| outer.resolve_from_below(name));
            return Err(match outer {
                Some(Ok(_)) => SqlError::not_supported("MATCH of a table of a query around this one"),
                Some(Err(error)) => error,
                None => unknown_column(name, clause),
            });
        };
        // Of a view its reader is asked for no more than the view.
        let (table, at) = self.position(slot);
        self.check_read(table, at)?;
        loop {
            let (table, at) = self.position(slot);
            match &self.tables[table].source {
                TableSource::Base { .. } => return Ok((table, at)),
                TableSource::Merged { columns, .. } if columns[at].as_column().is_some() => {
                    slot = columns[at].as_column().unwrap_or_default();
                }
                _ => return Err(SqlError::new(ErrorKind::WrongArguments, &[&"MATCH"])),
            }
        }
    }

    /// The column that a search is: one of its table's, which is added where it is new.
    pub(super) fn search_of(&mut self, search: &ast::MatchAgainst, against: Expr) -> SqlResult<Expr> {
        let mut columns = Vec::with_capacity(search.columns.len());
        let mut table = None;
        for name in &search.columns {
            governor::tick()?;
            let (of, column) = self.searched_column(name)?;
            if *table.get_or_insert(of) != of {
                return Err(SqlError::new(ErrorKind::WrongArguments, &[&"MATCH"]));
            }
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        check_against(&against)?;
        let table = table.ok_or_else(|| SqlError::internal("MATCH has columns"))?;
        let TableSource::Base { table: base, hints } = &self.tables[table].source else {
            unreachable!("a searched column is one of a base table")
        };
        // As in MySQL, hints say nothing of a search in natural language.
        let hinted = index_hints(base, hints)?;
        let is_allowed = |index| search.mode != MatchMode::Boolean || hinted.allow(index);
        let index = index_of(base, &columns, &is_allowed)?.id;
        let names: Vec<String> = columns
            .iter()
            .map(|&column| quoted_name(&self.tables[table].columns[column]))
            .collect();
        let shown: Arc<str> = shown_search(&names, &against, search.mode).into();
        let entry = &mut self.tables[table];
        let is_same = |known: &Match| known.index == index && known.shown == shown && known.has_same_text(&against);
        let number = match entry.matches.iter().position(is_same) {
            Some(number) => number,
            None if entry.matches.len() == MAX_MATCHES => {
                let what = format!("more than {MAX_MATCHES} searches of a table");
                return Err(SqlError::not_supported(what));
            }
            None => {
                entry.matches.push(Match {
                    index,
                    against,
                    mode: search.mode,
                    shown: shown.clone(),
                });
                entry.matches.len() - 1
            }
        };
        let slot = entry.match_slot(number);
        self.mark_used(slot);
        self.note_read(slot);
        Ok(Expr::column(slot, shown, relevance_type()))
    }

    /// The columns that a search looks into; none for a slot that is no search.
    pub(super) fn searched_slots(&self, slot: usize) -> Vec<usize> {
        let of_table = |entry: &ScopeTable| {
            let number = (0..entry.matches.len()).find(|&number| entry.match_slot(number) == slot)?;
            let TableSource::Base { table, .. } = &entry.source else {
                return None;
            };
            let index = table
                .def
                .indexes
                .iter()
                .find(|index| index.id == entry.matches[number].index)?;
            Some(index.parts.iter().map(|part| entry.offset + part.column).collect())
        };
        self.tables.iter().find_map(of_table).unwrap_or_default()
    }
}
