//! ExtractValue and UpdateXML.
//!
//! ```text
//!   text ──document──▶ nodes ──┐
//!   query ──xpath──▶ tree ─────┴─evaluate──▶ a set of nodes, a number, a text, a truth
//! ```
//!
//! Source: the MySQL manual, "XML Functions". Where MySQL's answers are not what it says of XPath (a set of several nodes is no truth, `concat` takes two
//! of its arguments), XPath's are given.

mod document;
mod evaluate;
mod xpath;

use types::error::{ErrorKind, SqlError};
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use self::document::{Document, Failure};
use self::evaluate::{Evaluation, Found};
use self::xpath::Expr;
use super::args::{Args, Inference};
use super::{Function, exactly};

/// What a query finds depends on the user variables in it.
pub const FUNCTIONS: &[Function] = &[
    Function::strict("EXTRACTVALUE", exactly(2), infer, extract_value).per_statement(),
    Function::strict("UPDATEXML", exactly(3), infer, update_xml).per_statement(),
];

fn infer(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let collation = inference.mix_collations(0, inference.args.len())?;
    if !inference.args[1].is_constant() {
        let text = "Only constant XPATH queries are supported";
        return Err(SqlError::with_message(ErrorKind::UnknownError, text));
    }
    Ok(match collation == CollationId::BINARY {
        true => SqlType::blob(TypeKind::LongBlob),
        false => SqlType::text(TypeKind::LongText, collation),
    })
}

/// A text that is no XML makes NULL, with the warning 1525.
fn document<'a>(text: &'a str, args: &Args<'_>) -> SqlResult<Option<Document<'a>>> {
    match Document::parse(text) {
        Ok(document) => Ok(Some(document)),
        Err(Failure::Stop(stop)) => Err(stop.into()),
        Err(Failure::Xml(error)) => {
            args.ctx
                .warn(SqlError::new(ErrorKind::WrongValue, &[&"XML", &error.message()]))?;
            Ok(None)
        }
    }
}

fn extract_value(args: &Args<'_>) -> SqlResult<Value> {
    let query = Expr::parse(&args.text(1))?;
    let text = args.text(0);
    let Some(document) = document(&text, args)? else {
        return Ok(Value::Null);
    };
    let evaluation = Evaluation::new(&document, args);
    let found = evaluation.whole(&query)?;
    Ok(evaluation
        .text(&found)?
        .map_or(Value::Null, |text| args.text_result(text)))
}

/// Replaces the one node that is found; the text as it was where that is none or several.
fn update_xml(args: &Args<'_>) -> SqlResult<Value> {
    let query = Expr::parse(&args.text(1))?;
    let (text, new) = (args.text(0), args.text(2));
    let Some(document) = document(&text, args)? else {
        return Ok(Value::Null);
    };
    let Found::Nodes(found) = Evaluation::new(&document, args).whole(&query)? else {
        return Ok(Value::Null);
    };
    let [only] = found[..] else {
        return Ok(args.text_result(text.into_owned()));
    };
    let span = document.nodes[only].span.clone();
    let bytes = text.len() - span.len() + new.len();
    if args.too_long("updatexml", bytes as u64)? {
        return Ok(Value::Null);
    }
    Ok(args.text_result([&text[..span.start], &*new, &text[span.end..]].concat()))
}
