//! What a certain reader would misread or drop, although the tar is whole: `pack verify --profile`.
//!
//! `rows` is the table: an example of a name or header, and what each reader does with it. This file finds the rows that
//! a tar has. Each row is reported once for each tar, with the first member and the number of members. Reads headers
//! only.

mod reader;
mod rows;

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::Path;

use tarflume_base::{Choice, Problem, ProblemKind, Problems, Stop};
use tarflume_formats::tar::{Member, MemberKind};
use tarflume_formats::{Error, Reading, Result, TarReader, files, name};
use tarflume_shards::kinds;

use rows::ProfileRow;

pub use reader::Profile;

/// Samples from whose parts Hugging Face datasets takes the columns.
const FIRST_SAMPLES: usize = 5;

/// A tar of a set, and whether it is the first one.
#[derive(Debug, Clone, Copy)]
pub(in crate::verify) struct Tar<'a> {
    pub(in crate::verify) path: &'a Path,
    pub(in crate::verify) is_first: bool,
}

/// Finds what these readers misread in a tar.
///
/// # Errors
/// Returns an error if the machine failed. A damaged tar is no error here: its headers are checked as far as they can be
/// read.
pub(in crate::verify) fn check(
    tar: Tar<'_>,
    profiles: &[Profile],
    stop: &Stop,
) -> Result<Problems> {
    let mut reader = match TarReader::open(tar.path, Reading::Headers) {
        // Each tar of joined ones is examined; `pass` reports those that nobody reads.
        Ok(reader) => reader.ignore_zeros(true),
        Err(error) => return kinds::of_data(error).map(|_| Problems::default()),
    };
    let (file, _) = files::open(tar.path)?;
    let mut walk = Walk {
        tar,
        file,
        found: BTreeMap::new(),
        keys: HashSet::new(),
        open: None,
        heads: Vec::new(),
    };
    loop {
        if stop.requested() {
            break;
        }
        match reader.next_member() {
            Ok(Some(member)) => {
                walk.member(&member)?;
                if reader.joined().is_some() && member.kind == MemberKind::File {
                    walk.add(ProfileRow::Joined, &member);
                }
            }
            Ok(None) => break,
            Err(error) => {
                kinds::of_data(error)?;
                break;
            }
        }
    }
    walk.columns();
    Ok(walk.problems(profiles))
}

/// A row of the table in this tar.
struct MisreadRow {
    byte: u64,
    name: String,
    count: u64,
}

struct Walk<'a> {
    tar: Tar<'a>,
    file: File,
    found: BTreeMap<ProfileRow, MisreadRow>,
    /// blake3 of the keys so far.
    keys: HashSet<[u8; 32]>,
    /// Key and extensions of the open sample.
    open: Option<(Vec<u8>, Vec<Vec<u8>>)>,
    /// The extensions of the first samples of the first tar.
    heads: Vec<Vec<Vec<u8>>>,
}

impl Walk<'_> {
    fn member(&mut self, member: &Member) -> Result<()> {
        match member.kind {
            MemberKind::File => {}
            MemberKind::Directory => return Ok(()),
            _ => {
                self.add(ProfileRow::NotRegular, member);
                return Ok(());
            }
        }
        for row in rows::of_name(&member.name) {
            self.add(row, member);
        }
        self.header(member)?;
        if let Some((key, ext)) = name::split(&member.name) {
            self.part(member, key, ext);
        }
        Ok(())
    }

    /// Looks at the member's own header, which follows those of long names.
    fn header(&mut self, member: &Member) -> Result<()> {
        let mut header = [0; 512];
        files::read_exact_at(&self.file, &mut header, member.data.saturating_sub(512))
            .map_err(|e| Error::io(e, "read", self.tar.path))?;
        if &header[257..262] != b"ustar" {
            self.add(ProfileRow::OldHeader, member);
        }
        if header[124] & 0x80 != 0 {
            self.add(ProfileRow::LargeSize, member);
        }
        // The name is in a header before the member's own, unless that one has all of it.
        let own = name_in(&header);
        if member.data - member.first > 512 && own != member.name && header[345] == 0 {
            self.add(ProfileRow::LongName, member);
        }
        Ok(())
    }

    fn part(&mut self, member: &Member, key: &[u8], ext: &[u8]) {
        match &mut self.open {
            Some((open, exts)) if open == key => {
                let same = exts.iter().any(|other| other == ext);
                let row = if same { ProfileRow::RepeatedPart } else { ProfileRow::RepeatedCase };
                if exts.iter().any(|other| other.eq_ignore_ascii_case(ext)) {
                    self.add(row, member);
                } else {
                    exts.push(ext.to_vec());
                }
            }
            _ => {
                self.close();
                if !self.keys.insert(*blake3::hash(key).as_bytes()) {
                    self.add(ProfileRow::SplitSample, member);
                }
                self.open = Some((key.to_vec(), vec![ext.to_vec()]));
            }
        }
    }

    /// Ends the open sample.
    fn close(&mut self) {
        if let Some((_, mut exts)) = self.open.take()
            && self.tar.is_first
            && self.heads.len() < FIRST_SAMPLES
        {
            exts.sort_unstable();
            self.heads.push(exts);
        }
    }

    /// Compares the parts of the first samples.
    fn columns(&mut self) {
        self.close();
        let differs = self.heads.iter().position(|exts| *exts != self.heads[0]);
        if let Some(row) = differs {
            let name = format!("sample {}", row + 1);
            self.found.insert(ProfileRow::FirstSamples, MisreadRow { byte: 0, name, count: 1 });
        }
    }

    fn add(&mut self, row: ProfileRow, member: &Member) {
        let found = self.found.entry(row).or_insert_with(|| MisreadRow {
            byte: member.first,
            name: name::shown(&member.name),
            count: 0,
        });
        found.count += 1;
    }

    fn problems(self, profiles: &[Profile]) -> Problems {
        let mut problems = Problems::default();
        let path = self.tar.path.display().to_string();
        for (row, MisreadRow { byte, name, count }) in &self.found {
            let mut effects: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for profile in profiles {
                if let Some(effect) = row.effect(*profile) {
                    effects.entry(effect).or_default().push(profile.word());
                }
            }
            for (effect, readers) in effects {
                let more = match count {
                    1 => String::new(),
                    count => {
                        format!(
                            ", the first of {}",
                            tarflume_base::units::counted(*count, "file", "files")
                        )
                    }
                };
                let text = format!(
                    "{}: {name}{more}: {effect} (row `{}`)",
                    readers.join(", "),
                    row.example()
                );
                problems.push(Problem::new(ProblemKind::Misread, path.clone(), text).at(*byte));
            }
        }
        problems
    }
}

/// The name in a header, without the prefix of ustar.
fn name_in(header: &[u8; 512]) -> &[u8] {
    let field = &header[..100];
    &field[..field.iter().position(|&byte| byte == 0).unwrap_or(field.len())]
}

#[cfg(test)]
mod tests;
