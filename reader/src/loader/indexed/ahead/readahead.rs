//! `Readahead`: announces reads before the batches that need them are planned, and without their memory.
//!
//! The samples of a *stretch* of the order are looked up together. `Blocks` and `Buffer` take their samples from stretches
//! of the shards that are read from front to back, while one batch holds only a few scattered samples of them: so the
//! stretch of `Blocks` is one window or several. With buckets and packs, a stretch is the samples of some batches of this rank. Local
//! files get hints for the kernel. A source that keeps bytes fetches them as soon as it has room, in the order of the
//! stretches. Reads nothing: errors occur when the batches are read.

use tarflume_dataset::Dataset;

use crate::fetch::draw::{Limits, RowDraw};
use crate::fetch::plan::{ReadPlan, WantedParts};
use crate::fetch::run_bytes::RunBytes;
use crate::loader::indexed::ahead::reach::{EXACT_GAP, Reach};
use crate::loader::indexed::groups::group_rows::{GroupRows, GroupSteps};
use crate::loader::indexed::new_shards::NewShards;
use crate::order::{Cursor, Draw, Steps};

/// Runs are as long as a disk or a network file system likes.
const RUN: u64 = 8 << 20;
/// If holes make the reads so many times as long as their parts, the parts are read alone.
const WASTE: u64 = 8;

/// The steps of this rank, gone through before their batches are planned.
enum StepsAhead {
    /// Positions that are neighbors in the order.
    Neighbors { steps: Steps, cursor: Cursor },
    /// Samples of buckets or packs, and the steps of a stretch that was looked up last.
    Groups { steps: GroupSteps, rows: GroupRows, from_step: u64 },
}

impl StepsAhead {
    fn count(&self) -> u64 {
        match self {
            StepsAhead::Neighbors { steps, .. } => steps.count(),
            StepsAhead::Groups { steps, .. } => steps.count(),
        }
    }
}

/// The readahead of one epoch.
pub(crate) struct Readahead {
    steps: StepsAhead,
    reach: Reach,
    /// Ranks that take samples of the same order.
    ranks: u64,
    /// Positions that are looked up next, if there are no windows: fewer in the beginning, so that the first batch waits for
    /// few.
    positions: u64,
    /// Where the last stretch begins, and where it ends.
    from: u64,
    to: u64,
    /// The first step with rows that were not looked up.
    step: u64,
    draws: Vec<RowDraw>,
    plan: ReadPlan,
}

impl Readahead {
    /// Looks up as many positions together as `reach` has; a step of all ranks has `stride` of them. Returns `None` if that
    /// gains nothing.
    pub(crate) fn new(
        reach: Reach,
        stride: u64,
        steps: Steps,
        cursor: Cursor,
    ) -> Option<Readahead> {
        let useful = if reach.room.is_some() { 0 } else { stride };
        let positions = match reach.room {
            Some(_) => stride.clamp(1, reach.positions.max(1)),
            None => reach.positions,
        };
        let steps = StepsAhead::Neighbors { steps, cursor };
        (reach.positions > useful).then(|| Readahead::of(steps, reach, 1, positions))
    }

    /// As [`Readahead::new`], for batches of buckets or packs on one of `ranks` ranks.
    pub(crate) fn by_groups(reach: Reach, ranks: u64, steps: GroupSteps) -> Option<Readahead> {
        let steps = StepsAhead::Groups { steps, rows: GroupRows::default(), from_step: 0 };
        (reach.positions > 0).then(|| Readahead::of(steps, reach, ranks, reach.positions))
    }

    fn of(steps: StepsAhead, reach: Reach, ranks: u64, positions: u64) -> Readahead {
        Readahead {
            steps,
            reach,
            ranks,
            positions,
            from: 0,
            to: 0,
            step: 0,
            draws: Vec::new(),
            plan: ReadPlan::default(),
        }
    }

