//! One message for many: encoded when the first of a protocol is to receive it.

use std::rc::Rc;

use crate::resp::{Protocol, Reply};

pub struct Message<'m> {
    parts: &'m [&'m [u8]],
    resp2: Option<Rc<[u8]>>,
    resp3: Option<Rc<[u8]>>,
}

impl<'m> Message<'m> {
    /// `parts` are strings: the kind of message, the channel, and so on.
    pub fn new(parts: &'m [&'m [u8]]) -> Self {
        Self {
            parts,
            resp2: None,
            resp3: None,
        }
    }

    /// The message as it goes over the wire; the same bytes for all who ask.
    pub fn encoded(&mut self, protocol: Protocol) -> Rc<[u8]> {
        let kept = match protocol {
            Protocol::Resp2 => &mut self.resp2,
            Protocol::Resp3 => &mut self.resp3,
        };
        let parts = self.parts;
        Rc::clone(kept.get_or_insert_with(|| {
            let mut reply = Reply::new(protocol);
            reply.push(parts.len());
            parts.iter().for_each(|part| reply.bulk(part));
            reply.take().into()
        }))
    }
}
