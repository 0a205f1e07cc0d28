//! SET in all its forms.

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn set(&mut self) -> PResult<Statement> {
        self.bump();
        match self.kind() {
            Tok::Kw(Kw::PASSWORD) if !matches!(self.peek(), Tok::Dot) => return self.set_password(),
            Tok::Kw(Kw::ROLE) if !self.assignment_follows() => return self.set_role(),
            Tok::Kw(Kw::DEFAULT) => return self.set_default_role(),
            Tok::Kw(Kw::RESOURCE) if self.peek_is(Kw::GROUP) => return self.set_resource_group(),
            Tok::Kw(Kw::TRANSACTION) if !self.assignment_follows() => {
                self.bump();
                return self.set_transaction(None);
            }
            _ => {}
        }
        let scope = self.opt_scope();
        if scope.is_some() && self.at(Kw::TRANSACTION) && !self.assignment_follows() {
            self.bump();
            return self.set_transaction(scope);
        }
        let mut items = vec![self.set_item(scope)?];
        while self.eat_tok(Tok::Comma) {
            let scope = self.opt_scope();
            items.push(self.set_item(scope)?);
        }
        Ok(Statement::Set(items))
    }

    fn assignment_follows(&mut self) -> bool {
        matches!(self.peek(), Tok::Eq | Tok::Assign | Tok::Dot)
    }

    /// `[GLOBAL|SESSION|LOCAL|PERSIST|PERSIST_ONLY]` before a name.
    fn opt_scope(&mut self) -> Option<VarScope> {
        let scope = match self.kind() {
            Tok::Kw(Kw::GLOBAL) => VarScope::Global,
            Tok::Kw(Kw::SESSION | Kw::LOCAL) => VarScope::Session,
            Tok::Kw(Kw::PERSIST) => VarScope::Persist,
            Tok::Kw(Kw::PERSIST_ONLY) => VarScope::PersistOnly,
            _ => return None,
        };
        self.bump();
        Some(scope)
    }

    fn set_item(&mut self, scope: Option<VarScope>) -> PResult<SetItem> {
        if scope.is_none() {
            match self.kind() {
                Tok::AtName => {
                    let name = self.user_var()?;
                    self.expect_set()?;
                    return Ok(SetItem::UserVar {
                        name,
                        value: self.expr()?,
                    });
                }
                Tok::AtAt => {
                    let SystemVar { scope, component, name } = self.system_var()?;
                    self.expect_set()?;
                    let value = self.set_value()?;
                    return Ok(SetItem::Variable {
                        scope,
                        component,
                        name,
                        value,
                    });
                }
                Tok::Kw(Kw::NAMES) if !matches!(self.peek(), Tok::Eq | Tok::Assign | Tok::Dot) => {
                    return self.set_names();
                }
                Tok::Kw(Kw::CHARSET | Kw::CHARACTER | Kw::CHAR) => {
                    self.eat_charset()?;
                    let charset = if self.eat(Kw::DEFAULT) {
                        None
                    } else {
                        Some(self.charset_name()?)
                    };
                    return Ok(SetItem::CharacterSet(charset));
                }
                _ => {}
            }
        }
        let first = self.ident()?;
        let (component, name) = if self.eat_tok(Tok::Dot) {
            (Some(first), self.ident()?)
        } else {
            (None, first)
        };
        let local = match scope {
            None => self.set_target(component.as_ref(), &name)?,
            Some(_) => None,
        };
        self.expect_set()?;
        if let Some(target) = local {
            let value = self.expr()?;
            return Ok(SetItem::Local { target, value });
        }
        Ok(SetItem::Variable {
            scope,
            component,
            name,
            value: self.set_value()?,
        })
    }

    fn set_names(&mut self) -> PResult<SetItem> {
        self.bump();
        if self.eat(Kw::DEFAULT) {
            return Ok(SetItem::NamesDefault);
        }
        let charset = self.charset_name()?;
        let collation = if self.eat(Kw::COLLATE) {
            Some(self.collation_name()?)
        } else {
            None
        };
        Ok(SetItem::Names { charset, collation })
    }

    /// A word that is no expression, or stands alone, is a string.
    fn set_value(&mut self) -> PResult<Expr> {
        match self.kind() {
            Tok::Kw(Kw::DEFAULT) if self.peek() != Tok::LParen => {
                self.bump();
                return Ok(Expr::Default);
            }
            Tok::Kw(keyword @ (Kw::ON | Kw::ALL | Kw::SYSTEM)) => {
                self.bump();
                return Ok(string(keyword.text()));
            }
            Tok::Kw(keyword @ (Kw::BINARY | Kw::ROW))
                if matches!(self.peek(), Tok::Comma | Tok::Semicolon | Tok::Eof) =>
            {
                self.bump();
                return Ok(string(keyword.text()));
            }
            _ => {}
        }
        Ok(match self.expr()? {
            Expr::Column(column) if column.table.is_none() => string(&column.name),
            other => other,
        })
    }

    fn set_password(&mut self) -> PResult<Statement> {
        self.bump();
        let account = if self.eat(Kw::FOR) { Some(self.account()?) } else { None };
        let password = if self.eat(Kw::TO) {
            self.expect(Kw::RANDOM)?;
            None
        } else {
            self.expect_set()?;
            Some(self.bytes()?)
        };
        let replace = if self.eat(Kw::REPLACE) {
            Some(self.bytes()?)
        } else {
            None
        };
        let retain_current = self.retain_current_password()?;
        Ok(Statement::SetPassword(Box::new(SetPassword {
            account,
            password,
            replace,
            retain_current,
        })))
    }

    /// `[RETAIN CURRENT PASSWORD]`
    pub(super) fn retain_current_password(&mut self) -> PResult<bool> {
        if !self.eat(Kw::RETAIN) {
            return Ok(false);
        }
        self.expect_all(&[Kw::CURRENT, Kw::PASSWORD])?;
        Ok(true)
    }

    fn set_role(&mut self) -> PResult<Statement> {
        self.bump();
        self.role_choice().map(Statement::SetRole)
    }

    /// `DEFAULT|NONE|ALL [EXCEPT roles]|roles`
    pub(super) fn role_choice(&mut self) -> PResult<SetRole> {
        Ok(match self.eat_any(&[Kw::DEFAULT, Kw::NONE, Kw::ALL]) {
            Some(Kw::DEFAULT) => SetRole::Default,
            Some(Kw::NONE) => SetRole::None,
            Some(_) if self.eat(Kw::EXCEPT) => SetRole::AllExcept(self.list(Self::account)?),
            Some(_) => SetRole::All,
            None => SetRole::Roles(self.list(Self::account)?),
        })
    }

    fn set_default_role(&mut self) -> PResult<Statement> {
        self.bump();
        self.expect(Kw::ROLE)?;
        let role = match self.eat_any(&[Kw::NONE, Kw::ALL]) {
            Some(Kw::NONE) => SetRole::None,
            Some(_) => SetRole::All,
            None => SetRole::Roles(self.list(Self::account)?),
        };
        self.expect(Kw::TO)?;
        let accounts = self.list(Self::account)?;
        Ok(Statement::SetDefaultRole(Box::new(SetDefaultRole { role, accounts })))
    }

    fn set_resource_group(&mut self) -> PResult<Statement> {
        self.bump();
        self.bump();
        let name = self.ident()?;
        let mut threads = Vec::new();
        if self.eat(Kw::FOR) {
            threads.push(self.unsigned()?);
            loop {
                self.eat_tok(Tok::Comma);
                if !self.at_tok(Tok::Integer) {
                    break;
                }
                threads.push(self.unsigned()?);
            }
        }
        Ok(Statement::SetResourceGroup(Box::new(SetResourceGroup {
            name,
            threads,
        })))
    }
}

fn string(text: &str) -> Expr {
    Expr::Literal(Literal::String(text.as_bytes().into()))
}