    /// Looks ahead, if it is time; call it before step `step` is planned. A look-up opens sidecars one after the other, so
    /// new shards are opened before, at the same time.
    pub(crate) fn before(
        &mut self,
        step: u64,
        dataset: &Dataset,
        wanted: WantedParts<'_>,
        new_shards: &mut NewShards,
    ) {
        while self.is_due(step) {
            new_shards.open_ahead(dataset, self.draw(|_| true));
            if self.look_up(dataset, wanted).is_some_and(|bytes| self.fits(bytes)) {
                self.plan.run_views().for_each(|run| RunBytes::expect(dataset, run));
            }
        }
    }

    /// Begins with another step than the first one.
    pub(crate) fn begin(&mut self, step: u64) {
        self.step = step;
        self.to = self.first_position(step).unwrap_or(0);
        self.from = self.to;
    }

    /// True if a stretch is looked up before step `step` is planned: if the step has rows that were not looked up; a quarter
    /// of a stretch before that, so that the kernel has time to read; and if there is room for the stretches that
    /// wait, as soon as the stretch before has been begun.
    pub(crate) fn is_due(&self, step: u64) -> bool {
        if self.step >= self.steps.count() {
            return false;
        }
        if let StepsAhead::Groups { from_step, .. } = self.steps {
            return self.step <= step || (self.reach.room.is_some() && step > from_step);
        }
        let Some(position) = self.first_position(step) else { return false };
        self.step <= step
            || match self.reach.room {
                Some(_) => position > self.from,
                None => position + self.reach.positions / 4 >= self.to,
            }
    }

    /// Draws the samples of the next stretch, of those whose ordinals are wanted.
    pub(crate) fn draw(&mut self, wanted: impl Fn(u64) -> bool) -> &[RowDraw] {
        self.draws.clear();
        if let StepsAhead::Groups { steps, rows, from_step } = &mut self.steps {
            *from_step = self.step;
            let most = (self.reach.positions / self.ranks.max(1)).max(1) as usize;
            while self.draws.len() < most && steps.next_into(rows) {
                let drawn = rows.rows.iter().map(|row| row.draw).filter(|d| wanted(d.ordinal));
                let first = self.draws.len();
                let draws = drawn.enumerate().map(|(n, draw)| RowDraw {
                    row: first + n,
                    ordinal: draw.ordinal,
                    pass: draw.pass,
                });
                self.draws.extend(draws);
                self.step += 1;
            }
            return &self.draws;
        }
        self.draw_neighbors(wanted);
        &self.draws
    }

    fn draw_neighbors(&mut self, wanted: impl Fn(u64) -> bool) {
        self.from = self.first_position(self.step).map_or(self.to, |first| first.max(self.to));
        self.to = self.stretch_end();
        let StepsAhead::Neighbors { steps, cursor } = &mut self.steps else { return };
        while self.step < steps.count() {
            let rows = steps.rows(self.step).filter(|(_, padding)| !padding);
            for (position, _) in rows.skip_while(|(position, _)| *position < self.from) {
                if position >= self.to {
                    return;
                }
                if Cursor::position(cursor) != position {
                    cursor.seek(position);
                }
                let row = self.draws.len();
                let drawn = cursor.next().filter(|drawn| wanted(drawn.ordinal));
                self.draws.extend(drawn.map(|Draw { ordinal, pass, .. }| RowDraw {
                    row,
                    ordinal,
                    pass,
                }));
            }
            self.step += 1;
        }
    }

    /// Where the stretch from `from` on ends: behind the window that holds it and further ones that have room, or after so
    /// many positions.
    fn stretch_end(&mut self) -> u64 {
        let most = self.from.saturating_add(self.positions);
        if self.reach.room.is_some() {
            self.positions = self.positions.saturating_mul(2).min(self.reach.positions);
        }
        let Some(mut end) = self.window_end(self.from) else { return most };
        while let Some(next) = self.window_end(end).filter(|next| *next <= most) {
            end = next;
        }
        end
    }

