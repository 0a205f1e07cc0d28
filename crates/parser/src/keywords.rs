//! The words of the grammar, and how a word of the text becomes one.
//!
//! A [`Kw`] is spelt as SQL spells it. Lookup is a hash table built at compile time: the hash reads a few bytes at both
//! ends of the word, a hit is confirmed by comparison.

/// How a keyword may be used elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Never a name without quotes.
    Reserved,
    /// Also a name.
    Free,
    /// A keyword only directly before `(`; a name otherwise.
    Function,
}

macro_rules! keywords {
    (reserved: $($r:ident)* ; free: $($f:ident)* ; function: $($n:ident)* ;) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub(crate) enum Kw { $($r,)* $($f,)* $($n,)* }

        const WORDS: &[&str] = &[$(stringify!($r),)* $(stringify!($f),)* $(stringify!($n),)*];
        const KEYWORDS: &[Kw] = &[$(Kw::$r,)* $(Kw::$f,)* $(Kw::$n,)*];
        const RESERVED: usize = [$(stringify!($r)),*].len();
        const FREE: usize = [$(stringify!($f)),*].len();
    };
}

keywords! {
    reserved:
    ACCESSIBLE ADD ALL ALTER ANALYZE AND AS ASC ASENSITIVE BEFORE BETWEEN BIGINT BINARY BLOB BOTH BY CALL CASCADE CASE
    CHANGE CHAR CHARACTER CHECK COLLATE COLUMN CONDITION CONSTRAINT CONTINUE CONVERT CREATE CROSS CUBE CUME_DIST
    CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATABASE DATABASES DAY_HOUR DAY_MICROSECOND
    DAY_MINUTE DAY_SECOND DEC DECIMAL DECLARE DEFAULT DELAYED DELETE DENSE_RANK DESC DESCRIBE DETERMINISTIC DISTINCT
    DISTINCTROW DIV DOUBLE DROP DUAL EACH ELSE ELSEIF EMPTY ENCLOSED ESCAPED EXCEPT EXISTS EXIT EXPLAIN FALSE FETCH
    FIRST_VALUE FLOAT FLOAT4 FLOAT8 FOR FORCE FOREIGN FROM FULLTEXT FUNCTION GENERATED GET GRANT GROUP GROUPING GROUPS
    HAVING HIGH_PRIORITY HOUR_MICROSECOND HOUR_MINUTE HOUR_SECOND IF IGNORE IN INDEX INFILE INNER INOUT INSENSITIVE
    INSERT INT INT1 INT2 INT3 INT4 INT8 INTEGER INTERSECT INTERVAL INTO IO_AFTER_GTIDS IO_BEFORE_GTIDS IS ITERATE JOIN
    JSON_TABLE KEY KEYS KILL LAG LAST_VALUE LATERAL LEAD LEADING LEAVE LEFT LIKE LIMIT LINEAR LINES LOAD LOCALTIME
    LOCALTIMESTAMP LOCK LONG LONGBLOB LONGTEXT LOOP LOW_PRIORITY MASTER_BIND MASTER_SSL_VERIFY_SERVER_CERT MATCH
    MAXVALUE MEDIUMBLOB MEDIUMINT MEDIUMTEXT MIDDLEINT MINUTE_MICROSECOND MINUTE_SECOND MOD MODIFIES NATURAL NOT
    NO_WRITE_TO_BINLOG NTH_VALUE NTILE NULL NUMERIC OF ON OPTIMIZE OPTIMIZER_COSTS OPTION OPTIONALLY OR ORDER OUT OUTER
    OUTFILE OVER PARTITION PERCENT_RANK PRECISION PRIMARY PROCEDURE PURGE RANGE RANK READ READS READ_WRITE REAL
    RECURSIVE REFERENCES REGEXP RELEASE RENAME REPEAT REPLACE REQUIRE RESIGNAL RESTRICT RETURN REVOKE RIGHT RLIKE ROW
    ROWS ROW_NUMBER SCHEMA SCHEMAS SECOND_MICROSECOND SELECT SENSITIVE SEPARATOR SET SHOW SIGNAL SMALLINT SPATIAL
    SPECIFIC SQL SQLEXCEPTION SQLSTATE SQLWARNING SQL_BIG_RESULT SQL_CALC_FOUND_ROWS SQL_SMALL_RESULT SSL STARTING
    STORED STRAIGHT_JOIN SYSTEM TABLE TERMINATED THEN TINYBLOB TINYINT TINYTEXT TO TRAILING TRIGGER TRUE UNDO UNION
    UNIQUE UNLOCK UNSIGNED UPDATE USAGE USE USING UTC_DATE UTC_TIME UTC_TIMESTAMP VALUES VARBINARY VARCHAR VARCHARACTER
    VARYING VIRTUAL WHEN WHERE WHILE WINDOW WITH WRITE XOR YEAR_MONTH ZEROFILL;
    free:
    ACCOUNT ACTION ACTIVE ADMIN AFTER AGAINST AGGREGATE ALGORITHM ALWAYS ANY ARRAY ASCII ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS AT
    ATTRIBUTE AUTHENTICATION AUTO AUTOEXTEND_SIZE AUTO_INCREMENT AVG AVG_ROW_LENGTH BACKUP BEGIN BERNOULLI BINLOG BIT
    BLOCK BOOL BOOLEAN BTREE BUCKETS BULK BYTE CACHE CASCADED CHAIN CHALLENGE_RESPONSE CHANGED CHANNEL CHARSET CHECKSUM
    CIPHER CLIENT CLONE CLOSE COALESCE CODE COLLATION COLUMNS COLUMN_FORMAT COMMENT COMMIT COMMITTED COMPACT COMPLETION
    COMPONENT COMPRESSED COMPRESSION CONCURRENT CONNECTION CONSISTENT CONTAINS CONTEXT CPU CURRENT DATA DATAFILE DATE
    DATETIME DAY DEALLOCATE DEFAULT_AUTH DEFINER DEFINITION DELAY_KEY_WRITE DESCRIPTION DIAGNOSTICS DIRECTORY DISABLE
    DISCARD DISK DO DUMPFILE DUPLICATE DYNAMIC ENABLE ENCRYPTION END ENDS ENFORCED ENGINE ENGINES ENGINE_ATTRIBUTE ENUM
    ERROR ERRORS ESCAPE EVENT EVENTS EVERY EXCHANGE EXCLUDE EXECUTE EXPANSION EXPIRE EXPORT EXTENDED EXTENT_SIZE FACTOR
    FAILED_LOGIN_ATTEMPTS FAST FAULTS FIELDS FILE FILE_BLOCK_SIZE FILTER FINISH FIRST FIXED FLUSH FOLLOWING FOLLOWS
    FORMAT FOUND FULL GENERAL GENERATE GEOMCOLLECTION GEOMETRY GEOMETRYCOLLECTION GET_FORMAT GLOBAL GRANTS
    GROUP_REPLICATION GTIDS HANDLER HASH HELP HISTOGRAM HISTORY HOST HOSTS HOUR IDENTIFIED IMPORT INACTIVE INDEXES
    INITIAL INITIAL_SIZE INITIATE INSERT_METHOD INSTALL INSTANCE INVISIBLE INVOKER IO IO_THREAD IPC ISOLATION ISSUER
    JSON JSON_VALUE KEYRING KEY_BLOCK_SIZE LANGUAGE LAST LEAVES LESS LEVEL LINESTRING LIST LOCAL LOCKED LOCKS
    LOGFILE LOGS MASTER MAX_CONNECTIONS_PER_HOUR MAX_QUERIES_PER_HOUR MAX_ROWS MAX_SIZE MAX_UPDATES_PER_HOUR
    MAX_USER_CONNECTIONS MEDIUM MEMBER MEMORY MERGE MICROSECOND MIGRATE MINUTE MIN_ROWS MODE MODIFY MONTH
    MULTILINESTRING MULTIPOINT MULTIPOLYGON MUTEX NAMES NATIONAL NCHAR NESTED NEVER NEW NEXT NO NODEGROUP NONE NOWAIT
    NO_WAIT NULLS NUMBER NVARCHAR OFFSET OJ OLD ONE OPEN OPTIONAL OPTIONS ORDINALITY ORGANIZATION
    OTHERS OWNER PACK_KEYS PAGE PARSER PARTIAL PARTITIONING PARTITIONS PASSWORD PASSWORD_LOCK_TIME PATH PERSIST
    PERSIST_ONLY PHASE PLUGIN PLUGINS PLUGIN_DIR POINT POLYGON PORT PRECEDES PRECEDING PREPARE PRESERVE PREV PRIVILEGES
    PROCESS PROCESSLIST PROFILE PROFILES PROXY QUARTER QUERY QUICK RANDOM READ_ONLY REBUILD RECOVER REDO_BUFFER_SIZE
    REDUNDANT REFERENCE REGISTRATION RELAY RELAYLOG RELOAD REMOVE REORGANIZE REPAIR REPEATABLE REPLICA REPLICAS
    REPLICATION RESET RESOURCE RESPECT RESTART RESUME RETAIN RETURNING RETURNS REUSE REVERSE ROLE ROLLBACK ROLLUP
    ROTATE ROUTINE ROW_FORMAT RTREE SAVEPOINT SCHEDULE SECOND SECONDARY SECONDARY_ENGINE SECONDARY_ENGINE_ATTRIBUTE
    SECONDARY_LOAD SECONDARY_UNLOAD SECURITY SERIAL SERIALIZABLE SERVER SESSION SHARE SHUTDOWN SIGNED SIMPLE SKIP SLAVE
    SLOW SNAPSHOT SOME SONAME SOUNDS SOURCE SQL_AFTER_GTIDS SQL_AFTER_MTS_GAPS SQL_BEFORE_GTIDS SQL_BUFFER_RESULT
    SQL_NO_CACHE SQL_THREAD SRID STACKED START STARTS STATS_AUTO_RECALC STATS_PERSISTENT STATS_SAMPLE_PAGES STATUS STOP
    STORAGE STREAM SUBJECT SUBPARTITION SUBPARTITIONS SUPER SUSPEND SWITCHES TABLES TABLESPACE TABLE_CHECKSUM TEMPORARY
    TEMPTABLE TEXT THAN THREAD_PRIORITY TIES TIME TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TLS TRADITIONAL TRANSACTION
    TRIGGERS TRUNCATE TYPE UNBOUNDED UNCOMMITTED UNDEFINED UNDOFILE UNDO_BUFFER_SIZE UNICODE UNINSTALL UNKNOWN
    UNREGISTER UNTIL UPGRADE USER USER_RESOURCES USE_FRM VALIDATION VALUE VARIABLES VCPU VIEW VISIBLE WAIT WARNINGS
    WEEK WEIGHT_STRING WITHOUT WORK WRAPPER X509 XA XID XML YEAR ZONE;
    function:
    ADDDATE BIT_AND BIT_OR BIT_XOR CAST COUNT CURDATE CURTIME DATE_ADD DATE_SUB EXTRACT GROUP_CONCAT JSON_ARRAYAGG
    JSON_OBJECTAGG MAX MID MIN NOW POSITION SESSION_USER STD STDDEV STDDEV_POP STDDEV_SAMP ST_COLLECT SUBDATE SUBSTR
    SUBSTRING SUM SYSDATE SYSTEM_USER TRIM VARIANCE VAR_POP VAR_SAMP;
}

