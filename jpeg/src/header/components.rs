//! Components: the arrangement of a picture's blocks in an MCU, and the tables that they need.

use super::frame::{Frame, MOST};
use super::scan::Scan;
use crate::error::{Error, Result};

/// One component of a picture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Component {
    /// Its identifier in scan headers.
    pub(crate) id: u8,
    /// Blocks of an MCU, horizontally and vertically: 1 to 4.
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
    /// The vertical factor that the file declares for the first component.
    declared: u32,
}

impl Components {
    /// Takes them from the frame header.
    pub(super) fn of(frame: &Frame) -> Components {
        let mut found = Components { count: frame.count, ..Components::default() };
        for (component, part) in found.all.iter_mut().zip(&frame.parts).take(frame.count) {
            *component = Component {
                id: part.id,
                h: u32::from(part.h),
                v: u32::from(part.v),
                quant: usize::from(part.quant),
                ..Component::default()
            };
        }
        found.declared = found.all[0].v;
        if found.count == 1 {
            // A single component is not interleaved: its MCU is one block (T.81, A.2.2).
            found.all[0].h = 1;
            found.all[0].v = 1;
        }
        found
    }

    /// Returns the numbers of the components in a scan, in its order.
    ///
    /// # Errors
    /// Returns an error if the scan, which begins at `at`, names an unknown component, one twice,
    /// or all of them in another order.
    pub(super) fn numbers(&self, scan: &Scan, at: usize) -> Result<[usize; MOST]> {
        let numbers = self.named(scan, at)?;
        if scan.count == self.count && !numbers[..scan.count].is_sorted() {
            let text = "the scan names the components in another order than the frame";
            return Err(Error::damaged(at, text));
        }
        Ok(numbers)
    }

    /// Returns the numbers of the components in a scan, which may name them in any order that
    /// libjpeg-turbo reads.
    ///
    /// # Errors
    /// Returns an error if the scan, which begins at `at`, names an unknown component, or one twice.
    pub(crate) fn named(&self, scan: &Scan, at: usize) -> Result<[usize; MOST]> {
        let mut numbers = [MOST; MOST];
        for n in 0..scan.count {
            let id = scan.parts[n].0;
            // Components before the n-th are not looked at, as in libjpeg-turbo (`get_sos`).
            let found = (n..self.count).find(|&c| self.all[c].id == id);
            let found = found.filter(|c| !numbers[..n].contains(c));
            let text = "the scan names components that are not there";
            numbers[n] = found.ok_or_else(|| Error::damaged(at, text))?;
        }
        Ok(numbers)
    }

    /// Takes the numbers of Huffman tables from a scan of all components, in their order; returns
    /// false for any other scan.
    ///
    /// # Errors
    /// Returns an error if the scan, which begins at `at`, names invalid tables.
    pub(super) fn set_tables(&mut self, scan: &Scan, at: usize) -> Result<bool> {
        let has_all = self.iter().zip(&scan.parts).all(|(component, part)| component.id == part.0);
        if scan.count != self.count || !has_all {
            return Ok(false);
        }
        for (component, &(_, dc, ac)) in self.all.iter_mut().zip(&scan.parts).take(self.count) {
            if dc > 3 || ac > 3 {
                return Err(Error::damaged(at, "the scan names tables that are not there"));
            }
            component.dc = usize::from(dc);
            component.ac = usize::from(ac);
        }
        Ok(true)
    }

    /// Returns true if all factors divide the largest ones, so that each pixel has a whole share of
    /// samples.
    pub(super) fn divide(&self) -> bool {
        let (h, v) = self.most();
        self.iter().all(|c| h.is_multiple_of(c.h) && v.is_multiple_of(c.v))
    }

    /// Returns true if the first component has the full resolution, and each other component the
    /// full, half or quarter resolution in a direction: FORMAT.md defines entry points for these
    /// only.
    pub(super) fn are_usual(&self) -> bool {
        let h = self.all[0].h;
        let v = self.all[0].v;
        fn fits(most: u32, own: u32) -> bool {
            most.is_multiple_of(own) && matches!(most / own, 1 | 2 | 4)
        }
        self.iter().all(|c| fits(h, c.h) && fits(v, c.v))
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Component> {
        self.all[..self.count].iter()
    }

    /// Returns the component with this number.
    pub(crate) fn part(&self, number: usize) -> &Component {
        &self.all[..self.count][number]
    }

    /// Returns the vertical factor that the file declares for its only component; `None` if it has
    /// several.
    pub(super) fn declared_rows(&self) -> Option<u32> {
        (self.count == 1).then_some(self.declared)
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of blocks of an MCU of all components.
    pub(crate) fn blocks(&self) -> usize {
        self.iter().map(|c| (c.h * c.v) as usize).sum()
    }

    /// Returns the largest factors of all components, across and down.
    pub(crate) fn most(&self) -> (u32, u32) {
        (self.greatest(|c| c.h), self.greatest(|c| c.v))
    }

    fn greatest(&self, of: fn(&Component) -> u32) -> u32 {
        self.iter().map(of).max().unwrap_or(1)
    }
}

/// Limit on the blocks of an MCU in a scan (T.81, B.2.3).
pub(crate) const MCU_BLOCKS: usize = 10;
