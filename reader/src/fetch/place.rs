//! Where a part is in the buffer of its run, and which read brings it. Arithmetic.

use crate::fetch::draw::Limits;
use crate::fetch::excerpt::PartExcerpt;
use crate::fetch::parts::{PartRef, Read, Run};

/// Assigns a part to a read of the run: a read that contains it, the last read if the gap is small, or a
/// new read; rows of an excerpt after a hole to one more. Returns true if the read is new.
pub(super) fn place(
    reads: &mut Vec<Read>,
    run: &mut Run,
    part: &mut PartRef,
    limits: Limits,
) -> bool {
    let hole = part.excerpt.filter(PartExcerpt::has_hole);
    let first = hole.map_or(part.length, |excerpt| excerpt.header);
    let new = place_bytes(reads, run, part, first);
    if let Some(excerpt) = hole {
        // The part keeps its length in the buffer, so that its bytes are where a decoder expects them.
        let start = part.at + excerpt.from;
        let length = excerpt.end - excerpt.from;
        let within = part.within + excerpt.from;
        reads.push(Read { start, length, within });
        run.bytes = run.bytes.max(within + length);
        run.reads.end = reads.len();
    }
    run.reach = match part.excerpt.map_or(0, |excerpt| excerpt.tail()) {
        0 => limits.gap,
        tail if tail <= limits.hole => tail.saturating_add(limits.gap),
        _ => 0, // a hole, which is not read
    };
    new
}

/// Assigns the first `length` bytes of a part; see [`place`].
fn place_bytes(reads: &mut Vec<Read>, run: &mut Run, part: &mut PartRef, length: u64) -> bool {
    let end = part.at + length; // no overflow: the index checked that both are within the tar
    let mine = &mut reads[run.reads.start..];
    if let Some(read) =
        mine.iter().rev().find(|read| read.start <= part.at && end <= read.start + read.length)
    {
        // Two needs may select the same part.
        part.within = read.within + (part.at - read.start);
        return false;
    }
    if let Some(last) = mine.last_mut() {
        let near = (last.start + last.length).saturating_add(run.reach);
        if last.start <= part.at && part.at <= near {
            let longer = end - last.start - last.length;
            last.length += longer;
            run.bytes += longer;
            part.within = last.within + (part.at - last.start);
            return false;
        }
    }
    part.within = run.bytes;
    reads.push(Read { start: part.at, length, within: run.bytes });
    run.bytes += length;
    run.reads.end = reads.len();
    true
}
