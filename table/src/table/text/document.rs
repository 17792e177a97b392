//! `JsonDocument`: the rows of a list or an object inside a JSON document.
//!
//! The document is read as a stream: memory holds one row. What is around the rows is checked and skipped.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_base::json_rules::remedy;
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::name;

use crate::table::text::cursor::Cursor;
use crate::table::text::objects::{Fields, read_object};
use crate::table::{Cell, TableOptions, TableReader, TableRow, bad_row};

/// The column with the name of a row that is a member of an object.
const KEY: &str = "key";
/// Names that a message lists.
const LISTED: usize = 30;

/// A list or an object around the rows.
#[derive(Debug)]
enum Frame {
    /// An object, and the name of its member that has the rows.
    Object(String),
    List,
}

/// The rows of a JSON document.
pub(crate) struct JsonDocument {
    cursor: Cursor,
    rules: JsonRules,
    /// What is around the rows, the outermost first.
    frames: Vec<Frame>,
    /// Whether the rows are the members of an object.
    has_names: bool,
    fields: Fields,
    rows: u64,
    element: Vec<u8>,
    is_over: bool,
}

impl JsonDocument {
    /// Opens the document at `path` before its first row.
    ///
    /// # Errors
    /// Returns an error if there are no rows at the pointer of the options, for a malformed text before them, and if the
    /// operating system refuses.
    pub(crate) fn open(path: &Path, options: &TableOptions) -> Result<JsonDocument, Failure> {
        let mut cursor = Cursor::open(path, options)?;
        let at = options.at.as_deref();
        let steps = match at.unwrap_or("/").strip_prefix('/').filter(|rest| !rest.is_empty()) {
            Some(steps) => steps.split('/').map(unescaped).collect(),
            None => Vec::new(),
        };
        let mut frames = Vec::new();
        for step in &steps {
            frames.push(descend(&mut cursor, step, &steps, path)?);
        }
        let has_names = match cursor.peek()? {
            Some(b'[') => false,
            Some(b'{') if at.is_some() => true,
            Some(b'{') => return Err(without_pointer(cursor, path)),
            None => return Err(Failure::bad_data("the document is empty").in_file(path)),
            Some(_) => {
                let what = "expected a list of rows, or an object whose members are rows";
                return Err(cursor.fault(cursor.at(), what));
            }
        };
        cursor.expect(if has_names { b'{' } else { b'[' })?;
        let mut fields = Fields::new(&options.texts);
        if has_names {
            fields.number(KEY).map_err(|why| cursor.fault(cursor.at(), why))?;
        }
        let rules = options.rules;
        let element = Vec::new();
        Ok(JsonDocument {
            cursor,
            rules,
            frames,
            has_names,
            fields,
            rows: 0,
            element,
            is_over: false,
        })
    }

    /// Reads the rest of the document, behind the rows.
    fn finish(&mut self) -> Result<(), Failure> {
        self.is_over = true;
        while let Some(frame) = self.frames.pop() {
            let end = if matches!(frame, Frame::List) { b']' } else { b'}' };
            while self.cursor.next_member(false, end)? {
                if let Frame::Object(taken) = &frame {
                    let start = self.cursor.at();
                    if self.cursor.name()? == *taken {
                        let taken = name::shown(taken.as_bytes());
                        let what = format!(
                            "'{taken}' occurs twice in one object, and readers differ in which value they take"
                        );
                        return Err(self.cursor.fault(start, what));
                    }
                }
                self.cursor.skip()?;
            }
        }
        self.cursor.end()
    }

    /// Puts the name of a row into it.
    fn set_name(&self, name: &str, row: &mut TableRow) -> Result<(), Failure> {
        if row.cell(0) != Cell::Absent {
            let reason = "the row has a member 'key', and its own name would be the column 'key', too; \
                          make a list of it: jq '[to_entries[] | {name: .key} + .value]'";
            let path = &self.cursor.origin().path;
            return Err(bad_row(path, row.number, row.byte, reason));
        }
        let span = row.add_text(name);
        row.set(0, Cell::Text(span));
        Ok(())
    }
}

impl TableReader for JsonDocument {
    fn columns(&self) -> &[String] {
        self.fields.names()
    }

