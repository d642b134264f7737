//! Replies: appended to one buffer, in the protocol version that the connection speaks.
//!
//! Every method writes exactly one reply, or the head of an aggregate whose elements the next calls write.
//! No allocation beyond the buffer's growth. Does not know which command it answers.

use crate::text::double;

/// The version of RESP that a connection speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    #[default]
    Resp2,
    Resp3,
}

/// Where an aggregate began whose length is not yet known.
#[derive(Clone, Copy, Debug)]
#[must_use = "an aggregate that is begun must be ended"]
pub struct Deferred(usize);

/// Room left for the head of a deferred aggregate: enough for up to nine elements.
const HOLE: usize = 4;

/// A buffer of replies.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    buf: Vec<u8>,
    proto: Protocol,
}

impl Reply {
    pub fn new(proto: Protocol) -> Self {
        Self {
            buf: Vec::new(),
            proto,
        }
    }

    /// Appends to what `buf` holds, for buffers that are used again.
    pub fn with_buffer(buf: Vec<u8>, proto: Protocol) -> Self {
        Self { buf, proto }
    }

    #[inline]
    pub fn proto(&self) -> Protocol {
        self.proto
    }

    #[inline]
    pub fn is_resp3(&self) -> bool {
        self.proto == Protocol::Resp3
    }

