//! `Tokenizer`: a `tokenizer.json` of the library `tokenizers`. Only this file and its folder use the
//! library.

mod allowance;
mod config;
mod expression;
mod fast;
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
use tokenizers::Encoding;
use tokenizers::models::ModelWrapper;

use self::allowance::within;
use self::fast::{Fast, Given, LongPiece, Uncovered, Work};
use self::guarded::GuardedTokenizer;
use self::pieces::Cutter;
use crate::encoding::encoder::{Encode, Specials};
use crate::encoding::ids::Ids;
use crate::files::given;

/// Part of every fingerprint: another version of the library may give other ids.
const LIBRARY: &str = "tokenizers 0.23";

/// Bytes of a text that is tokenized as a whole beside others. The library needs about 120 bytes for
/// each of them, the fast path 40.
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
    /// The tokenizer without the library, or why there is none.
    fast: Result<Fast, Uncovered>,
    /// What threads have used with `fast`, and others will.
    works: Mutex<Vec<Work>>,
    /// How long texts are cut for the library; `None` if the ids could be others.
    cutter: Option<Cutter>,
    /// Held while a long text is tokenized as a whole.
    long: Mutex<()>,
    options: TokenizerOptions,
}

/// An id, and the bytes of the text that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlacedId {
    pub(crate) id: u32,
    pub(crate) begin: usize,
    pub(crate) end: usize,
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
        let fast = if found.around_known { fast(&inner, options) } else { Err(Uncovered::Around) };
        Ok(Tokenizer {
            inner,
            fingerprint,
            vocabulary,
            specials: found.specials,
            notices,
            fast,
            works: Mutex::default(),
            cutter,
            long: Mutex::default(),
            options,
        })
    }

    /// Returns the ids of a text by the fast path, with those that are added around it.
    fn fast_ids(&self, fast: &Fast, text: &str, work: &mut Work) -> Result<Vec<u32>, String> {
        let begin = self.specials.before.len();
        let mut ids = Vec::with_capacity(begin + text.len() / 3);
        ids.extend_from_slice(&self.specials.before);
        if fast.encode(text, LONG, work, &mut ids).is_err() {
            // Its memory is that of the longest piece: one at a time.
            ids.truncate(begin);
            let _alone = self.long.lock().ignore_poison();
            let mut own = Work::new();
            let encoded = fast.encode(text, WHOLE, &mut own, &mut ids);
            encoded.map_err(|LongPiece(bytes)| too_long(bytes))?;
        }
        ids.extend_from_slice(&self.specials.after);
        Ok(ids)
    }

    /// Returns the ids of a text by the library, with those that are added around it.
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

    /// Returns the ids of a text with the bytes of the text that they stand for. Adds no special tokens.
    pub(crate) fn placed(&self, text: &str) -> Result<Vec<PlacedId>, String> {
        let mut ends = self.cutter.as_ref().map_or_else(Vec::new, |cutter| cutter.ends(text));
        ends.push(text.len());
        let mut placed = Vec::new();
        let mut begin = 0;
        for end in ends {
            let encoded = self.encoded(&text[begin..end])?;
            let offsets = encoded.get_ids().iter().zip(encoded.get_offsets());
            placed.extend(offsets.map(|(&id, &(from, to))| PlacedId {
                id,
                begin: begin + from,
                end: begin + to,
            }));
            begin = end;
        }
        Ok(placed)
    }

    /// Returns the encoding of a text that is not cut, with places.
    fn encoded(&self, text: &str) -> Result<Encoding, String> {
        check_whole(text)?;
        let _alone = self.alone(text);
        within(text.len(), || self.inner.encode(text, false)).map_err(|e| e.to_string())
    }

    /// Returns the ids of a text that is not cut.
    fn piece(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>, String> {
        check_whole(text)?;
        let _alone = self.alone(text);
        let encoded = within(text.len(), || self.inner.encode_fast(text, add_special_tokens));
        Ok(encoded.map_err(|e| e.to_string())?.get_ids().to_vec())
    }

    /// Waits until no other thread tokenizes a long text, if this one is long.
    fn alone(&self, text: &str) -> Option<MutexGuard<'_, ()>> {
        (text.len() > LONG).then(|| self.long.lock().ignore_poison())
    }
}

/// Refuses a text that is too long for a tokenizer that does not cut it.
fn check_whole(text: &str) -> Result<(), String> {
    if text.len() > WHOLE { Err(too_long(text.len())) } else { Ok(()) }
}

impl TokenizerOptions {
    fn rules(self) -> u8 {
        let added = if self.add_special_tokens { rule::ADDED } else { 0 };
        let split = if self.split_special_tokens { rule::SPLIT } else { 0 };
        added | split
    }
}

fn refused(text: &str, reason: &str) -> Failure {
    let start: String = text.chars().take(40).collect();
    Failure::bad_data(format!("the tokenizer refuses the text {start:?}...: {reason}"))
}

fn too_long(bytes: usize) -> String {
    format!(
        "{bytes} bytes of it must be tokenized as a whole, and {WHOLE} are the limit; split the document"
    )
}

/// Makes the fast path of a tokenizer, and compares its ids with those of the library.
fn fast(inner: &GuardedTokenizer, options: TokenizerOptions) -> Result<Fast, Uncovered> {
    let ModelWrapper::BPE(bpe) = inner.get_model() else { return Err(Uncovered::Model) };
    let parts = [
        serde_json::to_value(inner.get_normalizer()),
        serde_json::to_value(inner.get_pre_tokenizer()),
    ];
    let [Ok(normalizer_value), Ok(pre_tokenizer)] = parts else { return Err(Uncovered::Model) };
    let given = Given {
        normalizer: inner.get_normalizer(),
        normalizer_value,
        pre_tokenizer,
        added: inner.get_added_tokens_decoder().into_iter().collect(),
        split_special_tokens: options.split_special_tokens,
    };
    let fast = Fast::new(&given, bpe)?;
    let theirs = within(fast::SAMPLE.len(), || inner.encode_fast(fast::SAMPLE, false));
    let theirs = theirs.map_err(|_| Uncovered::Ids)?;
    let mut ours = Vec::new();
    let encoded = fast.encode(fast::SAMPLE, LONG, &mut Work::new(), &mut ours);
    let is_same = encoded.is_ok() && theirs.get_ids() == ours;
    if is_same { Ok(fast) } else { Err(Uncovered::Ids) }
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

    fn path(&self) -> Option<Message> {
        Some(match &self.fast {
            Ok(_) => message!("the fast path"),
            Err(why) => message!("the library `tokenizers`, because {}", why.message().text()),
        })
    }

    fn encode(&self, texts: &[&str], into: &mut Ids) -> Result<(), Failure> {
        let Ok(fast) = &self.fast else {
            for &text in texts {
                into.push(self.ids(text).map_err(|e| refused(text, &e))?);
            }
            return Ok(());
        };
        let kept = self.works.lock().ignore_poison().pop();
        let mut work = kept.unwrap_or_else(Work::new);
        for &text in texts {
            into.push(self.fast_ids(fast, text, &mut work).map_err(|e| refused(text, &e))?);
        }
        self.works.lock().ignore_poison().push(work);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