    fn next(&mut self, row: &mut TableRow) -> Result<bool, Failure> {
        if self.is_over {
            return Ok(false);
        }
        let end = if self.has_names { b'}' } else { b']' };
        if !self.cursor.next_member(self.rows == 0, end)? {
            self.finish()?;
            return Ok(false);
        }
        let name = self.has_names.then(|| self.cursor.name()).transpose()?;
        self.cursor.peek()?;
        let start = self.cursor.at();
        let number = self.rows + 1;
        row.begin(number, self.cursor.origin().byte(start), self.fields.names().len());
        self.cursor.take(&mut self.element)?;
        let read = read_object(&self.element, self.rules, row, &mut self.fields);
        if let Err(fault) = read {
            let why =
                fault.advised(message!("write null, or the text, or {remedy}"; remedy = remedy()));
            let origin = self.cursor.origin();
            let byte = origin.byte(start + fault.byte as u64);
            let why = message!("it is no JSON object: {why}"; why = why);
            return Err(bad_row(&origin.path, number, byte, why));
        }
        self.rows += 1;
        if let Some(name) = name {
            self.set_name(&name, row)?;
        }
        Ok(true)
    }
}

/// Undoes the escapes of a step of a JSON pointer.
fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Moves to the member of the next value that a step names.
fn descend(
    cursor: &mut Cursor,
    step: &str,
    steps: &[String],
    path: &Path,
) -> Result<Frame, Failure> {
    let mut is_first = true;
    match cursor.peek()? {
        Some(b'{') => {
            cursor.expect(b'{')?;
            let mut names = Vec::new();
            while cursor.next_member(is_first, b'}')? {
                is_first = false;
                let name = cursor.name()?;
                if name == step {
                    return Ok(Frame::Object(name));
                }
                if names.len() < LISTED {
                    names.push(format!("'{}'", name::shown(name.as_bytes())));
                }
                cursor.skip()?;
            }
            let has = if names.is_empty() { "no members".into() } else { names.join(", ") };
            Err(absent(step, steps, &format!("the object has {has}"), path))
        }
        Some(b'[') => {
            let Ok(wanted) = step.parse::<u64>() else {
                return Err(absent(
                    step,
                    steps,
                    "there is a list, whose elements have numbers",
                    path,
                ));
            };
            cursor.expect(b'[')?;
            let mut number = 0;
            while cursor.next_member(number == 0, b']')? {
                if number == wanted {
                    return Ok(Frame::List);
                }
                cursor.skip()?;
                number += 1;
            }
            Err(absent(step, steps, &format!("the list has {number} elements"), path))
        }
        _ => Err(absent(step, steps, "there is no list and no object", path)),
    }
}

/// Returns the error for a step of a pointer that the document lacks.
fn absent(step: &str, steps: &[String], why: &str, path: &Path) -> Failure {
    let step = name::shown(step.as_bytes());
    let at = name::shown(steps.join("/").as_bytes());
    Failure::usage(format!("at=/{at}: there is no '{step}': {why}")).in_file(path)
}

/// Returns the error for a document that is an object, without a pointer to its rows.
fn without_pointer(mut cursor: Cursor, path: &Path) -> Failure {
    let found = match pointers(&mut cursor) {
        Ok(found) => found,
        Err(failure) => return failure,
    };
    let text = if found.follows {
        "it has an object on each line; give jsonl:FILE, and name the file .jsonl for a table that is joined".into()
    } else {
        let named = match found.pointers.as_slice() {
            [] => "at=/NAME".into(),
            pointers => pointers.join(", "),
        };
        format!(
            "the document is an object; at= names the list that has the rows ({named}), and at=/ makes a row of each \
             member"
        )
    };
    Failure::usage(text).in_file(path)
}

/// The lists and objects in an object.
struct Found {
    /// The options that name them.
    pointers: Vec<String>,
    /// Whether text follows the object.
    follows: bool,
}

/// Finds the lists and objects that are members of the next value, an object.
fn pointers(cursor: &mut Cursor) -> Result<Found, Failure> {
    let mut pointers = Vec::new();
    cursor.expect(b'{')?;
    let mut is_first = true;
    while cursor.next_member(is_first, b'}')? {
        is_first = false;
        let name = cursor.name()?;
        if matches!(cursor.peek()?, Some(b'[' | b'{')) && pointers.len() < LISTED {
            let step = name.replace('~', "~0").replace('/', "~1");
            pointers.push(format!("at=/{}", name::shown(step.as_bytes())));
        }
        cursor.skip()?;
    }
    Ok(Found { pointers, follows: cursor.peek()?.is_some() })
}
