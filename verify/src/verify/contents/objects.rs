//! `Objects`: checks the objects of each sample against its picture, its masks and the class table of the manifest.
//!
//! The parts of a sample arrive one by one, in any order; a sample is checked when the next one begins.

use tarflume_base::ProblemKind;
use tarflume_base::check::objects::{self, ObjectFacts, is_mask};
use tarflume_base::check::{Content, ImageSize};
use tarflume_formats::json::{JsonRules, Value, parse};
use tarflume_formats::{ClassTable, ObjectTable, name};

/// The part with the objects.
const EXT: &[u8] = b"json";

/// A fault of a sample's objects.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::verify) struct PlacedFault {
    pub(in crate::verify) kind: ProblemKind,
    /// Byte of the tar at which the JSON begins.
    pub(in crate::verify) byte: u64,
    pub(in crate::verify) key: Vec<u8>,
    pub(in crate::verify) reason: String,
}

/// What is known of the sample whose parts arrive.
#[derive(Debug, Default)]
struct Open {
    key: Vec<u8>,
    /// The JSON and the byte of the tar at which it begins.
    json: Option<(Value, u64)>,
    size: Option<ImageSize>,
    masks: Vec<(String, ImageSize)>,
}

/// The objects of a shard's samples.
#[derive(Debug)]
pub(in crate::verify) struct Objects<'a> {
    table: Option<&'a ObjectTable>,
    classes: Option<&'a ClassTable>,
    rules: JsonRules,
    open: Open,
    /// Objects of the samples that were checked.
    pub(in crate::verify) objects: u64,
}

impl<'a> Objects<'a> {
    /// Begins a shard of a data set with these tables.
    pub(in crate::verify) fn new(
        table: Option<&'a ObjectTable>,
        classes: Option<&'a ClassTable>,
        rules: JsonRules,
    ) -> Objects<'a> {
        Objects { table, classes, rules, open: Open::default(), objects: 0 }
    }

    /// Returns true if parts with this extension are looked at.
    pub(in crate::verify) fn are_in(&self, ext: &[u8]) -> bool {
        ext == EXT || is_picture(ext)
    }

    /// Takes a part whose data begin at `byte`. Returns the faults of the sample before, if this one is another.
    pub(in crate::verify) fn take(
        &mut self,
        key: &[u8],
        ext: &[u8],
        part: &[u8],
        byte: u64,
    ) -> Vec<PlacedFault> {
        let mut faults = if self.open.key == key { Vec::new() } else { self.settle() };
        if self.open.key != key {
            self.open.key = key.to_vec();
        }
        if ext == EXT {
            match parse(part, self.rules) {
                Ok(json) => self.open.json = Some((json, byte)),
                Err(why) => faults.push(PlacedFault {
                    kind: ProblemKind::BadJson,
                    byte,
                    key: key.to_vec(),
                    reason: why.to_string(),
                }),
            }
        } else if let Some(size) = Content::of(ext).dimensions(part) {
            if is_mask(ext) {
                self.open.masks.push((name::shown(ext), size));
            } else {
                self.open.size.get_or_insert(size);
            }
        }
        faults
    }

    /// Checks the last sample.
    pub(in crate::verify) fn settle(&mut self) -> Vec<PlacedFault> {
        let Open { key, json, size, masks } = std::mem::take(&mut self.open);
        let Some((json, byte)) = json else { return Vec::new() };
        let facts = ObjectFacts { table: self.table, classes: self.classes, size, masks: &masks };
        let checked = objects::check(&json, facts);
        self.objects += checked.objects;
        let faults = checked.faults.into_iter();
        faults
            .map(|fault| PlacedFault {
                kind: fault.kind,
                byte,
                key: key.clone(),
                reason: fault.reason,
            })
            .collect()
    }
}

fn is_picture(ext: &[u8]) -> bool {
    matches!(Content::of(ext), Content::Jpeg | Content::Image)
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::flat_jpeg;
    use tarflume_formats::BoxForm;

    use super::*;

    #[test]
    fn a_json_that_is_none_is_a_fault_of_its_sample() {
        let mut objects = Objects::new(None, None, JsonRules::Strict);
        let faults = objects.take(b"a", b"json", b"{", 512);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!((faults[0].kind, faults[0].byte), (ProblemKind::BadJson, 512));
        assert_eq!(faults[0].key, b"a");
        assert_eq!(objects.settle(), []);
    }

    #[test]
    fn a_sample_is_checked_when_the_next_one_begins() {
        let jpeg = flat_jpeg(b"a");
        let size = Content::Jpeg.dimensions(&jpeg).unwrap();
        let table = ObjectTable::of(BoxForm::Sized, false, None);
        let mut objects = Objects::new(Some(&table), None, JsonRules::Strict);
        let wide = format!(r#"{{"boxes":[[0,0,{},1]]}}"#, size.width + 9);
        assert!(objects.are_in(b"json") && objects.are_in(b"mask.png") && !objects.are_in(b"txt"));
        // The JSON is before the picture.
        assert!(objects.take(b"a", b"json", wide.as_bytes(), 512).is_empty());
        assert!(objects.take(b"a", b"jpg", &jpeg, 1536).is_empty());
        let found = objects.take(b"b", b"json", b"{\"boxes\":[]}", 4096);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].kind, found[0].byte, found[0].key.as_slice()),
            (ProblemKind::BoxOutside, 512, &b"a"[..])
        );
        assert!(objects.settle().is_empty());
        assert_eq!(objects.objects, 1);
        // A mask of another size.
        objects.take(b"c", b"jpg", &jpeg, 0);
        objects.take(b"c", b"json", b"{}", 0);
        objects.take(
            b"c",
            b"mask.jpg",
            &tarflume_fixtures::Photo::new(9, 8, tarflume_fixtures::PhotoKind::Gray)
                .encode(1)
                .unwrap(),
            0,
        );
        assert_eq!(objects.settle()[0].kind, ProblemKind::SizeMismatch);
    }
}
