//! Random orders.

use tarflume_image::Random;

use crate::actions::{Action, PermuteChannels};
use crate::operations::Shape;

/// The permutations are equally likely.
pub(super) fn shuffled<const COUNT: usize>(
    mut items: [u8; COUNT],
    random: &mut Random,
) -> [u8; COUNT] {
    for last in (1..COUNT).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
    items
}

/// A random order of the channels; none of a gray picture.
pub(super) fn permutation(on: Shape, random: &mut Random) -> Option<Action> {
    let permutation = shuffled([0, 1, 2], random);
    (on.channels == 3).then(|| PermuteChannels { permutation }.into())
}
