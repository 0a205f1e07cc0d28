//! What client and server agree on at login, and the status bits of every answer.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

macro_rules! bit_set {
    ($(#[$doc:meta])* $name:ident($int:ty) { $($(#[$bit_doc:meta])* $bit:ident = $value:expr;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[$bit_doc])* pub const $bit: $name = $name($value);)*

            pub const fn contains(self, other: $name) -> bool {
                self.0 & other.0 == other.0
            }

            pub const fn union(self, other: $name) -> $name {
                $name(self.0 | other.0)
            }

            /// With the bits of `other` set or cleared.
            pub fn with(self, other: $name, present: bool) -> $name {
                if present { self | other } else { self & !other }
            }
        }

        impl BitOr for $name {
            type Output = $name;
            fn bitor(self, other: $name) -> $name {
                self.union(other)
            }
        }

        impl BitOrAssign for $name {
            fn bitor_assign(&mut self, other: $name) {
                self.0 |= other.0;
            }
        }

        impl BitAnd for $name {
            type Output = $name;
            fn bitand(self, other: $name) -> $name {
                $name(self.0 & other.0)
            }
        }

        impl Not for $name {
            type Output = $name;
            fn not(self) -> $name {
                $name(!self.0)
            }
        }
    };
}

bit_set! {
    /// Capability flags (`CLIENT_…` in the protocol's documentation). The server offers, the client picks.
    Capabilities(u32) {
        /// Set by MySQL's clients; MariaDB's leave it out to say that they know MariaDB's extensions.
        LONG_PASSWORD = 1;
        /// `affected_rows` of an UPDATE counts the rows found, not the rows changed.
        FOUND_ROWS = 1 << 1;
        LONG_FLAG = 1 << 2;
        CONNECT_WITH_DB = 1 << 3;
        NO_SCHEMA = 1 << 4;
        COMPRESS = 1 << 5;
        ODBC = 1 << 6;
        LOCAL_FILES = 1 << 7;
        IGNORE_SPACE = 1 << 8;
        PROTOCOL_41 = 1 << 9;
        INTERACTIVE = 1 << 10;
        SSL = 1 << 11;
        IGNORE_SIGPIPE = 1 << 12;
        TRANSACTIONS = 1 << 13;
        RESERVED = 1 << 14;
        SECURE_CONNECTION = 1 << 15;
        MULTI_STATEMENTS = 1 << 16;
        MULTI_RESULTS = 1 << 17;
        PS_MULTI_RESULTS = 1 << 18;
        PLUGIN_AUTH = 1 << 19;
        CONNECT_ATTRS = 1 << 20;
        PLUGIN_AUTH_LENENC_DATA = 1 << 21;
        CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
        SESSION_TRACK = 1 << 23;
        /// An OK packet with header 0xFE ends a result set in the place of EOF.
        DEPRECATE_EOF = 1 << 24;
        OPTIONAL_RESULTSET_METADATA = 1 << 25;
        ZSTD_COMPRESSION = 1 << 26;
        QUERY_ATTRIBUTES = 1 << 27;
    }
}

bit_set! {
    /// Status flags (`SERVER_STATUS_…`) carried by OK and EOF packets.
    Status(u16) {
        IN_TRANS = 1;
        AUTOCOMMIT = 1 << 1;
        /// Another result set of the same command follows.
        MORE_RESULTS_EXISTS = 1 << 3;
        NO_GOOD_INDEX_USED = 1 << 4;
        NO_INDEX_USED = 1 << 5;
        /// A cursor was opened; rows come with COM_STMT_FETCH.
        CURSOR_EXISTS = 1 << 6;
        LAST_ROW_SENT = 1 << 7;
        DB_DROPPED = 1 << 8;
        NO_BACKSLASH_ESCAPES = 1 << 9;
        METADATA_CHANGED = 1 << 10;
        QUERY_WAS_SLOW = 1 << 11;
        PS_OUT_PARAMS = 1 << 12;
        IN_TRANS_READONLY = 1 << 13;
        SESSION_STATE_CHANGED = 1 << 14;
    }
}
