//! SELECT … INTO OUTFILE and DUMPFILE: which file, and in which form.

use parser::ast;
use types::{CharsetId, ErrorKind, SqlError, SqlResult};

use crate::load::{FileFormat, format_of};
use crate::names::charset_by_name;

/// A file that takes a query's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTarget {
    pub path: String,
    pub form: FileForm,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileForm {
    /// The bytes of one row's columns.
    Dump,
    Text(TextForm),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextForm {
    /// `None`: each column in its own.
    pub charset: Option<CharsetId>,
    pub format: FileFormat,
    /// Only strings are enclosed.
    pub optionally: bool,
}

impl TextForm {
    /// Whether a number may have what ends a field in it.
    pub fn separates_numbers(&self) -> bool {
        let end = self.format.enclosed.or(self.format.fields_terminated.first().copied());
        end.is_some_and(is_of_numbers)
    }

    /// Whether a reader could take what separates fields for a part of one: warning 1475. It is not escaped then.
    pub fn is_ambiguous(&self, has_strings: bool, has_numbers: bool) -> bool {
        let field = self.format.fields_terminated.first().copied();
        let is_number_part = field.is_some_and(is_of_numbers);
        let is_enclosed = self.format.enclosed.is_some();
        let in_strings = !is_enclosed && field.is_some_and(means_more_escaped) && (has_strings || is_number_part);
        in_strings || (!is_enclosed || self.optionally) && has_numbers && is_number_part
    }
}

/// Whether a byte behind an escape stands for another one.
pub fn means_more_escaped(byte: u8) -> bool {
    b"ntrb0ZN".contains(&byte)
}

/// 1290 for what would use a file of the server where none may be used, or one that is elsewhere.
pub fn no_server_files() -> SqlError {
    SqlError::new(ErrorKind::OptionPreventsStatement, &[&"--secure-file-priv"])
}

fn is_of_numbers(byte: u8) -> bool {
    b".0123456789e+-".contains(&byte)
}

/// The file of a query's INTO clause.
pub fn file_target(into: &ast::SelectInto) -> SqlResult<Option<FileTarget>> {
    let (path, form) = match into {
        ast::SelectInto::Variables(_) => return Ok(None),
        ast::SelectInto::DumpFile(path) => (path, FileForm::Dump),
        ast::SelectInto::OutFile {
            path,
            charset,
            fields,
            lines,
        } => {
            let charset = charset.as_ref().map(|name| charset_by_name(name)).transpose()?;
            let format = format_of(fields, lines)?;
            if format.fields_terminated.is_empty() && format.enclosed.is_none() {
                return Err(SqlError::not_supported("INTO OUTFILE of fields with fixed widths"));
            }
            let optionally = fields.optionally_enclosed && format.enclosed.is_some();
            let form = TextForm {
                charset,
                format,
                optionally,
            };
            (path, FileForm::Text(form))
        }
    };
    if path.contains('\0') {
        return Err(no_server_files());
    }
    Ok(Some(FileTarget {
        path: path.to_string(),
        form,
    }))
}
