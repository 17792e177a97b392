//! Masks of objects: painted on the stored picture, turned, and moved with the nearest pixel.

use tarflume_annotations::turn;
use tarflume_image::{ImageSize, Placement, make_room};
use tarflume_transforms::annotations::mask_actions;
use tarflume_transforms::{Shape, apply, memory};
use tarflume_types::{Error, ErrorKind, PictureShape, Result, Row};

use super::fields::{FieldKind, Masks};
use super::group::Group;
use super::kept::Kept;

/// What is where the picture was not.
const OUTSIDE: u8 = 0;
/// Pixels of a byte of bits.
const EIGHT: usize = 8;
/// The most lines of a picture whose size is not known.
const MOST_LINES: u64 = 65_536;

impl Group {
    /// The most bytes of one mask in a row. `pixels` are those of the stored picture, if they are known.
    pub(super) fn bytes_of_mask(&self, of: &Masks, pixels: Option<u64>) -> u64 {
        let most = self.image.result_pixels(pixels);
        match self.image.result_size() {
            _ if !of.bits => most,
            Some(size) => u64::from(size.height) * line_of_bits(size) as u64,
            // The last byte of a line may have one pixel.
            None => most.min((most / EIGHT as u64).saturating_add(MOST_LINES)),
        }
    }

    /// Whether the masks of column `at` are bits.
    fn are_bits(&self, at: usize) -> bool {
        matches!(&self.columns[at].kind, FieldKind::Masks(of) if of.bits)
    }

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
        let placed = if self.are_bits(at) { kept.size.pixels() } else { 0 };
        let painting = pixels.saturating_mul(2).saturating_add(crossings);
        painting.saturating_add(moving).saturating_add(placed)
    }

    /// Writes the masks of column `at`: `[objects, height, width]`, or their bits.
    ///
    /// # Errors
    /// Memory is short, or the row is.
    pub(super) fn write_masks(&self, at: usize, kept: &mut Kept, mut row: Row<'_>) -> Result<()> {
        let Kept { lists, chosen, geometry, size, painter, plane, placed, frame, actions, .. } =
            kept;
        let Some(geometry) = *geometry else { return Ok(()) };
        let upright = geometry.upright();
        let on = if self.is_upright { upright } else { geometry.stored };
        let are_bits = self.are_bits(at);
        let line = if are_bits { line_of_bits(*size) } else { size.width as usize };
        let each = size.height as usize * line;
        let room = row.bytes().len();
        if each.checked_mul(chosen.len()).is_none_or(|bytes| bytes > room) {
            let text = format!("{} masks of {size} do not fit a row of {room} bytes", chosen.len());
            return Err(Error::new(ErrorKind::Decode, text));
        }
        let moves = mask_actions(actions, OUTSIDE)?;
        make_room(plane, on.pixels() as usize)?;
        make_room(placed, if are_bits { size.pixels() as usize } else { 0 })?;
        for (&object, to) in chosen.iter().zip(row.bytes().chunks_exact_mut(each.max(1))) {
            painter.paint(lists[at].shapes.get(object), on, 1, plane);
            let pixels = frame.begin(upright, 1)?;
            if self.is_upright {
                pixels.copy_from_slice(plane);
            } else {
                turn::plane(plane, geometry.turn, geometry.stored, pixels);
            }
            let whole = if are_bits { &mut placed[..] } else { &mut *to };
            match geometry.placement {
                Some(placement) => place(frame.pixels(), upright, &placement, whole),
                None => {
                    apply(&moves, frame)?;
                    whole.copy_from_slice(frame.pixels());
                }
            }
            if are_bits {
                pack(placed, size.width as usize, to);
            }
        }
        row.set_used(each * chosen.len());
        row.set_picture(PictureShape {
            height: size.height,
            width: line as u32,
            channels: chosen.len() as u32,
            channels_first: true,
        });
        Ok(())
    }
}

/// Bytes of a line of bits.
fn line_of_bits(size: ImageSize) -> usize {
    (size.width as usize).div_ceil(EIGHT)
}

/// Writes the bits of a plane of this width: each line begins with a byte, whose highest bit is the first pixel.
fn pack(plane: &[u8], width: usize, to: &mut [u8]) {
    let lines = to.chunks_exact_mut(width.div_ceil(EIGHT).max(1));
    for (pixels, line) in plane.chunks_exact(width.max(1)).zip(lines) {
        for (pixels, byte) in pixels.chunks(EIGHT).zip(line) {
            let bits = pixels.iter().enumerate();
            *byte =
                bits.fold(0, |all, (at, &pixel)| all | u8::from(pixel != 0) << (EIGHT - 1 - at));
        }
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
