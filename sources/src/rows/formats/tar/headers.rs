//! Lists a plain tar by its headers, and the tars in it.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::{Reading, TarReader, files};
use tarflume_scan::folders::walk::Watch;

use super::inner::InnerTar;
use super::options::TarOptions;
use super::sample::{Grouping, SOME};
use super::select::Sink;

/// The listing of one tar.
pub(super) struct Headers<'l, 'a, 'o> {
    pub(super) path: &'l Path,
    pub(super) options: TarOptions<'o>,
    pub(super) sink: &'l mut Sink<'a, 'o>,
    pub(super) watch: Watch<'l>,
    /// Members that were read.
    pub(super) members: u64,
}

impl Headers<'_, '_, '_> {
    /// Lists the tar.
    ///
    /// # Errors
    /// Returns an error for a damaged tar, and if the operating system refuses.
    pub(super) fn list(mut self) -> Result<(), Failure> {
        let mut tar = TarReader::open(self.path, Reading::Headers)?;
        tar = tar.ignore_zeros(self.options.ignore_zeros);
        let mut grouping = Grouping::new(self.options, b"");
        while let Some(member) = tar.next_member()? {
            self.count()?;
            if let Some(inner) = InnerTar::of(&member, None, self.options, self.path)? {
                if let Some(sample) = grouping.close() {
                    self.sink.push(sample)?;
                }
                self.inner(&inner)?;
            } else if let Some(sample) = grouping.take(&member) {
                self.sink.push(sample)?;
            }
        }
        self.end(grouping)?;
        self.watch.counter.add(self.members % SOME);
        self.sink.flush()
    }

    /// Lists a tar in the tar. Its bytes are those from its first one to its end.
    fn inner(&mut self, inner: &InnerTar) -> Result<(), Failure> {
        self.sink.inner.see(inner, self.path);
        let (file, _) = files::open(self.path)?;
        let mut tar = TarReader::of(Box::new(file), self.path, inner.end, Reading::Headers);
        tar = tar.ignore_zeros(self.options.ignore_zeros);
        tar.resume_at(inner.start);
        let mut grouping = Grouping::new(self.options, inner.folder());
        while let Some(member) = tar.next_member().map_err(|error| inner.fault(error))? {
            self.count()?;
            InnerTar::of(&member, Some(inner), self.options, self.path)?;
            if let Some(sample) = grouping.take(&member) {
                self.sink.push(sample)?;
            }
        }
        self.end(grouping)
    }

    /// Adds the last sample of a tar.
    fn end(&mut self, grouping: Grouping<'_>) -> Result<(), Failure> {
        let (last, skipped) = grouping.finish();
        self.sink.skip(skipped);
        last.map_or(Ok(()), |sample| self.sink.push(sample))
    }

    /// Counts a member, and ends the listing on request.
    fn count(&mut self) -> Result<(), Failure> {
        self.members += 1;
        if self.members.is_multiple_of(SOME) {
            self.watch.counter.add(SOME);
            if self.watch.stop.requested() {
                return Err(Failure::interrupted());
            }
        }
        Ok(())
    }
}
