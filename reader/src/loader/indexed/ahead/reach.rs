//! `Reach`: how many samples of an order are looked up together before their batches are planned. Arithmetic alone.

use tarflume_dataset::Dataset;

use crate::order::Shuffle;

/// The most samples that are looked up together.
const MOST: u64 = 1 << 16;
/// Of an exact shuffle, so many samples of a rank are looked up together: twice as many as requests can be under way.
const EXACT: u64 = 512;
/// Holes of at most so many bytes are read between samples that the shuffle takes from one stretch of a shard.
const GAP: u64 = 256 << 10;
/// Holes between the samples of an exact shuffle: as small as those in the reads of a batch.
pub(crate) const EXACT_GAP: u64 = 8 << 10;
/// Bytes of a JPEG that no column needs are read if they are at most so many; see
/// [`Limits::hole`](crate::fetch::draw::Limits::hole).
pub(crate) const HOLE: u64 = 64 << 10;
/// Bytes of a sample if nothing tells how many it has.
const SAMPLE: u64 = 100_000;

/// How far ahead samples are looked up. Positions are those of the whole job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Positions that are looked up together.
    pub(crate) positions: u64,
    /// True if they end where a window of the shuffle ends. A window may have more positions.
    pub(crate) windows: bool,
    /// Holes of at most so many bytes are read.
    pub(crate) gap: u64,
    /// Holes in JPEGs of at most so many bytes are read.
    pub(crate) hole: u64,
    /// Bytes that the source keeps; `None` if that is the page cache.
    pub(crate) room: Option<u64>,
    /// Bytes of a window of which two have no room, if that is so. Its samples are then looked up as those of an exact
    /// shuffle.
    pub(crate) too_long: Option<u64>,
}

impl Reach {
    /// For the loader of one of `ranks` ranks whose batches are neighbors in the order.
    pub(crate) fn new(
        shuffle: &Shuffle,
        ranks: u64,
        room: Option<u64>,
        dataset: &Dataset,
    ) -> Reach {
        let mean = dataset.mean_sample_bytes().unwrap_or(SAMPLE).max(1);
        let hole = dataset.hole().unwrap_or(HOLE);
        Reach { hole, ..Reach::of(shuffle, ranks.max(1), room, mean) }
    }

    fn of(shuffle: &Shuffle, ranks: u64, room: Option<u64>, mean: u64) -> Reach {
        // No neighbors that come soon.
        let none =
            Reach { positions: 0, windows: false, gap: GAP, hole: HOLE, room, too_long: None };
        let Some(bytes) = room else {
            return match *shuffle {
                Shuffle::Blocks { block, window, .. } => {
                    let positions = block.saturating_mul(window).min(MOST);
                    Reach { positions, windows: true, ..none }
                }
                Shuffle::Buffer { size, .. } => Reach { positions: size.min(MOST), ..none },
                _ => none,
            };
        };
        // A quarter of the room: samples that are being read, and those of the next look-up, have room beside them.
        let fair = (bytes / 4 / mean).clamp(1, MOST);
        let positions = fair.min(EXACT).saturating_mul(ranks);
        let exact = Reach { positions, gap: EXACT_GAP, ..none };
        match *shuffle {
            Shuffle::Full { .. } => exact,
            Shuffle::Blocks { block, window, .. } => {
                let window = block.saturating_mul(window);
                let window_bytes = (window / ranks).saturating_mul(mean);
                if window <= MOST && window_bytes <= bytes / 2 {
                    Reach { positions: fair.saturating_mul(ranks), windows: true, ..none }
                } else {
                    Reach { too_long: Some(window_bytes), ..exact }
                }
            }
            _ => Reach { positions: fair.saturating_mul(ranks), ..none }, // neighbors come soon
        }
    }

    /// Steps of `positions` positions that are looked up together; at least one.
    pub(crate) fn steps(&self, positions: u64) -> u64 {
        self.positions.div_ceil(positions.max(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Option<u64> = Some(256 << 20);

    #[test]
    fn the_kernel_is_told_of_shuffles_with_neighbors_alone() {
        fn positions(shuffle: Shuffle) -> u64 {
            Reach::of(&shuffle, 1, None, 100_000).positions
        }

        assert_eq!(positions(Shuffle::Full { seed: 1 }), 0);
        assert_eq!(positions(Shuffle::None), 0);
        assert_eq!(positions(Shuffle::Buffer { size: 1000, seed: 1 }), 1000);
        assert_eq!(positions(Shuffle::Blocks { block: 64, window: 16, seed: 1 }), 1024);
    }

    #[test]
    fn a_look_up_takes_a_quarter_of_the_room() {
        fn reach(shuffle: Shuffle, ranks: u64, mean: u64) -> Reach {
            Reach::of(&shuffle, ranks, ROOM, mean)
        }

        for shuffle in [Shuffle::None, Shuffle::Shards { seed: 1 }] {
            assert_eq!(reach(shuffle, 1, 1 << 20).positions, 64);
            assert_eq!(reach(shuffle, 8, 1 << 20).positions, 512);
            assert_eq!(reach(shuffle, 1, 10).positions, MOST);
        }
        assert_eq!(reach(Shuffle::Full { seed: 1 }, 1, 1000).positions, EXACT);
        assert_eq!(reach(Shuffle::Full { seed: 1 }, 1, 1 << 30).positions, 1);
        assert_eq!(Reach { positions: 9, ..reach(Shuffle::None, 1, 1) }.steps(4), 3);
    }

    #[test]
    fn windows_are_looked_up_whole_if_two_have_room() {
        fn blocks(block: u64, window: u64) -> Shuffle {
            Shuffle::Blocks { block, window, seed: 1 }
        }

        let small = Reach::of(&blocks(64, 16), 1, ROOM, 110_000);
        assert!(small.windows && small.too_long.is_none(), "{small:?}");
        let large = Reach::of(&blocks(256, 64), 1, ROOM, 110_000);
        assert_eq!((large.windows, large.too_long), (false, Some(256 * 64 * 110_000)));
        assert_eq!(large.gap, EXACT_GAP);
        assert!(Reach::of(&blocks(256, 64), 16, ROOM, 110_000).windows, "a sixteenth of it");
    }
}
