//! `PartNeeds`: the parts that are needed of every sample. Selects among a sample's parts; reads nothing.

use std::ops::Range;

use tarflume_formats::index::{Part, SampleRow};
use tarflume_types::{Error, ErrorKind, Result};

use crate::fetch::draw::RowDraw;
use crate::fetch::verify::Verify;

/// The parts that are needed of every sample. `jpg;jpeg;png` is one need, which the first of these
/// extensions that a sample has satisfies.
#[derive(Debug, Clone, Default)]
pub struct PartNeeds {
    needs: Vec<Need>,
    exts: Vec<String>,
    /// Numbers of the extensions of parts whose values columns take from the sidecars. They have no need.
    copied: Vec<u32>,
    /// The samples of which these parts are compared with the sidecar in any case.
    verify: Verify,
}

#[derive(Debug, Clone)]
struct Need {
    exts: Range<usize>,
    required: bool,
    entry_points: bool,
    pixels: bool,
    excerpts: bool,
    mask: bool,
}

impl PartNeeds {
    /// No needs. A sample then consists of its key only.
    pub fn new() -> PartNeeds {
        PartNeeds::default()
    }

    /// Adds a need: the first of these extensions (separated by `;`) that a sample has. A sample with
    /// none of them is an error. Returns the number of the need.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`]: `exts` contains no extension.
    pub fn require(&mut self, exts: &str) -> Result<usize> {
        self.add(exts, true)
    }

    /// As [`PartNeeds::require`], but the part is optional.
    ///
    /// # Errors
    /// As [`PartNeeds::require`].
    pub fn allow(&mut self, exts: &str) -> Result<usize> {
        self.add(exts, false)
    }

    fn add(&mut self, exts: &str, required: bool) -> Result<usize> {
        let start = self.exts.len();
        // WebDataset accepts a dot before an extension.
        let exts = exts.split(';').map(|ext| ext.trim().trim_start_matches('.'));
        self.exts.extend(exts.filter(|ext| !ext.is_empty()).map(str::to_ascii_lowercase));
        if start == self.exts.len() {
            return Err(Error::usage("a needed part has no extension; name one, such as \"jpg\""));
        }
        self.needs.push(Need {
            exts: start..self.exts.len(),
            required,
            entry_points: false,
            pixels: false,
            excerpts: false,
            mask: false,
        });
        Ok(self.needs.len() - 1)
    }

    /// Requests the entry points of need number `need`, where the sidecar has them.
    pub fn with_entry_points(&mut self, need: usize) {
        self.needs[need].entry_points = true;
    }

    /// True if the entry points of need number `need` are requested.
    pub(super) fn wants_entry_points(&self, need: usize) -> bool {
        self.needs[need].entry_points
    }

    /// Requests the number of pixels of need number `need`, where the sidecar has it.
    pub fn with_pixels(&mut self, need: usize) {
        self.needs[need].pixels = true;
    }

    /// True if the number of pixels of need number `need` is requested.
    pub(crate) fn wants_pixels(&self, need: usize) -> bool {
        self.needs[need].pixels
    }

    /// Permits excerpts of the part of need number `need`, where the sidecar has what they need.
    pub(crate) fn with_excerpts(&mut self, need: usize) {
        self.needs[need].excerpts = true;
    }

    /// True if an excerpt of the part of need number `need` can be enough.
    pub(super) fn takes_excerpts(&self, need: usize) -> bool {
        self.needs[need].excerpts
    }

    /// Marks the part of need number `need` as a mask of the picture, which has the picture's size.
    pub(crate) fn with_mask(&mut self, need: usize) {
        self.needs[need].mask = true;
    }

    /// True if parts of this extension are masks of the picture.
    pub(super) fn is_mask(&self, ext: &[u8]) -> bool {
        let mut masks = self.needs.iter().filter(|need| need.mask);
        masks.any(|need| {
            self.exts[need.exts.clone()]
                .iter()
                .any(|mask| ext.eq_ignore_ascii_case(mask.as_bytes()))
        })
    }

    /// Adds the part `ext`, of which a column has a value from the sidecars: it is read where it must be compared with them.
    pub(crate) fn copies(&mut self, ext: &str) {
        if self.copied.iter().all(|&known| self.ext(known) != ext) {
            self.copied.push(self.exts.len() as u32);
            self.exts.push(ext.to_string());
        }
    }

    /// The samples of which these parts are compared even if their sidecars are those of their tars by all signs.
    pub(crate) fn verify_copies(&mut self, verify: Verify) {
        self.verify = verify;
    }

    /// Numbers of the extensions of these parts.
    pub(super) fn copied(&self) -> &[u32] {
        &self.copied
    }

    /// True if these parts of a sample are compared in any case.
    pub(super) fn verifies_copies(&self, draw: RowDraw) -> bool {
        !self.copied.is_empty() && self.verify.picks(draw.ordinal, draw.pass)
    }

    /// Number of needs.
    pub fn len(&self) -> usize {
        self.needs.len()
    }

    /// The extensions of need number `need`, in order of preference.
    pub fn alternatives(&self, need: usize) -> &[String] {
        &self.exts[self.needs[need].exts.clone()]
    }

    /// True if there are no needs.
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// The extension with this number, as in [`super::parts::PartRef::ext`].
    pub fn ext(&self, number: u32) -> &str {
        &self.exts[number as usize]
    }

    /// The part that satisfies need number `need`, and the number of its extension; `None` if an optional
    /// part is absent.
    pub(super) fn choose<'a>(
        &self,
        need: usize,
        sample: &'a SampleRow,
    ) -> Result<Option<(u32, Part<'a>)>> {
        self.pick(need, || sample.parts().map(|part| (part.ext, part)))
    }

    /// As `choose`, for parts given as pairs of an extension and any value.
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
            // The number of extensions is bounded by what a user wrote, so it fits 32 bits.
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
