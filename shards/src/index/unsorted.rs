//! Finds keys that come back after another sample: a tar with unsorted members has incomplete
//! samples.

use std::collections::HashSet;
use std::path::Path;

use tarflume_base::units;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Task};
use tarflume_formats::{Index, Result, name};

/// The keys that come back, and the first of them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Returned {
    /// Samples with other parts than an earlier one of their key.
    halves: u64,
    /// Samples that repeat parts of an earlier one of their key.
    repeated: u64,
    /// The key that first comes back in the tar, with the first byte of both samples.
    first: Option<(Vec<u8>, u64, u64)>,
}

/// Returns one line about the keys of a shard at `tar` that come back, if there are any.
///
/// # Errors
/// Returns an error if the sidecar is damaged.
pub(super) fn warning(tar: &Path, index: &Index) -> Result<Option<Message>> {
    let found = find(index)?;
    let Some((key, before, again)) = found.first else { return Ok(None) };
    let key = name::shown(&key);
    let place = format!("the first is '{key}', at byte {before} and again at byte {again}");
    if found.halves == 0 {
        let samples = units::counted(found.repeated, "sample repeats", "samples repeat");
        return Ok(Some(message!("{samples} the key of an earlier one: {place}")));
    }
    let samples = units::counted(found.halves, "sample comes", "samples come");
    let repeated = match found.repeated {
        0 => String::new(),
        n => format!(", and {} repeat earlier parts", units::count(n)),
    };
    Ok(Some(
        message!("the tar is not sorted: {samples} back after another one{repeated}, and every reader reads \
             each piece as a separate sample; {place}; `{reshard}` joins them"; reshard = Call::of(Task::Reshard).on_path(tar).out_stand("DIR")),
    ))
}

/// Visits the keys in their order, where equal ones are adjacent.
fn find(index: &Index) -> Result<Returned> {
    let mut found = Returned::default();
    let mut run: Vec<u64> = Vec::new();
    let mut before: &[u8] = &[];
    for n in 0..index.samples() {
        let row = index.by_key(n)?;
        let key = index.key(row)?;
        if key != before {
            found.add(index, &run)?;
            run.clear();
        }
        run.push(row);
        before = key;
    }
    found.add(index, &run)?;
    index.intact()?;
    Ok(found)
}

impl Returned {
    /// Adds the samples of one key, in the order of the tar.
    fn add(&mut self, index: &Index, run: &[u64]) -> Result<()> {
        if run.len() < 2 {
            return Ok(());
        }
        let mut have = HashSet::new();
        let mut before = None;
        for &row in run {
            let Some(sample) = index.sample(row)? else { continue };
            let exts = sample.parts().map(|part| part.map(|part| part.ext));
            let exts = exts.collect::<Result<Vec<_>>>()?;
            let before = *before.get_or_insert(sample.first);
            if before != sample.first {
                if exts.iter().any(|ext| have.contains(ext)) {
                    self.repeated += 1
                } else {
                    self.halves += 1
                }
                if self.first.as_ref().is_none_or(|(_, _, again)| sample.first < *again) {
                    self.first = Some((sample.key.to_vec(), before, sample.first));
                }
            }
            have.extend(exts);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tarflume_formats::index::{IndexBuilder, TarFacts};

    use super::*;

    fn of(samples: &[(&str, &[&str])]) -> Index {
        let mut builder = IndexBuilder::new();
        let mut at = 0;
        for (key, exts) in samples {
            builder.sample(key.as_bytes(), at);
            for ext in *exts {
                builder.part(ext.as_bytes(), at + 512, 1, None).unwrap();
                at += 1024;
            }
        }
        Index::from_bytes(builder.encode(&TarFacts { length: at, digest: None }).unwrap()).unwrap()
    }

    fn told(index: &Index) -> Result<Option<String>> {
        Ok(warning(Path::new("t/a b.tar"), index)?.map(|told| told.text()))
    }

    #[test]
    fn a_sorted_tar_has_no_warning() {
        let both: &[&str] = &["jpg", "json"];
        assert_eq!(told(&of(&[("a", both), ("b", both)])).unwrap(), None);
        assert_eq!(told(&of(&[("b", both), ("a", both)])).unwrap(), None, "samples are whole");
    }

    #[test]
    fn halves_and_repeated_keys_are_counted_and_placed() {
        let halves = of(&[("a", &["jpg"]), ("b", &["jpg"]), ("b", &["txt"]), ("a", &["json"])]);
        let first = Some((b"b".to_vec(), 1024, 2048));
        assert_eq!(find(&halves).unwrap(), Returned { halves: 2, repeated: 0, first });
        let text = told(&halves).unwrap().unwrap();
        assert!(text.contains("2 samples come back") && text.contains("byte 2048"), "{text}");
        assert!(text.ends_with("`pack reshard 't/a b.tar' -o DIR` joins them"), "{text}");
        let repeated = of(&[("a", &["jpg"]), ("b", &["jpg"]), ("a", &["jpg"])]);
        let first = Some((b"a".to_vec(), 0, 2048));
        assert_eq!(find(&repeated).unwrap(), Returned { halves: 0, repeated: 1, first });
        assert!(told(&repeated).unwrap().unwrap().contains("1 sample repeats"));
    }
}
