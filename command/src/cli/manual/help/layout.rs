//! The layout of texts behind the options: paragraphs, and examples with a remark in a column of their own. Each is
//! broken once, for the width of the terminal. Pure, but for [`width`].

use console::Term;

/// The widest help, in columns.
const WIDEST: usize = 100;
/// Columns that a remark needs beside its example.
const NARROWEST: usize = 28;
/// Columns before a remark that is below its example.
const BELOW: usize = 8;

/// Returns the columns of the help, as clap finds them.
pub(super) fn width() -> usize {
    let of_terminal =
        [Term::stdout(), Term::stderr()].into_iter().find_map(|term| term.size_checked());
    let found =
        of_terminal.map(|(_, columns)| usize::from(columns)).or_else(columns_of_environment);
    found.unwrap_or(WIDEST).min(WIDEST)
}

fn columns_of_environment() -> Option<usize> {
    std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok())
}

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
enum Block {
    Blank,
    /// A line that ends with a colon, before examples.
    Heading(String),
    Paragraph(String),
    /// An example, a remark, and the column of the remark.
    Item {
        what: String,
        remark: String,
        column: usize,
    },
}

/// Parses a text whose lines were broken for its source.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let rest = line.trim_start();
        let indent = line.len() - rest.len();
        match (blocks.last_mut(), indent) {
            _ if rest.is_empty() => blocks.push(Block::Blank),
            (Some(Block::Paragraph(text)), _) => {
                // A list of exit codes has wide gaps.
                text.push_str(if text.contains("   ") { "   " } else { " " });
                text.push_str(rest);
            }
            (Some(Block::Item { remark, column, .. }), 3..) => {
                if remark.is_empty() {
                    *column = indent
                } else {
                    remark.push(' ')
                }
                remark.push_str(rest);
            }
            (_, 0)
                if rest.ends_with(':')
                    && lines.peek().is_some_and(|next| next.starts_with(' ')) =>
            {
                blocks.push(Block::Heading(rest.into()));
            }
            (_, 0) => blocks.push(Block::Paragraph(rest.into())),
            _ => {
                let (what, gap) = rest.split_once("  ").unwrap_or((rest, ""));
                let remark = gap.trim_start();
                let column = line.len() - remark.len();
                blocks.push(Block::Item { what: what.into(), remark: remark.into(), column });
            }
        }
    }
    blocks
}

/// Returns a text for a terminal of this width. If most remarks of a section do not fit beside their examples, all are
/// below them.
pub(super) fn laid_out(text: &str, width: usize) -> String {
    let blocks = blocks(text);
    let mut lines = Vec::new();
    for section in blocks.chunk_by(|a, b| is_item(a) == is_item(b)) {
        let with_remark = section.iter().filter(|block| has_remark(block));
        let beside = section.iter().filter(|block| fits(block, width)).count();
        let below = beside * 2 < with_remark.count();
        lines.extend(section.iter().map(|block| line(block, below, width)));
    }
    lines.join("\n")
}

fn is_item(block: &Block) -> bool {
    matches!(block, Block::Item { .. })
}

fn has_remark(block: &Block) -> bool {
    matches!(block, Block::Item { remark, .. } if !remark.is_empty())
}

/// Returns true if the remark of an item has room beside it, on several lines if the column is wide.
fn fits(block: &Block, width: usize) -> bool {
    let Block::Item { what, remark, column } = block else { return false };
    let is_wide = column + NARROWEST <= width && column * 2 < width;
    let is_short = column + remark.chars().count() <= width;
    !remark.is_empty() && what.chars().count() + 4 <= *column && (is_wide || is_short)
}

