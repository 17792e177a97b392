//! One tar's sidecar: read the tar, refuse what readers would disagree about, publish.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tarflume_formats::checksum::crc32c;
use tarflume_formats::error::{Error, ErrorKind, Result};
use tarflume_formats::manifest::ShardEntry;
use tarflume_formats::publish::write_whole;
use tarflume_formats::reading::{Reading, TarReader};
use tarflume_formats::shard::index_path;
use tarflume_formats::tar::Member;
use tarflume_formats::{Index, name};

use super::options::Options;
use super::probe;
use super::rows::{Rows, Skipped, part_of};
use crate::check::{Content, Dimensions};
use crate::failure::Failure;

/// Parts up to this length are looked at whole; longer ones in pieces.
const WHOLE: u64 = 64 * 1024 * 1024;
/// How many bytes are done before it is told.
const TELL: u64 = 4 * 1024 * 1024;

/// What became of one tar.
#[derive(Debug)]
pub struct Indexed {
    /// The tar.
    pub tar: PathBuf,
    /// Its sidecar, or why there is none.
    pub result: Result<Made, Failure>,
}

/// A tar's sidecar, made or found.
#[derive(Debug)]
pub struct Made {
    /// As the manifest lists it. Its name is empty where the tar's own is not UTF-8.
    pub entry: ShardEntry,
    /// Parts by extension.
    pub extensions: BTreeMap<String, u64>,
    /// Members that belong to no sample; not known for a sidecar that was kept.
    pub skipped: Skipped,
    /// True if a good sidecar was there and was left as it is.
    pub kept: bool,
    /// What a reader should know, one line each.
    pub warnings: Vec<String>,
}

