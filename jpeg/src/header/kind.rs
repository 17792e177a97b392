//! Decides which kinds of pictures are not decoded.

use super::frame::Frame;

/// A kind of picture that is not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undecoded {
    /// Samples of more than 8 bits.
    Bits,
    Lossless,
    Arithmetic,
    Hierarchical,
    /// Sampling factors of components that do not divide the greatest ones.
    Rates,
    /// More blocks to an MCU than the standard permits.
    Mcus,
}

impl Undecoded {
    /// Returns why a picture with this frame is not decoded; `None` if it is. Sampling factors are
    /// checked elsewhere.
    pub(super) fn of(frame: &Frame) -> Option<Undecoded> {
        match frame.marker {
            0xc0..=0xc2 if frame.precision != 8 => Some(Undecoded::Bits),
            0xc0..=0xc2 => None,
            0xc3 | 0xc7 | 0xcb | 0xcf => Some(Undecoded::Lossless),
            0xc9 | 0xca => Some(Undecoded::Arithmetic),
            _ => Some(Undecoded::Hierarchical),
        }
    }

    /// Returns the reason as a clause.
    pub(super) fn why(self) -> &'static str {
        match self {
            Undecoded::Bits => "its samples have more than 8 bits",
            Undecoded::Lossless => "it is lossless",
            Undecoded::Arithmetic => "it is coded arithmetically",
            Undecoded::Hierarchical => "it is hierarchical",
            Undecoded::Rates => "its components are sampled at rates that do not divide",
            Undecoded::Mcus => "it has more than ten blocks to an MCU",
        }
    }

    /// Returns what a user can do with such a picture.
    pub(super) fn way_on(self) -> &'static str {
        match self {
            Undecoded::Arithmetic => {
                "`jpegtran -copy all -optimize IN > OUT` rewrites it without loss"
            }
            Undecoded::Bits | Undecoded::Lossless => {
                "`djpeg -pnm IN > OUT` of libjpeg-turbo 3 reads it; store it as PNG, for example"
            }
            Undecoded::Hierarchical => "hardly any program reads it; leave it out",
            Undecoded::Rates | Undecoded::Mcus => {
                "decode it with another program and write it again as JPEG or PNG"
            }
        }
    }
}
