//! Compressed elements.

use std::io::Read;

use flate2::read::ZlibDecoder;
use tarflume_formats::{Error, ErrorKind, Result};

/// Decompresses an element of at most `most` bytes: its tag and its bytes.
///
/// # Errors
/// Returns [`ErrorKind::Limit`] for a larger one, and [`ErrorKind::Damaged`] for bytes that are no zlib data.
pub fn inflated(packed: &[u8], most: u64) -> Result<Vec<u8>> {
    let out = read(packed, most.saturating_add(1))?;
    if out.len() as u64 > most {
        let text = format!("it has more than {most} bytes after decompression");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    Ok(out)
}

/// Decompresses the first `most` bytes of an element, of which the first bytes are given.
///
/// # Errors
/// Returns [`ErrorKind::Damaged`] for bytes that are no zlib data.
pub fn inflated_start(packed: &[u8], most: usize) -> Result<Vec<u8>> {
    let mut out = vec![0; most];
    let mut decoder = ZlibDecoder::new(packed);
    let mut filled = 0;
    while filled < most {
        match decoder.read(&mut out[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            // The packed bytes are only the first ones.
            Err(_) if filled > 0 => break,
            Err(e) => return Err(damaged(&e)),
        }
    }
    out.truncate(filled);
    Ok(out)
}

fn read(packed: &[u8], most: u64) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    ZlibDecoder::new(packed).take(most).read_to_end(&mut out).map_err(|e| damaged(&e))?;
    Ok(out)
}

fn damaged(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Damaged, format!("its zlib data is damaged: {error}"))
}
