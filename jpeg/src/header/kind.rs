//! Decides which kinds of pictures are not decoded.

use super::frame::Frame;

/// Returns why a picture with this frame is not decoded; `None` if it is. Sampling factors are
/// checked elsewhere.
pub(super) fn unsupported(frame: &Frame) -> Option<&'static str> {
    match frame.marker {
        0xc0..=0xc2 if frame.precision != 8 => Some("its samples have more than 8 bits"),
        0xc0..=0xc2 => None,
        0xc3 | 0xc7 | 0xcb | 0xcf => Some("it is lossless"),
        0xc9 | 0xca => Some("it is coded arithmetically"),
        _ => Some("it is hierarchical"),
    }
}
