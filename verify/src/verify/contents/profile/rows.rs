//! The table of names and headers that readers treat differently. Data, and pure functions on names.
//!
//! Tried with webdataset 1.0.2, datasets 5.0.1, Ray 2.60, wids 0.1.11 and SPDL 0.8.0; read in the sources of Energon 7.4.1
//! and DALI's `wds2idx`; of datago the documentation is known.

use tarflume_formats::name;

use super::reader::Profile;

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProfileRow {
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

impl ProfileRow {
    /// Returns the example by which documents name the row.
    pub(super) fn example(self) -> &'static str {
        match self {
            ProfileRow::SecondDot => "000.seg.png",
            ProfileRow::NumberAfterDot => "img.001.jpg",
            ProfileRow::UpperCase => "000.JPG",
            ProfileRow::TwoDots => "a..jpg",
            ProfileRow::FinalDot => "a.",
            ProfileRow::NoExtension => "noext",
            ProfileRow::Hidden => ".hid.jpg",
            ProfileRow::HiddenInFolder => "dir/.hid.jpg",
            ProfileRow::Reserved => "__x__",
            ProfileRow::ReservedStem => "__meta__.json",
            ProfileRow::ReservedFolder => "__meta__/a.json",
            ProfileRow::Blank => "a b.jpg",
            ProfileRow::NotRegular => "a link",
            ProfileRow::OldHeader => "a header without magic",
            ProfileRow::LargeSize => "a file of 8 GiB",
            ProfileRow::LongName => "a long name",
            ProfileRow::RepeatedPart => "a.jpg a.jpg",
            ProfileRow::RepeatedCase => "a.jpg a.JPG",
            ProfileRow::SplitSample => "a.jpg b.jpg a.json",
            ProfileRow::FirstSamples => "the first five samples",
            ProfileRow::Folder => "x/a.jpg",
            ProfileRow::Joined => "joined tars",
        }
    }

    /// Returns what a reader does with it; `None` if it reads it as webdataset does, or as anybody expects.
    pub(super) fn effect(self, reader: Profile) -> Option<&'static str> {
        Some(match (self, reader) {
            (ProfileRow::SecondDot, Datago) => {
                "the key contains the first extension, and the parts of a sample are separated"
            }
            (ProfileRow::NumberAfterDot, Datago | Spdl) => return None,
            (ProfileRow::NumberAfterDot, _) => {
                "the key ends at the first dot, so that neighbors become one sample"
            }
            (ProfileRow::UpperCase, Webdataset | Spdl) => return None,
            (ProfileRow::UpperCase, _) => {
                "the part keeps its upper case and is not found under the lower-case name"
            }
            (ProfileRow::TwoDots, Spdl) => return None,
            (ProfileRow::TwoDots, Wids) => "the part is called `..EXT`",
            (ProfileRow::TwoDots, _) => "the part is called `.EXT`",
            (ProfileRow::FinalDot, Spdl) => return None,
            (ProfileRow::FinalDot, Dali) => "an index cannot contain a part without a name",
            (ProfileRow::FinalDot, _) => "the part has an empty name",
            (ProfileRow::NoExtension, Webdataset | Hf | Energon | Ray | Wids) => DROPPED,
            (ProfileRow::NoExtension, Dali) => UNLESS_INDEXED,
            (ProfileRow::NoExtension | ProfileRow::Hidden, Datago | Spdl) => {
                "the file is delivered and belongs to no sample"
            }
            (ProfileRow::Hidden, Wids) => {
                "the file becomes a sample with an empty key and divides the sample around it"
            }
            (ProfileRow::Hidden | ProfileRow::HiddenInFolder, Hf) => DROPPED,
            (ProfileRow::Hidden, _) => DROPPED,
            (ProfileRow::HiddenInFolder, Webdataset | Energon | Ray | Wids | Dali) => {
                "the file becomes a sample with the key of its folder and divides the sample around it"
            }
            (ProfileRow::Reserved, Dali) => UNLESS_INDEXED,
            (ProfileRow::ReservedStem, Hf) => DROPPED,
            (ProfileRow::ReservedFolder, Webdataset | Energon) => DROPPED,
            (ProfileRow::Blank, Dali) => "an index of version 1.2 cannot contain the name",
            (ProfileRow::NotRegular, Webdataset | Hf | Energon | Ray | Dali) => {
                "links and devices are dropped"
            }
            (ProfileRow::OldHeader, Spdl) => "the file is dropped without an error",
            (ProfileRow::LargeSize, Spdl) => "the size is misread",
            (ProfileRow::LongName, Wids) => {
                "the name is cut, and without its extension the file is dropped"
            }
            (ProfileRow::RepeatedPart, Webdataset | Hf | Ray) => "reading stops at the second file",
            (ProfileRow::RepeatedPart, Wids) => "the second file replaces the first",
            (ProfileRow::RepeatedCase, Webdataset) => "reading stops at the second file",
            (ProfileRow::SplitSample, Ray) => "reading stops: parts of a sample must be neighbors",
            (ProfileRow::SplitSample, Energon) => {
                "`energon prepare` refuses a key that comes twice"
            }
            (ProfileRow::SplitSample, Webdataset | Hf | Wids | Dali) => {
                "the sample is delivered in pieces"
            }
            (ProfileRow::FirstSamples, Hf) => {
                "the columns are those of the first five samples, which must have the same parts"
            }
            (ProfileRow::Folder, Datago) => {
                "folders are left out of the key: samples of two folders may get the same"
            }
            (ProfileRow::Joined, Datago) => return None,
            (ProfileRow::Joined, _) => {
                "it is behind an end marker, where reading stops, so it is dropped"
            }
            _ => return None,
        })
    }
}

