//! Divides the shards of a plan among machines: each gets nearly the same work.
//!
//! Pure arithmetic on the plan: every machine computes the same division.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tarflume_formats::plan::{PlanFoot, PlannedShard};

/// The work of a byte of a JPEG whose codes are read for entry points, beside that of any other byte. Measured with one
/// thread; see bench/RESULTS.md, "Work of a byte".
const JPEG: u64 = 5;

/// Returns the numbers of the shards that machine `rank` of `world` packs, in ascending order.
///
/// The shards are dealt in descending order of their work, each to the machine with the least work so far (Graham's
/// rule "longest processing time first", 1969). If all shards have the same work, the machine gets those whose number
/// modulo `world` is its rank.
pub(crate) fn share(foot: &PlanFoot, rank: u64, world: u64) -> Vec<usize> {
    let mut order: Vec<(Reverse<u64>, usize)> =
        foot.shards.iter().enumerate().map(|(n, shard)| (Reverse(work(shard, foot)), n)).collect();
    order.sort_unstable();
    // A machine beyond the number of shards gets none.
    let machines = world.min(foot.shards.len() as u64);
    let mut loads: BinaryHeap<Reverse<(u64, u64)>> =
        (0..machines).map(|machine| Reverse((0, machine))).collect();
    let mut own = Vec::new();
    for (Reverse(work), number) in order {
        let Some(Reverse((load, machine))) = loads.pop() else { break };
        loads.push(Reverse((load.saturating_add(work.max(1)), machine)));
        if machine == rank {
            own.push(number);
        }
    }
    own.sort_unstable();
    own
}

/// Returns the work of packing a shard, in bytes. With entry points, a byte of a JPEG counts [`JPEG`] times.
fn work(shard: &PlannedShard, foot: &PlanFoot) -> u64 {
    if foot.entry_points {
        shard.source_bytes.saturating_add((JPEG - 1).saturating_mul(shard.jpeg_bytes))
    } else {
        shard.source_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tarflume_formats::plan::Location;
    use tarflume_formats::plan::{PlanWriter, PlannedExt, PlannedPart, PlannedSample};

    fn ext(name: &str) -> PlannedExt {
        PlannedExt { source: name.into(), shard: name.into(), has_paths: false }
    }

    fn part(ext: u16, size: u64) -> PlannedPart {
        PlannedPart { ext, size, location: Location::File { stamp: 0 } }
    }

    fn plan(shards: &[(u64, u64)], entry_points: bool) -> PlanFoot {
        let mut writer = PlanWriter::new(Vec::new(), vec![ext("jpg"), ext("txt")]).unwrap();
        writer.set_entry_points(entry_points);
        for (number, &(jpeg, text)) in shards.iter().enumerate() {
            writer.begin_shard(format!("s-{number}.tar"));
            let name = number.to_string().into_bytes();
            let sample = PlannedSample {
                source: name.clone(),
                key: name,
                parts: vec![part(0, jpeg), part(1, text)],
                ..PlannedSample::default()
            };
            writer.add(&sample).unwrap();
            writer.end_shard(jpeg + text).unwrap();
        }
        writer.finish(String::new(), Vec::new(), serde_json::json!({}), Vec::new()).unwrap().1
    }

    #[test]
    fn equal_shards_are_dealt_in_turn() {
        let foot = plan(&[(10, 10); 7], true);
        assert_eq!(share(&foot, 0, 3), [0, 3, 6]);
        assert_eq!(share(&foot, 2, 3), [2, 5]);
        assert_eq!(share(&foot, 9, 20), Vec::<usize>::new());
    }

    #[test]
    fn jpegs_weigh_more_if_their_codes_are_read() {
        // By bytes alone the first two shards are halves; with the codes, the first is most of the work.
        let shards = [(4000, 0), (0, 4000), (0, 4000), (0, 4000), (0, 4000)];
        assert_eq!(share(&plan(&shards, false), 0, 2), [0, 2, 4]);
        assert_eq!(share(&plan(&shards, true), 0, 2), [0]);
        assert_eq!(share(&plan(&shards, true), 1, 2), [1, 2, 3, 4]);
    }

    proptest! {
        #[test]
        fn each_shard_has_one_machine_and_the_loads_are_near(
            sizes in prop::collection::vec((0u64..9000, 1u64..9000), 1..200), world in 1u64..20
        ) {
            let foot = plan(&sizes, true);
            let shares: Vec<Vec<usize>> = (0..world).map(|rank| share(&foot, rank, world)).collect();
            let mut all: Vec<usize> = shares.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..sizes.len()).collect::<Vec<_>>());
            let work = |n: &usize| sizes[*n].0 * JPEG + sizes[*n].1;
            let loads: Vec<u64> = shares.iter().map(|share| share.iter().map(work).sum()).collect();
            let largest = (0..sizes.len()).map(|n| work(&n)).max().unwrap();
            let (low, high) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
            prop_assert!(high - low <= largest, "{loads:?}");
        }
    }
}