impl Kw {
    pub(crate) fn class(self) -> Class {
        let index = self as usize;
        if index < RESERVED {
            Class::Reserved
        } else if index < RESERVED + FREE {
            Class::Free
        } else {
            Class::Function
        }
    }

    /// In upper case.
    pub(crate) fn text(self) -> &'static str {
        WORDS[self as usize]
    }
}

/// The keyword that `word` is, in whatever case.
pub(crate) fn lookup(word: &[u8]) -> Option<Kw> {
    if word.len() < 2 || word.len() > LONGEST {
        return None;
    }
    let mut slot = hash(word);
    loop {
        let entry = TABLE[slot];
        if entry == 0 {
            return None;
        }
        let index = (entry - 1) as usize;
        if WORDS[index].as_bytes().eq_ignore_ascii_case(word) {
            return Some(KEYWORDS[index]);
        }
        slot = (slot + 1) & (SLOTS - 1);
    }
}

const SLOTS: usize = 2048;

/// Index into [`WORDS`] plus one; 0 is an empty slot.
static TABLE: [u16; SLOTS] = build_table();

const LONGEST: usize = {
    let mut longest = 0;
    let mut i = 0;
    while i < WORDS.len() {
        if WORDS[i].len() > longest {
            longest = WORDS[i].len();
        }
        i += 1;
    }
    longest
};

