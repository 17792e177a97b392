//! `Wanted`: which parts of a sample are needed.

use std::ops::Range;

use tarflume_formats::index::{Found, Part};

use crate::error::{Error, ErrorKind, Result};

/// The parts that are needed of every sample, by need: `jpg;jpeg;png` is one need, met by the first
/// of these extensions that a sample has.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    needs: Vec<Need>,
    exts: Vec<String>,
}

#[derive(Debug, Clone)]
struct Need {
    exts: Range<usize>,
    required: bool,
    entry_points: bool,
    pixels: bool,
}

impl Wanted {
    /// Nothing yet. If it stays so, samples are known by their keys alone.
    pub fn new() -> Wanted {
        Wanted::default()
    }

    /// Needs the first of these extensions (with `;` between them) that is there, and one must be;
    /// gives the need's number.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`]: there is no extension in it.
    pub fn require(&mut self, exts: &str) -> Result<usize> {
        self.add(exts, true)
    }

    /// As [`Wanted::require`], but a sample may be without.
    ///
    /// # Errors
    /// As [`Wanted::require`].
    pub fn allow(&mut self, exts: &str) -> Result<usize> {
        self.add(exts, false)
    }

    fn add(&mut self, exts: &str, required: bool) -> Result<usize> {
        let start = self.exts.len();
        // WebDataset's users write a dot before an extension now and then.
        let exts = exts.split(';').map(|ext| ext.trim().trim_start_matches('.'));
        self.exts.extend(exts.filter(|ext| !ext.is_empty()).map(str::to_ascii_lowercase));
        if start == self.exts.len() {
            return Err(Error::usage("a needed part has no extension; name one, such as \"jpg\""));
        }
        let exts = start..self.exts.len();
        self.needs.push(Need { exts, required, entry_points: false, pixels: false });
        Ok(self.needs.len() - 1)
    }

    /// Wants the entry points of the part that meets need number `need`, where the sidecar has them.
    pub fn with_entry_points(&mut self, need: usize) {
        self.needs[need].entry_points = true;
    }

    /// True if the entry points of need number `need` are wanted.
    pub(super) fn wants_entry_points(&self, need: usize) -> bool {
        self.needs[need].entry_points
    }

    /// Wants to know how many pixels the part that meets need number `need` has, where the sidecar says it.
    pub fn with_pixels(&mut self, need: usize) {
        self.needs[need].pixels = true;
    }

    /// True if the pixels of need number `need` are wanted.
    pub(crate) fn wants_pixels(&self, need: usize) -> bool {
        self.needs[need].pixels
    }

    /// Number of needs.
    pub fn len(&self) -> usize {
        self.needs.len()
    }

    /// The extensions of need number `need`, of which a sample must have one.
    pub fn alternatives(&self, need: usize) -> &[String] {
        &self.exts[self.needs[need].exts.clone()]
    }

    /// True if nothing is needed.
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// The extension with this number, as [`super::plan::PartRef::ext`] has it.
    pub fn ext(&self, number: u32) -> &str {
        &self.exts[number as usize]
    }

    /// The part that meets the `need`th need, and its extension's number. `None`: there is none, and
    /// none is required.
    pub(super) fn choose<'a>(
        &self,
        need: usize,
        sample: &'a Found,
    ) -> Result<Option<(u32, Part<'a>)>> {
        self.pick(need, || sample.parts().map(|part| (part.ext, part)))
    }

    /// The same of a sample whose parts are these: the extension of each, and what stands for it.
    pub(crate) fn pick<'a, T, P: Iterator<Item = (&'a [u8], T)>>(
        &self,
        need: usize,
        parts: impl Fn() -> P,
    ) -> Result<Option<(u32, T)>> {
        let Need { exts, required, .. } = &self.needs[need];
        let mut best: Option<(usize, T)> = None;
        for (ext, part) in parts() {
            let before = exts.start..best.as_ref().map_or(exts.end, |(number, _)| *number);
            let mut better = before.filter(|&n| ext.eq_ignore_ascii_case(self.exts[n].as_bytes()));
            if let Some(number) = better.next() {
                best = Some((number, part));
            }
        }
        match best {
            // Extensions are counted from what a user wrote.
            Some((number, part)) => Ok(Some((number as u32, part))),
            None if *required => Err(self.missing(need, parts().map(|(ext, _)| ext))),
            None => Ok(None),
        }
    }

    fn missing<'a>(&self, need: usize, have: impl Iterator<Item = &'a [u8]>) -> Error {
        let exts = self.exts[self.needs[need].exts.clone()].join("' or '");
        let have = have.map(tarflume_formats::name::shown);
        let have = have.collect::<Vec<_>>().join(", ");
        let text = format!("the sample has no part '{exts}'; it has: {have}");
        Error::new(ErrorKind::MissingPart, text)
    }
}
