//! `PatchColumn`: one column of the patches of pictures.

use std::mem;

use tarflume_image::{Layout, StoredPicture, StoredRegion, make_room};
use tarflume_types::{DType, Error, ErrorKind, PictureShape, Result, Row, RowShape};

use super::cut::{Cut, Grid, PixelBytes};
use crate::decode::pictures::image::Image;
use crate::decode::{Decode, DecodeHooks, ObjectRows, Sample, Scratch};

/// What a column of patches has of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchView {
    Pixels,
    Coordinates,
    Mask,
    Grid,
}

/// One column of [`Patches`](crate::Patches).
#[derive(Debug, Clone)]
pub struct PatchColumn {
    pub(super) image: Image,
    pub(super) cut: Cut,
    /// Patches of each row; `None` if rows have as many as their pictures.
    pub(super) tokens: Option<usize>,
    pub(super) view: PatchView,
}

/// A picture before it is cut. In `u64`s, so that its elements are aligned.
#[derive(Default)]
struct PatchBuffer(Vec<u64>);

impl PatchColumn {
    fn dtype(&self) -> DType {
        match self.view {
            PatchView::Pixels => self.image.shape().dtype(),
            PatchView::Coordinates => DType::I32,
            PatchView::Mask => DType::Bool,
            PatchView::Grid => DType::I64,
        }
    }

    /// Elements of one patch in a row.
    fn each(&self) -> usize {
        match self.view {
            PatchView::Pixels => self.cut.elements(self.image.channels_of_row()),
            PatchView::Coordinates => 2,
            PatchView::Mask | PatchView::Grid => 1,
        }
    }

    /// Bytes of a row with this grid.
    ///
    /// # Errors
    /// The picture has more patches than a row.
    fn row_bytes(&self, grid: Grid) -> Result<usize> {
        let patches = grid.patches();
        let tokens = self.tokens.unwrap_or(patches);
        if patches > tokens {
            let Grid { down, across } = grid;
            let text = format!(
                "a picture of {down} x {across} patches has more than the {tokens} of a row"
            );
            return Err(Error::new(ErrorKind::Decode, text));
        }
        Ok(patches * self.each() * self.dtype().size())
    }

    /// Decodes the picture, and cuts it into the row.
    fn cut(&self, sample: &Sample<'_>, row: &mut Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let mut kept = mem::take(scratch.get::<PatchBuffer>());
        let result = self.cut_from(sample, row, scratch, &mut kept.0);
        if kept.0.capacity() * size_of::<u64>() > Scratch::KEEP {
            kept.0 = Vec::new();
        }
        *scratch.get() = kept;
        result
    }

    fn cut_from(
        &self,
        sample: &Sample<'_>,
        row: &mut Row<'_>,
        scratch: &mut Scratch,
        kept: &mut Vec<u64>,
    ) -> Result<()> {
        let PatchColumn { image, cut, .. } = self;
        let element = self.dtype().size();
        let size = image.size_of_row(sample)?;
        let grid = cut.grid(size)?;
        let bytes = self.row_bytes(grid)?;
        let channels = image.channels_of_row();
        let room = size.pixels().saturating_mul((channels * element) as u64);
        scratch.reserve_around(room)?;
        make_room(kept, room.div_ceil(8) as usize)?;
        let mut used = 0;
        let mut shape: Option<PictureShape> = None;
        let pixels = &mut bytemuck::cast_slice_mut(kept)[..room as usize];
        let own = match image.shape() {
            RowShape::Fixed(..) => Row::fixed(pixels),
            _ => Row::pictured(pixels, &mut used, &mut shape),
        };
        image.decode(sample, own, scratch)?;
        let to = put(row, bytes)?;
        cut.copy(bytemuck::cast_slice(kept), grid, PixelBytes { channels, element }, to);
        Ok(())
    }
}

/// The first `bytes` bytes of a row, which are all of a variable one. Those behind them become zeros.
fn put<'a>(row: &'a mut Row<'_>, bytes: usize) -> Result<&'a mut [u8]> {
    row.set_used(bytes);
    let room = row.bytes().len();
    let all = row.bytes();
    if bytes > room {
        let text = format!("patches of {bytes} bytes do not fit a row of {room}");
        return Err(Error::new(ErrorKind::Decode, text));
    }
    all[bytes..].fill(0);
    Ok(&mut all[..bytes])
}

impl Decode for PatchColumn {
    fn parts(&self) -> Vec<String> {
        self.image.parts()
    }

