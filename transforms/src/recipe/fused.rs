//! `Fused`: the first actions of a sample as one placement, which a decoder carries out while it decodes.

use tarflume_image::resize::columns_first;
use tarflume_image::{Area, Cut, ImageSize, Placement};

use crate::actions::{Action, Crop, Resize};
use crate::settings::Interpolation;

/// Pixels beside an area that a filter may read, for each pixel of the source that becomes one of the result; Lanczos reads
/// the most. One more for what rounding moves.
const REACH: f64 = 3.0;

/// Actions that were joined: a crop, a resize, a crop of its result, and a flip, each of which may be missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fused {
    /// What is resized, or the result if nothing is.
    cut: Cut,
    /// The size that it is resized to.
    resized: Option<ImageSize>,
    /// What is taken of the resized picture.
    window: Cut,
    flip: bool,
    /// The filter of the resize that may be joined.
    interpolation: Interpolation,
}

impl Fused {
    /// No action on a picture of size `source` yet. A resize of another interpolation is not joined.
    pub(crate) fn new(source: ImageSize, interpolation: Interpolation) -> Fused {
        let whole = Cut::whole(source);
        Fused { cut: whole, resized: None, window: whole, flip: false, interpolation }
    }

    /// Joins actions as far as that is possible. Returns their number.
    pub(crate) fn join(&mut self, actions: &[Action]) -> usize {
        actions.iter().take_while(|action| self.join_one(action)).count()
    }

    /// Joins an action. Returns false if that is impossible.
    fn join_one(&mut self, action: &Action) -> bool {
        match action {
            Action::HorizontalFlip(_) => {
                self.flip = !self.flip;
                true
            }
            // It changes no pixel.
            Action::KeepCenters(_) => true,
            // What follows a flip would have to be mirrored, and a mirrored resize rounds otherwise.
            _ if self.flip => false,
            Action::Crop(crop) => self.join_crop(*crop),
            Action::Resize(resize) => self.join_resize(*resize),
            _ => false,
        }
    }

    fn join_crop(&mut self, crop: Crop) -> bool {
        fn inside(first: u32, length: u32, all: u32) -> bool {
            length > 0 && u64::from(first) + u64::from(length) <= u64::from(all)
        }

        let Crop { top, left, height, width } = crop;
        let on = if self.resized.is_some() { &mut self.window } else { &mut self.cut };
        if !inside(left, width, on.size.width) || !inside(top, height, on.size.height) {
            return false;
        }
        let size = ImageSize::new(width, height);
        *on = Cut { left: on.left + left, top: on.top + top, size };
        true
    }

    fn join_resize(&mut self, resize: Resize) -> bool {
        let [height, width] = resize.size;
        let size = ImageSize::new(width, height);
        if self.resized.is_some() || resize.interpolation != self.interpolation {
            return false;
        }
        self.resized = Some(size);
        self.window = Cut::whole(size);
        true
    }

    /// The joined actions.
    pub(crate) fn placement(&self) -> Placement {
        let Fused { cut, resized, window, flip, .. } = *self;
        let Some(resized) = resized else {
            return Placement { flip, ..Placement::of(cut, cut.size) };
        };
        if window.size == resized {
            return Placement { flip, ..Placement::of(cut, resized) };
        }
        let [left, width, first, columns] =
            part([cut.left, cut.size.width], resized.width, [window.left, window.size.width]);
        let [top, height, first_row, rows] =
            part([cut.top, cut.size.height], resized.height, [window.top, window.size.height]);
        let needed = Cut {
            left: first as u32,
            top: first_row as u32,
            size: ImageSize::new(columns as u32, rows as u32),
        };
        let area = Area { left, top, width, height };
        let placement = Placement { cut: needed, area, size: window.size, flip };
        if columns_first(&placement) == columns_first(&Placement::of(cut, resized)) {
            return placement;
        }
        // Bicubic and Lanczos would process the axes of the part in the other order, and round otherwise.
        Placement { cut, ..placement }
    }
}

/// One axis of a crop of a resized picture: the start and the length of the area in the source, and the first and the number
/// of the pixels that a filter may read. Each argument has a start and a length.
fn part(cut: [u32; 2], resized: u32, window: [u32; 2]) -> [f64; 4] {
    let [first, all] = cut.map(f64::from);
    let factor = all / f64::from(resized);
    let [start, length] = window.map(|number| f64::from(number) * factor);
    let reach = (REACH * factor.max(1.0)).ceil() + 1.0;
    let least = (start - reach).floor().max(0.0);
    let most = (start + length + reach).ceil().min(all);
    [first + start, length, first + least, most - least]
}

#[cfg(test)]
mod tests;
