//! The extremes and the frequencies of the bytes of each channel.

use crate::kernels::sets::wide;

/// The bytes of a block: whole pixels of both numbers of channels, and whole registers.
const BLOCK: usize = 192;

/// The smallest and the largest byte of each channel. A gray picture uses the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extremes {
    pub(crate) least: [u8; 3],
    pub(crate) most: [u8; 3],
}

wide! {
    /// Returns the extremes of the channels of interleaved pixels.
    pub(crate) fn extremes(pixels: &[u8], channels: usize) -> Extremes {
        let mut least = [255; BLOCK];
        let mut most = [0; BLOCK];
        for block in pixels.chunks(BLOCK) {
            for ((&byte, least), most) in block.iter().zip(&mut least).zip(&mut most) {
                *least = byte.min(*least);
                *most = byte.max(*most);
            }
        }
        let mut extremes = Extremes { least: [255; 3], most: [0; 3] };
        for at in 0..BLOCK {
            let channel = at % channels;
            extremes.least[channel] = least[at].min(extremes.least[channel]);
            extremes.most[channel] = most[at].max(extremes.most[channel]);
        }
        extremes
    }
}

/// How often each byte occurs.
pub(crate) type Counts = [u32; 256];

/// Counts the bytes of each channel of interleaved pixels. A gray picture uses the first counts.
///
/// Neighbors are counted apart: the same counter twice would wait for its own store.
pub(crate) fn count(pixels: &[u8], channels: usize) -> [Counts; 3] {
    let mut counts = [[0; 256]; 3];
    let mut odd = [[0; 256]; 3];
    tally(pixels, &mut counts, &mut odd);
    for (sum, part) in counts.iter_mut().zip(&odd) {
        add(sum, part);
    }
    if channels == 1 {
        let [sum, rest @ ..] = &mut counts;
        rest.iter().for_each(|part| add(sum, part));
    }
    counts
}

/// Takes the bytes from words: a load of 8 instead of 8 loads, beside those of the counters.
fn tally(bytes: &[u8], even: &mut [Counts; 3], odd: &mut [Counts; 3]) {
    let mut blocks = bytes.chunks_exact(24);
    for block in &mut blocks {
        for (word, bytes) in block.chunks_exact(8).enumerate() {
            let bits = u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
            for at in 0..8 {
                let side = if at % 2 == 0 { &mut *even } else { &mut *odd };
                side[(8 * word + at) % 3][(bits >> (8 * at)) as usize & 255] += 1;
            }
        }
    }
    for (at, &byte) in blocks.remainder().iter().enumerate() {
        even[at % 3][usize::from(byte)] += 1;
    }
}

fn add(sum: &mut Counts, part: &Counts) {
    for (sum, part) in sum.iter_mut().zip(part) {
        *sum += part;
    }
}
