//! `Mend`: makes a tar from its own bytes and replaced parts.
//!
//! Parts whose checksum differs are replaced first. If the digest is still another, headers and the bytes between
//! members are written again in the form that `pack` writes. The digest of the whole tar decides.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tarflume_base::{Failure, Stop};
use tarflume_formats::index::{Part, Sample};
use tarflume_formats::publish::TempFile;
use tarflume_formats::tar::{header_len, padded, write_header};
use tarflume_formats::{Error, Index, crc32c, files};

use super::Replaced;
use super::copies::{Copies, Wanted};

/// A part that is read whole into memory is at most this long.
const PART_MAX: u64 = 2 << 30;

/// The tar that is mended.
pub(super) struct Mend<'a> {
    pub(super) tar: &'a Path,
    pub(super) index: &'a Index,
    pub(super) copies: &'a Copies,
    pub(super) stop: &'a Stop,
}

/// What was replaced in a tar.
pub(super) struct Mended {
    pub(super) what: Replaced,
    pub(super) bytes: u64,
    pub(super) from: Vec<PathBuf>,
}

#[derive(Default)]
struct Counts {
    samples: u64,
    parts: u64,
    bytes: u64,
    from: Vec<PathBuf>,
}

impl Mend<'_> {
    /// Writes the mended tar into `temp`; returns `None` if `is_right` refuses its bytes, or a part is nowhere.
    ///
    /// # Errors
    /// Returns an error if the machine or a store fails, and after an interruption.
    pub(super) fn write_to(
        &self,
        temp: &TempFile,
        is_right: &dyn Fn(&File) -> Result<bool, Failure>,
    ) -> Result<Option<Mended>, Failure> {
        if !files::exists(self.tar)? {
            return Ok(None);
        }
        self.take_own(temp)?;
        let mut counts = Counts::default();
        for sample in self.index.iter() {
            if self.stop.requested() {
                return Err(Failure::interrupted());
            }
            if !self.sample(&sample?, temp, &mut counts)? {
                return Ok(None);
            }
        }
        self.index.intact()?;
        let mut headers = false;
        if !is_right(&temp.file)? {
            headers = true;
            if !self.write_headers(temp)? || !is_right(&temp.file)? {
                return Ok(None);
            }
        }
        let Counts { samples, parts, bytes, from } = counts;
        Ok(Some(Mended { what: Replaced::Parts { samples, parts, headers }, bytes, from }))
    }

    /// Copies the bytes that are there. What is missing is zeros.
    fn take_own(&self, temp: &TempFile) -> Result<(), Failure> {
        let (own, _) = files::open(self.tar)?;
        let mut to = &temp.file;
        io::copy(&mut &own, &mut to).map_err(|e| self.not_copied(e))?;
        temp.file.set_len(self.index.tar().length).map_err(|e| self.not_copied(e))?;
        to.seek(SeekFrom::Start(0)).map_err(|e| self.not_copied(e))?;
        Ok(())
    }

    fn not_copied(&self, error: io::Error) -> Failure {
        Error::io(error, "copy", self.tar).into()
    }

    /// Replaces the damaged parts of a sample; returns false if one of them is nowhere.
    fn sample(
        &self,
        sample: &Sample<'_>,
        temp: &TempFile,
        counts: &mut Counts,
    ) -> Result<bool, Failure> {
        let before = counts.parts;
        for part in sample.parts() {
            let part = part?;
            if part.end() > self.index.tar().length || part.length > PART_MAX {
                return Ok(false);
            }
            let Some(checksum) = part.checksum else { return Ok(false) };
            let mut bytes = vec![0; part.length as usize];
            read(temp, part.offset, &mut bytes)?;
            if crc32c(&bytes) == checksum {
                continue;
            }
            let Part { ext, length, .. } = part;
            let wanted = Wanted { key: sample.key, ext, length, checksum };
            let Some(found) = self.copies.part(wanted)? else { return Ok(false) };
            write(temp, part.offset, &found.bytes)?;
            counts.parts += 1;
            counts.bytes += length;
            if !counts.from.contains(&found.from) {
                counts.from.push(found.from);
            }
        }
        counts.samples += u64::from(counts.parts > before);
        Ok(true)
    }

    /// Writes all headers, the bytes behind parts, and the end in the form of `pack`; returns false if the tar has another.
    fn write_headers(&self, temp: &TempFile) -> Result<bool, Failure> {
        let mut at = 0;
        for sample in self.index.iter() {
            let sample = sample?;
            for part in sample.parts() {
                let part = part?;
                let name = [sample.key, b".", part.ext].concat();
                let length = header_len(&name, part.length);
                let mut header = Vec::with_capacity(length as usize);
                let is_fit = part.offset.checked_sub(length) == Some(at);
                if !is_fit || write_header(&mut header, &name, part.length).is_err() {
                    return Ok(false);
                }
                write(temp, at, &header)?;
                let Some(padding) = padded(part.length) else { return Ok(false) };
                at = part.offset + padding;
                zero(temp, part.end(), at)?;
            }
        }
        self.index.intact()?;
        let length = self.index.tar().length;
        if at > length || length - at > PART_MAX {
            return Ok(false);
        }
        zero(temp, at, length)?;
        Ok(true)
    }
}

fn read(temp: &TempFile, at: u64, into: &mut [u8]) -> Result<(), Failure> {
    let read = files::read_exact_at(&temp.file, into, at);
    Ok(read.map_err(|e| Error::io(e, "read", temp.path()).with_byte(at))?)
}

fn write(temp: &TempFile, at: u64, bytes: &[u8]) -> Result<(), Failure> {
    let written = temp.file.write_all_at(bytes, at);
    Ok(written.map_err(|e| Error::io(e, "write", temp.path()).with_byte(at))?)
}

fn zero(temp: &TempFile, from: u64, to: u64) -> Result<(), Failure> {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut at = from;
    while at < to {
        let length = (to - at).min(ZEROS.len() as u64);
        write(temp, at, &ZEROS[..length as usize])?;
        at += length;
    }
    Ok(())
}
