//! `Readahead`: announces reads to the kernel before the batches that need them are planned.
//!
//! `Blocks` and `Buffer` take their samples from stretches of the shards that are read from front to back, but one batch
//! holds only a few scattered samples of a stretch. So the samples of a whole stretch are looked up together, and the
//! kernel gets hints for long runs before the first of its batches is planned. Reads nothing: errors
//! occur when the batches are read.

use crate::dataset::Dataset;
use crate::fetch::part_needs::PartNeeds;
use crate::fetch::plan::{Limits, ReadPlan, RowDraw};
use crate::fetch::run_bytes::RunBytes;
use crate::loader::indexed::new_shards::NewShards;
use crate::order::{Cursor, Shuffle, Steps};

/// The most samples that are looked up together.
const MOST: u64 = 1 << 16;
/// Runs are as long as a disk or a network file system likes, and holes are filled for it.
const LIMITS: Limits = Limits { gap: 256 << 10, run: 8 << 20, entry_points: 0 };

/// How many samples of the order a shuffle mixes; 0 if readahead gains nothing.
pub(crate) fn reach(shuffle: &Shuffle) -> u64 {
    match *shuffle {
        Shuffle::Blocks { block, window, .. } => block.saturating_mul(window).min(MOST),
        Shuffle::Buffer { size, .. } => size.min(MOST),
        Shuffle::None | Shuffle::Shards { .. } | Shuffle::Full { .. } => 0,
    }
}

/// How many steps of `samples` samples are looked up together; at most 1 if one batch covers them.
pub(crate) fn stride(reach: u64, samples: u64) -> u64 {
    reach.div_ceil(samples.max(1))
}

/// The readahead of one epoch.
pub(crate) struct Readahead {
    steps: Steps,
    cursor: Cursor,
    /// Steps that are looked up together.
    stride: u64,
    /// The first step that was not looked up.
    next: u64,
    draws: Vec<RowDraw>,
    plan: ReadPlan,
}

impl Readahead {
    /// Looks up `reach` samples together, `samples` of them a step. Returns `None` if one batch covers them.
    pub(crate) fn new(reach: u64, samples: u64, steps: Steps, cursor: Cursor) -> Option<Readahead> {
        let stride = stride(reach, samples);
        let (draws, plan) = (Vec::new(), ReadPlan::default());
        (stride > 1).then_some(Readahead { steps, cursor, stride, next: 0, draws, plan })
    }

    /// Looks ahead, if it is time; call it before step `step` is planned. A look-up opens sidecars one after the other, so
    /// new shards are opened before, at the same time.
    pub(crate) fn before(
        &mut self,
        step: u64,
        dataset: &Dataset,
        wanted: &PartNeeds,
        new_shards: &mut NewShards,
    ) {
        while self.is_due(step) {
            new_shards.open_ahead(dataset, self.draw());
            let room = dataset.readahead();
            if self.look_up(dataset, wanted).is_some_and(|bytes| fits(bytes, room)) {
                self.plan.run_views().for_each(|run| RunBytes::advise(dataset, run));
            }
        }
    }

    /// Begins with another step than the first one.
    pub(crate) fn begin(&mut self, step: u64) {
        self.next = step;
    }

    /// True if a stretch is looked up before step `step` is planned: a quarter of a stretch before it begins, so that the
    /// kernel has time to read.
    pub(crate) fn is_due(&self, step: u64) -> bool {
        self.next < self.steps.count() && step + self.stride / 4 >= self.next
    }

    /// Draws the samples of the next stretch.
    pub(crate) fn draw(&mut self) -> &[RowDraw] {
        let end = self.steps.count().min(self.next + self.stride);
        self.draws.clear();
        for step in self.next..end {
            for (position, _) in self.steps.rows(step).filter(|(_, padding)| !padding) {
                if self.cursor.position() != position {
                    self.cursor.seek(position);
                }
                let slot = self.draws.len();
                self.draws.extend(self.cursor.next().map(|d| RowDraw { slot, ordinal: d.ordinal }));
            }
        }
        self.next = end;
        &self.draws
    }

    /// Looks up the samples of the stretch that was drawn. Returns the bytes that its runs take; `None` if a sample does
    /// not exist.
    pub(crate) fn look_up(&mut self, dataset: &Dataset, wanted: &PartNeeds) -> Option<u64> {
        self.plan.fill(dataset, &self.draws, wanted, LIMITS).ok()?;
        Some(self.plan.runs().iter().map(|run| run.bytes).sum())
    }

    /// What the stretch reads.
    pub(crate) fn planned(&self) -> &ReadPlan {
        &self.plan
    }
}

