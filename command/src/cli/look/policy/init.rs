//! A policy with the numbers of data sets as they are. `fields` has the ranges of values.

mod fields;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::shown;
use tarflume_inspect::field_values::{FieldValues, field_values};
use tarflume_inspect::stats::{Options, Stats, measure};
use tarflume_inspect::survey::{Survey, survey};
use tarflume_verify::ClassField;

use crate::cli::arguments::storage;
use crate::signals;

/// More classes have no bound of their shares.
const CLASSES: usize = 1000;

/// Returns the text of a policy of the data sets at `paths`, to be written at `out`.
///
/// # Errors
/// Returns an error if a data set cannot be read, and after an interruption.
pub(super) fn policy(
    paths: &[PathBuf],
    out: &Path,
    tolerance: f64,
    jobs: usize,
) -> Result<String, Failure> {
    signals::listen().map_err(|e| Failure::try_again(e.to_string()))?;
    let mut text = String::from(
        "# What this repository demands of its data sets. `pack verify` reads it; docs/POLICY.md has all tables.\n",
    );
    let mut names = BTreeSet::new();
    for path in paths {
        let measured = measured(path, jobs)?;
        let prefix = match paths {
            [_] => String::new(),
            _ => {
                let name = name(path, &mut names);
                let place = relative(path, out)?;
                text.push_str(&format!("\n[sets.{name}]\npath = {}\n", quoted(&place)));
                format!("sets.{name}.")
            }
        };
        text.push_str(&Written { measured: &measured, prefix: &prefix, tolerance }.tables());
    }
    Ok(text)
}

struct MeasuredSet {
    stats: Stats,
    survey: Survey,
    values: FieldValues,
}

fn measured(path: &Path, jobs: usize) -> Result<MeasuredSet, Failure> {
    let path = path.to_path_buf();
    let stop = signals::stop();
    signals::unless_stopped(move || {
        let listing = storage::listing(&path)?;
        let options = Options { examine: u64::MAX, jobs, stop, ..Options::default() };
        let stats = measure(&listing, &options)?.stats;
        let values = field_values(&listing, jobs, &options.stop)?;
        Ok(MeasuredSet { stats, survey: survey(&listing)?, values })
    })
}

/// Returns the name of a data set: that of its folder, and a number if another one has it.
fn name(path: &Path, names: &mut BTreeSet<String>) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let mut plain: String = name.chars().map(|c| if is_bare(c) { c } else { '-' }).collect();
    if plain.is_empty() {
        plain.push_str("set");
    }
    while !names.insert(plain.clone()) {
        plain.push_str("-2");
    }
    plain
}

/// Returns true for a character that a key of TOML has without quotes.
fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Returns the path of a data set as the policy has it: relative to its folder.
fn relative(path: &Path, out: &Path) -> Result<String, Failure> {
    let folder = tarflume_formats::publish::folder_of(out);
    let [path, folder] = [path, folder].map(|path| {
        std::path::absolute(path).map_err(|e| Failure::io(e, "find the working directory", path))
    });
    let path = path?;
    Ok(path.strip_prefix(folder?).unwrap_or(&path).display().to_string())
}

/// Returns a string of TOML.
fn quoted(text: &str) -> String {
    shown::json(&text) // a basic string of TOML has the escapes of JSON
}

/// The tables of a data set.
struct Written<'a> {
    measured: &'a MeasuredSet,
    prefix: &'a str,
    tolerance: f64,
}

impl Written<'_> {
    fn tables(&self) -> String {
        let fields = fields::tables(&self.measured.values, self.prefix, self.tolerance);
        [self.parts(), fields, self.classes(), self.pictures(), self.shards(), self.total()]
            .concat()
    }

    /// Returns a table, unless it is empty.
    fn table(&self, name: &str, lines: &[String]) -> String {
        if lines.is_empty() {
            return String::new();
        }
        format!("\n[{}{name}]\n{}\n", self.prefix, lines.join("\n"))
    }

    fn parts(&self) -> String {
        let stats = &self.measured.stats;
        let lines: Vec<String> = stats
            .extensions
            .iter()
            .map(|ext| {
                let share = fields::share(ext.sizes.count, stats.samples, self.tolerance);
                format!("{} = \"{share}%\"", quoted(&ext.ext))
            })
            .collect();
        self.table("parts", &lines)
    }

    fn classes(&self) -> String {
        let stats = &self.measured.stats;
        let field = stats.class_source.as_deref().filter(|field| ClassField::parse(field).is_ok());
        let all: u64 = stats.classes.iter().map(|class| class.count).sum();
        let fewest = stats.classes.iter().map(|class| class.count).min();
        let most = stats.classes.iter().map(|class| class.count).max();
        let Some(field) = field else { return String::new() };
        let Some(fewest) = fewest else { return String::new() };
        let Some(most) = most else { return String::new() };
        if stats.classes.len() > CLASSES || stats.labeled < stats.examined {
            return String::new();
        }
        let share = most as f64 * 100.0 / all as f64 * (1.0 + self.tolerance / 100.0);
        let lines = [
            format!("field = {}", quoted(field)),
            format!("min-count = {}", self.less(fewest)),
            format!("max-share = \"{:.1}%\"", ((share * 10.0).ceil() / 10.0).min(100.0)),
        ];
        self.table("classes", &lines)
    }

    fn pictures(&self) -> String {
        let stats = &self.measured.stats;
        let mut lines = Vec::new();
        for (name, found) in [("width", &stats.width), ("height", &stats.height)] {
            if let Some(found) = found {
                lines.push(format!("min-{name} = {}", found.min));
                lines.push(format!("max-{name} = {}", found.max));
            }
        }
        self.table("pictures", &lines)
    }

    fn shards(&self) -> String {
        let largest = self.measured.survey.largest.as_ref();
        let lines: Vec<String> = largest
            .map(|shard| format!("max-bytes = {}", self.more(shard.bytes)))
            .into_iter()
            .collect();
        self.table("shards", &lines)
    }

    fn total(&self) -> String {
        let lines = [
            format!("samples = {}", self.measured.stats.samples),
            format!("tolerance = \"{}%\"", self.tolerance),
        ];
        self.table("total", &lines)
    }

    fn less(&self, number: u64) -> u64 {
        (number as f64 * (1.0 - self.tolerance / 100.0)).floor() as u64
    }

    fn more(&self, number: u64) -> u64 {
        (number as f64 * (1.0 + self.tolerance / 100.0)).ceil() as u64
    }
}
