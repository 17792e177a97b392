//! Compressed shards as plain tars: their frames are decompressed into unnamed temporary files.
//!
//! For commands that read a whole shard. The loader decompresses single frames instead.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tarflume_formats::frames::{Frame, decode_table, decompress, table_length};
use tarflume_formats::index::TarFacts;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{Error, ErrorKind, Index, digest_of, files, index_path};

use crate::failure::Failure;
use crate::options::compress::COMPRESSED;

type Result<T, E = Error> = std::result::Result<T, E>;

/// A compressed shard, decompressed.
#[derive(Debug)]
pub struct Unpacked {
    /// The tar, in an unnamed temporary file.
    pub file: File,
    /// What is wrong with frames; their bytes are zeros in the tar.
    pub damaged: Vec<Error>,
}

/// Returns true if a shard is compressed, by its name.
pub fn is_compressed(tar: &Path) -> bool {
    tar.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(COMPRESSED.as_bytes()))
}

/// The tar that a sidecar is about.
#[derive(Debug)]
pub struct SidecarTar {
    /// `a.tar` or `a.tar.zst` for `a.index`.
    pub path: PathBuf,
    /// False if the tar is missing.
    pub is_there: bool,
}

impl SidecarTar {
    /// Finds the tar of the sidecar at `sidecar`; of a tar that is not there, the name without compression.
    ///
    /// # Errors
    /// Returns an error if the operating system does not answer.
    pub fn of(sidecar: &Path) -> tarflume_formats::Result<SidecarTar> {
        for ending in ["tar", "tar.zst", ""] {
            let path = sidecar.with_extension(ending);
            if files::exists(&path)? {
                return Ok(SidecarTar { path, is_there: true });
            }
        }
        Ok(SidecarTar { path: sidecar.with_extension("tar"), is_there: false })
    }
}

/// Returns true for the name of a sidecar.
pub fn is_sidecar(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "index")
}

/// Returns the tar of a sidecar, if a path names one.
///
/// # Errors
/// Returns an error if the tar is not there, or the operating system does not answer.
pub fn tar_of_sidecar(path: &Path) -> Result<Option<PathBuf>, Failure> {
    if !is_sidecar(path) {
        return Ok(None);
    }
    let tar = SidecarTar::of(path)?;
    if tar.is_there {
        return Ok(Some(tar.path));
    }
    Err(Failure::usage(format!(
        "this is the name of a sidecar, and its tar {} is not there",
        tar.path.shown()
    ))
    .in_file(path))
}

/// Returns length and digest of the compressed file.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub fn facts(tar: &Path) -> Result<TarFacts> {
    let length = files::metadata(tar, "examine")?.len();
    Ok(TarFacts { length, digest: Some(digest_of(tar)?) })
}

/// Returns the frames of a compressed file, from the table at its end.
///
/// # Errors
/// Returns an error if there is no table, it is damaged, or the operating system refuses.
pub fn frames(tar: &Path) -> Result<Vec<Frame>> {
    let (file, found) = files::open(tar)?;
    let length = found.len();
    let mut last = [0; 9];
    let Some(at) = length.checked_sub(last.len() as u64) else {
        let text = "the file is too short to be a compressed shard: it was cut";
        return Err(Error::new(ErrorKind::Truncated, text).with_byte(length).with_path(tar));
    };
    files::read_exact_at(&file, &mut last, at).map_err(|e| Error::io(e, "read", tar))?;
    let table = table_length(last).map_err(|e| e.with_path(tar))?;
    let Some(at) = length.checked_sub(table) else {
        let text = "the table of frames at the end of the file is longer than the file";
        return Err(Error::new(ErrorKind::Damaged, text).with_path(tar));
    };
    let mut bytes = vec![0; table as usize];
    files::read_exact_at(&file, &mut bytes, at).map_err(|e| Error::io(e, "read", tar))?;
    decode_table(&bytes, length).map_err(|e| e.with_path(tar))
}

/// Compares the frames that a sidecar lists with those of the file.
///
/// # Errors
/// Returns [`ErrorKind::Damaged`] if they differ, and the errors of [`Index::frame`].
pub fn compare(tar: &Path, index: &Index, found: &[Frame]) -> Result<()> {
    if index.frames() != found.len() as u64 {
        return differing(index.frames().min(found.len() as u64), tar);
    }
    for (n, frame) in (0..).zip(found) {
        if index.frame(n)?.as_ref() != Some(frame) {
            return differing(n, tar);
        }
    }
    Ok(())
}

fn differing(n: u64, tar: &Path) -> Result<()> {
    let text = format!("the sidecar is inconsistent: its frame {n} is not the one of the file");
    Err(Error::new(ErrorKind::Damaged, text).with_path(index_path(tar)))
}

