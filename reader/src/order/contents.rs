//! `Contents`: what an order must know of a data set: which one it is, and how many samples each
//! shard has.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// No data set has more samples: orders calculate in 64 bits with one to spare.
pub const MAX_SAMPLES: u64 = 1 << 62;

/// Which data set it is: 32 bytes, the same wherever its shards lie.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// Its first eight bytes as a number.
    pub fn number(&self) -> u64 {
        self.0[..8].iter().fold(0, |n, &byte| n << 8 | u64::from(byte))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> String {
        fingerprint.to_string()
    }
}

impl FromStr for Fingerprint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Fingerprint> {
        let wrong = || {
            let text = format!("'{text}' is no fingerprint of 64 hex digits");
            Error::new(ErrorKind::WrongFormat, text)
        };
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Fingerprint(bytes))
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = Error;

    fn try_from(text: String) -> Result<Fingerprint> {
        text.parse()
    }
}

/// The samples of a data set, counted by shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    fingerprint: Fingerprint,
    starts: Arc<[u64]>,
}

impl Contents {
    /// A data set whose shards have these numbers of samples.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: more than [`MAX_SAMPLES`] in all.
    pub fn new(fingerprint: Fingerprint, counts: &[u64]) -> Result<Contents> {
        let mut starts = Vec::with_capacity(counts.len() + 1);
        let mut start = 0u64;
        starts.push(start);
        for &count in counts {
            start = start.checked_add(count).filter(|&n| n <= MAX_SAMPLES).ok_or_else(|| {
                let text = format!("the shards claim more than {MAX_SAMPLES} samples");
                Error::new(ErrorKind::Limit, text)
            })?;
            starts.push(start);
        }
        Ok(Contents { fingerprint, starts: starts.into() })
    }

    /// Which data set it is.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The first ordinal of each shard and, last, the number of samples.
    pub fn starts(&self) -> &Arc<[u64]> {
        &self.starts
    }

    /// Samples in all.
    pub fn samples(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Shards.
    pub fn shards(&self) -> usize {
        self.starts.len() - 1
    }

    /// Shard and row of the sample with this ordinal.
    pub fn place(&self, ordinal: u64) -> Option<(usize, u64)> {
        if ordinal >= self.samples() {
            return None;
        }
        let shard = self.starts.partition_point(|&start| start <= ordinal) - 1;
        Some((shard, ordinal - self.starts[shard]))
    }
}
