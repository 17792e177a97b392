//! `SourceReader`: reads planned parts from source files for one thread.
//!
//! Keeps at most eight files open, and one [`CellReader`], which holds one row group or chunk. A
//! file that differs from the plan is a failure: all of its samples would be other ones.

use std::fmt::Debug;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_base::packed_shard::is_compressed;
use tarflume_formats::files::{self, patiently};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::plan::PlannedSource;
use tarflume_scan::source::stamp;

use crate::rows::places::bytes::whole_limit;
use crate::rows::places::decoded::DecodedTars;
use crate::rows::places::inflate::{Codec, Forward, STREAM};
use crate::rows::places::sidecar::{PartFacts, SHARD, SidecarParts};

/// Limit on open files.
const OPEN: usize = 8;

/// Decodes values of one source file.
pub trait CellReader: Debug + Send {
    /// Reads the value in this row and column, whose size is that of `space`.
    ///
    /// # Errors
    /// Returns an error for a value that cannot be decoded or has another size, and for a failure
    /// of the machine.
    fn read(&mut self, row: u64, column: u16, space: &mut [u8]) -> Result<(), CellFault>;
}

/// Why a value was not read.
#[derive(Debug)]
pub enum CellFault {
    /// The value has a fault. The reason does not name its row, member or sample.
    Data(Message),
    /// The value has a fault. The reason names its row, member or sample.
    Placed(Message),
    /// The machine failed, or the file is not the planned one.
    Failure(Failure),
}

impl CellFault {
    /// Creates the fault of a value whose place the reason does not name.
    pub fn data(reason: impl Into<Message>) -> CellFault {
        CellFault::Data(reason.into())
    }

    /// Creates the fault of a value whose row, member or sample the reason names.
    pub fn placed(reason: impl Into<Message>) -> CellFault {
        CellFault::Placed(reason.into())
    }
}

impl From<Failure> for CellFault {
    fn from(failure: Failure) -> CellFault {
        CellFault::Failure(failure)
    }
}

/// Opens the reader of a source's cells; the last argument tells whether modification times are compared.
pub(crate) type OpenCells =
    fn(&PlannedSource, &Path, bool) -> Result<Box<dyn CellReader>, CellFault>;

/// Reads planned parts.
#[derive(Debug)]
pub struct SourceReader<'a> {
    sources: &'a [PlannedSource],
    roots: &'a [PathBuf],
    /// Whether modification times are compared.
    times: bool,
    /// The files used last, the latest at the end.
    open: Vec<(u32, File)>,
    cells: Option<(u32, Box<dyn CellReader>)>,
    /// The compressed tar that was read last.
    stream: Option<(u32, Forward)>,
    /// The sidecars used last, the latest at the end.
    sidecars: Vec<(u32, SidecarParts)>,
    decoded: DecodedTars,
    open_cells: OpenCells,
}

