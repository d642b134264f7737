//! The answers that a connection is owed while some of them come from other owners: in the order of its
//! commands, whatever order they arrive in.

use std::collections::VecDeque;

use ruvio_core::engine::How;

#[derive(Default)]
pub struct Answers {
    /// The number of the first in the queue.
    first: u64,
    queue: VecDeque<Answer>,
    /// Bytes that are here and not yet due, those of parts included.
    held: usize,
}

struct Answer {
    /// Goes out before it, and need not wait for it.
    before: Vec<u8>,
    /// Parts that have not arrived.
    left: u16,
    silent: bool,
    /// The session takes over the database that its command ended in.
    takes_database: bool,
    how: How,
    /// Which part each element comes from.
    order: Vec<u16>,
    /// Empty where there is one part.
    parts: Vec<Vec<u8>>,
    bytes: Vec<u8>,
}

/// What is expected.
pub struct Expected {
    pub how: How,
    pub parts: u16,
    pub order: Vec<u16>,
    pub silent: bool,
    pub takes_database: bool,
}

impl Expected {
    /// One answer, as it comes.
    pub fn whole(silent: bool) -> Self {
        Self {
            how: How::First,
            parts: 1,
            order: Vec::new(),
            silent,
            takes_database: false,
        }
    }
}

/// Answers under way above which a connection's further commands wait.
const LONG: usize = 1024;
/// The same in bytes.
const LARGE: usize = 1024 * 1024;

impl Answers {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Bytes that wait here.
    pub fn held(&self) -> usize {
        self.held
    }

    /// No more commands should be taken on for now.
    pub fn is_long(&self) -> bool {
        self.queue.len() >= LONG || self.held >= LARGE
    }

    /// Queues an answer that is to come; its number.
    pub fn expect(&mut self, expected: Expected) -> u64 {
        let parts = usize::from(expected.parts);
        self.queue.push_back(Answer {
            before: Vec::new(),
            left: expected.parts,
            silent: expected.silent,
            takes_database: expected.takes_database,
            how: expected.how,
            order: expected.order,
            parts: if parts == 1 {
                Vec::new()
            } else {
                vec![Vec::new(); parts]
            },
            bytes: Vec::new(),
        });
        self.first + self.queue.len() as u64 - 1
    }

