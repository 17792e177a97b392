//! `tar:old/*.tar`: the samples of plain tars by WebDataset's rule, to be packed into other shards.
//!
//! Reads headers only. Each part is a range of its tar, so no byte of a member is copied before it
//! is packed.

use tarflume_formats::name;
use tarflume_formats::tar::{Member, MemberKind};
use tarflume_formats::{Reading, TarReader};

use super::Listing;
use super::url::SourceUrl;
use crate::failure::Failure;
use crate::problem::ProblemKind;
use crate::scan::builder::{RowName, RowPart, ScanBuilder};

/// Members between two looks at the stop.
const SOME: u64 = 4096;

/// Consecutive members with one key.
#[derive(Default)]
struct Open {
    key: Vec<u8>,
    first: u64,
    parts: Vec<(String, RowPart<'static>)>,
    /// Why it is no sample.
    wrong: Option<(ProblemKind, String)>,
}

/// Lists the samples of tars.
///
/// # Errors
/// Returns an error for a file that is not a plain tar or is damaged, and if the operating system
/// refuses.
pub(super) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    if let Some((option, _)) = source.options.first() {
        return Err(Failure::usage(format!("tar: has no option '{option}'")));
    }
    let Listing { root, builder, counter, stop } = listing;
    builder.call_rows("sample");
    let mut samples = 0;
    for (n, path) in source.files.iter().enumerate() {
        let number = builder.source((root + n as u32, path), "", "bytes", Default::default())?;
        let mut tar = TarReader::open(path, Reading::Headers)?;
        let (mut open, mut members) = (None, 0u64);
        while let Some(member) = tar.next_member()? {
            members += 1;
            if members % SOME == 0 {
                counter.add(SOME);
                if stop.requested() {
                    return Err(Failure::interrupted());
                }
            }
            take(number, &member, &mut open, &mut samples, builder)?;
        }
        counter.add(members % SOME);
        close(number, open, &mut samples, builder)?;
    }
    Ok(())
}

/// Adds a member to the open sample, or closes it and opens the next.
fn take(
    source: u32,
    member: &Member,
    open: &mut Option<Open>,
    samples: &mut u64,
    builder: &mut ScanBuilder<'_>,
) -> Result<(), Failure> {
    // `tar c .` writes names that begin with "./", which no reader means as part of a key.
    let path = member.name.strip_prefix(b"./").unwrap_or(&member.name);
    let split = (member.kind == MemberKind::File).then(|| name::split(path)).flatten();
    let Some((key, ext)) = split else {
        builder.skip(u64::from(member.kind != MemberKind::Directory));
        return Ok(());
    };
    if builder.leaves_out(path) {
        return Ok(());
    }
    if open.as_ref().is_none_or(|open| open.key != key) {
        close(source, open.take(), samples, builder)?;
    }
    let open = open.get_or_insert_with(|| Open {
        key: key.to_vec(),
        first: member.first,
        ..Open::default()
    });
    let Ok(ext) = String::from_utf8(builder.options().exts.apply(ext)) else {
        let reason = "its extension is not UTF-8; rename it in the tar".to_string();
        open.wrong.get_or_insert((ProblemKind::BadName, reason));
        return Ok(());
    };
    if open.parts.iter().any(|(other, _)| *other == ext) {
        let reason = format!("it has two members '{}'", name::shown(ext.as_bytes()));
        open.wrong.get_or_insert((ProblemKind::RepeatedPart, reason));
        return Ok(());
    }
    open.parts.push((ext, RowPart::Range { source, at: member.data, size: member.size }));
    Ok(())
}

fn close(
    source: u32,
    open: Option<Open>,
    samples: &mut u64,
    builder: &mut ScanBuilder<'_>,
) -> Result<(), Failure> {
    let Some(open) = open else { return Ok(()) };
    *samples += 1;
    if let Some((kind, reason)) = open.wrong {
        builder.refuse_at(source, Some(open.first), kind, Some(&open.key), reason);
        return Ok(());
    }
    let parts: Vec<_> = open.parts.iter().map(|(ext, part)| (ext.as_str(), *part)).collect();
    builder.push(RowName { source, row: *samples - 1 }, &open.key, &parts)
}
