//! What is read of a sample beside the parts that columns need, to be compared with its sidecar: the headers of parts, and
//! the parts that typed columns of the sidecar were made from. Reads nothing.

use tarflume_dataset::Shard;
use tarflume_dataset::proof::ExpectedHeader;

use crate::fetch::draw::RowDraw;
use crate::fetch::part_needs::PartNeeds;
use crate::fetch::parts::PartRef;
use crate::fetch::plan::ReadPlan;

impl ReadPlan {
    /// Appends what must be compared of the sample in `found`, whose parts begin at number `start`. Returns true if the
    /// tar of the shard may be newer than its sidecar, and something of the sample was not compared yet. Of a store, parts
    /// are compared by the loader's verification alone, and only copied values are added.
    pub(super) fn add_proofs(
        &mut self,
        shard: &Shard,
        draw: RowDraw,
        wanted: &PartNeeds,
        start: usize,
    ) -> bool {
        let ReadPlan { found: sample, parts, .. } = self;
        let picked = wanted.verifies_copies(draw);
        let mut has_suspect_copy = false;
        for &ext in wanted.copied() {
            let copied = sample.parts().find(|part| part.ext == wanted.ext(ext).as_bytes());
            let Some(part) = copied else { continue };
            let is_there =
                parts[start..].iter().any(|read| read.ext.is_some() && read.number == part.number);
            let must_compare = shard.must_compare(part.number);
            has_suspect_copy |= must_compare;
            if !is_there && (picked || must_compare) {
                parts.push(PartRef::to_compare(ext, &part));
            }
        }
        let end = parts.len();
        if shard.is_remote() {
            return has_suspect_copy;
        }
        for n in start..end {
            let PartRef { ext, number, .. } = parts[n];
            let Some(ext) = ext.filter(|_| shard.must_compare(number)) else { continue };
            if let Some(part) = sample.parts().find(|part| part.number == number) {
                parts.push(PartRef::header_of(ext, &part, ExpectedHeader::of(&part, sample)));
            }
        }
        parts.len() > end
    }
}