/// True if a stretch of so many bytes and the one before it have room where advised bytes are kept. If not, the samples
/// of each batch are advised alone.
pub(crate) fn fits(bytes: u64, room: Option<u64>) -> bool {
    room.is_none_or(|room| bytes <= room / 2)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use tarflume_formats::{Durability, ShardWriter};

    use super::*;
    use crate::error::Result;
    use crate::order::{Contents, Order, Remainder, Selection, Share, Split};
    use crate::source::Source;
    use crate::source::identity::Identity;
    use crate::source::open::concurrent::ConcurrentOpen;
    use crate::source::open::{Open, SourceKind};

    type Advice = Arc<Mutex<Vec<(u64, u64)>>>;

    /// Opens files that record the advice that they get.
    #[derive(Debug)]
    struct RecordingOpener(Advice);

    #[derive(Debug)]
    struct RecordingSource(Arc<dyn Source>, Advice);

    impl Source for RecordingSource {
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

    impl Open for RecordingOpener {
        fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
            let (source, identity) = SourceKind::File.open(path)?;
            Ok((Arc::new(RecordingSource(source, self.0.clone())), identity))
        }
    }

    /// A folder of `shards` shards of so many samples each.
    fn shards(shards: usize, samples: usize) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..shards {
            let name = format!("{number:02}.tar");
            let mut shard = ShardWriter::create(folder.path(), &name).unwrap();
            for n in 0..samples {
                shard.begin(format!("{number:02}{n:06}").as_bytes());
                shard.part(b"bin", 3000).unwrap();
                shard.commit(None).unwrap();
            }
            shard.finish().unwrap().publish(folder.path(), &name, Durability::Cached).unwrap();
        }
        folder
    }

    /// The readahead of batches of 16 samples.
    fn readahead(dataset: &Dataset, shuffle: Shuffle) -> Readahead {
        let counts = dataset.counts().to_vec();
        let contents = Contents::new(dataset.fingerprint().unwrap(), counts).unwrap();
        let selection = Selection::all(dataset.len());
        let order = Order::new(Arc::new(contents), selection, shuffle).unwrap();
        let share = Share::new(&order, Split::alone()).unwrap();
        let steps = share.steps(0, 16, Remainder::Drop).unwrap();
        Readahead::new(reach(&shuffle), 16, steps, order.cursor(0, 0).unwrap()).unwrap()
    }

    fn wanted() -> PartNeeds {
        let mut wanted = PartNeeds::new();
        wanted.require("bin").unwrap();
        wanted
    }

    #[test]
    fn shards_of_a_window_are_opened_at_the_same_time() {
        let folder = shards(16, 32);
        let opener = Arc::new(ConcurrentOpen::default());
        let dataset = Dataset::open(folder.path()).unwrap().with_opener(opener.clone());
        let mut readahead = readahead(&dataset, Shuffle::Blocks { block: 4, window: 100, seed: 1 });
        readahead.before(0, &dataset, &wanted(), &mut NewShards::new(16));
        assert!(opener.most() >= 2, "one shard was opened after the other");
    }

    #[test]
    fn runs_are_advised_whole_before_their_samples_are_due() {
        let folder = shards(1, 2048);
        let advice = Advice::default();
        let dataset = Dataset::open(folder.path()).unwrap();
        let dataset = dataset.with_opener(Arc::new(RecordingOpener(advice.clone())));
        let (wanted, mut new) = (wanted(), NewShards::new(1));
        let mut readahead = readahead(&dataset, Shuffle::Blocks { block: 64, window: 8, seed: 1 });
        readahead.before(0, &dataset, &wanted, &mut new);
        let first = std::mem::take(&mut *advice.lock().unwrap());
        assert!(first.len() <= 8, "{} reads for 512 samples", first.len());
        let advised: u64 = first.iter().map(|(_, length)| length).sum();
        assert!(advised >= 512 * 3000, "{advised} bytes of a whole window");
        readahead.before(1, &dataset, &wanted, &mut new);
        assert!(advice.lock().unwrap().is_empty(), "the window is known");
        readahead.before(30, &dataset, &wanted, &mut new);
        assert!(!advice.lock().unwrap().is_empty(), "the next one is advised in time");
    }

    #[test]
    fn shuffles_without_neighbors_have_no_readahead() {
        assert_eq!(reach(&Shuffle::Full { seed: 1 }), 0);
        assert_eq!(reach(&Shuffle::None), 0);
        assert_eq!(reach(&Shuffle::Buffer { size: 1000, seed: 1 }), 1000);
    }
}
