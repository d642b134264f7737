//! `LATENCY HISTOGRAM` of several owners as one: the calls of each command are added, bound by bound.

use super::{elements, integer};
use crate::resp::{Protocol, Reply};

struct Times<'a> {
    /// As a bulk string.
    name: &'a [u8],
    calls: i64,
    /// Of each owner: microseconds, and how many calls did not exceed them.
    owners: Vec<Vec<(i64, i64)>>,
}

pub(super) fn join(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut all: Vec<Times<'_>> = Vec::new();
    for part in parts {
        let mut fields = elements(part);
        while let (Some(name), Some(of_owner)) = (fields.next(), fields.next()) {
            // "calls", their number, "histogram_usec", the bounds.
            let fields: Vec<&[u8]> = elements(of_owner).collect();
            let calls = fields.get(1).and_then(|calls| integer(calls)).unwrap_or(0);
            let numbers: Vec<i64> = fields.get(3).map_or(Vec::new(), |bounds| {
                elements(bounds).filter_map(integer).collect()
            });
            let (bounds, _) = numbers.as_chunks::<2>();
            let bounds = bounds.iter().map(|[us, calls]| (*us, *calls)).collect();
            match all.iter_mut().find(|times| times.name == name) {
                Some(times) => {
                    times.calls += calls;
                    times.owners.push(bounds);
                }
                None => all.push(Times {
                    name,
                    calls,
                    owners: vec![bounds],
                }),
            }
        }
    }
    let mut out = Reply::default();
    if parts[0].starts_with(b"%") {
        out.set_proto(Protocol::Resp3);
    }
    out.map(all.len());
    for times in &all {
        times.write(&mut out);
    }
    out.take()
}

impl Times<'_> {
    fn write(&self, out: &mut Reply) {
        let mut bounds: Vec<i64> = self.owners.iter().flatten().map(|(us, _)| *us).collect();
        bounds.sort_unstable();
        bounds.dedup();
        out.raw(self.name);
        out.map(2);
        out.bulk(b"calls");
        out.integer(self.calls);
        out.bulk(b"histogram_usec");
        out.map(bounds.len());
        for bound in bounds {
            // An owner leaves out bounds that add nothing: the one before says as much.
            let within = |owner: &Vec<(i64, i64)>| {
                let before = owner.iter().take_while(|(us, _)| *us <= bound);
                before.last().map_or(0, |(_, calls)| *calls)
            };
            out.integer(bound);
            out.integer(self.owners.iter().map(within).sum());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(protocol: Protocol, commands: &[(&str, &[(i64, i64)])]) -> Vec<u8> {
        let mut reply = Reply::new(protocol);
        reply.map(commands.len());
        for (name, bounds) in commands {
            reply.bulk_str(name);
            reply.map(2);
            reply.bulk(b"calls");
            reply.integer(bounds.last().map_or(0, |(_, calls)| *calls));
            reply.bulk(b"histogram_usec");
            reply.map(bounds.len());
            for (us, calls) in *bounds {
                reply.integer(*us);
                reply.integer(*calls);
            }
        }
        reply.take()
    }

    #[test]
    fn calls_are_added_bound_by_bound() {
        for protocol in [Protocol::Resp2, Protocol::Resp3] {
            let one = part(protocol, &[("get", &[(1, 2), (8, 3)]), ("set", &[(2, 1)])]);
            let two = part(protocol, &[("del", &[(1, 1)]), ("get", &[(4, 5), (16, 6)])]);
            let sum: &[(&str, &[(i64, i64)])] = &[
                ("get", &[(1, 2), (4, 7), (8, 8), (16, 9)]),
                ("set", &[(2, 1)]),
                ("del", &[(1, 1)]),
            ];
            assert_eq!(join(&[one, two]), part(protocol, sum));
            let nothing = part(protocol, &[]);
            assert_eq!(join(&[nothing.clone(), nothing.clone()]), nothing);
        }
    }
}
