//! `LeftOut`: the files of folders that are no documents, counted for a notice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tarflume_base::units;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::shown::ShowPath;

/// Limit on the extensions that a notice names.
const NAMED: usize = 6;

/// Files that are left out.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Files of other kinds, by the ends of their names.
    others: BTreeMap<String, u64>,
    /// Files that describe the others.
    about: Vec<PathBuf>,
    /// The first symbolic link, and their number.
    links: Option<(PathBuf, u64)>,
}

impl LeftOut {
    /// Counts a file of another kind.
    pub(super) fn other(&mut self, path: &Path) {
        let extension = path.extension().map(|own| own.to_string_lossy().to_ascii_lowercase());
        let end = extension.map_or_else(|| "without extension".into(), |own| format!(".{own}"));
        *self.others.entry(end).or_default() += 1;
    }

    /// Counts a symbolic link.
    pub(super) fn link(&mut self, path: &Path) {
        self.links.get_or_insert_with(|| (path.into(), 0)).1 += 1;
    }

    /// Returns a line about the symbolic links; `None` if there are none.
    pub(super) fn links(&self) -> Option<Message> {
        let (first, number) = self.links.as_ref()?;
        Some(message!(
            "{} left out, such as {}; name a link itself to pack what it points to",
            units::counted(*number, "symbolic link is", "symbolic links are"),
            first.shown()
        ))
    }

    /// Counts what is neither a folder nor a file, such as a pipe.
    pub(super) fn irregular(&mut self) {
        *self.others.entry("irregular".into()).or_default() += 1;
    }

    /// Notes a file that describes the others.
    pub(super) fn about(&mut self, path: &Path) {
        self.about.push(path.into());
    }

    /// Returns the numbers of files of other kinds, the most frequent first; `None` if there are none.
    pub(super) fn others(&self) -> Option<String> {
        let mut counts: Vec<(&String, u64)> =
            self.others.iter().map(|(end, &n)| (end, n)).collect();
        counts.sort_by_key(|&(_, number)| std::cmp::Reverse(number));
        let shown = counts.iter().take(NAMED).map(|(end, n)| format!("{} {end}", units::count(*n)));
        let mut shown: Vec<String> = shown.collect();
        let rest: u64 = counts.iter().skip(NAMED).map(|(_, number)| number).sum();
        if rest > 0 {
            shown.push(format!("{} others", units::count(rest)));
        }
        (!shown.is_empty()).then(|| shown.join(", "))
    }

    /// Returns a line for each kind of file that is left out.
    pub(super) fn notices(&self) -> Vec<Message> {
        let mut notices = Vec::new();
        if let Some(others) = self.others() {
            notices.push(message!(
                "files of the folders that are no text are left out: {others}; text is read from .jsonl, .txt \
                 (also with .gz or .zst), .parquet, .arrow and .tar"
            ));
        }
        notices.extend(self.links());
        if let Some(first) = self.about.first() {
            let files = units::counted(self.about.len() as u64, "file is", "files are");
            notices.push(message!(
                "{files} left out because they describe the others, such as {}; name it beside the folder to \
                 pack it",
                first.shown()
            ));
        }
        notices
    }
}
