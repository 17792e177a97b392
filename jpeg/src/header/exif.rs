//! Reads the orientation from an EXIF block (TIFF tag 0x0112).

/// Returns the orientation, 1 to 8; `None` if there is none or it is unreadable. A damaged EXIF
/// block is no reason to reject a picture.
pub(super) fn turn(block: &[u8]) -> Option<u8> {
    let little = match block.get(..4)? {
        b"II\x2a\0" => true,
        b"MM\0\x2a" => false,
        _ => return None,
    };
    let short = |at: usize| {
        let bytes = block.get(at..)?.first_chunk()?;
        Some(if little { u16::from_le_bytes(*bytes) } else { u16::from_be_bytes(*bytes) })
    };
    let long = |at: usize| {
        let bytes = block.get(at..)?.first_chunk()?;
        Some(if little { u32::from_le_bytes(*bytes) } else { u32::from_be_bytes(*bytes) })
    };
    let directory = usize::try_from(long(4)?).ok()?;
    let entries = usize::from(short(directory)?);
    let tags = (0..entries).map(|n| directory.checked_add(2 + 12 * n));
    for at in tags {
        let at = at?;
        if short(at)? == 0x0112 {
            let (kind, count, value) = (short(at + 2)?, long(at + 4)?, short(at + 8)?);
            let known = kind == 3 && count == 1 && (1..=8).contains(&value);
            return known.then_some(value as u8);
        }
    }
    None
}
