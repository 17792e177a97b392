//! `Offer`: the verified abilities of a decoder. Plain data; calls nothing.

use tarflume_jpeg::Scale;

use super::status::OutputFormat;
use crate::jpeg_support::Sampling;

/// Pictures with a side below this many pixels are tiny.
const TINY: u32 = 32;

/// The pictures that a decoder decodes correctly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// By format, then by subsampling.
    kinds: [[bool; Sampling::ALL.len()]; 2],
    /// The smallest scale. All larger ones are correct, too.
    least: Scale,
    tiny: bool,
}

impl Offer {
    /// Everything, at scales down to `least`.
    pub fn all(least: Scale) -> Offer {
        Offer { kinds: [[true; Sampling::ALL.len()]; 2], least, tiny: true }
    }

    /// Removes a subsampling for this number of channels.
    pub fn without(&mut self, sampling: Sampling, channels: u8) {
        if let Some(format) = OutputFormat::of(channels) {
            self.kinds[format as usize][sampling as usize] = false;
        }
    }

    /// Sets the smallest scale.
    pub fn at_least(&mut self, least: Scale) {
        self.least = least;
    }

    /// Removes tiny pictures.
    pub fn without_tiny(&mut self) {
        self.tiny = false;
    }

    /// Whether 4:2:0 pictures are decoded to RGB, without which the decoder is useless.
    pub fn is_of_use(&self) -> bool {
        self.has(Sampling::Yuv420, OutputFormat::Rgb)
    }

    /// Whether pictures of this subsampling are decoded to this many channels.
    pub fn takes(&self, sampling: Sampling, channels: u8) -> bool {
        OutputFormat::of(channels).is_some_and(|format| self.has(sampling, format))
    }

    fn has(&self, sampling: Sampling, format: OutputFormat) -> bool {
        self.kinds[format as usize][sampling as usize]
    }

    /// The smallest scale.
    pub fn least(&self) -> Scale {
        self.least
    }

    /// Checks whether a picture is among the verified ones.
    ///
    /// # Errors
    /// Returns the reason if it is not.
    pub(super) fn check(
        &self,
        sampling: Sampling,
        format: OutputFormat,
        width: u32,
        height: u32,
    ) -> Result<(), String> {
        if !self.has(sampling, format) {
            return Err(format!("this decoder gave wrong results for pictures of {sampling}"));
        }
        if !self.tiny && (width < TINY || height < TINY) {
            return Err("this decoder gave wrong results for tiny pictures".into());
        }
        Ok(())
    }

    /// What is missing compared to a full decoder with scales down to `might`, as text; `None` if nothing.
    pub fn lacks(&self, might: Scale) -> Option<String> {
        let mut lacks = Vec::new();
        let scales = Scale::ALL
            .iter()
            .filter(|&&s| s as u32 > self.least as u32 && s as u32 <= might as u32);
        let scales: Vec<String> = scales.map(|&scale| format!("1/{}", 1 << scale as u32)).collect();
        if !scales.is_empty() {
            lacks.push(format!("at {}", scales.join(", ")));
        }
        for sampling in Sampling::ALL {
            let color = sampling != Sampling::Gray && !self.has(sampling, OutputFormat::Rgb);
            if color || !self.has(sampling, OutputFormat::Gray) {
                lacks.push(format!("of {sampling}"));
            }
        }
        if !self.tiny {
            lacks.push(format!("smaller than {TINY} pixels"));
        }
        (!lacks.is_empty()).then(|| format!("not {}", lacks.join(", ")))
    }
}
