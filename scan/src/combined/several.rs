//! Samples of several pictures that nothing asked for: `cat/0.jpg` and `cat/0.png` are two pictures of a folder of
//! classes, and a picture with its mask elsewhere.
//!
//! They are one sample without a problem if all samples are like that, or if `--require` names one of the parts.

use std::path::PathBuf;

use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::plan::PlannedExt;
use tarflume_formats::{IMAGE_EXTS, name};

use crate::combined::attach::Attached;
use crate::names::exts::Require;
use crate::samples::list::{FoundPart, FoundSample};
use crate::scan::Scan;

/// Which parts are pictures.
struct Pictures {
    /// By the number of the extension: the name of a picture without dots, `png` and not `mask.png`.
    is_picture: Vec<bool>,
    /// By the number of the extension: it is required by its name.
    is_asked: Vec<bool>,
}

impl Pictures {
    fn of(scan: &Scan, require: &Require) -> Pictures {
        Pictures {
            is_picture: scan
                .exts
                .iter()
                .map(|ext| IMAGE_EXTS.contains(&ext.shard.as_str()))
                .collect(),
            is_asked: scan.exts.iter().map(|ext| require.names(ext.shard.as_bytes())).collect(),
        }
    }

    /// Returns the pictures of a sample.
    fn of_sample<'s>(&'s self, sample: &'s FoundSample) -> impl Iterator<Item = &'s FoundPart> {
        sample.parts.iter().filter(|part| self.is_picture[part.ext as usize])
    }

    /// Returns true if the sample has several pictures, none of which is required by name.
    fn are_unasked(&self, sample: &FoundSample) -> bool {
        let is_asked = self.of_sample(sample).any(|part| self.is_asked[part.ext as usize]);
        !is_asked && self.of_sample(sample).nth(1).is_some()
    }
}

/// Refuses samples of several pictures, if samples are labeled, or if other samples have one picture.
///
/// # Errors
/// Returns an error if the list of samples cannot be made again.
pub fn refuse(
    scan: &mut Scan,
    roots: &[PathBuf],
    require: &Require,
    is_labeled: bool,
) -> Result<(), Failure> {
    let pictures = Pictures::of(scan, require);
    if pictures.is_picture.iter().filter(|is| **is).count() < 2 {
        return Ok(());
    }
    let mut has_one = is_labeled;
    let mut has_several = false;
    scan.samples.visit(|_, sample| {
        has_several = has_several || pictures.are_unasked(sample);
        has_one = has_one || pictures.of_sample(sample).count() == 1;
        !(has_several && has_one)
    });
    if !(has_several && has_one) {
        return Ok(());
    }
    scan.revise(
        "",
        roots,
        |scan, sample| Ok(pictures.are_unasked(sample).then(|| reason(scan, &pictures, sample))),
        |_, reason, _| {
            Ok(match reason {
                Some(reason) => Attached::Refused(ProblemKind::SeveralPictures, reason),
                None => Attached::Nothing,
            })
        },
    )
}

fn reason(scan: &Scan, pictures: &Pictures, sample: &FoundSample) -> Message {
    let base = sample.source.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let names = pictures
        .of_sample(sample)
        .map(|part| format!("'{}.{}'", name::shown(base), ext_of(part, scan).source));
    let exts: Vec<&str> =
        pictures.of_sample(sample).map(|part| ext_of(part, scan).shard.as_str()).collect();
    let first = exts.first().copied().unwrap_or_default();
    let last = exts.last().copied().unwrap_or_default();
    message!("{} would be one sample; if they are different pictures, rename one; if they belong together, \
             give {require}, or {ext_map} for a mask", names.collect::<Vec<_>>().join(" and "); require = Name::Require.is(first.to_string()), ext_map = Name::ExtMap.is(format!("{last}=mask.{last}")))
}

fn ext_of<'s>(part: &FoundPart, scan: &'s Scan) -> &'s PlannedExt {
    &scan.exts[part.ext as usize]
}
