//! A naive reader of sidecars, by FORMAT.md alone: the table of sections, and correction of
//! checksums after a change.

use std::ops::Range;

fn number(bytes: &[u8], at: usize, length: usize) -> usize {
    bytes[at..at + length].iter().rev().fold(0, |n, &byte| n << 8 | usize::from(byte))
}

/// Returns the range of a section in a sidecar; `None` if it has no such section.
pub(crate) fn section(sidecar: &[u8], name: &str) -> Option<Range<usize>> {
    let lines = (0..number(sidecar, 84, 4)).map(|n| 96 + 24 * n);
    let mut found = lines.filter(|&line| &sidecar[line..line + 4] == name.as_bytes());
    let line = found.next()?;
    let start = number(sidecar, line + 8, 8);
    Some(start..start + number(sidecar, line + 16, 8))
}

/// Returns the ranges of the entry points of each part.
pub(crate) fn entry_points(sidecar: &[u8]) -> Vec<Range<usize>> {
    blobs(sidecar, ["jpgs", "jpgb"])
}

/// Returns the ranges of the checksums of strips of each part.
pub(crate) fn strips(sidecar: &[u8]) -> Vec<Range<usize>> {
    blobs(sidecar, ["stps", "stpb"])
}

fn blobs(sidecar: &[u8], [starts, blobs]: [&str; 2]) -> Vec<Range<usize>> {
    let Some(starts) = section(sidecar, starts) else { return Vec::new() };
    let Some(blobs) = section(sidecar, blobs) else { return Vec::new() };
    let starts: Vec<_> = starts.step_by(4).map(|at| blobs.start + number(sidecar, at, 4)).collect();
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Corrects the checksums of blocks and head.
pub(crate) fn sum_again(sidecar: &mut [u8]) {
    let body = number(sidecar, 88, 4);
    let sums = 96 + 24 * number(sidecar, 84, 4);
    for block in 0..(sidecar.len() - body).div_ceil(16_384) {
        let start = body + block * 16_384;
        let end = (start + 16_384).min(sidecar.len());
        let sum = crc32c(&sidecar[start..end]).to_le_bytes();
        sidecar[sums + 4 * block..][..4].copy_from_slice(&sum);
    }
    sidecar[92..96].fill(0);
    let sum = crc32c(&sidecar[..body]).to_le_bytes();
    sidecar[92..96].copy_from_slice(&sum);
}

/// crc32c, bit by bit.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !crc
}
