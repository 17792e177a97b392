//! `FileGlob`: a pattern of the names of files: `test_batch*`, `test/*.parquet`.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// A pattern of the last components of paths: of the name of a file, with slashes also of the folders before it.
#[derive(Debug, Clone)]
pub struct FileGlob {
    text: String,
    matcher: GlobMatcher,
    /// The components that the pattern has.
    depth: usize,
}

impl FileGlob {
    /// Parses a pattern. `*` matches no slash.
    ///
    /// # Errors
    /// Returns why the text is no pattern.
    pub fn parse(text: &str) -> Result<FileGlob, String> {
        let depth = text.split('/').count();
        if text.split('/').any(|piece| piece.is_empty() || piece == "**") {
            return Err(format!(
                "'{text}' is no pattern of the end of a path; give one as test_batch* or test/*"
            ));
        }
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        let matcher = glob.map_err(|error| error.to_string())?.compile_matcher();
        Ok(FileGlob { text: text.into(), matcher, depth })
    }

    /// Returns the pattern as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if the end of an absolute path has this form.
    pub fn is_match(&self, path: &Path) -> bool {
        let names = path.components().filter(|part| matches!(part, Component::Normal(_)));
        let skipped = names.clone().count().saturating_sub(self.depth);
        self.matcher.is_match(names.skip(skipped).collect::<PathBuf>())
    }
}

impl PartialEq for FileGlob {
    fn eq(&self, other: &FileGlob) -> bool {
        self.text == other.text
    }
}

impl Eq for FileGlob {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_of_the_end_of_a_path() {
        for (glob, path, is_match) in [
            ("test*", "/d/test_batch.bin", true),
            ("test*", "/test/data_batch_1.bin", false),
            ("*batch*", "/d/data_batch_1.bin", true),
            ("test/*", "/d/test/0.parquet", true),
            ("test/*", "/d/test/a/0.parquet", false),
            ("test/*", "/0.parquet", false),
            ("data_batch_[1-4].bin", "/d/data_batch_4.bin", true),
            ("{a,b}.npz", "/d/b.npz", true),
        ] {
            let found = FileGlob::parse(glob).unwrap().is_match(Path::new(path));
            assert_eq!(found, is_match, "{glob} {path}");
        }
        for wrong in ["", "/a", "a//b", "**/a", "["] {
            assert!(FileGlob::parse(wrong).is_err(), "{wrong}");
        }
    }
}
