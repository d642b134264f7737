//! `PFSELFTEST`: registers keep what is written to them, both forms agree, and the error stays in bounds.

use crate::command::Args;
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::value::hyperloglog::{self, DENSE_BYTES, REGISTERS, dense, place};

/// Rounds of writing every register.
const ROUNDS: usize = 16;
/// Powers of ten up to here are checked.
const ELEMENTS_MAX: u64 = 1_000_000;
/// The largest error that is let pass, in standard errors.
const ERRORS_MAX: f64 = 6.0;

pub(super) fn pfselftest(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let shard = &mut *x.db.shard;
    registers_keep(&mut || shard.random())?;
    let salt = shard.random();
    let bytes_max = shard.limits.hll_sparse_max_bytes;
    estimates_hold(salt, bytes_max, ELEMENTS_MAX)?;
    x.reply.ok();
    Ok(())
}

pub(super) fn registers_keep(random: &mut impl FnMut() -> u64) -> Result<(), Error> {
    let mut value = vec![0; DENSE_BYTES];
    let mut model = [0u8; REGISTERS];
    for _ in 0..ROUNDS {
        for (index, register) in model.iter_mut().enumerate() {
            *register = random() as u8 & 63;
            dense::set(&mut value, index, *register);
        }
        for (index, wanted) in model.iter().enumerate() {
            let found = dense::get(&value, index);
            if found != *wanted {
                let text = format!("ERR TESTFAILED Register {index} should be {wanted} but is {found}");
                return Err(text.into());
            }
        }
    }
    Ok(())
}

pub(super) fn estimates_hold(salt: u64, sparse_bytes_max: usize, elements_max: u64) -> Result<(), Error> {
    let mut sparse = hyperloglog::empty().to_vec();
    let mut dense = hyperloglog::to_dense(&sparse)?;
    let mut checkpoint = 1;
    for nth in 1..=elements_max {
        let (index, register) = place(&(nth ^ salt).to_le_bytes());
        dense::raise(&mut dense, index, register);
        hyperloglog::raise(&mut sparse, index, register, sparse_bytes_max)?;
        if nth == checkpoint {
            check(&sparse, &dense, nth, sparse_bytes_max)?;
            checkpoint *= 10;
        }
    }
    Ok(())
}

fn check(sparse: &[u8], dense: &[u8], added: u64, sparse_bytes_max: usize) -> Result<(), Error> {
    let form = hyperloglog::form(sparse);
    if added < sparse_bytes_max as u64 / 2 && form != Some(hyperloglog::Form::Sparse) {
        return Err("ERR TESTFAILED sparse encoding not used".to_string().into());
    }
    let count =
        |value: &[u8], form| Ok::<_, Error>(hyperloglog::cardinality(&hyperloglog::histogram(value, form)?));
    let estimate = count(dense, hyperloglog::Form::Dense)?;
    if let Some(form) = form
        && count(sparse, form)? != estimate
    {
        return Err("ERR TESTFAILED dense/sparse disagree".to_string().into());
    }
    let standard_error = 1.04 / (REGISTERS as f64).sqrt();
    let error_max = (standard_error * ERRORS_MAX * added as f64).ceil() as u64;
    let error = estimate.abs_diff(added);
    if error > error_max {
        let text = format!("ERR TESTFAILED Too big error. card:{added} abserr:{error}");
        return Err(text.into());
    }
    Ok(())
}
