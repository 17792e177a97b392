//! Units of text to ids in the cache, in threads. One thread reads; each of the others holds one
//! unit.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use tarflume_base::{Exit, Failure};
use tarflume_formats::IgnorePoison;
use tarflume_formats::message;

use super::options::Request;
use super::report::Counter;
use crate::cache::Cache;
use crate::encoding::encoder::Encode;
use crate::encoding::ids::Ids;
use crate::encoding::prompt;
use crate::source::DocumentSource;
use crate::unit::{BadDocument, Key, Unit, Units, over_budget};

/// Documents that are tokenized between two looks at the stop.
const BATCH_DOCUMENTS: usize = 1024;
/// Bytes of text that are tokenized between two looks at the stop.
const BATCH_BYTES: usize = 1 << 20;

/// A unit whose ids are in the cache.
#[derive(Debug, Clone)]
pub(super) struct Tokenized {
    pub(super) source: u32,
    pub(super) first: u64,
    pub(super) documents: u64,
    pub(super) most: u32,
    pub(super) bytes: u64,
    /// Whether its ids were in the cache before.
    pub(super) reused: bool,
    pub(super) key: Key,
    /// The documents that cannot be read, by their number in the unit, in order.
    pub(super) bad: Vec<u64>,
}

/// All units, and the documents that are left out because they cannot be read.
pub(super) struct All {
    pub(super) units: Vec<Tokenized>,
    pub(super) bad: Vec<BadDocument>,
}

/// A unit with its number in the order of units.
struct NumberedUnit {
    number: usize,
    unit: Unit,
}

struct Shared<'a> {
    encoder: &'a dyn Encode,
    cache: &'a Cache,
    request: &'a Request,
    counter: &'a Counter,
    sources: &'a [DocumentSource],
    done: Mutex<Done>,
}

#[derive(Default)]
struct Done {
    units: Vec<Option<Tokenized>>,
    /// The first failure in the order of units.
    failure: Option<(usize, Failure)>,
    bad: Vec<BadDocument>,
    /// The documents that the tokenizer refuses.
    refused: Vec<BadDocument>,
}

/// Makes sure that the ids of all units are in the cache; returns the units in order.
pub(super) fn tokenize(
    request: &Request,
    sources: &[DocumentSource],
    encoder: &dyn Encode,
    cache: &Cache,
    counter: &Counter,
) -> Result<All, Failure> {
    Failure::check_threads(request.jobs.max(1))?;
    let shared = Shared { encoder, cache, request, counter, sources, done: Mutex::default() };
    // No room in the channel: a unit waits in the reader until a thread takes it.
    let (sender, receiver) = sync_channel::<NumberedUnit>(0);
    let receiver = Arc::new(Mutex::new(receiver));
    thread::scope(|scope| {
        let shared = &shared;
        for _ in 0..request.jobs.max(1) {
            let receiver = receiver.clone();
            let started = thread::Builder::new().name("tarflume-tokens".into());
            if let Err(error) = started.spawn_scoped(scope, move || shared.work(&receiver)) {
                shared.fail(0, Failure::no_thread(&error));
                break;
            }
        }
        // The threads alone hold the receiver: if all of them panic, sending fails.
        drop(receiver);
        shared.read(sender);
    });
    let done = shared.done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, failure)) = done.failure {
        return Err(failure);
    }
    let mut bad = done.bad;
    bad.extend(done.refused);
    bad.sort_by_key(|document| (document.source, document.number));
    let found = bad.len() as u64;
    if found > request.bad_budget {
        let last = bad.swap_remove(request.bad_budget as usize);
        return Err(over_budget(last.reason, found, request.bad_budget));
    }
    Ok(All { units: done.units.into_iter().flatten().collect(), bad })
}

