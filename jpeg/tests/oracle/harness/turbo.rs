//! libjpeg-turbo as an oracle and as an encoder of JPEGs: a small C program, compiled on first use,
//! one process per [`Turbo`].
//!
//! The answers come from libjpeg-turbo's code only; `turbo/turbo.c` defines the requests.

mod compiled;
mod recipe;

use std::io::{BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::harness::picture::Picture;

pub(crate) use recipe::{Recipe, ScanOf, Scans, Space};

const DECODE: u32 = 1;
const ENCODE: u32 = 2;
const COEFFICIENTS: u32 = 3;

/// The requested color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Color {
    Gray,
    Rgb,
    /// The four inks of CMYK and YCCK as libjpeg-turbo returns them: 255 is none.
    Inks,
}

/// libjpeg-turbo's result for a JPEG.
pub(crate) struct Decoded {
    pub(crate) picture: Picture,
    /// How often it found damage and continued.
    pub(crate) warnings: u32,
    /// The first of these warnings, or nothing.
    pub(crate) warning: String,
    /// Whether it gave the picture up after the last pixel.
    pub(crate) refused: bool,
}

/// The quantized coefficients of one component.
pub(crate) struct Plane {
    /// Blocks that hold pixels of the image: across, down.
    pub(crate) blocks: (usize, usize),
    /// The same up to whole MCUs: what interleaved scans hold.
    pub(crate) padded: (usize, usize),
    /// Horizontal and vertical sampling factor.
    pub(crate) sampling: (u32, u32),
    /// In natural order.
    pub(crate) quantizers: [u32; 64],
    /// Row by row of the padded size, in natural order, not dequantized.
    pub(crate) coefficients: Vec<[i16; 64]>,
}

/// A running libjpeg-turbo. Starts in milliseconds, ends when dropped.
pub(crate) struct Turbo {
    child: Child,
    to: Option<BufWriter<ChildStdin>>,
    from: BufReader<ChildStdout>,
}

impl Turbo {
    /// Starts one; panics with the missing package if it cannot be compiled.
    pub(crate) fn new() -> Turbo {
        let mut command = Command::new(compiled::path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let to = child.stdin.take().map(BufWriter::new);
        let from = BufReader::new(child.stdout.take().unwrap());
        Turbo { child, to, from }
    }

    /// Returns the whole image at 1/`scale` of its size (1, 2, 4 or 8), with libjpeg-turbo's
    /// defaults: the accurate integer IDCT and fancy upsampling. RGB of CMYK is an error, as is all
    /// that libjpeg-turbo cannot read.
    pub(crate) fn decode(
        &mut self,
        jpeg: &[u8],
        scale: u32,
        color: Color,
    ) -> Result<Decoded, String> {
        let components = match color {
            Color::Gray => 1,
            Color::Rgb => 3,
            Color::Inks => 4,
        };
        self.ask(&[DECODE, scale, components, jpeg.len() as u32], &[jpeg])?;
        let [width, height, channels, warnings] = [(); 4].map(|()| self.number());
        let warning = self.text();
        let refused = self.number() > 0;
        let bytes = self.bytes((width * height * channels) as usize);
        let width = width as usize;
        let height = height as usize;
        let picture = Picture { width, height, channels: channels as usize, bytes };
        Ok(Decoded { picture, warnings, warning, refused })
    }

    /// Encodes the picture as a JPEG; an error is libjpeg-turbo's refusal.
    pub(crate) fn try_encode(
        &mut self,
        picture: &Picture,
        recipe: &Recipe,
    ) -> Result<Vec<u8>, String> {
        let mut fields = vec![ENCODE];
        fields.extend(recipe.fields(picture));
        let script: Vec<u8> = recipe.script.iter().flat_map(ScanOf::bytes).collect();
        fields.extend([recipe.extra.len() as u32, script.len() as u32]);
        self.ask(&fields, &[&recipe.extra, &script, &picture.bytes])?;
        let length = self.number() as usize;
        Ok(self.bytes(length))
    }

    /// Encodes the picture as a JPEG.
    pub(crate) fn encode(&mut self, picture: &Picture, recipe: &Recipe) -> Vec<u8> {
        self.try_encode(picture, recipe).unwrap_or_else(|why| panic!("{recipe:?}: {why}"))
    }

    /// Returns the coefficients of each component.
    pub(crate) fn coefficients(&mut self, jpeg: &[u8]) -> Result<Vec<Plane>, String> {
        self.ask(&[COEFFICIENTS, jpeg.len() as u32], &[jpeg])?;
        let components = self.number();
        Ok((0..components).map(|_| self.plane()).collect())
    }

    fn plane(&mut self) -> Plane {
        let [across, down, wide, high, h, v] = [(); 6].map(|()| self.number());
        let quantizers = [(); 64].map(|()| self.number());
        let padded = (wide as usize, high as usize);
        let bytes = self.bytes(padded.0 * padded.1 * 128);
        let (values, _) = bytes.as_chunks::<2>();
        let values: Vec<i16> = values.iter().map(|b| i16::from_le_bytes(*b)).collect();
        let coefficients = values.as_chunks::<64>().0.to_vec();
        let blocks = (across as usize, down as usize);
        Plane { blocks, padded, sampling: (h, v), quantizers, coefficients }
    }

    /// Sends a request; returns whether it succeeded.
    fn ask(&mut self, fields: &[u32], then: &[&[u8]]) -> Result<(), String> {
        let to = self.to.as_mut().unwrap();
        for field in fields {
            to.write_all(&field.to_le_bytes()).unwrap();
        }
        for bytes in then {
            to.write_all(bytes).unwrap();
        }
        to.flush().unwrap();
        match self.number() {
            0 => Ok(()),
            _ => Err(self.text()),
        }
    }

    fn number(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.from.read_exact(&mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn text(&mut self) -> String {
        let length = self.number() as usize;
        String::from_utf8_lossy(&self.bytes(length)).into_owned()
    }
}

impl Drop for Turbo {
    fn drop(&mut self) {
        self.to = None; // The end of its stdin is what it ends at.
        self.child.wait().unwrap();
    }
}
