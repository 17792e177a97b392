//! Finds repeated keys, and keys that differ only in case, among hundreds of millions in bounded
//! memory.
//!
//! Opens no file: keys come from a source that can be iterated more than once ([`Keys`]).
//!
//! 1. Keys that are strictly ascending when folded to lower case cannot clash: one pass proves it,
//!    and most data sets end here.
//! 2. Otherwise each folded key is hashed, and the hash selects one bit of a map with 16 bits per
//!    key. A key whose bit no other key selects is unique; that holds for 15 of 16.
//! 3. The hashes of the rest are collected and sorted, in several passes if there are many; keys
//!    with equal hashes are compared themselves. An equal hash alone is never reported.
//!
//! Memory is bounded for any input: two maps of at most 128 MiB, one of which is freed before up to
//! 512 MiB of hashes are held. For 8 million keys it is 2 x 16 MiB and about 8 MiB.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

use tarflume_formats::Result;

/// Bits of the largest map.
const MAP_MAX: u64 = 1 << 30;
/// Expected number of hashes per sort.
const BATCH: u64 = 1 << 24;
/// Limit on the hashes per sort, however often keys repeat.
const BATCH_MAX: usize = 1 << 25;
/// Number of hashes looked up in one loop.
const SOME: usize = 1024;

/// Keys that can be iterated more than once, always in the same order.
pub trait Keys {
    /// Returns the number of keys.
    fn count(&self) -> u64;

    /// Calls `visit` with id and key of each, ids ascending, until it breaks.
    ///
    /// # Errors
    /// Returns an error if a key cannot be read.
    fn for_each(&self, visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<()>;

    /// Returns the key with this id. Called only for keys that may clash.
    ///
    /// # Errors
    /// Returns an error if the key cannot be read.
    fn key(&self, id: u64) -> Result<Vec<u8>>;
}

/// How two keys clash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clash {
    /// Byte for byte the same.
    Same,
    /// The same when folded to lower case.
    CaseOnly,
}

/// Two keys that clash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The key that clashes with an earlier one.
    pub later: u64,
    /// The earliest key with which it clashes; an equal key takes precedence over one in another
    /// case.
    pub first: u64,
    /// How they clash.
    pub clash: Clash,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatedKeys {
    /// One pair for each key that clashes with an earlier one, ordered by `later`.
    pub pairs: Vec<Pair>,
    /// False if so many keys clash (tens of millions) that some may have been left out.
    pub complete: bool,
}

/// Finds every key that equals an earlier one, or differs from it only in case.
///
/// # Errors
/// Returns an error if a key cannot be read.
pub fn find<K: Keys + ?Sized>(keys: &K) -> Result<RepeatedKeys> {
    find_in_batches(keys, MAP_MAX, BATCH, BATCH_MAX)
}

fn find_in_batches<K: Keys + ?Sized>(
    keys: &K,
    map_max: u64,
    batch: u64,
    batch_max: usize,
) -> Result<RepeatedKeys> {
    let mut found = RepeatedKeys { pairs: Vec::new(), complete: true };
    if ascending(keys)? {
        return Ok(found);
    }
    // Only keys that share a bit can clash, so only their hashes are kept, in as many passes as
    // memory requires.
    let shared = shared_bits(keys, map_max)?;
    let passes = shared.expected(keys.count()).div_ceil(batch).max(1);
    for pass in 0..passes {
        let mut hashes: Vec<(u64, u64)> = Vec::new();
        each_hash(keys, |some| {
            // The low bits select the bit of the map, the high bits the pass.
            hashes.extend(some.iter().filter(|(hash, _)| {
                shared.has(*hash) && (passes == 1 || pass_of(*hash, passes) == pass)
            }));
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

/// Returns true if every folded key is greater than the one before: then none can clash.
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

/// Adds the clashing pairs of one group of equal hashes, which is in the order of ids.
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

    /// Sets the bit; returns true if it was set before.
    fn set(&mut self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        let before = self.0[word] & bit != 0;
        self.0[word] |= bit;
        before
    }

    /// Estimates how many of `keys` keys select a bit that is set here.
    fn expected(&self, keys: u64) -> u64 {
        // In a sparse map a shared bit holds two keys; in a crowded one the average is the better
        // estimate.
        let set: u64 = self.0.iter().map(|w| u64::from(w.count_ones())).sum();
        let bits = self.0.len() as u64 * 64;
        set.saturating_mul(2 + keys / bits).min(keys)
    }
}

/// Returns the bits that more than one key selects.
fn shared_bits<K: Keys + ?Sized>(keys: &K, map_max: u64) -> Result<Bits> {
    let bits = keys.count().saturating_mul(16).clamp(64, map_max).next_power_of_two();
    let mut seen = Bits::new(bits);
    let mut shared = Bits::new(bits);
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

/// Calls `visit` with hashes and ids, several at a time: a lookup in the map waits for memory, and
/// a short loop overlaps these waits.
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

/// Returns the number of the pass, of `passes`, that handles a hash. It grows with the hash.
#[inline]
pub fn pass_of(hash: u64, passes: u64) -> u64 {
    ((u128::from(hash) * u128::from(passes)) >> 64) as u64
}

/// Folds a key approximately as case-insensitive file systems do: ASCII to lower case, and other
/// letters by Unicode's simple mapping if the key is UTF-8.
pub fn fold(key: &[u8]) -> Cow<'_, [u8]> {
    if key.is_ascii() {
        if !key.iter().any(u8::is_ascii_uppercase) {
            return Cow::Borrowed(key);
        }
        return Cow::Owned(key.to_ascii_lowercase());
    }
    match std::str::from_utf8(key) {
        // Letter by letter: `str::to_lowercase` depends on a sigma's neighbors.
        Ok(text) => {
            let lower: String = text.chars().flat_map(char::to_lowercase).collect();
            Cow::Owned(lower.into_bytes())
        }
        Err(_) => Cow::Owned(key.to_ascii_lowercase()),
    }
}

/// Hashes the folded key to 64 bits: multiplies eight bytes at a time into the state and adds both
/// halves of the product (the step of wyhash). Not resistant to attack: equal hashes cost time
/// here, never a wrong result.
#[inline]
pub fn hash(key: &[u8]) -> u64 {
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

/// Hashes a key as it is. Not resistant to attack: compare keys of equal hashes.
#[inline]
pub fn exact_hash(key: &[u8]) -> u64 {
    hash_folded(key, |word| word)
}

fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Returns eight ASCII bytes in lower case.
fn lower_eight(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // The high bit of each byte that is at least 'A', less those that are past 'Z'.
    let from_a = word + EACH * (0x80 - b'A' as u64);
    let past_z = word + EACH * (0x80 - b'Z' as u64 - 1);
    word | ((from_a & !past_z & (EACH * 0x80)) >> 2)
}

#[cfg(test)]
mod tests;
