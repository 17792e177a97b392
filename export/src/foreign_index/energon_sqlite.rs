//! Energon's `index.sqlite`: all samples and parts, with the tables and indexes of Energon 7.

use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use rusqlite::{Connection, OpenFlags, params};
use tarflume_base::Failure;
use tarflume_formats::Place;
use tarflume_formats::message;
use tarflume_formats::publish::{TempFile, folder_of};
use tarflume_formats::{files, name};

use super::exists;
use super::shard::{ReadPart, ReadShard};

/// Its name in `.nv-meta`.
pub(super) const FILE_NAME: &str = "index.sqlite";

/// Bytes that are compared at a time.
const PIECE: usize = 1 << 20;

const TABLES: &str = "
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE samples (
    tar_file_id INTEGER NOT NULL,
    sample_key TEXT NOT NULL UNIQUE,
    sample_index INTEGER NOT NULL,
    byte_offset INTEGER,
    byte_size INTEGER
);
CREATE TABLE sample_parts (
    tar_file_id INTEGER,
    sample_index INTEGER,
    part_name TEXT,
    content_byte_offset INTEGER,
    content_byte_size INTEGER
);
BEGIN;";
const INDEXES: &str = "
CREATE INDEX idx_samples_by_tar_and_idx ON samples(tar_file_id, sample_index);
CREATE INDEX idx_sample_parts_seq ON sample_parts(tar_file_id, sample_index, content_byte_offset);
CREATE INDEX idx_sample_parts_full
    ON sample_parts(tar_file_id, sample_index, part_name, content_byte_offset, content_byte_size);
COMMIT;";

/// Writes the index at `place`. Returns true if a file with the same contents was there.
///
/// # Errors
/// Returns an error for a key that occurs twice in the data set, which Energon refuses, for a name that is not UTF-8, if
/// a file with other contents exists and `force` is not set, and if the operating system refuses.
pub(super) fn write(
    place: &Path,
    shards: impl Iterator<Item = Result<ReadShard, Failure>>,
    force: bool,
) -> Result<bool, Failure> {
    let temp = TempFile::create(folder_of(place), FILE_NAME)?;
    // The temporary file is locked already, and on network file systems SQLite would wait for that lock.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags_and_vfs(temp.path(), flags, "unix-none");
    let mut database = opened.map_err(|e| refused(place, &e))?;
    fill(&mut database, place, shards)?;
    database.close().map_err(|(_, e)| refused(place, &e))?;
    if files::exists(place)? {
        if same_bytes(place, temp.path())? {
            return Ok(true);
        }
        if !force {
            return Err(exists(place));
        }
    }
    temp.sync()?;
    temp.publish_over(place)?;
    Ok(false)
}

fn same_bytes(one: &Path, two: &Path) -> Result<bool, Failure> {
    let (mut left, found) = files::open(one)?;
    let (mut right, other) = files::open(two)?;
    if found.len() != other.len() {
        return Ok(false);
    }
    let mut a = vec![0; PIECE];
    let mut b = vec![0; PIECE];
    let mut at = 0;
    while at < found.len() {
        let length = PIECE.min((found.len() - at) as usize);
        left.read_exact(&mut a[..length]).map_err(|e| Failure::io(e, "read", one))?;
        right.read_exact(&mut b[..length]).map_err(|e| Failure::io(e, "read", two))?;
        if a[..length] != b[..length] {
            return Ok(false);
        }
        at += length as u64;
    }
    Ok(true)
}

fn fill(
    database: &mut Connection,
    place: &Path,
    shards: impl Iterator<Item = Result<ReadShard, Failure>>,
) -> Result<(), Failure> {
    database.execute_batch(TABLES).map_err(|e| refused(place, &e))?;
    let add = "INSERT INTO samples VALUES (?, ?, ?, ?, ?)";
    let mut add_sample = database.prepare(add).map_err(|e| refused(place, &e))?;
    let add = "INSERT INTO sample_parts VALUES (?, ?, ?, ?, ?)";
    let mut add_part = database.prepare(add).map_err(|e| refused(place, &e))?;
    for (number, shard) in shards.enumerate() {
        let shard = &shard?;
        let mut samples = shard.samples().enumerate().peekable();
        while let Some((row, sample)) = samples.next() {
            let first = sample[0].member.first;
            let key = text(shard, sample[0].key)?;
            let end = samples.peek().map_or(shard.end, |(_, next)| next[0].member.first);
            let values =
                params![number as i64, key, row as i64, first as i64, (end - first) as i64];
            add_sample.execute(values).map_err(|e| match e.sqlite_error_code() {
                Some(rusqlite::ErrorCode::ConstraintViolation) => repeated(shard, key),
                _ => refused(place, &e),
            })?;
            for ReadPart { ext, member, .. } in &sample {
                let ext = text(shard, ext)?;
                let data = member.data as i64;
                let size = member.size as i64;
                add_part
                    .execute(params![number as i64, row as i64, ext, data, size])
                    .map_err(|e| refused(place, &e))?;
            }
        }
    }
    drop((add_sample, add_part));
    database.execute_batch(INDEXES).map_err(|e| refused(place, &e))
}

fn text<'a>(shard: &ReadShard, bytes: &'a [u8]) -> Result<&'a str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| {
        Failure::bad_data(format!(
            "the name {} is not UTF-8, and Energon's index holds text; rename it",
            name::shown(bytes)
        ))
        .in_file(&shard.name)
    })
}

fn repeated(shard: &ReadShard, key: &str) -> Failure {
    let key = name::shown(key.as_bytes());
    Failure::bad_data(message!(
        "{path}: the key {key} occurs before in this data set, and Energon refuses data sets in which a key occurs \
         twice; pack them with different folders in their names, or leave out `energon`";
        path = Path::new(&shard.name)
    ))
    .with_place(Place { path: Some(PathBuf::from(&shard.name)), byte: None, key: Some(key) })
}

fn refused(place: &Path, error: &rusqlite::Error) -> Failure {
    Failure::try_again(format!("cannot write the index: {error}")).in_file(place)
}
