//! `Encode`: what turns text into token ids.

use std::collections::BTreeMap;
use tarflume_formats::message::Message;

use tarflume_base::Failure;

use crate::encoding::ids::Ids;

/// The special tokens of an encoder, as far as they appear in ids.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Specials {
    /// The ids that the encoder puts before each text.
    pub before: Vec<u32>,
    /// The ids that the encoder puts behind each text.
    pub after: Vec<u32>,
    /// The texts that become one special id wherever a document has them.
    pub texts: BTreeMap<u32, String>,
}

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

    /// Returns the special tokens, for the counts of a report; none if they are unknown.
    fn specials(&self) -> Specials {
        Specials::default()
    }

    /// Returns what a user should know of the encoder, each one line.
    fn notices(&self) -> Vec<Message> {
        Vec::new()
    }

    /// Returns true if ids without loss have a mark, so that samples say which ids have loss.
    fn marks_prompts(&self) -> bool {
        false
    }

    /// Returns what is wrong with a text to which [`Encode::encode`] has given no ids. Such a document is one that
    /// cannot be read.
    fn fault(&self, text: &str) -> Option<Message> {
        let _ = text;
        None
    }

    /// Returns by what the texts become ids, for a report; `None` if there is nothing to say.
    fn path(&self) -> Option<Message> {
        None
    }

    /// Appends the ids of each text to `into`, in order.
    ///
    /// # Errors
    /// Returns an error if a text cannot be tokenized.
    fn encode(&self, texts: &[&str], into: &mut Ids) -> Result<(), Failure>;
}
