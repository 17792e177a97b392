//! The natural order of samples: numbers in their paths are compared as numbers.

use tarflume_scan::Scan;
use tarflume_scan::names::natural::natural;

/// Returns the keys of all samples in the natural order of their paths.
pub(in crate::join) fn keys(scan: &Scan) -> Vec<Vec<u8>> {
    let mut named: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    scan.samples.visit(|_, sample| {
        named.push((sample.source.clone(), sample.key.clone()));
        true
    });
    named.sort_by(|(one, _), (other, _)| natural(one, other));
    named.into_iter().map(|(_, key)| key).collect()
}
