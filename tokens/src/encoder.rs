//! `Encode`: what turns text into token ids.

use tarflume_packer::Failure;

use crate::ids::Ids;

/// Returns the fingerprint of an encoder that a user names; another name is another encoder.
pub fn fingerprint_of(name: &str) -> [u8; 32] {
    *blake3::hash(name.as_bytes()).as_bytes()
}

/// A tokenizer. Threads share one value.
pub trait Encode: Send + Sync {
    /// Returns a digest of everything that the ids depend on beside the text. Cached ids are used
    /// again for the same text and the same fingerprint.
    fn fingerprint(&self) -> [u8; 32];

    /// Returns the number of possible ids; `None` if it is unknown.
    fn vocabulary(&self) -> Option<u64> {
        None
    }

    /// Returns the id of a token by its text, for `--eos` and `--pad`.
    fn token(&self, text: &str) -> Option<u32> {
        let _ = text;
        None
    }

    /// Appends the ids of each text to `into`, in order.
    ///
    /// # Errors
    /// Returns an error if a text cannot be tokenized.
    fn encode(&self, texts: &[&str], into: &mut Ids) -> Result<(), Failure>;
}
