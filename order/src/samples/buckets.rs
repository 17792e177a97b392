//! `Buckets`: the bucket of each sample of a data set, and the rows of a batch of each bucket.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::samples::fingerprint::Fingerprint;
use crate::samples::small_numbers::SmallNumbers;

/// The most buckets.
const MOST: usize = 1 << 16;

/// The bucket of each ordinal. Clones share it. Takes as many bits for each sample as the number of buckets needs: 5 with
/// 32 buckets.
///
/// ```
/// use tarflume_order::Buckets;
///
/// // Batches of 8 rows of bucket 0, of 4 rows of bucket 1.
/// let buckets = Buckets::new(vec![8, 4], [0, 1, 1, 0, 0])?;
/// assert_eq!((buckets.samples(), buckets.bucket(2), buckets.rows(1)), (5, 1, 4));
/// # Ok::<(), tarflume_order::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Buckets(Arc<Classes>);

#[derive(Debug)]
struct Classes {
    rows: Vec<u64>,
    numbers: SmallNumbers,
    print: Fingerprint,
}

impl Buckets {
    /// `rows` has the rows of a batch of each bucket, on one rank; `buckets` the bucket of each sample, in the order of
    /// ordinals.
    ///
    /// # Errors
    /// There is no bucket, or more than 65,536; a batch has no row; a sample is in a bucket that does not exist; there is no
    /// memory for the numbers.
    pub fn new(rows: Vec<u64>, buckets: impl IntoIterator<Item = usize>) -> Result<Buckets> {
        if rows.is_empty() || rows.len() > MOST {
            let text = format!("{} buckets are impossible: there are 1 to {MOST}", rows.len());
            return Err(Error::usage(text));
        }
        if let Some(bucket) = rows.iter().position(|&rows| rows == 0 || rows >= 1 << 32) {
            let given = rows[bucket];
            let text = format!("a batch of {given} rows of bucket {bucket} is impossible");
            return Err(Error::usage(text));
        }
        let count = rows.len();
        let mut numbers = SmallNumbers::up_to(count as u64 - 1);
        for bucket in buckets {
            if bucket >= count {
                let ordinal = numbers.count();
                let text = format!("sample {ordinal} is in bucket {bucket}, of {count} buckets");
                return Err(Error::usage(text));
            }
            numbers.push(bucket as u64)?;
        }
        let head = [count as u64, numbers.count()];
        let hashed = head.iter().chain(numbers.words()).map(|number| number.to_le_bytes());
        let print = Fingerprint::of("tarflume buckets", hashed);
        Ok(Buckets(Arc::new(Classes { rows, numbers, print })))
    }

    /// The number of buckets, empty ones too.
    pub fn count(&self) -> usize {
        self.0.rows.len()
    }

    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.0.numbers.count()
    }

    /// The bucket of a sample.
    ///
    /// # Panics
    /// Panics if there is no such ordinal.
    #[inline]
    pub fn bucket(&self, ordinal: u64) -> usize {
        self.0.numbers.get(ordinal) as usize
    }

    /// The rows of a batch of a bucket, on one rank.
    ///
    /// # Panics
    /// Panics if there is no such bucket.
    pub fn rows(&self, bucket: usize) -> u64 {
        self.0.rows[bucket]
    }

    /// The most rows that a batch of any bucket has.
    pub fn most_rows(&self) -> u64 {
        self.0.rows.iter().copied().max().unwrap_or(1)
    }

    /// The same buckets with batches of other rows.
    ///
    /// # Errors
    /// As [`Buckets::new`]; the number of buckets differs.
    pub fn with_rows(&self, rows: Vec<u64>) -> Result<Buckets> {
        if rows.len() != self.count() {
            let text = format!("{} numbers of rows for {} buckets", rows.len(), self.count());
            return Err(Error::usage(text));
        }
        Buckets::new(rows, (0..self.samples()).map(|ordinal| self.bucket(ordinal)))
    }

    /// What identifies the bucket of each sample. The rows of batches are not part of it.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.print
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_buckets_are_errors() {
        assert!(Buckets::new(Vec::new(), []).is_err());
        assert!(Buckets::new(vec![1; MOST + 1], []).is_err());
        assert!(Buckets::new(vec![4, 0], [0]).is_err());
        let error = Buckets::new(vec![4, 4], [0, 2]).unwrap_err();
        assert!(error.text().contains("sample 1 is in bucket 2"), "{error}");
    }
}
