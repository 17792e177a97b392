//! Blocks of pixels with the channels apart, so that loops over pixels have one value a lane.

use crate::kernels::sets::wide;

/// The pixels of a block: a multiple of every set's lanes, and more than a compiler unrolls before
/// it makes lanes.
pub(crate) const BLOCK: usize = 256;

/// One value a pixel.
pub(crate) type Plane = [u8; BLOCK];

/// The channels of a block of pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planes {
    pub(crate) red: Plane,
    pub(crate) green: Plane,
    pub(crate) blue: Plane,
}

impl Planes {
    /// Black pixels.
    #[inline(always)]
    pub(crate) fn black() -> Planes {
        Planes { red: [0; BLOCK], green: [0; BLOCK], blue: [0; BLOCK] }
    }

    /// Takes the channels of at most [`BLOCK`] pixels apart. Further pixels are black.
    #[inline(always)]
    pub(crate) fn split(&mut self, pixels: &[u8]) {
        if let Some(block) = pixels.first_chunk() {
            self.split_block(block);
        } else {
            let mut block = [0; 3 * BLOCK];
            block[..pixels.len()].copy_from_slice(pixels);
            self.split_block(&block);
        }
    }

    #[inline(always)]
    fn split_block(&mut self, pixels: &[u8; 3 * BLOCK]) {
        for at in 0..BLOCK {
            self.red[at] = pixels[3 * at];
            self.green[at] = pixels[3 * at + 1];
            self.blue[at] = pixels[3 * at + 2];
        }
    }

    /// Writes at most [`BLOCK`] pixels.
    #[inline(always)]
    pub(crate) fn join(&self, pixels: &mut [u8]) {
        if let Some(block) = pixels.first_chunk_mut() {
            self.join_block(block);
        } else {
            let mut block = [0; 3 * BLOCK];
            self.join_block(&mut block);
            pixels.copy_from_slice(&block[..pixels.len()]);
        }
    }

    #[inline(always)]
    fn join_block(&self, pixels: &mut [u8; 3 * BLOCK]) {
        for at in 0..BLOCK {
            pixels[3 * at] = self.red[at];
            pixels[3 * at + 1] = self.green[at];
            pixels[3 * at + 2] = self.blue[at];
        }
    }
}

wide! {
    /// Writes to each channel of pixels of three channels what the channel `from` had.
    pub(crate) fn permute(pixels: &mut [u8], from: [u8; 3]) {
        let mut planes = Planes::black();
        for block in pixels.chunks_mut(3 * BLOCK) {
            planes.split(block);
            let [red, green, blue] = from.map(|channel| match channel {
                0 => planes.red,
                1 => planes.green,
                _ => planes.blue,
            });
            Planes { red, green, blue }.join(block);
        }
    }
}
