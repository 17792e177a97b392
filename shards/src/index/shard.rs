//! Indexes one tar: keeps a correct sidecar, otherwise makes and publishes one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tarflume_base::{Columns, Failure, Problems};
use tarflume_formats::manifest::ShardEntry;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::publish::{folder_of, write_whole};
use tarflume_formats::{Error, Index, Reading, Result, TarReader, files, index_path, name, probe};

use super::numbered;
use super::options::Options;
use super::proof;
use super::rows::Skipped;
use super::sidecar::read_tar;
use super::unsorted;
use super::values;

/// The result for one tar.
#[derive(Debug)]
pub struct Indexed {
    /// The tar.
    pub tar: PathBuf,
    /// Its sidecar, or why it has none.
    pub result: Result<SidecarInfo, Failure>,
}

/// A tar's sidecar, new or existing.
#[derive(Debug)]
pub struct SidecarInfo {
    /// Its entry for the manifest. The name is empty if the tar's own is not UTF-8.
    pub entry: ShardEntry,
    /// Parts by extension.
    pub extensions: BTreeMap<String, u64>,
    /// Members that belong to no sample; unknown for a sidecar that was kept.
    pub skipped: Skipped,
    /// Its typed columns.
    pub columns: Columns,
    /// Names of the typed columns in which no sample has a value.
    pub without_values: Vec<String>,
    /// True if an existing correct sidecar was kept.
    pub kept: bool,
    /// Warnings for the user, one line each.
    pub warnings: Vec<Message>,
    /// Parts that have entry points.
    pub entry_points: u64,
    /// JPEGs that got no entry points because they are damaged, JSON that cannot be read, and values that a column cannot hold.
    pub damaged: Problems,
}

/// Makes the sidecar of the tar at `tar`, or keeps a correct one.
///
/// # Errors
/// Returns an error if the tar is damaged, ambiguous or compressed, if it has files but no samples, if more than zeros
/// follows its end marker and zeros are not ignored, if a sidecar of another tar exists and `force` is
/// not set, or if the operating system refuses to read or write.
pub fn index_tar(
    tar: &Path,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<SidecarInfo, Failure> {
    let sidecar = index_path(tar);
    let mut options = options.clone();
    let mut listed_until = 0;
    if !options.force && files::exists(&sidecar)? {
        let kept = keep(tar, &options)?;
        // It belongs to this tar, so replacing it by one with more loses nothing.
        let is_right =
            options.columns.is_empty() || options.columns.specs() == kept.columns.specs();
        if is_right && (!options.entry_points || kept.entry_points > 0) {
            return Ok(kept);
        }
        options.entry_points |= kept.entry_points > 0;
        listed_until = Index::open(&sidecar)?.samples_end()?;
        if options.columns.is_empty() {
            options.columns = kept.columns.with_rules(options.columns.rules());
        }
    }
    let options = &options;
    let read = read_tar(tar, options, listed_until, on_bytes)?;
    let mut warnings = read.warnings;
    let replaced = match Index::open(&sidecar) {
        Ok(old) => Some(old),
        Err(error) if error.blame().is_machine() => return Err(error.into()),
        Err(_) => None, // there is none, or it is damaged
    };
    let had_columns = replaced.as_ref().and_then(|old| Columns::of(old).ok());
    if options.columns.is_empty() && had_columns.is_some_and(|columns| !columns.is_empty()) {
        let text = message!("the sidecar that is replaced had typed columns; give {columns} to have them again"; columns = Name::Columns);
        warnings.push(text);
    }
    if !options.entry_points && replaced.is_some_and(|old| old.has_entry_points()) {
        let text = message!("the sidecar that is replaced had entry points; give {entry_points} to have them again"; entry_points = Name::EntryPoints.on());
        warnings.push(text);
    }
    write_whole(&sidecar, &read.bytes)?;
    let index = Index::open(&sidecar)?;
    warnings.extend(numbered::note(&index)?);
    if read.unsorted {
        warnings.extend(unsorted::warning(tar, &index)?);
    }
    Ok(SidecarInfo {
        entry: entry(tar, &index),
        extensions: read.extensions,
        skipped: read.skipped,
        columns: Columns::of(&index)?,
        without_values: values::missing(&index)?,
        kept: false,
        warnings,
        entry_points: index.count_entry_points()?.0,
        damaged: read.damaged,
    })
}

/// Returns the failure of a sidecar that is not that of its tar, with the command that replaces it.
fn refused(error: &Error, renewal: Call) -> Failure {
    let failure = Failure::from(error);
    if error.blame().is_machine() {
        return failure;
    }
    failure.with_remedy(
        message!("if the tar is right, make a new sidecar with `{renewal}`"; renewal = renewal),
    )
}

/// Returns the existing sidecar if it is intact and belongs to this tar.
fn keep(tar: &Path, options: &Options) -> Result<SidecarInfo, Failure> {
    let index = Index::open(index_path(tar)).map_err(|error| {
        refused(&error, Call::of(Task::Index).with(Name::Force.on()).on_path(folder_of(tar)))
    })?;
    let reader = TarReader::open(tar, Reading::Headers)?;
    index.check_tar(tar, reader.length())?; // its error names the command
    compare(tar, reader, &index).map_err(|error| refused(&error, index.renewal(tar)))?;
    let mut warnings = Vec::new();
    if options.reading == Reading::Everything && !index.has_checksums() {
        let text = message!("the sidecar that is kept was made from headers alone; add checksums with {force}"; force = Name::Force.on());
        warnings.push(text);
    }
    warnings.extend(numbered::note(&index)?);
    warnings.extend(unsorted::warning(tar, &index)?);
    let entry = entry(tar, &index);
    let extensions = ext_counts(&index)?;
    Ok(SidecarInfo {
        entry,
        extensions,
        skipped: Skipped::default(),
        columns: Columns::of(&index)?,
        without_values: values::missing(&index)?,
        kept: true,
        warnings,
        entry_points: index.count_entry_points()?.0,
        damaged: Problems::default(),
    })
}

/// Compares a sidecar with its tar.
///
/// # Errors
/// Returns the first difference, and an error if the sidecar is damaged or the operating system refuses.
fn compare(tar: &Path, mut reader: TarReader, index: &Index) -> Result<()> {
    index.check()?;
    if let Some(error) = probe::compare(&mut reader, index)?.into_iter().next() {
        return Err(error.with_path(tar));
    }
    proof::prove_and_renew(tar, index)
}

/// Returns the manifest entry of a tar with this sidecar.
pub fn entry(tar: &Path, index: &Index) -> ShardEntry {
    let name = tar.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    ShardEntry {
        name: name.into(),
        split: None,
        samples: index.samples(),
        bytes: index.tar().length,
        blake3: index.tar().digest.map(|d| d.to_hex().to_string()),
        index_bytes: index.length(),
        index_blake3: index.digest().to_hex().to_string(),
    }
}

/// Counts parts by extension.
///
/// # Errors
/// Returns an error if the sidecar is damaged.
pub fn ext_counts(index: &Index) -> Result<BTreeMap<String, u64>> {
    let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
    for sample in index.iter() {
        for part in sample?.parts() {
            *counts.entry(part?.ext).or_default() += 1;
        }
    }
    Ok(counts.into_iter().map(|(ext, n)| (name::shown(ext), n)).collect())
}
