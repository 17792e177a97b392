//! The table of names and headers that readers treat differently. Data, and pure functions on names.
//!
//! Tried with webdataset 1.0.2, datasets 5.0.1, Ray 2.60, wids 0.1.11 and SPDL 0.8.0; read in the sources of Energon 7.4.1
//! and DALI's `wds2idx`; of datago the documentation is known.

use tarflume_formats::name;

use super::reader::Profile;

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Row {
    SecondDot,
    NumberAfterDot,
    UpperCase,
    TwoDots,
    FinalDot,
    NoExtension,
    Hidden,
    HiddenInFolder,
    Reserved,
    ReservedStem,
    ReservedFolder,
    Blank,
    NotRegular,
    OldHeader,
    LargeSize,
    LongName,
    RepeatedPart,
    RepeatedCase,
    SplitSample,
    FirstSamples,
    Folder,
    Joined,
}

/// What DALI does with files that are no parts.
const UNLESS_INDEXED: &str =
    "the file becomes a sample and divides the sample around it, unless there is an index for DALI";

/// What most readers do with names that give no key.
const DROPPED: &str = "the file is dropped";

use Profile::{Dali, Datago, Energon, Hf, Ray, Spdl, Webdataset, Wids};

impl Row {
    /// Returns the example by which documents name the row.
    pub(super) fn example(self) -> &'static str {
        match self {
            Row::SecondDot => "000.seg.png",
            Row::NumberAfterDot => "img.001.jpg",
            Row::UpperCase => "000.JPG",
            Row::TwoDots => "a..jpg",
            Row::FinalDot => "a.",
            Row::NoExtension => "noext",
            Row::Hidden => ".hid.jpg",
            Row::HiddenInFolder => "dir/.hid.jpg",
            Row::Reserved => "__x__",
            Row::ReservedStem => "__meta__.json",
            Row::ReservedFolder => "__meta__/a.json",
            Row::Blank => "a b.jpg",
            Row::NotRegular => "a link",
            Row::OldHeader => "a header without magic",
            Row::LargeSize => "a file of 8 GiB",
            Row::LongName => "a long name",
            Row::RepeatedPart => "a.jpg a.jpg",
            Row::RepeatedCase => "a.jpg a.JPG",
            Row::SplitSample => "a.jpg b.jpg a.json",
            Row::FirstSamples => "the first five samples",
            Row::Folder => "x/a.jpg",
            Row::Joined => "joined tars",
        }
    }

    /// Returns what a reader does with it; `None` if it reads it as webdataset does, or as anybody expects.
    pub(super) fn effect(self, reader: Profile) -> Option<&'static str> {
        Some(match (self, reader) {
            (Row::SecondDot, Datago) => {
                "the key contains the first extension, and the parts of a sample are separated"
            }
            (Row::NumberAfterDot, Datago | Spdl) => return None,
            (Row::NumberAfterDot, _) => {
                "the key ends at the first dot, so that neighbors become one sample"
            }
            (Row::UpperCase, Webdataset | Spdl) => return None,
            (Row::UpperCase, _) => {
                "the part keeps its upper case and is not found under the lower-case name"
            }
            (Row::TwoDots, Spdl) => return None,
            (Row::TwoDots, Wids) => "the part is called `..EXT`",
            (Row::TwoDots, _) => "the part is called `.EXT`",
            (Row::FinalDot, Spdl) => return None,
            (Row::FinalDot, Dali) => "an index cannot contain a part without a name",
            (Row::FinalDot, _) => "the part has an empty name",
            (Row::NoExtension, Webdataset | Hf | Energon | Ray | Wids) => DROPPED,
            (Row::NoExtension, Dali) => UNLESS_INDEXED,
            (Row::NoExtension | Row::Hidden, Datago | Spdl) => {
                "the file is delivered and belongs to no sample"
            }
            (Row::Hidden, Wids) => {
                "the file becomes a sample with an empty key and divides the sample around it"
            }
            (Row::Hidden | Row::HiddenInFolder, Hf) => DROPPED,
            (Row::Hidden, _) => DROPPED,
            (Row::HiddenInFolder, Webdataset | Energon | Ray | Wids | Dali) => {
                "the file becomes a sample with the key of its folder and divides the sample around it"
            }
            (Row::Reserved, Dali) => UNLESS_INDEXED,
            (Row::ReservedStem, Hf) => DROPPED,
            (Row::ReservedFolder, Webdataset | Energon) => DROPPED,
            (Row::Blank, Dali) => "an index of version 1.2 cannot contain the name",
            (Row::NotRegular, Webdataset | Hf | Energon | Ray | Dali) => {
                "links and devices are dropped"
            }
            (Row::OldHeader, Spdl) => "the file is dropped without an error",
            (Row::LargeSize, Spdl) => "the size is misread",
            (Row::LongName, Wids) => {
                "the name is cut, and without its extension the file is dropped"
            }
            (Row::RepeatedPart, Webdataset | Hf | Ray) => "reading stops at the second file",
            (Row::RepeatedPart, Wids) => "the second file replaces the first",
            (Row::RepeatedCase, Webdataset) => "reading stops at the second file",
            (Row::SplitSample, Ray) => "reading stops: parts of a sample must be neighbors",
            (Row::SplitSample, Energon) => "`energon prepare` refuses a key that comes twice",
            (Row::SplitSample, Webdataset | Hf | Wids | Dali) => {
                "the sample is delivered in pieces"
            }
            (Row::FirstSamples, Hf) => {
                "the columns are those of the first five samples, which must have the same parts"
            }
            (Row::Folder, Datago) => {
                "folders are left out of the key: samples of two folders may get the same"
            }
            (Row::Joined, Datago) => return None,
            (Row::Joined, _) => "it is behind an end marker, where reading stops, so it is dropped",
            _ => return None,
        })
    }
}

