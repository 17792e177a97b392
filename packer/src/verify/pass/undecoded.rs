//! `Undecoded`: pictures of a shard of kinds and sizes that are not decoded here, and that packing has accepted.

use crate::problem::Problem;
use crate::units;

/// Their number, and the first one.
#[derive(Debug, Default)]
pub(super) struct Undecoded {
    pictures: u64,
    first: Option<Problem>,
}

impl Undecoded {
    /// Adds a picture.
    pub(super) fn add(&mut self, problem: Problem) {
        self.pictures += 1;
        self.first.get_or_insert(problem);
    }

    /// Returns one warning for all of them.
    pub(super) fn warning(self) -> Option<Problem> {
        let Problem { reason, .. } = self.first.as_ref()?;
        let others = match self.pictures - 1 {
            0 => String::new(),
            others => {
                let others = units::counted(others, "other picture", "other pictures");
                format!("; {others} of this shard, too")
            }
        };
        let reason = format!("{reason}{others}. `pack build --check decode` refuses such pictures");
        self.first.map(|first| Problem { reason, ..first })
    }
}