    /// Queues bytes that are here, behind what is to come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held += bytes.len();
        match self.queue.back_mut() {
            Some(last) if last.left == 0 && !last.silent => last.bytes.extend_from_slice(bytes),
            _ => self.queue.push_back(Answer {
                before: Vec::new(),
                left: 0,
                silent: false,
                takes_database: false,
                how: How::First,
                order: Vec::new(),
                parts: Vec::new(),
                bytes: bytes.to_vec(),
            }),
        }
    }

    /// Queues bytes that are here before the last answer that is to come.
    pub fn push_before_last(&mut self, bytes: &[u8]) {
        match self.queue.back_mut() {
            Some(last) if last.left > 0 => {
                self.held += bytes.len();
                last.before.extend_from_slice(bytes);
            }
            _ => self.push(bytes),
        }
    }

    /// A part has arrived. `true`: the session takes over the database.
    pub fn fill(&mut self, number: u64, part: u16, bytes: &[u8], random: u64) -> bool {
        let place = number
            .checked_sub(self.first)
            .and_then(|at| usize::try_from(at).ok());
        let Some(answer) = place.and_then(|at| self.queue.get_mut(at)).filter(|a| a.left > 0) else {
            return false;
        };
        answer.left -= 1;
        if answer.silent {
            answer.parts = Vec::new();
            return answer.takes_database;
        }
        self.held += bytes.len();
        match answer.parts.get_mut(usize::from(part)) {
            None => answer.bytes.extend_from_slice(bytes),
            Some(place) => place.extend_from_slice(bytes),
        }
        if answer.left == 0 && !answer.parts.is_empty() {
            answer.bytes = answer.how.join(&answer.parts, &answer.order, random);
            let parts: usize = answer.parts.iter().map(Vec::len).sum();
            answer.parts = Vec::new();
            self.held = (self.held + answer.bytes.len()).saturating_sub(parts);
        }
        answer.takes_database
    }

    /// Takes what is due, in order.
    pub fn take_due(&mut self, mut take: impl FnMut(&[u8])) {
        while let Some(answer) = self.queue.front_mut() {
            let before = std::mem::take(&mut answer.before);
            self.held = self.held.saturating_sub(before.len());
            take(&before);
            if answer.left > 0 {
                return;
            }
            self.first += 1;
            self.held = self.held.saturating_sub(answer.bytes.len());
            take(&answer.bytes);
            self.queue.pop_front();
        }
    }

    /// Nobody will read them.
    pub fn forget(&mut self) {
        self.first += self.queue.len() as u64;
        self.queue = VecDeque::new();
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(answers: &mut Answers) -> String {
        let mut bytes = Vec::new();
        answers.take_due(|due| bytes.extend_from_slice(due));
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn answers_are_due_in_the_order_of_their_commands() {
        let mut answers = Answers::default();
        let first = answers.expect(Expected::whole(false));
        answers.push(b"+here\r\n");
        let second = answers.expect(Expected {
            how: How::Sum,
            parts: 2,
            ..Expected::whole(false)
        });
        let silent = answers.expect(Expected::whole(true));
        answers.push(b"+last\r\n");
        answers.fill(second, 1, b":1\r\n", 0);
        answers.fill(silent, 0, b"+unheard\r\n", 0);
        assert_eq!(due(&mut answers), "");
        answers.fill(first, 0, b"+first\r\n", 0);
        assert_eq!(due(&mut answers), "+first\r\n+here\r\n");
        answers.fill(second, 0, b":2\r\n", 0);
        assert_eq!(due(&mut answers), ":3\r\n+last\r\n");
        assert!(answers.is_empty());
    }

    #[test]
    fn what_goes_before_an_answer_does_not_wait_for_it() {
        let mut answers = Answers::default();
        let first = answers.expect(Expected::whole(false));
        let last = answers.expect(Expected::whole(false));
        answers.push_before_last(b">pushed\r\n");
        assert_eq!(due(&mut answers), "");
        answers.fill(first, 0, b"+first\r\n", 0);
        assert_eq!(due(&mut answers), "+first\r\n>pushed\r\n");
        answers.fill(last, 0, b"+last\r\n", 0);
        assert_eq!(due(&mut answers), "+last\r\n");
    }

    #[test]
    fn what_is_held_is_what_is_not_yet_taken() {
        let mut answers = Answers::default();
        let first = answers.expect(Expected::whole(false));
        let parts = answers.expect(Expected {
            how: How::Sum,
            parts: 2,
            ..Expected::whole(false)
        });
        answers.push(b"+here\r\n");
        answers.push_before_last(b"+pushed\r\n");
        assert_eq!(answers.held(), 16);
        answers.fill(parts, 0, b":10\r\n", 0);
        assert_eq!(answers.held(), 21);
        answers.fill(parts, 1, b":90\r\n", 0);
        assert_eq!(answers.held(), 22, "one hundred");
        answers.fill(first, 0, b"+first\r\n", 0);
        assert_eq!(answers.held(), 30);
        assert_eq!(due(&mut answers).len(), 30);
        assert_eq!(answers.held(), 0);
    }

    #[test]
    fn what_is_forgotten_may_still_arrive() {
        let mut answers = Answers::default();
        let gone = answers.expect(Expected::whole(false));
        answers.forget();
        let next = answers.expect(Expected::whole(false));
        answers.fill(gone, 0, b"+late\r\n", 0);
        answers.fill(next, 0, b"+next\r\n", 0);
        assert_eq!(due(&mut answers), "+next\r\n");
    }
}
