//! A line of a list of files. Pure functions on bytes.

use crate::folders::listing::Known;
use crate::source::{UNKNOWN_TIME, stamp};

/// A file of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListedFile<'a> {
    pub(super) path: &'a [u8],
    /// The path is relative to the source folder, whatever the current folder is: a key of a bucket.
    pub(super) under_root: bool,
    /// What the list states; without it the file is examined.
    pub(super) facts: Option<Known>,
}

impl ListedFile<'_> {
    fn new(path: &[u8], facts: Option<Known>) -> ListedFile<'_> {
        ListedFile { path, under_root: false, facts }
    }
}

/// Returns the facts of a file: its size, and its modification time in seconds with decimals, if it is known.
pub(super) fn known(size: u64, time: Option<(i64, i64)>) -> Known {
    match time {
        None => Known { size, stamp: UNKNOWN_TIME, changed: i64::MIN },
        Some((seconds, nanoseconds)) => Known {
            size,
            stamp: stamp(seconds, nanoseconds),
            changed: seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds),
        },
    }
}

/// Parses a line of text:
///
/// ```text
/// SIZE <tab> TIME <tab> PATH      find SRC -type f -printf '%s\t%T@\t%p\n'
/// SIZE <tab> PATH
/// INODE GENERATION SNAPSHOT  SIZE ... -- PATH     a list of GPFS's policy engine, with SHOW(VARCHAR(FILE_SIZE))
/// PATH                            ls, lfs find: the file is examined
/// ```
///
/// # Errors
/// Returns what is wrong.
pub(super) fn parse(line: &[u8]) -> Result<ListedFile<'_>, String> {
    let mut fields = line.splitn(3, |&byte| byte == b'\t');
    let first = fields.next().unwrap_or_default();
    match (fields.next(), fields.next()) {
        (Some(time), Some(path)) => {
            let size = number(first).ok_or("the first field is no size in bytes")?;
            let time = exact_time(time).ok_or("the second field is no time in seconds")?;
            Ok(ListedFile::new(path, Some(known(size, time))))
        }
        (Some(path), None) => {
            let size = number(first).ok_or("the first field is no size in bytes")?;
            Ok(ListedFile::new(path, Some(known(size, None))))
        }
        _ => match policy(line) {
            Some((size, path)) => Ok(ListedFile::new(path, size.map(|size| known(size, None)))),
            None => Ok(ListedFile::new(line, None)),
        },
    }
}

/// Parses a line of a GPFS list: three numbers, what the rule shows, ` -- ` and the path.
fn policy(line: &[u8]) -> Option<(Option<u64>, &[u8])> {
    let at = line.windows(4).position(|window| window == b" -- ")?;
    let head = &line[..at];
    let path = &line[at + 4..];
    let mut words = head.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    for _ in 0..3 {
        number(words.next()?)?;
    }
    Some((words.next().and_then(number), path))
}

pub(super) fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Parses seconds with decimals, of which nine count. Returns `Some(None)` for a time with fewer decimals: it would
/// differ from the time of the unchanged file.
pub(super) fn exact_time(text: &[u8]) -> Option<Option<(i64, i64)>> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let negative = whole.starts_with('-');
    let whole: i64 = whole.parse().ok()?;
    if !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let Some(nine) = decimals.get(..9) else { return Some(None) };
    let nanoseconds: i64 = nine.parse().ok()?;
    Some(Some(if negative && nanoseconds > 0 {
        (whole - 1, 1_000_000_000 - nanoseconds)
    } else {
        (whole, nanoseconds)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(size: u64, stamp: u32, changed: i64) -> Option<Known> {
        Some(Known { size, stamp, changed })
    }

    #[test]
    fn lines_of_all_tools_are_parsed() {
        let time = stamp(1_700_000_000, 123_456_789);
        let changed = 1_700_000_000_123_456_789;
        for (line, path, facts) in [
            ("12\t1700000000.1234567890\t/a/b c.jpg", "/a/b c.jpg", facts(12, time, changed)),
            ("12\ta.jpg", "a.jpg", facts(12, UNKNOWN_TIME, i64::MIN)),
            (
                "417 65537 0   98304  -- /gpfs/x.jpg",
                "/gpfs/x.jpg",
                facts(98304, UNKNOWN_TIME, i64::MIN),
            ),
            ("417 65537 0   -- /gpfs/x.jpg", "/gpfs/x.jpg", None),
            ("some -- name.jpg", "some -- name.jpg", None),
            ("/lustre/a.jpg", "/lustre/a.jpg", None),
        ] {
            let listed = parse(line.as_bytes()).unwrap();
            assert_eq!((listed.path, listed.facts), (path.as_bytes(), facts), "{line}");
        }
        assert!(parse(b"x\ta.jpg").unwrap_err().contains("size"));
        assert!(parse(b"1\tyesterday\ta.jpg").unwrap_err().contains("time"));
        assert_eq!(exact_time(b"1700000000.12"), Some(None));
        assert_eq!(exact_time(b"-1.2500000000"), Some(Some((-2, 750_000_000))));
    }
}
