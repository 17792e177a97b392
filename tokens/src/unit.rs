//! `Unit`: the documents that are tokenized and cached together; `Units` cuts sources into them.
//!
//! A unit ends with the document at which its text reaches a given size, and with its source. So
//! what is appended to a source, and new sources, leave all units but the last of a source as they
//! were.

use tarflume_packer::Failure;

use crate::encoder::Encode;
use crate::source::{Documents, Source};

/// Limit on the documents of a unit; keeps its memory bounded where texts are short.
const MOST: usize = 1 << 20;

/// Consecutive documents of a source.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// The number of its source.
    pub(crate) source: u32,
    /// The number of its first document in the source.
    pub(crate) first: u64,
    text: String,
    ends: Vec<usize>,
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

/// Cuts sources into units.
pub(crate) struct Units<'a> {
    sources: &'a [Source],
    size: u64,
    /// The number of the source that is read, and its documents.
    current: Option<(u32, Box<dyn Documents>)>,
    next: usize,
    /// Documents of the current source that were read.
    read: u64,
}

impl<'a> Units<'a> {
    pub(crate) fn new(sources: &'a [Source], size: u64) -> Units<'a> {
        Units { sources, size, current: None, next: 0, read: 0 }
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
            let Some((number, documents)) = &mut self.current else { continue };
            let mut unit = Unit { source: *number, first: self.read, ..Unit::default() };
            let mut over = false;
            while unit.bytes() < self.size && unit.documents() < MOST {
                if !documents.next(&mut unit.text)? {
                    over = true;
                    break;
                }
                unit.ends.push(unit.text.len());
            }
            self.read += unit.documents() as u64;
            if over {
                self.current = None;
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
    use crate::ids::Ids;

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
        fn next(&mut self, text: &mut String) -> Result<bool, Failure> {
            Ok(self.0.next().map(|document| text.push_str(&document)).is_some())
        }
    }

    fn source(documents: Vec<String>) -> Source {
        Source::new("given", move || Ok(Box::new(Given(documents.clone().into_iter()))))
    }

    fn units(sources: &[Source]) -> Vec<Unit> {
        let mut units = Units::new(sources, 100);
        std::iter::from_fn(|| units.next_unit().unwrap()).collect()
    }

    fn words(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("document number {n}")).collect()
    }

    #[test]
    fn what_is_appended_changes_the_last_unit_only() {
        let keys = |sources: &[Source]| -> Vec<Key> {
            units(sources).iter().map(|unit| unit.key(&Named(1))).collect()
        };
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
    fn keys_differ_by_text_boundary_and_encoder() {
        let unit = |documents: &[&str]| {
            units(&[source(documents.iter().map(ToString::to_string).collect())]).remove(0)
        };
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
