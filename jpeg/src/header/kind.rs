//! Decides which kinds of pictures are not decoded.

use super::frame::Frame;

const BITS: &str = "its samples have more than 8 bits";
const LOSSLESS: &str = "it is lossless";
const ARITHMETIC: &str = "it is coded arithmetically";
const HIERARCHICAL: &str = "it is hierarchical";

/// Returns why a picture with this frame is not decoded; `None` if it is. Sampling factors are
/// checked elsewhere.
pub(super) fn unsupported(frame: &Frame) -> Option<&'static str> {
    match frame.marker {
        0xc0..=0xc2 if frame.precision != 8 => Some(BITS),
        0xc0..=0xc2 => None,
        0xc3 | 0xc7 | 0xcb | 0xcf => Some(LOSSLESS),
        0xc9 | 0xca => Some(ARITHMETIC),
        _ => Some(HIERARCHICAL),
    }
}

/// Returns what a user can do with a picture that is not decoded for this reason.
pub(super) fn way_on(why: &str) -> &'static str {
    match why {
        ARITHMETIC => "`jpegtran -copy all -optimize IN > OUT` rewrites it without loss",
        BITS | LOSSLESS => {
            "`djpeg -pnm IN > OUT` of libjpeg-turbo 3 reads it; store it as PNG, for example"
        }
        HIERARCHICAL => "hardly any program reads it; leave it out",
        _ => "decode it with another program and write it again as JPEG or PNG",
    }
}
