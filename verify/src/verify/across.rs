//! Checks across all shards of a set: keys that clash, and parts that a sample lacks.

use std::collections::{BTreeMap, HashMap, HashSet};

use tarflume_base::check::Content;
use tarflume_base::collide::Keys;
use tarflume_base::{Problem, ProblemKind, Problems, units};
use tarflume_formats::index::Sample;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::{Result, name};
use tarflume_shards::clashes::{Shards, clashes};
use tarflume_shards::kinds;

use super::options::{Level, Options};
use tarflume_formats::IMAGE_EXTS;

/// The word for any image in `--require`.
const IMAGE: &str = "image";

/// The result.
#[derive(Debug, Default)]
pub(crate) struct FoundAcross {
    /// Parts by extension.
    pub extensions: BTreeMap<String, u64>,
    /// The problems found.
    pub problems: Problems,
    /// What is unusual and no problem.
    pub warnings: Vec<Problem>,
}

/// Checks all keys and parts of a set, as `options` require.
///
/// # Errors
/// Returns an error if a sidecar could not be read.
pub(crate) fn prove(shards: &Shards, options: &Options) -> Result<FoundAcross> {
    let mut found = FoundAcross { problems: options.problems(), ..FoundAcross::default() };
    let proved = shards.extensions().and_then(|extensions| {
        found.extensions = extensions;
        if options.level > Level::Quick {
            clashes(shards, &mut found.problems)?;
        }
        match &options.require {
            Some(require) => missing_parts(shards, require, &mut found.problems)?,
            None if options.level > Level::Quick => found.warnings = rarely_missing(shards)?,
            None => {}
        }
        Ok(())
    });
    if let Err(error) = proved {
        found.problems.push(kinds::in_index(&kinds::of_data(error)?));
    }
    Ok(found)
}

/// Returns the class under which an extension is counted: image extensions are one class, for data
/// sets that mix them.
fn class(ext: &[u8]) -> &[u8] {
    let plain_image = Content::of(ext).is_image() && !ext.contains(&b'.');
    if plain_image { IMAGE.as_bytes() } else { ext }
}

/// Adds a problem for each required part that a sample lacks.
fn missing_parts(shards: &Shards, require: &[String], problems: &mut Problems) -> Result<()> {
    if require.is_empty() {
        return Ok(());
    }
    let wanted: Vec<Vec<u8>> =
        require.iter().map(|ext| ext.to_ascii_lowercase().into_bytes()).collect();
    for (shard, index) in shards.indexes().enumerate() {
        let mut have = Have::default();
        for sample in index.iter() {
            let sample = sample?;
            have.gather(&sample)?;
            for want in wanted.iter().filter(|want| !have.has(want)) {
                problems.push(lacks(shards.path(shard), &sample, want));
            }
        }
    }
    Ok(())
}

/// The classes of one sample's parts.
#[derive(Default)]
struct Have<'a> {
    exts: HashSet<&'a [u8]>,
    image: bool,
}

impl<'a> Have<'a> {
    fn gather(&mut self, sample: &Sample<'a>) -> Result<()> {
        self.exts.clear();
        self.image = false;
        for part in sample.parts() {
            let ext = part?.ext;
            self.image |= class(ext) == IMAGE.as_bytes();
            self.exts.insert(ext);
        }
        Ok(())
    }

    fn has(&self, want: &[u8]) -> bool {
        self.exts.contains(want) || (want == IMAGE.as_bytes() && self.image)
    }
}

fn lacks(path: String, sample: &Sample<'_>, want: &[u8]) -> Problem {
    let text = match name::shown(want).as_str() {
        IMAGE => format!("this sample has no image ({})", IMAGE_EXTS.join(", ")),
        ext => format!("this sample has no part '{ext}'"),
    };
    Problem::new(ProblemKind::MissingPart, path, text).at(sample.first).of(sample.shown_key())
}

/// Samples that lack a part.
#[derive(Debug, Default)]
struct Lacking {
    samples: u64,
    /// The first one.
    first: Option<Problem>,
}

/// Returns a warning for each part that nearly all samples have and some lack. Packing does not expect such a part of
/// each sample, so its absence is no problem unless it is required.
fn rarely_missing(shards: &Shards) -> Result<Vec<Problem>> {
    let wanted = usual(shards)?;
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut lacking: Vec<Lacking> = wanted.iter().map(|_| Lacking::default()).collect();
    for (shard, index) in shards.indexes().enumerate() {
        let mut have = Have::default();
        for sample in index.iter() {
            let sample = sample?;
            have.gather(&sample)?;
            for (want, found) in wanted.iter().zip(&mut lacking) {
                if !have.has(want) {
                    found.samples += 1;
                    found.first.get_or_insert_with(|| lacks(shards.path(shard), &sample, want));
                }
            }
        }
    }
    let told = wanted.iter().zip(lacking).filter_map(|(want, Lacking { samples, first })| {
        let Problem { reason, .. } = first.as_ref()?;
        let all = units::count(shards.count());
        let others = units::count(samples - 1);
        let others = match samples {
            1 => String::new(),
            _ => format!(", nor have {others} others"),
        };
        let reason = message!("{reason}{others}; the rest of the {all} samples have it. {require} makes this a problem"; reason = reason, require = Name::Require.is(name::shown(want).to_string()));
        first.map(|first| Problem { reason, ..first })
    });
    Ok(told.collect())
}

/// Returns the parts that nearly all samples of this set have and some lack; see [`is_usual`].
fn usual(shards: &Shards) -> Result<Vec<Vec<u8>>> {
    // Number of samples with each class, and the last one that was counted.
    let mut having: HashMap<&[u8], (u64, u64)> = HashMap::new();
    let mut number = 0;
    for index in shards.indexes() {
        for sample in index.iter() {
            number += 1;
            for part in sample?.parts() {
                let (count, last) = having.entry(class(part?.ext)).or_default();
                *count += u64::from(*last != number);
                *last = number;
            }
        }
    }
    let samples = shards.count();
    let mut usual: Vec<_> = having
        .into_iter()
        .filter(|(_, (n, _))| is_usual(*n, samples))
        .map(|(ext, _)| ext.to_vec())
        .collect();
    usual.sort_unstable();
    Ok(usual)
}

/// Returns true if most samples have a part, and at most a tenth of them, or a single one, lack it.
fn is_usual(having: u64, samples: u64) -> bool {
    let lacking = samples - having;
    lacking > 0 && having > lacking && lacking <= (samples / 10).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_nearly_all_samples_are_usual() {
        for (having, samples, want) in [
            (1, 1, false),
            (100, 100, false),
            (1, 2, false),
            (2, 3, true),
            (1, 3, false),
            (9, 10, true),
            (8, 10, false),
            (90, 100, true),
            (89, 100, false),
        ] {
            assert_eq!(is_usual(having, samples), want, "{having} of {samples}");
        }
    }

    #[test]
    fn images_are_one_class_and_compound_extensions_are_their_own() {
        assert_eq!(class(b"png"), class(b"jpg"));
        assert_ne!(class(b"seg.png"), class(b"png"));
    }
}
