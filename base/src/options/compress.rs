//! `Compress`: whether shards are compressed, and how. Pure.

use std::fmt;

/// The ending of the names of shards.
pub const PLAIN: &str = ".tar";
/// The ending of the names of compressed shards.
pub const COMPRESSED: &str = ".tar.zst";
/// The usual level: the one of the program zstd.
const LEVEL: i32 = 3;

/// A compression of shards: frames of zstd, as `tarflume_formats::frames` describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compress {
    level: i32,
}

impl Compress {
    /// Parses `zstd` or `zstd:LEVEL`, with a level from 1 to 22.
    ///
    /// # Errors
    /// Returns an error that shows the expected form.
    pub fn parse(text: &str) -> Result<Compress, String> {
        let (word, level) = text.split_once(':').unwrap_or((text, ""));
        let level = if level.is_empty() { Some(LEVEL) } else { level.parse().ok() };
        match level.filter(|level| word == "zstd" && (1..=22).contains(level)) {
            Some(level) => Ok(Compress { level }),
            None => Err(format!(
                "'{text}' is no compression; give zstd or zstd:LEVEL with a level from 1 to 22"
            )),
        }
    }

    /// Returns the level of zstd.
    pub fn level(self) -> i32 {
        self.level
    }

    /// Returns the ending of the names of shards.
    pub fn ending(compress: Option<Compress>) -> &'static str {
        if compress.is_some() { COMPRESSED } else { PLAIN }
    }
}

impl fmt::Display for Compress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zstd:{}", self.level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_from_1_to_22_and_3_by_default() {
        assert_eq!(Compress::parse("zstd").unwrap().to_string(), "zstd:3");
        assert_eq!(Compress::parse("zstd:19").unwrap().level(), 19);
        for text in ["", "gzip", "zstd:0", "zstd:23", "zstd:-1", "zstd:x", "zstd3"] {
            assert!(Compress::parse(text).unwrap_err().contains("zstd:LEVEL"), "{text}");
        }
    }
}
