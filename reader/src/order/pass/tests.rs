//! x
use super::*;
use proptest::prelude::*;
fn shuffles() -> Vec<Shuffle> {
    let seed = 7;
    let mut all = vec![Shuffle::None, Shuffle::Shards { seed }, Shuffle::Full { seed }];
    all.extend([1, 2, 7, 1000].map(|size| Shuffle::Buffer { size, seed }));
    all.extend(
        [(1, 1), (3, 2), (5, 100), (1000, 1), (7, 3)].map(|(block, window)| Shuffle::Blocks {
            block,
            window,
            seed,
        }),
    );
    all
}
#[test]
fn quick() {
    for n in 0..=700u64 {
        for shuffle in shuffles() {
            let starts: Arc<[u64]> = vec![0, 0, n / 3, n / 2, n / 2, n].into();
            let pass = Pass::new(starts, shuffle, 3);
            let all: Vec<u64> = (0..n).map(|p| pass.slot(p)).collect();
            let stepped: Vec<u64> = pass.clone().cursor(0).collect();
            assert_eq!(all, stepped, "{n} {shuffle:?}");
            let mut sorted = all.clone();
            sorted.sort();
            assert_eq!(sorted, (0..n).collect::<Vec<_>>(), "{n} {shuffle:?}");
        }
    }
}
