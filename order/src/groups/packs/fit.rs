//! `Fit`: puts lengths into as few packs as best-fit decreasing needs.
//!
//! Johnson, "Near-optimal bin packing algorithms" (1973): longest first, each into the pack with the least room that is enough.
//! It needs at most 11/9 of the fewest packs that are possible, and four. `pack tokens` packs in the same way.

use super::rooms::{OpenPack, Rooms};
use crate::samples::lengths::PackLimits;

/// The lists of one packing, used again for the next one.
#[derive(Debug, Default)]
pub(super) struct Fit {
    /// Lengths with their places, the longest first.
    sorted: Vec<u64>,
    rooms: Rooms,
    /// Samples of each pack.
    samples: Vec<u64>,
}

/// Bits of a place in a window.
const PLACE: u32 = 32;

impl Fit {
    /// Sets `packs[n]` to the number of the pack of length n, and returns how many packs there are. Every length is at most the
    /// capacity. Of equal lengths, the first one comes first; of equal rooms, the last one that became so large.
    pub(super) fn pack(
        &mut self,
        lengths: &[u64],
        limits: PackLimits,
        packs: &mut Vec<u32>,
    ) -> u32 {
        let Fit { sorted, rooms, samples } = self;
        sorted.clear();
        let keys = lengths.iter().enumerate();
        sorted.extend(
            keys.map(|(place, &length)| (limits.capacity - length) << PLACE | place as u64),
        );
        sorted.sort_unstable();
        rooms.reset(limits.capacity);
        samples.clear();
        packs.clear();
        packs.resize(lengths.len(), 0);
        for key in sorted {
            let place = (*key & ((1 << PLACE) - 1)) as usize;
            let length = lengths[place];
            let OpenPack { pack, room } = rooms.take(length).unwrap_or_else(|| {
                samples.push(0);
                OpenPack { pack: samples.len() as u32 - 1, room: limits.capacity }
            });
            samples[pack as usize] += 1;
            if samples[pack as usize] < limits.samples {
                rooms.put(pack, room - length);
            }
            packs[place] = pack;
        }
        self.samples.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn room(pack: &[u64], limits: PackLimits) -> u64 {
        limits.capacity - pack.iter().sum::<u64>()
    }

    /// Best-fit decreasing, as it is written down. A pack has the time at which it was changed last.
    fn naive(lengths: &[u64], limits: PackLimits) -> Vec<u32> {
        let mut sorted: Vec<usize> = (0..lengths.len()).collect();
        sorted.sort_by_key(|&place| (std::cmp::Reverse(lengths[place]), place));
        let mut used: Vec<(Vec<u64>, usize)> = Vec::new();
        let mut packs = vec![0; lengths.len()];
        for (time, place) in sorted.into_iter().enumerate() {
            let length = lengths[place];
            let fit = (0..used.len())
                .filter(|&n| {
                    (used[n].0.len() as u64) < limits.samples && room(&used[n].0, limits) >= length
                })
                .min_by_key(|&n| (room(&used[n].0, limits), std::cmp::Reverse(used[n].1)));
            let pack = fit.unwrap_or_else(|| {
                used.push((Vec::new(), 0));
                used.len() - 1
            });
            used[pack].0.push(length);
            used[pack].1 = time;
            packs[place] = pack as u32;
        }
        packs
    }

    proptest! {
        #[test]
        fn the_rooms_find_the_pack_that_a_search_finds(
            capacity in prop_oneof![1u64..5000, 250_000u64..1_200_000], samples in 1u64..9,
            raw in prop::collection::vec(0u64..2_000_000, 0..80),
        ) {
            let limits = PackLimits { capacity, samples, window: 80 };
            let lengths: Vec<u64> = raw.iter().map(|length| length % (capacity + 1)).collect();
            let mut packs = Vec::new();
            let mut fit = Fit::default();
            fit.pack(&[1; 3], PackLimits { capacity: 9000, ..limits }, &mut packs); // lists that were used before
            let count = fit.pack(&lengths, limits, &mut packs);
            prop_assert_eq!(&packs, &naive(&lengths, limits));
            prop_assert_eq!(count, packs.iter().max().map_or(0, |most| most + 1));
        }
    }
}
