//! SET and its special forms.

use super::{Account, Expr, Ident, Local, VarScope};

/// One element of a `SET` list.
#[derive(Debug, Clone, PartialEq)]
pub enum SetItem {
    /// `@name = value`, `@name := value`
    UserVar { name: Ident, value: Expr },
    /// `name = value` of a variable of the stored program around.
    Local { target: Local, value: Expr },
    /// `[scope] name = value`, `@@[scope.]name = value`. A bare word as value (`utf8mb4`, `ON`, `ANSI`) is a string
    /// literal; `DEFAULT` is [`Expr::Default`].
    Variable {
        scope: Option<VarScope>,
        component: Option<Ident>,
        name: Ident,
        value: Expr,
    },
    /// `NAMES charset [COLLATE collation]`
    Names { charset: Ident, collation: Option<Ident> },
    /// `NAMES DEFAULT`
    NamesDefault,
    /// `CHARACTER SET charset`; None is `DEFAULT`.
    CharacterSet(Option<Ident>),
}

/// `SET PASSWORD [FOR user] = 'text' | TO RANDOM [REPLACE 'old'] [RETAIN CURRENT PASSWORD]`
#[derive(Debug, Clone, PartialEq)]
pub struct SetPassword {
    pub account: Option<Account>,
    /// None is `TO RANDOM`.
    pub password: Option<Box<[u8]>>,
    pub replace: Option<Box<[u8]>>,
    pub retain_current: bool,
}

/// `SET ROLE ...`
#[derive(Debug, Clone, PartialEq)]
pub enum SetRole {
    Default,
    None,
    All,
    AllExcept(Vec<Account>),
    Roles(Vec<Account>),
}

/// `SET DEFAULT ROLE NONE|ALL|roles TO users`; `role` is never `Default` or `AllExcept`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetDefaultRole {
    pub role: SetRole,
    pub accounts: Vec<Account>,
}

/// `SET RESOURCE GROUP name [FOR thread, ...]`
#[derive(Debug, Clone, PartialEq)]
pub struct SetResourceGroup {
    pub name: Ident,
    pub threads: Vec<u64>,
}
