//! `Pattern`: the names of the files of one side, with `*` for what files of one sample have in common. Pure.

use tarflume_formats::name;

/// A path under the source with `*`: `gtFine/*_gtFine_labelIds.png`.
///
/// A `*` matches one character or more, slashes included. Two of them have whole folders between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    text: String,
    /// What is before, between and after the `*`; two at least.
    fixed: Vec<String>,
}

impl Pattern {
    /// Parses a pattern; `None` for a text without `*`.
    ///
    /// # Errors
    /// Returns why the text is none.
    pub(super) fn parse(text: &str) -> Result<Option<Pattern>, String> {
        if !text.contains('*') {
            return Ok(None);
        }
        if text.contains("**") {
            return Err(format!("'{text}': one * matches folders, too"));
        }
        if let Some(why) = name::unsafe_as_path(text.as_bytes()) {
            return Err(format!("'{text}' is no path under the source: {why}"));
        }
        let fixed: Vec<String> = text.split('*').map(String::from).collect();
        let between = &fixed[1..fixed.len() - 1];
        if let Some(other) = between.iter().find(|fixed| !is_folders(fixed)) {
            return Err(format!(
                "'{text}': between two * there are whole folders, as in '*/images/*.jpg', not '{other}'"
            ));
        }
        Ok(Some(Pattern { text: text.into(), fixed }))
    }

    /// Returns its text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn first(&self) -> &str {
        &self.fixed[0]
    }

    /// Returns the number of bytes before the first `*`.
    pub(super) fn begin(&self) -> usize {
        self.first().len()
    }

    /// Returns what follows the last `*`.
    pub(super) fn last(&self) -> &str {
        self.fixed.last().map_or("", String::as_str)
    }

    /// Returns the folders before the first `*`, without a slash at the end.
    pub(super) fn folder(&self) -> &str {
        self.first().rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns true if the file's extension is part of it.
    pub(super) fn has_extension(&self) -> bool {
        let last = self.last();
        last.rsplit_once('/').map_or(last, |(_, name)| name).contains('.')
    }

    /// Returns true if it has one `*`, so that what matches is a piece of the path.
    pub(super) fn is_single(&self) -> bool {
        self.fixed.len() == 2
    }

    /// Returns the number of bytes that are not matched by `*`: of two patterns, the one with more is more specific.
    pub(super) fn specificity(&self) -> usize {
        self.fixed.iter().map(String::len).sum()
    }

    /// Appends to `key` what the `*` match in a path, with a slash between two of them. Returns false, and appends nothing,
    /// if the path does not match.
    pub(super) fn capture(&self, path: &[u8], key: &mut Vec<u8>) -> bool {
        let start = key.len();
        let found = self.captured(path, key);
        let is_name = !key[start..].is_empty() && key.last() != Some(&b'/') && key[start] != b'/';
        if !found || !is_name {
            key.truncate(start);
        }
        found && is_name
    }

    /// Returns the number of bytes that the first of two `*` matches; `None` with one `*`, and for another path.
    pub(super) fn first_piece(&self, path: &[u8]) -> Option<usize> {
        let [first, second, _, ..] = self.fixed.as_slice() else { return None };
        let rest = path.strip_prefix(first.as_bytes())?;
        (1..rest.len()).find(|&at| rest[at..].starts_with(second.as_bytes()))
    }

    fn captured(&self, path: &[u8], key: &mut Vec<u8>) -> bool {
        let Some(rest) = path.strip_prefix(self.first().as_bytes()) else { return false };
        let Some(mut rest) = rest.strip_suffix(self.last().as_bytes()) else { return false };
        for fixed in &self.fixed[1..self.fixed.len() - 1] {
            let fixed = fixed.as_bytes();
            let Some(at) = (1..rest.len()).find(|&at| rest[at..].starts_with(fixed)) else {
                return false;
            };
            key.extend_from_slice(&rest[..at]);
            key.push(b'/');
            rest = &rest[at + fixed.len()..];
        }
        key.extend_from_slice(rest);
        !rest.is_empty()
    }

    /// Returns what a sample's file is named, for a message.
    pub(super) fn filled(&self, key: &[u8]) -> String {
        if self.is_single() {
            return name::shown(&[self.first().as_bytes(), key, self.last().as_bytes()].concat());
        }
        format!("{} with '{}' for its *", self.text, name::shown(key))
    }

    /// Returns what `*` matches in the name of a file without its folders; `None` if the name does not match.
    pub(super) fn of_file<'n>(&self, file: &'n [u8], end: &str) -> Option<&'n [u8]> {
        let begin = self.first().rsplit('/').next().unwrap_or_default();
        let begin = if self.is_single() { begin } else { "" };
        let rest = file.strip_prefix(begin.as_bytes()).unwrap_or(file);
        rest.strip_suffix(end.as_bytes()).filter(|rest| !rest.is_empty())
    }
}

