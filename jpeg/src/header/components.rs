//! Components: how the blocks of a picture lie in an MCU, and which tables they need.

use super::frame::{Frame, MOST};
use super::scan::Scan;
use crate::error::{Error, Result};

/// One component of a picture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Component {
    /// Its name in scan headers.
    pub(crate) id: u8,
    /// Blocks of an MCU, across and down: 1 to 4.
    pub(crate) h: u32,
    pub(crate) v: u32,
    /// Number of its quantization table.
    pub(crate) quant: usize,
    /// Numbers of its Huffman tables, if there is one scan of all components.
    pub(crate) dc: usize,
    pub(crate) ac: usize,
}

/// The components of a picture: one, three or four.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Components {
    all: [Component; MOST],
    count: usize,
}

impl Components {
    /// As the frame header gives them.
    pub(super) fn of(frame: &Frame) -> Components {
        let mut found = Components { all: Default::default(), count: frame.count };
        for (component, part) in found.all.iter_mut().zip(&frame.parts).take(frame.count) {
            *component = Component {
                id: part.id,
                h: u32::from(part.h),
                v: u32::from(part.v),
                quant: usize::from(part.quant),
                ..Component::default()
            };
        }
        if found.count == 1 {
            // A component alone is not interleaved: its MCU is one block, whatever its factors.
            (found.all[0].h, found.all[0].v) = (1, 1);
        }
        found
    }

    /// The numbers of the components that a scan names, in its order.
    ///
    /// # Errors
    /// The scan, which begins at `at`, names one that is not there, or one twice, or all of them in another
    /// order.
    pub(super) fn numbers(&self, scan: &Scan, at: usize) -> Result<[usize; MOST]> {
        let mut numbers = [MOST; MOST];
        for n in 0..scan.count {
            let id = scan.parts[n].0;
            let is_its = |(c, component): (usize, &Component)| {
                component.id == id && !numbers[..n].contains(&c)
            };
            let text = "the scan names components that are not there";
            let found = self.iter().enumerate().position(is_its);
            numbers[n] = found.ok_or_else(|| Error::damaged(at, text))?;
        }
        if scan.count == self.count && !numbers[..scan.count].is_sorted() {
            let text = "the scan names the components in another order than the frame";
            return Err(Error::damaged(at, text));
        }
        Ok(numbers)
    }

    /// Takes the numbers of Huffman tables from a scan of all components, in their order; false if it is
    /// no such scan.
    ///
    /// # Errors
    /// The scan, which begins at `at`, names tables that can't be.
    pub(super) fn set_tables(&mut self, scan: &Scan, at: usize) -> Result<bool> {
        let same = |(component, part): (&Component, &(u8, u8, u8))| component.id == part.0;
        if scan.count != self.count || !self.iter().zip(&scan.parts).all(same) {
            return Ok(false);
        }
        for (component, &(_, dc, ac)) in self.all.iter_mut().zip(&scan.parts).take(self.count) {
            if dc > 3 || ac > 3 {
                return Err(Error::damaged(at, "the scan names tables that are not there"));
            }
            (component.dc, component.ac) = (usize::from(dc), usize::from(ac));
        }
        Ok(true)
    }

    /// Whether each pixel has a whole share of samples: the factors divide the largest ones.
    pub(super) fn divide(&self) -> bool {
        let (h, v) = self.most();
        self.iter().all(|c| h.is_multiple_of(c.h) && v.is_multiple_of(c.v))
    }

    /// Whether the first component has the full resolution, and the others that, or a half or a quarter of it
    /// in a direction: FORMAT.md has entry points for no others.
    pub(super) fn are_usual(&self) -> bool {
        let (h, v) = (self.all[0].h, self.all[0].v);
        let fits =
            |most: u32, own: u32| most.is_multiple_of(own) && matches!(most / own, 1 | 2 | 4);
        self.iter().all(|c| fits(h, c.h) && fits(v, c.v))
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Component> {
        self.all[..self.count].iter()
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Blocks of an MCU of all components.
    pub(crate) fn blocks(&self) -> usize {
        self.iter().map(|c| (c.h * c.v) as usize).sum()
    }

    /// The most blocks that a component has in an MCU, across and down.
    pub(crate) fn most(&self) -> (u32, u32) {
        let most = |of: fn(&Component) -> u32| self.iter().map(of).max().unwrap_or(1);
        (most(|c| c.h), most(|c| c.v))
    }
}

/// The most blocks of an MCU that a scan has (T.81, B.2.3).
pub(crate) const MCU_BLOCKS: usize = 10;
