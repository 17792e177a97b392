//! Markdown: totals and a table of problems.

use tarflume_base::Problem;

use super::findings::{Findings, place_and_reason};

/// Rows of the table: a summary of a job has at most 1 MiB, a comment 64 KiB.
const ROWS: usize = 200;
/// Warnings that are listed.
const WARNINGS: usize = 20;

/// Makes the totals, the warnings, and a table of the worst problems.
pub(crate) fn markdown(findings: &Findings<'_>) -> String {
    let mark = if findings.is_passed { "✅" } else { "❌" };
    let mut text = format!("{mark} {}\n", cell(&findings.summary));
    text.extend(findings.coverage.iter().map(|line| format!("\n{}\n", cell(line))));
    text.extend(findings.unchecked.iter().map(|what| format!("\n❌ {}\n", cell(what))));
    text.extend(findings.left_out(ROWS).map(|more| format!("\n{}.\n", cell(&more))));
    text.extend(findings.worst_warnings().into_iter().take(WARNINGS).map(warning));
    text.extend(findings.more_warnings(WARNINGS).map(|more| format!("\n{more}.\n")));
    if findings.problems.is_empty() {
        return text;
    }
    text.push_str("\n| problem | file | what |\n|---|---|---|\n");
    text.extend(findings.worst_problems().into_iter().take(ROWS).map(row));
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
pub(crate) fn cell(text: &str) -> String {
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
pub(crate) fn code(text: &str) -> String {
    text.replace('`', "'").replace('|', "\\|").replace('\n', " ")
}
