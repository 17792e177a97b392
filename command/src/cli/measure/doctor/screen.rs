//! The live view of `pack doctor --watch`: a block that is redrawn in place, on a terminal's second screen.

use std::env;
use std::io::{self, Write};

use console::Term;

use super::block::{self, Style, cut};
use crate::cli::output::out;
use crate::doctor::watch::causes::duration;
use crate::doctor::watch::look::Look;

/// The second screen, without a cursor; and back.
const BEGIN: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const END: &str = "\x1b[?25h\x1b[?1049l";

/// A terminal that shows the live view. Dropping it restores what was there before.
pub(super) struct LiveView {
    term: Term,
    title: String,
    unicode: bool,
}

impl LiveView {
    /// Begins the view, if standard output is a terminal that can be redrawn.
    pub(super) fn begin(title: String) -> io::Result<Option<LiveView>> {
        let term = Term::stdout();
        let is_dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if !term.is_term() || is_dumb {
            return Ok(None);
        }
        write(BEGIN)?;
        Ok(Some(LiveView { term, title, unicode: has_unicode() }))
    }

    /// Draws a sample. What does not fit is cut.
    pub(super) fn draw(&self, look: &Look) -> io::Result<()> {
        let (rows, columns) = self.term.size();
        let style = Style { width: usize::from(columns), unicode: self.unicode };
        let head = format!("{} after {}; Ctrl-C for the means", self.title, duration(look.seconds));
        let mut lines = vec![cut(&head, style.width), String::new()];
        lines.extend(block::lines(look, style));
        let rows = usize::from(rows).max(2);
        if lines.len() > rows {
            let hidden = lines.len() - rows + 1;
            lines.truncate(rows - 1);
            lines.push(cut(&format!("({hidden} lines more)"), style.width));
        }
        // Each line overwrites the one before, and clears its rest: nothing flickers.
        write(&format!("\x1b[H{}\x1b[K\x1b[J", lines.join("\x1b[K\r\n")))
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        let _ = write(END); // the terminal may be gone
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut to = out::stdout();
    to.write_all(text.as_bytes())?;
    to.flush()
}

/// Returns true if the terminal shows UTF-8, as its variables say.
pub(super) fn has_unicode() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let value = names.iter().filter_map(env::var_os).find(|value| !value.is_empty());
    let value = value.map(|value| value.to_string_lossy().to_ascii_lowercase());
    value.is_some_and(|value| value.contains("utf-8") || value.contains("utf8"))
}
