//! The windows that a query block gives names to (`WINDOW w AS (…)`), each with what it takes over from the one that it begins with.

use catalog::Names;
use parser::ast::{FrameUnit, Ident, Over, WindowSpec};
use types::{ErrorKind, SqlError, SqlResult};

/// What errors call a window without a name.
pub const UNNAMED: &str = "<unnamed window>";

#[derive(Debug, Default)]
pub struct NamedWindows {
    windows: Vec<NamedWindow>,
    names: Names,
    /// The window whose own clauses are being bound: no window function stands in them.
    pub bound: Option<String>,
}

#[derive(Debug)]
struct NamedWindow {
    name: Ident,
    /// As it is written. What it takes over is put together where it is needed: many windows may begin with a long one.
    spec: WindowSpec,
    /// The window that it begins with.
    base: Option<usize>,
    /// The window whose PARTITION BY it has: the first of those that it goes back to, or itself.
    divided_as: usize,
    /// The one whose ORDER BY it has.
    ordered_as: Option<usize>,
    /// Whether a function is over it, or over one that begins with it.
    is_used: bool,
}

impl NamedWindows {
    /// Of a WINDOW clause, in which each may begin with any other.
    pub fn new(clause: &[(Ident, WindowSpec)]) -> SqlResult<NamedWindows> {
        let names: Names = clause.iter().map(|(name, _)| name.as_str()).collect();
        let mut windows = Vec::with_capacity(clause.len());
        for (at, (name, spec)) in clause.iter().enumerate() {
            governor::tick()?;
            if names.first(name) != Some(at) {
                return Err(SqlError::new(ErrorKind::WindowDuplicateName, &[&name.as_str()]));
            }
            let base = spec.base.as_ref();
            let base = base.map(|base| names.first(base).ok_or_else(|| no_such_window(base)));
            windows.push(NamedWindow {
                name: name.clone(),
                spec: spec.clone(),
                base: base.transpose()?,
                divided_as: at,
                ordered_as: (!spec.order_by.is_empty()).then_some(at),
                is_used: false,
            });
        }
        check_bases(&mut windows)?;
        Ok(NamedWindows {
            windows,
            names,
            bound: None,
        })
    }

    /// What a function is over, complete.
    pub fn spec_of(&mut self, over: &Over) -> SqlResult<WindowSpec> {
        let (spec, base) = match over {
            Over::Name(name) => {
                let at = self.used(name)?;
                return Ok(self.complete(at));
            }
            Over::Spec(spec) => match &spec.base {
                None => return Ok(spec.clone()),
                Some(base) => (spec, self.used(base)?),
            },
        };
        check_base(UNNAMED, spec, &self.windows[base])?;
        let inherited = self.complete(base);
        Ok(WindowSpec {
            order_by: match spec.order_by.is_empty() {
                true => inherited.order_by,
                false => spec.order_by.clone(),
            },
            frame: spec.frame.clone(),
            ..inherited
        })
    }

    /// The windows that no function is over yet, as they are written: what they take over is looked at where it is written. Only a RANGE frame
    /// says something of an order, which may be another window's.
    pub fn unused(&self) -> impl Iterator<Item = (&str, WindowSpec)> {
        let unused = self.windows.iter().enumerate().filter(|(_, window)| !window.is_used);
        unused.map(|(at, window)| {
            let frame = window.spec.frame.as_ref();
            let spec = match frame.is_some_and(|frame| frame.unit == FrameUnit::Range) {
                true => self.complete(at),
                false => window.spec.clone(),
            };
            (window.name.as_str(), spec)
        })
    }

    fn used(&mut self, name: &Ident) -> SqlResult<usize> {
        let at = self.names.first(name).ok_or_else(|| no_such_window(name))?;
        self.windows[at].is_used = true;
        Ok(at)
    }

    /// With what it takes over.
    fn complete(&self, at: usize) -> WindowSpec {
        let window = &self.windows[at];
        let ordered = window.ordered_as.map(|at| self.windows[at].spec.order_by.clone());
        WindowSpec {
            base: None,
            partition_by: self.windows[window.divided_as].spec.partition_by.clone(),
            order_by: ordered.unwrap_or_default(),
            frame: window.spec.frame.clone(),
        }
    }
}

/// Whether each begins with one that it may begin with, and none with itself; and what it takes over.
fn check_bases(windows: &mut [NamedWindow]) -> SqlResult<()> {
    let mut is_checked = vec![false; windows.len()];
    for at in 0..windows.len() {
        // From the window itself down to the first that is checked, or begins with no other.
        let mut path = vec![at];
        while let Some(base) = windows[path[path.len() - 1]].base
            && !is_checked[base]
        {
            governor::tick()?;
            if path.len() > windows.len() {
                return Err(ErrorKind::WindowCircular.into());
            }
            path.push(base);
        }
        for at in path.into_iter().rev() {
            governor::tick()?;
            if let Some(base) = windows[at].base {
                check_base(windows[at].name.as_str(), &windows[at].spec, &windows[base])?;
                windows[at].divided_as = windows[base].divided_as;
                windows[at].ordered_as = windows[at].ordered_as.or(windows[base].ordered_as);
            }
            is_checked[at] = true;
        }
    }
    Ok(())
}

fn no_such_window(name: &Ident) -> SqlError {
    SqlError::new(ErrorKind::WindowNoSuchWindow, &[&name.as_str()])
}

/// Whether a window may begin with that one: it adds what is missing there, and changes nothing.
fn check_base(name: &str, spec: &WindowSpec, base: &NamedWindow) -> SqlResult<()> {
    if !spec.partition_by.is_empty() {
        return Err(ErrorKind::WindowNoChildPartitioning.into());
    }
    if base.spec.frame.is_some() {
        return Err(SqlError::new(ErrorKind::WindowNoInheritFrame, &[&base.name.as_str()]));
    }
    if !spec.order_by.is_empty() && base.ordered_as.is_some() {
        let names = [name, base.name.as_str()];
        return Err(SqlError::new(
            ErrorKind::WindowNoRedefineOrderBy,
            &[&names[0], &names[1]],
        ));
    }
    Ok(())
}
