//! `LLEN`, `LINDEX`, `LRANGE` and `LPOS`.

use super::edit::read;
use super::{from_front, range};
use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::text::fold;
use crate::text::number::parse_i64;
use crate::value::list::View;

pub(super) fn llen(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    x.reply.count(read(&mut x.db, key)?.map_or(0, View::len));
    Ok(())
}

pub(super) fn lindex(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let Some(list) = read(&mut x.db, key)? else {
        x.reply.null();
        return Ok(());
    };
    let index = from_front(parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?, list.len());
    x.reply
        .bulk_or_null(usize::try_from(index).ok().and_then(|index| list.get(index)));
    Ok(())
}

pub(super) fn lrange(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let start = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let stop = parse_i64(args.get(3)).ok_or(NOT_AN_INTEGER)?;
    let key = x.db.key(args.get(1));
    let list = read(&mut x.db, key)?;
    match list.and_then(|list| Some((list, range(start, stop, list.len())?))) {
        None => x.reply.empty_array(),
        Some((list, range)) => {
            x.reply.array(range.len());
            list.forwards(range.start)
                .take(range.len())
                .for_each(|value| x.reply.bulk(value));
        }
    }
    Ok(())
}

struct Search {
    /// Matches to pass over, and whether from the back.
    skip: u64,
    back: bool,
    /// `COUNT`; 0 is all.
    count: Option<usize>,
    /// Elements to compare at the most; 0 is all.
    compare_max: usize,
}

pub(super) fn lpos(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let search = Search::parse(args)?;
    let key = x.db.key(args.get(1));
    let list = read(&mut x.db, key)?;
    let Some(list) = list else {
        match search.count {
            Some(_) => x.reply.empty_array(),
            None => x.reply.null(),
        }
        return Ok(());
    };
    let mut matches = search.run(list, args.get(2));
    match search.count {
        None => match matches.next() {
            Some(index) => x.reply.count(index),
            None => x.reply.null(),
        },
        Some(count) => {
            let limit = if count == 0 { usize::MAX } else { count };
            let at = x.reply.begin();
            let mut found = 0;
            for index in matches.take(limit) {
                x.reply.count(index);
                found += 1;
            }
            x.reply.end_array(at, found);
        }
    }
    Ok(())
}

impl Search {
    fn parse(args: Args<'_>) -> Result<Self, Error> {
        const RANK_RANGE: Error = Error::new(super::OUT_OF_SYMMETRIC_RANGE);
        const RANK_ZERO: Error = Error::new(
            "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... \
             or use negative to start from the end of the list",
        );
        const COUNT: Error = Error::new("ERR COUNT can't be negative");
        const MAXLEN: Error = Error::new("ERR MAXLEN can't be negative");
        let natural = |word: &[u8], error: Error| parse_i64(word).filter(|n| *n >= 0).ok_or(error);
        let mut search = Self {
            skip: 0,
            back: false,
            count: None,
            compare_max: 0,
        };
        let mut at = 3;
        while let Some(option) = args.try_get(at) {
            let Some(value) = args.try_get(at + 1) else {
                return Err(SYNTAX);
            };
            if fold::is(option, "RANK") {
                match parse_i64(value).ok_or(NOT_AN_INTEGER)? {
                    i64::MIN => return Err(RANK_RANGE),
                    0 => return Err(RANK_ZERO),
                    rank => (search.skip, search.back) = (rank.unsigned_abs() - 1, rank < 0),
                }
            } else if fold::is(option, "COUNT") {
                search.count = Some(natural(value, COUNT)? as usize);
            } else if fold::is(option, "MAXLEN") {
                search.compare_max = natural(value, MAXLEN)? as usize;
            } else {
                return Err(SYNTAX);
            }
            at += 2;
        }
        Ok(search)
    }

    /// The numbers of the matching elements.
    fn run<'l>(&self, list: View<'l>, wanted: &'l [u8]) -> impl Iterator<Item = usize> + use<'l> {
        let (len, back) = (list.len(), self.back);
        let compare_max = if self.compare_max == 0 {
            usize::MAX
        } else {
            self.compare_max
        };
        let values = if back {
            list.backwards(len.saturating_sub(1))
        } else {
            list.forwards(0)
        };
        let skip = usize::try_from(self.skip).unwrap_or(usize::MAX);
        let matching = values
            .take(compare_max)
            .enumerate()
            .filter(move |(_, value)| *value == wanted);
        matching
            .map(move |(step, _)| if back { len - 1 - step } else { step })
            .skip(skip)
    }
}
