//! `Offer`: which pictures a decoder is asked for: what it was seen to do right. Words and numbers alone.

use tarflume_jpeg::Scale;

use super::status::Format;
use crate::decode::hybrid::support::Fit;

/// Pictures that are shorter than this, or narrower, are tiny.
const TINY: u32 = 32;

/// What a decoder does right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// By format, then by how colors are sampled.
    kinds: [[bool; Fit::ALL.len()]; 2],
    /// The smallest scale; larger ones are right, too.
    least: Scale,
    tiny: bool,
}

impl Offer {
    /// Everything, at these scales.
    pub fn all(least: Scale) -> Offer {
        Offer { kinds: [[true; Fit::ALL.len()]; 2], least, tiny: true }
    }

    /// Not of this kind.
    pub fn without(&mut self, fit: Fit, channels: u8) {
        if let Some(format) = Format::of(channels) {
            self.kinds[format as usize][fit as usize] = false;
        }
    }

    /// None that is smaller than this.
    pub fn at_least(&mut self, least: Scale) {
        self.least = least;
    }

    /// No tiny ones.
    pub fn without_tiny(&mut self) {
        self.tiny = false;
    }

    /// Whether color pictures of the usual kind are decoded to RGB: if not, the decoder is of no use.
    pub fn is_of_use(&self) -> bool {
        self.has(Fit::Yuv420, Format::Rgb)
    }

    /// Whether pictures of this kind are decoded to so many channels.
    pub fn takes(&self, fit: Fit, channels: u8) -> bool {
        Format::of(channels).is_some_and(|format| self.has(fit, format))
    }

    fn has(&self, fit: Fit, format: Format) -> bool {
        self.kinds[format as usize][fit as usize]
    }

    /// The smallest scale at which it decodes.
    pub fn least(&self) -> Scale {
        self.least
    }

    /// Whether a picture is one that it is asked for.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check(
        &self,
        (fit, format): (Fit, Format),
        (width, height): (u32, u32),
    ) -> Result<(), String> {
        if !self.has(fit, format) {
            return Err(format!("this decoder was seen to be wrong with pictures of {fit}"));
        }
        if !self.tiny && (width < TINY || height < TINY) {
            return Err("this decoder was seen to be wrong with tiny pictures".into());
        }
        Ok(())
    }

    /// What it does not do of what one with these scales might, in words; nothing if it does all.
    pub fn lacks(&self, might: Scale) -> Option<String> {
        let mut lacks = Vec::new();
        let scales = Scale::ALL
            .iter()
            .filter(|&&s| s as u32 > self.least as u32 && s as u32 <= might as u32);
        let scales: Vec<String> = scales.map(|&scale| format!("1/{}", 1 << scale as u32)).collect();
        if !scales.is_empty() {
            lacks.push(format!("at {}", scales.join(", ")));
        }
        for fit in Fit::ALL {
            let color = fit != Fit::Gray && !self.has(fit, Format::Rgb);
            if color || !self.has(fit, Format::Gray) {
                lacks.push(format!("of {fit}"));
            }
        }
        if !self.tiny {
            lacks.push(format!("smaller than {TINY} pixels"));
        }
        (!lacks.is_empty()).then(|| format!("not {}", lacks.join(", ")))
    }
}
