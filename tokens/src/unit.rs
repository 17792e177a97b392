//! `Unit`: the documents that are tokenized and cached together; `Units` cuts sources into them.
//!
//! A unit ends with the document at which its text reaches a given size, and with its source. So
//! what is appended to a source, and new sources, leave all units but the last of a source as they
//! were.

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use crate::encoding::encoder::Encode;
use crate::source::{DocumentFault, DocumentSource, Documents, Next};

/// Limit on the documents of a unit; keeps its memory bounded where texts are short.
const MOST: usize = 1 << 20;

/// Consecutive documents of a source.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// The number of its source.
    pub(crate) source: u32,
    /// The number of its first document in the source.
    pub(crate) first: u64,
    /// The documents that cannot be read, by their number in the unit. They have no text.
    pub(crate) bad: Vec<u64>,
    text: String,
    ends: Vec<usize>,
}

/// A document that cannot be read and is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadDocument {
    pub(crate) source: u32,
    pub(crate) number: u64,
    pub(crate) reason: Message,
}

/// The name of a unit's ids in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) [u8; 32]);

impl Unit {
    pub(crate) fn documents(&self) -> usize {
        self.ends.len()
    }

    /// Returns the bytes of all texts.
    pub(crate) fn bytes(&self) -> u64 {
        self.text.len() as u64
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.text[begin..end])
    }

    /// Returns the key: it depends on texts, their boundaries and the encoder, and not on the
    /// place of the unit.
    pub(crate) fn key(&self, encoder: &dyn Encode) -> Key {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"tarflume tokens 1\0").update(&encoder.fingerprint());
        hasher.update(&(self.ends.len() as u64).to_le_bytes());
        for &end in &self.ends {
            hasher.update(&(end as u64).to_le_bytes());
        }
        hasher.update(self.text.as_bytes());
        Key(*hasher.finalize().as_bytes())
    }
}

/// Returns the failure for one bad document too many.
pub(crate) fn over_budget(reason: Message, found: u64, budget: u64) -> Failure {
    Failure::bad_data(match budget {
        0 => {
            message!("{reason}; {bad_budget} leaves out up to N documents such as this one"; reason = reason, bad_budget = Name::BadBudget.stand("N"))
        }
        budget => {
            message!("{reason}; {found} documents cannot be read, and {bad_budget} is {budget}"; reason = reason, bad_budget = Name::BadBudget)
        }
    })
}

/// Cuts sources into units.
pub(crate) struct Units<'a> {
    sources: &'a [DocumentSource],
    size: u64,
    /// The number of the source that is read, and its documents.
    current: Option<(u32, Box<dyn Documents>)>,
    next: usize,
    /// Documents of the current source that were read.
    read: u64,
    /// How many documents may be bad.
    budget: u64,
    bad: Vec<BadDocument>,
}

