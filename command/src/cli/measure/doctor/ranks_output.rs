//! `pack doctor --ranks`: reads what the ranks of a job wrote, and prints the comparison.

use std::io::{self, Write};
use std::path::PathBuf;

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::shown::ShowPath;
use tarflume_sources::rows::files_named;

use crate::doctor::ranks::{self, Line, RankReport, RankUse, SlowRank};

/// Ranks that are listed, at most: the slowest.
const LISTED: usize = 16;

/// Reads all lines of the files that `patterns` name: files, folders of .jsonl files, or names with wildcards.
pub(super) fn read(patterns: &[PathBuf]) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    for pattern in patterns {
        let found = files_named(&pattern.to_string_lossy(), &[".jsonl"])?;
        for path in found {
            let bytes = files::read_whole(&path, "read")?;
            for (number, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
                // The last line of a rank that was killed may be cut.
                match ranks::parse(line) {
                    Ok(line) => lines.push(line),
                    Err(_) if line.trim().is_empty() => {}
                    Err(why) if !line.trim_end().ends_with('}') => {
                        print_message!(
                            "notice: {}: line {} is cut: {why}",
                            path.shown(),
                            number + 1
                        );
                    }
                    Err(why) => {
                        return Err(Failure::bad_data(format!(
                            "line {} is no line of `loader.stats().append(...)`: {why}",
                            number + 1
                        ))
                        .in_file(path));
                    }
                }
            }
        }
    }
    Ok(lines)
}

/// Writes the slowest ranks and the findings.
pub(super) fn text(to: &mut impl Write, report: &RankReport) -> io::Result<()> {
    writeln!(to, "rank  node                 batches  waited for data  bottleneck of its loader")?;
    let mut ranks: Vec<&RankUse> = report.ranks.iter().collect();
    ranks.sort_by(|a, b| b.waited.total_cmp(&a.waited));
    for rank in ranks.iter().take(LISTED) {
        let host = rank.host.as_deref().unwrap_or("?");
        let share = rank.waited * 100.0;
        let word = rank.bottleneck.as_deref().unwrap_or("-");
        writeln!(to, "{:>4}  {host:<18}  {:>8}  {share:>13.1} %  {word}", rank.rank, rank.batches)?;
    }
    if ranks.len() > LISTED {
        writeln!(to, "... and {} that waited less", ranks.len() - LISTED)?;
    }
    writeln!(to)?;
    if !report.missing.is_empty() {
        let few: Vec<_> = report.missing.iter().take(LISTED).map(u64::to_string).collect();
        writeln!(to, "{} ranks wrote no statistics: {}", report.missing.len(), few.join(", "))?;
    }
    for rank in &report.slow {
        slow(to, rank)?;
    }
    if let Some(host) = &report.slow_host
        && report.slow.len() > 1
    {
        writeln!(
            to,
            "all slow ranks are on {host}: look at its disk, its network and its processors"
        )?;
    }
    if report.slow.is_empty() {
        let share = report.median_waited * 100.0;
        writeln!(
            to,
            "no rank waits longer than the others; the median rank waits {share:.1} % of its time for data"
        )?;
    }
    Ok(())
}

fn slow(to: &mut impl Write, rank: &SlowRank) -> io::Result<()> {
    let on = rank.host.as_ref().map_or(String::new(), |host| format!(" on {host}"));
    write!(
        to,
        "rank {}{on} waits {:.1} % of its time for data, the median rank {:.1} %",
        rank.rank,
        rank.waited * 100.0,
        rank.median_waited * 100.0
    )?;
    match &rank.stage {
        Some((stage, own, usual)) => writeln!(
            to,
            ": its stage `{stage}` takes {own:.2} ms of a thread for a sample, that of the median rank {usual:.2} ms"
        ),
        None => writeln!(
            to,
            ", and no stage of its loader is slower: other programs may use its processors"
        ),
    }
}
