//! What a verification was asked for and did not check, because nothing in the data set matches it.

use std::path::PathBuf;

use tarflume_base::Choice;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use crate::verify::Report;
use crate::verify::options::Options;
use crate::verify::sets::Set;

/// Returns a sentence for each schema whose part no sample has.
pub(in crate::verify) fn schemas(report: &Report, options: &Options) -> Vec<Message> {
    let have: Vec<String> = report.extensions.keys().map(|ext| format!("'{ext}'")).collect();
    let have = match have.as_slice() {
        [] => "there are no parts".into(),
        have => format!("the parts are {}", have.join(", ")),
    };
    let unmatched =
        options.schemas.iter().filter(|schema| !report.extensions.contains_key(schema.ext()));
    unmatched
        .map(|schema| message!("no part '{}' was found for its schema: {have}", schema.ext()))
        .collect()
}

/// Returns a sentence if objects are to be checked, and no sample has any.
pub(in crate::verify) fn objects(found: u64, options: &Options) -> Option<Message> {
    (options.objects && found == 0).then(|| {
        message!("{objects}: no sample has objects in its part 'json'"; objects = Name::Objects.on())
    })
}

/// Returns a sentence if readers were named, whose misreadings are only looked for in files of this machine.
pub(in crate::verify) fn profiles(urls: &[PathBuf], options: &Options) -> Option<Message> {
    let names: Vec<&str> = options.profiles.iter().map(|profile| profile.word()).collect();
    let url = urls.first().filter(|_| !names.is_empty())?;
    Some(message!(
        "{}: what {} would misread is only found in files on this machine; copy the shards, or leave the profile out",
        url.display(),
        names.join(", ")
    ))
}

/// Returns a sentence if a signature is demanded, and no path is a data set, which could have one.
pub(in crate::verify) fn signatures(sets: &[Set], options: &Options) -> Option<Message> {
    let is_none = sets.iter().all(|set| set.targets.iter().all(|target| target.entry.is_none()));
    (options.signers.is_some() && is_none).then(|| {
        message!("{signed_by}: a signature is of a data set, and no path is one"; signed_by = Name::SignedBy.on())
    })
}
