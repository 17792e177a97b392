//! The normalizers and pre-tokenizers of `tokenizers`, with a limit on what they do with a text.
//!
//! Parts with an expression of the file count its steps; the others are those of the library. What a normalizer adds is
//! taken from the allowance, before it is added where one match can add much.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use tokenizers::normalizers::{Precompiled, Replace};
use tokenizers::pre_tokenizers::split::SplitPattern;
use tokenizers::tokenizer::pattern::{Invert, Pattern};
use tokenizers::{
    DecoderWrapper, ModelWrapper, NormalizedString, Normalizer, NormalizerWrapper, Offsets,
    PostProcessorWrapper, PreTokenizedString, PreTokenizer, PreTokenizerWrapper,
    SplitDelimiterBehavior, TokenizerImpl,
};

use super::allowance::{failed, take_bytes};
use super::expression::{Expression, PATTERNS};

/// Limit on what a map of characters makes of one of at most two bytes.
const SMALL: usize = 8;

/// A tokenizer whose parts are guarded.
pub(super) type GuardedTokenizer = TokenizerImpl<
    ModelWrapper,
    GuardedNormalizer,
    GuardedPreTokenizer,
    PostProcessorWrapper,
    DecoderWrapper,
>;

/// A normalizer of the library.
#[derive(Debug)]
pub(super) struct GuardedNormalizer {
    inner: NormalizerWrapper,
    steps: Vec<NormalizerStep>,
}

#[derive(Debug)]
enum NormalizerStep {
    /// Replaces the matches of an expression.
    Replace {
        expression: Expression,
        content: String,
    },
    /// Replaces a text; the last field does it.
    ReplaceText {
        text: String,
        content: String,
        replace: NormalizerWrapper,
    },
    Other(NormalizerWrapper),
}

impl GuardedNormalizer {
    fn new(inner: NormalizerWrapper) -> Result<GuardedNormalizer, String> {
        let mut steps = Vec::new();
        add_normalizers(&inner, &mut steps)?;
        Ok(GuardedNormalizer { inner, steps })
    }
}

fn add_normalizers(
    normalizer: &NormalizerWrapper,
    steps: &mut Vec<NormalizerStep>,
) -> Result<(), String> {
    let step = match normalizer {
        NormalizerWrapper::Sequence(sequence) => {
            return sequence.as_ref().iter().try_for_each(|step| add_normalizers(step, steps));
        }
        NormalizerWrapper::Replace(replace) => replacement(replace)?,
        NormalizerWrapper::Precompiled(map) => {
            check_map(map)?;
            NormalizerStep::Other(normalizer.clone())
        }
        other => NormalizerStep::Other(other.clone()),
    };
    steps.push(step);
    Ok(())
}

fn replacement(replace: &Replace) -> Result<NormalizerStep, String> {
    let fields = serde_json::to_value(replace).map_err(|e| e.to_string())?;
    let content = replace.content.clone();
    let pattern = &fields["pattern"];
    match (&pattern["Regex"], &pattern["String"]) {
        (Value::String(text), _) => {
            let expression = Expression::new(text).map_err(|e| e.to_string())?;
            Ok(NormalizerStep::Replace { expression, content })
        }
        (_, Value::String(text)) => {
            let replace = NormalizerWrapper::Replace(replace.clone());
            Ok(NormalizerStep::ReplaceText { text: text.clone(), content, replace })
        }
        _ => Err("a Replace has no pattern".into()),
    }
}

/// Refuses a map of characters that makes much of a character of one or two bytes. The file itself bounds what it makes
/// of longer ones.
fn check_map(map: &Precompiled) -> Result<(), String> {
    let small = ('\u{1}'..'\u{800}').map(String::from).chain(["\r\n".into()]);
    for text in small {
        let mut normalized = NormalizedString::from(text.as_str());
        map.normalize(&mut normalized).map_err(|e| e.to_string())?;
        if normalized.len() > SMALL {
            let bytes = normalized.len();
            return Err(format!("its precompiled_charsmap makes {bytes} bytes of {text:?}"));
        }
    }
    Ok(())
}

impl Normalizer for GuardedNormalizer {
    fn normalize(&self, text: &mut NormalizedString) -> tokenizers::Result<()> {
        // The library drops the error, and would tokenize the text as it is.
        self.run(text).inspect_err(failed)
    }
}

