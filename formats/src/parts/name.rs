//! The WebDataset naming rule in both directions: member name <-> key and extension.
//!
//! Pure functions on bytes. The packer decides about names that some reader would misread; this
//! file only implements how names are read.
//!
//! The rule is webdataset's own (`tariterators.py`): the key is the folder path and the base name
//! up to its first dot; the extension is all that follows, lower-cased; members of one sample are
//! adjacent. One case differs on purpose, because readers disagree about it and no sample can be
//! meant: hidden files (`dir/.x.jpg`) are never part of a sample.

use std::borrow::Cow;
use std::fmt;

/// Splits a member name into key and extension as stored.
///
/// `None` means that the member belongs to no sample: its base name has no dot or begins with one,
/// or its first path component has the form `__name__`, which is reserved for metadata.
pub fn split(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let base = name.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
    let dot = base + name[base..].iter().position(|&b| b == b'.')?;
    if dot == base || is_reserved(name) {
        return None;
    }
    Some((&name[..dot], &name[dot + 1..]))
}

/// Returns a name without the `./` that `tar -cf a.tar .` puts before all names.
pub fn without_dot(name: &[u8]) -> &[u8] {
    let mut name = name;
    while let Some(rest) = name.strip_prefix(b"./") {
        name = rest;
    }
    name
}

/// Returns a name as a clean relative path: without empty and `.` components. `..` stays.
///
/// ```
/// use tarflume_formats::name::cleaned;
///
/// assert_eq!(cleaned(b"/a//./b.jpg"), b"a/b.jpg");
/// assert_eq!(cleaned(b"../a.jpg"), b"../a.jpg");
/// ```
pub fn cleaned(name: &[u8]) -> Vec<u8> {
    let components = name.split(|&b| b == b'/').filter(|part| !matches!(part, &b"" | &b"."));
    components.collect::<Vec<_>>().join(&b'/')
}

/// Returns true for names that webdataset reserves for metadata: `__name__` alone or as first
/// folder.
fn is_reserved(name: &[u8]) -> bool {
    let first = name.split(|&b| b == b'/').next().unwrap_or(name);
    first.len() >= 4 && first.starts_with(b"__") && first.ends_with(b"__")
}

/// Returns the extension as readers compare it: in ASCII lower case.
pub fn lower(ext: &[u8]) -> Cow<'_, [u8]> {
    if ext.iter().any(u8::is_ascii_uppercase) {
        Cow::Owned(ext.to_ascii_lowercase())
    } else {
        Cow::Borrowed(ext)
    }
}

/// Appends the member name of a part, `key.ext`, to `out`.
pub fn join(out: &mut Vec<u8>, key: &[u8], ext: &[u8]) {
    out.reserve(key.len() + ext.len() + 1);
    out.extend_from_slice(key);
    out.push(b'.');
    out.extend_from_slice(ext);
}

/// Returns bytes as one line of text for a message, with control characters escaped.
pub fn shown(bytes: &[u8]) -> String {
    crate::text::shown::bytes(bytes)
}

/// What makes a name unsafe as a path below a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnsafeName {
    /// It is empty.
    Empty,
    /// It begins with a slash.
    Absolute,
    /// It has a NUL byte.
    Nul,
    /// It has two slashes side by side, or one at its end.
    EmptyComponent,
    /// It has a component `.`.
    Dot,
    /// It has a component `..`.
    DotDot,
}

impl UnsafeName {
    /// Returns the fault as a sentence about `what`: "the key is empty".
    pub fn of(self, what: &str) -> String {
        let fault = match self {
            UnsafeName::Empty => "is empty",
            UnsafeName::Absolute => "is absolute",
            UnsafeName::Nul => "holds a NUL byte",
            UnsafeName::EmptyComponent => "has an empty path component",
            UnsafeName::Dot => "has a '.' component",
            UnsafeName::DotDot => "climbs out of its folder with '..'",
        };
        format!("{what} {fault}")
    }
}

impl fmt::Display for UnsafeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.of("the name"))
    }
}

/// Returns what makes `name` unsafe as a path below a folder, or `None` if it is safe.
///
/// Safe means: relative, no empty, `.` or `..` component, no NUL, no trailing slash.
pub fn unsafe_as_path(name: &[u8]) -> Option<UnsafeName> {
    if name.is_empty() {
        return Some(UnsafeName::Empty);
    }
    if name.starts_with(b"/") {
        return Some(UnsafeName::Absolute);
    }
    if name.contains(&0) {
        return Some(UnsafeName::Nul);
    }
    name.split(|&b| b == b'/').find_map(|component| match component {
        b"" => Some(UnsafeName::EmptyComponent),
        b"." => Some(UnsafeName::Dot),
        b".." => Some(UnsafeName::DotDot),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_split_as_webdataset_splits_them() {
        let cases: &[(&str, Option<(&str, &str)>)] = &[
            ("a/b/000.jpg", Some(("a/b/000", "jpg"))),
            ("000.seg.png", Some(("000", "seg.png"))),
            ("000.JPG", Some(("000", "JPG"))),
            ("d.x/a.jpg", Some(("d.x/a", "jpg"))),
            ("./a.jpg", Some(("./a", "jpg"))),
            ("img.001.jpg", Some(("img", "001.jpg"))),
            ("a..jpg", Some(("a", ".jpg"))),
            ("a.", Some(("a", ""))),
            ("noext", None),
            ("d.e/noext", None),
            (".hid.jpg", None),
            ("dir/.hid.jpg", None),
            ("d.e/.hid.jpg", None),
            ("__meta__.json", Some(("__meta__", "json"))),
            ("__meta__/a.json", None),
            ("__MACOSX/a.json", Some(("__MACOSX/a", "json"))),
        ];
        for (name, want) in cases {
            let want = want.map(|(k, e)| (k.as_bytes(), e.as_bytes()));
            assert_eq!(split(name.as_bytes()), want, "{name}");
        }
    }

    #[test]
    fn unsafe_names_are_recognized() {
        for bad in ["", "/etc/x", "../x", "a/../x", "a//b", "a/./b", "a/", "a\0b"] {
            assert!(unsafe_as_path(bad.as_bytes()).is_some(), "{bad:?}");
        }
        for good in ["a", "a/b.jpg", "..a", "a..b/c"] {
            assert_eq!(unsafe_as_path(good.as_bytes()), None, "{good:?}");
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(shown(b"a\x1b[31mb\n\xff"), "a\\u{1b}[31mb\\n\\xff");
    }

    proptest! {
        #[test]
        fn join_then_split_gives_back_key_and_ext(
            dir in "([a-z]{1,4}/){0,2}", stem in "[a-z0-9_-]{1,8}", ext in "[a-z]{1,4}(\\.[a-z]{1,3})?"
        ) {
            let key = format!("{dir}{stem}");
            let mut name = Vec::new();
            join(&mut name, key.as_bytes(), ext.as_bytes());
            prop_assert_eq!(split(&name), Some((key.as_bytes(), ext.as_bytes())));
        }
    }
}
