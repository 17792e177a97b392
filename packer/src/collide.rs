//! Repeated keys, and keys that differ only in case, among hundreds of millions in bounded memory.
//!
//! Reads no files: keys come from a source that can be iterated twice ([`Keys`]).
//!
//! 1. Keys that are strictly ascending when folded to lower case hold no clash: one pass proves it,
//!    and most data sets end here.
//! 2. Otherwise each folded key is hashed, and the hash picks one bit of a map with 16 bits a key.
//!    Keys with a bit of their own are unique: 15 of 16.
//! 3. The hashes of the rest are collected and sorted, in several passes where they are many; where
//!    two are equal the keys themselves are compared. A hash alone never convicts.
//!
//! Memory, whatever the input: two maps of at most 128 MiB, of which one is gone when at most
//! 512 MiB of hashes stand. For 8 million keys it is 2 x 16 MiB and about 8 MiB.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

use tarflume_formats::Result;

/// Bits of the largest map.
const MAP_MAX: u64 = 1 << 30;
/// Hashes that are expected to be sorted at a time.
const BATCH: u64 = 1 << 24;
/// Hashes that are sorted at a time at most, however often keys repeat.
const BATCH_MAX: usize = 1 << 25;
/// Hashes that are looked up in a row.
const SOME: usize = 1024;

/// Keys that can be gone through more than once, always in the same order.
pub(crate) trait Keys {
    /// How many there are.
    fn count(&self) -> u64;

    /// Calls `visit` with id and key of each, ids ascending, until it breaks.
    ///
    /// # Errors
    /// What makes a key unreadable.
    fn for_each(&self, visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<()>;

    /// The key with this id. Asked for keys that clash only.
    ///
    /// # Errors
    /// What makes the key unreadable.
    fn key(&self, id: u64) -> Result<Vec<u8>>;
}

/// In which way two keys clash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Clash {
    /// Byte for byte the same.
    Same,
    /// The same when folded to lower case.
    CaseOnly,
}

/// Two keys that clash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    /// The key that clashes with an earlier one.
    pub later: u64,
    /// The earliest key with which it clashes; one that is the same comes before case twins.
    pub first: u64,
    /// How.
    pub clash: Clash,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// One pair for each key that clashes with an earlier one, ordered by `later`.
    pub pairs: Vec<Pair>,
    /// False if so many keys clash (tens of millions) that some may have been left out.
    pub complete: bool,
}

/// Finds every key that is the same as an earlier one, or differs from it only in case.
///
/// # Errors
/// What makes a key unreadable.
pub(crate) fn find<K: Keys + ?Sized>(keys: &K) -> Result<Found> {
    find_in_batches(keys, MAP_MAX, BATCH, BATCH_MAX)
}

