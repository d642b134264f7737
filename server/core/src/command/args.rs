//! The arguments of one command: spans into the bytes that were received, never copies.

use crate::resp::Span;

/// One command's words. `args.get(0)` is the command's name as the client wrote it.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    bytes: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Args<'a> {
    /// `spans` lie within `bytes`; there is at least one.
    pub fn new(bytes: &'a [u8], spans: &'a [Span]) -> Self {
        Self { bytes, spans }
    }

    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// The word at `index`, which must be below `len()` (the arity check has seen to the fixed ones).
    #[inline]
    pub fn get(&self, index: usize) -> &'a [u8] {
        let span = self.spans[index];
        &self.bytes[span.start as usize..span.start as usize + span.len as usize]
    }

    #[inline]
    pub fn try_get(&self, index: usize) -> Option<&'a [u8]> {
        (index < self.len()).then(|| self.get(index))
    }

    /// The words from `from` on; empty where there are none.
    pub fn iter_from(&self, from: usize) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        let bytes = self.bytes;
        let spans = self.spans.get(from..).unwrap_or(&[]);
        spans
            .iter()
            .map(move |s| &bytes[s.start as usize..s.start as usize + s.len as usize])
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        self.iter_from(0)
    }

    /// The same words without the first `count`: what follows a container command's sub-command.
    pub fn skip(&self, count: usize) -> Args<'a> {
        Args {
            bytes: self.bytes,
            spans: &self.spans[count.min(self.spans.len())..],
        }
    }

    /// Bytes from the first word's beginning to the last one's end.
    #[inline]
    pub fn extent(&self) -> usize {
        match self.spans {
            [first, .., last] => (last.start + last.len).saturating_sub(first.start) as usize,
            [only] => only.len as usize,
            [] => 0,
        }
    }

    /// Bytes of the request, as RESP has it.
    pub fn request_len(&self) -> usize {
        let head = |number: usize| 3 + number.checked_ilog10().map_or(1, |log| log as usize + 1);
        let word = |word: &[u8]| head(word.len()) + word.len() + 2;
        head(self.len()) + self.iter().map(word).sum::<usize>()
    }

    pub fn to_owned(&self) -> OwnedArgs {
        OwnedArgs::from_words(self.iter())
    }
}

/// A command kept beyond its turn: queued by `MULTI`, waiting in a blocking command, logged.
#[derive(Clone, Debug, Default)]
pub struct OwnedArgs {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl OwnedArgs {
    pub fn from_words<'w>(words: impl Iterator<Item = &'w [u8]>) -> Self {
        let mut owned = Self::default();
        for word in words {
            owned.push(word);
        }
        owned
    }

    pub fn push(&mut self, word: &[u8]) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(word);
        self.spans.push(Span {
            start,
            len: word.len() as u32,
        });
    }

    pub fn view(&self) -> Args<'_> {
        Args::new(&self.bytes, &self.spans)
    }

    /// Bytes held, for accounting.
    pub fn size(&self) -> usize {
        self.bytes.capacity() + self.spans.capacity() * size_of::<Span>()
    }
}