const fn build_table() -> [u16; SLOTS] {
    let mut table = [0; SLOTS];
    let mut i = 0;
    while i < WORDS.len() {
        let mut slot = hash(WORDS[i].as_bytes());
        while table[slot] != 0 {
            slot = (slot + 1) & (SLOTS - 1);
        }
        table[slot] = i as u16 + 1;
        i += 1;
    }
    table
}

/// Ignores case by setting the case bit of every byte, which maps no two letters, digits or `_` together.
const fn hash(word: &[u8]) -> usize {
    let (head, tail) = if let (Some(head), Some(tail)) = (word.first_chunk::<8>(), word.last_chunk::<8>()) {
        (u64::from_le_bytes(*head), u64::from_le_bytes(*tail))
    } else if let (Some(head), Some(tail)) = (word.first_chunk::<4>(), word.last_chunk::<4>()) {
        (u32::from_le_bytes(*head) as u64, u32::from_le_bytes(*tail) as u64)
    } else {
        (word[0] as u64 | (word[1] as u64) << 8, word[word.len() - 1] as u64)
    };
    const CASE: u64 = 0x2020_2020_2020_2020;
    let mixed = (head | CASE).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ (tail | CASE).rotate_left(29).wrapping_mul(0xD6E8_FEB8_6659_FD93)
        ^ (word.len() as u64) << 40;
    (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 53) as usize
}

