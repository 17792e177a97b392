//! Advice for rows whose names no sample has: another name of samples, a folder more or less, another Unicode form.

use std::collections::{HashMap, HashSet};

use icu_normalizer::ComposingNormalizerBorrowed;
use tarflume_base::{Choice, units};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::name;
use tarflume_scan::Scan;

use crate::join::matching::Matches;
use crate::join::names::reduced::reduce;
use crate::join::options::On;

/// Folders that are removed from names, and put before them, to find out whether they match then.
const REMOVED: usize = 6;
const ADDED: usize = 3;

/// Returns advice about rows without sample; `None` if nothing is known.
pub(in crate::join) fn of(
    matches: &Matches,
    scan: &Scan,
    on: On,
    exts: &HashSet<Vec<u8>>,
) -> Option<Message> {
    if matches.names.is_empty() {
        return None;
    }
    if let Some(hint) = of_form(&matches.names, scan, on) {
        return Some(hint);
    }
    let guesses = guesses(&matches.names, scan);
    let forms = [On::Path, On::Basename, On::Stem, On::Key];
    let counts: Vec<(usize, Guess)> = forms
        .into_iter()
        .flat_map(|on| counted(&matches.names, scan, on, &guesses, exts))
        .collect();
    let most = counts.iter().map(|(found, _)| *found).max().filter(|most| *most > 0)?;
    let (found, guess) = counts.into_iter().find(|(found, _)| *found == most)?;
    Some(message!(
        "{} matches {} of {} such rows",
        guess.shown(),
        units::count(found as u64),
        units::count(matches.names.len() as u64)
    ))
}

/// How names of rows may become those of samples.
#[derive(Debug, Clone)]
enum Guess {
    /// In the form of this name.
    On(On),
    /// Without this begin.
    Remove(Vec<u8>),
    /// With this begin.
    Add(Vec<u8>),
}

impl Guess {
    /// The option that does it.
    fn shown(&self) -> String {
        match self {
            Guess::On(on) => format!("on={}", on.word()),
            Guess::Remove(prefix) => format!("remove={}", name::shown(prefix)),
            Guess::Add(prefix) => format!("add={}", name::shown(prefix)),
        }
    }

    /// Returns the name that a row has by this guess.
    fn applied(&self, name: &[u8], on: On, exts: &HashSet<Vec<u8>>) -> Option<Vec<u8>> {
        match self {
            Guess::On(_) => {
                let mut name = name.to_vec();
                reduce(&mut name, on, exts);
                Some(name)
            }
            Guess::Remove(prefix) => name.strip_prefix(prefix.as_slice()).map(<[u8]>::to_vec),
            Guess::Add(prefix) => Some([prefix, name].concat()),
        }
    }
}

/// The folders at the begin of a path, each with all before it.
fn prefixes(path: &[u8], most: usize) -> impl Iterator<Item = Vec<u8>> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    ends.take(most).map(|(at, _)| path[..=at].to_vec())
}

/// Whether most names begin with it.
fn is_usual(prefix: &[u8], names: &[Vec<u8>]) -> bool {
    names.iter().filter(|name| name.starts_with(prefix)).count() * 2 > names.len()
}

/// Returns folders of the first row that most rows have, and those of the first sample.
fn guesses(names: &[Vec<u8>], scan: &Scan) -> Vec<Guess> {
    let removed = names.first().map(|first| prefixes(first, REMOVED));
    let removed = removed.map(|prefixes| prefixes.filter(|prefix| is_usual(prefix, names)));
    let mut guesses: Vec<Guess> = removed.into_iter().flatten().map(Guess::Remove).collect();
    scan.samples.visit(|_, sample| {
        guesses.extend(prefixes(&sample.source, ADDED).map(Guess::Add));
        false
    });
    guesses
}

/// Counts the names that samples have by each guess in the form of `on`.
fn counted(
    names: &[Vec<u8>],
    scan: &Scan,
    on: On,
    folders: &[Guess],
    exts: &HashSet<Vec<u8>>,
) -> Vec<(usize, Guess)> {
    let mut counts = vec![(0, Guess::On(on))];
    if matches!(on, On::Path | On::Key) {
        counts.extend(folders.iter().map(|guess| (0, guess.clone())));
    }
    let mut wanted: HashMap<Vec<u8>, HashSet<usize>> = HashMap::new();
    for name in names {
        for (number, (_, guess)) in counts.iter().enumerate() {
            if let Some(name) = guess.applied(name, on, exts) {
                wanted.entry(name).or_default().insert(number);
            }
        }
    }
    let mut space = Vec::new();
    scan.samples.visit(|_, sample| {
        on.each_name(sample, &scan.exts, &mut space, &mut |name| {
            for number in wanted.remove(name).into_iter().flatten() {
                counts[number].0 += 1;
            }
        });
        !wanted.is_empty()
    });
    counts
}

/// Returns a name in Unicode's composed form; another text as it is.
fn composed(name: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(name) {
        Ok(text) if !text.is_ascii() => {
            ComposingNormalizerBorrowed::new_nfc().normalize(text).into_owned().into_bytes()
        }
        _ => name.to_vec(),
    }
}

/// Returns advice about names that differ only in their Unicode form: `é` is one character or two.
fn of_form(names: &[Vec<u8>], scan: &Scan, on: On) -> Option<Message> {
    let wanted: HashSet<Vec<u8>> = names.iter().map(|name| composed(name)).collect();
    let mut found: HashSet<Vec<u8>> = HashSet::new();
    let mut space = Vec::new();
    scan.samples.visit(|_, sample| {
        on.each_name(sample, &scan.exts, &mut space, &mut |name| {
            let name = composed(name);
            if wanted.contains(&name) {
                found.insert(name);
            }
        });
        found.len() < wanted.len()
    });
    if found.is_empty() {
        return None;
    }
    Some(message!(
        "{} of {} such rows have a sample whose name differs only in its Unicode form: 'é' is one character in \
         NFC and two in NFD; rename the files with `convmv -r -f utf8 -t utf8 --nfc --notest SRC`, and \
         write the table in NFC",
        units::count(found.len() as u64),
        units::count(wanted.len() as u64)
    ))
}
