//! The parts of a batch that cross the link. A row that begins with a header has room for the longest picture; what is
//! behind its own picture stays on the host, and so does a JPEG, which the device's decoder reads there.
//!
//! Pure: computes offsets.

use std::ops::Range;

use tarflume_image::row_header::{PixelSource, RowHeader};

use crate::device::driver::CopySpan;

/// Unused bytes that are copied rather than left out: another call costs about as much as they do. An estimate, from
/// 55 GB/s and 1 us.
const GAP: usize = 64 << 10;
/// The most bytes from row to row of a copy (`CU_DEVICE_ATTRIBUTE_MAX_PITCH` of all devices).
const MOST_PITCH: usize = i32::MAX as usize;

/// A column of rows that begin with a header.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderRows {
    /// Offset of the first row.
    pub(super) at: usize,
    /// Bytes from row to row.
    pub(super) stride: usize,
    /// Rows that there is room for.
    pub(super) capacity: usize,
    /// Channels of the pictures.
    pub(super) channels: usize,
}

/// The parts of `fixed`, the fixed columns of a batch of `rows` rows, that the device reads. `columns` are in order.
pub(super) fn used(fixed: &[u8], rows: usize, columns: &[HeaderRows]) -> Vec<CopySpan> {
    let mut spans = Vec::new();
    let mut lines = Vec::new();
    let mut end = 0;
    for column in columns {
        add(&mut lines, end..column.at);
        end = column.at + column.capacity * column.stride;
        let lengths: Vec<usize> = (0..rows).map(|row| column.length(fixed, row)).collect();
        // One call for all headers, if some rows are no more.
        let headers = lengths.iter().any(|&length| column.stride - length > GAP)
            && lengths.contains(&RowHeader::BYTES)
            && column.stride <= MOST_PITCH;
        if headers {
            let width = RowHeader::BYTES;
            spans.push(CopySpan { at: column.at, width, pitch: column.stride, rows });
        }
        for (row, length) in lengths.into_iter().enumerate() {
            if length > RowHeader::BYTES || !headers {
                let at = column.at + row * column.stride;
                add(&mut lines, at..at + length);
            }
        }
    }
    add(&mut lines, end..fixed.len());
    lines.into_iter().for_each(|line| fold(&mut spans, line));
    spans
}

/// Adds a copy of bytes, or a row to the last one, if the bytes are as many and as far behind the row before.
fn fold(spans: &mut Vec<CopySpan>, line: Range<usize>) {
    if let Some(last) = spans.last_mut()
        && last.width == line.len()
        && let Some(pitch) = line.start.checked_sub(last.at + (last.rows - 1) * last.pitch)
        && (last.width..=MOST_PITCH).contains(&pitch)
        && (last.rows == 1 || last.pitch == pitch)
    {
        last.pitch = if last.rows == 1 { line.start - last.at } else { pitch };
        last.rows += 1;
        return;
    }
    spans.push(CopySpan::line(line));
}

/// Adds bytes behind the last ones, or joins them if little is between.
fn add(lines: &mut Vec<Range<usize>>, bytes: Range<usize>) {
    if bytes.is_empty() {
        return;
    }
    match lines.last_mut() {
        Some(last) if bytes.start - last.end <= GAP => last.end = bytes.end,
        _ => lines.push(bytes),
    }
}

