//! `Ids`: the token ids of several documents, one after the other.

/// Token ids of documents in one piece of memory.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Ids {
    ids: Vec<u32>,
    /// Where each document ends.
    ends: Vec<usize>,
}

impl Ids {
    /// Adds a document.
    pub fn push(&mut self, ids: impl IntoIterator<Item = u32>) {
        self.ids.extend(ids);
        self.ends.push(self.ids.len());
    }

    /// Returns the number of documents.
    pub fn documents(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of ids of all documents.
    pub fn tokens(&self) -> u64 {
        self.ids.len() as u64
    }

    /// Returns the largest id; 0 if there is none.
    pub fn most(&self) -> u32 {
        self.ids.iter().copied().max().unwrap_or(0)
    }

    /// Returns the ids of each document.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.ids[begin..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_keep_their_ends_also_empty_ones() {
        let mut ids = Ids::default();
        for document in [&[1, 70_000][..], &[], &[3]] {
            ids.push(document.iter().copied());
        }
        let all: Vec<&[u32]> = ids.iter().collect();
        assert_eq!(all, [&[1, 70_000][..], &[], &[3]]);
        assert_eq!((ids.documents(), ids.tokens(), ids.most()), (3, 3, 70_000));
        assert_eq!(Ids::default().iter().count(), 0);
    }
}
