//! Which collation an operation over several strings uses: MySQL's rules of coercibility (Reference Manual, "Collation
//! Coercibility in Expressions").

use types::error::{ErrorKind, SqlError};
use types::{CharsetId, CollationId, SqlResult, SqlType, Value};

use super::{Expr, ExprKind};

/// How firmly a collation stands: the smaller wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Coercibility {
    /// `COLLATE` clause.
    Explicit = 0,
    /// A column.
    Implicit = 2,
    /// `USER()`, `VERSION()`.
    System = 3,
    /// A literal.
    Coercible = 4,
    /// A number or temporal value, as text.
    Numeric = 5,
    /// NULL, or made from NULL.
    Ignorable = 6,
    /// Two collations met and neither won: any other wins over it.
    None = 7,
}

impl Coercibility {
    pub fn of_constant(value: &Value) -> Coercibility {
        match value {
            Value::Null => Coercibility::Ignorable,
            Value::Str(_) | Value::Bytes(_) | Value::Json(_) => Coercibility::Coercible,
            _ => Coercibility::Numeric,
        }
    }

    pub fn of_column(ty: &SqlType) -> Coercibility {
        if is_stringlike(ty) {
            Coercibility::Implicit
        } else {
            Coercibility::Numeric
        }
    }

    /// For the result of a function that makes something else than text.
    pub fn of_result(ty: &SqlType) -> Coercibility {
        match ty.kind {
            types::TypeKind::Json => Coercibility::Implicit,
            _ if is_stringlike(ty) => Coercibility::Coercible,
            _ => Coercibility::Numeric,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::None => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::System => "SYSCONST",
            Coercibility::Coercible => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
            Coercibility::Ignorable => "IGNORABLE",
        }
    }
}

/// Text, bytes, ENUM, SET, JSON, and the bytes of a BIT: what carries a character set of its own.
pub fn is_stringlike(ty: &SqlType) -> bool {
    use types::TypeKind::{Bit, Enum, Json, Set};
    ty.kind.is_text() || ty.kind.is_binary() || matches!(ty.kind, Bit | Enum | Set | Json)
}

/// Whether it is a parameter that bytes were given for. They are compared by the collation of what they stand beside, as in MySQL:
/// many drivers send text as bytes.
pub fn is_given_bytes(expr: &Expr) -> bool {
    // A variable of a stored program stands like a column.
    matches!(expr.kind, ExprKind::Param(_)) && expr.ty.kind.is_binary() && expr.coercibility == Coercibility::Coercible
}

/// A collation with its standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collated {
    pub collation: CollationId,
    pub coercibility: Coercibility,
    /// Only ASCII characters can occur, so that any character set can take the text.
    pub ascii: bool,
}

impl Collated {
    /// An operand's, as text: a number's is that of the connection.
    pub fn of(expr: &Expr, connection: CollationId) -> Collated {
        if is_stringlike(&expr.ty) {
            let ascii = match &expr.kind {
                // What was computed may have been anything.
                ExprKind::Literal(Value::Str(text)) if expr.coercibility >= Coercibility::Coercible => text.is_ascii(),
                _ => expr.ty.charset() == CharsetId::ASCII,
            };
            let collation = match expr.ty.kind {
                types::TypeKind::Json => CollationId::UTF8MB4_BIN,
                types::TypeKind::Bit => CollationId::BINARY,
                _ => expr.ty.collation,
            };
            return Collated {
                collation,
                coercibility: expr.coercibility,
                ascii,
            };
        }
        let coercibility = if expr.ty.kind == types::TypeKind::Null {
            Coercibility::Ignorable
        } else {
            Coercibility::Numeric
        };
        Collated {
            collation: connection,
            coercibility,
            ascii: true,
        }
    }

