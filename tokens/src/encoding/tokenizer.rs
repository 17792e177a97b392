//! `Tokenizer`: a `tokenizer.json` of the library `tokenizers`. Only this file and its folder use the
//! library.

mod allowance;
mod config;
mod expression;
mod guarded;
mod limits;
mod pieces;
mod scores;

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{IgnorePoison, files};
use tokenizers::models::ModelWrapper;

use self::allowance::within;
use self::guarded::GuardedTokenizer;
use self::pieces::Cutter;
use crate::encoding::encoder::{Encode, Specials};
use crate::encoding::ids::Ids;
use crate::files::given;

/// Part of every fingerprint: another version of the library may give other ids.
const LIBRARY: &str = "tokenizers 0.23";

/// Bytes of a text that is tokenized as a whole beside others. The library needs about 120 bytes for
/// each of them.
const LONG: usize = 2 << 20;
/// Limit on the bytes of a text that is tokenized as a whole: 2 GB of memory.
const WHOLE: usize = 16 << 20;

/// What decides the ids beside the file: a byte of every fingerprint.
mod rule {
    /// The post processor's tokens are added.
    pub(super) const ADDED: u8 = 1;
    /// Special tokens in the text are text.
    pub(super) const SPLIT: u8 = 1 << 1;
    /// The scores of a Unigram model are those of the Python package.
    pub(super) const SCORES: u8 = 1 << 2;
    /// The dropout of a BPE model is off.
    pub(super) const NO_DROPOUT: u8 = 1 << 3;
}

/// How a [`Tokenizer`] treats special tokens.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TokenizerOptions {
    /// Adds to each document the tokens that the file's post processor adds, such as `[CLS]`.
    pub add_special_tokens: bool,
    /// Takes the texts of special tokens in a document, such as `<|endoftext|>`, as text.
    pub split_special_tokens: bool,
}

/// A tokenizer from a `tokenizer.json`. Truncation, padding and dropout in the file are left out.
///
/// Ids are those of the Python package of `tokenizers`.
pub struct Tokenizer {
    inner: GuardedTokenizer,
    fingerprint: [u8; 32],
    vocabulary: u64,
    specials: Specials,
    notices: Vec<Message>,
    /// How long texts are cut; `None` if the ids could be others.
    cutter: Option<Cutter>,
    /// Held while a long text is tokenized as a whole.
    long: Mutex<()>,
    options: TokenizerOptions,
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokenizer({} ids)", self.vocabulary)
    }
}

impl Tokenizer {
    /// Reads the file at `path`, and what a `tokenizer_config.json` beside it would change.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is no tokenizer, or asks for more work than a tokenizer needs.
    pub fn open(path: &Path, options: TokenizerOptions) -> Result<Tokenizer, Failure> {
        let bytes = files::read_whole(path, "read the tokenizer").map_err(given::failure)?;
        limits::check(&bytes).map_err(|e| unusable(path, &e))?;
        within(bytes.len(), || Ok(Tokenizer::parsed(path, &bytes, options)))
            .map_err(|e| unusable(path, &e))?
    }

    /// Makes a tokenizer of the bytes of the file at `path`.
    fn parsed(path: &Path, bytes: &[u8], options: TokenizerOptions) -> Result<Tokenizer, Failure> {
        let mut inner = GuardedTokenizer::from_bytes(bytes).map_err(|e| unusable(path, &e))?;
        inner.with_truncation(None).map_err(|e| unusable(path, &e))?;
        inner.with_padding(None);
        inner.set_encode_special_tokens(options.split_special_tokens);
        let model = settled(bytes, inner.get_model()).map_err(|e| unusable(path, &e))?;
        let rules = options.rules() | model.rules;
        if let Some(model) = model.model {
            inner.with_model(model);
        }
        let vocabulary = inner.get_vocab(true).values().max().map_or(0, |&id| u64::from(id) + 1);
        if vocabulary == 0 {
            return Err(unusable(path, &"its vocabulary is empty"));
        }
        let found = specials(&inner, options, model.unknown).map_err(|e| unusable(path, &e))?;
        let mut notices: Vec<Message> =
            model.dropout.map(|dropout| no_dropout(path, dropout)).into_iter().collect();
        notices.extend(config::differences(path, &inner, options)?);
        let mut hasher = blake3::Hasher::new();
        hasher.update(LIBRARY.as_bytes()).update(&[0, rules]).update(bytes);
        let fingerprint = *hasher.finalize().as_bytes();
        // Without knowing what is added around a text, it cannot be added around its pieces.
        let cutter = found.around_known.then(|| Cutter::of(&inner)).flatten();
        Ok(Tokenizer {
            inner,
            fingerprint,
            vocabulary,
            specials: found.specials,
            notices,
            cutter,
            long: Mutex::default(),
            options,
        })
    }