impl<'a> Units<'a> {
    /// Cuts into units of about `size` bytes. After more than `budget` bad documents, reading fails.
    pub(crate) fn new(sources: &'a [DocumentSource], size: u64, budget: u64) -> Units<'a> {
        Units { sources, size, current: None, next: 0, read: 0, budget, bad: Vec::new() }
    }

    /// Returns the bad documents so far.
    pub(crate) fn bad(self) -> Vec<BadDocument> {
        self.bad
    }

    /// Leaves a bad document out.
    fn leave_out(&mut self, unit: &Unit, fault: DocumentFault) -> Result<(), Failure> {
        let DocumentFault { place, reason } = fault;
        let found = self.bad.len() as u64 + 1;
        if found > self.budget {
            return Err(over_budget(reason, found, self.budget).with_place(place));
        }
        let number = unit.first + unit.documents() as u64;
        self.bad.push(BadDocument { source: unit.source, number, reason });
        Ok(())
    }

    /// Returns the next unit; `None` at the end.
    ///
    /// # Errors
    /// Returns the errors of the sources.
    pub(crate) fn next_unit(&mut self) -> Result<Option<Unit>, Failure> {
        loop {
            if self.current.is_none() {
                let Some(source) = self.sources.get(self.next) else { return Ok(None) };
                let number = u32::try_from(self.next)
                    .map_err(|_| Failure::usage("more than 4,294,967,295 sources"))?;
                self.current = Some((number, source.open()?));
                self.next += 1;
                self.read = 0;
            }
            let Some((number, mut documents)) = self.current.take() else { continue };
            let mut unit = Unit { source: number, first: self.read, ..Unit::default() };
            let mut over = false;
            while unit.bytes() < self.size && unit.documents() < MOST {
                let before = unit.text.len();
                match documents.next(&mut unit.text)? {
                    Next::Text => {}
                    Next::Bad(fault) => {
                        unit.text.truncate(before);
                        self.leave_out(&unit, fault)?;
                        unit.bad.push(unit.documents() as u64);
                    }
                    Next::End => {
                        over = true;
                        break;
                    }
                }
                unit.ends.push(unit.text.len());
            }
            self.read += unit.documents() as u64;
            if !over {
                self.current = Some((number, documents));
            }
            if unit.documents() > 0 {
                return Ok(Some(unit));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::ids::Ids;

    struct Named(u8);

    impl Encode for Named {
        fn fingerprint(&self) -> [u8; 32] {
            [self.0; 32]
        }

        fn encode(&self, texts: &[&str], into: &mut Ids) -> Result<(), Failure> {
            texts.iter().for_each(|text| into.push(text.bytes().map(u32::from)));
            Ok(())
        }
    }

    /// Documents from memory.
    struct Given(std::vec::IntoIter<String>);

    impl Documents for Given {
        fn next(&mut self, text: &mut String) -> Result<Next, Failure> {
            Ok(match self.0.next() {
                Some(document) if document.starts_with("bad") => {
                    text.push_str(&document);
                    Next::Bad(DocumentFault {
                        place: tarflume_formats::Place::default(),
                        reason: document.into(),
                    })
                }
                Some(document) => {
                    text.push_str(&document);
                    Next::Text
                }
                None => Next::End,
            })
        }
    }

    fn source(documents: Vec<String>) -> DocumentSource {
        DocumentSource::new("given", move || Ok(Box::new(Given(documents.clone().into_iter()))))
    }

    fn units(sources: &[DocumentSource]) -> Vec<Unit> {
        let mut units = Units::new(sources, 100, 0);
        std::iter::from_fn(|| units.next_unit().unwrap()).collect()
    }

    fn words(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("document number {n}")).collect()
    }

    #[test]
    fn what_is_appended_changes_the_last_unit_only() {
        fn keys(sources: &[DocumentSource]) -> Vec<Key> {
            units(sources).iter().map(|unit| unit.key(&Named(1))).collect()
        }

        let before = keys(&[source(words(1000)), source(words(10))]);
        let after = keys(&[source(words(1010)), source(words(10)), source(words(3))]);
        let lost = before.iter().filter(|key| !after.contains(key)).count();
        assert!(lost <= 1, "{lost} of {} units changed", before.len());
        assert!(before.len() > 150, "{}", before.len());
    }

    #[test]
    fn units_have_all_documents_in_order_with_their_numbers() {
        let sources = [source(words(57)), source(Vec::new()), source(vec![String::new(); 3])];
        let found = units(&sources);
        let texts: Vec<&str> = found.iter().flat_map(Unit::texts).collect();
        assert_eq!(texts[..57], words(57).iter().map(String::as_str).collect::<Vec<_>>()[..]);
        assert_eq!(texts[57..], ["", "", ""]);
        let mut first = 0;
        for unit in found.iter().filter(|unit| unit.source == 0) {
            assert_eq!(unit.first, first);
            first += unit.documents() as u64;
        }
        assert_eq!((first, found.last().unwrap().source), (57, 2));
    }

    #[test]
    fn bad_documents_keep_their_number_until_the_budget_is_spent() {
        let documents = ["one", "bad 1", "two", "bad 2", "three"].map(String::from).to_vec();
        let sources = [source(documents)];
        let mut all = Units::new(&sources, 6, 2);
        let found: Vec<Unit> = std::iter::from_fn(|| all.next_unit().unwrap()).collect();
        let texts: Vec<&str> = found.iter().flat_map(Unit::texts).collect();
        assert_eq!(texts, ["one", "", "two", "", "three"]);
        assert_eq!(found.iter().map(|unit| unit.bad.len()).sum::<usize>(), 2);
        let bad: Vec<(u64, String)> =
            all.bad().into_iter().map(|b| (b.number, b.reason.text())).collect();
        assert_eq!(bad, [(1, "bad 1".into()), (3, "bad 2".into())]);
        let mut fewer = Units::new(&sources, 100, 1);
        let error = fewer.next_unit().unwrap_err().text();
        assert!(
            error.contains("bad 2; 2 documents cannot be read, and --bad-budget is 1"),
            "{error}"
        );
        let mut none = Units::new(&sources, 100, 0);
        let error = none.next_unit().unwrap_err().text();
        assert!(error.contains("bad 1; --bad-budget N leaves out"), "{error}");
    }

    #[test]
    fn keys_differ_by_text_boundary_and_encoder() {
        fn unit(documents: &[&str]) -> Unit {
            units(&[source(documents.iter().map(ToString::to_string).collect())]).remove(0)
        }

        let one = unit(&["ab", "c"]).key(&Named(1));
        assert_eq!(one, unit(&["ab", "c"]).key(&Named(1)));
        for other in [
            unit(&["a", "bc"]).key(&Named(1)),
            unit(&["ab", "d"]).key(&Named(1)),
            unit(&["ab", "c", ""]).key(&Named(1)),
            unit(&["ab", "c"]).key(&Named(2)),
        ] {
            assert_ne!(one, other);
        }
    }
}
