//! `Census`: how many special tokens the texts of documents contain.

use tarflume_base::units;
use tarflume_formats::message;
use tarflume_formats::message::Name;

use super::options::Input;
use super::report::Report;
use crate::encoding::encoder::Specials;

/// Counts special tokens in documents.
pub(super) struct Census {
    specials: Specials,
    /// Whether each id up to the largest special one is special.
    special: Vec<bool>,
    /// The first special token in a text.
    first: Option<u32>,
    in_text: u64,
    documents: u64,
    doubled: u64,
}

impl Census {
    pub(super) fn of(input: &Input) -> Census {
        let specials = match input {
            Input::Text(_, encoder) => encoder.specials(),
            Input::Megatron(_) => Specials::default(),
        };
        let last = specials.texts.last_key_value().map(|(&id, _)| id as usize + 1);
        let mut special = vec![false; last.unwrap_or(0)];
        for &id in specials.texts.keys() {
            special[id as usize] = true;
        }
        Census { specials, special, first: None, in_text: 0, documents: 0, doubled: 0 }
    }

    /// Counts the special tokens of a document beside those that the tokenizer adds.
    pub(super) fn count(&mut self, ids: &[u32]) {
        let Specials { before, after, .. } = &self.specials;
        let ids = ids.strip_prefix(&before[..]).unwrap_or(ids);
        let ids = ids.strip_suffix(&after[..]).unwrap_or(ids);
        if is_twice(before.last(), ids.first()) || is_twice(after.first(), ids.last()) {
            self.doubled += 1;
        }
        let found = ids.iter().filter(|&&id| self.is_special(id)).count() as u64;
        if found > 0 {
            self.first = self.first.or_else(|| ids.iter().copied().find(|&id| self.is_special(id)));
            self.in_text += found;
            self.documents += 1;
        }
    }

    fn is_special(&self, id: u32) -> bool {
        self.special.get(id as usize) == Some(&true)
    }

    /// Adds the counts to the report.
    pub(super) fn tell(self, report: &mut Report) {
        report.special_in_text = self.in_text;
        report.doubled = self.doubled;
        if let Some(id) = self.first {
            let tokens = units::counted(self.in_text, "special token is", "special tokens are");
            let documents = units::counted(self.documents, "document", "documents");
            let text = self.specials.texts.get(&id).map_or("", String::as_str);
            report.notices.push(message!("{tokens} in the text of {documents}, the first is '{text}' (id {id}); {split_special_tokens} \
                     takes them as text"; split_special_tokens = Name::SplitSpecialTokens.on()));
        }
        if self.doubled > 0 {
            let documents = units::counted(self.doubled, "document", "documents");
            report.notices.push(message!("{documents} begin or end with a special token twice: the text has one, and {special_tokens} \
                     adds one"; special_tokens = Name::SpecialTokens.on()));
        }
        if report.ended > 0 {
            let documents = units::counted(report.ended, "document", "documents");
            report.notices.push(message!("{documents} already ended with the token of {eos}, and got no second one"; eos = Name::Eos));
        }
    }
}

/// Returns true if a token that the tokenizer adds is in the text, too.
fn is_twice(added: Option<&u32>, own: Option<&u32>) -> bool {
    added.is_some() && added == own
}