impl HeaderRows {
    /// Bytes of a row that the device reads.
    fn length(&self, fixed: &[u8], row: usize) -> usize {
        let head =
            fixed.get(self.at + row * self.stride..).and_then(|row| row.get(..RowHeader::BYTES));
        let Some(head) = head.map(bytemuck::pod_read_unaligned::<RowHeader>) else { return 0 };
        if head.from() != PixelSource::Row {
            return RowHeader::BYTES;
        }
        let picture = head.picture().and_then(|p| p.format.bytes(p.size, self.channels).ok());
        picture.map_or(self.stride, |bytes| self.stride.min(RowHeader::BYTES + bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tarflume_image::row_header::{Format, RowPicture};
    use tarflume_image::{Cut, ImageSize};

    use super::*;

    const STRIDE: usize = 160 << 10;

    /// A row, and how many of its bytes the device reads.
    fn row(kind: u8, side: u32) -> (RowHeader, usize) {
        let size = ImageSize::new(side, side);
        let area = Cut::whole(size).into();
        let picture = RowPicture { format: Format::Pixels, size, area, flip: false };
        let pixels = side as usize * side as usize * 3;
        match kind {
            0 => (RowHeader::nothing(), RowHeader::BYTES),
            1 => (RowHeader::store(picture, 3, 9, 1 << 20).unwrap(), RowHeader::BYTES),
            _ => (RowHeader::row(picture, 3, STRIDE - 64).unwrap(), RowHeader::BYTES + pixels),
        }
    }

    /// A batch of two columns of such rows, with room for one more, behind 100 bytes and before 300.
    fn batch(rows: &[(u8, u32)]) -> (Vec<u8>, [HeaderRows; 2], Vec<bool>) {
        let capacity = rows.len() + 1;
        let columns = [100, 100 + capacity * STRIDE + 64].map(|at| HeaderRows {
            at,
            stride: STRIDE,
            capacity,
            channels: 3,
        });
        let all = columns[1].at + capacity * STRIDE + 300;
        let mut fixed = vec![0; all];
        let mut needed = vec![true; all];
        for column in columns {
            needed[column.at + rows.len() * STRIDE..][..STRIDE].fill(false);
            for (n, &(kind, side)) in rows.iter().enumerate() {
                let at = column.at + n * STRIDE;
                let (head, used) = row(kind, side);
                fixed[at..at + 64].copy_from_slice(bytemuck::bytes_of(&head));
                needed[at + used..at + STRIDE].fill(false);
            }
        }
        (fixed, columns, needed)
    }

    fn copied(spans: &[CopySpan], all: usize) -> Vec<bool> {
        let mut copied = vec![false; all];
        spans.iter().flat_map(|span| span.lines()).for_each(|line| copied[line].fill(true));
        copied
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn all_that_the_device_reads_is_copied_and_hardly_more(
            rows in prop::collection::vec((0u8..4, 1u32..230), 1..6),
        ) {
            let (fixed, columns, needed) = batch(&rows);
            let spans = used(&fixed, rows.len(), &columns);
            let copied = copied(&spans, fixed.len());
            prop_assert!(needed.iter().zip(&copied).all(|(needed, copied)| *copied || !needed));
            // Between two lines at most a gap, and the headers once more.
            let more: u64 = spans.iter().map(CopySpan::bytes).sum();
            let least = needed.iter().filter(|needed| **needed).count();
            let bound = least + 2 * rows.len() * (GAP + RowHeader::BYTES) + GAP;
            prop_assert!(more as usize <= bound, "{more} of {least}");
            prop_assert!(spans.len() <= 2 * rows.len() + 3);
        }
    }

    #[test]
    fn rows_of_jpegs_cross_as_headers_in_one_call() {
        let (fixed, columns, _) = batch(&[(1, 200); 8]);
        let spans = used(&fixed, 8, &columns);
        let [first, second] =
            columns.map(|column| CopySpan { at: column.at, width: 64, pitch: STRIDE, rows: 8 });
        let ends = [CopySpan::line(0..100), CopySpan::line(columns[1].at - 64..columns[1].at)];
        let last = CopySpan::line(fixed.len() - 300..fixed.len());
        assert_eq!(spans, [first, second, ends[0], ends[1], last]);
        assert_eq!(spans.iter().map(CopySpan::bytes).sum::<u64>(), 2 * 8 * 64 + 100 + 64 + 300);
    }

    #[test]
    fn rows_of_equal_pictures_are_one_call() {
        let (fixed, columns, _) = batch(&[(2, 100); 5]);
        let spans = used(&fixed, 5, &columns[..1]);
        let width = 64 + 30_000;
        let rows = CopySpan { at: 100 + STRIDE, width, pitch: STRIDE, rows: 4 };
        // What is before the first row crosses with it.
        let behind = CopySpan::line(100 + 6 * STRIDE..fixed.len());
        assert_eq!(spans, [CopySpan::line(0..100 + width), rows, behind]);
    }

    #[test]
    fn full_rows_and_batches_without_such_rows_are_one_call() {
        let (fixed, columns, _) = batch(&[(3, 230); 4]);
        let full = columns.map(|column| HeaderRows { capacity: 4, ..column });
        assert_eq!(used(&fixed, 4, &full), [CopySpan::line(0..fixed.len())]);
        assert_eq!(used(&fixed, 4, &[]), [CopySpan::line(0..fixed.len())]);
        assert!(used(&[], 0, &[]).is_empty());
    }
}
