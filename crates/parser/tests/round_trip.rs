//! Random trees: what is printed parses back to the same tree.

use parser::ast::*;
use parser::{ParseErrorKind, SqlMode, parse, parse_expr, printer};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn ident() -> impl Strategy<Value = Ident> {
    let odd = select(vec![
        "select",
        "a b",
        "weird`name",
        "1a",
        "é",
        "表",
        "_utf8mb4",
        "count",
        "$x",
        "",
    ]);
    prop_oneof![4 => "[a-z][a-z0-9_]{0,5}".prop_map(Ident::new), 1 => odd.prop_map(Ident::from)]
}

/// Where MySQL's grammar wants at least one character.
fn plain_ident() -> impl Strategy<Value = Ident> {
    "[a-z][a-z0-9_]{0,5}".prop_map(Ident::new)
}

fn bytes() -> impl Strategy<Value = Box<[u8]>> {
    prop_oneof![
        "[ -~]{0,8}".prop_map(|text| text.into_bytes().into()),
        vec(any::<u8>(), 0..6).prop_map(Vec::into_boxed_slice),
        select(vec!["", "'", "\\", "''", "\\'", "%_\\%", "\n\r\0\x1a\t", "日本"])
            .prop_map(|text| text.as_bytes().into()),
    ]
}

fn table_name() -> impl Strategy<Value = TableName> {
    (option::of(ident()), ident()).prop_map(|(schema, name)| TableName { schema, name })
}

fn column_name() -> impl Strategy<Value = ColumnName> {
    (option::of(ident()), option::of(ident()), ident()).prop_map(|(schema, table, name)| ColumnName {
        schema: schema.filter(|_| table.is_some()),
        table,
        name,
    })
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        Just(Literal::Null),
        any::<bool>().prop_map(Literal::Bool),
        prop_oneof![0..100u64, any::<u64>()].prop_map(Literal::Int),
        select(vec!["1.5", ".5", "1.", "0.10", "18446744073709551616"]).prop_map(|text| Literal::Decimal(text.into())),
        select(vec!["1e5", "1.5E-3", ".5e+5"]).prop_map(|text| Literal::Float(text.into())),
        bytes().prop_map(Literal::String),
        (
            bytes(),
            select(vec![IntroducedForm::Text, IntroducedForm::Hex, IntroducedForm::Bit])
        )
            .prop_map(|(value, form)| {
                let charset = Ident::from("utf8mb4");
                Literal::Introduced(Box::new(IntroducedString { charset, value, form }))
            }),
        bytes().prop_map(Literal::Hex),
        bytes().prop_map(Literal::Bit),
        bytes().prop_map(Literal::Date),
        bytes().prop_map(Literal::Time),
        bytes().prop_map(Literal::Timestamp),
    ]
}

fn unit() -> impl Strategy<Value = IntervalUnit> {
    select(vec![
        IntervalUnit::Day,
        IntervalUnit::Second,
        IntervalUnit::YearMonth,
        IntervalUnit::DayMicrosecond,
    ])
}

fn cast_type() -> impl Strategy<Value = DataType> {
    let plain = select(vec![
        TypeName::Date,
        TypeName::Json,
        TypeName::Year,
        TypeName::Double,
        TypeName::BigInt,
    ]);
    prop_oneof![
        plain.prop_map(DataType::plain),
        Just(DataType {
            unsigned: true,
            ..DataType::plain(TypeName::BigInt)
        }),
        (
            select(vec![
                TypeName::Char,
                TypeName::Binary,
                TypeName::DateTime,
                TypeName::Time
            ]),
            0..60u64
        )
            .prop_map(|(name, length)| DataType::with_length(name, length)),
        (1..65u64, 0..30u32).prop_map(|(length, decimals)| DataType {
            decimals: Some(decimals),
            ..DataType::with_length(TypeName::Decimal, length)
        }),
        Just(DataType {
            charset: Some(Ident::from("latin1")),
            ..DataType::with_length(TypeName::Char, 3)
        }),
    ]
}

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        4 => literal().prop_map(Expr::Literal),
        4 => column_name().prop_map(|column| Expr::Column(Box::new(column))),
        1 => ident().prop_map(Expr::UserVar),
        1 => (option::of(select(vec![VarScope::Global, VarScope::Session, VarScope::Persist])), plain_ident())
            .prop_map(|(scope, name)| Expr::SystemVar(Box::new(SystemVar { scope, component: None, name }))),
        1 => column_name().prop_map(|column| Expr::DefaultOf(Box::new(column))),
        1 => column_name().prop_map(|column| Expr::InsertValue(Box::new(column))),
        1 => select(vec!["NOW", "CURDATE", "DATABASE", "UTC_TIMESTAMP", "my_function"]).prop_map(|name| call(name, vec![])),
    ]
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Function(Box::new(FunctionCall {
        schema: None,
        name: Ident::from(name),
        args,
    }))
}