/// Decompresses the frames of `file`, which messages call `tar`. A damaged frame becomes zeros.
///
/// # Errors
/// Returns an error if the operating system refuses to read, or to write to the folder for temporary files.
pub fn unpack(tar: &Path, file: &File, frames: &[Frame]) -> Result<Unpacked> {
    let folder = std::env::temp_dir();
    let mut out =
        BufWriter::with_capacity(1 << 20, tempfile::tempfile().map_err(|e| unkept(e, &folder))?);
    let mut packed = Vec::new();
    let mut data = Vec::new();
    let mut damaged = Vec::new();
    for frame in frames {
        packed.resize((frame.file.end - frame.file.start) as usize, 0);
        data.clear();
        data.resize((frame.data.end - frame.data.start) as usize, 0);
        files::read_exact_at(file, &mut packed, frame.file.start)
            .map_err(|e| Error::io(e, "read", tar).with_byte(frame.file.start))?;
        if let Err(error) = decompress(&packed, &mut data) {
            data.fill(0);
            damaged.push(error.with_path(tar).with_byte(frame.file.start));
        }
        out.write_all(&data).map_err(|e| unkept(e, &folder))?;
    }
    let file = out.into_inner().map_err(|e| unkept(e.into_error(), &folder))?;
    Ok(Unpacked { file, damaged })
}

fn unkept(e: std::io::Error, folder: &Path) -> Error {
    Error::io(e, "keep the decompressed shard in", folder)
}

/// As [`unpack`], by the frames of the sidecar.
///
/// # Errors
/// As [`unpack`], and if a frame is damaged.
pub fn whole(tar: &Path, file: &File, index: &Index) -> Result<File> {
    let frames = (0..index.frames()).filter_map(|n| index.frame(n).transpose());
    let mut unpacked = unpack(tar, file, &frames.collect::<Result<Vec<_>>>()?)?;
    if unpacked.damaged.is_empty() { Ok(unpacked.file) } else { Err(unpacked.damaged.remove(0)) }
}

/// A compressed shard whose sidecar is known.
#[derive(Debug, Clone, Copy)]
pub struct IndexedShard<'a> {
    /// The path of the compressed tar, for errors.
    pub tar: &'a Path,
    /// Its sidecar.
    pub index: &'a Index,
}

/// Reads ranges of the tar from the frames that hold them, for one thread and one shard.
#[derive(Debug, Default)]
pub struct FrameReader {
    /// The bytes of the frame that was decompressed last.
    data: Vec<u8>,
    kept: Option<Frame>,
    packed: Vec<u8>,
}

impl FrameReader {
    /// Fills `into` with the bytes of the tar from `at`; `read` reads bytes of the compressed file.
    ///
    /// # Errors
    /// Returns the errors of `read`, and an error if a frame is damaged or the range is past the end.
    pub fn read(
        &mut self,
        shard: IndexedShard<'_>,
        at: u64,
        into: &mut [u8],
        read: impl Fn(u64, &mut [u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut done = 0;
        while done < into.len() {
            let from = at + done as u64;
            let frame = self.frame(shard, from, &read)?;
            let skip = (from - frame.data.start) as usize;
            let bytes = &self.data[skip..];
            let length = bytes.len().min(into.len() - done);
            into[done..done + length].copy_from_slice(&bytes[..length]);
            done += length;
        }
        Ok(())
    }

    /// Decompresses the frame that holds byte `at`, unless it is kept.
    fn frame(
        &mut self,
        shard: IndexedShard<'_>,
        at: u64,
        read: &impl Fn(u64, &mut [u8]) -> Result<(), Failure>,
    ) -> Result<Frame, Failure> {
        if let Some(frame) = self.kept.as_ref().filter(|frame| frame.data.contains(&at)) {
            return Ok(frame.clone());
        }
        let IndexedShard { tar, index } = shard;
        let number = index.frame_with(at)?;
        let frame = number.map(|number| index.frame(number)).transpose()?.flatten();
        let Some(frame) = frame.filter(|frame| frame.data.contains(&at)) else {
            let text = "the sidecar is inconsistent: no frame holds this byte of the tar";
            let error = Error::new(ErrorKind::Damaged, text).with_path(tar).with_byte(at);
            return Err(error.into());
        };
        self.kept = None;
        self.packed.resize((frame.file.end - frame.file.start) as usize, 0);
        read(frame.file.start, &mut self.packed)?;
        self.data.resize((frame.data.end - frame.data.start) as usize, 0);
        decompress(&self.packed, &mut self.data)
            .map_err(|e| e.with_path(tar).with_byte(frame.file.start))?;
        self.kept = Some(frame.clone());
        Ok(frame)
    }
}
