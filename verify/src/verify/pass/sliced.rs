//! A pass over some runs of samples of a tar: headers, checksums, contents, padding, and the end if a run has it.
//!
//! The digest of a tar is that of all its bytes, so it is not compared here. Of padding, and of nothing else, no checksum
//! is known: packing writes zeros. Where padding is not zeros, the digest of the whole tar decides.

use std::path::Path;

use tarflume_base::{ProblemKind, Problems};
use tarflume_formats::tar::{Member, MemberKind};
use tarflume_formats::{Index, Reading, Result, TarReader, name};

use super::opening::Opened;
use super::{Pass, Passed, WHOLE};
use crate::scope::Budget;
use crate::scope::coverage::Covered;
use crate::scope::runs::Run;
use crate::verify::options::Options;

/// What is known of the padding of the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Padding {
    /// It is zeros.
    Zeros,
    /// There is another byte here, the first one.
    Other(u64),
}

/// The result of a pass over runs.
#[derive(Debug)]
pub(crate) struct PassedRuns {
    /// What was found.
    pub passed: Passed,
    /// What was read.
    pub covered: Covered,
    /// The first byte of padding that is not zero.
    pub padding: Option<u64>,
}

/// Reads runs of samples of the tar at `tar`, whose sidecar is `index`. Begins no run after the time of the options.
///
/// # Errors
/// Returns an error if the operating system refuses to open the tar, the sidecar is damaged, or the machine failed.
pub(crate) fn over(
    tar: &Path,
    index: &Index,
    runs: &[Run],
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<PassedRuns> {
    let reader = TarReader::open(tar, Reading::Headers)?;
    let opened =
        Opened { tar, reader, packed: None, sidecar: Some(index), problems: Problems::default() };
    let mut pass = Pass::begin(opened, WHOLE, options, on_bytes)?;
    pass.padding = Some(Padding::Zeros);
    let mut covered = Covered::default();
    for run in runs {
        if options.scope.budget.as_ref().is_some_and(Budget::is_over) {
            covered.ended_early = true;
            break;
        }
        if options.stop.requested() || !pass.run(run)? {
            break;
        }
        covered.bytes += run.until - run.from;
        covered.samples += run.rows.end - run.rows.start;
    }
    let padding = match pass.padding {
        Some(Padding::Other(byte)) => Some(byte),
        _ => None,
    };
    pass.reported = pass.reader.length();
    Ok(PassedRuns { passed: pass.finish(true)?, covered, padding })
}

impl Pass<'_> {
    /// Visits the members of a run. Returns false if the sidecar turns out to be that of another tar.
    fn run(&mut self, run: &Run) -> Result<bool> {
        if let Some(cursor) = &mut self.cursor {
            cursor.seek(run.rows.start)?;
        }
        self.reader.resume_at(run.from);
        self.reported = run.from;
        self.until = if run.has_end { u64::MAX } else { run.until };
        let ended = match self.walk() {
            Ok(ended) => ended,
            Err(error) => {
                self.report(error)?;
                false
            }
        };
        self.report_progress(run.until);
        let Some(cursor) = self.cursor.as_ref().filter(|cursor| !cursor.is_other_tar()) else {
            return Ok(false);
        };
        if let Some(next) = cursor.next().filter(|next| ended && next.row < run.rows.end) {
            let text = format!(
                "the sidecar lists part '{}' here, and the samples before it reach over this place",
                name::shown(next.part.ext)
            );
            self.push(ProblemKind::BadHeader, next.part.offset, next.key, text);
        }
        Ok(true)
    }

    /// Looks for a byte other than zero behind the data of a file, in passes that do not hash the tar.
    pub(super) fn look_at_padding(&mut self, member: &Member) -> Result<()> {
        if self.padding != Some(Padding::Zeros) || member.kind != MemberKind::File {
            return Ok(());
        }
        let from = member.data + member.size;
        let behind = Member { data: from, size: member.end() - from, ..member.clone() };
        let data = self.reader.data(&behind)?;
        if let Some(at) = data.iter().position(|&byte| byte != 0) {
            self.padding = Some(Padding::Other(from + at as u64));
        }
        Ok(())
    }
}
