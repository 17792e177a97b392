//! `Keys`: the file of a chunk under the folder of its array. Pure.

/// How places in the grid of chunks become names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys {
    /// What comes before the numbers, as one of them: `c` of the encoding `default`.
    pub(super) prefix: Option<&'static str>,
    /// `/` or `.`.
    pub(super) separator: char,
}

impl Keys {
    /// Returns the name of the chunk at a place: `c/0/1`.
    pub(super) fn key(&self, place: &[u64]) -> String {
        let mut name = self.prefix.unwrap_or("").to_string();
        for (n, number) in place.iter().enumerate() {
            if n > 0 || self.prefix.is_some() {
                name.push(self.separator);
            }
            name.push_str(&number.to_string());
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(prefix: Option<&'static str>, separator: char) -> String {
        Keys { prefix, separator }.key(&[1, 0, 12])
    }

    #[test]
    fn places_are_names() {
        assert_eq!(key(Some("c"), '/'), "c/1/0/12");
        assert_eq!(key(Some("c"), '.'), "c.1.0.12");
        assert_eq!(key(None, '.'), "1.0.12");
        assert_eq!(key(None, '/'), "1/0/12");
    }
}
