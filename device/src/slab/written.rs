//! What a decoder may write to a row of no fixed length.

use tarflume_types::{DType, Error, ErrorKind, PictureShape, Result};

/// Checks what a decoder says that it wrote to a row of no fixed length.
pub(super) fn check_written(
    dtype: DType,
    room: usize,
    used: usize,
    picture: Option<PictureShape>,
) -> Result<()> {
    if used > room {
        let text = format!("the decoder declared {used} bytes of a row with room for {room}");
        return Err(Error::new(ErrorKind::Decode, text));
    }
    if !used.is_multiple_of(dtype.size()) {
        let text = format!(
            "the decoder wrote {used} bytes, and elements of {dtype:?} have {}",
            dtype.size()
        );
        return Err(Error::new(ErrorKind::Decode, text));
    }
    match picture {
        Some(shape) if shape.elements().checked_mul(dtype.size()) != Some(used) => {
            let text =
                format!("the decoder wrote {used} bytes and declared a picture of {shape:?}");
            Err(Error::new(ErrorKind::Decode, text))
        }
        _ => Ok(()),
    }
}
