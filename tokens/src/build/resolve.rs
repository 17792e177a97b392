//! `Resolved`: what a request means once the ids are known: special tokens, the type of ids, and the
//! digest of everything that the samples depend on.

use tarflume_base::{Failure, units};

use super::feed::Feed;
use super::options::{Input, Request, Special};
use super::report::Report;
use crate::encoding::prompt;
use crate::packing::Packing;
use crate::sample::{Layout, Width};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

/// The layout of samples, and the token behind documents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resolved {
    pub(super) layout: Layout,
    pub(super) eos: Option<u32>,
}

impl Resolved {
    /// Resolves special tokens, and chooses the type of ids.
    pub(super) fn of(request: &Request, feed: &Feed) -> Result<Resolved, Failure> {
        let eos = id(request, Name::Eos, request.eos.as_ref())?;
        let given = id(request, Name::Pad, request.pad.as_ref())?;
        inside(request, feed, &[(Name::Eos, eos), (Name::Pad, given)])?;
        let pad = given.or(eos).unwrap_or(0);
        let vocabulary = request.vocabulary.or_else(|| match &request.input {
            Input::Text(_, encoder) => encoder.vocabulary(),
            Input::Megatron(_) => feed.vocabulary(),
        });
        let known = vocabulary.map_or(0, |size| size.saturating_sub(1).min(u32::MAX.into()) as u32);
        // The largest id that appears; a vocabulary may be larger than what is used of it.
        let used = feed.most().max(eos.unwrap_or(0)).max(pad);
        let width = request.width.unwrap_or(Width::of(used.max(known)));
        if used > width.most() {
            let text = message!("{dtype}: the id {used} does not fit; give uint32"; dtype = Name::DType.is(width.word().to_string()));
            return Err(Failure::usage(text));
        }
        let length = (request.packing != Packing::Rows).then_some(request.length);
        let has_marks = request.has_marks();
        Ok(Resolved { layout: Layout { length, width, pad, has_marks }, eos })
    }

    /// Returns a document with the token behind it, if there is one and the document does not end with it.
    pub(super) fn ended<'a>(
        &self,
        ids: &'a [u32],
        room: &'a mut Vec<u32>,
        report: &mut Report,
    ) -> &'a [u32] {
        let Some(eos) = self.eos else { return ids };
        let last = ids.last().map(|&id| if self.layout.has_marks { prompt::id_of(id) } else { id });
        if last == Some(eos) {
            report.ended += 1;
            return ids;
        }
        room.clear();
        room.extend_from_slice(ids);
        room.push(eos);
        room
    }

    /// Returns whether an id of a document has loss, and counts those that have. The first id has none: no id
    /// predicts it.
    pub(super) fn has_loss(&self, ids: &[u32], report: &mut Report) -> bool {
        if !self.layout.has_marks {
            return true;
        }
        let count = ids.iter().skip(1).filter(|&&id| prompt::has_loss(id)).count() as u64;
        report.loss_tokens += count;
        report.without_loss += u64::from(count == 0);
        count > 0
    }

    /// Returns a digest of everything that the samples depend on.
    pub(super) fn content(&self, request: &Request, feed: &Feed) -> String {
        let mut hasher = blake3::Hasher::new();
        let Layout { width, pad, .. } = self.layout;
        let length = request.length;
        let condition = request.condition.as_ref().map(ToString::to_string);
        let settings = format!(
            "tarflume blocks 1\n{length} {} {} {} {:?} {pad}\n{condition:?}\n{} {:?} {}\n",
            width.word(),
            request.packing.word(),
            request.window,
            self.eos,
            request.shard_size,
            request.shard_samples,
            request.prefix
        );
        hasher.update(settings.as_bytes()).update(request.lengths.word().as_bytes());
        if let Some(compress) = request.compress {
            hasher.update(format!("compress {compress}\n").as_bytes());
        }
        feed.digest(&mut hasher);
        hasher.finalize().to_hex().to_string()
    }
}

/// Checks that ids are in the vocabulary; it is unknown for ids of Megatron files and of functions.
fn inside(request: &Request, feed: &Feed, given: &[(Name, Option<u32>)]) -> Result<(), Failure> {
    let own = match &request.input {
        Input::Text(_, encoder) => encoder.vocabulary(),
        Input::Megatron(_) => None,
    };
    let Some(size) = request.vocabulary.or(own) else { return Ok(()) };
    let whose = if request.vocabulary.is_some() {
        message!("{vocabulary} has"; vocabulary = Name::Vocabulary)
    } else {
        Message::words("the tokenizer has")
    };
    let has = message!("{whose} {} ids, from 0", units::count(size); whose = whose);
    for (what, id) in given {
        if let Some(id) = id.filter(|&id| u64::from(id) >= size) {
            return Err(Failure::usage(
                message!("{token}: {has}; give the token's text, or {vocabulary} if the model has more ids"; token = what.is(u64::from(id)), has = &has, vocabulary = Name::Vocabulary.stand("N")),
            ));
        }
    }
    let most = feed.most();
    if u64::from(most) >= size && most > 0 {
        return Err(Failure::usage(
            message!("the tokenizer gave the id {most}: {has}; give {vocabulary}, the number of the model's ids"; has = has, vocabulary = Name::Vocabulary.stand("N")),
        ));
    }
    Ok(())
}

/// Returns the id of a token, if one is given.
fn id(request: &Request, what: Name, special: Option<&Special>) -> Result<Option<u32>, Failure> {
    let Some(special) = special else { return Ok(None) };
    let id = match (special, &request.input) {
        (Special::Id(id), _) => Ok(*id),
        (Special::Text(text), Input::Text(_, encoder)) => encoder.token(text).ok_or_else(|| {
            Failure::usage(message!(
                "{token}: the tokenizer has no such token; give its id";
                token = what.quoted(&**text)
            ))
        }),
        (Special::Text(text), Input::Megatron(_)) => Err(Failure::usage(message!(
            "{token}: Megatron files have no texts of tokens; give the id";
            token = what.quoted(&**text)
        ))),
    };
    id.map(Some)
}
