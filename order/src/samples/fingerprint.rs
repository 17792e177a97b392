//! 32 bytes that are equal if two things are the same: a data set, a selection, an order.
//!
//! The caller decides what a fingerprint covers.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// A blake3 digest; written as 64 hex digits.
///
/// ```
/// use tarflume_order::Fingerprint;
///
/// let print = Fingerprint::of("my data set", ["shard 0", "shard 1"]);
/// assert_eq!(print.to_string().parse::<Fingerprint>()?, print);
/// # Ok::<(), tarflume_order::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// A digest made elsewhere.
    pub fn new(bytes: [u8; 32]) -> Fingerprint {
        Fingerprint(bytes)
    }

    /// The digest of `pieces`, each with its length, under a name for what they are.
    pub fn of<P: AsRef<[u8]>>(what: &str, pieces: impl IntoIterator<Item = P>) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        put(&mut hasher, what.as_bytes());
        for piece in pieces {
            put(&mut hasher, piece.as_ref());
        }
        Fingerprint(*hasher.finalize().as_bytes())
    }

    /// The digest itself.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Adds a piece with its length, so that the borders of the pieces count.
fn put(hasher: &mut blake3::Hasher, piece: &[u8]) {
    hasher.update(&(piece.len() as u64).to_le_bytes());
    hasher.update(piece);
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = Error;

    /// # Errors
    /// Not 64 hex digits.
    fn from_str(text: &str) -> Result<Fingerprint> {
        let hash = blake3::Hash::from_hex(text).map_err(|_| {
            Error::usage(format!("'{text}' is no fingerprint: it has 64 hex digits"))
        })?;
        Ok(Fingerprint(*hash.as_bytes()))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fingerprint, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(|e: Error| D::Error::custom(e.text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_and_pieces_do_not_run_together() {
        let print = Fingerprint::of("test", ["ab", "c"]);
        assert_eq!(print.to_string().parse::<Fingerprint>().unwrap(), print);
        assert_ne!(print, Fingerprint::of("test", ["a", "bc"]));
        assert!("00ff".parse::<Fingerprint>().is_err());
        let json = serde_json::to_string(&print).unwrap();
        assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), print);
    }
}
