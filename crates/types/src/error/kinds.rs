//! The table of errors: kind, MySQL's number, SQLSTATE, message format (`%` takes the next argument).
//! Source: MySQL 8.0 Error Message Reference.

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident = $code:literal $state:literal $format:literal;)*) => {
        /// What went wrong. The discriminant is MySQL's number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum ErrorKind {
            $($(#[$doc])* $name = $code,)*
        }

        impl ErrorKind {
            pub const ALL: &[ErrorKind] = &[$(ErrorKind::$name,)*];

            pub fn sqlstate(self) -> &'static str {
                match self {
                    $(ErrorKind::$name => $state,)*
                }
            }

            /// The message with a `%` for each argument.
            pub fn format(self) -> &'static str {
                match self {
                    $(ErrorKind::$name => $format,)*
                }
            }

            /// The kind with MySQL's number `code`.
            pub fn from_code(code: u16) -> Option<ErrorKind> {
                match code {
                    $($code => Some(ErrorKind::$name),)*
                    _ => None,
                }
            }
        }
    };
}

impl ErrorKind {
    /// MySQL's number.
    pub fn code(self) -> u16 {
        self as u16
    }
}

errors! {
    CantCreateServerFile = 1 "HY000" "Can't create/write to file '%' (OS errno % - %)";
    FileRead = 2 "HY000" "Error reading file '%' (OS errno % - %)";
    FileWrite = 3 "HY000" "Error writing file '%' (OS errno % - %)";
    FileStat = 13 "HY000" "Can't get stat of '%' (OS errno % - %)";
    CantCreateTable = 1005 "HY000" "Can't create table '%' (errno: % - %)";
    CantCreateDb = 1006 "HY000" "Can't create database '%' (errno: % - %)";
    DbCreateExists = 1007 "HY000" "Can't create database '%'; database exists";
    DbDropExists = 1008 "HY000" "Can't drop database '%'; database doesn't exist";
    CantLock = 1015 "HY000" "Can't lock file (errno: % - %)";
    CantOpenFile = 1016 "HY000" "Can't open file: '%' (errno: % - %)";
    FileNotFound = 1017 "HY000" "Can't find file: '%' (errno: % - %)";
    DiskFull = 1021 "HY000" "Disk full (%); waiting for someone to free some space... (errno: % - %)";
    DupKey = 1022 "23000" "Can't write; duplicate key in table '%'";
    ErrorOnRead = 1024 "HY000" "Error reading file '%' (errno: % - %)";
    ErrorOnWrite = 1026 "HY000" "Error writing file '%' (errno: % - %)";
    FileUsed = 1027 "HY000" "'%' is locked against change";
    GetErrno = 1030 "HY000" "Got error % - '%' from storage engine";
    IllegalHa = 1031 "HY000" "Table storage engine for '%' doesn't have this option";
    KeyNotFound = 1032 "HY000" "Can't find record in '%'";
    NotFormFile = 1033 "HY000" "Incorrect information in file: '%'";
    OpenAsReadonly = 1036 "HY000" "Table '%' is read only";
    OutOfMemory = 1037 "HY001" "Out of memory; restart server and try again (needed % bytes)";
    OutOfSortMemory = 1038 "HY001" "Out of sort memory, consider increasing server sort buffer size";
    ConCount = 1040 "08004" "Too many connections";
    OutOfResources = 1041 "HY000" "Out of memory; check if mysqld or some other process uses all available memory; if not, you may have to use 'ulimit' to allow mysqld to use more memory or you can add more swap space";
    BadHost = 1042 "08S01" "Can't get hostname for your address";
    HandshakeError = 1043 "08S01" "Bad handshake";
    DbAccessDenied = 1044 "42000" "Access denied for user '%'@'%' to database '%'";
    /// Arguments: user, host, `YES` or `NO`.
    AccessDenied = 1045 "28000" "Access denied for user '%'@'%' (using password: %)";
    NoDb = 1046 "3D000" "No database selected";
    UnknownCom = 1047 "08S01" "Unknown command";
    BadNull = 1048 "23000" "Column '%' cannot be null";
    BadDb = 1049 "42000" "Unknown database '%'";
    TableExists = 1050 "42S01" "Table '%' already exists";
    BadTable = 1051 "42S02" "Unknown table '%'";
    NonUniq = 1052 "23000" "Column '%' in % is ambiguous";
    ServerShutdown = 1053 "08S01" "Server shutdown in progress";
    /// Arguments: column, clause (`field list`, `where clause`, ...).
    BadField = 1054 "42S22" "Unknown column '%' in '%'";
    WrongFieldWithGroup = 1055 "42000" "Expression #% of % is not in GROUP BY clause and contains nonaggregated column '%' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by";
    WrongGroupField = 1056 "42000" "Can't group on '%'";
    WrongSumSelect = 1057 "42000" "Statement has sum functions and columns in same statement";
    WrongValueCount = 1058 "21S01" "Column count doesn't match value count";
    TooLongIdent = 1059 "42000" "Identifier name '%' is too long";
    DupFieldName = 1060 "42S21" "Duplicate column name '%'";
    DupKeyName = 1061 "42000" "Duplicate key name '%'";
    /// Arguments: the key's values joined by `-`, `table.key`.
    DupEntry = 1062 "23000" "Duplicate entry '%' for key '%'";
    WrongFieldSpec = 1063 "42000" "Incorrect column specifier for column '%'";
    /// Arguments: what is wrong, the text from there, the line.
    ParseError = 1064 "42000" "% near '%' at line %";
    EmptyQuery = 1065 "42000" "Query was empty";
    NonUniqTable = 1066 "42000" "Not unique table/alias: '%'";
    InvalidDefault = 1067 "42000" "Invalid default value for '%'";
    MultiplePriKey = 1068 "42000" "Multiple primary key defined";
    TooManyKeys = 1069 "42000" "Too many keys specified; max % keys allowed";
    TooManyKeyParts = 1070 "42000" "Too many key parts specified; max % parts allowed";
    TooLongKey = 1071 "42000" "Specified key was too long; max key length is % bytes";
    KeyColumnDoesNotExist = 1072 "42000" "Key column '%' doesn't exist in table";
    BlobUsedAsKey = 1073 "42000" "BLOB column '%' can't be used in key specification with the used table type";
    TooBigFieldLength = 1074 "42000" "Column length too big for column '%' (max = %); use BLOB or TEXT instead";
    WrongAutoKey = 1075 "42000" "Incorrect table definition; there can be only one auto column and it must be defined as a key";
    NormalShutdown = 1077 "HY000" "%: Normal shutdown";
    ForcingClose = 1080 "08S01" "%: Forcing close of thread %  user: '%'";
    IpsockError = 1081 "08S01" "Can't create IP socket";
    NoSuchIndex = 1082 "42S12" "Table '%' has no index like the one used in CREATE INDEX; recreate the table";
    WrongFieldTerminators = 1083 "42000" "Field separator argument is not what is expected; check the manual";
    TextFileNotReadable = 1085 "HY000" "The file '%' must be in the database directory or be readable by all";
    FileExists = 1086 "HY000" "File '%' already exists";
    LoadInfo = 1087 "HY000" "Records: %  Deleted: %  Skipped: %  Warnings: %";
    WrongSubKey = 1089 "HY000" "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys";
    CantRemoveAllFields = 1090 "42000" "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
    CantDropFieldOrKey = 1091 "42000" "Can't DROP '%'; check that column/key exists";
    InsertInfo = 1092 "HY000" "Records: %  Duplicates: %  Warnings: %";
    UpdateTableUsed = 1093 "HY000" "You can't specify target table '%' for update in FROM clause";
    NoSuchThread = 1094 "HY000" "Unknown thread id: %";
    KillDenied = 1095 "HY000" "You are not owner of thread %";
    NoTablesUsed = 1096 "HY000" "No tables used";
    TooBigSet = 1097 "HY000" "Too many strings for column % and SET";
    TableNotLockedForWrite = 1099 "HY000" "Table '%' was locked with a READ lock and can't be updated";
    TableNotLocked = 1100 "HY000" "Table '%' was not locked with LOCK TABLES";
    BlobCantHaveDefault = 1101 "42000" "BLOB, TEXT, GEOMETRY or JSON column '%' can't have a default value";
    WrongDbName = 1102 "42000" "Incorrect database name '%'";
    WrongTableName = 1103 "42000" "Incorrect table name '%'";
    TooBigSelect = 1104 "42000" "The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE and use SET SQL_BIG_SELECTS=1 or SET MAX_JOIN_SIZE=# if the SELECT is okay";
    FieldInGroupingNotGroupBy = 3602 "HY000" "Argument #% of GROUPING function is not in GROUP BY";
    VariableIsReadonly = 1621 "HY000" "% variable '%' is read-only. Use % to assign the value";
    UnknownError = 1105 "HY000" "%";
    UnknownProcedure = 1106 "42000" "Unknown procedure '%'";
    WrongParamcountToProcedure = 1107 "42000" "Incorrect parameter count to procedure '%'";
    UnknownTable = 1109 "42S02" "Unknown table '%' in %";
    FieldSpecifiedTwice = 1110 "42000" "Column '%' specified twice";
    InvalidGroupFuncUse = 1111 "HY000" "Invalid use of group function";
    UnsupportedExtension = 1112 "42000" "Table '%' uses an extension that doesn't exist in this MySQL version";
    TableMustHaveColumns = 1113 "42000" "A table must have at least 1 column";
    RecordFileFull = 1114 "HY000" "The table '%' is full";
    UnknownCharacterSet = 1115 "42000" "Unknown character set: '%'";
    TooManyTables = 1116 "HY000" "Too many tables; MySQL can only use % tables in a join";
    TooManyFields = 1117 "HY000" "Too many columns";
    TooBigRowsize = 1118 "42000" "Row size too large. The maximum row size for the used table type, not counting BLOBs, is %. This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs";
    StackOverrun = 1119 "HY000" "Thread stack overrun:  Used: % of a % stack.  Use 'mysqld --thread_stack=#' to specify a bigger stack if needed";
    NullColumnInIndex = 1121 "42000" "Table handler doesn't support NULL in given index. Please change column '%' to be NOT NULL or use another handler";
    /// A number of the storage engine's.
    FtsTooManyWordsInPhrase = 191 "HY000" "Too many words in a FTS phrase or proximity search";
    CantFindUdf = 1128 "HY000" "Function '%' is not defined";
    PasswordNotAllowed = 1132 "42000" "You must have privileges to update tables in the mysql database to be able to change passwords for others";
    PasswordNoMatch = 1133 "42000" "Can't find any matching row in the user table";
    UpdateInfo = 1134 "HY000" "Rows matched: %  Changed: %  Warnings: %";
    WrongValueCountOnRow = 1136 "21S01" "Column count doesn't match value count at row %";
    CantReopenTable = 1137 "HY000" "Can't reopen table: '%'";
    InvalidUseOfNull = 1138 "22004" "Invalid use of NULL value";
    RegexpError = 1139 "42000" "Got error '%' from regexp";
    MixOfGroupFuncAndFields = 1140 "42000" "In aggregated query without GROUP BY, expression #% of % contains nonaggregated column '%'; this is incompatible with sql_mode=only_full_group_by";
    NonexistingGrant = 1141 "42000" "There is no such grant defined for user '%' on host '%'";
    TableAccessDenied = 1142 "42000" "% command denied to user '%'@'%' for table '%'";
    ColumnAccessDenied = 1143 "42000" "% command denied to user '%'@'%' for column '%' in table '%'";
    IllegalGrantForTable = 1144 "42000" "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
    GrantWrongHostOrUser = 1145 "42000" "The host or user argument to GRANT is too long";
    NoSuchTable = 1146 "42S02" "Table '%.%' doesn't exist";
    NonexistingTableGrant = 1147 "42000" "There is no such grant defined for user '%' on host '%' on table '%'";
    NotAllowedCommand = 1148 "42000" "The used command is not allowed with this MySQL version";
    SyntaxError = 1149 "42000" "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use";
    AbortingConnection = 1152 "08S01" "Aborted connection % to db: '%' user: '%' (%)";
    NetPacketTooLarge = 1153 "08S01" "Got a packet bigger than 'max_allowed_packet' bytes";
    NetReadErrorFromPipe = 1154 "08S01" "Got a read error from the connection pipe";
    NetFcntlError = 1155 "08S01" "Got an error from fcntl()";
    NetPacketsOutOfOrder = 1156 "08S01" "Got packets out of order";
    NetUncompressError = 1157 "08S01" "Couldn't uncompress communication packet";
    NetReadError = 1158 "08S01" "Got an error reading communication packets";
    NetReadInterrupted = 1159 "08S01" "Got timeout reading communication packets";
    NetErrorOnWrite = 1160 "08S01" "Got an error writing communication packets";
    NetWriteInterrupted = 1161 "08S01" "Got timeout writing communication packets";
    TooLongString = 1162 "42000" "Result string is longer than 'max_allowed_packet' bytes";
    TableCantHandleBlob = 1163 "42000" "The used table type doesn't support BLOB/TEXT columns";
    TableCantHandleAutoIncrement = 1164 "42000" "The used table type doesn't support AUTO_INCREMENT columns";
    WrongColumnName = 1166 "42000" "Incorrect column name '%'";
    WrongKeyColumn = 1167 "42000" "The used storage engine can't index column '%'";
    DupUnique = 1169 "23000" "Can't write, because of unique constraint, to table '%'";
    BlobKeyWithoutLength = 1170 "42000" "BLOB/TEXT column '%' used in key specification without a key length";
    PrimaryCantHaveNull = 1171 "42000" "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
    TooManyRows = 1172 "42000" "Result consisted of more than one row";
    RequiresPrimaryKey = 1173 "42000" "This table type requires a primary key";
    UpdateWithoutKeyInSafeMode = 1175 "HY000" "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column. %";
    KeyDoesNotExist = 1176 "42000" "Key '%' doesn't exist in table '%'";
    CheckNoSuchTable = 1177 "42000" "Can't open table";
    CheckNotImplemented = 1178 "42000" "The storage engine for the table doesn't support %";
    CantDoThisDuringATransaction = 1179 "25000" "You are not allowed to execute this command in a transaction";
    ErrorDuringCommit = 1180 "HY000" "Got error % - '%' during COMMIT";
    ErrorDuringRollback = 1181 "HY000" "Got error % during ROLLBACK";
    NewAbortingConnection = 1184 "08S01" "Aborted connection % to db: '%' user: '%' host: '%' (%)";
    FtMatchingKeyNotFound = 1191 "HY000" "Can't find FULLTEXT index matching the column list";
    LockOrActiveTransaction = 1192 "HY000" "Can't execute the given command because you have active locked tables or an active transaction";
    UnknownSystemVariable = 1193 "HY000" "Unknown system variable '%'";
    TooManyUserConnections = 1203 "42000" "User % already has more than 'max_user_connections' active connections";
    SetConstantsOnly = 1204 "HY000" "You may only use constant expressions with SET";
    LockWaitTimeout = 1205 "HY000" "Lock wait timeout exceeded; try restarting transaction";
    LockTableFull = 1206 "HY000" "The total number of locks exceeds the lock table size";
    ReadOnlyTransaction = 1207 "25000" "Update locks cannot be acquired during a READ UNCOMMITTED transaction";
    WrongArguments = 1210 "HY000" "Incorrect arguments to %";
    NoPermissionToCreateUser = 1211 "42000" "'%'@'%' is not allowed to create new users";
    /// Also, with more text: a row changed after the snapshot of a transaction that has to see it unchanged.
    LockDeadlock = 1213 "40001" "Deadlock found when trying to get lock; try restarting transaction";
    TableCantHandleFt = 1214 "HY000" "The used table type doesn't support FULLTEXT indexes";
    CannotAddForeign = 1215 "HY000" "Cannot add foreign key constraint";
    NoReferencedRow = 1216 "23000" "Cannot add or update a child row: a foreign key constraint fails";
    RowIsReferenced = 1217 "23000" "Cannot delete or update a parent row: a foreign key constraint fails";
    ErrorWhenExecutingCommand = 1220 "HY000" "Error when executing command %: %";
    MultiUpdateKeyConflict = 1706 "HY000" "Primary key/partition key update is not allowed since the table is updated both as '%' and '%'.";
    CannotUser = 1396 "HY000" "Operation % failed for %";
    CantCreateUserWithGrant = 1410 "42000" "You are not allowed to create a user with GRANT";
    PluginIsNotLoaded = 1524 "HY000" "Plugin '%' is not loaded";
    PasswordFormat = 1827 "HY000" "The password hash doesn't have the expected format.";
    WrongUsage = 1221 "HY000" "Incorrect usage of % and %";
    WrongNumberOfColumnsInSelect = 1222 "21000" "The used SELECT statements have a different number of columns";
    CantUpdateWithReadlock = 1223 "HY000" "Can't execute the query because you have a conflicting read lock";
    DupArgument = 1225 "HY000" "Option '%' used twice in statement";
    UserLimitReached = 1226 "42000" "User '%' has exceeded the '%' resource (current value: %)";
    SpecificAccessDenied = 1227 "42000" "Access denied; you need (at least one of) the % privilege(s) for this operation";
    LocalVariable = 1228 "HY000" "Variable '%' is a SESSION variable and can't be used with SET GLOBAL";
    GlobalVariable = 1229 "HY000" "Variable '%' is a GLOBAL variable and should be set with SET GLOBAL";
    NoDefault = 1230 "42000" "Variable '%' doesn't have a default value";
    WrongValueForVar = 1231 "42000" "Variable '%' can't be set to the value of '%'";
    WrongTypeForVar = 1232 "42000" "Incorrect argument type to variable '%'";
    VarCantBeRead = 1233 "HY000" "Variable '%' can only be set, not read";
    CantUseOptionHere = 1234 "42000" "Incorrect usage/placement of '%'";
    NotSupportedYet = 1235 "42000" "This version of LatsDB doesn't yet support '%'";
    IncorrectGlobalLocalVar = 1238 "HY000" "Variable '%' is a % variable";
    WrongFkDef = 1239 "42000" "Incorrect foreign key definition for '%': %";
    KeyRefDoNotMatchTableRef = 1240 "HY000" "Key reference and table reference don't match";
    OperandColumns = 1241 "21000" "Operand should contain % column(s)";
    SubqueryNo1Row = 1242 "21000" "Subquery returns more than 1 row";
    UnknownStmtHandler = 1243 "HY000" "Unknown prepared statement handler (%) given to %";
    CyclicReference = 1245 "HY000" "Cyclic reference on subqueries";
    AutoConvert = 1246 "HY000" "Converting column '%' from % to %";
    IllegalReference = 1247 "42S22" "Reference '%' not supported (%)";
    DerivedMustHaveAlias = 1248 "42000" "Every derived table must have its own alias";
    SelectReduced = 1249 "01000" "Select % was reduced during optimization";
    TablenameNotAllowedHere = 1250 "42000" "Table '%' from one of the SELECTs cannot be used in %";
    NotSupportedAuthMode = 1251 "08004" "Client does not support authentication protocol requested by server; consider upgrading MySQL client";
    SpatialCantHaveNull = 1252 "42000" "All parts of a SPATIAL index must be NOT NULL";
    CollationCharsetMismatch = 1253 "42000" "COLLATION '%' is not valid for CHARACTER SET '%'";
    TooBigForUncompress = 1256 "HY000" "Uncompressed data size too large; the maximum size is % (probably, length of uncompressed data was corrupted)";
    ZlibZBufError = 1258 "HY000" "ZLIB: Not enough room in the output buffer (probably, length of uncompressed data was corrupted)";
    ZlibZDataError = 1259 "HY000" "ZLIB: Input data corrupted";
    CutValueGroupConcat = 1260 "HY000" "Row % was cut by GROUP_CONCAT()";
    TooFewRecords = 1261 "01000" "Row % doesn't contain data for all columns";
    TooManyRecords = 1262 "01000" "Row % was truncated; it contained more data than there were input columns";
    NullToNotNull = 1263 "22004" "Column set to default value; NULL supplied to NOT NULL column '%' at row %";
    OutOfRange = 1264 "22003" "Out of range value for column '%' at row %";
    DataTruncated = 1265 "01000" "Data truncated for column '%' at row %";
    /// Arguments: collation, coercibility, collation, coercibility, operation.
    CantAggregate2collations = 1267 "HY000" "Illegal mix of collations (%,%) and (%,%) for operation '%'";
    CantAggregate3collations = 1270 "HY000" "Illegal mix of collations (%,%), (%,%), (%,%) for operation '%'";
    CantAggregateNcollations = 1271 "HY000" "Illegal mix of collations for operation '%'";
    KeyPartZero = 1391 "HY000" "Key part '%' length cannot be 0";
    AutoincReadFailed = 1467 "HY000" "Failed to read auto-increment value from storage engine";
    ViewWrongList = 1353 "HY000" "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts (%)";
    NoBinaryLogging = 1381 "HY000" "You are not using binary logging";
    UnknownCollation = 1273 "HY000" "Unknown collation: '%'";
    BadFtColumn = 1283 "HY000" "Column '%' cannot be part of FULLTEXT index";
    WrongNameForIndex = 1280 "42000" "Incorrect index name '%'";
    UnknownStorageEngine = 1286 "42000" "Unknown storage engine '%'";
    DeprecatedSyntax = 1287 "HY000" "'%' is deprecated and will be removed in a future release. Please use % instead";
    NonUpdatableTable = 1288 "HY000" "The target table % of the % is not updatable";
    FeatureDisabled = 1289 "HY000" "The '%' feature is disabled; you need MySQL built with '%' to have it working";
    OptionPreventsStatement = 1290 "HY000" "The MySQL server is running with the % option so it cannot execute this statement";
    DuplicatedValueInType = 1291 "HY000" "Column '%' has duplicated value '%' in %";
    /// Arguments: type (`INTEGER`, `DOUBLE`, `DECIMAL`, `datetime`, ...), value.
    TruncatedWrongValue = 1292 "22007" "Truncated incorrect % value: '%'";
    InvalidOnUpdate = 1294 "HY000" "Invalid ON UPDATE clause for '%' column";
    UnsupportedPs = 1295 "HY000" "This command is not supported in the prepared statement protocol yet";
    GetErrmsg = 1296 "HY000" "Got error % '%' from %";
    UnknownTimeZone = 1298 "HY000" "Unknown or incorrect time zone: '%'";
    WarnInvalidTimestamp = 1299 "HY000" "Invalid TIMESTAMP value in column '%' at row %";
    InvalidCharacterString = 1300 "HY000" "Invalid % character string: '%'";
    AllowedPacketOverflowed = 1301 "HY000" "Result of %() was larger than max_allowed_packet (%) - truncated";
    SpNoRecursiveCreate = 1303 "2F003" "Can't create a % from within another stored routine";
    SpLilabelMismatch = 1308 "42000" "% with no matching label: %";
    SpLabelRedefine = 1309 "42000" "Redefining label %";
    SpLabelMismatch = 1310 "42000" "End-label % without match";
    SpBadReturn = 1313 "42000" "RETURN is only allowed in a FUNCTION";
    SpNoReturn = 1320 "42000" "No RETURN found in FUNCTION %";
    SpBadCursorQuery = 1322 "42000" "Cursor statement must be a SELECT";
    SpCursorMismatch = 1324 "42000" "Undefined CURSOR: %";
    SpDupParam = 1330 "42000" "Duplicate parameter: %";
    SpDupVar = 1331 "42000" "Duplicate variable: %";
    SpDupCond = 1332 "42000" "Duplicate condition: %";
    SpDupCurs = 1333 "42000" "Duplicate cursor: %";
    SpVarcondAfterCurshndlr = 1337 "42000" "Variable or condition declaration after cursor or handler declaration";
    SpCursorAfterHandler = 1338 "42000" "Cursor declaration after handler declaration";
    SpNoDropSp = 1357 "HY000" "Can't drop or alter a % from within another stored routine";
    TrgCantChangeRow = 1362 "HY000" "Updating of % row is not allowed in %trigger";
    TrgNoSuchRowInTrg = 1363 "HY000" "There is no % row in % trigger";
    NonexistingProcGrant = 1403 "42000" "There is no such grant defined for user '%' on host '%' on routine '%'";
    SpBadSqlstate = 1407 "42000" "Bad SQLSTATE: '%'";
    SpDupHandler = 1413 "42000" "Duplicate handler declared in the same block";
    SpBadSelect = 1312 "0A000" "PROCEDURE % can't return a result set in the given context";
    SpBadStatement = 1314 "0A000" "% is not allowed in stored procedures";
    SpCondMismatch = 1319 "42000" "Undefined CONDITION: %";
    SpNoReturnEnd = 1321 "2F005" "FUNCTION % ended without RETURN";
    SpCursorAlreadyOpen = 1325 "24000" "Cursor is already open";
    SpCursorNotOpen = 1326 "24000" "Cursor is not open";
    SpWrongNoOfFetchArgs = 1328 "HY000" "Incorrect number of FETCH variables";
    SpCantAlter = 1334 "HY000" "Failed to ALTER % %";
    StmtNotAllowedInSfOrTrg = 1336 "0A000" "% is not allowed in stored function or trigger";
    SpCaseNotFound = 1339 "20000" "Case not found for CASE statement";
    SpNotVarArg = 1414 "42000" "OUT or INOUT argument % for routine % is not a variable or NEW pseudo-variable in BEFORE trigger";
    BinlogUnsafeRoutine = 1418 "HY000" "This function has none of DETERMINISTIC, NO SQL, or READS SQL DATA in its declaration and binary logging is enabled (you *might* want to use the less safe log_bin_trust_function_creators variable)";
    BinlogCreateRoutineNeedSuper = 1419 "HY000" "You do not have the SUPER privilege and binary logging is enabled (you *might* want to use the less safe log_bin_trust_function_creators variable)";
    SpNoRecursion = 1424 "HY000" "Recursive stored functions and triggers are not allowed.";
    SpRecursionLimit = 1456 "HY000" "Recursive limit % (as set by the max_sp_recursion_depth variable) was exceeded for routine %";
    AmbiguousFieldTerm = 1475 "HY000" "First character of the FIELDS TERMINATED string is ambiguous; please use non-optional and non-empty FIELDS ENCLOSED BY";
    MalformedGtidSet = 1772 "HY000" "Malformed GTID set specification '%'.";
    ExplainNotSupported = 3012 "HY000" "EXPLAIN FOR CONNECTION command is supported only for SELECT/UPDATE/INSERT/DELETE/REPLACE";
    DigestOfBrokenText = 3676 "HY000" "Could not parse argument to digest function: \"%\".";
    EventCannotBeKept = 3507 "HY000" "Failed to update events dictionary object.";
    TooLongRoutineComment = 3511 "HY000" "Comment for routine '%' is too long (max = %)";
    CantUpdateUsedTableInSfOrTrg = 1442 "HY000" "Can't update table '%' in stored function/trigger because it is already used by statement which invoked this stored function/trigger.";
    CondItemTooLong = 1648 "HY000" "Data too long for condition item '%'";
    SpWrongName = 1458 "42000" "Incorrect routine name '%'";
    SignalBadConditionType = 1646 "HY000" "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE";
    ResignalWithoutActiveHandler = 1645 "0K000" "RESIGNAL when handler not active";
    DaInvalidConditionNumber = 1758 "35000" "Invalid condition number";
    GetStackedDaWithoutActiveHandler = 3004 "0Z002" "GET STACKED DIAGNOSTICS when handler not active";
    SpAlreadyExists = 1304 "42000" "% % already exists";
    SpDoesNotExist = 1305 "42000" "% % does not exist";
    SpWrongNoOfArgs = 1318 "42000" "Incorrect number of arguments for % %; expected %, got %";
    SpBadCursorSelect = 1323 "42000" "Cursor SELECT must not have INTO";
    SpUndeclaredVar = 1327 "42000" "Undeclared variable: %";
    SpFetchNoData = 1329 "02000" "No data - zero rows fetched, selected, or processed";
    ViewSelectClause = 1350 "HY000" "View's SELECT contains a '%' clause";
    ViewSelectVariable = 1351 "HY000" "View's SELECT contains a variable or parameter";
    ViewSelectTmptable = 1352 "HY000" "View's SELECT refers to a temporary table '%'";
    WrongObject = 1347 "HY000" "'%.%' is not %";
    NonupdateableColumn = 1348 "HY000" "Column '%' is not updatable";
    ViewMerge = 1354 "HY000" "View merge algorithm can't be used here for now (assumed undefined algorithm)";
    ViewInvalid = 1356 "HY000" "View '%.%' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to use them";
    TrgOnViewOrTempTable = 1361 "HY000" "Trigger's '%' is view or temporary table";
    TrgInWrongSchema = 1435 "HY000" "Trigger in wrong schema";
    ReferencedTrgDoesNotExist = 3011 "HY000" "Referenced trigger '%' for the given action time and event type does not exist.";
    IfNotExistsTrgExistsAlready = 4099 "HY000" "Trigger '%' already exists on the table '%'.'%'.";
    TrgAlreadyExists = 1359 "HY000" "Trigger already exists";
    TrgDoesNotExist = 1360 "HY000" "Trigger does not exist";
    NoDefaultForField = 1364 "HY000" "Field '%' doesn't have a default value";
    DivisionByZero = 1365 "22012" "Division by 0";
    /// Arguments: type, value, column, row.
    TruncatedWrongValueForField = 1366 "HY000" "Incorrect % value: '%' for column '%' at row %";
    IllegalValueForType = 1367 "22007" "Illegal % '%' value found during parsing";
    ViewCheckFailed = 1369 "HY000" "CHECK OPTION failed '%.%'";
    ViewNonupdCheck = 1368 "HY000" "CHECK OPTION on non-updatable view '%.%'";
    ViewMultiupdate = 1393 "HY000" "Can not modify more than one base table through a join view '%.%'";
    ViewNoInsertFieldList = 1394 "HY000" "Can not insert into join view '%.%' without fields list";
    ViewDeleteMergeView = 1395 "HY000" "Can not delete from join view '%.%'";
    NoSuchUser = 1449 "HY000" "The user specified as a definer ('%'@'%') does not exist";
    StackOverrunNeedMore = 1436 "HY000" "Thread stack overrun:  % bytes used of a % byte stack, and % bytes needed.  Use 'mysqld --thread_stack=#' to specify a bigger stack.";
    ForbidSchemaChange = 1450 "HY000" "Changing schema from '%' to '%' is not allowed.";
    ProcaccessDenied = 1370 "42000" "% command denied to user '%'@'%' for routine '%'";
    XaerNota = 1397 "XAE04" "XAER_NOTA: Unknown XID";
    XaerInval = 1398 "XAE05" "XAER_INVAL: Invalid arguments (or unsupported command)";
    XaerRmfail = 1399 "XAE07" "XAER_RMFAIL: The command cannot be executed when global transaction is in the  % state";
    DataTooLong = 1406 "22001" "Data too long for column '%' at row %";
    StartupInfo = 1408 "HY000" "%: ready for connections. Version: '%'  socket: '%'  port: %  %";
    WrongValueForType = 1411 "HY000" "Incorrect % value: '%' for function %";
    TableDefChanged = 1412 "HY000" "Table definition has changed, please retry transaction";
    SpNoRetset = 1415 "0A000" "Not allowed to return a result set from a %";
    CantCreateGeometryObject = 1416 "22003" "Cannot get geometry object from data you send to the GEOMETRY field";
    CommitNotAllowedInSfOrTrg = 1422 "HY000" "Explicit or implicit commit is not allowed in stored function or trigger.";
    SpCantSetAutocommit = 1445 "HY000" "Not allowed to set autocommit from a stored function or trigger";
    TooBigScale = 1425 "42000" "Too big scale % specified for column '%'. Maximum is %.";
    /// Arguments: precision, column, maximum.
    TooBigPrecision = 1426 "42000" "Too-big precision % specified for '%'. Maximum is %.";
    MBiggerThanD = 1427 "42000" "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '%').";
    TooBigDisplayWidth = 1439 "42000" "Display width out of range for column '%' (max = %)";
    DatetimeFunctionOverflow = 1441 "22008" "Datetime function: % field overflow";
    RowIsReferenced2 = 1451 "23000" "Cannot delete or update a parent row: a foreign key constraint fails (%)";
    NoReferencedRow2 = 1452 "23000" "Cannot add or update a child row: a foreign key constraint fails (%)";
    SpBadVarShadow = 1453 "42000" "Variable '%' must be quoted with `...`, or renamed";
    PsManyParam = 1390 "HY000" "Prepared statement contains too many placeholders";
    StmtHasNoOpenCursor = 1421 "HY000" "The statement (%) has no open cursor.";
    MaxPreparedStmtCountReached = 1461 "42000" "Can't create more than max_prepared_stmt_count statements (current value: %)";
    ViewRecursive = 1462 "HY000" "`%`.`%` contains view recursion";
    NonGroupingFieldUsed = 1463 "42000" "Non-grouping field '%' is used in % clause";
    IllegalHaCreateOption = 1478 "HY000" "Table storage engine '%' does not support the create option '%'";
    WrongStringLength = 1470 "HY000" "String '%' is too long for % (should be no longer than %)";
    NonInsertableTable = 1471 "HY000" "The target table % of the % is not insertable-into";
    TooHighLevelOfNesting = 1473 "HY000" "Too high level of nesting for select";
    OnlyOnRangeListPartition = 1512 "HY000" "% PARTITION can only be used on RANGE/LIST partitions";
    /// Arguments: type, value.
    WrongValue = 1525 "HY000" "Incorrect % value: '%'";
    NoPartitionForGivenValue = 1526 "HY000" "Table has no partition for value %";
    PartitionMgmtOnNonpartitioned = 1505 "HY000" "Partition management on a not partitioned table is not possible";
    EventAlreadyExists = 1537 "HY000" "Event '%' already exists";
    EventDoesNotExist = 1539 "HY000" "Unknown event '%'";
    EventIntervalNotPositiveOrTooBig = 1542 "HY000" "INTERVAL is either not positive or too big";
    EventEndsBeforeStarts = 1543 "HY000" "ENDS is either invalid or before STARTS";
    EventExecTimeInThePast = 1544 "HY000" "Event execution time is in the past. Event has been disabled";
    EventSameName = 1551 "HY000" "Same old and new event name";
    EventRecursionForbidden = 1576 "HY000" "Recursion of EVENT DDL statements is forbidden when body is present";
    EventCannotCreateInThePast = 1588 "HY000" "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. The event was dropped immediately after creation.";
    EventCannotAlterInThePast = 1589 "HY000" "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. The event was not changed. Specify a time in the future.";
    CantChangeTxCharacteristics = 1568 "25001" "Transaction characteristics can't be changed while a transaction is in progress";
    DupEntryAutoincrementCase = 1569 "HY000" "ALTER TABLE causes auto_increment resequencing, resulting in duplicate entry '%' for key '%'";
    WrongParamcountToNativeFct = 1582 "42000" "Incorrect parameter count in the call to native function '%'";
    WrongParametersToNativeFct = 1583 "42000" "Incorrect parameters in the call to native function '%'";
    DupEntryWithKeyName = 1586 "23000" "Duplicate entry '%' for key '%'";
    BinlogUnsafeStatement = 1592 "HY000" "Unsafe statement written to the binary log using statement format since BINLOG_FORMAT = STATEMENT. %";
    TooManyConcurrentTrxs = 1637 "HY000" "Too many active concurrent transactions";
    DupSignalSet = 1641 "42000" "Duplicate condition information item '%'";
    SignalWarn = 1642 "01000" "Unhandled user-defined warning condition";
    SignalNotFound = 1643 "02000" "Unhandled user-defined not found condition";
    SignalException = 1644 "HY000" "Unhandled user-defined exception condition";
    DataOutOfRange = 1690 "22003" "% value is out of range in '%'";
    WrongSpvarTypeInLimit = 1691 "HY000" "A variable of a non-integer based type in LIMIT clause";
    LockingServiceWrongName = 3131 "42000" "Incorrect locking service lock name '%'.";
    IndexColumnTooLong = 1709 "HY000" "Index column size too large. The maximum column size is % bytes.";
    ColumnTooLongForIndex = 1713 "HY000" "Undo log record is too big.";
    InnodbNoFtTempTable = 1796 "HY000" "Cannot create FULLTEXT index on temporary InnoDB table";
    ReadOnlyMode = 1836 "HY000" "Running in read-only mode";
    TableSchemaMismatch = 1808 "HY000" "Schema mismatch (%)";
    TableNeedsUpgrade = 1707 "HY000" "Table rebuild required. Please do \"ALTER TABLE `%` FORCE\" or dump/reload to fix it!";
    AccessDeniedNoPassword = 1698 "28000" "Access denied for user '%'@'%'";
    AlterOperationNotSupported = 1845 "0A000" "% is not supported for this operation. Try %.";
    AlterOperationNotSupportedReason = 1846 "0A000" "% is not supported. Reason: %. Try %.";
    DupUnknownInIndex = 1859 "23000" "Duplicate entry for key '%'";
    IdentCausesTooLongPath = 1860 "HY000" "Long database name and identifier for object resulted in path length exceeding % characters. Path: '%'.";
    AlterOperationNotSupportedReasonNotNull = 1861 "22004" "cannot silently convert NULL values, as required in this SQL_MODE";
    MustChangePassword = 1820 "HY000" "You must reset your password using ALTER USER statement before executing this statement.";
    FkNoIndexChild = 1821 "HY000" "Failed to add the foreign key constraint. Missing index for constraint '%' in the foreign table '%'";
    FkNoIndexParent = 1822 "HY000" "Failed to add the foreign key constraint. Missing index for constraint '%' in the referenced table '%'";
    FkCannotOpenParent = 1824 "HY000" "Failed to open the referenced table '%'";
    FkIncorrectOption = 1825 "HY000" "Failed to add the foreign key constraint on table '%'. Incorrect options in FOREIGN KEY constraint '%'";
    FkDupName = 1826 "HY000" "Duplicate foreign key constraint name '%'";
    FkColumnCannotDrop = 1828 "HY000" "Cannot drop column '%': needed in a foreign key constraint '%'";
    FkColumnCannotDropChild = 1829 "HY000" "Cannot drop column '%': needed in a foreign key constraint '%' of table '%'";
    FkColumnNotNull = 1830 "HY000" "Column '%' cannot be NOT NULL: needed in a foreign key constraint '%' SET NULL";
    DupIndex = 1831 "HY000" "Duplicate index '%' defined on the table '%.%'. This is deprecated and will be disallowed in a future release.";
    FkColumnCannotChange = 1832 "HY000" "Cannot change column '%': used in a foreign key constraint '%'";
    FkColumnCannotChangeChild = 1833 "HY000" "Cannot change column '%': used in a foreign key constraint '%' of table '%'";
    NotRolledBackCreation = 1751 "HY000" "The creation of some temporary tables could not be rolled back.";
    NotRolledBackDrop = 1752 "HY000" "Some temporary tables were dropped, but these operations could not be rolled back.";
    /// TiDB's number.
    InvalidAsOf = 8135 "HY000" "invalid as of timestamp: %";
    /// TiDB's number.
    PastNotKept = 9006 "HY000" "The past is kept since %: the moment asked for, %, is older";
    CantExecuteInReadOnlyTransaction = 1792 "25006" "Cannot execute statement in a READ ONLY transaction.";
    TooLongTableComment = 1628 "HY000" "Comment for table '%' is too long (max = %)";
    TooLongFieldComment = 1629 "HY000" "Comment for field '%' is too long (max = %)";
    FuncInexistentNameCollision = 1630 "42000" "FUNCTION % does not exist. Check the 'Function Name Parsing and Resolution' section in the Reference Manual";
    TooLongIndexComment = 1688 "HY000" "Comment for index '%' is too long (max = %)";
    UnknownLocale = 1649 "HY000" "Unknown locale: '%'";
    InternalError = 1815 "HY000" "Internal error: %";
    MalformedPacket = 1835 "HY000" "Malformed communication packet.";
    QueryInterrupted = 1317 "70100" "Query execution was interrupted";
    DropIndexFk = 1553 "HY000" "Cannot drop index '%': needed in a foreign key constraint";
    InvalidArgumentForLogarithm = 3020 "2201E" "Invalid argument for logarithm";
    QueryTimeout = 3024 "HY000" "Query execution was interrupted, maximum statement execution time exceeded";
    ReplicaChannelDoesNotExist = 3074 "HY000" "Replica channel '%' does not exist.";
    IncorrectType = 3064 "HY000" "Incorrect type for argument % in function %.";
    AggregateOrderForUnion = 3028 "HY000" "Expression #% of ORDER BY contains aggregate function and applies to a UNION";
    AggregateOrderNonAggQuery = 3029 "HY000" "Expression #% of ORDER BY contains aggregate function and applies to the result of a non-aggregated query";
    UserLockWrongName = 3057 "42000" "Incorrect user-level lock name '%'.";
    UserLockDeadlock = 3058 "HY000" "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and restarting lock acquisition.";
    FieldInOrderNotSelect = 3065 "HY000" "Expression #% of ORDER BY clause is not in SELECT list, references column '%' which is not in SELECT list; this is incompatible with %";
    GeneratedColumnFunctionNotAllowed = 3102 "HY000" "Expression of generated column '%' contains a disallowed function.";
    NonDefaultValueForGeneratedColumn = 3105 "HY000" "The value specified for generated column '%' in table '%' is not allowed.";
    UnsupportedActionOnGeneratedColumn = 3106 "HY000" "'%' is not supported for generated columns.";
    GeneratedColumnNonPrior = 3107 "HY000" "Generated column can refer only to generated columns defined prior to it.";
    DependentByDefaultGeneratedValue = 3766 "HY000" "Column '%' of table '%' has a default value expression dependency and cannot be dropped or renamed.";
    GeneratedColumnNamedFunctionNotAllowed = 3763 "HY000" "Expression of generated column '%' contains a disallowed function: %.";
    GeneratedColumnVariables = 3765 "HY000" "Expression of generated column '%' cannot refer user or system variables.";
    DependentByGeneratedColumn = 3108 "HY000" "Column '%' has a generated column dependency.";
    GeneratedColumnRefAutoInc = 3109 "HY000" "Generated column '%' cannot refer to auto-increment column.";
    /// Arguments: parser's text, position, column.
    InvalidJsonText = 3140 "22032" "Invalid JSON text: \"%\" at position % in value for column '%'.";
    /// Arguments: argument number, function, parser's text, position.
    InvalidJsonTextInParam = 3141 "22032" "Invalid JSON text in argument % to function %: \"%\" at position %.";
    InvalidJsonBinaryData = 3142 "HY000" "The JSON binary value contains invalid data.";
    /// Argument: position.
    InvalidJsonPath = 3143 "42000" "Invalid JSON path expression. The error is around character position %.";
    InvalidJsonCharset = 3144 "22032" "Cannot create a JSON value from a string with CHARACTER SET '%'.";
    InvalidJsonCharsetInFunction = 3145 "22032" "Invalid JSON character data provided to function %: '%'; utf8 is required.";
    InvalidTypeForJson = 3146 "22032" "Invalid data type for JSON data in argument % to function %; a JSON string or JSON type is required.";
    InvalidCastToJson = 3147 "22032" "Cannot CAST value to JSON.";
    InvalidJsonPathCharset = 3148 "42000" "A path expression must be encoded in the utf8 character set. The path expression '%' is encoded in character set '%'.";
    InvalidJsonPathWildcard = 3149 "42000" "In this situation, path expressions may not contain the * and ** tokens or an array range.";
    JsonValueTooBig = 3150 "22032" "The JSON value is too big to be stored in a JSON column.";
    JsonKeyTooBig = 3151 "22032" "The JSON object contains a key name that is too long.";
    JsonUsedAsKey = 3152 "42000" "JSON column '%' supports indexing only via generated columns on a specified JSON path.";
    JsonVacuousPath = 3153 "42000" "The path expression '$' is not allowed in this context.";
    JsonBadOneOrAllArg = 3154 "42000" "The oneOrAll argument to % may take these values: 'one' or 'all'.";
    NumericJsonValueOutOfRange = 3155 "22003" "Out of range JSON value for CAST to % from column % at row %";
    InvalidJsonValueForCast = 3156 "22018" "Invalid JSON value for CAST to % from column % at row %";
    JsonDocumentTooDeep = 3157 "22032" "The JSON document exceeds the maximum depth.";
    JsonDocumentNullKey = 3158 "22032" "JSON documents may not contain NULL member names.";
    SecureTransportRequired = 3159 "HY000" "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    InvalidJsonPathArrayCell = 3165 "42000" "A path expression is not a path to a cell in an array.";
    MandatoryRole = 3628 "HY000" "The role % is a mandatory role and can't be revoked or dropped. The restriction can be lifted by excluding the role identifier from the global variable mandatory_roles.";
    SessionWasKilled = 3169 "HY000" "Session was killed.";
    UserDoesNotExist = 3162 "HY000" "Authorization ID % does not exist.";
    UserAlreadyExists = 3163 "HY000" "Authorization ID % already exists.";
    IndexFunctional = 3761 "HY000" "The used storage engine cannot index the expression '%'.";
    PkIndexCantBeInvisible = 3522 "HY000" "A primary key index cannot be invisible";
    InvalidBitwiseOperandsSize = 3513 "HY000" "Binary operands of bitwise operators must be of equal length";
    InvalidBitwiseAggregateOperandsSize = 3514 "HY000" "Aggregate bitwise functions cannot accept arguments longer than 511 bytes; consider using the SUBSTRING() function";
    InvalidJsonType = 3853 "22032" "Invalid JSON type in argument % to function %; % is required.";
    AesInvalidIv = 1882 "HY000" "The initialization vector supplied to % is too short. Must be at least % bytes long";
    AesInvalidKdfName = 3235 "HY000" "KDF method name is not valid. Please use hkdf or pbkdf2_hmac method name";
    AesInvalidKdfIterations = 3236 "HY000" "For KDF method pbkdf2_hmac iterations value less than 1000 or more than 65535 is not allowed due to security reasons. Please provide iterations >= 1000 and iterations < 65535";
    AesInvalidKdfOptionSize = 3238 "HY000" "KDF option size is invalid, please provide valid size < % bytes and not NULL";
    UnresolvedHintName = 3128 "HY000" "Unresolved name '%' for % hint";
    NotHintUpdatableVariable = 3637 "HY000" "Variable '%' cannot be set using SET_VAR hint.";
    TableValueConstructorMustHaveColumns = 3942 "HY000" "Each row of a VALUES clause must have at least one column, unless when used as source in an INSERT statement.";
    MultipleIntoClauses = 3953 "HY000" "Multiple INTO clauses in one query block.";
    MisplacedInto = 3954 "HY000" "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.";
    MissingJsonTableValue = 3665 "22035" "Missing value for JSON_TABLE column '%'";
    WrongJsonTableValue = 3666 "2203F" "Can't store an array or an object in the scalar JSON_TABLE column '%'";
    TableFunctionMustHaveAlias = 3667 "42000" "Every table function must have an alias";
    JsonTableValueOutOfRange = 3669 "22003" "Value is out of range for JSON_TABLE's column '%'";
    MissingJsonValue = 3966 "22035" "No value was found by '%' on the specified path.";
    MultipleJsonValues = 3967 "22034" "More than one value was found by '%' on the specified path.";
    UnknownAuthid = 3523 "HY000" "Unknown authorization ID `%`@`%`";
    RegexpIllegalArgument = 3685 "HY000" "Illegal argument to a regular expression.";
    RegexpBufferOverflow = 3684 "HY000" "The result string is larger than the result buffer.";
    RegexpIndexOutOfBounds = 3686 "HY000" "Index out of bounds in regular expression search.";
    RegexpInternalError = 3687 "HY000" "Internal error in the regular expression library.";
    RegexpRuleSyntax = 3688 "HY000" "Syntax error in regular expression on line %, character %.";
    RegexpBadEscapeSequence = 3689 "HY000" "Unrecognized escape sequence in regular expression.";
    RegexpMismatchedParen = 3691 "HY000" "Mismatched parenthesis in regular expression.";
    RegexpBadInterval = 3692 "HY000" "Incorrect description of a {min,max} interval.";
    RegexpMaxLtMin = 3693 "HY000" "The maximum is less than the minimum in a {min,max} interval.";
    RegexpMissingCloseBracket = 3696 "HY000" "The regular expression contains an unclosed bracket expression.";
    RegexpStackOverflow = 3698 "HY000" "Overflow in the regular expression backtrack stack.";
    RegexpTimeOut = 3699 "HY000" "Timeout exceeded in regular expression match.";
    RegexpPatternTooBig = 3700 "HY000" "The regular expression pattern exceeds limits on size or complexity.";
    UnresolvedTableLock = 3568 "HY000" "Unresolved table name '%' in locking clause.";
    DuplicateTableLock = 3569 "HY000" "Table '%' appears in multiple locking clauses.";
    LockNowait = 3572 "HY000" "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
    CteRecursiveRequiresUnion = 3573 "HY000" "Recursive Common Table Expression '%' should contain a UNION";
    CteRecursiveRequiresNonrecursiveFirst = 3574 "HY000" "Recursive Common Table Expression '%' should have one or more non-recursive query blocks followed by one or more recursive ones";
    CteRecursiveForbidsAggregation = 3575 "HY000" "Recursive Common Table Expression '%' can contain neither aggregation nor window functions in recursive query block";
    CteMaxRecursionDepth = 3636 "HY000" "Recursive query aborted after % iterations. Try increasing @@cte_max_recursion_depth to a larger value.";
    WindowNoSuchWindow = 3579 "HY000" "Window name '%' is not defined.";
    WindowInvalidUse = 3593 "HY000" "You cannot use the window function '%' in this context.";
    WindowInvalidUseOfAlias = 3594 "HY000" "You cannot use the alias '%' of an expression containing a window function in this context.'";
    Utf8Alias = 3719 "HY000" "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a future release. Please consider using UTF8MB4 in order to be unambiguous.";
    FkNoColumnParent = 3734 "HY000" "Failed to add the foreign key constraint. Missing column '%' for constraint '%' in the referenced table '%'";
    FkIncompatibleColumns = 3780 "HY000" "Referencing column '%' and referenced column '%' in foreign key constraint '%' are incompatible.";
    TruncateIllegalFk = 1701 "42000" "Cannot truncate a table referenced in a foreign key constraint (%)";
    ForeignDuplicateKeyWithChildInfo = 1761 "23000" "Foreign key constraint for table '%', record '%' would lead to a duplicate entry in table '%', key '%'";
    FkDepthExceeded = 3008 "HY000" "Foreign key cascade delete/update exceeds max depth of %.";
    FkCannotUseVirtualColumn = 3733 "HY000" "Foreign key '%' uses virtual column '%' which is not supported.";
    WrongFkOptionForGeneratedColumn = 3104 "HY000" "Cannot define foreign key with % clause on a generated column.";
    CheckConstraintUsesReferentialAction = 3823 "HY000" "Column '%' cannot be used in a check constraint '%': needed in a foreign key constraint '%' referential action.";
    CannotDropFkParent = 3730 "HY000" "Cannot drop table '%' referenced by a foreign key constraint '%' on table '%'.";
    CheckConstraintVariables = 3816 "HY000" "An expression of a check constraint '%' cannot refer to a user or system variable.";
    CheckConstraintRefersAutoIncrement = 3818 "HY000" "Check constraint '%' cannot refer to an auto-increment column.";
    CheckConstraintRefersUnknownColumn = 3820 "HY000" "Check constraint '%' refers to non-existing column '%'.";
    CheckConstraintViolated = 3819 "HY000" "Check constraint '%' is violated.";
    NonBooleanExprForCheckConstraint = 3812 "HY000" "An expression of non-boolean type specified to a check constraint '%'.";
    ColumnCheckConstraintReferencesOtherColumn = 3813 "HY000" "Column check constraint '%' references other column.";
    CheckConstraintNotFound = 3821 "HY000" "Check constraint '%' is not found in the table.";
    CheckConstraintDupName = 3822 "HY000" "Duplicate check constraint name '%'.";
    ClientLocalFilesDisabled = 3948 "42000" "Loading local data is disabled; this must be enabled on both the client and server sides";
    UnknownExplainFormat = 1791 "HY000" "Unknown EXPLAIN format name: '%'";
    ColumnUsedInCheck = 3959 "HY000" "Check constraint '%' uses column '%', hence column cannot be dropped or renamed.";
    CheckConstraintUnnamedFunctionNotAllowed = 3815 "HY000" "An expression of a check constraint '%' contains disallowed function.";
    CheckConstraintFunctionNotAllowed = 3814 "HY000" "An expression of a check constraint '%' contains disallowed function: %.";
    DefaultValFunctionNotAllowed = 3770 "HY000" "Default value expression of column '%' contains a disallowed function: %.";
    DefaultValNonPrior = 3767 "HY000" "Default value expression of column '%' cannot refer to a column defined after it if that column is a generated column or has an expression as default value.";
    DefaultValRefAutoInc = 3768 "HY000" "Default value expression of column '%' cannot refer to an auto-increment column.";
    DefaultValUnnamedFunctionNotAllowed = 3769 "HY000" "Default value expression of column '%' contains a disallowed function.";
    DefaultValVariables = 3772 "HY000" "Default value expression of column '%' cannot refer user or system variables.";
    DefaultAsValGenerated = 3773 "HY000" "DEFAULT function cannot be used with default value expressions";
    TooLongValueForType = 3505 "HY000" "Too long enumeration/set value for column %.";
    MultipleConstraintsWithName = 3939 "HY000" "Table has multiple constraints with the name '%'. Please use constraint specific '%' clause.";
    ConstraintNotFound = 3940 "HY000" "Constraint '%' does not exist.";
    FunctionalIndexOnJson = 3753 "42000" "Cannot create a functional index on a function that returns a JSON or GEOMETRY value.";
    FunctionalIndexRefAutoIncrement = 3754 "HY000" "Functional index '%' cannot refer to an auto-increment column.";
    FunctionalIndexPrimaryKey = 3756 "HY000" "The primary key cannot be a functional index";
    FunctionalIndexOnLob = 3757 "HY000" "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider using CAST.";
    FunctionalIndexFunctionNotAllowed = 3758 "HY000" "Expression of functional index '%' contains a disallowed function.";
    FulltextFunctionalIndex = 3759 "HY000" "Fulltext functional index is not supported.";
    SpatialFunctionalIndex = 3760 "HY000" "Spatial functional index is not supported.";
    FunctionalIndexOnField = 3762 "HY000" "Functional index on a column is not supported. Consider using a regular index instead.";
    DependentByFunctionalIndex = 3837 "HY000" "Column '%' has a functional index dependency and cannot be dropped or renamed.";
    TableWithoutPk = 3750 "HY000" "Unable to create or change a table without a primary key, when the system variable 'sql_require_primary_key' is set. Add a primary key to the table or unset this variable to avoid this message. Note that tables without a primary key can cause performance problems in row-based replication, so please consult your DBA before changing this setting.";
    DataTruncatedFunctionalIndex = 3751 "01000" "Data truncated for functional index '%' at row %";
    DataOutOfRangeFunctionalIndex = 3752 "22003" "Value is out of range for functional index '%' at row %";
    DataTooLongFunctionalIndex = 3907 "22001" "Data too long for functional index '%'.";
    AccountHasBeenLocked = 3118 "HY000" "Access denied for user '%'@'%'. Account is locked.";
    NotValidPassword = 1819 "HY000" "Your password does not satisfy the current policy requirements";
    MustChangePasswordLogin = 1862 "HY000" "Your password has expired. To log in you must change it using a client that supports expired passwords.";
    CredentialsContradictToHistory = 3638 "HY000" "Cannot use these credentials for '%@%' because they contradict the password history policy";
    SecondPasswordCannotBeEmpty = 3878 "HY000" "Empty password can not be retained as second password for user '%'@'%'.";
    IncorrectCurrentPassword = 3891 "HY000" "Incorrect current password. Specify the correct password which has to be replaced.";
    MissingCurrentPassword = 3892 "HY000" "Current password needs to be specified in the REPLACE clause in order to change it.";
    CurrentPasswordNotRequired = 3893 "HY000" "Do not specify the current password while changing it for other users.";
    PasswordCannotBeRetainedOnPluginChange = 3894 "HY000" "Current password can not be retained for user '%'@'%' because authentication plugin is being changed.";
    CurrentPasswordCannotBeRetained = 3895 "HY000" "Current password can not be retained for user '%'@'%' because new password is empty.";
    AccountBlockedByPasswordLock = 3955 "HY000" "Access denied for user '%'@'%'. Account is blocked for % day(s) (% day(s) remaining) due to % consecutive failed logins.";
    JsonInBooleanContext = 3986 "HY000" "Evaluating a JSON value in SQL boolean context does an implicit comparison against JSON integer 0; if this is not what you want, consider converting JSON to a SQL numeric type with JSON_VALUE RETURNING";
    InvalidUserAttributeJson = 3982 "HY000" "The user attribute must be a valid JSON object";
    ClientInteractionTimeout = 4031 "HY000" "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior.";
    /// SET PERSIST_ONLY without the privileges for it.
    PersistOnlyAccessDenied = 3630 "42000" "Access denied; you need % privileges for this operation";
    PersistTransactionIsolation = 6437 "HY000" "Cannot persist transaction isolation.";
    VarNotPersisted = 3615 "HY000" "Variable % does not exist in persisted config file";
    RoleNotGranted = 3530 "HY000" "`%`@`%` is not granted to `%`@`%`";
    RoleGrantedToItself = 4027 "HY000" "User account `%`@`%` is directly or indirectly granted to the role `%`@`%`. The GRANT would create a loop";
    RevokeGrants = 1269 "HY000" "Can't revoke all privileges for one or more of the requested users";
    RenameRole = 3532 "HY000" "Renaming of a role identifier is forbidden";
    IllegalPrivilegeLevel = 3619 "HY000" "Illegal privilege level specified for %";
    CannotConvertString = 3854 "HY000" "Cannot convert string '%' from % to %";
    UnsupportedGrantAs = 3835 "HY000" "GRANT ... AS is currently supported only for global privileges.";
    PartialRevokesExist = 3896 "HY000" "At least one partial revoke exists on a database. The system variable '@@partial_revokes' must be set to ON.";
    DynamicPrivilegeNotRegistered = 3929 "HY000" "Dynamic privilege '%' is not registered with the server.";
    NoDefaultForViewField = 1423 "HY000" "Field of view '%' underlying table doesn't have a default value";
    ViewNoExplain = 1345 "HY000" "EXPLAIN/SHOW can not be issued; lacking privileges for underlying table";
    NoSuchDb = 3503 "42Y07" "Database '%' doesn't exist";
    WindowFrameIllegal = 3586 "HY000" "Window '%': frame start or end is negative, NULL or of non-integral type";
    WindowRangeOrderType = 3587 "HY000" "Window '%' with RANGE N PRECEDING/FOLLOWING frame requires exactly one deterministic ORDER BY expression, of numeric or temporal type";
    WindowRangeTemporal = 3588 "HY000" "Window '%' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.";
    WindowRangeNumeric = 3589 "HY000" "Window '%' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.";
    WindowRangeNotConstant = 3590 "HY000" "Window '%' has a non-constant frame bound.";
    WindowRowsInterval = 3596 "HY000" "Window '%': INTERVAL can only be used with RANGE frames.";
    WindowIllegalOrderBy = 3592 "HY000" "Window '%': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use expression.";
    CharacterSetMismatch = 3995 "HY000" "Character set '%' cannot be used in conjunction with '%' in call to %.";
    CteRecursiveNotUnion = 4114 "HY000" "Recursive table reference in EXCEPT or INTERSECT operand is not allowed.";
    RollupTooLong = 6034 "HY000" "'ROLLUP' is supported with maximum % elements in the GROUP BY list";
    TemporalOutOfRange = 6527 "22008" "% value is out of range in '%'";
}
