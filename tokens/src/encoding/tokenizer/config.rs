//! `tokenizer_config.json` beside `tokenizer.json`: which of its settings give other ids under
//! `AutoTokenizer` of transformers.
//!
//! transformers replaces parts of a tokenizer according to these settings, differently in each class and
//! version. Nothing is replaced here: a difference is named with its remedy. What a tokenizer does is found by
//! asking it, not by its file, because several parts have the same effect.

use std::path::Path;

use serde_json::Value;
use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::shown::ShowPath;
use tokenizers::tokenizer::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
};

use super::guarded::GuardedTokenizer;
use super::{TokenizerOptions, specials};

/// Classes that build the normalizer of BERT from `do_lower_case` and its companions.
const BERT: [&str; 4] =
    ["BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer"];

/// The names of special tokens.
const NAMED: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// Limit on the tokens that a notice names.
const SHOWN: usize = 4;

/// Returns a notice for the settings in the folder of `tokenizer.json` that give other ids.
///
/// # Errors
/// Returns an error if the operating system refuses to read the file.
pub(super) fn differences(
    tokenizer: &Path,
    inner: &GuardedTokenizer,
    options: TokenizerOptions,
) -> Result<Vec<Message>, Failure> {
    let path = tokenizer.with_file_name("tokenizer_config.json");
    let bytes = match files::read_whole(&path, "read the settings of the tokenizer") {
        Ok(bytes) => bytes,
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let shown = path.shown();
    let settings = match serde_json::from_slice(&bytes) {
        Ok(settings) => Settings(settings),
        Err(error) => return Ok(vec![message!("{shown} is not read: it is no JSON: {error}")]),
    };
    let mut notices = Vec::new();
    let found = settings.differences(inner);
    if !found.is_empty() {
        notices.push(message!("{shown} is not applied; with it, AutoTokenizer of transformers gives other ids than {}: {}; for \
                 its ids, save it with AutoTokenizer.from_pretrained(FOLDER).backend_tokenizer.save('auto.json') \
                 and give {tokenizer}", tokenizer.file_name().unwrap_or_default().display(), found.join(", "); tokenizer = Name::Tokenizer.is("auto.json")));
    }
    let ends = if options.add_special_tokens { settings.ends(inner) } else { Vec::new() };
    if !ends.is_empty() {
        notices.push(message!(
            "{shown}: {}, and the post processor of {} adds other tokens; it is followed here and by version 5 \
             of transformers, and the settings by version 4",
            ends.join(", "),
            tokenizer.file_name().unwrap_or_default().display()
        ));
    }
    if settings.flag("split_special_tokens") == Some(true) && !options.split_special_tokens {
        notices.push(message!("{shown} sets split_special_tokens: AutoTokenizer of transformers takes special tokens in \
                 documents as text; for its ids, give {split_special_tokens}"; split_special_tokens = Name::SplitSpecialTokens.on()));
    }
    Ok(notices)
}

/// The settings of a tokenizer.
struct Settings(Value);

impl Settings {
    fn flag(&self, name: &str) -> Option<bool> {
        self.0[name].as_bool()
    }

    /// Returns the class without the ending that some versions add.
    fn class(&self) -> &str {
        let class = self.0["tokenizer_class"].as_str().unwrap_or_default();
        class.strip_suffix("Fast").unwrap_or(class)
    }

    fn differences(&self, inner: &GuardedTokenizer) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(wanted) = self.prefix(inner).filter(|&wanted| wanted != has_prefix(inner)) {
            found.push(format!("add_prefix_space is {wanted}"));
        }
        if BERT.contains(&self.class()) {
            found.extend(self.bert(inner));
        }
        let tokens = self.tokens(inner);
        if !tokens.is_empty() {
            let first: Vec<&str> = tokens.iter().map(String::as_str).take(SHOWN).collect();
            let more = if tokens.len() > SHOWN { ", ..." } else { "" };
            found.push(format!(
                "{} added tokens differ ({}{more})",
                tokens.len(),
                first.join(", ")
            ));
        }
        found
    }

    /// Returns whether a text gets a space before its first word; `None` if nothing decides.
    fn prefix(&self, inner: &GuardedTokenizer) -> Option<bool> {
        let given = self.flag("add_prefix_space");
        match self.class() {
            "GPT2Tokenizer" => given.or(Some(false)),
            "LlamaTokenizer" if !is_byte_level(inner) => given.or(Some(true)),
            _ => given,
        }
    }

    /// Returns the settings of BERT that differ.
    fn bert(&self, inner: &GuardedTokenizer) -> Vec<String> {
        let lower = self.flag("do_lower_case").unwrap_or(true);
        let effects = [
            ("do_lower_case", lower, normalized(inner, "A") == "a"),
            // An accent is not stripped from a composed character.
            (
                "strip_accents",
                self.flag("strip_accents").unwrap_or(lower),
                normalized(inner, "\u{e9}") == "e",
            ),
            (
                "tokenize_chinese_chars",
                self.flag("tokenize_chinese_chars").unwrap_or(true),
                normalized(inner, "\u{4e2d}").contains(' '),
            ),
        ];
        let differing = effects.iter().filter(|(_, wanted, does)| wanted != does);
        differing.map(|(name, wanted, _)| format!("{name} is {wanted}")).collect()
    }

    /// Returns the settings of the tokens around a text that differ.
    fn ends(&self, inner: &GuardedTokenizer) -> Vec<String> {
        let [bos, eos] = ["add_bos_token", "add_eos_token"].map(|name| self.flag(name));
        if bos.is_none() && eos.is_none() {
            return Vec::new();
        }
        let options = TokenizerOptions { add_special_tokens: true, ..TokenizerOptions::default() };
        let Ok(added) = specials(inner, options, None) else { return Vec::new() };
        let ends = [
            ("add_bos_token", bos, self.end(bos, "bos_token", inner) == added.specials.before),
            ("add_eos_token", eos, self.end(eos, "eos_token", inner) == added.specials.after),
        ];
        let differing = ends.iter().filter(|(_, _, same)| !same);
        differing.map(|(name, wanted, _)| format!("{name} is {}", wanted == &Some(true))).collect()
    }

    /// Returns the ids of a token that the settings want.
    fn end(&self, wanted: Option<bool>, name: &str, inner: &GuardedTokenizer) -> Vec<u32> {
        let token = content(&self.0[name]).filter(|_| wanted == Some(true));
        token.and_then(|token| inner.token_to_id(token)).into_iter().collect()
    }

    /// Returns the texts that are added tokens there and not in `tokenizer.json`, or are added in
    /// another way.
    fn tokens(&self, inner: &GuardedTokenizer) -> Vec<String> {
        let known = inner.get_added_tokens_decoder();
        let mut found = Vec::new();
        for token in
            self.0["added_tokens_decoder"].as_object().into_iter().flat_map(|all| all.values())
        {
            let Some(text) = content(token) else { continue };
            let known = known.values().find(|token| token.content == text);
            let same = known.is_some_and(|own| {
                flag_of("lstrip", false, token) == own.lstrip
                    && flag_of("rstrip", false, token) == own.rstrip
                    && flag_of("single_word", false, token) == own.single_word
                    && flag_of("normalized", own.normalized, token) == own.normalized
            });
            if !same {
                add_shown(&mut found, text);
            }
        }
        let lists = ["additional_special_tokens", "extra_special_tokens"];
        let listed = lists.iter().filter_map(|name| self.0[name].as_array()).flatten();
        let named = NAMED.iter().map(|name| &self.0[name]);
        for text in named.chain(listed).filter_map(content) {
            if known.values().all(|token| token.content != text) {
                add_shown(&mut found, text);
            }
        }
        found
    }
}