    /// Returns the ids of a text, with those that are added around it.
    fn ids(&self, text: &str) -> Result<Vec<u32>, String> {
        let mut ends = self.cutter.as_ref().map_or_else(Vec::new, |cutter| cutter.ends(text));
        if ends.is_empty() {
            return self.piece(text, self.options.add_special_tokens);
        }
        ends.push(text.len());
        let mut ids = self.specials.before.clone();
        let mut begin = 0;
        for end in ends {
            ids.extend(self.piece(&text[begin..end], false)?);
            begin = end;
        }
        ids.extend_from_slice(&self.specials.after);
        Ok(ids)
    }

    /// Returns the ids of a text that is not cut.
    fn piece(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>, String> {
        if text.len() > WHOLE {
            return Err(format!(
                "{} bytes of it must be tokenized as a whole, and {WHOLE} are the limit; split the document",
                text.len()
            ));
        }
        let _alone = self.alone(text);
        let encoded = within(text.len(), || self.inner.encode_fast(text, add_special_tokens));
        Ok(encoded.map_err(|e| e.to_string())?.get_ids().to_vec())
    }

    /// Waits until no other thread tokenizes a long text, if this one is long.
    fn alone(&self, text: &str) -> Option<MutexGuard<'_, ()>> {
        (text.len() > LONG).then(|| self.long.lock().ignore_poison())
    }
}

impl TokenizerOptions {
    fn rules(self) -> u8 {
        let added = if self.add_special_tokens { rule::ADDED } else { 0 };
        let split = if self.split_special_tokens { rule::SPLIT } else { 0 };
        added | split
    }
}

fn unusable(path: &Path, reason: &dyn fmt::Display) -> Failure {
    Failure::bad_data(format!("this is not a usable tokenizer.json: {reason}")).in_file(path)
}

fn no_dropout(path: &Path, dropout: f32) -> Message {
    let shown = path.shown();
    message!(
        "{shown}: its dropout of {dropout} is off: it is for training, and would give other ids in each run"
    )
}

/// A model whose ids are the same in each run and in each build.
struct Settled {
    /// The model in place of the given one.
    model: Option<ModelWrapper>,
    rules: u8,
    /// The token of what is not in the vocabulary.
    unknown: Option<String>,
    /// The dropout that is off.
    dropout: Option<f32>,
}

impl Settled {
    /// The given model as it is.
    fn same(unknown: Option<String>) -> Settled {
        Settled { model: None, rules: 0, unknown, dropout: None }
    }
}

fn settled(json: &[u8], model: &ModelWrapper) -> Result<Settled, String> {
    Ok(match model {
        ModelWrapper::WordPiece(model) => Settled::same(Some(model.unk_token.clone())),
        ModelWrapper::WordLevel(model) => Settled::same(Some(model.unk_token.clone())),
        ModelWrapper::BPE(bpe) => {
            let unknown = bpe.unk_token.clone();
            match bpe.dropout.filter(|&dropout| dropout > 0.0) {
                None => Settled::same(unknown),
                dropout => {
                    let mut bpe = bpe.clone();
                    bpe.dropout = None;
                    Settled { model: Some(bpe.into()), rules: rule::NO_DROPOUT, unknown, dropout }
                }
            }
        }
        ModelWrapper::Unigram(model) => {
            let corrected = scores::corrected(json, model)?;
            let unknown = corrected.unk_id.and_then(|id| corrected.model.iter().nth(id));
            let unknown = unknown.map(|(token, _)| token.clone());
            let model = Some(corrected.model.into());
            Settled { model, rules: rule::SCORES, unknown, dropout: None }
        }
    })
}

/// The special tokens of a tokenizer.
struct FoundSpecials {
    specials: Specials,
    /// Whether what is added around a text is in `specials`.
    around_known: bool,
}

/// Returns the special tokens. `unknown` is none of them in a text: the model gives its id by itself.
fn specials(
    inner: &GuardedTokenizer,
    options: TokenizerOptions,
    unknown: Option<String>,
) -> tokenizers::Result<FoundSpecials> {
    let mut specials = Specials::default();
    let mut around_known = true;
    if options.add_special_tokens {
        let plain = inner.encode_fast("a", false)?;
        let added = inner.encode_fast("a", true)?;
        let plain = plain.get_ids();
        let added = added.get_ids();
        let at = added.windows(plain.len().max(1)).position(|own| own == plain);
        around_known = at.is_some();
        if let Some(at) = at {
            specials.before = added[..at].to_vec();
            specials.after = added[at + plain.len()..].to_vec();
        }
    }
    if !options.split_special_tokens {
        for (id, token) in inner.get_added_tokens_decoder() {
            if token.special && Some(&token.content) != unknown.as_ref() {
                specials.texts.insert(id, token.content);
            }
        }
    }
    Ok(FoundSpecials { specials, around_known })
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

    fn specials(&self) -> Specials {
        self.specials.clone()
    }

    fn notices(&self) -> Vec<Message> {
        self.notices.clone()
    }

    fn encode(&self, texts: &[&str], into: &mut Ids) -> Result<(), Failure> {
        for &text in texts {
            let ids = self.ids(text).map_err(|e| {
                let start: String = text.chars().take(40).collect();
                Failure::bad_data(format!("the tokenizer refuses the text {start:?}...: {e}"))
            })?;
            into.push(ids);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