fn expr() -> BoxedStrategy<Expr> {
    leaf()
        .prop_recursive(5, 48, 4, |inner| {
            prop_oneof![
                6 => operators(inner.clone()),
                4 => predicates(inner.clone()),
                4 => functions(inner.clone()),
                2 => subqueries(inner),
            ]
        })
        .boxed()
}

fn operators(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Expr> + use<> {
    use BinaryOp::*;
    let binary = select(vec![
        Xor, Eq, NullSafeEq, Ne, Lt, Le, Gt, Ge, SoundsLike, BitOr, BitAnd, BitXor, ShiftLeft, ShiftRight, Add, Sub,
        Mul, Div, IntDiv, Mod,
    ]);
    let unary = select(vec![
        UnaryOp::Not,
        UnaryOp::Minus,
        UnaryOp::Plus,
        UnaryOp::BitNot,
        UnaryOp::Binary,
    ]);
    prop_oneof![
        4 => (binary, inner.clone(), inner.clone())
            .prop_map(|(op, left, right)| Expr::Binary(Box::new(Binary { op, left, right }))),
        2 => (unary, inner.clone()).prop_map(|(op, operand)| Expr::Unary(Box::new(Unary { op, operand }))),
        2 => vec(inner.clone(), 2..4).prop_map(|operands| Expr::And(operands.into())),
        2 => vec(inner.clone(), 2..4).prop_map(|operands| Expr::Or(operands.into())),
        1 => (ident(), inner.clone()).prop_map(|(name, value)| Expr::Assign(Box::new(Assign { name, value }))),
        1 => (inner.clone(), plain_ident())
            .prop_map(|(operand, collation)| Expr::Collate(Box::new(Collate { operand, collation }))),
        1 => (any::<bool>(), inner.clone(), inner.clone(), unit()).prop_map(|(add, date, amount, unit)| {
            let op = if add { DateOp::Add } else { DateOp::Sub };
            // `INTERVAL (a, b) DAY` would be the function.
            let amount = if let Expr::Row(_) = amount { Expr::Literal(Literal::Null) } else { amount };
            Expr::DateArith(Box::new(DateArith { op, date, amount, unit }))
        }),
        1 => vec(inner, 2..4).prop_map(|values| Expr::Row(values.into())),
    ]
}

fn predicates(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Expr> + use<> {
    let test = select(vec![IsTest::Null, IsTest::True, IsTest::False, IsTest::Unknown]);
    let escape = option::of(inner.clone());
    prop_oneof![
        (inner.clone(), test, any::<bool>()).prop_map(|(operand, test, negated)| Expr::Is(Box::new(Is {
            operand,
            test,
            negated
        }))),
        (inner.clone(), inner.clone(), inner.clone(), any::<bool>()).prop_map(|(operand, low, high, negated)| {
            Expr::Between(Box::new(Between {
                operand,
                low,
                high,
                negated,
            }))
        }),
        (inner.clone(), vec(inner.clone(), 1..4), any::<bool>()).prop_map(|(operand, list, negated)| {
            // A list of one subquery is a subquery.
            let list = if let [Expr::Subquery(_)] = list.as_slice() {
                vec![Expr::Literal(Literal::Null)]
            } else {
                list
            };
            Expr::InList(Box::new(InList { operand, list, negated }))
        }),
        (inner.clone(), inner.clone(), escape, any::<bool>()).prop_map(|(operand, pattern, escape, negated)| {
            Expr::Like(Box::new(Like {
                operand,
                pattern,
                escape,
                negated,
            }))
        }),
        (inner.clone(), inner.clone(), any::<bool>()).prop_map(|(operand, pattern, negated)| Expr::Regexp(Box::new(
            Regexp {
                operand,
                pattern,
                negated
            }
        ))),
        (inner.clone(), inner).prop_map(|(operand, array)| Expr::MemberOf(Box::new(MemberOf { operand, array }))),
    ]
}

fn functions(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Expr> + use<> {
    let name = select(vec![
        "CONCAT",
        "LEFT",
        "MOD",
        "COALESCE",
        "INTERVAL",
        "SUBSTRING",
        "LOCATE",
        "f",
        "count",
        "x y",
    ]);
    let aggregate = select(vec![
        AggregateFn::Sum,
        AggregateFn::Avg,
        AggregateFn::Min,
        AggregateFn::Max,
    ]);
    let whens = vec((inner.clone(), inner.clone()), 1..3);
    prop_oneof![
        3 => (name, inner.clone(), inner.clone()).prop_map(|(name, a, b)| call(name, vec![a, b])),
        1 => (ident(), ident(), vec(inner.clone(), 0..3)).prop_map(|(schema, name, args)| {
            Expr::Function(Box::new(FunctionCall { schema: Some(schema), name, args }))
        }),
        2 => (aggregate, any::<bool>(), inner.clone(), option::of(over(inner.clone()))).prop_map(
            |(function, distinct, arg, over)| {
                let args = vec![arg];
                Expr::Aggregate(Box::new(Aggregate { function, distinct, args, order_by: vec![], separator: None, over }))
            }
        ),
        1 => (any::<bool>(), vec(inner.clone(), 1..3), vec(order_item(inner.clone()), 0..2), option::of(bytes())).prop_map(
            |(distinct, args, order_by, separator)| {
                let function = AggregateFn::GroupConcat;
                Expr::Aggregate(Box::new(Aggregate { function, distinct, args, order_by, separator, over: None }))
            }
        ),
        1 => (inner.clone(), option::of((count(), option::of(inner.clone()))), over(inner.clone())).prop_map(|(value, rest, over)| {
            let (count, default) = rest.unzip();
            let args = [Some(value), count, default.flatten()].into_iter().flatten().collect();
            Expr::Window(Box::new(WindowCall { function: WindowFn::Lag, args, ignore_nulls: false, from_last: false, over }))
        }),
        2 => (option::of(inner.clone()), whens, option::of(inner.clone())).prop_map(|(operand, whens, otherwise)| {
            Expr::Case(Box::new(Case { operand, whens, otherwise }))
        }),
        2 => (inner.clone(), cast_type(), any::<bool>()).prop_map(|(operand, target, array)| {
            Expr::Cast(Box::new(Cast { operand, target, array, at_time_zone: None }))
        }),
        1 => (inner.clone(), plain_ident())
            .prop_map(|(operand, charset)| Expr::ConvertUsing(Box::new(ConvertUsing { operand, charset }))),
        1 => (unit(), inner.clone()).prop_map(|(unit, operand)| Expr::Extract(Box::new(Extract { unit, operand }))),
        1 => (option::of(inner.clone()), inner.clone()).prop_map(|(remove, operand)| {
            Expr::Trim(Box::new(Trim { side: TrimSide::Leading, remove, operand }))
        }),
        1 => (vec(inner.clone(), 1..3), option::of(plain_ident()))
            .prop_map(|(args, charset)| Expr::Char(Box::new(CharFn { args, charset }))),
        1 => (vec(column_name(), 1..3), inner).prop_map(|(columns, against)| {
            Expr::MatchAgainst(Box::new(MatchAgainst { columns, against, mode: MatchMode::Boolean }))
        }),
    ]
}

fn order_item(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = OrderItem> + use<> {
    (inner, any::<bool>()).prop_map(|(expr, descending)| OrderItem { expr, descending })
}

/// How far LAG looks: a number or a variable.
fn count() -> impl Strategy<Value = Expr> {
    prop_oneof![
        any::<u64>().prop_map(|number| Expr::Literal(Literal::Int(number))),
        plain_ident().prop_map(|name| Expr::Column(Box::new(ColumnName::bare(name)))),
    ]
}

fn over(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Over> + use<> {
    let bound = |inner: BoxedStrategy<Expr>| {
        prop_oneof![
            Just(FrameBound::UnboundedPreceding),
            Just(FrameBound::CurrentRow),
            (0..9u64).prop_map(|n| FrameBound::Following(FrameOffset::Rows(Expr::Literal(Literal::Int(n))))),
            (inner, unit()).prop_map(|(amount, unit)| FrameBound::Preceding(FrameOffset::Interval(amount, unit))),
        ]
    };
    let frame = (
        select(vec![FrameUnit::Rows, FrameUnit::Range, FrameUnit::Groups]),
        bound(inner.clone()),
        option::of(bound(inner.clone())),
    )
        .prop_filter("what follows is behind BETWEEN", |(_, start, end)| {
            end.is_some() || !matches!(start, FrameBound::Following(_))
        })
        .prop_map(|(unit, start, end)| Frame {
            unit,
            start,
            end,
            exclude: None,
        });
    let spec = (
        option::of(plain_ident()),
        vec(order_item(inner.clone()), 0..2),
        vec(order_item(inner), 0..2),
        option::of(frame),
    )
        .prop_map(|(base, partition_by, order_by, frame)| WindowSpec {
            base,
            partition_by,
            order_by,
            frame,
        });
    prop_oneof![ident().prop_map(Over::Name), spec.prop_map(Over::Spec)]
}

fn subqueries(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Expr> + use<> {
    let query = query(inner.clone());
    prop_oneof![
        query.clone().prop_map(|query| Expr::Subquery(Box::new(query))),
        query.clone().prop_map(|query| Expr::Exists(Box::new(query))),
        (inner.clone(), query.clone(), any::<bool>()).prop_map(|(operand, query, negated)| {
            Expr::InSubquery(Box::new(InSubquery {
                operand,
                query,
                negated,
            }))
        }),
        (inner, query).prop_map(|(left, query)| {
            let quantifier = Quantifier::Any;
            Expr::Quantified(Box::new(Quantified {
                op: BinaryOp::Ge,
                quantifier,
                left,
                query,
            }))
        }),
    ]
}

fn select_body(expr: BoxedStrategy<Expr>) -> impl Strategy<Value = QueryBody> + Clone + use<> {
    let item = prop_oneof![
        table_name().prop_map(SelectItem::TableWildcard),
        (expr.clone(), option::of(ident())).prop_map(|(expr, alias)| SelectItem::Expr {
            expr,
            alias,
            text: SourceText::default()
        }),
    ];
    let tables = vec(table_ref(expr.clone()), 0..3);
    (
        vec(item, 1..3),
        tables,
        option::of(expr.clone()),
        vec(expr.clone(), 0..2),
        option::of(expr),
        any::<bool>(),
    )
        .prop_map(|(items, from, filter, group_by, having, distinct)| {
            QueryBody::Select(Box::new(Select {
                hints: None,
                options: SelectOptions {
                    distinct,
                    ..SelectOptions::default()
                },
                items,
                from,
                filter,
                rollup: !group_by.is_empty() && distinct,
                group_by: group_by.into_iter().map(OrderItem::ascending).collect(),
                having,
                windows: Vec::new(),
            }))
        })
}

fn table_ref(expr: BoxedStrategy<Expr>) -> BoxedStrategy<TableRef> {
    let as_of = option::weighted(0.2, expr.clone().prop_map(Box::new));
    let table = (table_name(), vec(ident(), 0..2), option::of(ident()), as_of);
    let table = table.prop_map(|(name, partitions, alias, as_of)| {
        TableRef::Table(Box::new(TableFactor {
            name,
            partitions,
            alias,
            as_of,
            index_hints: Vec::new(),
        }))
    });
    let derived =
        (expr.clone(), ident(), vec(ident(), 0..2), any::<bool>()).prop_map(|(expr, alias, columns, lateral)| {
            let item = SelectItem::Expr {
                expr,
                alias: None,
                text: SourceText::default(),
            };
            TableRef::Derived(Box::new(Derived {
                lateral,
                query: Query::plain(select_of(item)),
                alias,
                columns,
            }))
        });
    prop_oneof![3 => table, 1 => derived]
        .prop_recursive(3, 8, 2, move |inner| {
            let join = (inner.clone(), inner.clone(), option::of(expr.clone()), 0..6u8).prop_map(
                |(left, right, condition, kind)| {
                    let (kind, condition) = match (kind, condition) {
                        (0, Some(on)) => (JoinKind::Left, JoinCondition::On(on)),
                        (1, _) => (JoinKind::Right, JoinCondition::Natural),
                        (2, _) => (JoinKind::Inner, JoinCondition::Using(vec![Ident::from("a")])),
                        (3, Some(on)) => (JoinKind::Straight, JoinCondition::On(on)),
                        (_, Some(on)) => (JoinKind::Inner, JoinCondition::On(on)),
                        (_, None) => (JoinKind::Inner, JoinCondition::None),
                    };
                    TableRef::Join(Box::new(Join {
                        kind,
                        left,
                        right,
                        condition,
                    }))
                },
            );
            prop_oneof![3 => join, 1 => vec(inner, 2..3).prop_map(TableRef::List)]
        })
        .boxed()
}

fn select_of(item: SelectItem) -> QueryBody {
    QueryBody::Select(Box::new(Select {
        hints: None,
        options: SelectOptions::default(),
        items: vec![item],
        from: Vec::new(),
        filter: None,
        group_by: Vec::new(),
        rollup: false,
        having: None,
        windows: Vec::new(),
    }))
}

fn query(expr: BoxedStrategy<Expr>) -> BoxedStrategy<Query> {
    let simple = prop_oneof![
        4 => select_body(expr.clone()),
        1 => vec(vec(expr.clone(), 1..3), 1..3).prop_map(QueryBody::Values),
        1 => table_name().prop_map(QueryBody::Table),
    ];
    let body = simple.prop_recursive(2, 6, 3, |inner| {
        let operand = prop_oneof![
            3 => inner.clone(),
            1 => inner.prop_map(|body| {
                let limit = Some(Limit { count: Expr::Literal(Literal::Int(1)), offset: None });
                QueryBody::Query(Box::new(Query { limit, ..Query::plain(body) }))
            }),
        ];
        (
            operand.clone(),
            vec((any::<bool>(), any::<bool>(), operand), 1..3),
            any::<bool>(),
        )
            .prop_map(|(first, rest, intersect)| {
                let rest = rest.into_iter().map(|(all, union, body)| {
                    let op = match (intersect, union) {
                        (true, _) => SetOp::Intersect,
                        (false, true) => SetOp::Union,
                        (false, false) => SetOp::Except,
                    };
                    SetTerm { op, all, body }
                });
                QueryBody::SetOperation(Box::new(SetOperation {
                    first,
                    rest: rest.collect(),
                }))
            })
    });
    let with =
        (any::<bool>(), ident(), vec(ident(), 0..2), expr.clone()).prop_map(|(recursive, name, columns, expr)| {
            let item = SelectItem::Expr {
                expr,
                alias: None,
                text: SourceText::default(),
            };
            With {
                recursive,
                tables: vec![CommonTable {
                    name,
                    columns,
                    query: Query::plain(select_of(item)),
                }],
            }
        });
    let limit = (0..99u64, option::of(0..99u64)).prop_map(|(count, offset)| Limit {
        count: Expr::Literal(Literal::Int(count)),
        offset: offset.map(|offset| Expr::Literal(Literal::Int(offset))),
    });
    let lock = (any::<bool>(), vec(table_name(), 0..2), 0..3u8).prop_map(|(update, tables, wait)| Locking {
        strength: if update {
            LockStrength::Update
        } else {
            LockStrength::Share
        },
        tables,
        wait: [LockWait::Wait, LockWait::NoWait, LockWait::SkipLocked][usize::from(wait)],
    });
    (
        option::weighted(0.2, with),
        body,
        vec(order_item(expr), 0..2),
        option::of(limit),
        vec(lock, 0..2),
    )
        .prop_map(|(with, body, order_by, limit, locks)| Query {
            with,
            body,
            order_by,
            limit,
            locks,
            into: None,
        })
        .boxed()
}

fn statement() -> impl Strategy<Value = Statement> {
    let assignment = (column_name(), prop_oneof![3 => expr(), 1 => Just(Expr::Default)])
        .prop_map(|(column, value)| Assignment { column, value })
        .boxed();
    let insert = (
        table_name(),
        option::of(vec(column_name(), 1..3)),
        vec(vec(prop_oneof![3 => expr(), 1 => Just(Expr::Default)], 0..3), 1..3),
        vec(assignment.clone(), 0..2),
        any::<bool>(),
    )
        .prop_map(|(table, columns, rows, on_duplicate, ignore)| {
            Statement::Insert(Box::new(Insert {
                hints: None,
                verb: InsertVerb::Insert,
                priority: None,
                ignore,
                table,
                partitions: Vec::new(),
                columns,
                source: InsertSource::Values(rows),
                row_alias: None,
                on_duplicate,
            }))
        });
    let update = (
        vec(table_ref(expr()), 1..3),
        vec(assignment, 1..3),
        option::of(expr()),
        vec(order_item(expr()), 0..2),
    )
        .prop_map(|(tables, assignments, filter, order_by)| {
            Statement::Update(Box::new(Update {
                with: None,
                hints: None,
                low_priority: false,
                ignore: true,
                tables,
                assignments,
                filter,
                order_by,
                limit: None,
            }))
        });
    let delete = (
        vec(table_name(), 1..3),
        vec(table_ref(expr()), 1..3),
        option::of(expr()),
    )
        .prop_map(|(targets, tables, filter)| {
            Statement::Delete(Box::new(Delete {
                with: None,
                hints: None,
                low_priority: false,
                quick: false,
                ignore: false,
                form: DeleteForm::Multi { targets, tables },
                filter,
            }))
        });
    prop_oneof![
        4 => query(expr()).prop_map(|query| Statement::Query(Box::new(query))),
        1 => insert,
        1 => update,
        1 => delete,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn expressions_survive(expr in expr()) {
        let printed = printer::expr_to_sql(&expr);
        let shown = String::from_utf8_lossy(&printed).into_owned();
        match parse_expr(&printed, SqlMode::default()) {
            Ok(parsed) => prop_assert!(parsed == expr, "{shown}\n{expr:?}\n{parsed:?}"),
            Err(error) if matches!(error.kind, ParseErrorKind::TooDeep { .. }) => {}
            Err(error) => prop_assert!(false, "{shown}\n{error}\n{expr:?}"),
        }
    }

    #[test]
    fn expressions_survive_as_shown(expr in expr()) {
        let printed = printer::shown_expr(&expr);
        let shown = String::from_utf8_lossy(&printed).into_owned();
        let caseless = |expr| printer::expr_to_sql(expr).to_ascii_lowercase();
        match parse_expr(&printed, SqlMode::default()) {
            Ok(parsed) => prop_assert!(caseless(&parsed) == caseless(&expr), "{shown}\n{expr:?}\n{parsed:?}"),
            Err(error) if matches!(error.kind, ParseErrorKind::TooDeep { .. }) => {}
            Err(error) => prop_assert!(false, "{shown}\n{error}\n{expr:?}"),
        }
    }

    #[test]
    fn statements_survive(statement in statement()) {
        let printed = printer::to_sql(&statement);
        let shown = String::from_utf8_lossy(&printed).into_owned();
        match parse(&printed, SqlMode::default()) {
            Ok(parsed) => prop_assert!(parsed.statement == statement, "{shown}\n{statement:?}\n{:?}", parsed.statement),
            Err(error) if matches!(error.kind, ParseErrorKind::TooDeep { .. }) => {}
            Err(error) => prop_assert!(false, "{shown}\n{error}\n{statement:?}"),
        }
    }
}

#[test]
fn definitions_are_shown_as_mysql_does() {
    for (written, shown) in [
        ("a", "`a`"),
        ("-a + -1", "(-(`a`) + -1)"),
        ("A + b DIV C", "(`A` + (`b` DIV `C`))"),
        (
            "a > 0 OR a IS NULL OR NOT b",
            "((`a` > 0) or (`a` is null) or (not `b`))",
        ),
        ("CONCAT(s, 'X\\Z', 1E3)", "concat(`s`,'X\\Z',1E3)"),
        (
            "CASE WHEN a IN (1, 2) THEN 1 ELSE LOWER(b) END",
            "(case when (`a` in (1,2)) then 1 else lower(`b`) end)",
        ),
        (
            "TRIM(LOWER(a)) = TRIM(LEADING 'x' FROM a)",
            "(trim(lower(`a`)) = trim(leading 'x' from `a`))",
        ),
        ("CAST(a AS UNSIGNED)", "cast(`a` as unsigned)"),
        ("a - (b - c)", "(`a` - (`b` - `c`))"),
    ] {
        let tree = parse_expr(written.as_bytes(), SqlMode::default()).unwrap();
        assert_eq!(String::from_utf8(printer::shown_expr(&tree)).unwrap(), shown);
    }
}
