//! Shared by all commands: both output streams, which tolerate a closed pipe and a full disk, the
//! number of threads, a bar for bytes.
//!
//! `println!` and `eprintln!` panic in the middle of the work if a write fails. Here a failed write
//! to stdout changes the exit code at the end; a failed write to stderr changes nothing.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::Mutex;

use console::Term;
use indicatif::{ProgressBar, ProgressStyle};
use tarflume_base::{Failure, units};
use tarflume_formats::IgnorePoison;
use tarflume_formats::shown::{Screen, message};

/// Returns standard output, buffered.
pub(in crate::cli) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(64 * 1024, io::stdout().lock())
}

/// Returns standard output for people: escapes foreign text that could control the terminal.
pub(in crate::cli) fn screen() -> Screen<BufWriter<StdoutLock<'static>>> {
    Screen(stdout())
}

/// The first error of a write to standard output; a closed pipe is not an error.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Clears the error of an earlier command in this process.
pub(in crate::cli) fn begin() {
    LOST.lock().ignore_poison().take();
}

/// Prints a line of results on standard output, as [`message`] shows it.
pub(in crate::cli) fn print_result(text: fmt::Arguments<'_>) {
    keep(io::stdout().write_all(format!("{}\n", message(text)).as_bytes()));
}

/// Prints a line on stderr, as [`message`] shows it.
pub(in crate::cli) fn print_message(text: fmt::Arguments<'_>) {
    // There is no other place to report an error.
    let _ = io::stderr().write_all(format!("{}\n", message(text)).as_bytes());
}

/// Keeps the error of a write to standard output for the end of the command.
pub(in crate::cli) fn keep(result: io::Result<()>) {
    match result {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            LOST.lock().ignore_poison().get_or_insert(e);
        }
        _ => {}
    }
}

/// Flushes standard output: a host program may not do so at its end.
///
/// # Errors
/// Returns the first error of a write to standard output.
pub(in crate::cli) fn end() -> io::Result<()> {
    keep(io::stdout().flush());
    LOST.lock().ignore_poison().take().map_or(Ok(()), Err)
}

/// Converts an error of standard output; a closed pipe (`pack ls | head`) is not a failure.
pub(in crate::cli) fn printed(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::try_again(format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Writes `bytes` to standard output unchanged.
pub(in crate::cli) fn whole(bytes: &[u8]) -> io::Result<()> {
    let mut to = stdout();
    to.write_all(bytes)?;
    to.flush()
}

/// Returns true once the reader of standard output has closed it.
pub(in crate::cli) fn is_closed(result: &io::Result<()>) -> bool {
    matches!(result, Err(e) if e.kind() == io::ErrorKind::BrokenPipe)
}

/// Returns the number of threads that the machine runs at once.
pub(in crate::cli) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Parses `--jobs`.
pub(in crate::cli) fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=1024).contains(&n) => Ok(n),
        _ => Err("expected a number from 1 to 1024".into()),
    }
}

/// Prints `text` on stderr, as [`message`] shows it; on a terminal, breaks its lines between words.
pub(in crate::cli) fn print_wrapped(text: impl fmt::Display) {
    let text = fitted(&message(text).to_string(), &Term::stderr());
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes()); // as in `print_message`
}

/// Returns the text wrapped for the terminal; unchanged if there is none.
pub(in crate::cli) fn fitted(text: &str, to: &Term) -> String {
    match to.size_checked() {
        Some((_, columns)) if to.is_term() => wrapped(text, usize::from(columns)),
        _ => text.into(),
    }
}

/// Returns lines of at most `width` characters, broken at blanks; a longer word stays whole.
fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        if line.chars().count() <= width {
            out.push_str(line);
            continue;
        }
        let mut column = 0;
        for word in line.split(' ') {
            let length = word.chars().count();
            if column > 0 && column + 1 + length > width {
                out.push('\n');
                column = 0;
            } else if column > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += length;
        }
    }
    out
}

/// A progress bar of bytes and their rate, on a terminal only.
pub(in crate::cli) struct Bar(ProgressBar);

impl Bar {
    /// Creates a bar; hidden if `quiet` or if stderr is not a terminal.
    pub(in crate::cli) fn new(quiet: bool) -> Bar {
        if quiet || !io::stderr().is_terminal() {
            return Bar(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        // Cut a line that is wider than the terminal; a wrapped line could not be overwritten.
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.tick(); // it moves with the bytes: a thread for it may be one too many
        Bar(bar)
    }

    /// Adds finished bytes.
    pub(in crate::cli) fn advance(&self, bytes: u64) {
        if self.0.is_hidden() {
            return;
        }
        self.0.inc(bytes);
        let done = self.0.position();
        let seconds = self.0.elapsed().as_secs_f64().max(1e-3);
        let rate = units::bytes((done as f64 / seconds) as u64);
        self.0.set_message(format!("{}  {rate}/s  {seconds:.0} s", units::bytes(done)));
    }

    /// Removes the bar from the terminal.
    pub(in crate::cli) fn end(&self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("no word is cut", 9), "no word\nis cut");
        assert_eq!(wrapped("table   of   cells\nshort", 18), "table   of   cells\nshort");
        assert_eq!(wrapped("a /very/long/path here", 6), "a\n/very/long/path\nhere");
        for width in 1..40 {
            let text = "nothing was packed; fix the files, or leave them out";
            let all = wrapped(text, width);
            assert_eq!(all.replace('\n', " "), text, "{width}");
            assert!(all.lines().all(|line| line.len() <= width || !line.contains(' ')), "{width}");
        }
    }
}