/// Returns true for a text that has whole folders and the slashes around them.
fn is_folders(text: &str) -> bool {
    text.len() > 1 && text.starts_with('/') && text.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).unwrap().unwrap()
    }

    fn captured(text: &str, path: &str) -> Option<String> {
        let mut key = b"before".to_vec();
        let found = pattern(text).capture(path.as_bytes(), &mut key);
        let key = String::from_utf8(key).unwrap();
        assert_eq!(found, key != "before");
        found.then(|| key["before".len()..].to_string())
    }

    #[test]
    fn a_star_matches_folders_and_the_begin_of_the_name() {
        let city = "leftImg8bit/*_leftImg8bit.png";
        for (text, path, key) in [
            (city, "leftImg8bit/train/aachen/a_1_leftImg8bit.png", Some("train/aachen/a_1")),
            (city, "leftImg8bit/a_1_leftImg8bit.png", Some("a_1")),
            (city, "gtFine/a_1_leftImg8bit.png", None),
            (city, "leftImg8bit/_leftImg8bit.png", None),
            (city, "leftImg8bit/train/_leftImg8bit.png", None),
            (city, "leftImg8bit/a_1_leftImg8bit.PNG", None),
            ("*_sat.jpg", "1_sat.jpg", Some("1")),
            ("*/image.png", "a/b/image.png", Some("a/b")),
            ("*/image.png", "/image.png", None),
            ("img_*.png", "img_7.png", Some("7")),
        ] {
            assert_eq!(captured(text, path).as_deref(), key, "{text} {path}");
        }
    }

    #[test]
    fn two_stars_have_whole_folders_between_them() {
        for (path, key) in [
            ("train/images/a.jpg", Some("train/a")),
            ("x/train/images/d/a.jpg", Some("x/train/d/a")),
            ("a/images/images/b.jpg", Some("a/images/b")),
            ("images/a.jpg", None),
            ("train/images/.jpg", None),
        ] {
            assert_eq!(captured("*/images/*.jpg", path).as_deref(), key, "{path}");
        }
        let pieces = ["x/images/d/a.jpg", "x/d/images/a.jpg", "a.jpg"];
        let pieces = pieces.map(|path| pattern("*/images/*.jpg").first_piece(path.as_bytes()));
        assert_eq!(pieces, [Some(1), Some(3), None]);
        assert_eq!(pattern("d/*/images/*.jpg").folder(), "d");
        assert!(!pattern("*/images/*.jpg").is_single());
    }

    #[test]
    fn other_texts_are_refused() {
        assert_eq!(Pattern::parse("images"), Ok(None));
        for (text, why) in [
            ("**.png", "one *"),
            ("../*.png", "no path"),
            ("/x/*.png", "no path"),
            ("*_*.png", "whole folders"),
            ("*/a*b.png", "whole folders"),
        ] {
            assert!(Pattern::parse(text).unwrap_err().contains(why), "{text}");
        }
    }

    #[test]
    fn the_longer_fixed_text_is_more_specific() {
        assert!(pattern("*_mask.png").specificity() > pattern("*.png").specificity());
        assert_eq!(pattern("a/*.png").specificity(), pattern("*.a.png").specificity());
    }

    #[test]
    fn the_name_of_a_file_has_the_end_of_its_key() {
        let found = pattern("d/im_*_x.png");
        assert_eq!(found.of_file(b"im_7_x.png", "_x.png"), Some(&b"7"[..]));
        assert_eq!(found.of_file(b"7_x", "_x"), Some(&b"7"[..]));
        assert_eq!(found.of_file(b"7.png", "_x.png"), None);
    }
}
