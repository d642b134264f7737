//! `LOLWUT`: a tile pattern after Truchet (1704): each square is cut along one of its two diagonals, at
//! random, and the eye finds paths.

use crate::command::Args;
use crate::error::NOT_AN_INTEGER;
use crate::exec::{Exec, Outcome};
use crate::keyspace::Shard;
use crate::text::fold;
use crate::text::number::parse_i64;

const COLUMNS: i64 = 64;
const ROWS: i64 = 16;
/// Larger pictures are drawn this large.
const SIDE_MAX: i64 = 256;

pub(super) fn lolwut(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let mut from = 1;
    if args.try_get(1).is_some_and(|word| fold::is(word, "VERSION")) && args.len() > 2 {
        parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
        from = 3;
    }
    let mut sides = [COLUMNS, ROWS];
    for (side, word) in sides.iter_mut().zip(args.iter_from(from)) {
        *side = parse_i64(word).ok_or(NOT_AN_INTEGER)?.clamp(1, SIDE_MAX);
    }
    let mut state = x.db.shard.random();
    let mut text = String::new();
    for _ in 0..sides[1] {
        text.extend((0..sides[0]).map(|_| {
            if Shard::mix(&mut state) & 1 == 0 {
                '╱'
            } else {
                '╲'
            }
        }));
        text.push('\n');
    }
    text.push_str(&format!(
        "\nTiles after Sébastien Truchet, 1704. Ruvio ver. {}\n",
        env!("CARGO_PKG_VERSION")
    ));
    x.reply.verbatim(b"txt", text.as_bytes());
    Ok(())
}
