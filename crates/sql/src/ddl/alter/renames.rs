//! RENAME INDEX.

use catalog::same_name;
use parser::ast::AlterAction;
use types::{ErrorKind, SqlError, SqlResult};

use super::super::table_def::check_index_name;
use super::Altered;

impl Altered {
    /// Gives indexes their new names, all at once: an old name is one from before the statement, so that two may be exchanged. Indexes
    /// to be dropped are gone before.
    pub(super) fn rename_indexes(&mut self, actions: &[AlterAction]) -> SqlResult<()> {
        let mut renames = Vec::new();
        for action in actions {
            governor::tick()?;
            if let AlterAction::RenameIndex { old, new } = action {
                renames.push((old.as_str(), new.as_str()));
            }
        }
        let mut named = Vec::with_capacity(renames.len());
        for (old, new) in renames {
            governor::tick()?;
            let index = self.index(old)?.id;
            if named.iter().any(|(known, _)| *known == index) {
                let table = &self.builder.def.name;
                return Err(SqlError::new(ErrorKind::KeyDoesNotExist, &[&old, table]));
            }
            check_index_name(old)?;
            check_index_name(new)?;
            named.push((index, new));
        }
        for (id, new) in &named {
            let indexes = &mut self.builder.def.indexes;
            if let Some(index) = indexes.iter_mut().find(|index| index.id == *id) {
                index.name = (*new).to_owned();
            }
        }
        let indexes = &self.builder.def.indexes;
        for (id, new) in named {
            if indexes
                .iter()
                .any(|index| index.id != id && same_name(&index.name, new))
            {
                return Err(SqlError::new(ErrorKind::DupKeyName, &[&new]));
            }
        }
        Ok(())
    }
}
