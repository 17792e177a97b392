//! The frames of a compressed shard, in its sidecar: which bytes of the file hold which bytes of the tar.

use crate::bytes::frames::{FRAME_MAX, Frame};
use crate::bytes::le::u64_at;
use crate::errors::error::{ErrorKind, Result};
use crate::index::layout as l;
use crate::index::view::Index;

impl Index {
    /// Returns true if the shard is compressed: offsets of parts are then bytes of the decompressed tar.
    pub fn is_compressed(&self) -> bool {
        self.body.sections.frames.is_some()
    }

    /// Returns the bytes of the tar. [`Index::tar`] has the bytes of its file, which differ if it is compressed.
    pub fn tar_length(&self) -> u64 {
        self.body.tar_length
    }

    /// Returns the number of frames; 0 for a tar that is not compressed.
    pub fn frames(&self) -> u64 {
        let bytes = self.body.sections.frames.as_ref().map_or(0, |section| section.len());
        ((bytes / l::FRAME) as u64).saturating_sub(1)
    }

    /// Returns frame number `n`, or `None` past the last.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Damaged`] if the record is damaged or does not fit the file,
    /// [`ErrorKind::Truncated`] if the sidecar was truncated while it was mapped.
    pub fn frame(&self, n: u64) -> Result<Option<Frame>> {
        if n >= self.frames() {
            return Ok(None);
        }
        self.body.intact_after(|| {
            let start = self.frame_start(n)?;
            let end = self.frame_start(n + 1)?;
            let frame = Frame { file: start.0..end.0, data: start.1..end.1 };
            let length = end.1.checked_sub(start.1);
            if length.is_none_or(|length| length > FRAME_MAX as u64)
                || start.0 > end.0
                || end.0 > self.tar().length
            {
                let text = format!("the sidecar is inconsistent: frame {n} is not in the file");
                return Err(self.body.error(ErrorKind::Damaged, text));
            }
            Ok(Some(frame))
        })
    }

    /// Returns the number of the frame that holds byte `at` of the tar; `None` past the end.
    ///
    /// # Errors
    /// As [`Index::frame`].
    pub fn frame_with(&self, at: u64) -> Result<Option<u64>> {
        if at >= self.tar_length() || self.frames() == 0 {
            return Ok(None);
        }
        self.body.intact_after(|| {
            // The last frame that begins at this byte or before it; empty frames are not written.
            let mut low = 0;
            let mut high = self.frames();
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if self.frame_start(middle)?.1 <= at { low = middle } else { high = middle }
            }
            Ok(Some(low))
        })
    }

    /// Returns where a frame begins: in the file, in the tar.
    pub(in crate::index) fn frame_start(&self, n: u64) -> Result<(u64, u64)> {
        let Some(section) = &self.body.sections.frames else { return Ok((0, 0)) };
        let record: [u8; l::FRAME] = self.body.number(section, n)?;
        Ok((u64_at(&record, 0), u64_at(&record, 8)))
    }
}
