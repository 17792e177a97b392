//! `Filter`: which samples a request wants, decided over the whole data set.

use std::collections::BTreeSet;

use tarflume_formats::index::Sample;
use tarflume_formats::{Result, name};
use tarflume_inspect::ordinals::Ordinals;
use tarflume_inspect::stats::{Finding, Measured};
use tarflume_shards::listing::Listing;

/// The fields of a request for samples. Empty fields let every sample pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// Part of the key or of a class, in any case of letters.
    pub(super) text: String,
    pub(super) class: String,
    pub(super) problem: String,
    pub(super) lacks: String,
    pub(super) min_width: u32,
    pub(super) min_height: u32,
}

impl Filter {
    /// Sets the field of a query; other names are ignored.
    ///
    /// # Errors
    /// Returns a text if a value is not a number.
    pub(super) fn set(&mut self, name: &str, value: &str) -> std::result::Result<(), String> {
        match name {
            "text" => self.text = value.to_lowercase(),
            "class" => self.class = value.into(),
            "problem" => self.problem = value.into(),
            "lacks" => self.lacks = value.into(),
            "min_width" => self.min_width = number(name, value)?,
            "min_height" => self.min_height = number(name, value)?,
            _ => {}
        }
        Ok(())
    }

    /// Returns true if every sample passes.
    pub(super) fn is_open(&self) -> bool {
        *self == Filter::default()
    }

    /// Returns the ordinals of all samples that pass, ascending.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub(super) fn find(
        &self,
        listing: &Listing,
        ordinals: &Ordinals,
        measured: &Measured,
    ) -> Result<Vec<u64>> {
        let finding = measured.stats.findings.iter().find(|found| found.flag() == self.problem);
        if !self.problem.is_empty() && finding.is_none() {
            return Ok(Vec::new());
        }
        // A class or a problem with a list is looked up; the others are seen sample by sample.
        let listed: Option<Vec<u64>> = if !self.class.is_empty() {
            let of = measured.postings.get(&self.class);
            Some(of.into_iter().flatten().map(|&ordinal| ordinal.into()).collect())
        } else {
            let flagged = finding.filter(|found| has_list(found)).map(Finding::flag);
            flagged.map(|flag| measured.flagged.get(&flag).cloned().unwrap_or_default())
        };
        let test = Test { filter: self, finding, measured, named: self.named(measured) };
        let mut found = Vec::new();
        match listed {
            Some(listed) => {
                for ordinal in listed {
                    if let Some((_, sample)) = ordinals.sample(listing, ordinal)?
                        && test.passes(&sample, ordinal)?
                    {
                        found.push(ordinal);
                    }
                }
            }
            None => {
                for (number, shard) in listing.shards.iter().enumerate() {
                    for sample in shard.index.iter() {
                        let sample = sample?;
                        let ordinal = ordinals.start(number) + sample.row;
                        if test.passes(&sample, ordinal)? {
                            found.push(ordinal);
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// Returns the samples with a class whose name contains the text.
    fn named(&self, measured: &Measured) -> BTreeSet<u32> {
        let matches = measured.postings.iter().filter(|(class, _)| {
            !self.text.is_empty() && class.to_lowercase().contains(&self.text)
        });
        matches.flat_map(|(_, ordinals)| ordinals.iter().copied()).collect()
    }
}

fn number(name: &str, value: &str) -> std::result::Result<u32, String> {
    match value {
        "" => Ok(0),
        value => value.parse().map_err(|_| format!("{name}: '{value}' is not a number\n")),
    }
}

/// Whether all ordinals of a finding were kept.
fn has_list(finding: &Finding) -> bool {
    use tarflume_inspect::stats::FindingKind as K;
    !matches!(finding.kind, K::MissingPart | K::LargePart)
}

struct Test<'a> {
    filter: &'a Filter,
    finding: Option<&'a Finding>,
    measured: &'a Measured,
    named: BTreeSet<u32>,
}

impl Test<'_> {
    fn passes(&self, sample: &Sample<'_>, ordinal: u64) -> Result<bool> {
        let filter = self.filter;
        if !filter.text.is_empty() {
            let has_class = u32::try_from(ordinal).is_ok_and(|n| self.named.contains(&n));
            if !has_class && !sample.shown_key().to_lowercase().contains(&filter.text) {
                return Ok(false);
            }
        }
        if filter.min_width > 0 || filter.min_height > 0 {
            let Some((width, height)) = sample.dimensions else { return Ok(false) };
            if width < filter.min_width || height < filter.min_height {
                return Ok(false);
            }
        }
        if !filter.lacks.is_empty() {
            for part in sample.parts() {
                if name::shown(part?.ext) == filter.lacks {
                    return Ok(false);
                }
            }
        }
        let Some(finding) = self.finding else { return Ok(true) };
        if let Some(has) = self.measured.stats.has_flag(sample, finding)? {
            return Ok(has);
        }
        let listed = self.measured.flagged.get(&finding.flag());
        Ok(listed.is_some_and(|listed| listed.binary_search(&ordinal).is_ok()))
    }
}
