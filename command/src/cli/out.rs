//! What commands share: both output streams, which survive a closed pipe and a full disk, the number of
//! threads, a bar for bytes.
//!
//! `println!` and `eprintln!` panic where they can't write, in the midst of work. What can't be written to
//! stdout changes the exit code at the end; what can't be written to stderr changes nothing.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::Mutex;

use console::Term;
use indicatif::{ProgressBar, ProgressStyle};
use tarflume_formats::poison::IgnorePoison;
use tarflume_formats::shown::{Screen, message};
use tarflume_packer::{Failure, units};

/// Standard output, buffered.
pub(super) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(64 * 1024, io::stdout().lock())
}

/// Standard output for people: what others wrote can't steer their terminal.
pub(super) fn screen() -> Screen<BufWriter<StdoutLock<'static>>> {
    Screen(stdout())
}

/// Why something that was said did not reach standard output, the first time; a closed pipe is no reason.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Forgets what an earlier command in this process could not say.
pub(super) fn begin() {
    LOST.lock().ignore_poison().take();
}

/// Prints a line of results on standard output, as [`message`] shows it.
pub(super) fn say(text: fmt::Arguments<'_>) {
    keep(io::stdout().write_all(format!("{}\n", message(text)).as_bytes()));
}

/// Prints a line on stderr, as [`message`] shows it.
pub(super) fn tell(text: fmt::Arguments<'_>) {
    // Where it can't be written there is no other place to say so.
    let _ = io::stderr().write_all(format!("{}\n", message(text)).as_bytes());
}

/// Keeps the error of a write to standard output for the end of the command.
pub(super) fn keep(result: io::Result<()>) {
    match result {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            LOST.lock().ignore_poison().get_or_insert(e);
        }
        _ => {}
    }
}

/// Writes out what is still to be written: a host program may not do so at its end.
///
/// # Errors
/// Something that was said did not reach standard output.
pub(super) fn end() -> io::Result<()> {
    keep(io::stdout().flush());
    LOST.lock().ignore_poison().take().map_or(Ok(()), Err)
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

/// Writes `bytes` to standard output as they are.
pub(super) fn whole(bytes: &[u8]) -> io::Result<()> {
    let mut to = stdout();
    to.write_all(bytes)?;
    to.flush()
}

/// True once the reader of standard output has closed it.
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

/// Prints `text` on stderr, as [`message`] shows it; on a terminal its lines are broken between words.
pub(super) fn told(text: impl fmt::Display) {
    let text = fitted(&message(text).to_string(), &Term::stderr());
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes()); // as in `tell`
}

/// The text as it fits the terminal; as it is, where there is none.
pub(super) fn fitted(text: &str, to: &Term) -> String {
    match to.size_checked() {
        Some((_, columns)) if to.is_term() => wrapped(text, usize::from(columns)),
        _ => text.into(),
    }
}

/// Lines of no more than `width` characters, broken at blanks; a word that is longer stays whole.
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

/// A bar that shows bytes and their rate, on a terminal only.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// A bar; hidden if `quiet` or if stderr is no terminal.
    pub(super) fn new(quiet: bool) -> Bar {
        if quiet || !io::stderr().is_terminal() {
            return Bar(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        // What is wider than the terminal is cut, never wrapped.
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.tick(); // it moves with the bytes: a thread for it may be one too many
        Bar(bar)
    }

    /// So many more bytes are done.
    pub(super) fn advance(&self, bytes: u64) {
        if self.0.is_hidden() {
            return;
        }
        self.0.inc(bytes);
        let (done, seconds) = (self.0.position(), self.0.elapsed().as_secs_f64().max(1e-3));
        let rate = units::bytes((done as f64 / seconds) as u64);
        self.0.set_message(format!("{}  {rate}/s  {seconds:.0} s", units::bytes(done)));
    }

    /// Takes the bar off the terminal.
    pub(super) fn end(&self) {
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
            let text = "nothing was packed; mend the files, or leave them out";
            let all = wrapped(text, width);
            assert_eq!(all.replace('\n', " "), text, "{width}");
            assert!(all.lines().all(|line| line.len() <= width || !line.contains(' ')), "{width}");
        }
    }
}
