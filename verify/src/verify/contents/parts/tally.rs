//! `Tally`: samples of a shard with the same remark, their number and the first keys.

use std::path::Path;

use tarflume_base::{Problem, ProblemKind, units};
use tarflume_formats::name;

/// Keys that a remark names.
const NAMED: usize = 5;

/// The number of samples, and the first of them.
#[derive(Debug, Default)]
pub(super) struct Tally {
    count: u64,
    /// Byte of the first one's part.
    at: u64,
    keys: Vec<String>,
}

impl Tally {
    /// Adds the sample of a part at this byte of the tar.
    pub(super) fn add(&mut self, key: &[u8], at: u64) {
        if self.count == 0 {
            self.at = at;
        }
        self.count += 1;
        if self.keys.len() < NAMED {
            self.keys.push(name::shown(key));
        }
    }

    /// Returns a warning about all of them, at the place of the first one.
    pub(super) fn warning(&self, kind: ProblemKind, tar: &Path, what: &str) -> Option<Problem> {
        let first = self.keys.first()?;
        let mut others = self.keys[1..].to_vec();
        let more = self.count - self.keys.len() as u64;
        if more > 0 {
            others.push(units::counted(more, "other sample", "other samples"));
        }
        let too = match others.as_slice() {
            [] => String::new(),
            others => format!("; of this shard, {} too", others.join(", ")),
        };
        let path = tar.display().to_string();
        Some(Problem::new(kind, path, format!("{what}{too}")).at(self.at).of(first.clone()))
    }

    /// Returns a warning about pictures of one color.
    pub(super) fn constant(&self, tar: &Path) -> Option<Problem> {
        self.warning(ProblemKind::ConstantPicture, tar, "all pixels of this picture are equal")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_names_the_first_keys_and_counts_the_others() {
        let mut tally = Tally::default();
        assert_eq!(tally.constant(Path::new("a.tar")), None);
        tally.add(b"k0", 512);
        let one = tally.constant(Path::new("a.tar")).unwrap().to_string();
        assert_eq!(
            one,
            "constant-picture: a.tar: byte 512: key k0: all pixels of this picture are equal"
        );
        (1..8).for_each(|n| tally.add(format!("k{n}").as_bytes(), 9));
        let many = tally.constant(Path::new("a.tar")).unwrap().to_string();
        assert!(many.ends_with("; of this shard, k1, k2, k3, k4, 3 other samples too"), "{many}");
    }
}
