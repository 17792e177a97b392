//! Masks of objects: painted on the stored picture, turned, and moved with the nearest pixel.

use tarflume_annotations::turn;
use tarflume_image::{ImageSize, Placement, make_room};
use tarflume_transforms::annotations::mask_actions;
use tarflume_transforms::{Shape, apply, memory};
use tarflume_types::{Error, ErrorKind, PictureShape, Result, Row};

use super::group::Group;
use super::kept::Kept;

/// What is where the picture was not.
const OUTSIDE: u8 = 0;

impl Group {
    /// Bytes of memory for one mask while it is painted and moved.
    pub(super) fn memory_of_masks(&self, at: usize, kept: &Kept) -> u64 {
        let Some(geometry) = &kept.geometry else { return 0 };
        let on = Shape { size: geometry.upright(), channels: 1 };
        // An error is reported when the masks are written.
        let moving = mask_actions(&kept.actions, OUTSIDE).map_or(0, |actions| memory(&actions, on));
        let ImageSize { width, height } = geometry.stored;
        let pixels = geometry.stored.pixels();
        // An edge crosses each column of pixels once at most; lists of crossings grow by doubling.
        let edges = kept.lists[at].shapes.most_edges() as u64;
        let crossings = 16 * pixels.min(edges.saturating_mul(width.max(height).into()));
        pixels.saturating_mul(2).saturating_add(crossings).saturating_add(moving)
    }

    /// Writes the masks of column `at`: `[objects, height, width]`.
    ///
    /// # Errors
    /// Memory is short, or the row is.
    pub(super) fn write_masks(&self, at: usize, kept: &mut Kept, mut row: Row<'_>) -> Result<()> {
        let Kept { lists, chosen, geometry, size, painter, plane, frame, actions, .. } = kept;
        let Some(geometry) = *geometry else { return Ok(()) };
        let upright = geometry.upright();
        let on = if self.is_upright { upright } else { geometry.stored };
        let each = size.pixels() as usize;
        let room = row.bytes().len();
        if each.checked_mul(chosen.len()).is_none_or(|bytes| bytes > room) {
            let text = format!("{} masks of {size} do not fit a row of {room} bytes", chosen.len());
            return Err(Error::new(ErrorKind::Decode, text));
        }
        let moves = mask_actions(actions, OUTSIDE)?;
        make_room(plane, on.pixels() as usize)?;
        for (&object, to) in chosen.iter().zip(row.bytes().chunks_exact_mut(each.max(1))) {
            painter.paint(lists[at].shapes.get(object), on, 1, plane);
            let pixels = frame.begin(upright, 1)?;
            if self.is_upright {
                pixels.copy_from_slice(plane);
            } else {
                turn::plane(plane, geometry.turn, geometry.stored, pixels);
            }
            match geometry.placement {
                Some(placement) => place(frame.pixels(), upright, &placement, to),
                None => {
                    apply(&moves, frame)?;
                    to.copy_from_slice(frame.pixels());
                }
            }
        }
        row.set_used(each * chosen.len());
        row.set_picture(PictureShape {
            height: size.height,
            width: size.width,
            channels: chosen.len() as u32,
            channels_first: true,
        });
        Ok(())
    }
}

/// Writes a plane as a placement makes it, with the pixel under the center of each pixel of the result.
pub(super) fn place<T: Copy>(from: &[T], size: ImageSize, by: &Placement, to: &mut [T]) {
    let width = by.size.width as usize;
    let last_column = by.cut.left + by.cut.size.width - 1;
    let last_row = by.cut.top + by.cut.size.height - 1;
    let wide = by.area.width / f64::from(by.size.width);
    let high = by.area.height / f64::from(by.size.height);
    for (y, row) in to.chunks_exact_mut(width.max(1)).enumerate() {
        let y = (by.area.top + (y as f64 + 0.5) * high) as u32;
        let line = y.clamp(by.cut.top, last_row) as usize * size.width as usize;
        for (x, pixel) in row.iter_mut().enumerate() {
            let x = if by.flip { width - 1 - x } else { x };
            let x = (by.area.left + (x as f64 + 0.5) * wide) as u32;
            *pixel = from[line + x.clamp(by.cut.left, last_column) as usize];
        }
    }
}
