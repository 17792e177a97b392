//! Writes the header of an npy file, byte for byte as NumPy does.

use super::layout::{Dtype, MAGIC, Shape};
use crate::errors::error::{Error, ErrorKind, Result};

/// Data begins at a multiple of this many bytes.
const ALIGNMENT: usize = 64;

/// NumPy reserves this many digits for a growing dimension.
const DIGITS: usize = 21;

/// Appends the header of an array to `out`, version 1.0. The data must follow; it begins at a
/// multiple of 64 bytes if `out` was empty.
///
/// # Errors
/// Returns [`ErrorKind::Limit`] for more than [`super::MAX_DIMS`] dimensions.
pub fn write_header(out: &mut Vec<u8>, dtype: Dtype, fortran: bool, shape: &[u64]) -> Result<()> {
    let Some(tuple) = Shape::new(shape) else {
        let text = format!("an array of {} dimensions", shape.len());
        return Err(Error::new(ErrorKind::Limit, text));
    };
    let order = if fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {tuple}, }}");
    let growing = if fortran { shape.last() } else { shape.first() };
    let room = growing.map_or(0, |dim| DIGITS - dim.to_string().len());
    // Magic, version and length before the text, a newline after it.
    // NumPy pads by 1 to 64 bytes, never by none.
    let full = ((10 + text.len() + room + 1) / ALIGNMENT + 1) * ALIGNMENT;
    text.extend(std::iter::repeat_n(' ', full - 10 - text.len() - 1));
    text.push('\n');
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[1, 0]);
    // At most 8 dimensions of 20 digits: some hundred bytes.
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    Ok(())
}
