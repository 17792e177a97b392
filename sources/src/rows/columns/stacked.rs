//! The error for sources whose samples have different columns: they were meant to be columns of the same samples, or
//! are two data sets.

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Task};
use tarflume_formats::shown::ShowPath;
use tarflume_scan::samples::described::Stacked;

use crate::rows::formats::npy::name_of;
use crate::rows::url::{SourceFormat, SourceUrl};

/// Returns the error for a column that the samples of one source have and those of another have not, with what gives
/// each sample all columns.
pub(crate) fn refused(found: &Stacked, sources: &[SourceUrl]) -> Failure {
    let Stacked { column, with, without } = found;
    Failure::usage(
        message!("the samples of {with} have '{column}', and those of {without} have not: sources follow one another, sample after \
         sample; {why}"; why = remedy(sources)),
    )
}

fn remedy(sources: &[SourceUrl]) -> Message {
    let files = sources.iter().flat_map(|source| &source.files);
    if are(SourceFormat::Npy, sources) {
        let named: Vec<String> = files.map(|file| file.display().to_string()).collect();
        return message!("for samples with both, name all arrays in one source: {build}";
            build = Call::of(Task::Build).on_quoted(format!("npy:{}", named.join(","))).out_stand("OUT"));
    }
    if are(SourceFormat::Raw, sources) {
        let named: Vec<String> = files.map(|file| file.display().to_string()).collect();
        let options: Vec<String> = sources.iter().flat_map(raw_options).collect();
        return message!("for samples with both, name all arrays in one source: {build}";
            build = Call::of(Task::Build)
                .on_quoted(format!("raw:{}?{}", named.join(","), options.join("&")))
                .out_stand("OUT"));
    }
    let one = &sources[0].files;
    if are(SourceFormat::Hdf5, sources) && one.len() == 1 && sources.iter().all(|s| s.files == *one)
    {
        let options = sources.iter().flat_map(|source| &source.options);
        let options: Vec<String> = options.map(|(name, value)| format!("{name}={value}")).collect();
        return message!("for samples with both, name all data sets in one source: {build}";
            build = Call::of(Task::Build)
                .on_quoted(format!("hdf5:{}?{}", one[0].display(), options.join("&")))
                .out_stand("OUT"));
    }
    if are(SourceFormat::Npz, sources) {
        let named: Vec<String> =
            files.take(2).map(|file| format!("**numpy.load('{}')", file.shown())).collect();
        return message!(
            "for samples with both, save all arrays in one file: numpy.savez('all.npz', {})",
            named.join(", ")
        );
    }
    Message::words("give all of them the same columns, or pack them as different data sets")
}

/// Returns the options of a source of numbers, each with the name of its array in front.
fn raw_options(source: &SourceUrl) -> Vec<String> {
    let names: Vec<String> = source.files.iter().map(|path| name_of(path)).collect();
    let mut options = Vec::new();
    for (option, value) in &source.options {
        if option.contains('.') {
            options.push(format!("{option}={value}"));
            continue;
        }
        options.extend(names.iter().map(|name| format!("{name}.{option}={value}")));
    }
    options
}

fn are(kind: SourceFormat, sources: &[SourceUrl]) -> bool {
    sources.iter().all(|source| source.kind == kind)
}