fn line(block: &Block, below: bool, width: usize) -> String {
    match block {
        Block::Blank => String::new(),
        Block::Heading(text) => text.clone(),
        Block::Paragraph(text) => filled(text, width, 0, ""),
        Block::Item { what, remark, column } if !below && fits(block, width) => {
            format!("  {what:<gap$}{}", indented(remark, *column, width), gap = column - 2)
        }
        Block::Item { what, remark, .. } => {
            let more = if what.starts_with("pack ") { " \\" } else { "" };
            let what = filled(what, width - 2, 6, more);
            if remark.is_empty() {
                format!("  {what}")
            } else {
                format!("  {what}\n{}{}", " ".repeat(BELOW), indented(remark, BELOW, width))
            }
        }
    }
}

fn indented(text: &str, column: usize, width: usize) -> String {
    filled(text, width - column, 0, "").replace('\n', &format!("\n{}", " ".repeat(column)))
}

/// Returns lines of at most `width` characters, broken at blanks. Later lines begin with `indent` blanks, all but the
/// last end with `more`.
fn filled(text: &str, width: usize, indent: usize, more: &str) -> String {
    let mut lines = vec![String::new()];
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        let room = if words.peek().is_some() { width - more.len() } else { width };
        let line = lines.last_mut().expect("there is a first line");
        if line.trim().is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            line.truncate(line.trim_end().len());
            line.push_str(more);
            lines.push(format!("{}{word}", " ".repeat(indent)));
        }
    }
    lines.join("\n")
}

/// Returns a name with a text behind it, in a column.
pub(super) fn list(name: &str, text: &str, column: usize, width: usize) -> String {
    let pad = " ".repeat(column);
    let text = filled(text, width - column, 0, "").replace('\n', &format!("\n{pad}"));
    format!("  {name:<gap$}{text}\n", gap = column - 2)
}

/// Returns the first examples of a text.
pub(super) fn examples(text: &str, most: usize) -> String {
    let lines = text.lines().skip_while(|line| *line != "Examples:");
    let mut taken = 0;
    let section = lines.take_while(|line| {
        taken += usize::from(line.starts_with("  ") && !line.starts_with("   "));
        !line.is_empty() && taken <= most
    });
    section.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Examples:
  pack index some/                 make sidecars
  pack tokens corpus/ -o tokens/ --tokenizer tokenizer.json
                                   tokenize a corpus
  pack index others/

One sentence that was broken
where the source has its margin.

Exit codes: 0 done   2 wrong
            73 refused";

    #[test]
    fn a_wide_terminal_shows_a_remark_beside_its_example() {
        let shown = laid_out(TEXT, 100);
        assert!(
            shown.starts_with("Examples:\n  pack index some/                 make sidecars\n"),
            "{shown}"
        );
        assert!(
            shown.contains("tokenizer.json\n        tokenize a corpus\n  pack index others/\n"),
            "{shown}"
        );
        assert!(
            shown.contains("\nOne sentence that was broken where the source has its margin.\n"),
            "{shown}"
        );
        assert!(shown.ends_with("\nExit codes: 0 done   2 wrong   73 refused"), "{shown}");
    }

    #[test]
    fn a_narrow_terminal_breaks_each_text_once() {
        let shown = laid_out(TEXT, 40);
        assert!(shown.contains("  pack index some/\n        make sidecars\n"), "{shown}");
        let command = "  pack tokens corpus/ -o tokens/ \\\n      --tokenizer tokenizer.json\n        tokenize";
        assert!(shown.contains(command), "{shown}");
        assert!(
            shown.contains("One sentence that was broken where the\nsource has its margin."),
            "{shown}"
        );
        for line in shown.lines() {
            assert!(line.chars().count() <= 40, "{line}");
        }
    }

    #[test]
    fn the_first_examples_are_whole() {
        assert_eq!(examples(TEXT, 2), TEXT.lines().take(4).collect::<Vec<_>>().join("\n"));
        assert_eq!(examples(TEXT, 9), TEXT.lines().take(5).collect::<Vec<_>>().join("\n"));
        assert_eq!(examples("no examples", 2), "");
    }
}
