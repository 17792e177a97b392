//! Compares a part's bytes with what the sidecar states about them: checksum, entry points, strips, typed columns.

use tarflume_base::ProblemKind;
use tarflume_base::check::is_jpeg;
use tarflume_formats::Result;
use tarflume_formats::index::Part;
use tarflume_formats::tar::Member;
use tarflume_shards::cursor::Listed;
use tarflume_shards::kinds;

use super::{Pass, WHOLE};
use crate::verify::contents::points::{PointFault, misfit, wrong_strips};

impl<'a> Pass<'a> {
    /// Compares a part, whose checksum is `found`, with the sidecar; returns its entry points if they fit.
    pub(super) fn compare(
        &mut self,
        part: &Part<'a>,
        member: &Member,
        key: &[u8],
        found: u32,
    ) -> Result<Option<&'a [u8]>> {
        if part.checksum.is_some() {
            self.parts.compared(part.ext);
        }
        if let Some(expected) = part.checksum.filter(|&expected| expected != found) {
            let text = kinds::differs(part.ext, found, expected);
            self.push(ProblemKind::Checksum, part.offset, key, &text);
            return Ok(None); // of other bytes, nothing else is to be expected
        }
        let Some(cursor) = &self.cursor else { return Ok(None) };
        let points = cursor.entry_points(part)?;
        let strips = cursor.strips(part)?;
        let why = match points {
            None => None,
            // The content decides: pictures of the web often have the extension of another format.
            Some(points) if self.is_jpeg(member)? => misfit(points, part.length, Some(found)),
            Some(_) => Some("a part that is not a JPEG has entry points".into()),
        };
        if let Some(why) = why {
            self.wrong(PointFault::points(part.offset, key, &why));
            return Ok(None);
        }
        if let Some(strips) = strips.filter(|_| member.size <= WHOLE)
            && let Some(why) = wrong_strips(self.reader.data(member)?, points, strips)
        {
            self.wrong(PointFault::points(part.offset, key, why));
        }
        Ok(points)
    }

    /// Returns true if a part begins as a JPEG does, or is too long to be looked at.
    fn is_jpeg(&mut self, member: &Member) -> Result<bool> {
        Ok(member.size > WHOLE || is_jpeg(self.reader.data(member)?))
    }

    /// Compares the values in the newest part with the typed columns of the sidecar.
    pub(super) fn compare_values(
        &mut self,
        member: &Member,
        listed: &Listed<'_>,
        ext: &[u8],
    ) -> Result<()> {
        let Some(values) = self.values.as_mut().filter(|values| values.are_in(ext)) else {
            return Ok(());
        };
        if member.size > WHOLE {
            return Ok(());
        }
        for why in values.faults(listed.row, ext, self.reader.data(member)?)? {
            self.push(ProblemKind::StaleIndex, member.data, listed.key, &why);
        }
        Ok(())
    }
}
