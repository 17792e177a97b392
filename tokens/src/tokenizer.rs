//! `Tokenizer`: a `tokenizer.json` of the library `tokenizers`. The only file that uses it.

use std::path::Path;

use tarflume_formats::files;
use tarflume_formats::shown::ShowPath;
use tarflume_packer::Failure;

use crate::encoder::Encode;
use crate::given;
use crate::ids::Ids;

/// Part of every fingerprint: another version of the library may give other ids.
const LIBRARY: &str = "tokenizers 0.23";

/// A tokenizer from a `tokenizer.json`. Truncation and padding in the file are left out.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    fingerprint: [u8; 32],
    vocabulary: u64,
    special: bool,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tokenizer({} ids)", self.vocabulary)
    }
}

impl Tokenizer {
    /// Reads the file at `path`. With `special`, each document gets the tokens that the file's post
    /// processor adds, such as `[CLS]`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is no tokenizer.
    pub fn open(path: &Path, special: bool) -> Result<Tokenizer, Failure> {
        let bytes = files::read_whole(path, "read the tokenizer").map_err(given::failure)?;
        let refused = |reason: &dyn std::fmt::Display| {
            let shown = path.shown();
            Failure::bad_data(format!("{shown}: this is not a usable tokenizer.json: {reason}"))
        };
        let mut inner = tokenizers::Tokenizer::from_bytes(&bytes).map_err(|e| refused(&e))?;
        inner.with_truncation(None).map_err(|e| refused(&e))?;
        inner.with_padding(None);
        let vocabulary = inner.get_vocab(true).values().max().map_or(0, |&id| u64::from(id) + 1);
        if vocabulary == 0 {
            return Err(refused(&"its vocabulary is empty"));
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(LIBRARY.as_bytes()).update(&[0, u8::from(special)]).update(&bytes);
        Ok(Tokenizer { inner, fingerprint: *hasher.finalize().as_bytes(), vocabulary, special })
    }
}

impl Encode for Tokenizer {
    fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    fn vocabulary(&self) -> Option<u64> {
        Some(self.vocabulary)
    }

    fn token(&self, text: &str) -> Option<u32> {
        self.inner.token_to_id(text)
    }

    fn encode(&self, texts: &[&str], into: &mut Ids) -> Result<(), Failure> {
        for &text in texts {
            let encoded = self.inner.encode_fast(text, self.special);
            let encoded = encoded.map_err(|e| {
                let start: String = text.chars().take(40).collect();
                Failure::bad_data(format!("the tokenizer refuses the text {start:?}...: {e}"))
            })?;
            into.push(encoded.get_ids().iter().copied());
        }
        Ok(())
    }
}
