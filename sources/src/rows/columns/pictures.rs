//! `RowPicture`: a row of an array as a picture, and its PNG. Pure.
//!
//! The PNG of a row is the same in every run: planning encodes it for its size, and packing encodes it again.

use png::{BitDepth, ColorType, Compression, Encoder};
use serde::{Deserialize, Serialize};

use crate::rows::places::reader::CellFault;

/// The order of the dimensions of a picture in memory, as the option `layout` names it: `chw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The letters `h`, `w` and, of three dimensions, `c`.
    letters: [u8; 3],
    dims: usize,
}

impl Layout {
    /// Parses a layout; `None` if the text is none.
    pub(crate) fn of_word(word: &str) -> Option<Layout> {
        let mut letters = [0; 3];
        letters.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
        let mut sorted = letters;
        sorted[..word.len()].sort_unstable();
        let is_known = matches!(&sorted[..word.len()], b"hw" | b"chw");
        is_known.then_some(Layout { letters, dims: word.len() })
    }

    /// Returns the layout of so many dimensions: a picture of two has no channels.
    fn of_dims(self, dims: usize) -> Option<Layout> {
        if self.dims == dims {
            return Some(self);
        }
        let mut letters = [0; 3];
        let kept = self.letters.iter().copied().filter(|&letter| letter != b'c');
        letters.iter_mut().zip(kept).for_each(|(place, letter)| *place = letter);
        (self.dims == 3 && dims == 2).then_some(Layout { letters, dims })
    }
}

/// A row of whole numbers of 8 or 16 bits that is a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RowPicture {
    width: u32,
    height: u32,
    channels: u32,
    /// Bytes of a number: 1 or 2, little-endian.
    bytes: u32,
    /// Numbers from one pixel to the pixel below, to the one beside, and from channel to channel.
    steps: [u64; 3],
}

impl RowPicture {
    /// Returns the picture that rows of this shape are. Without a layout, channels come last.
    ///
    /// # Errors
    /// Returns why the rows are no pictures, with the option or the call that makes them some.
    pub(crate) fn of(
        row: &[u64],
        dtype: &str,
        layout: Option<Layout>,
    ) -> Result<RowPicture, String> {
        let bytes = match dtype {
            "uint8" => 1,
            "uint16" => 2,
            _ => {
                return Err(format!(
                    "its type is {dtype}, and pictures are of uint8 or uint16; save it as one of them: \
                     (x * 255).round().astype('uint8') of numbers from 0 to 1, x.astype('uint8') of truth values"
                ));
            }
        };
        let layout = match layout {
            Some(layout) => layout.of_dims(row.len()),
            None => default_layout(row)?,
        };
        let layout = layout.ok_or_else(|| no_picture(row))?;
        let mut sizes = [1u64; 3];
        let mut steps = [0u64; 3];
        let mut step = 1u64;
        for (letter, &size) in layout.letters[..layout.dims].iter().zip(row).rev() {
            let at = usize::from(*letter == b'w') + 2 * usize::from(*letter == b'c');
            sizes[at] = size;
            steps[at] = step;
            step = step.checked_mul(size).ok_or_else(|| no_picture(row))?;
        }
        let [height, width, channels] = sizes;
        if !matches!(channels, 1 | 3 | 4) {
            return Err(format!(
                "its rows have the shape {row:?}, which has {channels} channels with the layout {}; pictures have 1, 3 \
                 or 4{HOW}",
                layout.word()
            ));
        }
        let sides = (u32::try_from(width), u32::try_from(height));
        let (Ok(width), Ok(height)) = sides else { return Err(no_picture(row)) };
        Ok(RowPicture { width, height, channels: channels as u32, bytes, steps })
    }

    /// Returns the bytes of a row.
    fn row_bytes(self) -> u64 {
        let pixels = u64::from(self.width).saturating_mul(self.height.into());
        pixels.saturating_mul(u64::from(self.channels * self.bytes))
    }

