//! What goes back to the client.

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Length(usize),
    Chunked,
    /// By the end of the connection: for HTTP/1.0.
    Close,
    /// There is none, and no length either (204, 304).
    None,
}

/// Writes the head of a response.
pub struct ResponseHead<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> ResponseHead<'a> {
    pub fn begin(out: &'a mut Vec<u8>, status: u16) -> ResponseHead<'a> {
        if status == 200 {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        } else {
            out.extend_from_slice(b"HTTP/1.1 ");
            out.extend_from_slice(&digits3(status));
            out.push(b' ');
            out.extend_from_slice(reason(status).as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        ResponseHead { out }
    }

    /// Neither may hold what ends a line.
    pub fn header(&mut self, name: &str, value: &str) {
        debug_assert!(
            !name
                .bytes()
                .chain(value.bytes())
                .any(|byte| byte < b' ' && byte != b'\t')
        );
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": ");
        self.out.extend_from_slice(value.as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }

    /// Header lines that were put together before, each with its end.
    pub fn lines(&mut self, lines: &[u8]) {
        self.out.extend_from_slice(lines);
    }

    pub fn end(self, framing: Framing) {
        match framing {
            Framing::Length(len) => {
                self.out.extend_from_slice(b"content-length: ");
                self.out.extend_from_slice(ContentLength::new(len).as_bytes());
                self.out.extend_from_slice(b"\r\n\r\n");
            }
            Framing::Chunked => self.out.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n"),
            Framing::Close | Framing::None => self.out.extend_from_slice(b"\r\n"),
        }
    }
}

/// A number as digits.
pub struct ContentLength {
    digits: [u8; 20],
    begin: usize,
}

impl ContentLength {
    pub fn new(number: usize) -> ContentLength {
        let (mut digits, mut begin, mut left) = ([b'0'; 20], 20, number);
        loop {
            begin -= 1;
            digits[begin] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                return ContentLength { digits, begin };
            }
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.digits[self.begin..]
    }
}

/// Appends a chunk; an empty one would be the end.
pub fn chunk(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    out.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Behind the last chunk.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Before the answer, to who waits for it to send the body.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

fn digits3(status: u16) -> [u8; 3] {
    let digit = |n: u16| b'0' + (n % 10) as u8;
    [digit(status / 100), digit(status / 10), digit(status)]
}

/// RFC 9110, 15.
pub fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        507 => "Insufficient Storage",
        _ => "",
    }
}

/// The `Date` of a response (RFC 9110, 5.6.7), of seconds since 1970.
pub fn date(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Of the proleptic Gregorian calendar, by Howard Hinnant's algorithm.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 2 } else { month - 10 };
    let year = year_of_era + era * 400 + u64::from(month < 2);
    format!(
        "{}, {day:02} {} {year:04} {:02}:{:02}:{:02} GMT",
        DAYS[(days % 7) as usize],
        MONTHS[month as usize],
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_its_lines() {
        let mut out = Vec::new();
        let mut head = ResponseHead::begin(&mut out, 404);
        head.header("content-type", "text/plain");
        head.end(Framing::Length(120));
        assert_eq!(
            String::from_utf8_lossy(&out),
            "HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: 120\r\n\r\n"
        );
        out.clear();
        chunk(b"", &mut out);
        chunk(&[b'x'; 17], &mut out);
        out.extend_from_slice(LAST_CHUNK);
        assert_eq!(out, b"11\r\nxxxxxxxxxxxxxxxxx\r\n0\r\n\r\n");
        assert_eq!(ContentLength::new(0).as_bytes(), b"0");
    }

    #[test]
    fn dates_are_those_of_the_standard() {
        assert_eq!(date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
        assert_eq!(date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    }
}
