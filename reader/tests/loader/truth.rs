//! Checks the result of an epoch against what the harness wrote.

use tarflume::{Batch, Loader, Result};

use super::harness::{bin, key};

/// Asks that every row holds what its ordinal says.
pub fn is_true(batch: &Batch) {
    let bytes = batch.column("bin").unwrap();
    let texts = batch.column("txt").unwrap();
    assert_eq!(batch.len(), batch.ordinals().count());
    for (row, ordinal) in batch.ordinals().enumerate() {
        assert_eq!(batch.key(row), key(ordinal).as_bytes());
        assert_eq!(texts.row(row), ordinal.to_string().as_bytes());
        assert!(bytes.row(row) == bin(ordinal), "the bytes of {ordinal}");
    }
}

/// The ordinals of every batch of an epoch; checks the content of each row.
pub fn batches(loader: &Loader, epoch: u64) -> Result<Vec<Vec<u64>>> {
    loader
        .epoch(epoch)
        .map(|batch| {
            let batch = batch?;
            is_true(&batch);
            Ok(batch.ordinals().collect())
        })
        .collect()
}