impl Shared<'_> {
    fn fail(&self, number: usize, failure: Failure) {
        let mut done = self.done.lock().ignore_poison();
        if done.failure.as_ref().is_none_or(|(first, _)| number < *first) {
            done.failure = Some((number, failure));
        }
    }

    fn is_over(&self) -> bool {
        self.done.lock().ignore_poison().failure.is_some()
    }

    /// Reads units and sends them until the end or a failure. The threads end with the sender.
    fn read(&self, sender: SyncSender<NumberedUnit>) {
        let mut units = Units::new(self.sources, self.request.unit, self.request.bad_budget);
        for number in 0.. {
            if self.request.stop.requested() {
                return self.fail(number, Failure::interrupted());
            }
            if self.is_over() {
                return;
            }
            match units.next_unit() {
                Ok(Some(unit)) => {
                    Counter::add(&self.counter.text, unit.bytes());
                    if sender.send(NumberedUnit { number, unit }).is_err() {
                        return;
                    }
                }
                Ok(None) => {
                    self.done.lock().ignore_poison().bad = units.bad();
                    return;
                }
                Err(failure) => return self.fail(number, failure),
            }
        }
    }

    /// Takes units until there are no more. After a failure, units are dropped.
    fn work(&self, receiver: &Mutex<Receiver<NumberedUnit>>) {
        loop {
            let next = receiver.lock().ignore_poison().recv();
            let Ok(NumberedUnit { number, unit }) = next else { return };
            if self.is_over() {
                continue;
            }
            match self.unit(&unit) {
                Ok(tokenized) => {
                    let mut done = self.done.lock().ignore_poison();
                    if done.units.len() <= number {
                        done.units.resize(number + 1, None);
                    }
                    done.units[number] = Some(tokenized);
                }
                Err(failure) => self.fail(number, failure),
            }
        }
    }

    fn unit(&self, unit: &Unit) -> Result<Tokenized, Failure> {
        let key = unit.key(self.encoder);
        let cached = self.cache.load(&key)?.filter(|ids| ids.documents() == unit.documents());
        let reused = cached.is_some();
        let ids = match cached {
            Some(ids) => {
                Counter::add(&self.counter.reused, unit.bytes());
                ids
            }
            None => {
                let ids = self.encode(unit).map_err(|failure| self.placed(unit, failure))?;
                self.cache.store(&key, &ids)?;
                ids
            }
        };
        let bad = self.bad(unit, &ids)?;
        Counter::add(&self.counter.tokens, ids.tokens());
        Ok(Tokenized {
            source: unit.source,
            first: unit.first,
            documents: ids.documents() as u64,
            most: self.most(&ids),
            bytes: unit.bytes(),
            reused,
            key,
            bad,
        })
    }

    /// Returns the largest id.
    fn most(&self, ids: &Ids) -> u32 {
        if self.request.has_marks() {
            ids.iter().flatten().map(|&id| prompt::id_of(id)).max().unwrap_or(0)
        } else {
            ids.most()
        }
    }

    /// Returns the documents of a unit that are left out: those that cannot be read, and those that the tokenizer
    /// refuses.
    fn bad(&self, unit: &Unit, ids: &Ids) -> Result<Vec<u64>, Failure> {
        let mut bad = unit.bad.clone();
        for (number, (text, ids)) in (0..).zip(unit.texts().zip(ids.iter())) {
            if !ids.is_empty() || unit.bad.binary_search(&number).is_ok() {
                continue;
            }
            let Some(reason) = self.encoder.fault(text) else { continue };
            let name = self.sources.get(unit.source as usize).map_or("", DocumentSource::name);
            let number_in_source = unit.first + number;
            let reason = message!("{name}: document {number_in_source}: {reason}"; reason = reason);
            self.refuse(BadDocument { source: unit.source, number: number_in_source, reason })?;
            bad.push(number);
        }
        bad.sort_unstable();
        Ok(bad)
    }

    /// Notes a document that the tokenizer refuses.
    fn refuse(&self, document: BadDocument) -> Result<(), Failure> {
        let budget = self.request.bad_budget;
        let mut done = self.done.lock().ignore_poison();
        let found = done.refused.len() as u64 + 1;
        if found > budget {
            return Err(over_budget(document.reason, found, budget));
        }
        done.refused.push(document);
        Ok(())
    }

    /// Adds to a failure of the tokenizer which documents it has got.
    fn placed(&self, unit: &Unit, failure: Failure) -> Failure {
        if failure.exit() != Exit::BadData {
            return failure;
        }
        let name = self.sources.get(unit.source as usize).map_or("", DocumentSource::name);
        let last = unit.first + (unit.documents() as u64).saturating_sub(1);
        failure.after(message!("{name}, documents {} to {last}: ", unit.first))
    }

    fn encode(&self, unit: &Unit) -> Result<Ids, Failure> {
        let mut ids = Ids::default();
        let mut batch: Vec<&str> = Vec::new();
        let mut bytes = 0;
        for text in unit.texts() {
            batch.push(text);
            bytes += text.len();
            if batch.len() >= BATCH_DOCUMENTS || bytes >= BATCH_BYTES {
                self.send(&batch, &mut ids)?;
                batch.clear();
                bytes = 0;
            }
        }
        if !batch.is_empty() {
            self.send(&batch, &mut ids)?;
        }
        Ok(ids)
    }

    /// Appends the ids of some texts.
    fn send(&self, batch: &[&str], ids: &mut Ids) -> Result<(), Failure> {
        if self.request.stop.requested() {
            return Err(Failure::interrupted());
        }
        let sent = ids.documents() + batch.len();
        self.encoder.encode(batch, ids)?;
        if ids.documents() != sent {
            let text =
                format!("the tokenizer returned {} lists of ids for {sent} texts", ids.documents());
            return Err(Failure::usage(text));
        }
        Ok(())
    }
}
