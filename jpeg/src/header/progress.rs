//! `Progress`: which bits of which coefficients the scans so far have coded.
//!
//! Scans that code bits twice, or finer bits before coarser ones, are refused; libjpeg-turbo warns
//! about them. This and [`MOST_SCANS`] bound the work that a file can cause.

use super::frame::MOST;
use super::scan::Band;

/// Limit on the scans of a picture: each may cost a pass over all blocks and be a dozen bytes long.
/// The value is libjpeg-turbo's own limit (`TJFLAG_LIMITSCANS`); encoders write about ten.
pub(crate) const MOST_SCANS: usize = 500;

/// No bit of the coefficient was coded.
const NOTHING: u8 = u8::MAX;

/// For each coefficient of each component, the lowest coded bit.
#[derive(Debug)]
pub(super) struct Progress([[u8; 64]; MOST]);

impl Default for Progress {
    fn default() -> Progress {
        Progress([[NOTHING; 64]; MOST])
    }
}

/// Checks the parameters of a progressive scan of `count` components (T.81, G.1.1.1.1); returns the
/// reason if they are invalid.
pub(crate) fn check(band: &Band, count: usize) -> Result<(), String> {
    let Band { first, last, before, low } = *band;
    let known = match first {
        0 => last == 0,
        _ => first <= last && last < 64,
    };
    if !known {
        return Err(format!("a progressive scan cannot have coefficients {first} to {last}"));
    }
    if first > 0 && count > 1 {
        return Err(format!("a scan of coefficients {first} to {last} is of {count} components"));
    }
    if low > 13 || (before > 0 && low + 1 != before) {
        return Err(format!("a scan cannot code bit {low} after bit {before}"));
    }
    Ok(())
}

impl Progress {
    /// Records a scan of component `c`; returns the reason if it is out of order.
    pub(super) fn take(&mut self, c: usize, band: &Band) -> Result<(), String> {
        let Band { first, last, before, low } = *band;
        if first > 0 && self.0[c][0] == NOTHING {
            return Err(format!("coefficients {first} to {last} come before the first one"));
        }
        let numbers = usize::from(first)..=usize::from(last);
        for (k, bit) in self.0[c][numbers].iter_mut().enumerate() {
            let fits = match *bit {
                NOTHING => before == 0,
                known => known > 0 && before == known,
            };
            if !fits {
                let k = k + usize::from(first);
                return Err(format!("bit {low} of coefficient {k} comes out of turn"));
            }
            *bit = low;
        }
        Ok(())
    }

    /// Returns the first incomplete coefficient of `count` components: its component and zigzag
    /// number.
    ///
    /// libjpeg-turbo smooths a picture whose scans end early, and takes missing coefficients as
    /// zeros.
    pub(super) fn missing(&self, count: usize) -> Option<(usize, usize)> {
        let parts = self.0.iter().take(count).enumerate();
        let mut lacks =
            parts.filter_map(|(c, bits)| bits.iter().position(|&bit| bit != 0).map(|k| (c, k)));
        lacks.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(first: u8, last: u8, before: u8, low: u8) -> Band {
        Band { first, last, before, low }
    }

    #[test]
    fn numbers_that_no_scan_has_are_refused() {
        for good in [(0, 0, 0, 0), (0, 0, 0, 13), (1, 63, 0, 2), (5, 5, 3, 2), (63, 63, 1, 0)] {
            let (first, last, before, low) = good;
            assert_eq!(check(&band(first, last, before, low), 1), Ok(()), "{good:?}");
        }
        for bad in [(0, 1, 0, 0), (0, 63, 0, 0), (2, 1, 0, 0), (1, 64, 0, 0), (200, 201, 0, 0)] {
            let (first, last, before, low) = bad;
            assert!(check(&band(first, last, before, low), 1).is_err(), "{bad:?}");
        }
        for (before, low) in [(0, 14), (14, 14), (2, 0), (1, 1), (1, 2)] {
            assert!(check(&band(1, 5, before, low), 1).is_err(), "{before} {low}");
        }
        assert!(check(&band(0, 0, 0, 0), 3).is_ok() && check(&band(1, 5, 0, 0), 3).is_err());
    }

    #[test]
    fn bits_come_in_turn_and_once() {
        let mut progress = Progress::default();
        assert!(progress.take(0, &band(1, 5, 0, 0)).is_err(), "before its DC");
        progress.take(0, &band(0, 0, 0, 1)).unwrap();
        assert_eq!(progress.missing(1), Some((0, 0)));
        assert!(progress.take(0, &band(0, 0, 0, 0)).is_err(), "from the start again");
        assert!(progress.take(0, &band(0, 0, 2, 1)).is_err(), "a bit that is there");
        progress.take(0, &band(0, 0, 1, 0)).unwrap();
        assert!(progress.take(0, &band(0, 0, 0, 0)).is_err(), "whole already");
        progress.take(0, &band(1, 5, 0, 0)).unwrap();
        assert_eq!(progress.missing(1), Some((0, 6)));
        progress.take(0, &band(6, 62, 0, 0)).unwrap();
        assert_eq!(progress.missing(1), Some((0, 63)));
        progress.take(0, &band(63, 63, 0, 0)).unwrap();
        assert_eq!((progress.missing(1), progress.missing(2)), (None, Some((1, 0))));
    }
}
