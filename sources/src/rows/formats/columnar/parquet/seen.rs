//! `Spy`: reads the pages of a column and notes where they are, so that values of uncompressed pages are found again in
//! the file. Decodes nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::Result;
use parquet::file::serialized_reader::SerializedPageReader;
use tarflume_table::parquet::Pages;

pub(super) fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pages that the current row can be in, if they are uncompressed.
#[derive(Default)]
pub(super) struct Seen {
    dictionary: Option<SeenPage>,
    pages: Vec<SeenPage>,
    levels: u64,
}

pub(super) struct SeenPage {
    bytes: Bytes,
    /// The position of its bytes in the file.
    at: u64,
    /// The number of its first level in the column chunk, and of its levels.
    first: u64,
    levels: u64,
    plain: bool,
}

impl Seen {
    /// Returns the position of a value that is a part of a page's memory.
    pub(super) fn position(&self, value: &[u8]) -> Option<u64> {
        let pages = self.pages.iter().chain(&self.dictionary);
        pages
            .into_iter()
            .find_map(|page| {
                let skip = (value.as_ptr() as usize).checked_sub(page.bytes.as_ptr() as usize)?;
                let end = skip.checked_add(value.len())?;
                (end <= page.bytes.len()).then(|| page.at + skip as u64)
            })
            .filter(|_| !value.is_empty())
    }

    /// Returns the position of numbers of `size` bytes of a page without nulls, whose numbers are its last bytes. The
    /// bytes there are compared, so that no assumption about the page can be wrong.
    pub(super) fn numbers(&self, first: u64, packed: &[u8], size: u64) -> Option<u64> {
        let count = packed.len() as u64 / size;
        let page = self
            .pages
            .iter()
            .find(|p| p.first <= first && first + count <= p.first + p.levels)
            .filter(|page| page.plain)?;
        let start = (page.bytes.len() as u64).checked_sub(page.levels.checked_mul(size)?)?;
        let skip = start.checked_add((first - page.first) * size)?;
        let there = page.bytes.get(skip as usize..skip as usize + packed.len())?;
        (there == packed && !packed.is_empty()).then(|| page.at + skip)
    }

    /// Drops the pages that no later row is in.
    pub(super) fn forget(&mut self) {
        if self.pages.len() > 1 {
            self.pages.drain(..self.pages.len() - 1);
        }
    }
}

/// Reads pages and notes where they are.
pub(super) struct Spy {
    pub(super) inner: SerializedPageReader<Pages>,
    pub(super) pages: Arc<Pages>,
    pub(super) seen: Arc<Mutex<Seen>>,
    pub(super) plain: bool,
}

impl Iterator for Spy {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Spy {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        if let Some(page) = &page {
            let mut seen = lock(&self.seen);
            let levels = if page.is_data_page() { u64::from(page.num_values()) } else { 0 };
            let first = seen.levels;
            seen.levels += levels;
            if self.plain {
                let plain = page.encoding() == Encoding::PLAIN;
                let bytes = page.buffer().clone();
                let at = self.pages.last();
                let noted = SeenPage { bytes, at, first, levels, plain };
                if page.is_data_page() {
                    seen.pages.push(noted)
                } else {
                    seen.dictionary = Some(noted)
                }
            }
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.inner.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        self.inner.take_deferred_dictionary()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.inner.at_record_boundary()
    }
}
