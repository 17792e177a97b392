//! Markdown: totals and a table of problems.

use tarflume_packer::Problem;
use tarflume_packer::verify::Report;

use super::texts::{place_and_reason, unlisted};

/// Rows of the table: a summary of a job has at most 1 MiB, a comment 64 KiB.
const ROWS: usize = 200;

/// Makes the totals, the warnings, and a table of the first problems.
pub(crate) fn markdown(report: &Report) -> String {
    let mark = if report.whole { "✅" } else { "❌" };
    let mut text = format!("{mark} {}\n", cell(&report.summary()));
    let warning = |warning: &Problem| format!("\n⚠️ {}\n", cell(&warning.to_string()));
    text.extend(report.warnings.iter().map(warning));
    if report.problems.is_empty() {
        return text;
    }
    text.push_str("\n| problem | file | what |\n|---|---|---|\n");
    let row = |problem: &Problem| {
        format!(
            "| {} | `{}` | {} |\n",
            problem.kind,
            code(&problem.path),
            cell(&place_and_reason(problem))
        )
    };
    text.extend(report.problems.iter().take(ROWS).map(row));
    let left = report.problems.len().saturating_sub(ROWS);
    if left > 0 {
        text.push_str(&format!("\n{left} more problems are not in this table.\n"));
    }
    if let Some(more) = unlisted(report) {
        text.push_str(&format!("\n{}.\n", cell(&more)));
    }
    text
}

/// Escapes what Markdown and HTML would interpret in a cell.
fn cell(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '~' | '@' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' => escaped.push_str("<br>"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Prepares text for a code span in a cell: a bar ends a cell in code, too.
fn code(text: &str) -> String {
    text.replace('`', "'").replace('|', "\\|").replace('\n', " ")
}
