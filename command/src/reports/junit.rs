//! JUnit's XML, as Jenkins' schema describes it: a suite for each data set, a test case for each shard with its time, with
//! its problems as a failure.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use tarflume_base::{Problem, units};
use tarflume_formats::index_path;
use tarflume_formats::publish::folder_of;
use tarflume_verify::ShardCase;

use super::findings::{Findings, place_and_reason};

/// Problems that are listed, each on a line.
const LINES: usize = 10_000;
/// Shards without problems that have a case of their own.
const CASES: usize = 10_000;

/// Makes the suites. The first one has the totals, and an error for what was not checked.
pub(crate) fn junit(findings: &Findings<'_>) -> String {
    let mut suites = vec![own_suite(findings)];
    suites.extend(suites_of(findings));
    let tests: u64 = suites.iter().map(Suite::tests).sum();
    let failures: usize = suites.iter().map(|suite| suite.failed.len()).sum();
    let errors: usize = suites.iter().map(|suite| suite.errors.len()).sum();
    let time: Duration = suites.iter().map(Suite::time).sum();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" \
         errors=\"{errors}\" time=\"{}\">\n",
        findings.tool,
        seconds(time)
    );
    suites.iter().for_each(|suite| text.push_str(&suite.text()));
    text.push_str("</testsuites>\n");
    text
}

/// A suite: the cases of a folder.
#[derive(Default)]
struct Suite<'r> {
    name: String,
    /// What it says about all of its cases.
    output: String,
    errors: Vec<String>,
    failed: Vec<Failed<'r>>,
    sound: Vec<&'r ShardCase>,
    /// Sound shards that have no case of their own: their number and time.
    others: u64,
    others_time: Duration,
    /// True if a case says that all was done.
    is_finished: bool,
}

/// A file with problems.
struct Failed<'r> {
    path: String,
    time: Duration,
    problems: Vec<&'r Problem>,
}

/// Returns the suite of the command itself.
fn own_suite<'r>(findings: &Findings<'r>) -> Suite<'r> {
    Suite {
        name: findings.tool.into(),
        output: totals(findings),
        errors: findings.unchecked.clone(),
        is_finished: findings.unchecked.is_empty(),
        ..Suite::default()
    }
}

/// Returns a suite for each folder with shards or problems, in the order of the folders.
fn suites_of<'r>(findings: &Findings<'r>) -> Vec<Suite<'r>> {
    // The problems of a sidecar are those of its shard.
    let mut tars: HashMap<String, &'r ShardCase> = HashMap::new();
    for case in findings.cases {
        tars.insert(case.path.display().to_string(), case);
        tars.insert(index_path(&case.path).display().to_string(), case);
    }
    let mut failed: BTreeMap<String, Failed<'r>> = BTreeMap::new();
    for problem in findings.worst_problems().into_iter().take(LINES) {
        let case = tars.get(&problem.path);
        let path = case.map_or(problem.path.clone(), |case| case.path.display().to_string());
        let time = case.map_or(Duration::ZERO, |case| case.time);
        let file = failed.entry(path.clone());
        file.or_insert_with(|| Failed { path, time, problems: Vec::new() }).problems.push(problem);
    }
    let mut suites: BTreeMap<String, Suite<'r>> = BTreeMap::new();
    // Of shards whose problems are left out, none is known to be whole.
    let is_complete = findings.left_out(LINES).is_none();
    let sound = findings.cases.iter().filter(|_| is_complete);
    let sound = sound.filter(|case| !failed.contains_key(&case.path.display().to_string()));
    for (number, case) in sound.enumerate() {
        let suite = suite_of(&mut suites, &case.path);
        if number < CASES {
            suite.sound.push(case);
        } else {
            suite.others += 1;
            suite.others_time += case.time;
        }
    }
    for file in failed.into_values() {
        suite_of(&mut suites, Path::new(&file.path)).failed.push(file);
    }
    suites.into_values().collect()
}

