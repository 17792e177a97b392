//! `places`: where the rows of a column of numbers are in a Parquet file, if they are there as they
//! are: uncompressed pages of plain numbers.
//!
//! Reads page headers and the levels of lists, and none of the numbers: the file is mapped.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::serialized_reader::SerializedPageReader;
use tarflume_base::Failure;
use tarflume_formats::Mapped;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_table::parquet::{ParquetFile, failure, guarded};

use super::walk::Element;
use crate::rows::{FoundArray, FoundRows};

struct Owner(Arc<Mapped>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Finds the rows of a column.
///
/// # Errors
/// Returns an error if the column does not consist of numbers or lists of numbers of one length, or
/// is compressed, encoded or has nulls.
pub(crate) fn places(path: &Path, name: &str) -> Result<FoundArray, Failure> {
    let file = ParquetFile::open(path)?;
    let schema = file.schema();
    let found: Vec<usize> = (0..schema.num_columns())
        .filter(|leaf| {
            let column = schema.column(*leaf);
            column.path().string() == name
                || column.path().parts().first().is_some_and(|p| p == name)
        })
        .collect();
    let &[leaf] = &found[..] else {
        return Err(refused(format!("means {} columns of values", found.len()), path, name));
    };
    let column = schema.column(leaf);
    let element = Element::of(&column).filter(|element| element.name != "bool");
    let physical = column.physical_type();
    let width = match physical {
        parquet::basic::Type::INT32 | parquet::basic::Type::FLOAT => 4,
        parquet::basic::Type::INT64 | parquet::basic::Type::DOUBLE => 8,
        _ => 2, // float16, or no element
    };
    let element = element.filter(|element| element.size == width);
    let element = element.ok_or_else(|| {
        refused("has no numbers that Parquet stores as they are".into(), path, name)
    })?;
    if column.max_rep_level() > 1 {
        return Err(refused("has lists of lists".into(), path, name));
    }
    let mapped = Arc::new(Mapped::open(path)?);
    let whole = Arc::new(Bytes::from_owner(Owner(mapped.clone())));
    let levels = (column.max_rep_level() > 0, column.max_def_level() > 0);
    let mut pages =
        PageList { whole, size: width as u64, levels, length: None, places: Vec::new() };
    for (n, group) in file.metadata().row_groups().iter().enumerate() {
        let metadata = group.column(leaf);
        if metadata.compression() != Compression::UNCOMPRESSED {
            return Err(refused("is compressed".into(), path, name));
        }
        let rows = file.group(n).1;
        let before: u64 = pages.rows();
        let read = guarded(|| pages.group(metadata, rows as usize));
        match read {
            Ok(()) if pages.rows() - before == rows => {}
            Ok(()) => {
                return Err(refused(
                    format!("has other rows than row group {n} declares"),
                    path,
                    name,
                ));
            }
            Err(ParquetError::NYI(why)) => return Err(refused(why, path, name)),
            Err(error) => return Err(failure(error, path, &format!("row group {n}"))),
        }
    }
    mapped.intact()?;
    let row = if levels.0 { vec![pages.length.unwrap_or(0)] } else { Vec::new() };
    let rows = FoundRows::Places(pages.places);
    Ok(FoundArray { dtype: element.name.into(), row, rows })
}

fn refused(why: String, path: &Path, name: &str) -> Failure {
    Failure::usage(message!(
        "column '{name}' {why}, so its rows are not in the file as they are; write it with \
         pyarrow's compression='none', use_dictionary=False, or pack it: {build}";
        why = why,
        build = Call::of(Task::Build).on("parquet:")
    ))
    .in_file(path)
}

/// The pages of a column with plain numbers.
struct PageList {
    whole: Arc<Bytes>,
    /// Bytes of a number.
    size: u64,
    /// Whether there are levels of repetition and of definition.
    levels: (bool, bool),
    /// The length of the lists.
    length: Option<u64>,
    places: Vec<(u64, u64)>,
}

impl PageList {
    fn rows(&self) -> u64 {
        self.places.iter().map(|(_, rows)| rows).sum()
    }

    fn group(
        &mut self,
        metadata: &parquet::file::metadata::ColumnChunkMetaData,
        rows: usize,
    ) -> ParquetResult<()> {
        let mut pages = SerializedPageReader::new(self.whole.clone(), metadata, rows, None)?;
        while let Some(page) = pages.get_next_page()? {
            self.page(&page)?;
        }
        Ok(())
    }

    fn page(&mut self, page: &Page) -> ParquetResult<()> {
        let values = u64::from(page.num_values());
        let bytes: &[u8] = page.buffer();
        let (repetitions, rest) = match *page {
            Page::DictionaryPage { .. } => return Err(not_plain("has a dictionary")),
            Page::DataPage { rep_level_encoding, def_level_encoding, .. } => {
                if (self.levels.0 && rep_level_encoding != Encoding::RLE)
                    || (self.levels.1 && def_level_encoding != Encoding::RLE)
                {
                    return Err(not_plain("has levels of an old kind"));
                }
                let (repetitions, rest) =
                    if self.levels.0 { framed(bytes)? } else { (&[][..], bytes) };
                (repetitions, if self.levels.1 { framed(rest)?.1 } else { rest })
            }
            Page::DataPageV2 { rep_levels_byte_len, def_levels_byte_len, .. } => {
                let r = rep_levels_byte_len as usize;
                let d = def_levels_byte_len as usize;
                let cut = bytes.split_at_checked(r).and_then(|(r, rest)| Some((r, rest.get(d..)?)));
                cut.ok_or_else(short)?
            }
        };
        if page.encoding() != Encoding::PLAIN {
            return Err(not_plain("is encoded"));
        }
        // Each null would be a number less.
        if rest.len() as u64 != values * self.size {
            return Err(not_plain("has nulls or empty lists"));
        }
        let length = if self.levels.0 { even(repetitions, values, self.length)? } else { 1 };
        self.length = Some(length);
        let at = rest.as_ptr() as usize - self.whole.as_ptr() as usize;
        if values > 0 {
            self.places.push((at as u64, values / length));
        }
        Ok(())
    }
}

/// Returns the error for a column whose lists have no common length, or begin and end in different pages.
fn uneven() -> ParquetError {
    ParquetError::NYI("has lists of different lengths, or a list in two pages".into())
}

fn short() -> ParquetError {
    ParquetError::EOF("a page ends inside its levels".into())
}

/// Returns the error for a page that does not have its values one after another as plain numbers.
fn not_plain(reason: &str) -> ParquetError {
    ParquetError::NYI(reason.into())
}

/// Splits levels with their length in front from what follows.
fn framed(bytes: &[u8]) -> ParquetResult<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(short)
}

