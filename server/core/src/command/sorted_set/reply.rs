//! How members and scores are answered: a flat list in RESP2, pairs in RESP3.

use crate::resp::Reply;

/// Begins a list of `count` members.
pub(super) fn begin(reply: &mut Reply, count: usize, with_scores: bool) {
    reply.array(if with_scores && !reply.is_resp3() {
        count * 2
    } else {
        count
    });
}

/// One member of a list.
pub(super) fn member(reply: &mut Reply, member: &[u8], score: f64, with_scores: bool) {
    if with_scores && reply.is_resp3() {
        reply.array(2);
    }
    reply.bulk(member);
    if with_scores {
        reply.double(score);
    }
}

/// One member with its score as an array of two, in either protocol.
pub(super) fn pair(reply: &mut Reply, member: &[u8], score: f64) {
    reply.array(2);
    reply.bulk(member);
    reply.double(score);
}
