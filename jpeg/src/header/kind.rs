//! Which kinds of pictures are not decoded.

use super::frame::Frame;

/// Why nobody decodes pictures of this frame, in words; none if they are decoded. Sampling is looked at
/// elsewhere.
pub(super) fn unsupported(frame: &Frame) -> Option<&'static str> {
    match frame.marker {
        0xc0..=0xc2 if frame.precision != 8 => Some("its samples have more than 8 bits"),
        0xc0..=0xc2 => None,
        0xc3 | 0xc7 | 0xcb | 0xcf => Some("it is lossless"),
        0xc9 | 0xca => Some("it is coded arithmetically"),
        _ => Some("it is hierarchical"),
    }
}