/// Returns the length of all lists of a page, whose levels of repetition are runs of bits: 0 where a
/// list begins.
fn even(mut levels: &[u8], values: u64, length: Option<u64>) -> ParquetResult<u64> {
    let mut lists = EvenLists { length, at: 0 };
    let mut left = values;
    while left > 0 {
        let mut header = 0u64;
        for shift in (0..35).step_by(7) {
            let (&byte, rest) = levels.split_first().ok_or_else(short)?;
            levels = rest;
            header |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let count = match header & 1 {
            0 => (header >> 1).min(left),
            _ => ((header >> 1) * 8).min(left),
        };
        if count == 0 {
            return Err(short());
        }
        let packed = if header & 1 == 0 { 1 } else { (header >> 1) as usize };
        let (bits, rest) = levels.split_at_checked(packed).ok_or_else(short)?;
        levels = rest;
        for n in 0..count {
            lists.level(if header & 1 == 0 {
                bits[0] & 1
            } else {
                bits[(n / 8) as usize] >> (n % 8) & 1
            })?;
        }
        left -= count;
    }
    let length = lists.length.unwrap_or(values).max(1);
    if values.is_multiple_of(length) { Ok(length) } else { Err(uneven()) }
}

/// Lists of one length, as their levels come.
struct EvenLists {
    /// The length, as soon as it is known.
    length: Option<u64>,
    /// The number of the next value.
    at: u64,
}

impl EvenLists {
    #[inline]
    fn level(&mut self, bit: u8) -> ParquetResult<()> {
        let at = self.at;
        match (bit, self.length) {
            (0, None) if at > 0 => self.length = Some(at),
            (0, Some(length)) if !at.is_multiple_of(length) => return Err(uneven()),
            (1, Some(length)) if at.is_multiple_of(length) => return Err(uneven()),
            (1, None) if at == 0 => return Err(uneven()),
            _ => {}
        }
        self.at += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_tell_whether_lists_have_one_length() {
        // 8 bits: lists begin at 0 and 4, the lowest bit first.
        assert_eq!(even(&[3, 0b1110_1110], 8, None).unwrap(), 4);
        assert_eq!(even(&[3, 0b1110_1110], 8, Some(4)).unwrap(), 4);
        assert!(even(&[3, 0b1110_1110], 8, Some(3)).is_err());
        assert!(even(&[3, 0b1101_1110], 8, None).is_err());
        assert!(even(&[3, 0b1110_1111], 8, None).is_err()); // begins inside a list
        // Runs: one 0, seven 1.
        assert_eq!(even(&[2, 0, 14, 1], 8, None).unwrap(), 8);
        assert_eq!(even(&[16, 0], 8, None).unwrap(), 1);
        assert!(even(&[2, 0], 8, None).is_err() && even(&[3], 8, None).is_err());
        assert!(even(&[3, 0b1110_1110], 7, Some(4)).is_err()); // ends inside a list
    }
}
