//! The table: times, ratios, and how far pixels are from the expected ones.

use std::fmt::Write;

use crate::pictures::Pictures;
use crate::work::{Competitor, OPERATIONS};

const HEAD: &str = "\
| operation | crate | µs, median (min-max) | times tarflume's | greatest difference | equal bytes |
|---|---|---|---|---|---|
";

/// Times tarflume's are of medians; a range is over the rounds.
pub fn table(
    all: &mut [Competitor],
    times: &[Vec<f64>],
    pictures: &Pictures,
) -> Result<String, String> {
    let mut text = HEAD.to_owned();
    for operation in OPERATIONS {
        let expected = &pictures.expected[operation];
        let mut ours = None;
        for (one, times) in all.iter_mut().zip(times).filter(|pair| pair.0.operation == operation) {
            let mut sorted = times.clone();
            sorted.sort_by(f64::total_cmp);
            let median = sorted[sorted.len() / 2];
            let first = *ours.get_or_insert(median);
            let result = one.work.result();
            let distance = Distance::new(&result, expected)
                .ok_or_else(|| format!("{operation}, {}: a result of another size", one.name))?;
            let most = sorted[sorted.len() - 1];
            let _ = writeln!(
                text,
                "| {operation} | {} | {:.1} ({:.1}-{:.1}) | {:.2} | {} | {:.2} % |",
                one.name,
                1e6 * median,
                1e6 * sorted[0],
                1e6 * most,
                median / first,
                distance.most,
                100.0 * distance.equal,
            );
        }
    }
    Ok(text)
}

struct Distance {
    most: u8,
    /// The share of bytes that are equal.
    equal: f64,
}

impl Distance {
    fn new(result: &[u8], expected: &[u8]) -> Option<Distance> {
        if result.len() != expected.len() {
            return None;
        }
        let pairs = || result.iter().zip(expected);
        let most = pairs().map(|pair| pair.0.abs_diff(*pair.1)).max()?;
        let equal = pairs().filter(|pair| pair.0 == pair.1).count() as f64 / result.len() as f64;
        Some(Distance { most, equal })
    }
}
