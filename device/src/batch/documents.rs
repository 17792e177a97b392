//! `Batch::cu_seqlens`: where documents begin in a batch of packs.

use tarflume_types::{DType, Error, Result};

use super::Batch;

impl Batch {
    /// The bounds of the documents of all packs, one after the other: `cu_seqlens` of attention over sequences of different
    /// lengths, for a batch that is viewed as one row of `packs * tokens`. `column` has the number of the document of each token
    /// from 1, and 0 for padding, such as [`segment_ids`](https://docs.rs/tarflume/latest/tarflume/struct.Tokens.html) has. The
    /// padding of a pack counts as one document, so the last bound is the number of all tokens.
    ///
    /// # Errors
    /// Returns an error if the column is not `[rows, tokens]` of `int64` or `int32`.
    pub fn cu_seqlens(&self, column: &str) -> Result<Vec<i32>> {
        let found = self.column(column)?;
        let shape = found.shape();
        let width = match (found.dtype(), &shape[..]) {
            (DType::I32 | DType::I64, &[_, width]) => width,
            (dtype, _) => {
                let text = format!(
                    "column '{column}' is {dtype} {shape:?}; the numbers of documents are int64 or int32 of \
                     [rows, tokens]"
                );
                return Err(Error::usage(text));
            }
        };
        let mut bounds = vec![0];
        match found.dtype() {
            DType::I32 => add_bounds(found.elements::<i32>()?, width, &mut bounds),
            _ => add_bounds(found.elements::<i64>()?, width, &mut bounds),
        }
        Ok(bounds)
    }
}

/// Adds the end of each run of equal numbers. Runs end with their row.
fn add_bounds<T: PartialEq>(numbers: &[T], width: usize, bounds: &mut Vec<i32>) {
    for (row, numbers) in numbers.chunks(width.max(1)).enumerate() {
        let begin = row * width;
        let changes = numbers.windows(2).enumerate().filter(|(_, pair)| pair[0] != pair[1]);
        bounds.extend(changes.map(|(at, _)| (begin + at + 1) as i32));
        bounds.push((begin + numbers.len()) as i32);
    }
}

#[cfg(test)]
mod tests {
    use super::add_bounds;

    #[test]
    fn runs_end_where_numbers_change_and_with_their_row() {
        let mut bounds = vec![0];
        add_bounds(&[1, 1, 2, 2, 0, 0, 1, 1, 1, 1, 1, 1], 6, &mut bounds);
        assert_eq!(bounds, [0, 2, 4, 6, 12]);
    }
}
