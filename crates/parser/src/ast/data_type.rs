//! SQL types as written in column definitions, casts and routine parameters.

use super::Ident;

/// A type with its parameters, synonyms folded: `BOOL` is `TINYINT(1)`, `NATIONAL CHAR` is `CHAR CHARACTER SET utf8mb3`,
/// `LONG VARCHAR` is `MEDIUMTEXT`, `CHAR BYTE` is `BINARY`, `REAL` is `DOUBLE` (`FLOAT` under REAL_AS_FLOAT).
#[derive(Debug, Clone, PartialEq)]
pub struct DataType {
    pub name: TypeName,
    /// `VARCHAR(n)`, `INT(n)` display width, `DECIMAL(n, ..)` precision, `DATETIME(n)` fraction digits, `YEAR(4)`.
    pub length: Option<u64>,
    /// `DECIMAL(.., n)`, `FLOAT(.., n)`, `DOUBLE(.., n)`
    pub decimals: Option<u32>,
    pub unsigned: bool,
    /// Implies `unsigned`.
    pub zerofill: bool,
    /// Lower case.
    pub charset: Option<Ident>,
    /// The attribute `BINARY`: the `_bin` collation of the character set.
    pub binary: bool,
    /// Members of ENUM and SET.
    pub values: Vec<Box<[u8]>>,
}

impl DataType {
    pub fn plain(name: TypeName) -> Self {
        DataType {
            name,
            length: None,
            decimals: None,
            unsigned: false,
            zerofill: false,
            charset: None,
            binary: false,
            values: Vec::new(),
        }
    }

    pub fn with_length(name: TypeName, length: u64) -> Self {
        DataType {
            length: Some(length),
            ..DataType::plain(name)
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeName {
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Decimal,
    Float,
    Double,
    Bit,
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyText,
    /// `TEXT(n)` chooses the smallest TEXT type that holds n characters.
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Enum,
    Set,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Json,
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
}
