//! Names that blocks declare, and what they mean there.

use std::collections::HashMap;

/// The names of one kind that are in sight, without regard to case: what each means is found in one step, however many there are.
#[derive(Debug)]
pub(super) struct Names<T> {
    /// For each name what it means, by the depth of the block that declares it, the innermost last.
    meanings: HashMap<String, Vec<(usize, T)>>,
    /// What each open block has declared.
    blocks: Vec<Vec<String>>,
}

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names {
            meanings: HashMap::new(),
            blocks: Vec::new(),
        }
    }
}

impl<T> Names<T> {
    pub(super) fn open_block(&mut self) {
        self.blocks.push(Vec::new());
    }

    pub(super) fn close_block(&mut self) {
        for name in self.blocks.pop().into_iter().flatten() {
            if let Some(meanings) = self.meanings.get_mut(&name) {
                meanings.pop();
                if meanings.is_empty() {
                    self.meanings.remove(&name);
                }
            }
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&T> {
        let (_, meaning) = self.meanings.get(&name.to_lowercase())?.last()?;
        Some(meaning)
    }

    /// Whether the innermost block has declared it.
    pub(super) fn is_declared(&self, name: &str) -> bool {
        let innermost = self.meanings.get(&name.to_lowercase()).and_then(|all| all.last());
        innermost.is_some_and(|(depth, _)| *depth == self.blocks.len())
    }

    pub(super) fn declare(&mut self, name: &str, meaning: T) {
        let name = name.to_lowercase();
        let depth = self.blocks.len();
        if let Some(block) = self.blocks.last_mut() {
            block.push(name.clone());
        }
        self.meanings.entry(name).or_default().push((depth, meaning));
    }
}