/// Character sets whose names introduce string literals (`_utf8mb4'...'`).
pub(crate) fn is_charset(name: &[u8]) -> bool {
    const CHARSETS: &[&str] = &[
        "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866",
        "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8",
        "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7",
        "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8", "utf8mb3", "utf8mb4",
    ];
    CHARSETS
        .iter()
        .any(|charset| charset.as_bytes().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_in_any_case() {
        for (word, keyword) in WORDS.iter().zip(KEYWORDS) {
            assert_eq!(lookup(word.as_bytes()), Some(*keyword), "{word}");
            assert_eq!(lookup(word.to_lowercase().as_bytes()), Some(*keyword), "{word}");
            assert_eq!(keyword.text(), *word);
        }
        for other in [
            "a",
            "",
            "sbtest1",
            "selec",
            "selects",
            "a_word_longer_than_every_keyword_of_the_language",
        ] {
            assert_eq!(lookup(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn classes_follow_the_manual() {
        assert_eq!(Kw::SELECT.class(), Class::Reserved);
        assert_eq!(Kw::ZEROFILL.class(), Class::Reserved);
        assert_eq!(Kw::ACCOUNT.class(), Class::Free);
        assert_eq!(Kw::ZONE.class(), Class::Free);
        assert_eq!(Kw::COUNT.class(), Class::Function);
    }

    #[test]
    fn probes_are_short() {
        let occupied: Vec<bool> = TABLE.iter().map(|entry| *entry != 0).collect();
        let longest_run = occupied.split(|slot| !slot).map(<[bool]>::len).max();
        assert!(longest_run < Some(16), "{longest_run:?}");
    }
}
