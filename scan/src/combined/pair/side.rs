//! `Side`: the files of one source folder that become one part of the samples.

use std::borrow::Cow;
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::name;

use super::pattern::Pattern;
use crate::links::{self, Links};

/// A folder under the source, or a pattern of names, and the part that its files become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// The folder under the source; of a pattern, what is before its first `*`.
    folder: String,
    pattern: Option<Pattern>,
    /// The extension in the shard: `png`, or `mask.png` for .png files.
    pub(super) ext: String,
    /// Whether a sample may lack it.
    pub(super) is_optional: bool,
}

impl Side {
    /// Parses `images=jpg`, `*_mask.png=mask.png?` and so on: at least two, or a pattern.
    ///
    /// # Errors
    /// Returns an error that shows the form.
    pub fn parse_all(words: &[String]) -> Result<Vec<Side>, Failure> {
        let mut sides: Vec<Side> = Vec::new();
        for word in words {
            let side = Side::parse(word)?;
            if let Some(other) = sides.iter().find(|other| other.ext == side.ext) {
                return Err(refused(format!(
                    "'{}' and '{}' give the same part; {}=mask.{} gives .{} files another one",
                    other.text(),
                    side.text(),
                    side.text(),
                    side.ext,
                    side.ext
                )));
            }
            if sides.iter().any(|other| other.text() == side.text()) {
                return Err(refused(format!("'{}' is given twice", side.text())));
            }
            sides.push(side);
        }
        let is_alone = sides.len() == 1 && sides[0].pattern.is_none();
        if sides.is_empty() || is_alone {
            return Err(refused("two folders, or a pattern, are needed".into()));
        }
        if sides[0].is_optional {
            return Err(refused(format!(
                "'{}': the first part is in every sample, so it has no '?'; give another one first",
                words[0]
            )));
        }
        // Files of an optional part are looked at as those of patterns are: one that is no part is told.
        if sides.iter().any(|side| side.pattern.is_some() || side.is_optional) {
            for side in &mut sides {
                side.as_pattern()?;
            }
        }
        Ok(sides)
    }

    fn parse(word: &str) -> Result<Side, Failure> {
        let Some((from, to)) = word.rsplit_once('=') else {
            return Err(refused(format!("'{word}' is no folder with an extension")));
        };
        let from = from.trim_end_matches('/');
        let is_optional = to.ends_with('?');
        let ext = to.trim_end_matches('?').trim_start_matches('.').to_ascii_lowercase();
        let is_extension = !ext.is_empty() && !ext.contains(['/', '*', '?', ' ', '\t']);
        let pattern = Pattern::parse(from).map_err(refused)?;
        let is_inside = name::unsafe_as_path(from.as_bytes()).is_none();
        if !is_inside || !is_extension {
            return Err(refused(format!("'{word}' is no folder of the source with an extension")));
        }
        let folder = pattern.as_ref().map_or(from, Pattern::folder).to_string();
        Ok(Side { folder, pattern, ext, is_optional })
    }

    /// Makes a folder the pattern of all files in it: beside patterns, each file is matched with all sides.
    fn as_pattern(&mut self) -> Result<(), Failure> {
        if self.pattern.is_none() {
            self.pattern = Pattern::parse(&format!("{}/*", self.folder)).map_err(refused)?;
        }
        Ok(())
    }

