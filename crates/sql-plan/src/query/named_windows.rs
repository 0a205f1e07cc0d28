//! The windows that a query block gives names to (`WINDOW w AS (…)`), each with what it takes over from the one that it begins with.

use catalog::Names;
use parser::ast::{Ident, Over, WindowSpec};
use types::{ErrorKind, SqlError, SqlResult};

/// What errors call a window without a name.
pub const UNNAMED: &str = "<unnamed window>";

#[derive(Debug, Default)]
pub struct NamedWindows {
    pub windows: Vec<NamedWindow>,
    /// The window whose own clauses are being bound: no window function stands in them.
    pub bound: Option<String>,
}

#[derive(Debug)]
pub struct NamedWindow {
    pub name: Ident,
    /// Complete: it begins with no other any more.
    pub spec: WindowSpec,
    /// Whether a function is over it, or over one that begins with it.
    pub is_used: bool,
}

impl NamedWindows {
    /// Of a WINDOW clause, in which each may begin with any other.
    pub fn new(clause: &[(Ident, WindowSpec)]) -> SqlResult<NamedWindows> {
        let names: Names = clause.iter().map(|(name, _)| name.as_str()).collect();
        let find = |name: &Ident| names.first(name);
        let mut bases = Vec::with_capacity(clause.len());
        for (at, (name, spec)) in clause.iter().enumerate() {
            governor::tick()?;
            if find(name) != Some(at) {
                return Err(SqlError::new(ErrorKind::WindowDuplicateName, &[&name.as_str()]));
            }
            bases.push(match &spec.base {
                None => None,
                Some(base) => Some(find(base).ok_or_else(|| no_such_window(base))?),
            });
        }
        let mut complete: Vec<Option<WindowSpec>> = vec![None; clause.len()];
        for at in 0..clause.len() {
            // From the window itself down to the first that is complete, or begins with no other.
            governor::tick()?;
            let mut path = vec![at];
            while let Some(base) = bases[path[path.len() - 1]]
                && complete[base].is_none()
            {
                if path.len() > clause.len() {
                    return Err(ErrorKind::WindowCircular.into());
                }
                governor::tick()?;
                path.push(base);
            }
            for at in path.into_iter().rev() {
                governor::tick()?;
                let (name, spec) = &clause[at];
                complete[at] = Some(
                    match bases[at].and_then(|base| Some((base, complete[base].as_ref()?))) {
                        None => spec.clone(),
                        Some((base, inherited)) => completed(name.as_str(), spec, clause[base].0.as_str(), inherited)?,
                    },
                );
            }
        }
        let windows = clause.iter().zip(complete).filter_map(|((name, _), spec)| {
            Some(NamedWindow {
                name: name.clone(),
                spec: spec?,
                is_used: false,
            })
        });
        Ok(NamedWindows {
            windows: windows.collect(),
            bound: None,
        })
    }

    /// What a function is over, complete.
    pub fn spec_of(&mut self, over: &Over) -> SqlResult<WindowSpec> {
        match over {
            Over::Name(name) => Ok(self.used(name)?.spec.clone()),
            Over::Spec(spec) => match &spec.base {
                None => Ok(spec.clone()),
                Some(base) => completed(UNNAMED, spec, base.as_str(), &self.used(base)?.spec),
            },
        }
    }

    fn used(&mut self, name: &Ident) -> SqlResult<&NamedWindow> {
        let found = self.windows.iter_mut().find(|window| window.name.is(name));
        let window = found.ok_or_else(|| no_such_window(name))?;
        window.is_used = true;
        Ok(window)
    }
}

fn no_such_window(name: &Ident) -> SqlError {
    SqlError::new(ErrorKind::WindowNoSuchWindow, &[&name.as_str()])
}

/// A window that begins with another: it takes over how that one divides the rows, and their order, and adds what is missing.
fn completed(name: &str, spec: &WindowSpec, base: &str, inherited: &WindowSpec) -> SqlResult<WindowSpec> {
    if !spec.partition_by.is_empty() {
        return Err(ErrorKind::WindowNoChildPartitioning.into());
    }
    if inherited.frame.is_some() {
        return Err(SqlError::new(ErrorKind::WindowNoInheritFrame, &[&base]));
    }
    if !spec.order_by.is_empty() && !inherited.order_by.is_empty() {
        return Err(SqlError::new(ErrorKind::WindowNoRedefineOrderBy, &[&name, &base]));
    }
    let order_by = match inherited.order_by.is_empty() {
        true => &spec.order_by,
        false => &inherited.order_by,
    };
    Ok(WindowSpec {
        base: None,
        partition_by: inherited.partition_by.clone(),
        order_by: order_by.clone(),
        frame: spec.frame.clone(),
    })
}
