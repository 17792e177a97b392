//! Shares of splits: ranges of the hashes of keys. Pure.

use rayon::prelude::*;
use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;

use crate::plan::naming::is_name_char;

/// The whole of the shares: they have up to nine decimals.
const WHOLE: u64 = 1_000_000_000;
/// Limit on the number of splits.
pub(super) const MOST: usize = 200;

/// Parses `train=0.9,val=0.1` to names with the end of each share.
pub(super) fn parse_shares(text: &str) -> Result<Vec<(String, u64)>, Failure> {
    let mut shares: Vec<(String, u64)> = Vec::new();
    let mut end: u64 = 0;
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let pair = item.split_once('=').and_then(|(name, share)| Some((name, billionths(share)?)));
        let Some((name, share)) = pair else {
            return Err(refused(
                message!("'{item}' is no share; give {split}"; split = Name::Split.is("train=0.9,val=0.1")),
                text,
            ));
        };
        check_name(name).map_err(|why| refused(why.into(), text))?;
        if shares.iter().any(|(other, _)| other == name) {
            return Err(refused(message!("'{name}' is given twice"), text));
        }
        end = end.saturating_add(share);
        shares.push((name.into(), end));
    }
    if shares.len() > MOST {
        return Err(refused(message!("more than {MOST} splits"), text));
    }
    if end != WHOLE {
        let sum = end as f64 / WHOLE as f64;
        return Err(refused(message!("the shares sum to {sum}; they must sum to 1"), text));
    }
    Ok(shares)
}

fn refused(why: Message, text: &str) -> Failure {
    Failure::usage(message!("{split}: {why}"; why = why, split = Name::Split.is(text.to_string())))
}

/// Parses a decimal number from 0 to 1, without 0, as billionths.
fn billionths(text: &str) -> Option<u64> {
    let (whole, decimals) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let mut digits = whole.bytes().chain(decimals.bytes());
    if !digits.all(|b| b.is_ascii_digit())
        || decimals.len() > 9
        || (whole.len() + decimals.len()) == 0
    {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let rest: u64 = format!("{decimals:0<9}").parse().ok()?;
    whole.checked_mul(WHOLE)?.checked_add(rest).filter(|n| (1..=WHOLE).contains(n))
}

pub(super) fn check_name(name: &str) -> Result<(), String> {
    if !name.is_empty() && name.len() <= 64 && name.chars().all(is_name_char) {
        return Ok(());
    }
    let shown = name::shown(name.as_bytes());
    Err(format!("'{shown}' can't be the name of a split: up to 64 letters, digits, '-' and '_'"))
}

/// Returns the place of a key among all hashes: samples of the first share have the lowest.
///
/// It depends on the key alone (blake3, keyed), so a sample stays in its split while others are added.
pub(super) fn split_place(key: &[u8]) -> u64 {
    let hash = blake3::keyed_hash(b"tarflume split 1                ", key);
    let mut place = [0; 8];
    place.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(place)
}

/// Returns the number of the share that contains `part / whole`.
pub(super) fn share_at(shares: &[(String, u64)], part: u128, whole: u128) -> u8 {
    shares
        .iter()
        .take_while(|(_, end)| part * u128::from(WHOLE) >= u128::from(*end) * whole)
        .count()
        .min(shares.len() - 1) as u8 // at most MOST
}

pub(super) fn names(shares: &[(String, u64)]) -> Vec<String> {
    shares.iter().map(|(name, _)| name.clone()).collect()
}

/// Divides each class: sample r of n, in the order of hashes, is at (r + 1/2) / n of the shares.
pub(super) fn stratified(shares: &[(String, u64)], found: &[(u32, u64)]) -> Vec<u8> {
    let mut order: Vec<u32> = (0..found.len() as u32).collect();
    order.par_sort_unstable_by_key(|&n| (found[n as usize], n));
    let mut of = vec![0; found.len()];
    for class in order.chunk_by(|&a, &b| found[a as usize].0 == found[b as usize].0) {
        for (rank, &n) in class.iter().enumerate() {
            of[n as usize] = share_at(shares, 2 * rank as u128 + 1, 2 * class.len() as u128);
        }
    }
    of
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(text: &str) -> Vec<(String, u64)> {
        parse_shares(text).unwrap()
    }

    #[test]
    fn shares_are_exact_decimals_that_sum_to_one() {
        let parsed = shares("train=0.9,val=.05,test=0.05");
        let ends: Vec<u64> = parsed.iter().map(|(_, end)| *end).collect();
        assert_eq!(ends, [900_000_000, 950_000_000, 1_000_000_000]);
        assert_eq!(shares("all=1").len(), 1);
        let thirds = "a=0.333333333,b=0.333333333,c=0.333333334";
        assert_eq!(shares(thirds).len(), 3);
        for (bad, why) in [
            ("train=0.9", "sum to 0.9"),
            ("train=0.9,val=0.2", "sum to 1.1"),
            ("train=1,val=0", "no share"),
            ("train=-1,val=2", "no share"),
            ("train=0.5,train=0.5", "twice"),
            ("train", "no share"),
            ("a b=1", "can't be the name"),
            ("", "sum to 0"),
            ("a=1e0", "no share"),
            ("a=.", "no share"),
        ] {
            assert!(parse_shares(bad).unwrap_err().text().contains(why), "{bad}");
        }
    }

    #[test]
    fn hashes_divide_by_shares_and_never_depend_on_other_samples() {
        let parsed = shares("train=0.9,val=0.1");
        let split = |n: u32| {
            let place = split_place(format!("cat/{n}").as_bytes());
            share_at(&parsed, place.into(), 1 << 64)
        };
        let val = (0..20_000).filter(|&n| split(n) == 1).count();
        assert!((1850..2150).contains(&val), "{val}");
        assert_eq!(share_at(&parsed, u64::MAX.into(), 1 << 64), 1);
        assert_eq!(share_at(&parsed, 0, 1 << 64), 0);
        // The hash is part of the format: a data set that grows must find the same splits.
        assert_eq!(split_place(b"cat/001"), 6_382_157_615_426_484_626);
    }

    #[test]
    fn each_class_is_divided_by_the_shares() {
        let parsed = shares("train=0.8,val=0.2");
        let found: Vec<(u32, u64)> =
            (0..130u32).map(|n| (u32::from(n >= 100), split_place(&n.to_le_bytes()))).collect();
        let of = stratified(&parsed, &found);
        assert_eq!(of[..100].iter().filter(|&&split| split == 1).count(), 20);
        assert_eq!(of[100..].iter().filter(|&&split| split == 1).count(), 6);
        assert_eq!(stratified(&parsed, &[(0, 5)]), [0]);
        // The samples of a share are those with the lowest hashes.
        let last_train = (0..100).filter(|&n| of[n] == 0).map(|n| found[n].1).max();
        let first_val = (0..100).filter(|&n| of[n] == 1).map(|n| found[n].1).min();
        assert!(last_train < first_val);
    }
}
