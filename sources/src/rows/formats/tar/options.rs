//! `TarOptions`: how the members of a tar are read and grouped.

use tarflume_base::{Choice, Failure};
use tarflume_formats::name;
use tarflume_scan::options::ScanOptions;

use crate::rows::tar_words::{IGNORE_ZEROS, INNER, InnerTars, KEY_BY, KeyBy};
use crate::rows::url::SourceUrl;

/// How the members of the tars of a source are read and grouped.
#[derive(Debug, Clone, Copy)]
pub(super) struct TarOptions<'o> {
    pub(super) scan: &'o ScanOptions,
    /// Reads on behind end markers.
    pub(super) ignore_zeros: bool,
    pub(super) key_by: KeyBy,
    pub(super) inner: InnerTars,
}

impl<'o> TarOptions<'o> {
    /// Parses the options of a source.
    ///
    /// # Errors
    /// Returns an error for an unknown option or value.
    pub(super) fn of(source: &SourceUrl, scan: &'o ScanOptions) -> Result<TarOptions<'o>, Failure> {
        let known = ["prefix", IGNORE_ZEROS, KEY_BY, INNER];
        if let Some((option, _)) = source.options.iter().find(|(o, _)| !known.contains(&o.as_str()))
        {
            let text = format!("tar: has no option '{option}'; it has {}", known.join(", "));
            return Err(Failure::usage(text));
        }
        let ignore_zeros = match source.option(IGNORE_ZEROS) {
            None | Some("no") => false,
            Some("yes") => true,
            Some(other) => {
                return Err(Failure::usage(format!("tar: {IGNORE_ZEROS}={other}: give yes or no")));
            }
        };
        let key_by = source.option(KEY_BY).map(KeyBy::parse).transpose();
        let key_by = key_by.map_err(|why| Failure::usage(format!("tar: {KEY_BY}={why}")))?;
        let inner = match source.option(INNER) {
            None => InnerTars::default(),
            Some(word) => InnerTars::from_word(word).ok_or_else(|| {
                Failure::usage(format!("tar: {INNER}={word}: give folders or parts"))
            })?,
        };
        Ok(TarOptions { scan, ignore_zeros, key_by: key_by.unwrap_or_default(), inner })
    }

    /// Returns true if keys are those that sidecars have.
    pub(super) fn keys_as_sidecars(self) -> bool {
        self.key_by == KeyBy::FirstDot
    }

    /// Splits a member's name into key and extension; `None` if it belongs to no sample.
    ///
    /// An extension with dots that `--parts` names stays whole.
    pub(super) fn split(self, name: &[u8]) -> Option<NameSplit<'_>> {
        let (key, _) = name::split(name)?;
        if self.key_by == KeyBy::FirstDot {
            return Some(NameSplit::at(name, key.len()));
        }
        let mut dots = (key.len()..name.len()).filter(|&at| name[at] == b'.');
        let dot = dots
            .clone()
            .find(|&dot| self.scan.parts.names(&name::lower(&name[dot + 1..])))
            .or(dots.next_back())?;
        Some(NameSplit::at(name, dot))
    }
}

/// The halves of a member's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NameSplit<'n> {
    pub(super) key: &'n [u8],
    pub(super) ext: &'n [u8],
}

impl<'n> NameSplit<'n> {
    fn at(name: &'n [u8], dot: usize) -> NameSplit<'n> {
        NameSplit { key: &name[..dot], ext: &name[dot + 1..] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarflume_scan::names::exts::PartChoice;

    fn split<'n>(name: &'n str, key_by: KeyBy, parts: &[&str]) -> Option<(&'n str, &'n str)> {
        let named: Vec<String> = parts.iter().map(ToString::to_string).collect();
        let parts = PartChoice::new(&named, &[]);
        let scan = ScanOptions { parts, ..ScanOptions::default() };
        let options =
            TarOptions { scan: &scan, ignore_zeros: false, key_by, inner: InnerTars::Folders };
        let found = options.split(name.as_bytes())?;
        Some([found.key, found.ext].map(|half| std::str::from_utf8(half).unwrap()).into())
    }

    #[test]
    fn the_key_ends_at_the_first_or_at_the_last_dot() {
        for (name, key_by, halves) in [
            ("d.x/22.05.jpg", KeyBy::FirstDot, Some(("d.x/22", "05.jpg"))),
            ("d.x/22.05.jpg", KeyBy::LastDot, Some(("d.x/22.05", "jpg"))),
            ("d.x/22.jpg", KeyBy::FirstDot, Some(("d.x/22", "jpg"))),
            ("d.x/22.jpg", KeyBy::LastDot, Some(("d.x/22", "jpg"))),
            ("noext", KeyBy::LastDot, None),
            (".hid.jpg", KeyBy::LastDot, None),
            ("d.x/y", KeyBy::LastDot, None),
        ] {
            assert_eq!(split(name, key_by, &[]), halves, "{name}");
        }
    }

    #[test]
    fn an_extension_with_dots_that_is_named_stays_whole() {
        let parts = ["jpg", "seg.png"];
        assert_eq!(split("22.05.SEG.png", KeyBy::LastDot, &parts), Some(("22.05", "SEG.png")));
        assert_eq!(split("a.seg.png", KeyBy::LastDot, &parts), Some(("a", "seg.png")));
    }
}