/// Makes the sidecar of the tar at `tar`, or finds that it has a good one.
///
/// # Errors
/// The tar is damaged, ambiguous, compressed or without samples; a sidecar of another tar is there
/// and `force` is not set; the operating system's refusal to read or write.
pub fn index_tar(
    tar: &Path,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Made, Failure> {
    let sidecar = index_path(tar);
    if !options.force && sidecar.exists() {
        return keep(tar, options).map_err(|e| {
            let exit = Failure::from(e);
            let text = format!("{exit}; if the tar is right, replace its sidecar with --force");
            Failure { text, ..exit }
        });
    }
    let read = read_tar(tar, options, on_bytes)?;
    write_whole(&sidecar, &read.bytes)?;
    let index = Index::open(&sidecar)?;
    let warnings = read.warnings;
    Ok(Made {
        entry: entry(tar, &index),
        extensions: read.extensions,
        skipped: read.skipped,
        kept: false,
        warnings,
    })
}

/// The sidecar that is there, if it is whole and belongs to this tar.
fn keep(tar: &Path, options: &Options) -> Result<Made> {
    let path = index_path(tar);
    let index = Index::open(&path)?;
    let mut reader = TarReader::open(tar, Reading::Headers)?;
    index.check_tar_length(reader.length())?;
    index.check()?;
    if let Some(error) = probe::compare(&mut reader, &index)?.into_iter().next() {
        return Err(error);
    }
    let mut warnings = Vec::new();
    if options.reading == Reading::Everything && !index.has_checksums() {
        let text = "the sidecar that is kept was made by headers alone; add checksums with --force";
        warnings.push(text.into());
    }
    let (entry, extensions) = (entry(tar, &index), ext_counts(&index)?);
    Ok(Made { entry, extensions, skipped: Skipped::default(), kept: true, warnings })
}

/// How the manifest lists a tar that has this sidecar.
pub fn entry(tar: &Path, index: &Index) -> ShardEntry {
    let name = tar.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    ShardEntry {
        name: name.into(),
        samples: index.samples(),
        bytes: index.tar().length,
        blake3: index.tar().digest.map(|d| d.to_hex().to_string()),
        index_bytes: index.length(),
        index_blake3: index.digest().to_hex().to_string(),
    }
}

/// Parts by extension.
///
/// # Errors
/// A damaged sidecar.
pub fn ext_counts(index: &Index) -> Result<BTreeMap<String, u64>> {
    let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
    for sample in index.iter() {
        for part in sample?.parts() {
            *counts.entry(part?.ext).or_default() += 1;
        }
    }
    Ok(counts.into_iter().map(|(ext, n)| (name::shown(ext), n)).collect())
}

/// A sidecar in memory, and what was seen on the way.
#[derive(Debug)]
pub struct Read {
    /// The sidecar's bytes.
    pub bytes: Vec<u8>,
    /// Parts by extension.
    pub extensions: BTreeMap<String, u64>,
    /// Members that belong to no sample.
    pub skipped: Skipped,
    /// What a reader should know, one line each.
    pub warnings: Vec<String>,
}

/// Reads a tar and makes its sidecar in memory.
///
/// # Errors
/// The tar is damaged, ambiguous, compressed or without samples.
pub fn read_tar(tar: &Path, options: &Options, on_bytes: &(dyn Fn(u64) + Sync)) -> Result<Read> {
    let mut reader = TarReader::open(tar, options.reading)?;
    let mut rows = Rows::new();
    let mut warnings = Vec::new();
    let mut told = 0;
    loop {
        match reader.next_member() {
            Ok(Some(member)) => {
                add(&mut reader, &mut rows, &member, options.reading)
                    .map_err(|e| at(e, tar, &member))?;
                let end = member.end().min(reader.length());
                if end - told >= TELL {
                    on_bytes(end - told);
                    told = end;
                }
            }
            Ok(None) => break,
            Err(error) if error.kind() == ErrorKind::MissingEnd && options.allow_missing_end => {
                warnings.push(format!("the end marker is missing: {error}"));
                break;
            }
            Err(error) => return Err(error),
        }
    }
    if let Some(end) = reader.end()
        && !reader.only_zeros_from(end)?
    {
        warnings.push(format!(
            "byte {end}: the end marker stands here, but more than zeros follows it, which no \
             reader sees; were two tars joined?"
        ));
    }
    on_bytes(reader.length().saturating_sub(told));
    finish(tar, reader, rows, warnings)
}

fn finish(tar: &Path, reader: TarReader, rows: Rows, warnings: Vec<String>) -> Result<Read> {
    if rows.samples() == 0 {
        let text = "there is no sample in this tar: no file of it has a name like key.ext";
        return Err(Error::new(ErrorKind::WrongFormat, text).with_path(tar));
    }
    let facts = reader.finish()?;
    let (extensions, skipped) = (rows.ext_counts(), rows.skipped());
    let bytes = rows.encode(&facts).map_err(|e| e.with_path(tar))?;
    Ok(Read { bytes, extensions, skipped, warnings })
}

fn add(reader: &mut TarReader, rows: &mut Rows, member: &Member, reading: Reading) -> Result<()> {
    let Some((key, ext)) = part_of(member) else {
        rows.skip(member);
        return Ok(());
    };
    if reading == Reading::Headers {
        return rows.part(member, key, &ext, None);
    }
    let content = if rows.wants_dimensions(key) { Content::of(&ext) } else { Content::Other };
    let (checksum, dimensions) = look(reader, member, content)?;
    rows.part(member, key, &ext, Some(checksum))?;
    if let Some(dimensions) = dimensions {
        rows.dimensions(dimensions);
    }
    Ok(())
}

/// Checksum of a part, and its dimensions if it is an image.
fn look(
    reader: &mut TarReader,
    member: &Member,
    content: Content,
) -> Result<(u32, Option<Dimensions>)> {
    if member.size > WHOLE {
        return Ok((reader.checksum(member)?, None));
    }
    let data = reader.data(member)?;
    let dimensions = if content.is_image() { content.dimensions(data) } else { None };
    Ok((crc32c(data), dimensions))
}

fn at(error: Error, tar: &Path, member: &Member) -> Error {
    error.with_path(tar).with_byte(member.first).with_key(name::shown(&member.name))
}