/// Adds a text in quotes, once.
fn add_shown(found: &mut Vec<String>, text: &str) {
    let shown = format!("'{text}'");
    if !found.contains(&shown) {
        found.push(shown);
    }
}

fn flag_of(name: &str, usual: bool, token: &Value) -> bool {
    token[name].as_bool().unwrap_or(usual)
}

/// Returns the text of a token: a string, or an object with `content`.
fn content(token: &Value) -> Option<&str> {
    token.as_str().or_else(|| token["content"].as_str())
}

fn normalized(inner: &GuardedTokenizer, text: &str) -> String {
    let mut normalized = NormalizedString::from(text);
    if let Some(normalizer) = inner.get_normalizer() {
        // What cannot be normalized stays as it is, and then differs from what a setting requests.
        let _ = normalizer.normalize(&mut normalized);
    }
    normalized.get().into()
}

/// Returns true if a word at the beginning of a text gets a space.
fn has_prefix(inner: &GuardedTokenizer) -> bool {
    first_word(inner).starts_with([' ', '\u{2581}', '\u{120}'])
}

/// Returns the first piece of the text `a` before the model sees it.
fn first_word(inner: &GuardedTokenizer) -> String {
    let mut pieces = PreTokenizedString::from(normalized(inner, "a"));
    if let Some(pre_tokenizer) = inner.get_pre_tokenizer() {
        let _ = pre_tokenizer.pre_tokenize(&mut pieces); // as in `normalized`
    }
    let splits = pieces.get_splits(OffsetReferential::Original, OffsetType::Byte);
    splits.first().map_or_else(String::new, |(text, _, _)| (*text).to_string())
}

/// Returns true if the model sees bytes as separate characters, as that of GPT-2 does.
fn is_byte_level(inner: &GuardedTokenizer) -> bool {
    let mut pieces = PreTokenizedString::from("\n");
    let Some(pre_tokenizer) = inner.get_pre_tokenizer() else { return false };
    let _ = pre_tokenizer.pre_tokenize(&mut pieces); // as in `normalized`
    let splits = pieces.get_splits(OffsetReferential::Original, OffsetType::Byte);
    splits.iter().any(|(text, _, _)| text.contains('\u{10a}'))
}