    /// The collation of an operation over both, `Err` when neither can win.
    fn mix(self, other: Collated) -> Result<Collated, Collated> {
        let ascii = self.ascii && other.ascii;
        let keep = |winner: Collated| Ok(Collated { ascii, ..winner });
        let are_explicit = (self.coercibility, other.coercibility) == (Coercibility::Explicit, Coercibility::Explicit);
        if are_explicit && self.collation != other.collation {
            return Err(self);
        }
        if self.collation.charset() != other.collation.charset() {
            // A binary string wins over text of the same standing.
            if self.collation == CollationId::BINARY {
                return keep(if self.coercibility <= other.coercibility {
                    self
                } else {
                    other
                });
            }
            if other.collation == CollationId::BINARY {
                return keep(if other.coercibility <= self.coercibility {
                    other
                } else {
                    self
                });
            }
            if self.takes(other) {
                return keep(self);
            }
            if other.takes(self) {
                return keep(other);
            }
            if self.coercibility < other.coercibility && other.coercibility >= Coercibility::System {
                return keep(self);
            }
            if other.coercibility < self.coercibility && self.coercibility >= Coercibility::System {
                return keep(other);
            }
            return Err(Collated {
                collation: CollationId::BINARY,
                coercibility: Coercibility::None,
                ascii,
            });
        }
        if self.coercibility < other.coercibility || self.collation == other.collation {
            return keep(if self.coercibility <= other.coercibility {
                self
            } else {
                other
            });
        }
        if other.coercibility < self.coercibility {
            return keep(other);
        }
        match (self.collation.is_binary(), other.collation.is_binary()) {
            (true, true) => return Err(self),
            (true, false) => return keep(self),
            (false, true) => return keep(other),
            (false, false) => {}
        }
        let collation = self.collation.charset().binary_collation();
        Ok(Collated {
            collation,
            coercibility: Coercibility::None,
            ascii,
        })
    }

    /// Whether text of `other` can be converted to this character set without loss.
    fn takes(self, other: Collated) -> bool {
        let (own, others) = (self.collation.charset(), other.collation.charset());
        if own.is_unicode() {
            let has_more = own.is_all_of_unicode() && !others.is_all_of_unicode();
            let is_alike = own.min_bytes_per_char() == others.min_bytes_per_char();
            let wider = !others.is_unicode() || has_more && is_alike;
            if self.coercibility < other.coercibility || (self.coercibility == other.coercibility && wider) {
                return true;
            }
        }
        other.ascii
            && (self.coercibility < other.coercibility || (self.coercibility == other.coercibility && !self.ascii))
    }
}

/// The collation of an operation over the operands. 1267, 1270, 1271 for an illegal mix; `operation` names it there.
/// A comparison needs a collation that stands; a mere result (of CONCAT, say) may have one that does not.
pub fn aggregate<'e>(
    operands: impl IntoIterator<Item = &'e Expr>,
    connection: CollationId,
    operation: &str,
    compares: bool,
) -> SqlResult<Collated> {
    let all: Vec<Collated> = operands
        .into_iter()
        .inspect(|_| governor::pause())
        .map(|operand| match Collated::of(operand, connection) {
            collated if compares && is_given_bytes(operand) => Collated {
                coercibility: Coercibility::Ignorable,
                ..collated
            },
            collated => collated,
        })
        .collect();
    let Some((first, rest)) = all.split_first() else {
        return Ok(Collated {
            collation: connection,
            coercibility: Coercibility::Coercible,
            ascii: true,
        });
    };
    let mut mixed = *first;
    let mut is_undecided = false;
    for other in rest {
        governor::pause();
        // Where two of the operands met and neither won, a third one decides that is explicit, or, of a mere result, a column.
        if is_undecided {
            let decides = match other.coercibility {
                Coercibility::Explicit => true,
                Coercibility::Implicit if operation == "union" => true,
                Coercibility::Implicit => !compares && other.collation != mixed.collation,
                _ => false,
            };
            if !decides {
                continue;
            }
            mixed = *other;
            is_undecided = false;
            continue;
        }
        let both_stood = ![mixed.coercibility, other.coercibility].contains(&Coercibility::None);
        mixed = match mixed.mix(*other) {
            Ok(mixed) => mixed,
            Err(_) => return Err(illegal_mix(&all, operation)),
        };
        is_undecided = both_stood && mixed.coercibility == Coercibility::None;
    }
    if compares && mixed.coercibility == Coercibility::None {
        return Err(illegal_mix(&all, operation));
    }
    Ok(mixed)
}

fn illegal_mix(all: &[Collated], operation: &str) -> SqlError {
    let name = |c: &Collated| c.collation.name();
    let standing = |c: &Collated| c.coercibility.name();
    match all {
        [a, b] => SqlError::new(
            ErrorKind::CantAggregate2collations,
            &[&name(a), &standing(a), &name(b), &standing(b), &operation],
        ),
        [a, b, c] => SqlError::new(
            ErrorKind::CantAggregate3collations,
            &[
                &name(a),
                &standing(a),
                &name(b),
                &standing(b),
                &name(c),
                &standing(c),
                &operation,
            ],
        ),
        _ => SqlError::new(ErrorKind::CantAggregateNcollations, &[&operation]),
    }
}
