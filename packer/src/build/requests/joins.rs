//! `Joins`: all that a build joins to its samples, in order: annotations, then tables. The fields of later ones are added
//! to the part of earlier ones.

use std::path::PathBuf;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::{About, ClassTable};
use tarflume_scan::Scan;
use tarflume_scan::folders::walk::Watch;
use tarflume_sources::join::{self, Known};
use tarflume_sources::present::Left;

use super::given::Given;
use super::joined::{Join, Reading};

/// Separates what is joined in the plan's options.
const BETWEEN: char = '\n';

/// What is joined; one [`Join`] at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Joins(Vec<Join>);

impl Default for Joins {
    fn default() -> Joins {
        Joins(vec![Join::Auto])
    }
}

impl Joins {
    /// Parses the options. Each file and folder must be what the option needs.
    ///
    /// # Errors
    /// Returns an error for annotations of several kinds, a malformed option, and a missing file.
    pub(crate) fn parse(given: Given<'_>) -> Result<Joins, Failure> {
        let annotations = given.annotations()?;
        let word = given.join.iter().find(|text| matches!(text.as_str(), "none" | "auto"));
        if let Some(word) = word {
            if given.join.len() + annotations.len() > 1 {
                let text = message!("{given}: leave it out beside other tables and annotations"; given = Name::Join.is(word.as_str()));
                return Err(Failure::usage(text));
            }
            let join = if word == "none" { Join::Nothing } else { Join::Auto };
            return Ok(Joins(vec![join]));
        }
        let mut joins = annotations;
        joins.extend(given.tables()?);
        if joins.is_empty() {
            return Ok(Joins::default());
        }
        Ok(Joins(joins))
    }

    /// Whether tables of metadata of an image folder are joined, if there are any.
    pub(crate) fn is_auto(&self) -> bool {
        self.0 == [Join::Auto]
    }

    /// Returns true if samples get JSON for certain.
    pub(crate) fn is_certain(&self) -> bool {
        self.0.iter().all(Join::is_certain)
    }

    /// The extensions of the new parts.
    pub(crate) fn exts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Join::ext)
    }

    /// Returns a digest of the classes that have numbers already for the plan's options.
    pub(crate) fn classes(&self) -> Option<String> {
        self.0.iter().find_map(Join::classes)
    }

    /// Permits no other classes than these.
    pub(crate) fn fix_classes(&mut self, table: &ClassTable) {
        self.0.iter_mut().for_each(|join| join.fix_classes(table));
    }

    /// Returns the text for the plan's options; `None` for the default.
    pub(crate) fn planned(&self) -> Option<String> {
        let texts: Vec<String> = self.0.iter().filter_map(Join::planned).collect();
        (!texts.is_empty()).then(|| texts.join(&BETWEEN.to_string()))
    }

    /// Returns what an append joins: what is given, with the options of the data set's first build, which
    /// [`Joins::planned`] has `recorded`.
    ///
    /// # Errors
    /// Returns an error if nothing is given and the first build had tables or annotations, and if other kinds, more or
    /// fewer of them, or other options are given.
    pub(crate) fn following(
        self,
        recorded: Option<&str>,
        is_given: bool,
    ) -> Result<Joins, Failure> {
        let recorded: Vec<&str> = recorded.unwrap_or("auto").split(BETWEEN).collect();
        if is_given && recorded.len() != self.0.len() {
            let packed: Vec<&str> = recorded.iter().map(|text| Join::file_of(text)).collect();
            return Err(Failure::usage(format!(
                "the data set was packed with {} tables or annotations ({}), and {} are given: give the rows of the new \
                 samples for each, in this order",
                recorded.len(),
                packed.join(", "),
                self.0.len()
            )));
        }
        let followed = self.0.into_iter().zip(recorded);
        let followed = followed.map(|(join, recorded)| join.following(Some(recorded), is_given));
        Ok(Joins(followed.collect::<Result<_, _>>()?))
    }

    /// Returns the paths under the roots of files that are no parts, because they are joined.
    pub(crate) fn paths_under(&self, roots: &[PathBuf]) -> Vec<Vec<u8>> {
        self.0.iter().flat_map(|join| join.paths_under(roots)).collect()
    }

    /// Joins everything to the samples of a scan. Returns what was left out because a data set, which gets more samples,
    /// has it.
    ///
    /// # Errors
    /// Returns the errors of the readers and of [`join::join`].
    pub(crate) fn add(
        &self,
        scan: &mut Scan,
        roots: &[PathBuf],
        terms: JoinTerms<'_>,
        watch: Watch<'_>,
    ) -> Result<Left, Failure> {
        let JoinTerms { before, reading, known } = terms;
        let mut left = Left::default();
        for (number, joined) in self.0.iter().enumerate() {
            let Some(mut source) = joined.open(scan, roots, before, reading, watch)? else {
                continue;
            };
            source.merges = self.exts().take(number).any(|ext| ext == joined.ext());
            left.add(join::join(scan, roots, source, known, watch)?);
        }
        Ok(left)
    }
}

/// What [`Joins::add`] needs beside the scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinTerms<'a> {
    /// The description of the data set that gets more samples.
    pub(crate) before: &'a About,
    pub(crate) reading: Reading,
    /// The data set that gets more samples.
    pub(crate) known: Option<Known<'a>>,
}
