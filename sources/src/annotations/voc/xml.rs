//! One XML file of Pascal VOC.
//!
//! Elements are at most eight deep. Entities other than the five of XML and characters by number
//! are errors: nothing is expanded.

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, Event};
use tarflume_formats::json::{JsonRules, Number};

/// Limit on the depth of elements.
const MAX_DEPTH: usize = 8;
/// Limit on the objects of one image.
const MAX_OBJECTS: usize = 1 << 20;

/// The contents of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Annotation {
    /// Fields of the image: `filename`, `width`, `segmented`.
    pub(super) fields: Vec<(String, String)>,
    /// Its objects.
    pub(super) objects: Vec<Object>,
}

/// An object of an image.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Object {
    /// The name of its class.
    pub(super) name: String,
    /// xmin, ymin, xmax, ymax.
    pub(super) corners: [f64; 4],
    /// Other fields: `difficult`, `truncated`, `pose`.
    pub(super) fields: Vec<(String, String)>,
}

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct XmlFault {
    /// The byte of the file, if one part of it is wrong.
    pub(super) byte: Option<u64>,
    /// What is wrong.
    pub(super) reason: String,
}

impl XmlFault {
    /// Creates the fault of the whole file.
    pub(super) fn whole(reason: impl Into<String>) -> XmlFault {
        XmlFault { byte: None, reason: reason.into() }
    }
}

/// Parses a file.
///
/// # Errors
/// Returns the reason, with the byte, for malformed XML and for an object without name or box.
pub(super) fn parse(text: &str) -> Result<Annotation, XmlFault> {
    let mut reader = Reader::from_str(text);
    let mut read = Read::default();
    loop {
        let at = reader.buffer_position();
        match reader.read_event().map_err(|e| bad(e.to_string(), at))? {
            Event::Start(start) => {
                let name = start.name();
                read.open(name.as_ref()).map_err(|why| bad(why, at))?;
            }
            Event::Empty(empty) => {
                let name = empty.name();
                read.open(name.as_ref()).map_err(|why| bad(why, at))?;
                read.close().map_err(|why| bad(why, at))?;
            }
            Event::End(_) => read.close().map_err(|why| bad(why, at))?,
            Event::Text(piece) => {
                read.text.push_str(&piece.decode().map_err(|e| bad(e.to_string(), at))?);
            }
            Event::CData(piece) => {
                read.text.push_str(&piece.decode().map_err(|e| bad(e.to_string(), at))?);
            }
            Event::GeneralRef(reference) => {
                read.text.push_str(&resolved(&reference).map_err(|why| bad(why, at))?)
            }
            Event::Eof => break,
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    if !read.path.is_empty() {
        let last = &read.path[read.path.len() - 1];
        return Err(XmlFault::whole(format!("the element '{last}' is not closed")));
    }
    if !read.seen {
        return Err(XmlFault::whole("it has no element 'annotation'"));
    }
    Ok(read.annotation)
}

fn bad(reason: String, at: u64) -> XmlFault {
    XmlFault { byte: Some(at), reason }
}

/// Returns the text of a reference to a character or to an entity of XML.
///
/// # Errors
/// Returns the reason for any other entity.
pub(in crate::annotations) fn resolved(reference: &BytesRef<'_>) -> Result<String, String> {
    if let Some(character) = reference.resolve_char_ref().map_err(|e| e.to_string())? {
        return Ok(character.to_string());
    }
    let name = reference.decode().map_err(|e| e.to_string())?;
    let text = resolve_xml_entity(&name);
    text.map(str::to_string).ok_or_else(|| format!("the entity '{name}' is not known"))
}

/// What was read so far.
#[derive(Debug, Default)]
struct Read {
    annotation: Annotation,
    /// The names of the open elements.
    path: Vec<String>,
    /// The text since the last start or end.
    text: String,
    seen: bool,
    object: Option<Object>,
    /// The coordinates of the current box that were read.
    corners: [Option<f64>; 4],
}

impl Read {
    fn open(&mut self, name: &[u8]) -> Result<(), String> {
        if self.path.len() == MAX_DEPTH {
            return Err(format!("elements are more than {MAX_DEPTH} deep"));
        }
        let name = String::from_utf8_lossy(name).into_owned();
        self.text.clear();
        match (self.path.len(), name.as_str()) {
            (0, "annotation") => self.seen = true,
            (0, other) => return Err(format!("the element '{other}', not 'annotation'")),
            (1, "object") => {
                if self.annotation.objects.len() == MAX_OBJECTS {
                    return Err(format!("more than {MAX_OBJECTS} objects"));
                }
                (self.object, self.corners) = (Some(Object::default()), [None; 4]);
            }
            _ => {}
        }
        self.path.push(name);
        Ok(())
    }

    /// Ends the innermost element.
    fn close(&mut self) -> Result<(), String> {
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        match (path.as_slice(), &mut self.object) {
            (["annotation", "object"], Some(object)) => {
                let [Some(a), Some(b), Some(c), Some(d)] = self.corners else {
                    return Err("an object without xmin, ymin, xmax and ymax".into());
                };
                if object.name.is_empty() {
                    return Err("an object without name".into());
                }
                object.corners = [a, b, c, d];
                self.annotation.objects.extend(self.object.take());
            }
            (["annotation", "object", "name"], Some(object)) => object.name = text.into(),
            (["annotation", "object", "bndbox", corner], _) => {
                let names = ["xmin", "ymin", "xmax", "ymax"];
                if let Some(n) = names.iter().position(|name| name == corner) {
                    let number = Number::lenient(text, JsonRules::Strict).and_then(Number::real);
                    self.corners[n] =
                        Some(number.ok_or_else(|| format!("'{corner}' is no number of 64 bits"))?);
                }
            }
            (["annotation", "object", field], Some(object)) if !text.is_empty() => {
                put(&mut object.fields, field, text);
            }
            (["annotation", field], None) | (["annotation", "size", field], None)
                if !text.is_empty() =>
            {
                let name = if *field == "filename" { "file_name" } else { *field };
                put(&mut self.annotation.fields, name, text);
            }
            _ => {} // parts of objects, the source of the image
        }
        self.path.pop();
        Ok(())
    }
}

/// Sets a field; the first value stays.
fn put(fields: &mut Vec<(String, String)>, name: &str, text: &str) {
    if !fields.iter().any(|(known, _)| known == name) {
        fields.push((name.into(), text.into()));
    }
}
