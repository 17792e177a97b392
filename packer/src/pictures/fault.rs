//! Why an image could not be prepared.

use std::fmt;

/// Why an image could not be prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PictureFault {
    /// Its bytes are damaged.
    Data {
        /// The byte at which it was noticed, counted from its start.
        byte: u64,
        /// What is wrong.
        reason: String,
    },
    /// The machine has no memory for it.
    Machine(String),
}

impl PictureFault {
    pub(super) fn of_jpeg(error: &tarflume_jpeg::Error) -> PictureFault {
        match error.kind() {
            tarflume_jpeg::ErrorKind::Limit => PictureFault::Machine(error.text().into()),
            _ => {
                let reason = format!("bad JPEG: {}", error.text());
                PictureFault::Data { byte: error.byte().unwrap_or(0), reason }
            }
        }
    }

    pub(super) fn encoding(error: &dyn fmt::Display) -> PictureFault {
        PictureFault::Data { byte: 0, reason: format!("the image cannot be encoded: {error}") }
    }
}

impl fmt::Display for PictureFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PictureFault::Data { byte, reason } => write!(f, "byte {byte}: {reason}"),
            PictureFault::Machine(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for PictureFault {}
