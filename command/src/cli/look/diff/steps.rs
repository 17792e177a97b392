//! `Steps`: the batches of an epoch before and after.

use serde_json::{Value, json};
use tarflume_base::units;
use tarflume_inspect::diff::Totals;

/// The number of batches of an epoch; the last one may have fewer samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Steps {
    batch_size: u64,
    before: u64,
    after: u64,
}

impl Steps {
    /// Returns the batches of `batch_size` samples, those of all ranks together.
    pub(super) fn of(batch_size: u64, totals: &Totals) -> Steps {
        let before = totals.before.div_ceil(batch_size);
        Steps { batch_size, before, after: totals.after.div_ceil(batch_size) }
    }

    /// Returns a line: `an epoch in batches of 256: 8 steps -> 9 steps (+1)`.
    pub(super) fn text(&self) -> String {
        let Steps { batch_size, before, after } = *self;
        format!(
            "an epoch in batches of {}: {} -> {} ({})",
            units::count(batch_size),
            units::counted(before, "step", "steps"),
            units::counted(after, "step", "steps"),
            difference(before, after, units::count)
        )
    }

    pub(super) fn json(&self) -> Value {
        json!({"batch_size": self.batch_size, "before": self.before, "after": self.after})
    }

    /// Returns a row of the table of an epoch.
    pub(super) fn row(&self) -> String {
        let Steps { batch_size, before, after } = *self;
        format!(
            "| steps of {} | {} | {} | {} |\n",
            units::count(batch_size),
            units::count(before),
            units::count(after),
            difference(before, after, units::count)
        )
    }
}

/// Returns how much more or less it is after: `+3`, `-2 kB`.
pub(super) fn difference(before: u64, after: u64, shown: fn(u64) -> String) -> String {
    match before.cmp(&after) {
        std::cmp::Ordering::Equal => "0".into(),
        std::cmp::Ordering::Less => format!("+{}", shown(after - before)),
        std::cmp::Ordering::Greater => format!("-{}", shown(before - after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_batch_may_have_fewer_samples() {
        let totals = Totals { before: 512, after: 513, ..Totals::default() };
        let steps = Steps::of(256, &totals);
        assert_eq!(steps.text(), "an epoch in batches of 256: 2 steps -> 3 steps (+1)");
        assert_eq!(steps.row(), "| steps of 256 | 2 | 3 | +1 |\n");
        assert_eq!(steps.json(), json!({"batch_size": 256, "before": 2, "after": 3}));
        assert_eq!(
            Steps::of(1, &Totals::default()).text(),
            "an epoch in batches of 1: 0 steps -> 0 steps (0)"
        );
    }
}