    fn shape(&self) -> RowShape {
        let dtype = self.dtype();
        match (self.view, self.tokens) {
            (PatchView::Grid, _) => RowShape::Fixed(dtype, vec![2]),
            (PatchView::Mask, Some(tokens)) => RowShape::Fixed(dtype, vec![tokens]),
            (_, Some(tokens)) => RowShape::Fixed(dtype, vec![tokens, self.each()]),
            (_, None) => RowShape::Variable(dtype),
        }
    }

    fn validate(&self) -> Result<()> {
        let PatchColumn { image, cut, tokens, .. } = self;
        image.validate()?;
        cut.check()?;
        if image.layout_of_row() != Layout::Hwc {
            let text = "patches are cut from pictures [height, width, channels]: leave out channels_first of the picture";
            return Err(Error::usage(text));
        }
        match tokens {
            Some(0) => Err(Error::usage("a row has at least one patch")),
            None if self.view == PatchView::Mask => Err(Error::usage(
                "a mask is for padded patches: without padding, all patches are of pictures",
            )),
            _ => Ok(()),
        }
    }

    fn room(&self, lengths: &[u64]) -> u64 {
        self.room_for(self.image.room(lengths))
    }

    fn group(&self) -> usize {
        match self.view {
            PatchView::Pixels => self.image.group(),
            PatchView::Coordinates | PatchView::Mask | PatchView::Grid => 1,
        }
    }

    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        self.image.prepare(samples, scratch);
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        if self.view == PatchView::Pixels {
            return self.cut(sample, &mut row, scratch);
        }
        let cut = self.cut;
        let grid = cut.grid(self.image.size_of_row(sample)?)?;
        if self.view == PatchView::Grid {
            return row.put(bytemuck::cast_slice(&[grid.down as i64, grid.across as i64]));
        }
        let bytes = self.row_bytes(grid)?;
        let to = put(&mut row, bytes)?;
        if self.view == PatchView::Mask {
            to.fill(1);
            return Ok(());
        }
        let mut places = to.chunks_exact_mut(2 * size_of::<i32>());
        cut.places(grid, |row, column| {
            if let Some(to) = places.next() {
                to.copy_from_slice(bytemuck::cast_slice(&[row as i32, column as i32]));
            }
        });
        Ok(())
    }

    fn wants_entry_points(&self) -> bool {
        self.view == PatchView::Pixels && self.image.wants_entry_points()
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl PatchColumn {
    /// Bytes of a row, from those of its picture.
    fn room_for(&self, picture: u64) -> u64 {
        let PatchColumn { image, cut, .. } = self;
        let element = image.shape().dtype().size();
        let patch = cut.elements(image.channels_of_row()) / cut.frames.max(1) as usize * element;
        let patches = picture.div_ceil(patch.max(1) as u64);
        patches.saturating_mul((self.each() * self.dtype().size()) as u64)
    }
}

impl DecodeHooks for PatchColumn {
    fn operations(&self) -> Vec<String> {
        match self.view {
            PatchView::Pixels => DecodeHooks::operations(&self.image),
            PatchView::Coordinates | PatchView::Mask | PatchView::Grid => Vec::new(),
        }
    }

    /// Without padding, each patch is an object of its row: on a device, too, they are one array with bounds.
    fn objects(&self) -> Option<ObjectRows> {
        let is_ragged = self.tokens.is_none() && self.view != PatchView::Grid;
        is_ragged.then(|| ObjectRows::Numbers(vec![self.each()]))
    }

    fn wants_pixels(&self) -> bool {
        self.tokens.is_none() && self.view != PatchView::Grid
    }

    fn room_of(&self, lengths: &[u64], pixels: &[Option<u64>]) -> Option<u64> {
        let picture = DecodeHooks::room_of(&self.image, lengths, pixels)?;
        Some(self.room_for(picture))
    }

    /// Other columns read the header, and are not told which bytes of the part are there.
    fn takes_excerpts(&self) -> bool {
        self.view == PatchView::Pixels
    }

    fn region(&self, picture: &StoredPicture) -> Option<StoredRegion> {
        if self.takes_excerpts() { DecodeHooks::region(&self.image, picture) } else { None }
    }

    fn lacks_boxes(&self) -> bool {
        DecodeHooks::lacks_boxes(&self.image)
    }

    fn lacks_bucket(&self) -> bool {
        DecodeHooks::lacks_bucket(&self.image)
    }
}
