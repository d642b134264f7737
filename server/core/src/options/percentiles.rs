//! `latency-tracking-info-percentiles`: which percentiles `INFO latencystats` shows.

use super::kind::Refusal;
use crate::text::number::parse_f64;

pub(super) fn parse(words: &[&[u8]]) -> Result<Vec<f64>, Refusal> {
    let mut list = Vec::new();
    for word in words {
        // A pair of quotes stands for an empty list.
        if *word == b"\"\"" {
            continue;
        }
        let percentile = parse_f64(word).ok_or("Invalid latency-tracking-info-percentiles parameters")?;
        if !(0.0..=100.0).contains(&percentile) {
            return Err("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]".into());
        }
        list.push(percentile);
    }
    Ok(list)
}

pub(super) fn show(list: &[f64]) -> String {
    list.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
}