/// Returns true for `__name__`.
fn is_reserved(name: &[u8]) -> bool {
    name.len() >= 4 && name.starts_with(b"__") && name.ends_with(b"__")
}

/// Returns the rows that a name belongs to.
pub(super) fn of_name(name: &[u8]) -> Vec<Row> {
    let mut rows = Vec::new();
    let slash = name.iter().rposition(|&byte| byte == b'/');
    let base = &name[slash.map_or(0, |slash| slash + 1)..];
    let first = name.split(|&byte| byte == b'/').next().unwrap_or(name);
    if slash.is_some() && is_reserved(first) {
        rows.push(Row::ReservedFolder);
    }
    match base.iter().position(|&byte| byte == b'.') {
        None if is_reserved(base) => rows.push(Row::Reserved),
        None => rows.push(Row::NoExtension),
        // In a folder with a dot, the name has no key at all.
        Some(0) if slash.is_some_and(|slash| !name[..slash].contains(&b'.')) => {
            rows.push(Row::HiddenInFolder);
        }
        Some(0) => rows.push(Row::Hidden),
        Some(dot) => {
            let stem = &base[..dot];
            let ext = &base[dot + 1..];
            if slash.is_none() && is_reserved(stem) {
                rows.push(Row::ReservedStem);
            }
            of_ext(ext, &mut rows);
        }
    }
    if name.iter().any(u8::is_ascii_whitespace) {
        rows.push(Row::Blank);
    }
    if slash.is_some_and(|slash| slash > 0 && &name[..slash] != b".") && name::split(name).is_some()
    {
        rows.push(Row::Folder);
    }
    rows
}

fn of_ext(ext: &[u8], rows: &mut Vec<Row>) {
    let mut words = ext.split(|&byte| byte == b'.');
    let first = words.next().unwrap_or_default();
    let more = words.next().is_some();
    match (first, more) {
        (b"", false) => rows.push(Row::FinalDot),
        (b"", true) => rows.push(Row::TwoDots),
        (first, true) if first.iter().all(u8::is_ascii_digit) => rows.push(Row::NumberAfterDot),
        (_, true) => rows.push(Row::SecondDot),
        _ => {}
    }
    if ext.iter().any(u8::is_ascii_uppercase) {
        rows.push(Row::UpperCase);
    }
}
