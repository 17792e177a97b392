//! A folder of files with `metadata.jsonl`, as Hugging Face `datasets` reads image folders: one line
//! for each sample, with `file_name` and the fields of its JSON.

use std::io::Write;
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::Durability;
use tarflume_formats::ErrorKind;
use tarflume_formats::index::Part;
use tarflume_formats::json::{Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::name;
use tarflume_shards::index::in_parallel;

use crate::export::fields::Fields;
use crate::export::job::{Exported, Job, from_the_start, whole};
use crate::export::out_file::OutFile;
use crate::export::row::{ExportRow, Rows};
use crate::export::staging::Staging;
use crate::export::values::spans::Span;
use crate::unpack::settle::WriteCheck;
use crate::unpack::tree::{Created, Tree};
use tarflume_formats::IMAGE_EXTS;

/// The table of a folder.
const METADATA: &str = "metadata.jsonl";
/// Its column of paths; other images of a sample have columns that end in `_file_name`.
const FILE_NAME: &str = "file_name";

/// Writes the files and their table.
///
/// # Errors
/// Returns an error if two samples have the same key, if a key is no path, if samples disagree about
/// the type of a field, if a part is damaged, or if the operating system refuses.
pub(crate) fn export(job: &Job<'_>, out: &Path) -> Result<Exported, Failure> {
    if job.options.file_size.is_some() {
        return Err(Failure::usage(
            message!("a folder has one file for each part: leave out {shard_size}"; shard_size = Name::ShardSize),
        ));
    }
    let fields = Fields::of(job)?; // readers of the table need one type for each field
    let staging = Staging::create(out)?;
    let (files, bytes) = fill(job, &fields, staging.path()).map_err(from_the_start)?;
    staging.publish(job.options.durability)?;
    Ok(Exported { files, bytes, ..Exported::default() })
}

/// Writes the files and the table; returns the number of files and their bytes.
fn fill(job: &Job<'_>, fields: &Fields, folder: &Path) -> Result<(u64, u64), Failure> {
    let synced = job.options.durability == Durability::Synced;
    let check = synced.then(|| WriteCheck::of(folder)).transpose()?;
    let shards: Vec<usize> = (0..job.listing.shards.len()).collect();
    let done = in_parallel(job.options.jobs, shards, |shard| {
        job.noting(files_of_shard(job, shard, folder, check.as_ref()))
    })?;
    let mut files = 0;
    let mut bytes = 0;
    for (more_files, more_bytes) in whole(done)? {
        files += more_files;
        bytes += more_bytes;
    }
    write_table(job, fields, folder)?;
    check.map_or(Ok(()), |check| check.all(folder))?;
    Ok((files, bytes))
}

fn files_of_shard(
    job: &Job<'_>,
    shard: usize,
    folder: &Path,
    check: Option<&WriteCheck>,
) -> Result<(u64, u64), Failure> {
    let samples = job.listing.shards[shard].index.samples();
    let mut rows = Rows::of(job, Span { shard, row: 0, samples });
    let mut tree = Tree::open(folder)?;
    let mut files = 0;
    let mut bytes = 0;
    while let Some(mut row) = rows.next()? {
        for n in 0..row.parts.len() {
            let Some(part) = row.parts[n].filter(|_| !row.is_fields(n)) else { continue };
            write_part(&mut row, &part, &mut tree, folder, check)?;
            (files, bytes) = (files + 1, bytes + part.length);
        }
        (job.on_bytes)(row.bytes);
    }
    Ok((files, bytes))
}

fn write_part(
    row: &mut ExportRow<'_, '_>,
    part: &Part<'_>,
    tree: &mut Tree,
    folder: &Path,
    check: Option<&WriteCheck>,
) -> Result<(), Failure> {
    let path = path_of(row, part)?;
    if let Some(why) = name::unsafe_as_path(path.as_bytes()) {
        let cleans = name::unsafe_as_path(&name::cleaned(path.as_bytes())).is_none();
        let remedy = if cleans {
            message!("clean it with {names}, or "; names = Name::Names.is("path=replace"))
        } else {
            Message::default()
        };
        let text = message!("{why}, so it cannot be a file; {remedy}export with {to}, mds or parquet"; to = Name::To.is("tfrecord"), remedy = remedy);
        return Err(row.error(ErrorKind::BadName, text, part.offset).into());
    }
    if path == METADATA {
        let text = format!("a part has the name {METADATA}, which is that of the table");
        return Err(row.error(ErrorKind::Repeated, text, part.offset).into());
    }
    let mut file = match tree.file(path.as_bytes())? {
        Created::File(file) => file,
        Created::Folder => return Ok(()),
        Created::Taken(by) => {
            let by = name::shown(&by);
            let text = message!("'{by}' was written before: two samples have this key, or names that this file system takes for \
                     one; find them with `{verify}`, or export to another format"; verify = Call::of(Task::Verify));
            return Err(row.error(ErrorKind::Repeated, text, part.offset).into());
        }
        Created::Refused(why) => {
            return Err(row.error(ErrorKind::BadName, why, part.offset).into());
        }
    };
    let path = folder.join(&path);
    row.copy(part, |piece| file.write_all(piece).map_err(|e| Failure::io(e, "write", &path)))?;
    check.map_or(Ok(()), |check| check.one(&file).map_err(|e| Failure::io(e, "write", &path)))
}

/// Returns the path of a part: its name in the tar, cleaned as the options say.
fn path_of(row: &ExportRow<'_, '_>, part: &Part<'_>) -> Result<String, Failure> {
    let name = format!("{}.{}", row.key()?, String::from_utf8_lossy(part.ext));
    let clean = if row.clean_names {
        name::cleaned(name.as_bytes())
    } else {
        name::without_dot(name.as_bytes()).to_vec()
    };
    Ok(String::from_utf8(clean).expect("whole components of a text are a text"))
}

fn write_table(job: &Job<'_>, fields: &Fields, folder: &Path) -> Result<(), Failure> {
    let mut file = OutFile::create(&folder.join(METADATA))?;
    let mut rows = Rows::of(job, Span { shard: 0, row: 0, samples: job.listing.samples() });
    while let Some(mut row) = rows.next()? {
        let mut line = Value::Object(line(&mut row, fields)?).to_string();
        line.push('\n');
        file.put(line.as_bytes())?;
    }
    file.publish(job.options.durability)?;
    Ok(())
}

fn line(row: &mut ExportRow<'_, '_>, fields: &Fields) -> Result<Object, Failure> {
    let mut line = row.object()?;
    fields.write_texts(&mut line);
    for (column, path) in paths(row)? {
        if line.insert(column.clone(), Value::String(path)).is_some() {
            let text = message!("the JSON has a field '{column}', which is the name of a column of paths; rename it, or export \
                     the JSON as it is with {json}"; json = Name::Json.is("text"));
            return Err(row.error(ErrorKind::Repeated, text, row.sample.first).into());
        }
    }
    Ok(line)
}

/// Returns the columns of paths: the first image is `file_name`, or the first part of a sample
/// without images.
fn paths(row: &ExportRow<'_, '_>) -> Result<Vec<(String, String)>, Failure> {
    let parts: Vec<Part<'_>> =
        (0..row.parts.len()).filter(|&n| !row.is_fields(n)).filter_map(|n| row.parts[n]).collect();
    let images: Vec<&Part<'_>> = parts.iter().filter(|part| is_image(part.ext)).collect();
    let Some(first) = images.first().copied().or(parts.first()) else {
        let text = message!("this sample has no part besides JSON, and each line of the table names a file; export with \
             {json}, or with {to} or parquet"; json = Name::Json.is("text"), to = Name::To.is("csv"));
        return Err(row.error(ErrorKind::WrongFormat, text, row.sample.first).into());
    };
    let mut paths = vec![(FILE_NAME.to_string(), path_of(row, first)?)];
    for part in images.into_iter().filter(|part| part.number != first.number) {
        let ext = String::from_utf8_lossy(part.ext).replace('.', "_");
        paths.push((format!("{ext}_{FILE_NAME}"), path_of(row, part)?));
    }
    Ok(paths)
}

/// Returns true for the extension of an image.
pub(crate) fn is_image(ext: &[u8]) -> bool {
    let last = ext.rsplit(|&b| b == b'.').next().unwrap_or(ext);
    IMAGE_EXTS.iter().any(|image| image.as_bytes() == last)
}
