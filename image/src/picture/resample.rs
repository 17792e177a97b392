//! Draws a batch of pictures of different sizes and sources as pictures of one size. The [`RowHeader`] of
//! each row describes its picture.
//!
//! On the host, with the resizer of decoded pictures, which the kernel is tested against.

use tarflume_types::{Error, Result};

use crate::picture::convert::{Finish, Pictures};
use crate::picture::resizing::crop::RowPixels;
use crate::picture::row_header::{Format, PixelSource, RowHeader, RowPicture};
use crate::picture::yuv420::from_planes;

/// Rows of equal length, without gaps.
#[derive(Debug, Clone, Copy)]
pub struct Strides<'a> {
    /// The bytes of all rows.
    pub bytes: &'a [u8],
    /// Bytes from the beginning of one row to the next.
    pub stride: usize,
}

impl<'a> Strides<'a> {
    /// Row `number`; `None` if it is not wholly within the bytes.
    fn row(&self, number: u64) -> Option<&'a [u8]> {
        let start = usize::try_from(number).ok()?.checked_mul(self.stride)?;
        self.bytes.get(start..start.checked_add(self.stride)?)
    }
}

/// Checks the distance in bytes between row headers, which the kernel relies on.
///
/// # Errors
/// Returns an error if it is shorter than a header or not a multiple of 16 bytes.
pub fn check_stride(stride: u64) -> Result<()> {
    if stride >= RowHeader::BYTES as u64 && stride.is_multiple_of(16) {
        return Ok(());
    }
    let text = format!(
        "row headers {stride} bytes apart: use a multiple of 16, at least {}",
        RowHeader::BYTES
    );
    Err(Error::usage(text))
}

impl Finish {
    /// Draws each row on the host as its header describes. `heads` holds a header at the beginning of each
    /// of its rows; the picture follows it or is in a row of the `store`. `drawn` is the shape of the
    /// output before conversion; `out` has the shape [`Finish::shape`]. A row without a picture, or whose
    /// picture is not wholly within its row, becomes the conversion of zero bytes.
    ///
    /// # Errors
    /// Returns an error if a slice does not have the expected length, if the headers are too close to each
    /// other, or if a box is outside its picture.
    pub fn draw_on_host(
        &self,
        heads: Strides<'_>,
        store: Strides<'_>,
        drawn: &Pictures,
        out: &mut [u8],
    ) -> Result<()> {
        check_stride(heads.stride as u64)?;
        let needed = drawn.rows().checked_mul(heads.stride);
        if needed != Some(heads.bytes.len()) || out.len() != self.output_bytes(drawn) {
            let text = format!(
                "{} rows of {} bytes in {}, drawn in {} bytes where {} are needed",
                drawn.rows(),
                heads.stride,
                heads.bytes.len(),
                out.len(),
                self.output_bytes(drawn)
            );
            return Err(Error::usage(text));
        }
        let outs = out.chunks_exact_mut(drawn.row_bytes() * self.element().bytes());
        for (row, out) in heads.bytes.chunks_exact(heads.stride).zip(outs) {
            let (head, behind) = row.split_at(RowHeader::BYTES);
            let head: RowHeader = bytemuck::pod_read_unaligned(head);
            let room = match head.from() {
                PixelSource::Row => Some(behind),
                PixelSource::Store => store.row(head.number()),
                PixelSource::Nothing => None,
            };
            self.draw_head(&head, room, drawn, out)?;
        }
        Ok(())
    }

    fn draw_head(
        &self,
        head: &RowHeader,
        room: Option<&[u8]>,
        drawn: &Pictures,
        out: &mut [u8],
    ) -> Result<()> {
        let described = head.picture().and_then(|picture| {
            let needed = picture.format.bytes(picture.size, drawn.channels()).ok()?;
            Some((picture, room?.get(..needed)?))
        });
        let Some((picture, bytes)) = described else {
            for at in 0..drawn.row_bytes() {
                let pixel = at / drawn.channels();
                let channel = at % drawn.channels();
                self.put(out, self.place(drawn, channel, pixel), channel, 0.0);
            }
            return Ok(());
        };
        picture.area.check(picture.size)?;
        let RowPicture { size, ref area, flip, .. } = picture;
        match picture.format {
            Format::Pixels => self.draw_row(&RowPixels { size, bytes, area, flip }, drawn, out),
            Format::Yuv420 => {
                let pixels = from_planes(size, bytes);
                self.draw_row(&RowPixels { size, bytes: &pixels, area, flip }, drawn, out)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::geometry::{Cut, ImageSize};

    fn whole(size: ImageSize, flip: bool) -> RowPicture {
        RowPicture { format: Format::Pixels, size, area: Cut::whole(size).into(), flip }
    }

    #[test]
    fn each_row_is_drawn_from_the_box_in_its_header() {
        let tall = ImageSize::new(1, 2);
        let wide = ImageSize::new(2, 1);
        let heads = [
            RowHeader::row(whole(wide, true), 1, 16).unwrap(),
            RowHeader::store(whole(tall, false), 1, 1, 3).unwrap(),
            RowHeader::store(whole(wide, false), 1, 2, 3).unwrap(), // the store has two rows
            RowHeader::nothing(),
        ];
        let behind = [9, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7];
        let rows: Vec<u8> =
            heads.iter().flat_map(|head| [bytemuck::bytes_of(head), &behind].concat()).collect();
        let heads = Strides { bytes: &rows, stride: 80 };
        let store = Strides { bytes: &[0, 0, 0, 30, 30, 99, 1], stride: 3 };
        let drawn = Pictures::new(4, wide, 1).unwrap();
        let mut out = vec![1; 8];
        Finish::bytes().draw_on_host(heads, store, &drawn, &mut out).unwrap();
        assert_eq!(out, [5, 9, 30, 30, 0, 0, 0, 0]);
    }

    #[test]
    fn buffers_of_wrong_size_are_refused() {
        fn draw(bytes: &[u8], stride: usize, out: &mut [u8]) -> Result<()> {
            let none = Strides { bytes: &[], stride: 0 };
            let drawn = Pictures::new(2, ImageSize::new(1, 1), 3).unwrap();
            Finish::bytes().draw_on_host(Strides { bytes, stride }, none, &drawn, out)
        }

        let rows = bytemuck::bytes_of(&RowHeader::nothing()).repeat(2);
        assert!(draw(&rows, 64, &mut [0; 6]).is_ok());
        assert!(draw(&rows, 64, &mut [0; 5]).is_err());
        assert!(draw(&rows[..64], 64, &mut [0; 6]).is_err());
        assert!(draw(&rows[..96], 48, &mut [0; 6]).is_err());
        assert!(check_stride(72).is_err());
        assert!(check_stride(0).is_err());
    }
}