/// Returns true for `__name__`.
fn is_reserved(name: &[u8]) -> bool {
    name.len() >= 4 && name.starts_with(b"__") && name.ends_with(b"__")
}

/// Returns the rows that a name belongs to.
pub(super) fn of_name(name: &[u8]) -> Vec<ProfileRow> {
    let mut rows = Vec::new();
    let slash = name.iter().rposition(|&byte| byte == b'/');
    let base = &name[slash.map_or(0, |slash| slash + 1)..];
    let first = name.split(|&byte| byte == b'/').next().unwrap_or(name);
    if slash.is_some() && is_reserved(first) {
        rows.push(ProfileRow::ReservedFolder);
    }
    match base.iter().position(|&byte| byte == b'.') {
        None if is_reserved(base) => rows.push(ProfileRow::Reserved),
        None => rows.push(ProfileRow::NoExtension),
        // In a folder with a dot, the name has no key at all.
        Some(0) if slash.is_some_and(|slash| !name[..slash].contains(&b'.')) => {
            rows.push(ProfileRow::HiddenInFolder);
        }
        Some(0) => rows.push(ProfileRow::Hidden),
        Some(dot) => {
            let stem = &base[..dot];
            let ext = &base[dot + 1..];
            if slash.is_none() && is_reserved(stem) {
                rows.push(ProfileRow::ReservedStem);
            }
            of_ext(ext, &mut rows);
        }
    }
    if name.iter().any(u8::is_ascii_whitespace) {
        rows.push(ProfileRow::Blank);
    }
    if slash.is_some_and(|slash| slash > 0 && &name[..slash] != b".") && name::split(name).is_some()
    {
        rows.push(ProfileRow::Folder);
    }
    rows
}

fn of_ext(ext: &[u8], rows: &mut Vec<ProfileRow>) {
    let mut words = ext.split(|&byte| byte == b'.');
    let first = words.next().unwrap_or_default();
    let more = words.next().is_some();
    match (first, more) {
        (b"", false) => rows.push(ProfileRow::FinalDot),
        (b"", true) => rows.push(ProfileRow::TwoDots),
        (first, true) if first.iter().all(u8::is_ascii_digit) => {
            rows.push(ProfileRow::NumberAfterDot)
        }
        (_, true) => rows.push(ProfileRow::SecondDot),
        _ => {}
    }
    if ext.iter().any(u8::is_ascii_uppercase) {
        rows.push(ProfileRow::UpperCase);
    }
}
