//! `OpenArray`: reads and decodes blocks of rows of one array, from any thread.
//!
//! A block holds its rows, one decoded piece and its stored bytes. Only a file that does not exist is a chunk that was
//! never written; each other refusal of the operating system is an error of the machine. Keeps indexes of shards, at most
//! [`INDEXES`] bytes of them.

use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{panic, thread};

use tarflume_base::Failure;
use tarflume_foreign::zarr::{ChunkFault, PiecePlace, ZarrArray};
use tarflume_formats::IgnorePoison;
use tarflume_formats::message;
use tarflume_formats::message::Name;

use super::folder::FoundFolder;
use super::place::{OpenFile, Place, Version};
use super::planned::PlannedFiles;
use super::words;
use crate::rows::places::reader::CellFault;

/// Limit on the indexes of shards that are kept.
const INDEXES: usize = 64 << 20;

/// Pieces that are read from a store at the same time, and the bytes that they have after decoding.
const REQUESTS: u64 = 16;
const AHEAD: u64 = 64 << 20;

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
    /// The shard, if it is an object that is pinned to this version.
    pinned: Option<OpenFile>,
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
    place: Place,
    /// The name of the metadata.
    metadata: &'static str,
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
    open: Option<OpenFile>,
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
        let FoundFolder { place, file, array } = found;
        let name = name.trim_matches('/').to_string();
        let opened =
            OpenArray { array, place, metadata: file, name, expected, indexes: Mutex::default() };
        if opened.expected.is_some() {
            let now = opened.place.open(file, false)?;
            let now = now.as_ref().and_then(OpenFile::found);
            opened.compare(0, &opened.place.path(file), now)?;
        }
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

    /// Returns the path or URL of the array.
    pub(super) fn path(&self) -> PathBuf {
        self.place.path("")
    }

    /// Returns the rows of a block, as little-endian numbers. The first row is a multiple of the rows of a block.
    ///
    /// # Errors
    /// Returns an error if a chunk is damaged or was changed, and if the machine fails.
    pub(super) fn block(&self, rows: Range<u64>) -> Result<Vec<u8>, CellFault> {
        let bytes = (rows.end - rows.start) as usize * self.array.row_bytes() as usize;
        let mut space = Vec::new();
        space.try_reserve_exact(bytes).map_err(|_| words::no_memory(&self.path()))?;
        space.resize(bytes, 0);
        match self.place.folder() {
            Some(_) => self.put_in_turn(rows.start, &mut space)?,
            None => self.put_together(rows.start, &mut space)?,
        }
        Ok(space)
    }

    /// Puts the pieces of a block into its rows, one after the other.
    fn put_in_turn(&self, first: u64, space: &mut [u8]) -> Result<(), CellFault> {
        let mut last: Option<ChunkFile> = None;
        for place in self.array.pieces(first) {
            let file = match last.take().filter(|file| file.number == place.file) {
                Some(same) => same,
                None => self.open(&place)?,
            };
            let piece = self.stored(&place, &file)?;
            self.put(&place, &file, piece, first, space)?;
            last = Some(file);
        }
        Ok(())
    }

    /// Puts the pieces of a block into its rows. Several are read at the same time, since each waits for a store.
    fn put_together(&self, first: u64, space: &mut [u8]) -> Result<(), CellFault> {
        let at_once = (AHEAD / self.array.piece_bytes()).clamp(1, REQUESTS) as usize;
        let mut places = self.array.pieces(first);
        loop {
            let group: Vec<PiecePlace> = places.by_ref().take(at_once).collect();
            if group.is_empty() {
                return Ok(());
            }
            // The first piece of a shard brings its index.
            let mut files = HashSet::new();
            let (firsts, others): (Vec<&PiecePlace>, Vec<&PiecePlace>) =
                group.iter().partition(|place| files.insert(place.file));
            for places in [firsts, others] {
                for (place, read) in places.iter().zip(self.read_at_once(&places)?) {
                    self.put(place, &read.file, read.piece, first, space)?;
                }
            }
        }
    }

    /// Reads the stored bytes of pieces at the same time.
    fn read_at_once(&self, places: &[&PiecePlace]) -> Result<Vec<ReadPiece>, CellFault> {
        if let [place] = places {
            return Ok(vec![self.read_piece(place)?]);
        }
        thread::scope(|scope| {
            let mut reading = Vec::with_capacity(places.len());
            for place in places {
                let thread = thread::Builder::new().name("zarr".into());
                let thread = thread.spawn_scoped(scope, || self.read_piece(place));
                reading.push(thread.map_err(|e| Failure::no_thread(&e))?);
            }
            let read = reading.into_iter().map(|thread| match thread.join() {
                Ok(read) => read,
                Err(panic) => panic::resume_unwind(panic),
            });
            read.collect()
        })
    }

    fn read_piece(&self, place: &PiecePlace) -> Result<ReadPiece, CellFault> {
        let file = self.open(place)?;
        let piece = self.stored(place, &file)?;
        Ok(ReadPiece { file, piece })
    }

    /// Decodes a piece into its rows.
    fn put(
        &self,
        place: &PiecePlace,
        file: &ChunkFile,
        piece: Option<Piece>,
        first: u64,
        space: &mut [u8],
    ) -> Result<(), CellFault> {
        let start = piece.as_ref().map_or(0, |piece| piece.start);
        let stored = piece.map(|piece| piece.bytes);
        let put = self.array.put(place, stored, first, space);
        put.map_err(|fault| self.damaged(fault.from(start), place, file))
    }

    /// Returns the fault of a chunk that is damaged, or for which the machine has no memory.
    fn damaged(&self, fault: ChunkFault, place: &PiecePlace, file: &ChunkFile) -> CellFault {
        let lead = if self.name.is_empty() { "" } else { "/" };
        let shown = format!("chunk {}{lead}{}", self.name, place.key);
        words::chunk(fault, &shown, &file.path)
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
        let path = self.place.path(&place.key);
        let number = place.file;
        if let Some(kept) = self.indexes.lock().ignore_poison().kept.get(&number)
            && let Some(pinned) = &kept.pinned
        {
            return Ok(ChunkFile { number, path, open: pinned.pinned() });
        }
        let open = self.place.open(&place.key, place.inner.is_none())?;
        if open.is_none() {
            self.check_missing()?;
        }
        self.compare(number + 1, &path, open.as_ref().and_then(OpenFile::found))?;
        Ok(ChunkFile { number, path, open })
    }

    /// Refuses to take a chunk for one that was never written if the array is gone.
    fn check_missing(&self) -> Result<(), Failure> {
        if self.place.has(self.metadata)? {
            return Ok(());
        }
        let text =
            "the array is gone while it is read: was the folder removed, or its disk unmounted?";
        Err(Failure::try_again(text).in_file(self.place.path(self.metadata)))
    }

    /// Reads the stored bytes of a piece; `None` for one that was never written.
    fn stored(&self, place: &PiecePlace, file: &ChunkFile) -> Result<Option<Piece>, CellFault> {
        let Some(open) = &file.open else { return Ok(None) };
        let range = match place.inner {
            None => 0..open.length(),
            Some(inner) => match &self.index(place, file, open)?[inner] {
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
            return Err(self.damaged(fault, place, file));
        }
        let bytes = self.read(file, open, range.clone())?;
        Ok(Some(Piece { start: range.start, bytes }))
    }

    /// Reads bytes of a file, and compares it with the expected one afterwards.
    fn read(
        &self,
        file: &ChunkFile,
        open: &OpenFile,
        range: Range<u64>,
    ) -> Result<Vec<u8>, Failure> {
        let bytes = open.read(range, &file.path)?;
        if self.expected.is_some() {
            self.compare(file.number + 1, &file.path, open.now(&file.path)?.as_ref())?;
        }
        Ok(bytes)
    }

    /// Returns the index of a shard, read or kept.
    fn index(
        &self,
        place: &PiecePlace,
        file: &ChunkFile,
        open: &OpenFile,
    ) -> Result<ShardIndex, CellFault> {
        let version = open.version();
        if let Some(kept) = self.indexes.lock().ignore_poison().kept.get(&place.file)
            && kept.version == version
        {
            return Ok(kept.index.clone());
        }
        let length = open.length();
        let range = self.array.index_place(length).expect("a piece in a shard has an index");
        let range = range.map_err(|fault| self.damaged(fault, place, file))?;
        let stored = self.read(file, open, range.clone())?;
        let index = self.array.parse_index(stored, length);
        let index: ShardIndex =
            index.map_err(|fault| self.damaged(fault.from(range.start), place, file))?.into();
        let bytes = size_of_val(&*index);
        let mut indexes = self.indexes.lock().ignore_poison();
        if indexes.bytes + bytes > INDEXES {
            *indexes = Indexes::default();
        }
        let kept = KeptIndex { version, index: index.clone(), pinned: open.pinned() };
        let before = indexes.kept.insert(place.file, kept);
        let freed = before.map_or(0, |before| size_of_val(&*before.index));
        indexes.bytes = indexes.bytes + bytes - freed;
        Ok(index)
    }
}

/// A piece that was read, and its file.
struct ReadPiece {
    file: ChunkFile,
    piece: Option<Piece>,
}

/// The stored bytes of a piece, and where they begin in the file.
struct Piece {
    start: u64,
    bytes: Vec<u8>,
}
