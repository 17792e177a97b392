//! Output: both streams, the progress display, and the files of reports.

pub(super) mod out;
pub(super) mod progress;
pub(super) mod report_files;