    /// Moves the cursor to `position`. Returns where the window there ends, if stretches end with windows.
    fn window_end(&mut self, position: u64) -> Option<u64> {
        let StepsAhead::Neighbors { cursor, .. } = &mut self.steps else { return None };
        cursor.seek(position);
        if self.reach.windows { cursor.window_end() } else { None }
    }

    /// Looks up the samples of the stretch that was drawn. Returns the bytes that its runs take; `None` if a sample does
    /// not exist.
    pub(crate) fn look_up(&mut self, dataset: &Dataset, wanted: WantedParts<'_>) -> Option<u64> {
        let bytes = self.fill(dataset, wanted, self.reach.gap)?;
        let parts: u64 = self.plan.parts().iter().map(|part| part.length).sum();
        if self.reach.room.is_some() && bytes > parts.saturating_mul(WASTE) {
            self.fill(dataset, wanted, EXACT_GAP)
        } else {
            Some(bytes)
        }
    }

    fn fill(&mut self, dataset: &Dataset, wanted: WantedParts<'_>, gap: u64) -> Option<u64> {
        let limits = Limits { gap, hole: self.reach.hole, run: RUN, entry_points: 0 };
        self.plan.fill_excerpts(dataset, &self.draws, wanted, limits).ok()?;
        Some(self.plan.runs().iter().map(|run| run.bytes).sum())
    }

    /// True if a stretch of so many bytes and the one before it have room where announced bytes are kept. If not, the samples
    /// of each batch are announced alone.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        self.reach.room.is_none_or(|room| bytes <= room / 2)
    }

    /// What the stretch reads.
    pub(crate) fn planned(&self) -> &ReadPlan {
        &self.plan
    }

    fn first_position(&self, step: u64) -> Option<u64> {
        match &self.steps {
            StepsAhead::Neighbors { steps, .. } => {
                steps.rows(step).next().map(|(position, _)| position)
            }
            StepsAhead::Groups { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use tarflume_dataset::{Identity, Open, Source, SourceKind};
    use tarflume_fixtures::ConcurrentCalls;
    use tarflume_formats::{Durability, ShardWriter};
    use tarflume_types::Result;

    use super::*;
    use crate::fetch::part_needs::PartNeeds;
    use crate::order::{Contents, Order, Remainder, Selection, Share, Shuffle, Split};

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

    /// Opens files; each opening waits for another one.
    #[derive(Debug, Default)]
    struct ConcurrentOpen(ConcurrentCalls);

    impl Open for ConcurrentOpen {
        fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
            self.0.run(|| SourceKind::File.open(path))
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
        let reach = Reach::new(&shuffle, 1, None, dataset);
        Readahead::new(reach, 16, steps, order.cursor(0, 0).unwrap()).unwrap()
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
        readahead.before(0, &dataset, WantedParts::whole(&wanted()), &mut NewShards::new(16));
        assert!(opener.0.most() >= 2, "one shard was opened after the other");
    }

    #[test]
    fn runs_are_advised_whole_before_their_samples_are_due() {
        let folder = shards(1, 2048);
        let advice = Advice::default();
        let dataset = Dataset::open(folder.path()).unwrap();
        let dataset = dataset.with_opener(Arc::new(RecordingOpener(advice.clone())));
        let wanted = wanted();
        let mut new = NewShards::new(1);
        let mut readahead = readahead(&dataset, Shuffle::Blocks { block: 64, window: 8, seed: 1 });
        readahead.before(0, &dataset, WantedParts::whole(&wanted), &mut new);
        let first = std::mem::take(&mut *advice.lock().unwrap());
        assert!(first.len() <= 8, "{} reads for 512 samples", first.len());
        let advised: u64 = first.iter().map(|(_, length)| length).sum();
        assert!(advised >= 512 * 3000, "{advised} bytes of a whole window");
        readahead.before(1, &dataset, WantedParts::whole(&wanted), &mut new);
        assert!(advice.lock().unwrap().is_empty(), "the window is known");
        readahead.before(30, &dataset, WantedParts::whole(&wanted), &mut new);
        assert!(!advice.lock().unwrap().is_empty(), "the next one is advised in time");
    }
}
