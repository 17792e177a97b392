//! What the looking commands share: standard output that survives a closed pipe, the number of
//! threads, a bar for bytes.

use std::io::{self, BufWriter, IsTerminal, StdoutLock};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use tarflume_formats::shown::Screen;

use crate::failure::Failure;

/// Standard output, buffered.
pub(super) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(64 * 1024, io::stdout().lock())
}

/// Standard output for people: what others wrote can't steer their terminal.
pub(super) fn screen() -> Screen<BufWriter<StdoutLock<'static>>> {
    Screen(stdout())
}

/// A reader who has seen enough (`pack ls | head`) is no failure.
pub(super) fn printed(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::try_again(format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// True once nobody reads standard output any more.
pub(super) fn is_closed(result: &io::Result<()>) -> bool {
    matches!(result, Err(e) if e.kind() == io::ErrorKind::BrokenPipe)
}

/// How many threads the machine runs at once.
pub(super) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Reads `--jobs`.
pub(super) fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=1024).contains(&n) => Ok(n),
        _ => Err("a number from 1 to 1024 is needed".into()),
    }
}

/// A bar that shows bytes and their rate, on a terminal only.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// A bar, hidden if nobody wants to see it.
    pub(super) fn new(quiet: bool) -> Bar {
        if quiet || !io::stderr().is_terminal() {
            return Bar(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {bytes} {bytes_per_sec} {elapsed}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Bar(bar)
    }

    /// So many more bytes are done.
    pub(super) fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    /// Takes the bar off the terminal.
    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}