    /// Returns the folder under the source, without a slash at the end; of a pattern, what is before its `*`.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    pub(super) fn pattern(&self) -> Option<&Pattern> {
        self.pattern.as_ref()
    }

    /// Returns the folder or the pattern as it is given.
    pub(super) fn text(&self) -> &str {
        self.pattern.as_ref().map_or(&self.folder, |pattern| pattern.text())
    }

    /// Returns the last part of the extension, which files of a folder have.
    pub(super) fn last(&self) -> &str {
        self.ext.rsplit('.').next().unwrap_or(&self.ext)
    }

    /// Returns the sides as text for the plan's options.
    pub fn planned(sides: &[Side]) -> Vec<String> {
        let planned = sides.iter().map(|side| {
            let mark = if side.is_optional { "?" } else { "" };
            format!("{}={}{mark}", side.text(), side.ext)
        });
        planned.collect()
    }

    /// Returns the name that a file of this side has in keys, by its path under the source.
    pub fn under<'n>(&self, path: &'n [u8]) -> Cow<'n, [u8]> {
        let Some(pattern) = &self.pattern else {
            let under = path.strip_prefix(self.folder.as_bytes());
            let under = under.and_then(|rest| rest.strip_prefix(b"/"));
            return Cow::Borrowed(under.unwrap_or(path));
        };
        let mut key = Vec::new();
        let bare = if pattern.has_extension() { path } else { without_extension(path) };
        if pattern.capture(bare, &mut key) { Cow::Owned(key) } else { Cow::Borrowed(path) }
    }

    /// Returns true if names of files have more than the last component of the key and an extension.
    pub fn has_pattern(&self) -> bool {
        self.pattern.is_some()
    }

    /// Returns the last component of the key of a file with this name, which has no folders, and an extension if
    /// `has_extension`.
    pub fn of_file<'n>(&self, file: &'n [u8], has_extension: bool) -> &'n [u8] {
        let Some(pattern) = &self.pattern else { return file };
        let last = pattern.last();
        let found = if !pattern.has_extension() {
            let bare = if has_extension { without_extension(file) } else { file };
            pattern.of_file(bare, last)
        } else if has_extension {
            pattern.of_file(file, last)
        } else {
            pattern.of_file(file, &last[..last.len() - self.cut()])
        };
        found.unwrap_or(file)
    }

    /// Returns the bytes of the extension, its point included, at the end of the pattern: `.png` of `_mask.png`,
    /// `.nii.gz` if that is the part.
    pub(super) fn cut(&self) -> usize {
        let last = self.pattern.as_ref().map_or("", |pattern| pattern.last());
        let whole = last.len().checked_sub(self.ext.len() + 1);
        let is_whole = whole.is_some_and(|at| {
            last.as_bytes()[at] == b'.' && last[at + 1..].eq_ignore_ascii_case(&self.ext)
        });
        match last.rfind('.') {
            _ if is_whole => self.ext.len() + 1,
            Some(dot) if !last[dot..].contains('/') => last.len() - dot,
            _ => 0,
        }
    }

    /// Refuses a folder that is reached by a link, unless links are followed.
    pub(super) fn refuse_links(&self, root: &Path, links: Links) -> Result<(), Failure> {
        match links.open_folder(root, self.folder.as_bytes()) {
            Err(error) if links.refuses(&error) => {
                let path = root.join(&self.folder);
                Err(Failure::usage(message!(
                    "{path} is, or is below, {reason}";
                    path = &path,
                    reason = links::reason()
                ))
                .with_file(path))
            }
            _ => Ok(()), // the scan reports other errors
        }
    }
}

/// Returns a path without the extension of its file.
pub(super) fn without_extension(path: &[u8]) -> &[u8] {
    let file = path.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
    let dot = (file + 1..path.len()).rfind(|&at| path[at] == b'.');
    &path[..dot.unwrap_or(path.len())]
}

/// Returns the error for sides that cannot be paired; it shows the forms of the option.
pub(super) fn refused(why: String) -> Failure {
    Failure::usage(message!(
        "{pair}: {why}; give {folders}, or {patterns}";
        pair = Name::Pair,
        folders = Name::Pair.pairs(["images=jpg", "masks=png"]),
        patterns = Name::Pair.pairs(["*_sat.jpg=jpg", "*_mask.png=mask.png"])
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Vec<Side>, Failure> {
        Side::parse_all(&words.iter().map(|w| w.to_string()).collect::<Vec<_>>())
    }

    fn refused(words: &[&str]) -> String {
        parse(words).unwrap_err().text()
    }

    #[test]
    fn sides_are_folders_with_different_parts() {
        let sides = parse(&["images/=jpg", "a/masks=.PNG"]).unwrap();
        assert_eq!(Side::planned(&sides), ["images=jpg", "a/masks=png"]);
        assert!(refused(&["images=jpg"]).contains("two folders, or a pattern, are"));
        assert_eq!(parse(&["*/images/*=jpg"]).unwrap().len(), 1);
        assert!(refused(&["images=jpg", "masks=jpg"]).contains("masks=mask.jpg"));
        assert!(refused(&["images", "masks=png"]).contains("--pair images=jpg masks=png"));
        assert!(refused(&["../images=jpg", "masks=png"]).contains("no folder of the source"));
        assert!(refused(&["images=jpg?", "masks=png"]).contains("no '?'"));
    }

    #[test]
    fn beside_a_pattern_folders_are_patterns() {
        let sides = parse(&["images=jpg", "masks/*_mask.png=mask.png?"]).unwrap();
        let planned = Side::planned(&sides);
        assert_eq!(planned, ["images/*=jpg", "masks/*_mask.png=mask.png?"]);
        assert_eq!(Side::parse_all(&planned).unwrap(), sides);
        assert_eq!(sides[0].folder(), "images");
    }

    #[test]
    fn names_of_files_are_reduced_to_those_in_keys() {
        let sides = parse(&["in/*_sat.jpg=jpg", "masks/*=mask.png", "v/*.nii.gz=nii.gz"]).unwrap();
        for (side, path, under) in [
            (0, "in/a/1_sat.jpg", "a/1"),
            (0, "other", "other"),
            (1, "masks/a/1.png", "a/1"),
            (2, "v/1.nii.gz", "1"),
        ] {
            assert_eq!(&*sides[side].under(path.as_bytes()), under.as_bytes(), "{path}");
        }
        assert_eq!(sides[0].of_file(b"1_sat.jpg", true), b"1");
        assert_eq!(sides[0].of_file(b"1_sat", false), b"1");
        assert_eq!(sides[1].of_file(b"1.png", true), b"1");
        assert_eq!(sides[1].of_file(b"1", false), b"1");
        assert_eq!((sides[0].cut(), sides[2].cut()), (4, 7));
    }
}