impl GuardedNormalizer {
    fn run(&self, text: &mut NormalizedString) -> tokenizers::Result<()> {
        for step in &self.steps {
            match step {
                NormalizerStep::Replace { expression, content } => {
                    text.replace(Growing { expression, added: content.len() }, content)?;
                }
                NormalizerStep::ReplaceText { text: replaced, content, replace } => {
                    let more = content.len().saturating_sub(replaced.len());
                    take_bytes(text.get().matches(replaced.as_str()).count().saturating_mul(more))?;
                    replace.normalize(text)?;
                }
                NormalizerStep::Other(normalizer) => {
                    let before = text.len();
                    normalizer.normalize(text)?;
                    take_bytes(text.len().saturating_sub(before))?;
                }
            }
        }
        Ok(())
    }
}

/// The matches of an expression, each of which is replaced by `added` bytes.
struct Growing<'a> {
    expression: &'a Expression,
    added: usize,
}

impl Pattern for Growing<'_> {
    fn find_matches(&self, inside: &str) -> tokenizers::Result<Vec<(Offsets, bool)>> {
        let found = self.expression.find_matches(inside)?;
        let matches = found.iter().filter(|(_, is_match)| *is_match);
        let more = matches.map(|((start, end), _)| self.added.saturating_sub(end - start));
        take_bytes(more.fold(0, usize::saturating_add))?;
        Ok(found)
    }
}

/// A pre-tokenizer of the library.
#[derive(Debug)]
pub(super) struct GuardedPreTokenizer {
    inner: PreTokenizerWrapper,
    steps: Vec<PreTokenizerStep>,
}

#[derive(Debug)]
enum PreTokenizerStep {
    Split { expression: Expression, behavior: SplitDelimiterBehavior, invert: bool },
    Other(PreTokenizerWrapper),
}

impl GuardedPreTokenizer {
    fn new(inner: PreTokenizerWrapper) -> Result<GuardedPreTokenizer, String> {
        let mut steps = Vec::new();
        add_pre_tokenizers(&inner, &mut steps)?;
        Ok(GuardedPreTokenizer { inner, steps })
    }
}

fn add_pre_tokenizers(
    pre_tokenizer: &PreTokenizerWrapper,
    steps: &mut Vec<PreTokenizerStep>,
) -> Result<(), String> {
    let step = match pre_tokenizer {
        PreTokenizerWrapper::Sequence(sequence) => {
            return sequence.as_ref().iter().try_for_each(|step| add_pre_tokenizers(step, steps));
        }
        PreTokenizerWrapper::Split(split) => match &split.pattern {
            // Known expressions never go back far.
            SplitPattern::Regex(text) if !PATTERNS.contains(&text.as_str()) => {
                let expression = Expression::new(text).map_err(|e| e.to_string())?;
                PreTokenizerStep::Split {
                    expression,
                    behavior: split.behavior,
                    invert: split.invert,
                }
            }
            _ => PreTokenizerStep::Other(pre_tokenizer.clone()),
        },
        other => PreTokenizerStep::Other(other.clone()),
    };
    steps.push(step);
    Ok(())
}

impl PreTokenizer for GuardedPreTokenizer {
    fn pre_tokenize(&self, text: &mut PreTokenizedString) -> tokenizers::Result<()> {
        for step in &self.steps {
            match step {
                PreTokenizerStep::Split { expression, behavior, invert: false } => {
                    text.split(|_, piece| piece.split(expression, *behavior))?;
                }
                PreTokenizerStep::Split { expression, behavior, invert: true } => {
                    text.split(|_, piece| piece.split(Invert(expression), *behavior))?;
                }
                PreTokenizerStep::Other(pre_tokenizer) => pre_tokenizer.pre_tokenize(text)?,
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for GuardedNormalizer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<GuardedNormalizer, D::Error> {
        let inner = NormalizerWrapper::deserialize(from)?;
        GuardedNormalizer::new(inner).map_err(serde::de::Error::custom)
    }
}

impl Serialize for GuardedNormalizer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.inner.serialize(to)
    }
}

impl<'de> Deserialize<'de> for GuardedPreTokenizer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<GuardedPreTokenizer, D::Error> {
        let inner = PreTokenizerWrapper::deserialize(from)?;
        GuardedPreTokenizer::new(inner).map_err(serde::de::Error::custom)
    }
}

impl Serialize for GuardedPreTokenizer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.inner.serialize(to)
    }
}
