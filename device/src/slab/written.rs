//! What a decoder may write to a row of no fixed length.

use std::sync::atomic::{AtomicUsize, Ordering};

use tarflume_types::{DType, Error, ErrorKind, PictureShape, Result, Row};

/// Calls `write` with the memory of a row that is no picture, checks what it says, and notes the bytes in `used`.
pub(super) fn write_noted(
    dtype: DType,
    used: &AtomicUsize,
    bytes: &mut [u8],
    write: impl FnOnce(Row<'_>) -> Result<()>,
) -> Result<()> {
    let room = bytes.len();
    let mut written = 0;
    let result = write(Row::variable(bytes, &mut written));
    let result = result.and_then(|()| check_written(dtype, room, written, None));
    used.store(written.min(room), Ordering::Release);
    result
}

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
