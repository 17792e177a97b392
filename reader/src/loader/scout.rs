//! Tells storage ahead what is coming, where a shuffle deals neighbours among many batches.
//!
//! `Blocks` and `Buffer` take their samples from stretches of the shards that are read from front to
//! back; a batch alone sees a few scattered samples of them. So the samples of a whole stretch are
//! looked up together, and the kernel is asked for long runs before the first of its batches is
//! planned. Hints alone: nothing is read here, and what is wrong shows when it is.

use crate::dataset::Dataset;
use crate::fetch::fetched::Fetched;
use crate::fetch::plan::{Draw, Limits, Plan};
use crate::fetch::wanted::Wanted;
use crate::order::{Cursor, Shuffle, Steps};

/// No more samples than this are looked up together.
const MOST: u64 = 1 << 16;
/// Runs are as long as a disk or a network file system likes, and holes are filled for it.
const LIMITS: Limits = Limits { gap: 256 << 10, run: 8 << 20, entry_points: 0 };

/// How many samples a shuffle deals together; 0 where looking ahead gains nothing.
pub(crate) fn reach(shuffle: &Shuffle) -> u64 {
    match *shuffle {
        Shuffle::Blocks { block, window, .. } => block.saturating_mul(window).min(MOST),
        Shuffle::Buffer { size, .. } => size.min(MOST),
        Shuffle::None | Shuffle::Shards { .. } | Shuffle::Full { .. } => 0,
    }
}

/// Goes ahead of the batches of one epoch.
pub(crate) struct Scout {
    steps: Steps,
    cursor: Cursor,
    /// Steps that are looked up together.
    stride: u64,
    /// The next step that was not looked up.
    next: u64,
    draws: Vec<Draw>,
    plan: Plan,
}

impl Scout {
    /// A scout that looks up `reach` samples together, `samples` of them a step; `None` if a batch sees
    /// as much by itself.
    pub(crate) fn new(reach: u64, samples: u64, steps: Steps, cursor: Cursor) -> Option<Scout> {
        let stride = reach.div_ceil(samples.max(1));
        let (draws, plan) = (Vec::new(), Plan::default());
        (stride > 1).then_some(Scout { steps, cursor, stride, next: 0, draws, plan })
    }

    /// To be called before step `step` is planned: looks ahead, if it is time.
    pub(crate) fn before(&mut self, step: u64, dataset: &Dataset, wanted: &Wanted) {
        // A quarter of a stretch before it begins, so that reading it has a start.
        while self.next < self.steps.count() && step + self.stride / 4 >= self.next {
            let end = self.steps.count().min(self.next + self.stride);
            self.draws.clear();
            for step in self.next..end {
                for (position, _) in self.steps.rows(step).filter(|(_, padding)| !padding) {
                    if self.cursor.position() != position {
                        self.cursor.seek(position);
                    }
                    let slot = self.draws.len();
                    self.draws
                        .extend(self.cursor.next().map(|d| Draw { slot, ordinal: d.ordinal }));
                }
            }
            self.next = end;
            if self.plan.fill(dataset, &self.draws, wanted, LIMITS).is_ok() {
                for run in 0..self.plan.runs().len() {
                    Fetched::advise(dataset, &self.plan, run);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use tarflume_formats::ShardWriter;
    use tarflume_formats::shard::Durability;

    use super::*;
    use crate::error::Result;
    use crate::order::{Contents, Order, Remainder, Selection, Share, Split};
    use crate::source::Source;
    use crate::source::identity::Identity;
    use crate::source::open::{Open, SourceKind};

    type Advice = Arc<Mutex<Vec<(u64, u64)>>>;

    /// Files that write down what they are told of.
    #[derive(Debug)]
    struct Told(Advice);

    #[derive(Debug)]
    struct ToldSource(Arc<dyn Source>, Advice);

    impl Source for ToldSource {
        fn len(&self) -> u64 {
            self.0.len()
        }

        fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
            self.0.read_at(at, into)
        }

        fn advise(&self, at: u64, length: u64) {
            self.1.lock().unwrap().push((at, length));
        }
    }

    impl Open for Told {
        fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
            let (source, identity) = SourceKind::File.open(path)?;
            Ok((Arc::new(ToldSource(source, self.0.clone())), identity))
        }
    }

    #[test]
    fn runs_are_asked_for_whole_before_their_samples_are_dealt() {
        let folder = tempfile::tempdir().unwrap();
        let mut shard = ShardWriter::create(folder.path(), "a.tar").unwrap();
        for n in 0..2048 {
            shard.begin(format!("{n:06}").as_bytes());
            shard.part(b"bin", 3000).unwrap();
            shard.commit(None).unwrap();
        }
        shard.finish().unwrap().publish(folder.path(), "a.tar", Durability::Cached).unwrap();
        let advice = Advice::default();
        let dataset = Dataset::open(folder.path()).unwrap();
        let dataset = dataset.with_opener(Arc::new(Told(advice.clone())));
        let contents = Contents::new(dataset.fingerprint().unwrap(), [2048]).unwrap();
        let shuffle = Shuffle::Blocks { block: 64, window: 8, seed: 1 };
        let order = Order::new(Arc::new(contents), Selection::all(2048), shuffle).unwrap();
        let share = Share::new(&order, Split::alone()).unwrap();
        let steps = share.steps(0, 16, Remainder::Drop).unwrap();
        let mut wanted = Wanted::new();
        wanted.require("bin").unwrap();
        let mut scout =
            Scout::new(reach(&shuffle), 16, steps, order.cursor(0, 0).unwrap()).unwrap();
        scout.before(0, &dataset, &wanted);
        let first = std::mem::take(&mut *advice.lock().unwrap());
        assert!(first.len() <= 8, "{} reads for 512 samples", first.len());
        let asked: u64 = first.iter().map(|(_, length)| length).sum();
        assert!(asked >= 512 * 3000, "{asked} bytes of a whole window");
        scout.before(1, &dataset, &wanted);
        assert!(advice.lock().unwrap().is_empty(), "the window is known");
        scout.before(30, &dataset, &wanted);
        assert!(!advice.lock().unwrap().is_empty(), "the next one is asked for in time");
    }

    #[test]
    fn who_deals_no_neighbours_has_no_scout() {
        assert_eq!(reach(&Shuffle::Full { seed: 1 }), 0);
        assert_eq!(reach(&Shuffle::None), 0);
        assert_eq!(reach(&Shuffle::Buffer { size: 1000, seed: 1 }), 1000);
    }
}
