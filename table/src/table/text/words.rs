//! `WordReader`: records whose fields are separated by blanks, or that are whole lines.

use std::io::{self, BufRead, BufReader, Read};

use ::csv::{ByteRecord, Position};

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;

/// How a line is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fields {
    /// It is one field.
    Line,
    /// Its words.
    Words,
    /// So many words, the last of which has the rest of the line.
    WordsAndRest(usize),
}

/// Reads records, one a line. Empty lines are none.
#[derive(Debug)]
pub(crate) struct WordReader<R> {
    text: BufReader<R>,
    fields: Fields,
    line: Vec<u8>,
    /// Bytes before the next line.
    at: u64,
}

impl<R: Read> WordReader<R> {
    pub(crate) fn new(text: R, fields: Fields) -> WordReader<R> {
        let text = BufReader::with_capacity(BUFFER, text);
        WordReader { text, fields, line: Vec::new(), at: 0 }
    }

    /// Reads the next record; returns false at the end.
    ///
    /// # Errors
    /// Returns the errors of reading.
    pub(crate) fn read(&mut self, record: &mut ByteRecord) -> io::Result<bool> {
        record.clear();
        while record.is_empty() {
            self.line.clear();
            let start = self.at;
            let read = self.text.read_until(b'\n', &mut self.line)?;
            if read == 0 {
                return Ok(false);
            }
            self.at += read as u64;
            divide(self.line.trim_ascii(), self.fields, record);
            let mut position = Position::new();
            position.set_byte(start);
            record.set_position(Some(position));
        }
        Ok(true)
    }
}

/// Appends the fields of a line without white space at its ends.
pub(crate) fn divide(line: &[u8], fields: Fields, record: &mut ByteRecord) {
    if line.is_empty() {
        return;
    }
    let most = match fields {
        Fields::Line => 1,
        Fields::Words => usize::MAX,
        Fields::WordsAndRest(count) => count,
    };
    let mut rest = line;
    while record.len() + 1 < most {
        let end = rest.iter().position(|&byte| is_blank(byte));
        let Some(end) = end else { break };
        record.push_field(&rest[..end]);
        rest = rest[end..].trim_ascii_start();
    }
    record.push_field(rest);
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, fields: Fields) -> Vec<(u64, Vec<String>)> {
        let mut reader = WordReader::new(text.as_bytes(), fields);
        let mut record = ByteRecord::new();
        let mut records = Vec::new();
        while reader.read(&mut record).unwrap() {
            let words = record.iter().map(|f| String::from_utf8(f.to_vec()).unwrap()).collect();
            records.push((record.position().unwrap().byte(), words));
        }
        records
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    }

    #[test]
    fn runs_of_blanks_separate_words() {
        let text = "  a.jpg\t 1  -1 \r\n\n \nb c d";
        assert_eq!(
            read(text, Fields::Words),
            [(0, words(&["a.jpg", "1", "-1"])), (20, words(&["b", "c", "d"]))]
        );
        assert_eq!(read("", Fields::Words), []);
    }

    #[test]
    fn the_rest_of_a_line_is_one_field() {
        let text = "84-1 GO DO  YOU\nx\n";
        let found = [(0, words(&["84-1", "GO DO  YOU"])), (16, words(&["x"]))];
        assert_eq!(read(text, Fields::WordsAndRest(2)), found);
        assert_eq!(read(" a b \n", Fields::Line), [(0, words(&["a b"]))]);
    }
}
