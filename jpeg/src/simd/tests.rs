//! Compares every set of kernels with plain formulas, with the portable set, and with hashes of
//! libjpeg-turbo's own bytes. `cargo test --profile dist -p tarflume-jpeg speed -- --ignored
//! --nocapture` prints the speed of each.

mod blocks;
mod idct;
mod lines;
mod speed;

use super::Simd;

#[test]
fn a_set_is_chosen_by_its_name_if_it_runs_here() {
    let sets = Simd::all();
    for set in &sets {
        assert_eq!(Simd::choose(Some(set.name)).name, set.name);
    }
    let best = sets.last().map(|set| set.name);
    for name in [None, Some(""), Some("avx3")] {
        assert_eq!(Some(Simd::choose(name).name), best);
    }
}
