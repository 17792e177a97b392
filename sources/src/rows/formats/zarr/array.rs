//! `OpenArray`: reads and decodes blocks of rows of one array, from any thread.
//!
//! A block holds its rows, one decoded piece and its stored bytes. Only a file that does not exist is a chunk that was
//! never written; each other refusal of the operating system is an error of the machine. Keeps indexes of shards, at most
//! [`INDEXES`] bytes of them.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tarflume_base::Failure;
use tarflume_foreign::zarr::{ChunkFault, PiecePlace, ZarrArray};
use tarflume_formats::IgnorePoison;
use tarflume_formats::files::{self, patiently};
use tarflume_formats::message;
use tarflume_formats::message::Name;

use super::folder::FoundFolder;
use super::planned::PlannedFiles;
use super::words;
use crate::rows::places::reader::CellFault;

/// Limit on the indexes of shards that are kept.
const INDEXES: usize = 64 << 20;

/// Where the inner chunks of a shard are.
type ShardIndex = Arc<[Option<Range<u64>>]>;

/// The indexes that are kept, and their bytes.
#[derive(Debug, Default)]
struct Indexes {
    kept: HashMap<u64, KeptIndex>,
    bytes: usize,
}

/// An index, and the file that it is of.
#[derive(Debug)]
struct KeptIndex {
    version: Version,
    index: ShardIndex,
}

/// What tells a file from another one that took its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    length: u64,
    time: (i64, i64),
    inode: u64,
}

impl Version {
    fn of(found: &Metadata) -> Version {
        let time = (found.mtime(), found.mtime_nsec());
        Version { length: found.len(), time, inode: found.ino() }
    }
}

/// What the files must be.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) files: PlannedFiles,
    /// Whether times are compared, too.
    pub(super) times: bool,
}

/// An array whose files are read.
#[derive(Debug)]
pub(super) struct OpenArray {
    pub(super) array: ZarrArray,
    folder: PathBuf,
    /// The path of the metadata.
    metadata: PathBuf,
    /// What messages call the array.
    name: String,
    expected: Option<Expected>,
    indexes: Mutex<Indexes>,
}

/// The file of a chunk.
struct ChunkFile {
    number: u64,
    path: PathBuf,
    /// Nothing for a chunk that was never written.
    open: Option<(File, Metadata)>,
}

impl OpenArray {
    /// Takes an array that was found. With `expected`, another file is an error.
    ///
    /// # Errors
    /// Returns an error if its metadata is another file.
    pub(super) fn new(
        found: FoundFolder,
        name: &str,
        expected: Option<Expected>,
    ) -> Result<OpenArray, Failure> {
        let FoundFolder { folder, file, array } = found;
        let metadata = folder.join(file);
        let name = name.trim_matches('/').to_string();
        let opened =
            OpenArray { array, folder, metadata, name, expected, indexes: Mutex::default() };
        let now = files::metadata(&opened.metadata, "examine")?;
        opened.compare(0, &opened.metadata, Some(&now))?;
        Ok(opened)
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.array.shape()[0]
    }

    /// Returns the shape of a row.
    pub(super) fn row_shape(&self) -> &[u64] {
        &self.array.shape()[1..]
    }

    /// Returns the folder of the array.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the rows of a block, as little-endian numbers. The first row is a multiple of the rows of a block.
    ///
    /// # Errors
    /// Returns an error if a chunk is damaged or was changed, and if the machine fails.
    pub(super) fn block(&self, rows: Range<u64>) -> Result<Vec<u8>, CellFault> {
        let bytes = (rows.end - rows.start) as usize * self.array.row_bytes() as usize;
        let mut space = Vec::new();
        space.try_reserve_exact(bytes).map_err(|_| words::no_memory(&self.folder))?;
        space.resize(bytes, 0);
        let mut last: Option<ChunkFile> = None;
        for place in self.array.pieces(rows.start) {
            let file = match last.take().filter(|file| file.number == place.file) {
                Some(same) => same,
                None => self.open(&place)?,
            };
            let piece = self.stored(&place, &file)?;
            let start = piece.as_ref().map_or(0, |piece| piece.start);
            let stored = piece.map(|piece| piece.bytes);
            self.array.put(&place, stored, rows.start, &mut space).map_err(|fault| {
                words::chunk(fault.from(start), &self.shown(&place.key), &file.path)
            })?;
            last = Some(file);
        }
        Ok(space)
    }

    /// Names a chunk in a message.
    fn shown(&self, key: &str) -> String {
        let lead = if self.name.is_empty() { "" } else { "/" };
        format!("chunk {}{lead}{key}", self.name)
    }

    /// Compares a file with the expected one.
    fn compare(&self, file: u64, path: &Path, found: Option<&Metadata>) -> Result<(), Failure> {
        let Some(Expected { files, times }) = &self.expected else { return Ok(()) };
        match files.difference(file, found, *times) {
            None => Ok(()),
            Some(how) => Err(Failure::bad_data(message!(
                "{path} was changed after it was planned: {how}; plan again with {fresh}";
                path = path,
                fresh = Name::Fresh.on()
            ))
            .with_file(path)),
        }
    }

