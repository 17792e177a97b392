//! `Wishes`: what a decoder can be asked for, by format and scale.

use std::sync::Arc;

use tarflume_jpeg::Scale;

use super::handle::{Handle, Wish};
use super::status::{Format, Status};

/// All that a decoder lets itself be asked for.
pub(super) struct Wishes {
    /// By format; then by scale, as many in each.
    all: [Vec<Wish>; 2],
    refused: Option<(Scale, Status)>,
}

impl Wishes {
    /// At full scale, and at smaller ones down to `smallest` until one is refused: which backends know them NVIDIA's
    /// documents don't say for sure, and a decoder without is of use, too.
    ///
    /// # Errors
    /// The library's, of full scale.
    pub(super) fn new(handle: &Arc<Handle>, smallest: Scale) -> Result<Wishes, Status> {
        let pair = |scale| -> Result<[Wish; 2], Status> {
            Ok([Wish::new(handle, Format::Gray, scale)?, Wish::new(handle, Format::Rgb, scale)?])
        };
        let mut wishes = Wishes { all: pair(Scale::Full)?.map(|wish| vec![wish]), refused: None };
        let smaller = |scale: &Scale| (1..=smallest as u32).contains(&(*scale as u32));
        for scale in Scale::ALL.into_iter().filter(smaller) {
            match pair(scale) {
                Ok(made) => wishes.all.iter_mut().zip(made).for_each(|(all, wish)| all.push(wish)),
                Err(why) => {
                    wishes.refused = Some((scale, why));
                    break;
                }
            }
        }
        Ok(wishes)
    }

    /// What to ask for; none if this was refused.
    pub(super) fn of(&self, format: Format, scale: Scale) -> Option<&Wish> {
        self.all[format as usize].get(scale as usize)
    }

    /// The smallest scale that can be asked for.
    pub(super) fn least(&self) -> Scale {
        let mut known = Scale::ALL.into_iter().take(self.all[0].len());
        known.next_back().unwrap_or(Scale::Full)
    }

    /// The first scale that was refused, and the library's words.
    pub(super) fn refused(&self) -> Option<(Scale, Status)> {
        self.refused
    }
}