impl<'a> SourceReader<'a> {
    /// Creates a reader of these sources under these roots.
    pub(crate) fn new(
        sources: &'a [PlannedSource],
        roots: &'a [PathBuf],
        times: bool,
        open_cells: OpenCells,
    ) -> SourceReader<'a> {
        SourceReader {
            sources,
            roots,
            times,
            open: Vec::new(),
            cells: None,
            stream: None,
            sidecars: Vec::new(),
            decoded: DecodedTars::default(),
            open_cells,
        }
    }

    /// Returns the path of a source.
    pub fn path(&self, source: u32) -> PathBuf {
        path_of(&self.sources[source as usize], self.roots)
    }

    /// Returns the limit on the bytes of a part of a source that are held at once: few bytes of a compressed file can
    /// become any number.
    pub fn most_whole(&self, source: u32) -> u64 {
        let planned = &self.sources[source as usize];
        let is_compressed =
            planned.kind == STREAM || planned.kind == SHARD && is_compressed(&self.path(source));
        if is_compressed { whole_limit(planned.bytes) } else { u64::MAX }
    }

    /// Fills `space` with the bytes of a source from `at`.
    ///
    /// # Errors
    /// Returns an error if the file differs from the plan or the operating system refuses.
    pub fn range(&mut self, source: u32, at: u64, space: &mut [u8]) -> Result<(), Failure> {
        let path = self.path(source);
        let planned = &self.sources[source as usize];
        let times = self.times;
        let file = self.file(source)?;
        if planned.kind == STREAM {
            check(file, planned, &path, times)?;
            return self.decompress(source, at, space);
        }
        if planned.kind == SHARD && is_compressed(&path) {
            let file = file.try_clone().map_err(|e| Failure::io(e, "open", &path))?;
            self.sidecar(source)?.decompress(&path, &file, at, space)?;
            return check(&file, planned, &path, times);
        }
        let mut filled = 0;
        while filled < space.len() {
            let read = patiently(|| file.read_at(&mut space[filled..], at + filled as u64));
            match read.map_err(|e| Failure::io(e, "read", &path))? {
                0 => return Err(changed(&path, "it is shorter now")),
                n => filled += n,
            }
        }
        check(file, planned, &path, times)
    }

    /// Fills `space` with the bytes of a compressed tar from `at`. Reading backward starts at the first byte again.
    fn decompress(&mut self, source: u32, at: u64, space: &mut [u8]) -> Result<(), Failure> {
        let path = self.path(source);
        if self.stream.as_ref().is_none_or(|(number, _)| *number != source) {
            let options = &self.sources[source as usize].options;
            let codec = options["codec"].as_str().and_then(Codec::from_word).ok_or_else(|| {
                Failure::bad_data("the plan names a compression that this version does not know")
                    .in_file(&path)
            })?;
            self.stream = Some((source, Forward::open(&path, codec)?));
        }
        let read = match &mut self.stream {
            Some((_, stream)) => stream.read_at(at, space)?,
            None => 0, // it was set above
        };
        if read < space.len() { Err(changed(&path, "it is shorter now")) } else { Ok(()) }
    }

    /// Returns what the sidecar of a source says about the part at byte `at`; `None` if the source was planned
    /// without one.
    ///
    /// # Errors
    /// Returns an error if the sidecar is missing or damaged, or the operating system refuses.
    pub fn facts(&mut self, source: u32, at: u64) -> Result<Option<PartFacts<'_>>, Failure> {
        if self.sources[source as usize].kind != SHARD {
            return Ok(None);
        }
        let path = self.path(source);
        self.sidecar(source)?.at(&path, at).map(Some)
    }

    /// Returns the sidecar of a source.
    fn sidecar(&mut self, source: u32) -> Result<&mut SidecarParts, Failure> {
        match self.sidecars.iter().position(|(number, _)| *number == source) {
            Some(at) => self.sidecars[at..].rotate_left(1),
            None => {
                if self.sidecars.len() == OPEN {
                    self.sidecars.remove(0);
                }
                let path = self.path(source);
                let sidecar = SidecarParts::open(&path, &mut self.decoded)?;
                self.sidecars.push((source, sidecar));
            }
        }
        let last = self.sidecars.len() - 1;
        Ok(&mut self.sidecars[last].1)
    }

    /// Fills `space` with the value in a row and column of a source.
    ///
    /// # Errors
    /// Returns the errors of [`CellReader::read`], and an error if the file differs from the plan.
    pub fn cell(
        &mut self,
        source: u32,
        row: u64,
        column: u16,
        space: &mut [u8],
    ) -> Result<(), CellFault> {
        let path = self.path(source);
        let planned = &self.sources[source as usize];
        let times = self.times;
        check(self.file(source)?, planned, &path, times)?;
        if self.cells.as_ref().is_none_or(|(number, _)| *number != source) {
            self.cells = None; // frees its chunk before the next one is read
            self.cells = Some((source, (self.open_cells)(planned, &path, times)?));
        }
        match &mut self.cells {
            Some((_, reader)) => reader.read(row, column, space),
            None => Ok(()), // it was set above
        }
    }

    fn file(&mut self, source: u32) -> Result<&File, Failure> {
        match self.open.iter().position(|(number, _)| *number == source) {
            Some(at) => self.open[at..].rotate_left(1),
            None => {
                let path = self.path(source);
                let (file, _) = files::open(&path).map_err(|e| match e.io_error() {
                    Some(io) if io.kind() == std::io::ErrorKind::NotFound => {
                        Failure::try_again(message!(
                            "the source file does not exist on this machine; mount it, or give \
                             {source}";
                            source = Name::Source
                        ))
                        .in_file(&path)
                    }
                    _ => Failure::from(e),
                })?;
                check(&file, &self.sources[source as usize], &path, self.times)?;
                if self.open.len() == OPEN {
                    self.open.remove(0);
                }
                self.open.push((source, file));
            }
        }
        let last = self.open.len() - 1;
        Ok(&self.open[last].1)
    }
}

/// Returns the path of a source.
pub(crate) fn path_of(source: &PlannedSource, roots: &[PathBuf]) -> PathBuf {
    let root = &roots[source.root as usize];
    if source.path.is_empty() { root.clone() } else { root.join(&source.path) }
}

/// Compares an open file with the plan.
fn check(file: &File, planned: &PlannedSource, path: &Path, times: bool) -> Result<(), Failure> {
    let now =
        patiently(|| Ok(rustix::fs::fstat(file)?)).map_err(|e| Failure::io(e, "examine", path))?;
    if now.st_size as u64 != planned.bytes {
        let text = format!("it has {} bytes now, not {}", now.st_size, planned.bytes);
        return Err(changed(path, &text));
    }
    if times && stamp(now.st_mtime, now.st_mtime_nsec as i64) != planned.stamp {
        return Err(changed(path, "its modification time differs"));
    }
    Ok(())
}

fn changed(path: &Path, how: &str) -> Failure {
    let text = message!("{path} was changed after it was planned: {how}; plan again with {fresh}"; path = path, fresh = Name::Fresh.on());
    Failure::bad_data(text).with_file(path)
}