    /// For what is written from here on.
    #[inline]
    pub fn set_proto(&mut self, proto: Protocol) {
        self.proto = proto;
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.buf.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buf.is_empty()
    }

    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.buf
    }

    /// Takes back what was written after `len` bytes.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.buf.truncate(len);
    }

    #[inline]
    pub fn clear(&mut self) {
        self.buf.clear();
    }

    #[inline]
    pub fn reserve(&mut self, additional: usize) {
        self.buf.reserve(additional);
    }

    /// Bytes the buffer holds from the allocator.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.buf.capacity()
    }

    /// The buffer; the reply is empty afterwards.
    #[inline]
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buf)
    }

    /// Whole replies that were encoded before, for the same protocol.
    #[inline]
    pub fn raw(&mut self, replies: &[u8]) {
        self.buf.extend_from_slice(replies);
    }

    #[inline]
    pub fn ok(&mut self) {
        self.buf.extend_from_slice(b"+OK\r\n");
    }

    #[inline]
    pub fn pong(&mut self) {
        self.buf.extend_from_slice(b"+PONG\r\n");
    }

    #[inline]
    pub fn queued(&mut self) {
        self.buf.extend_from_slice(b"+QUEUED\r\n");
    }

    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error: the code and the text (`ERR syntax error`). It may quote a client's bytes: line breaks at
    /// its ends are dropped and become blanks elsewhere, so that it stays one line.
    pub fn error(&mut self, text: impl AsRef<[u8]>) {
        self.line(b'-', text.as_ref());
    }

    fn line(&mut self, tag: u8, text: &[u8]) {
        let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let from = text.iter().position(|byte| !is_break(byte)).unwrap_or(text.len());
        let to = text
            .iter()
            .rposition(|byte| !is_break(byte))
            .map_or(from, |last| last + 1);
        self.buf.reserve(to - from + 3);
        self.buf.push(tag);
        let mark = self.buf.len();
        self.buf.extend_from_slice(&text[from..to]);
        for byte in self.buf[mark..].iter_mut().filter(|byte| is_break(byte)) {
            *byte = b' ';
        }
        self.crlf();
    }

    #[inline]
    fn crlf(&mut self) {
        self.buf.extend_from_slice(b"\r\n");
    }

    /// A tag, a number and the end of the line.
    #[inline]
    fn head(&mut self, tag: u8, number: usize) {
        if number < 10 {
            self.buf
                .extend_from_slice(&[tag, b'0' + number as u8, b'\r', b'\n']);
        } else if number < 100 {
            let (high, low) = (number as u8 / 10, number as u8 % 10);
            self.buf
                .extend_from_slice(&[tag, b'0' + high, b'0' + low, b'\r', b'\n']);
        } else {
            self.number_line(tag, number as i64);
        }
    }

    fn number_line(&mut self, tag: u8, number: i64) {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(number).as_bytes();
        let mut line = [0; 24];
        line[0] = tag;
        line[1..=digits.len()].copy_from_slice(digits);
        line[digits.len() + 1] = b'\r';
        line[digits.len() + 2] = b'\n';
        self.buf.extend_from_slice(&line[..digits.len() + 3]);
    }

    #[inline]
    pub fn integer(&mut self, value: i64) {
        match value {
            0..=9 => self.head(b':', value as usize),
            _ => self.number_line(b':', value),
        }
    }

    /// A count or length of ours as an integer.
    #[inline]
    pub fn count(&mut self, value: usize) {
        self.head(b':', value);
    }

    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.buf.reserve(bytes.len() + 24);
        self.head(b'$', bytes.len());
        self.buf.extend_from_slice(bytes);
        self.crlf();
    }

    #[inline]
    pub fn bulk_str(&mut self, text: &str) {
        self.bulk(text.as_bytes());
    }

    pub fn bulk_integer(&mut self, value: i64) {
        self.bulk(itoa::Buffer::new().format(value).as_bytes());
    }

    /// A bulk, or null.
    #[inline]
    pub fn bulk_or_null(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    /// No value, where a value would be a string.
    #[inline]
    pub fn null(&mut self) {
        self.by_proto(b"$-1\r\n", b"_\r\n");
    }

    /// No value, where a value would be an array.
    #[inline]
    pub fn null_array(&mut self) {
        self.by_proto(b"*-1\r\n", b"_\r\n");
    }

    #[inline]
    fn by_proto(&mut self, resp2: &[u8], resp3: &[u8]) {
        self.buf
            .extend_from_slice(if self.is_resp3() { resp3 } else { resp2 });
    }

    pub fn boolean(&mut self, value: bool) {
        if value {
            self.by_proto(b":1\r\n", b"#t\r\n");
        } else {
            self.by_proto(b":0\r\n", b"#f\r\n");
        }
    }

    pub fn double(&mut self, value: f64) {
        self.number_text(b',', double::format(value).as_bytes());
    }

    /// A double whose digits are chosen by the caller.
    pub fn double_text(&mut self, digits: &[u8]) {
        self.number_text(b',', digits);
    }

    /// An integer of any size, in decimal.
    pub fn big_number(&mut self, digits: &str) {
        self.number_text(b'(', digits.as_bytes());
    }

    /// What RESP3 has a line type for and RESP2 a bulk.
    fn number_text(&mut self, tag: u8, digits: &[u8]) {
        if self.is_resp3() {
            self.buf.push(tag);
            self.buf.extend_from_slice(digits);
            self.crlf();
        } else {
            self.bulk(digits);
        }
    }

    /// Text to be shown as it is; `format` is `txt` or `mkd`.
    pub fn verbatim(&mut self, format: &[u8; 3], text: &[u8]) {
        if self.is_resp3() {
            self.head(b'=', text.len() + 4);
            self.buf.extend_from_slice(format);
            self.buf.push(b':');
            self.buf.extend_from_slice(text);
            self.crlf();
        } else {
            self.bulk(text);
        }
    }

    /// `len` replies follow.
    #[inline]
    pub fn array(&mut self, len: usize) {
        self.head(b'*', len);
    }

    #[inline]
    pub fn empty_array(&mut self) {
        self.array(0);
    }

    /// `pairs` times a key and a value follow.
    #[inline]
    pub fn map(&mut self, pairs: usize) {
        let (tag, number) = self.map_head(pairs);
        self.head(tag, number);
    }

    fn map_head(&self, pairs: usize) -> (u8, usize) {
        if self.is_resp3() {
            (b'%', pairs)
        } else {
            (b'*', pairs * 2)
        }
    }

    #[inline]
    fn or_array(&self, tag: u8) -> u8 {
        if self.is_resp3() { tag } else { b'*' }
    }

    /// `len` replies follow, in no order.
    #[inline]
    pub fn set(&mut self, len: usize) {
        self.head(self.or_array(b'~'), len);
    }

    /// `len` replies follow that answer no command.
    #[inline]
    pub fn push(&mut self, len: usize) {
        self.head(self.or_array(b'>'), len);
    }

    /// `pairs` of attributes and then the reply that they are about follow. RESP2 has no attributes: then
    /// nothing is written, false comes back, and the pairs are to be left out.
    #[must_use = "RESP2 wants no pairs"]
    pub fn attribute(&mut self, pairs: usize) -> bool {
        if self.is_resp3() {
            self.head(b'|', pairs);
        }
        self.is_resp3()
    }

    /// Begins an aggregate of a length to be told at its end, by the `end_…` of its kind.
    #[inline]
    pub fn begin(&mut self) -> Deferred {
        let at = self.buf.len();
        self.buf.extend_from_slice(&[0; HOLE]);
        Deferred(at)
    }

    #[inline]
    pub fn end_array(&mut self, at: Deferred, len: usize) {
        self.end(at, b'*', len);
    }

    #[inline]
    pub fn end_set(&mut self, at: Deferred, len: usize) {
        self.end(at, self.or_array(b'~'), len);
    }

    #[inline]
    pub fn end_push(&mut self, at: Deferred, len: usize) {
        self.end(at, self.or_array(b'>'), len);
    }

    #[inline]
    pub fn end_map(&mut self, at: Deferred, pairs: usize) {
        let (tag, number) = self.map_head(pairs);
        self.end(at, tag, number);
    }

    /// Takes an aggregate back, head and elements.
    #[inline]
    pub fn abandon(&mut self, at: Deferred) {
        self.truncate(at.0);
    }

    /// Writes the head into its hole; above nine elements the elements move once to make room.
    fn end(&mut self, Deferred(at): Deferred, tag: u8, number: usize) {
        if number < 10 {
            self.buf[at..at + HOLE].copy_from_slice(&[tag, b'0' + number as u8, b'\r', b'\n']);
            return;
        }
        let elements_end = self.buf.len();
        self.head(tag, number);
        let head_len = self.buf.len() - elements_end;
        let mut head = [0; 24];
        head[..head_len].copy_from_slice(&self.buf[elements_end..]);
        self.buf.copy_within(at + HOLE..elements_end, at + head_len);
        self.buf[at..at + head_len].copy_from_slice(&head[..head_len]);
        self.buf.truncate(elements_end - HOLE + head_len);
    }
}
