//! The separator of a table whose extension names none, from its first lines.

use std::io::Read;
use std::path::Path;

use ::csv::ByteRecord;
use tarflume_base::Failure;

use crate::table::TableOptions;
use crate::table::header::Header;
use crate::table::separator::Separator;
use crate::table::text::stream;
use crate::table::text::words::{Fields, divide};

/// Bytes that are looked at.
const LOOKED: usize = 64 << 10;
/// Lines that are compared.
const LINES: usize = 64;

/// Extensions of files that are no tables of text.
const OTHERS: [&str; 18] = [
    "json", "xml", "html", "yaml", "yml", "xlsx", "xls", "ods", "mat", "h5", "hdf5", "npy", "npz",
    "pkl", "pickle", "zip", "arrow", "feather",
];

/// Whether the file has another format, by its extension or a byte that no text has.
fn has_other_format(path: &Path, head: &[u8]) -> bool {
    let ext = path.extension().map(|ext| ext.to_string_lossy().to_ascii_lowercase());
    head.contains(&0) || ext.is_some_and(|ext| OTHERS.contains(&ext.as_str()))
}

/// Returns the separator that gives all first lines the same number of fields: a tab, a comma, a semicolon, a bar, or
/// blanks; or none, if no line has a separator. Returns `None` for lines of JSON objects.
///
/// # Errors
/// Returns an error if no separator does, and if the operating system refuses.
pub(crate) fn separator(path: &Path, options: &TableOptions) -> Result<Option<Separator>, Failure> {
    let stream::OpenText { text, origin, .. } = stream::open_with(path, options)?;
    let mut head = Vec::new();
    text.take(LOOKED as u64).read_to_end(&mut head).map_err(|e| origin.refused(e, 1))?;
    if has_other_format(path, &head) {
        return Err(Failure::usage(
            "the file is no table; .csv, .tsv and .jsonl are read, also with .gz and .zst after them, .parquet, and text \
             with other extensions",
        )
        .in_file(path));
    }
    if options.header == Header::Usual && head.trim_ascii_start().starts_with(b"{") {
        return Ok(None);
    }
    let is_cut = head.len() == LOOKED;
    let mut lines: Vec<&[u8]> = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).collect();
    if is_cut && lines.len() > 1 {
        lines.pop();
    }
    lines.retain(|line| !line.is_empty());
    lines.truncate(LINES);
    if options.header.has_rest() {
        return Ok(Some(Separator::Blanks));
    }
    let named = match &options.header {
        Header::Names(names) => Some(names.len()),
        _ => None,
    };
    of_lines(&lines, named).map(Some).ok_or_else(|| {
        Failure::usage(
            "neither its extension nor its lines tell what separates the fields; give sep=tab, sep=space for runs of \
             blanks, sep=line for one field a line, or sep=CHARACTER",
        )
        .in_file(path)
    })
}

/// Returns the separator of these lines, which have `named` columns if that is known.
fn of_lines(lines: &[&[u8]], named: Option<usize>) -> Option<Separator> {
    if lines.is_empty() || named == Some(1) {
        return Some(Separator::Lines);
    }
    let bytes = [b'\t', b',', b';', b'|'].map(Separator::Byte);
    let all = bytes.into_iter().chain([Separator::Blanks]);
    let agreed = all.clone().find(|&separator| agree(lines, separator, named));
    agreed.or_else(|| {
        let has_none = all.clone().all(|s| lines.iter().all(|line| fields(line, s) == 1));
        has_none.then_some(Separator::Lines)
    })
}

/// Whether each line has the same number of fields, of which there are several. The names of columns may be one less, if
/// they are words: some tables have no name for their first column.
fn agree(lines: &[&[u8]], separator: Separator, named: Option<usize>) -> bool {
    let Some((first, below)) = lines.split_first() else { return false };
    let first = fields(first, separator);
    let count = below.first().map_or(first, |line| fields(line, separator));
    let may_differ = named.is_none() && separator == Separator::Blanks;
    count > 1
        && named.is_none_or(|named| named == count)
        && below.iter().all(|line| fields(line, separator) == count)
        && (first == count || (may_differ && first + 1 == count))
}

fn fields(line: &[u8], separator: Separator) -> usize {
    match separator {
        Separator::Byte(byte) => line.iter().filter(|&&other| other == byte).count() + 1,
        Separator::Blanks => {
            let mut record = ByteRecord::new();
            divide(line, Fields::Words, &mut record);
            record.len()
        }
        Separator::Lines => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, named: Option<usize>) -> Option<Separator> {
        let lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
        of_lines(&lines, named)
    }

    #[test]
    fn lines_that_agree_tell_the_separator() {
        for (text, wanted) in [
            ("a.jpg 0\nb.jpg  12", Some(Separator::Blanks)),
            ("a.jpg\t0\nb c.jpg\t1", Some(Separator::Byte(b'\t'))),
            ("a.jpg,x y\nb.jpg,z", Some(Separator::Byte(b','))),
            ("LJ1|in the\nLJ2|of", Some(Separator::Byte(b'|'))),
            ("490\n361\n", Some(Separator::Lines)),
            ("Bald Big_Nose\n1.jpg -1 1\n2.jpg 1 1", Some(Separator::Blanks)),
            ("84-1 GO DO\n84-2 YOU\n", None),
            ("", Some(Separator::Lines)),
        ] {
            assert_eq!(of(text, None), wanted, "{text:?}");
        }
        assert_eq!(of("a 1,2\nb 3,4", Some(2)), Some(Separator::Byte(b',')));
        assert_eq!(of("a b,c\nd e,f", Some(3)), None);
        assert_eq!(of("a b\nc d", Some(1)), Some(Separator::Lines));
    }
}
