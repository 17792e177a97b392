//! Markdown: totals and a table of problems.

use tarflume_base::Problem;
use tarflume_verify::Report;

use super::texts::{left_out, place_and_reason, unchecked};

/// Rows of the table: a summary of a job has at most 1 MiB, a comment 64 KiB.
const ROWS: usize = 200;
/// Warnings that are listed.
const WARNINGS: usize = 20;

/// Makes the totals, the warnings, and a table of the first problems.
pub(crate) fn markdown(report: &Report) -> String {
    let mark = if report.is_passed() { "✅" } else { "❌" };
    let mut text = format!("{mark} {}\n", cell(&report.summary().text()));
    text.extend(unchecked(report).map(|what| format!("\n❌ {}\n", cell(&what))));
    text.extend(left_out(report, ROWS).map(|more| format!("\n{}.\n", cell(&more))));
    text.extend(report.warnings.iter().take(WARNINGS).map(warning));
    let more = report.warnings.len().saturating_sub(WARNINGS);
    if more > 0 {
        text.push_str(&format!("\n{more} more warnings are not listed here.\n"));
    }
    if report.problems.is_empty() {
        return text;
    }
    text.push_str("\n| problem | file | what |\n|---|---|---|\n");
    text.extend(report.problems.iter().take(ROWS).map(row));
    text
}

fn warning(warning: &Problem) -> String {
    format!("\n⚠️ {}\n", cell(&warning.to_string()))
}

fn row(problem: &Problem) -> String {
    format!(
        "| {} | `{}` | {} |\n",
        problem.kind,
        code(&problem.path),
        cell(&place_and_reason(problem))
    )
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