fn find_in_batches<K: Keys + ?Sized>(
    keys: &K,
    map_max: u64,
    batch: u64,
    batch_max: usize,
) -> Result<Found> {
    let mut found = Found { pairs: Vec::new(), complete: true };
    if ascending(keys)? {
        return Ok(found);
    }
    let shared = shared_bits(keys, map_max)?;
    let passes = shared.expected(keys.count()).div_ceil(batch).max(1);
    for pass in 0..passes {
        let mut hashes: Vec<(u64, u64)> = Vec::new();
        each_hash(keys, |some| {
            // The low bits select the bit of the map, the high bits the pass.
            let mine = |hash| passes == 1 || pass_of(hash, passes) == pass;
            hashes.extend(some.iter().filter(|(hash, _)| shared.has(*hash) && mine(*hash)));
            found.complete &= hashes.len() <= batch_max;
            if found.complete { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        hashes.sort_unstable();
        for group in hashes.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            confirm(keys, group, &mut found.pairs)?;
        }
        if !found.complete {
            break;
        }
    }
    found.pairs.sort_unstable();
    Ok(found)
}

/// True if every key, folded, is greater than the one before: then none can clash.
fn ascending<K: Keys + ?Sized>(keys: &K) -> Result<bool> {
    let mut before: Vec<u8> = Vec::new();
    let mut first = true;
    let mut ascending = true;
    keys.for_each(&mut |_, key| {
        let folded = fold(key);
        ascending = first || *before < *folded;
        if !ascending {
            return ControlFlow::Break(());
        }
        first = false;
        before.clear();
        before.extend_from_slice(&folded);
        ControlFlow::Continue(())
    })?;
    Ok(ascending)
}

/// The pairs in one group of equal hashes, which are in the order of their ids.
fn confirm<K: Keys + ?Sized>(keys: &K, group: &[(u64, u64)], out: &mut Vec<Pair>) -> Result<()> {
    let mut exact: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut folded: HashMap<Vec<u8>, u64> = HashMap::new();
    for &(_, later) in group {
        let key = keys.key(later)?;
        if let Some(&first) = exact.get(&key) {
            out.push(Pair { later, first, clash: Clash::Same });
            continue;
        }
        let first = *folded.entry(fold(&key).into_owned()).or_insert(later);
        if first != later {
            out.push(Pair { later, first, clash: Clash::CaseOnly });
        }
        exact.insert(key, later);
    }
    Ok(())
}

/// One bit for each value of the low bits of a hash.
struct Bits(Vec<u64>);

impl Bits {
    fn new(bits: u64) -> Bits {
        Bits(vec![0; (bits / 64) as usize])
    }

    fn place(&self, hash: u64) -> (usize, u64) {
        (hash as usize >> 6 & (self.0.len() - 1), 1 << (hash & 63))
    }

    fn has(&self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        self.0[word] & bit != 0
    }

    /// Sets the bit; true if it was set before.
    fn set(&mut self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        let before = self.0[word] & bit != 0;
        self.0[word] |= bit;
        before
    }

    /// How many of `keys` keys are expected to stand on a bit that is set here.
    fn expected(&self, keys: u64) -> u64 {
        // A shared bit holds two keys where the map is sparse; where it is crowded the average
        // tells more.
        let set: u64 = self.0.iter().map(|w| u64::from(w.count_ones())).sum();
        let bits = self.0.len() as u64 * 64;
        set.saturating_mul(2 + keys / bits).min(keys)
    }
}

/// The bits that more than one key stands on.
fn shared_bits<K: Keys + ?Sized>(keys: &K, map_max: u64) -> Result<Bits> {
    let bits = keys.count().saturating_mul(16).clamp(64, map_max).next_power_of_two();
    let (mut seen, mut shared) = (Bits::new(bits), Bits::new(bits));
    each_hash(keys, |some| {
        for &(hash, _) in some {
            if seen.set(hash) {
                shared.set(hash);
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(shared)
}

/// Calls `visit` with hashes and ids, some at a time: looking them up in a map is a wait for memory,
/// and a short loop does its waiting all at once.
fn each_hash<K: Keys + ?Sized>(
    keys: &K,
    mut visit: impl FnMut(&[(u64, u64)]) -> ControlFlow<()>,
) -> Result<()> {
    let mut some = Vec::with_capacity(SOME);
    let mut go_on = ControlFlow::Continue(());
    keys.for_each(&mut |id, key| {
        some.push((hash(key), id));
        if some.len() == SOME {
            go_on = visit(&some);
            some.clear();
        }
        go_on
    })?;
    if go_on.is_continue() {
        let _ = visit(&some);
    }
    Ok(())
}

fn pass_of(hash: u64, passes: u64) -> u64 {
    ((u128::from(hash) * u128::from(passes)) >> 64) as u64
}

/// A key as case-insensitive file systems compare it, nearly: ASCII in lower case, and other letters
/// by Unicode's simple rule where the key is UTF-8.
pub(crate) fn fold(key: &[u8]) -> Cow<'_, [u8]> {
    if key.is_ascii() {
        if !key.iter().any(u8::is_ascii_uppercase) {
            return Cow::Borrowed(key);
        }
        return Cow::Owned(key.to_ascii_lowercase());
    }
    match std::str::from_utf8(key) {
        // Letter by letter: `str::to_lowercase` looks at a sigma's neighbors.
        Ok(text) => {
            let lower: String = text.chars().flat_map(char::to_lowercase).collect();
            Cow::Owned(lower.into_bytes())
        }
        Err(_) => Cow::Owned(key.to_ascii_lowercase()),
    }
}

/// 64 bits of the folded key: eight bytes at a time, each multiplied into the state and both halves
/// of the product added (the step of wyhash). Not for use against an opponent: equal hashes cost
/// time here, never a wrong answer.
fn hash(key: &[u8]) -> u64 {
    if key.is_ascii() { hash_folded(key, lower_eight) } else { hash_folded(&fold(key), |w| w) }
}

#[inline]
fn hash_folded(key: &[u8], lower: impl Fn(u64) -> u64) -> u64 {
    const A: u64 = 0xa076_1d64_78bd_642f;
    const B: u64 = 0xe703_7ed1_a0b4_28db;
    let mut state = B ^ key.len() as u64;
    let (eights, rest) = key.as_chunks::<8>();
    for eight in eights {
        state = mix(state ^ lower(u64::from_le_bytes(*eight)), A);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(mix(state ^ lower(u64::from_le_bytes(last)), A), B)
}

fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Eight ASCII bytes in lower case.
fn lower_eight(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // The high bit of each byte that is at least 'A', less those that are past 'Z'.
    let from_a = word + EACH * (0x80 - b'A' as u64);
    let past_z = word + EACH * (0x80 - b'Z' as u64 - 1);
    word | ((from_a & !past_z & (EACH * 0x80)) >> 2)
}

#[cfg(test)]
mod tests;
