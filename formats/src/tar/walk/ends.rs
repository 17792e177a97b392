//! Interprets a tar that ends where its walk requests more.

use super::{Last, State, Walk};
use crate::errors::error::{Error, ErrorKind};
use crate::tar::header::{BLOCK, shown};

impl Walk {
    /// Returns the error for a tar that ends at `tar_len`, before the last byte that [`Walk::want`]
    /// requests: [`ErrorKind::MissingEnd`] if it ends between members without an end marker,
    /// [`ErrorKind::Truncated`] if it ends inside a member.
    pub fn eof(&self, tar_len: u64) -> Error {
        let (at, len) = self.want();
        let missing = at.saturating_add(len as u64).saturating_sub(tar_len);
        match self.state {
            State::Header => self.eof_for_header(tar_len, missing),
            State::Extra { header, .. } => {
                let what = "the tar ends inside a long name or pax header";
                self.truncated(header, format!("{what}: {missing} bytes are missing"))
            }
            State::SecondZero => {
                let text = "the end marker is cut: the tar ends after one of its two zero blocks";
                Error::new(ErrorKind::MissingEnd, text).with_byte(at - BLOCK)
            }
            State::Over { end } => {
                let text = "the tar was walked to its end marker and has become shorter since";
                Error::new(ErrorKind::MissingEnd, text).with_byte(end)
            }
        }
    }

    fn eof_for_header(&self, tar_len: u64, missing: u64) -> Error {
        if tar_len > self.at {
            let text = format!("the tar ends inside a header: {missing} of its bytes are missing");
            return self.truncated(self.at, text);
        }
        if let Some(first) = self.pending.first {
            let text = "the tar ends between a long name or pax header and its member: at least \
                        512 bytes are missing";
            return self.truncated(first, text.into());
        }
        if tar_len < self.at {
            return self.cut_member(tar_len);
        }
        let text = if tar_len == 0 {
            "the tar is empty: it has not even an end marker"
        } else {
            "the tar ends without its end marker: it was cut at a block boundary, or its writer \
             was killed"
        };
        Error::new(ErrorKind::MissingEnd, text).with_byte(tar_len)
    }

    fn cut_member(&self, tar_len: u64) -> Error {
        let Some(Last { name, first, data_end }) = &self.last else {
            let text = format!("the tar ends before byte {}, where the walk begins", self.at);
            return Error::new(ErrorKind::Truncated, text).with_byte(tar_len);
        };
        let text = match data_end.saturating_sub(tar_len) {
            0 => {
                let missing = self.at.saturating_sub(tar_len);
                format!("the tar ends in the zeros that pad this member: {missing} are missing")
            }
            missing => {
                format!("the tar ends inside this member: {missing} bytes of its data are missing")
            }
        };
        Error::new(ErrorKind::Truncated, text).with_byte(*first).with_key(shown(name))
    }

    /// The tar ends inside a header, at `byte` or before: the error names the header's start.
    fn truncated(&self, byte: u64, text: String) -> Error {
        let error =
            Error::new(ErrorKind::Truncated, text).with_byte(self.pending.first.unwrap_or(byte));
        match &self.pending.name {
            Some(name) => error.with_key(shown(name)),
            None => error,
        }
    }
}