    /// Returns the PNG of a row.
    ///
    /// # Errors
    /// Returns the encoder's reason, and an error for a row of another size.
    pub(crate) fn encode(self, row: &[u8]) -> Result<Vec<u8>, String> {
        if row.len() as u64 != self.row_bytes() {
            return Err(format!(
                "{} bytes are no picture of {} bytes",
                row.len(),
                self.row_bytes()
            ));
        }
        let mut out = Vec::with_capacity(row.len() / 2 + 128);
        let mut encoder = Encoder::new(&mut out, self.width, self.height);
        encoder.set_color(match self.channels {
            1 => ColorType::Grayscale,
            3 => ColorType::Rgb,
            _ => ColorType::Rgba,
        });
        encoder.set_depth(if self.bytes == 1 { BitDepth::Eight } else { BitDepth::Sixteen });
        // This level is of an encoder that no feature of a build exchanges.
        encoder.set_compression(Compression::Fast);
        let pixels = self.pixels(row);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(pixels.as_deref().unwrap_or(row))?;
            writer.finish()
        });
        written.map(|()| out).map_err(|e| e.to_string())
    }

    /// Returns the numbers in the order of a PNG, big-endian; `None` if the row has them so.
    fn pixels(self, row: &[u8]) -> Option<Vec<u8>> {
        let across = u64::from(self.channels);
        let down = u64::from(self.width) * across;
        let [below, beside, channel] = self.steps;
        let is_last = self.channels == 1 || channel == 1;
        if self.bytes == 1 && is_last && beside == across && below == down {
            return None;
        }
        let mut out = Vec::with_capacity(row.len());
        for y in 0..u64::from(self.height) {
            for x in 0..u64::from(self.width) {
                for c in 0..across {
                    let number = (y * below + x * beside + c * channel) as usize;
                    match self.bytes {
                        1 => out.push(row[number]),
                        _ => out.extend([row[2 * number + 1], row[2 * number]]),
                    }
                }
            }
        }
        Some(out)
    }

    /// Encodes a row into the space that planning computed for it.
    ///
    /// # Errors
    /// Returns an error if the PNG has another size: another version encodes otherwise.
    pub(crate) fn encode_into(self, row: &[u8], space: &mut [u8]) -> Result<(), CellFault> {
        let png = self.encode(row).map_err(CellFault::data)?;
        if png.len() != space.len() {
            let text = format!(
                "its PNG has {} bytes, and {} were planned; use the version that planned it",
                png.len(),
                space.len()
            );
            return Err(CellFault::data(text));
        }
        space.copy_from_slice(&png);
        Ok(())
    }
}

/// What the user can give.
const HOW: &str = "; if the dimensions have another order, name it: layout=chw for channels first, layout=cwh for channels \
                   first and columns before lines";

impl Layout {
    fn word(self) -> String {
        self.letters[..self.dims].iter().map(|&letter| char::from(letter)).collect()
    }
}

fn no_picture(row: &[u64]) -> String {
    format!("its rows have the shape {row:?}; pictures are [H, W] or [H, W, 1, 3 or 4]{HOW}")
}