    /// Opens the file of a piece, if there is one.
    fn open(&self, place: &PiecePlace) -> Result<ChunkFile, Failure> {
        let path = self.folder.join(&place.key);
        let open = match files::open(&path) {
            Ok(open) => Some(open),
            Err(error) if error.is_missing() => {
                self.check_missing(&path)?;
                None
            }
            Err(error) => return Err(error.into()),
        };
        self.compare(place.file + 1, &path, open.as_ref().map(|(_, found)| found))?;
        Ok(ChunkFile { number: place.file, path, open })
    }

    /// Refuses to take a chunk for one that was never written if it is a link to nothing, or the array is gone.
    fn check_missing(&self, path: &Path) -> Result<(), Failure> {
        if patiently(|| path.symlink_metadata()).is_ok() {
            return Err(Failure::bad_data("it is a link to a file that does not exist").in_file(path));
        }
        if files::exists(&self.metadata)? {
            return Ok(());
        }
        let text = "the array is gone while it is read: was the folder removed, or its disk unmounted?";
        Err(Failure::try_again(text).in_file(&self.metadata))
    }

    /// Reads the stored bytes of a piece; `None` for one that was never written.
    fn stored(&self, place: &PiecePlace, file: &ChunkFile) -> Result<Option<Piece>, CellFault> {
        let Some((open, found)) = &file.open else { return Ok(None) };
        let range = match place.inner {
            None => 0..found.len(),
            Some(inner) => match &self.index(place, file, open, found)?[inner] {
                Some(range) => range.clone(),
                None => return Ok(None),
            },
        };
        let length = range.end - range.start;
        if length > self.array.most_stored() {
            let why = format!(
                "it has {length} bytes, more than any codec makes of the {} that it declares",
                self.array.piece_bytes()
            );
            let fault = ChunkFault::Damaged { byte: Some(range.start), why };
            return Err(words::chunk(fault, &self.shown(&place.key), &file.path));
        }
        let bytes = self.read(place, file, open, range.clone())?;
        Ok(Some(Piece { start: range.start, bytes }))
    }

    /// Reads bytes of a file, and compares it with the expected one afterwards.
    fn read(
        &self,
        place: &PiecePlace,
        file: &ChunkFile,
        open: &File,
        range: Range<u64>,
    ) -> Result<Vec<u8>, CellFault> {
        let length = (range.end - range.start) as usize;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| words::no_memory(&file.path))?;
        bytes.resize(length, 0);
        files::read_exact_at(open, &mut bytes, range.start).map_err(|e| {
            if e.kind() == std::io::ErrorKind::UnexpectedEof {
                let why = format!("the file ends before byte {}: it was cut while it was read", range.end);
                let fault = ChunkFault::Damaged { byte: Some(range.start), why };
                return words::chunk(fault, &self.shown(&place.key), &file.path);
            }
            Failure::io(e, "read", &file.path).into()
        })?;
        if self.expected.is_some() {
            let now = patiently(|| open.metadata());
            let now = now.map_err(|e| Failure::io(e, "examine", &file.path))?;
            self.compare(place.file + 1, &file.path, Some(&now))?;
        }
        Ok(bytes)
    }

    /// Returns the index of a shard, read or kept.
    fn index(
        &self,
        place: &PiecePlace,
        file: &ChunkFile,
        open: &File,
        found: &Metadata,
    ) -> Result<ShardIndex, CellFault> {
        let version = Version::of(found);
        if let Some(kept) = self.indexes.lock().ignore_poison().kept.get(&place.file)
            && kept.version == version
        {
            return Ok(kept.index.clone());
        }
        let damaged = |fault| words::chunk(fault, &self.shown(&place.key), &file.path);
        let range = self.array.index_place(found.len()).expect("a piece in a shard has an index");
        let range = range.map_err(damaged)?;
        let stored = self.read(place, file, open, range.clone())?;
        let index = self.array.parse_index(stored, found.len());
        let index: ShardIndex = index.map_err(|fault| damaged(fault.from(range.start)))?.into();
        let bytes = size_of_val(&*index);
        let mut indexes = self.indexes.lock().ignore_poison();
        if indexes.bytes + bytes > INDEXES {
            *indexes = Indexes::default();
        }
        let kept = KeptIndex { version, index: index.clone() };
        let before = indexes.kept.insert(place.file, kept);
        let freed = before.map_or(0, |before| size_of_val(&*before.index));
        indexes.bytes = indexes.bytes + bytes - freed;
        Ok(index)
    }
}

/// The stored bytes of a piece, and where they begin in the file.
struct Piece {
    start: u64,
    bytes: Vec<u8>,
}
