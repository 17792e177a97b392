//! Which decoder a kind of picture is for: ours, another library's, or nobody's.
//!
//! What the other library is known to decode wrongly is nobody's: an error is better than a picture of
//! something else. A test holds it against libjpeg-turbo, kind by kind.

use super::frame::Frame;
use super::scan::Scan;

/// Why a picture is not decoded here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// In words.
    pub(crate) why: &'static str,
    pub(crate) elsewhere: Elsewhere,
}

/// What the other library does with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// It decodes this kind: an error means damage.
    Decodes,
    /// It decodes some: an error may mean anything.
    Tries,
    /// It refuses this kind, or makes something else of it.
    Fails,
}

impl Foreign {
    pub(super) fn tried(why: &'static str) -> Foreign {
        Foreign { why, elsewhere: Elsewhere::Tries }
    }

    pub(super) fn failed(why: &'static str) -> Foreign {
        Foreign { why, elsewhere: Elsewhere::Fails }
    }

    /// From the headers, before sampling and tables are looked at.
    pub(super) fn of(frame: &Frame, scan: &Scan) -> Option<Foreign> {
        let fails = match frame.marker {
            0xc0..=0xc2 if frame.precision != 8 => Some("its samples have more than 8 bits"),
            0xc0..=0xc2 => None,
            0xc3 | 0xc7 | 0xcb | 0xcf => Some("it is lossless"),
            0xc9 | 0xca => Some("it is coded arithmetically"),
            _ => Some("it is hierarchical"),
        };
        if let Some(why) = fails {
            return Some(Foreign::failed(why));
        }
        let several = scan.count != frame.count && !frame.is_progressive();
        let why = match frame.count {
            _ if frame.is_progressive() => "it is progressive",
            4 => "it has four components",
            _ if several => "its components come in scans of their own",
            _ => return None,
        };
        Some(match frame.is_usual() && !(several && frame.is_tall()) {
            true => Foreign { why, elsewhere: Elsewhere::Decodes },
            false if several => {
                Foreign::failed("components of several rows come in scans of their own")
            }
            false => Foreign::failed("its components are sampled in an unusual way"),
        })
    }
}

impl Frame {
    /// Whether anything but the width of the first component is sampled more than once.
    fn is_tall(&self) -> bool {
        let (first, rest) = (self.parts[0], &self.parts[1..self.count]);
        first.v > 1 || rest.iter().any(|part| (part.h, part.v) != (1, 1))
    }

    /// Whether the first component has the full resolution, in whole powers of two, and the others that or
    /// one block of an MCU.
    fn is_usual(&self) -> bool {
        let first = self.parts[0];
        let fits = |own: u8, most: u8| most != 3 && (own == 1 || own == most);
        self.count == 1
            || self.parts[..self.count].iter().all(|p| fits(p.h, first.h) && fits(p.v, first.v))
    }
}