/// Returns the layout of rows that states none; `None` if they are no pictures.
fn default_layout(row: &[u64]) -> Result<Option<Layout>, String> {
    match *row {
        [_, _] => Ok(Layout::of_word("hw")),
        [first, _, last] if matches!(first, 1 | 3 | 4) && matches!(last, 1 | 3 | 4) => {
            Err(format!(
                "its rows have the shape {row:?}, whose first or last number can be that of the channels; give \
                 layout=hwc or layout=chw"
            ))
        }
        [_, _, 1 | 3 | 4] => Ok(Layout::of_word("hwc")),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(png: &[u8]) -> (Vec<u8>, png::OutputInfo) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut out = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut out).unwrap();
        (out, info)
    }

    fn layout(word: &str) -> Option<Layout> {
        Some(Layout::of_word(word).unwrap())
    }

    /// The number of channel c at (y, x) of 2 lines of 5 pixels.
    fn number(y: u8, x: u8, c: u8) -> u8 {
        100 * c + 10 * y + x
    }

    #[test]
    fn pixels_of_all_layouts_are_those_of_lines_first() {
        let mut expected = Vec::new();
        for y in 0..2 {
            for x in 0..5 {
                expected.extend((0..3).map(|c| number(y, x, c)));
            }
        }
        for word in ["hwc", "chw", "cwh", "whc"] {
            let sizes: Vec<u64> = word
                .bytes()
                .map(|letter| match letter {
                    b'h' => 2,
                    b'w' => 5,
                    _ => 3,
                })
                .collect();
            let mut row = Vec::new();
            for a in 0..sizes[0] as u8 {
                for b in 0..sizes[1] as u8 {
                    for d in 0..sizes[2] as u8 {
                        let [y, x, c] =
                            ['h', 'w', 'c'].map(|letter| [a, b, d][word.find(letter).unwrap()]);
                        row.push(number(y, x, c));
                    }
                }
            }
            let picture = RowPicture::of(&sizes, "uint8", layout(word)).unwrap();
            let (pixels, info) = decoded(&picture.encode(&row).unwrap());
            assert_eq!((info.width, info.height), (5, 2), "{word}");
            assert_eq!(pixels, expected, "{word}");
            let same = RowPicture::of(&sizes, "uint8", None);
            assert_eq!(same.is_ok(), word == "hwc" || word == "whc", "{word}");
        }
    }

    #[test]
    fn numbers_of_16_bits_keep_all_of_them() {
        let row: Vec<u8> =
            [0x0102u16, 0xfffe, 7, 0x8000].iter().flat_map(|n| n.to_le_bytes()).collect();
        let picture = RowPicture::of(&[2, 2], "uint16", None).unwrap();
        let (pixels, info) = decoded(&picture.encode(&row).unwrap());
        assert_eq!(pixels, [1, 2, 0xff, 0xfe, 0, 7, 0x80, 0]);
        assert_eq!(info.bit_depth, BitDepth::Sixteen);
        let turned = RowPicture::of(&[2, 2], "uint16", layout("chw")).unwrap();
        assert_eq!(turned, picture);
        let turned = RowPicture::of(&[2, 2], "uint16", layout("wh")).unwrap();
        let (pixels, _) = decoded(&turned.encode(&row).unwrap());
        assert_eq!(pixels, [1, 2, 0, 7, 0xff, 0xfe, 0x80, 0]);
        assert!(picture.encode(&row[1..]).is_err());
    }

    fn why(row: &[u64], dtype: &str, word: Option<&str>) -> String {
        RowPicture::of(row, dtype, word.map(|word| Layout::of_word(word).unwrap())).unwrap_err()
    }

    #[test]
    fn what_is_no_picture_is_refused_with_what_to_give() {
        assert!(why(&[3, 32, 32], "uint8", None).contains("[3, 32, 32]"));
        assert!(why(&[3, 32, 32], "uint8", None).contains("layout=chw"));
        assert!(why(&[3, 32, 3], "uint8", None).contains("layout=hwc or layout=chw"));
        assert!(why(&[64, 64, 13], "uint16", None).contains("[64, 64, 13]"));
        assert!(why(&[64, 64, 13], "uint16", Some("hwc")).contains("has 13 channels"));
        assert!(why(&[784], "uint8", None).contains("[784]"));
        assert!(why(&[28, 28], "float32", None).contains("its type is float32"));
        assert!(why(&[u64::MAX, 2], "uint8", None).contains("pictures are"));
        assert!(why(&[1 << 40, 2], "uint8", None).contains("pictures are"));
        for word in ["", "c", "hh", "hwcc", "rgb", "hc"] {
            assert_eq!(Layout::of_word(word), None, "{word}");
        }
    }
}
