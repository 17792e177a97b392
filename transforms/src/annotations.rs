//! Annotations: boxes, points and masks that move with the picture.
//!
//! Coordinates are pixels from the left and from the top, in double precision. Each action moves them as the kernel of
//! `torchvision.transforms.v2` with its name moves `BoundingBoxes`, `KeyPoints` and `Mask`. So the edges of a box are on a
//! scale where the picture reaches from 0 to its width, and a point at 0 is the center of the first pixel where a picture is
//! mirrored. What is not a number stays so. A box keeps its place in the list.
//!
//! Functions for a whole list follow each action in turn. Actions that change colors move nothing.

mod boxes;
mod masks;
mod points;
mod rotated;
mod sanitize;
mod way;

use tarflume_image::ImageSize;
use tarflume_types::{Error, Result};

use crate::actions::Action;

pub use self::rotated::{
    RotatedBox, around, clamp_rotated_box, corners, corners_from_first, fitted, from_corners,
    mirrored_corners, place_rotated_boxes, shown_area, shown_around, shown_part,
};
pub use self::sanitize::{Sanitize, sanitize};

/// Moves boxes through actions that were drawn for a picture of size `on`: left, top, right, bottom. Returns the size of the
/// picture after them.
///
/// # Errors
/// Returns a usage error if the actions mix copies of the picture that were moved differently, or if a matrix has no inverse,
/// and an error if memory is short.
///
/// ```
/// use tarflume::transforms::actions::{Crop, HorizontalFlip};
/// use tarflume::transforms::annotations::move_boxes;
///
/// let actions = [Crop { top: 0, left: 10, height: 20, width: 30 }.into(), HorizontalFlip {}.into()];
/// let mut boxes = [[0.0, 5.0, 15.0, 25.0]];
/// let size = move_boxes(&actions, (40, 50).into(), &mut boxes)?;
/// assert_eq!(boxes, [[25.0, 5.0, 30.0, 20.0]]);
/// assert_eq!((size.width, size.height), (30, 20));
/// # Ok::<(), tarflume::Error>(())
/// ```
pub fn move_boxes(actions: &[Action], on: ImageSize, boxes: &mut [[f64; 4]]) -> Result<ImageSize> {
    follow(actions, on, |action, size| action.move_boxes(size, boxes))
}

/// As [`move_boxes`], and multiplies each number of `visible` by the part of its box that is still in the picture. The numbers
/// begin with 1. A box that an action leaves out has 0, and so has one of which nothing is left. `visible` has one for each box.
///
/// # Errors
/// As [`move_boxes`].
///
/// ```
/// use tarflume::transforms::actions::Crop;
/// use tarflume::transforms::annotations::move_seen_boxes;
///
/// let crop = Crop { top: 0, left: 0, height: 10, width: 10 };
/// let mut boxes = [[5.0, 0.0, 25.0, 10.0]];
/// let mut visible = [1.0];
/// move_seen_boxes(&[crop.into()], (40, 50).into(), &mut boxes, &mut visible)?;
/// assert_eq!(visible, [0.25]);
/// # Ok::<(), tarflume::Error>(())
/// ```
pub fn move_seen_boxes(
    actions: &[Action],
    on: ImageSize,
    boxes: &mut [[f64; 4]],
    visible: &mut [f64],
) -> Result<ImageSize> {
    follow(actions, on, |action, size| action.move_seen_boxes(size, boxes, visible))
}

/// Moves boxes with an angle through actions that were drawn for a picture of size `on`. Each is four corners: upper left,
/// upper right, lower right, lower left of the box before it was turned. Returns the size of the picture after them.
///
/// # Errors
/// As [`move_boxes`].
pub fn move_rotated_boxes(
    actions: &[Action],
    on: ImageSize,
    boxes: &mut [RotatedBox],
) -> Result<ImageSize> {
    follow(actions, on, |action, size| action.move_rotated_boxes(size, boxes))
}

/// As [`move_rotated_boxes`], and multiplies each number of `visible` by the part of what the picture showed of its box that it
/// shows after the actions. The numbers begin with [`shown_part`], or with 1. A box that an action leaves out has 0, and so has
/// one of which nothing is left. `visible` has one for each box.
///
/// # Errors
/// As [`move_boxes`].
///
/// ```
/// use tarflume::transforms::actions::Crop;
/// use tarflume::transforms::annotations::{corners, move_seen_rotated_boxes};
///
/// let crop = Crop { top: 0, left: 0, height: 40, width: 20 };
/// let mut boxes = [corners([20.0, 20.0, 8.0, 8.0, 45.0])];
/// let mut visible = [1.0];
/// move_seen_rotated_boxes(&[crop.into()], (40, 50).into(), &mut boxes, &mut visible)?;
/// assert!((visible[0] - 0.5).abs() < 1e-9);
/// # Ok::<(), tarflume::Error>(())
/// ```
pub fn move_seen_rotated_boxes(
    actions: &[Action],
    on: ImageSize,
    boxes: &mut [RotatedBox],
    visible: &mut [f64],
) -> Result<ImageSize> {
    follow(actions, on, |action, size| action.move_seen_rotated_boxes(size, boxes, visible))
}

/// Moves points through actions that were drawn for a picture of size `on`: x, y. Returns the size of the picture after them.
///
/// # Errors
/// As [`move_boxes`].
pub fn move_points(
    actions: &[Action],
    on: ImageSize,
    points: &mut [[f64; 2]],
) -> Result<ImageSize> {
    follow(actions, on, |action, size| action.move_points(size, points))
}

/// The actions that move a mask as these actions move the picture: with the nearest pixel, and with `fill` where the picture
/// was not. They are for a picture of one channel.
///
/// # Errors
/// Returns a usage error if the actions mix copies of the picture that were moved differently.
pub fn mask_actions(actions: &[Action], fill: u8) -> Result<Vec<Action>> {
    check_mixes(actions)?;
    Ok(actions.iter().filter_map(|action| action.on_mask(fill)).collect())
}

/// Whether the actions mirror the picture: an odd number of times. Then the left hand of a person is on the other side of the
/// picture, and two points of a pair are exchanged.
pub fn mirrors(actions: &[Action]) -> bool {
    actions.iter().fold(false, |mirrored, action| mirrored ^ action.mirrors())
}

/// Calls `moved` with each action and the size of the picture before it. Returns the size after all.
fn follow(
    actions: &[Action],
    on: ImageSize,
    mut moved: impl FnMut(&Action, ImageSize) -> Result<()>,
) -> Result<ImageSize> {
    check_mixes(actions)?;
    let mut size = on;
    for action in actions {
        moved(action, size)?;
        size = action.size(size);
    }
    Ok(size)
}

/// Checks that no copy of the picture in a mix is moved.
///
/// # Errors
/// Returns a usage error otherwise.
pub(crate) fn check_mixes(actions: &[Action]) -> Result<()> {
    let mut is_mixed = false;
    for action in actions {
        match action {
            Action::MixBegin(_) => is_mixed = true,
            Action::MixEnd(_) => is_mixed = false,
            _ if is_mixed && action.moves() => return Err(mixed()),
            _ => {}
        }
    }
    Ok(())
}

/// The error of a mix of moved copies.
fn mixed() -> Error {
    Error::usage(
        "the actions mix copies of the picture that were moved differently, as AugMix does, so boxes, points and masks cannot \
         follow; use a recipe without AugMix for pictures with annotations",
    )
}

#[cfg(test)]
mod tests;
