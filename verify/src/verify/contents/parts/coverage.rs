//! `PartChecks`: how many parts of each extension were looked at by which check.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tarflume_base::check::Content;
use tarflume_base::units;
use tarflume_foreign::parts::PartKind;
use tarflume_formats::name;

/// Numbers of parts with one extension by what was done with them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtChecks {
    /// Their bytes were compared with a checksum.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checksums: u64,
    /// They were decoded: pictures.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub decoded: u64,
    /// They were parsed: JSON and texts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parsed: u64,
    /// Their structure was checked: arrays, pickles, sound, videos.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checked: u64,
    /// No check looked into them, although parts were to be looked into.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_checked: u64,
    /// Why the first of these was not looked into; none if its extension has no check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Cow<'static, str>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What was checked of parts, by extension.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartChecks(BTreeMap<String, ExtChecks>);

impl PartChecks {
    /// Returns the extensions with their numbers, in the order of the extensions.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ExtChecks)> {
        self.0.iter().map(|(ext, found)| (ext.as_str(), found))
    }

    pub(super) fn of(&mut self, ext: &[u8]) -> &mut ExtChecks {
        // No text is allocated for an extension that was seen before.
        let seen = std::str::from_utf8(ext).ok().filter(|ext| self.0.contains_key(*ext));
        match seen {
            Some(ext) => self.0.get_mut(ext).expect("the map has this extension"),
            None => self.0.entry(name::shown(ext)).or_default(),
        }
    }

    pub(super) fn not_checked(&mut self, ext: &[u8], because: &'static str) {
        let found = self.of(ext);
        found.not_checked += 1;
        found.because.get_or_insert(Cow::Borrowed(because));
    }

    /// Counts a part that was looked into as its content says. `unread` says why it could not be.
    pub(super) fn content(&mut self, ext: &[u8], content: Content, unread: Option<&'static str>) {
        if let Some(because) = unread {
            return self.not_checked(ext, because);
        }
        let found = self.of(ext);
        let count = match content {
            Content::Jpeg | Content::Image => &mut found.decoded,
            Content::Json
            | Content::Part(PartKind::Text | PartKind::Number | PartKind::JsonLines) => {
                &mut found.parsed
            }
            Content::Part(_) => &mut found.checked,
            Content::Other => &mut found.not_checked,
        };
        *count += 1;
    }

    /// Adds the parts of another shard.
    pub(crate) fn join(&mut self, other: PartChecks) {
        for (ext, more) in other.0 {
            let found = self.0.entry(ext).or_default();
            found.checksums += more.checksums;
            found.decoded += more.decoded;
            found.parsed += more.parsed;
            found.checked += more.checked;
            found.not_checked += more.not_checked;
            if found.because.is_none() {
                found.because = more.because;
            }
        }
    }

    /// Returns a clause for each extension that was to be looked into: `jpg 30 decoded, bin 3 not checked`.
    pub fn clauses(&self) -> String {
        let clauses = self.0.iter().flat_map(|(ext, found)| {
            let because = found.because.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            [
                clause(ext, found.decoded, "decoded"),
                clause(ext, found.parsed, "parsed"),
                clause(ext, found.checked, "checked"),
                clause(ext, found.not_checked, &format!("not checked{because}")),
            ]
        });
        clauses.flatten().collect::<Vec<String>>().join(", ")
    }
}

fn clause(ext: &str, count: u64, what: &str) -> Option<String> {
    (count > 0).then(|| format!("{ext} {} {what}", units::count(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_check_looked_into_is_listed_with_its_reason() {
        let mut coverage = PartChecks::default();
        for ext in [b"jpg".as_slice(), b"json", b"npy", b"cls", b"bin"] {
            coverage.content(ext, Content::of(ext), None);
        }
        coverage.content(b"pth", Content::of(b"pth"), Some("old files"));
        let mut both = coverage.clone();
        both.join(coverage);
        let text = "bin 2 not checked, cls 2 parsed, jpg 2 decoded, json 2 parsed, npy 2 checked, \
                    pth 2 not checked (old files)";
        assert_eq!(both.clauses(), text);
        assert_eq!(serde_json::to_value(&both).unwrap()["npy"], serde_json::json!({"checked": 2}));
    }
}
