//! `SingleRow`: the row of one sample, decoded without a loader.

use tarflume_image::make_room;
use tarflume_types::{PictureShape, Result, Row, RowShape};

use super::settings::Image;
use crate::decode::{Decode, Sample, Scratch};

/// A row of a column, and its buffer, which is used again for the next row.
#[derive(Debug, Default)]
pub struct SingleRow {
    /// In `u64`s, so that the row is aligned for any type.
    words: Vec<u64>,
    used: usize,
    picture: Option<PictureShape>,
}

impl SingleRow {
    /// Decodes the row of a sample. A loader bounds the memory of a row of variable size before it reads the sample. Here the
    /// header of the picture gives its size.
    ///
    /// # Errors
    /// Returns the errors of the decoder, and an error if memory is short.
    pub fn decode(
        &mut self,
        column: &dyn Decode,
        sample: &Sample<'_>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let fixed = column.shape().bytes();
        let room = match fixed {
            Some(bytes) => bytes,
            None => row_bytes(column, sample)?,
        };
        make_room(&mut self.words, room.div_ceil(size_of::<u64>()))?;
        let bytes = &mut bytemuck::cast_slice_mut(&mut self.words)[..room];
        self.used = room;
        self.picture = None;
        let row = match column.shape() {
            RowShape::Fixed(..) => Row::fixed(bytes),
            RowShape::Padded(_) | RowShape::Packed(_) => Row::variable(bytes, &mut self.used),
            RowShape::Variable(_) => Row::pictured(bytes, &mut self.used, &mut self.picture),
        };
        let done = column.decode(sample, row, scratch);
        scratch.release();
        done
    }

    /// The bytes of the row.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.used]
    }

    /// The shape of the row, which is one of `column`.
    pub fn dims(&self, column: &dyn Decode) -> Vec<usize> {
        match (self.picture, column.shape()) {
            (Some(picture), _) => picture.dims().to_vec(),
            (None, RowShape::Fixed(_, dims)) => dims,
            (None, shape) => vec![self.used / shape.dtype().size()],
        }
    }
}

/// Bytes of the row of a column of variable size.
fn row_bytes(column: &dyn Decode, sample: &Sample<'_>) -> Result<usize> {
    let image = column.hooks().and_then(|hooks| hooks.as_image()?.downcast_ref::<Image>());
    let bytes = match image {
        Some(image) => {
            let pixels = image.row_size(sample)?.pixels();
            let each = image.channels.count() * column.shape().dtype().size();
            pixels.saturating_mul(each as u64)
        }
        None => {
            column.room(&sample.parts.iter().map(|(_, part)| part.len() as u64).collect::<Vec<_>>())
        }
    };
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{Photo, PhotoKind};
    use tarflume_transforms::Recipe;

    use super::*;

    fn sample<'a>(parts: &'a [(&'a str, &'a [u8])]) -> Sample<'a> {
        Sample { seed: 7, parts, ..Sample::default() }
    }

    #[test]
    fn a_picture_whose_bound_is_larger_than_memory_takes_what_its_header_says() {
        let photo = Photo::new(500, 375, PhotoKind::Yuv420).encode(1).unwrap();
        let turn = r#"[{"RandomRotation": {"degrees": [30.0, 30.0], "expand": true}}]"#;
        let image = Image::new("jpg", serde_json::from_str::<Recipe>(turn).unwrap());
        let mut row = SingleRow::default();
        row.decode(&image, &sample(&[("jpg", &photo)]), &mut Scratch::default()).unwrap();
        let dims = row.dims(&image);
        assert_eq!(row.bytes().len(), dims.iter().product::<usize>());
        assert!(dims[0] > 500 && dims[0] < 700 && dims[2] == 3, "{dims:?}");
    }

    #[test]
    fn a_header_that_claims_too_much_is_an_error() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend([0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 8, 2, 0, 0, 0, 0, 0, 0, 0]);
        let flip = r#"[{"RandomHorizontalFlip": {}}]"#;
        let image = Image::new("png", serde_json::from_str::<Recipe>(flip).unwrap());
        let mut row = SingleRow::default();
        row.decode(&image, &sample(&[("png", &png)]), &mut Scratch::default()).unwrap_err();
    }
}
