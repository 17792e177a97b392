//! Components: how the blocks of a picture lie in an MCU, and which tables they need.

use super::frame::{Frame, MOST};
use super::kind::Foreign;
use super::scan::Scan;
use crate::error::{Error, Result};

/// One component of a picture that is decoded here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Component {
    /// Blocks of an MCU, across and down: 1, 2 or 4.
    pub(crate) h: u32,
    pub(crate) v: u32,
    /// Numbers of its tables.
    pub(crate) quant: usize,
    pub(crate) dc: usize,
    pub(crate) ac: usize,
}

/// The components of a picture: one or three; or four, whose codes are read and nothing more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Components {
    all: [Component; MOST],
    count: usize,
}

impl Components {
    /// From the headers; and why the picture is not decoded here, if it is not. Its components are then
    /// none, but for one of four that lie as those of others do.
    ///
    /// # Errors
    /// The scan, which begins at `at`, names other components or tables than there are.
    pub(super) fn of(
        frame: &Frame,
        scan: &Scan,
        at: usize,
    ) -> Result<(Components, Option<Foreign>)> {
        let none = Components::default();
        let foreign = Foreign::of(frame, scan);
        if foreign.is_some() && !(frame.is_sequential() && scan.count == frame.count) {
            return Ok((none, foreign));
        }
        let mut found = Components { all: Default::default(), count: frame.count };
        let parts = frame.parts.iter().zip(&scan.parts).take(frame.count);
        for (component, (part, &(id, dc, ac))) in found.all.iter_mut().zip(parts) {
            if part.id != id || dc > 3 || ac > 3 {
                let text = "the scan names components or tables that are not there";
                return Err(Error::damaged(at, text));
            }
            *component = Component {
                h: u32::from(part.h),
                v: u32::from(part.v),
                quant: usize::from(part.quant),
                dc: usize::from(dc),
                ac: usize::from(ac),
            };
        }
        if found.count == 1 {
            // A component alone is not interleaved: its MCU is one block, whatever its factors.
            (found.all[0].h, found.all[0].v) = (1, 1);
        }
        Ok(match (found.are_known(), foreign) {
            (true, why) => (found, why),
            (false, Some(why)) => (none, Some(why)),
            (false, None) => {
                (none, Some(Foreign::failed("its components are sampled in an unusual way")))
            }
        })
    }

    /// Whether the first component has the full resolution, the others that or half of it, or a
    /// quarter across; and no MCU has more than ten blocks, as the standard demands.
    fn are_known(&self) -> bool {
        let (h, v) = (self.all[0].h, self.all[0].v);
        let fits = |c: &Component| {
            h.is_multiple_of(c.h)
                && v.is_multiple_of(c.v)
                && matches!(h / c.h, 1 | 2 | 4)
                && matches!(v / c.v, 1 | 2 | 4)
        };
        self.iter().all(fits) && self.blocks() <= MCU_BLOCKS
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Component> {
        self.all[..self.count].iter()
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Blocks of an MCU.
    pub(crate) fn blocks(&self) -> usize {
        self.iter().map(|c| (c.h * c.v) as usize).sum()
    }

    /// Blocks of the first component in an MCU, across and down: no other has more.
    pub(crate) fn most(&self) -> (u32, u32) {
        (self.all[0].h.max(1), self.all[0].v.max(1))
    }
}

/// The most blocks of an MCU (T.81, B.2.3).
pub(crate) const MCU_BLOCKS: usize = 10;