fn suite_of<'s, 'r>(suites: &'s mut BTreeMap<String, Suite<'r>>, file: &Path) -> &'s mut Suite<'r> {
    let folder = folder_of(file).display().to_string();
    let name = if folder.is_empty() { ".".to_string() } else { folder };
    suites.entry(name.clone()).or_insert_with(|| Suite { name, ..Suite::default() })
}

impl Suite<'_> {
    fn tests(&self) -> u64 {
        let listed = self.errors.len() + self.failed.len() + self.sound.len();
        listed as u64 + u64::from(self.others > 0) + u64::from(self.is_finished)
    }

    fn skipped(&self) -> usize {
        self.sound.iter().filter(|case| case.is_absent).count()
    }

    fn time(&self) -> Duration {
        let failed: Duration = self.failed.iter().map(|file| file.time).sum();
        let sound: Duration = self.sound.iter().map(|case| case.time).sum();
        failed + sound + self.others_time
    }

    fn text(&self) -> String {
        let name = escaped(&self.name);
        let mut text = format!(
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\">\n",
            self.tests(),
            self.failed.len(),
            self.errors.len(),
            self.skipped(),
            seconds(self.time())
        );
        if !self.output.is_empty() {
            text.push_str(&format!("    <system-out>{}</system-out>\n", escaped(&self.output)));
        }
        for what in &self.errors {
            let what = escaped(what);
            let error = format!("      <error message=\"{what}\" type=\"unchecked\"/>\n");
            text.push_str(&self.case(&what, Duration::ZERO, &error));
        }
        if self.is_finished {
            text.push_str(&self.case("finished", Duration::ZERO, ""));
        }
        for file in &self.failed {
            text.push_str(&self.case(&file_name(&file.path), file.time, &failure(&file.problems)));
        }
        for case in &self.sound {
            let absent = "      <skipped message=\"the tar is not here\"/>\n";
            let body = if case.is_absent { absent } else { "" };
            text.push_str(&self.case(
                &file_name(&case.path.display().to_string()),
                case.time,
                body,
            ));
        }
        if self.others > 0 {
            let others = units::counted(self.others, "other shard", "other shards");
            text.push_str(&self.case(&others, self.others_time, ""));
        }
        text.push_str("  </testsuite>\n");
        text
    }

    /// Returns a case with an escaped name.
    fn case(&self, name: &str, time: Duration, body: &str) -> String {
        let class = escaped(&self.name);
        let head = format!(
            "    <testcase classname=\"{class}\" name=\"{name}\" time=\"{}\"",
            seconds(time)
        );
        match body {
            "" => format!("{head}/>\n"),
            body => format!("{head}>\n{body}    </testcase>\n"),
        }
    }
}

/// Returns the escaped last component of a path.
fn file_name(path: &str) -> String {
    escaped(path.rsplit('/').next().unwrap_or(path))
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// Returns the totals, what is left out, and the warnings.
fn totals(findings: &Findings<'_>) -> String {
    let mut lines = vec![findings.summary.clone()];
    lines.extend(findings.coverage.clone());
    lines.extend(findings.left_out(LINES));
    let warnings = findings.worst_warnings().into_iter().take(LINES);
    lines.extend(warnings.map(|warning| format!("warning: {warning}")));
    lines.extend(findings.more_warnings(LINES));
    lines.join("\n")
}

/// Returns the failure of a file with these problems.
fn failure(problems: &[&Problem]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("{}: {}", problem.kind, place_and_reason(problem)))
        .collect();
    let message = match lines.as_slice() {
        [line] => line.clone(),
        lines => format!("{} problems; the first: {}", lines.len(), lines[0]),
    };
    format!(
        "      <failure message=\"{}\" type=\"{}\">{}</failure>\n",
        escaped(&message),
        problems[0].kind,
        escaped(&lines.join("\n"))
    )
}

/// Escapes text for XML, and replaces the characters that XML 1.0 does not have.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            _ => safe.push(letter),
        }
    }
    safe
}
