//! `Buckets`: the bucket of each sample of a data set, and the rows of a batch of each bucket.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::samples::fingerprint::Fingerprint;

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
    samples: u64,
    /// Bits of a number.
    bits: u32,
    words: Vec<u64>,
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
        let bits = usize::BITS - (rows.len() - 1).leading_zeros();
        let mut classes =
            Classes { rows, samples: 0, bits, words: Vec::new(), print: Fingerprint::of("", [""]) };
        for bucket in buckets {
            classes.push(bucket)?;
        }
        let head = [classes.rows.len() as u64, classes.samples];
        let numbers = head.iter().chain(&classes.words).map(|number| number.to_le_bytes());
        classes.print = Fingerprint::of("tarflume buckets", numbers);
        Ok(Buckets(Arc::new(classes)))
    }

    /// The number of buckets, empty ones too.
    pub fn count(&self) -> usize {
        self.0.rows.len()
    }

    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.0.samples
    }

    /// The bucket of a sample.
    ///
    /// # Panics
    /// Panics if there is no such ordinal.
    #[inline]
    pub fn bucket(&self, ordinal: u64) -> usize {
        let Classes { samples, bits, words, .. } = &*self.0;
        assert!(ordinal < *samples, "ordinal {ordinal} of {samples}");
        if *bits == 0 {
            return 0;
        }
        let place = ordinal * u64::from(*bits);
        let word = (place / 64) as usize;
        let shift = place % 64;
        let mut number = words[word] >> shift;
        if shift + u64::from(*bits) > 64 {
            number |= words[word + 1] << (64 - shift);
        }
        (number & ((1 << bits) - 1)) as usize
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

impl Classes {
    fn push(&mut self, bucket: usize) -> Result<()> {
        if bucket >= self.rows.len() {
            let ordinal = self.samples;
            let buckets = self.rows.len();
            let text = format!("sample {ordinal} is in bucket {bucket}, of {buckets} buckets");
            return Err(Error::usage(text));
        }
        let place = self.samples * u64::from(self.bits);
        let end = ((place + u64::from(self.bits)).div_ceil(64)) as usize;
        if end > self.words.len() {
            self.words.try_reserve(1).map_err(|e| {
                let text = "there is no memory for the buckets of the samples";
                Error::new(ErrorKind::Limit, text).with_source(e)
            })?;
            self.words.push(0);
        }
        if self.bits > 0 {
            let word = (place / 64) as usize;
            let shift = place % 64;
            self.words[word] |= (bucket as u64) << shift;
            if shift + u64::from(self.bits) > 64 {
                self.words[word + 1] |= (bucket as u64) >> (64 - shift);
            }
        }
        self.samples += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_buckets_keeps_its_numbers() {
        for count in [1, 2, 3, 5, 8, 31, 32, 33, 1000, MOST] {
            let numbers: Vec<usize> = (0..997).map(|n| n * 7919 % count).collect();
            let buckets = Buckets::new(vec![1; count], numbers.iter().copied()).unwrap();
            assert_eq!(buckets.samples(), 997);
            for (ordinal, &number) in numbers.iter().enumerate() {
                assert_eq!(buckets.bucket(ordinal as u64), number, "{ordinal} of {count}");
            }
            let bits = usize::BITS - (count - 1).leading_zeros();
            assert!(buckets.0.words.len() <= (997 * bits as usize).div_ceil(64));
        }
    }

    #[test]
    fn impossible_buckets_are_errors() {
        assert!(Buckets::new(Vec::new(), []).is_err());
        assert!(Buckets::new(vec![1; MOST + 1], []).is_err());
        assert!(Buckets::new(vec![4, 0], [0]).is_err());
        let error = Buckets::new(vec![4, 4], [0, 2]).unwrap_err();
        assert!(error.text().contains("sample 1 is in bucket 2"), "{error}");
    }
}
