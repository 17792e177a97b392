//! The XML of CVAT for images, version 1.1: an element `image` for each picture, with boxes, polygons, points, masks,
//! skeletons and tags below it. Coordinates are pixels.
//!
//! Entities other than the five of XML and characters by number are errors: nothing is expanded.

mod mask;

use std::io::BufReader;
use std::path::Path;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use tarflume_base::{Failure, Stop};
use tarflume_formats::BoxForm;
use tarflume_formats::json::{JsonRules, Number};
use tarflume_table::text::stream;

use super::collected::{Collected, Object};
use super::form::Form;
use super::shapes::{around, class_of};

/// Limits on the objects of a picture and on the points of a skeleton.
const MAX_OBJECTS: usize = 1 << 20;
const MAX_POINTS: usize = 10_000;

/// Names and values of an element.
type Attributes = Vec<(String, String)>;

/// A picture that is being read.
#[derive(Debug, Default)]
struct Picture {
    name: String,
    fields: Attributes,
    objects: Vec<Object>,
}

/// Where the text is.
#[derive(Debug, Default)]
struct Read {
    picture: Option<Picture>,
    /// The object whose element is open.
    object: Option<Object>,
    /// The name of the open `attribute`, and its text.
    attribute: Option<(String, String)>,
    is_skeleton: bool,
    /// The points of the open skeleton: label, x, y and visibility.
    points: Vec<(String, [f64; 3])>,
    /// Pictures that were read.
    pictures: u64,
    depth: usize,
}

/// Reads a file.
///
/// # Errors
/// Returns an error for malformed XML, for tracks of videos, for a shape without its numbers, and for a failure of the
/// machine.
pub(super) fn read(path: &Path, into: &mut Collected<'_>, stop: &Stop) -> Result<Form, Failure> {
    let stream::OpenText { text, budget, .. } = stream::open(path)?;
    let mut reader = Reader::from_reader(BufReader::with_capacity(256 << 10, text));
    let mut read = Read::default();
    let mut buffer = Vec::new();
    loop {
        let at = reader.buffer_position();
        let place = Place { path, at };
        buffer.clear();
        let event = reader.read_event_into(&mut buffer).map_err(|e| place.bad(e.to_string()))?;
        let closed = match event {
            Event::Start(start) => {
                read.open(&start).map_err(|why| place.bad(why))?;
                None
            }
            Event::Empty(start) => {
                read.open(&start).map_err(|why| place.bad(why))?;
                read.close(start.name().as_ref()).map_err(|why| place.bad(why))?
            }
            Event::End(end) => read.close(end.name().as_ref()).map_err(|why| place.bad(why))?,
            Event::Text(piece) => {
                read.text(&piece.decode().map_err(|e| place.bad(e.to_string()))?);
                None
            }
            Event::GeneralRef(reference) => {
                let text =
                    crate::annotations::voc::resolved(&reference).map_err(|why| place.bad(why))?;
                read.text(&text);
                None
            }
            Event::CData(piece) => {
                read.text(&piece.decode().map_err(|e| place.bad(e.to_string()))?);
                None
            }
            Event::Eof => break,
            _ => None,
        };
        if read.picture.is_none() {
            budget.renew(); // the text of one picture is bounded
        }
        if let Some(picture) = closed {
            if stop.requested() {
                return Err(Failure::interrupted());
            }
            into.picture(&picture.name, read.pictures, &picture.fields)?;
            for object in picture.objects {
                into.object(&picture.name, read.pictures, object)?;
            }
        }
    }
    if read.depth > 0 || read.pictures == 0 {
        let why =
            if read.depth > 0 { "an element is not closed" } else { "it has no element 'image'" };
        return Err(
            Failure::bad_data(format!("this is no XML of CVAT for images: {why}")).in_file(path)
        );
    }
    Ok(Form { boxes: BoxForm::Corners, is_relative: false, omits_empty: false })
}

/// A place of the file.
#[derive(Clone, Copy)]
struct Place<'p> {
    path: &'p Path,
    at: u64,
}

impl Place<'_> {
    fn bad(self, why: String) -> Failure {
        Failure::bad_data(format!("byte {}: {why}", self.at)).in_file(self.path)
    }
}

impl Read {
    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        self.depth += 1;
        let name = start.name();
        match (name.as_ref(), &mut self.picture) {
            (b"track", None) => {
                return Err(
                    "this is CVAT for video; export the task as 'CVAT for images 1.1'".into()
                );
            }
            (b"image", None) => {
                self.pictures += 1;
                let mut fields = attributes(start)?;
                let name = take(&mut fields, "name").ok_or("an image has no name")?;
                take(&mut fields, "id");
                self.picture = Some(Picture { name, fields, objects: Vec::new() });
            }
            (b"attribute", Some(_)) if self.object.is_some() => {
                let name =
                    take(&mut attributes(start)?, "name").ok_or("an attribute has no name")?;
                self.attribute = Some((name, String::new()));
            }
            (b"points", Some(_)) if self.is_skeleton => {
                if self.points.len() == MAX_POINTS {
                    return Err("too many points".into());
                }
                self.points.push(point(attributes(start)?)?);
            }
            (shape, Some(picture)) if self.object.is_none() => {
                if picture.objects.len() == MAX_OBJECTS {
                    return Err("too many objects".into());
                }
                let size = picture.size();
                self.object = object(shape, attributes(start)?, size)?;
                self.is_skeleton = shape == b"skeleton";
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends an element; returns the picture that it ends.
    fn close(&mut self, name: &[u8]) -> Result<Option<Picture>, String> {
        self.depth = self.depth.saturating_sub(1);
        match name {
            b"attribute" => {
                let open = self.object.as_mut().zip(self.attribute.take());
                if let Some((object, (name, text))) = open {
                    object.fields.push((name, text.trim().to_string()));
                }
            }
            b"image" => return Ok(self.picture.take()),
            b"points" if self.is_skeleton => {}
            b"box" | b"polygon" | b"polyline" | b"points" | b"mask" | b"ellipse" | b"cuboid"
            | b"tag" | b"skeleton" => {
                self.is_skeleton = false;
                let done = self.picture.as_mut().zip(self.object.take());
                if let Some((picture, mut object)) = done {
                    if name == b"skeleton" {
                        object.join(std::mem::take(&mut self.points));
                    }
                    picture.objects.push(object);
                }
            }
            _ => {}
        }
        Ok(None)
    }

    fn text(&mut self, text: &str) {
        if let Some((_, open)) = &mut self.attribute {
            open.push_str(text);
        }
    }
}

impl Picture {
    fn side(&self, name: &str) -> Option<u64> {
        self.fields.iter().find(|(field, _)| field == name)?.1.parse::<u32>().ok().map(u64::from)
    }

    /// Returns width and height.
    fn size(&self) -> Option<[u64; 2]> {
        Some([self.side("width")?, self.side("height")?])
    }
}

fn attributes(start: &BytesStart<'_>) -> Result<Attributes, String> {
    let found = start.attributes().map(|attribute| {
        let attribute = attribute.map_err(|e| e.to_string())?;
        let name = String::from_utf8(attribute.key.as_ref().to_vec()).map_err(|e| e.to_string())?;
        let value =
            attribute.normalized_value(XmlVersion::Explicit1_0).map_err(|e| e.to_string())?;
        Ok((name, value.into_owned()))
    });
    found.collect()
}

fn take(fields: &mut Attributes, name: &str) -> Option<String> {
    let at = fields.iter().position(|(field, _)| field == name)?;
    Some(fields.remove(at).1)
}

fn number(fields: &mut Attributes, name: &str) -> Result<f64, String> {
    let text = take(fields, name).ok_or_else(|| format!("a shape has no '{name}'"))?;
    let number = Number::lenient(&text, JsonRules::Strict).and_then(Number::real);
    number.ok_or_else(|| format!("'{name}' is no number"))
}

/// Returns the points of `x,y;x,y`.
fn points(fields: &mut Attributes) -> Result<Vec<[f64; 2]>, String> {
    let text = take(fields, "points").ok_or("a shape has no 'points'")?;
    let points = text.split(';').map(|point| {
        let (x, y) = point.split_once(',')?;
        let place =
            [x, y].map(|n| Number::lenient(n.trim(), JsonRules::Strict).and_then(Number::real));
        Some([place[0]?, place[1]?])
    });
    points.collect::<Option<_>>().ok_or_else(|| format!("'{text:.40}' is no list of points"))
}

/// Returns the object of an element; `None` for an element that is no shape.
fn object(
    shape: &[u8],
    mut fields: Attributes,
    size: Option<[u64; 2]>,
) -> Result<Option<Object>, String> {
    let mut object = Object::default();
    match shape {
        b"box" => {
            object.rectangle = Some([
                number(&mut fields, "xtl")?,
                number(&mut fields, "ytl")?,
                number(&mut fields, "xbr")?,
                number(&mut fields, "ybr")?,
            ]);
        }
        b"polygon" => {
            let points = points(&mut fields)?;
            object.rectangle = around(points.iter().copied()).map(corners);
            object.outline = Some(vec![points.concat()].into());
        }
        b"points" => {
            let points = points(&mut fields)?;
            object.rectangle = around(points.iter().copied()).map(corners);
            object.keypoints = points.iter().flat_map(|&[x, y]| [x, y, 2.0]).collect();
        }
        b"ellipse" => {
            let [x, y, across, down] = [
                number(&mut fields, "cx")?,
                number(&mut fields, "cy")?,
                number(&mut fields, "rx")?,
                number(&mut fields, "ry")?,
            ];
            object.rectangle = Some([x - across, y - down, x + across, y + down]);
        }
        b"mask" => {
            let place = [
                number(&mut fields, "left")?,
                number(&mut fields, "top")?,
                number(&mut fields, "width")?,
                number(&mut fields, "height")?,
            ];
            let runs = take(&mut fields, "rle").ok_or("a mask has no 'rle'")?;
            let size = size.ok_or("a picture with a mask has no width or height")?;
            object.outline = Some(mask::region(place, &runs, size)?);
            let [left, top, width, height] = place;
            object.rectangle = Some([left, top, left + width, top + height]);
        }
        b"polyline" | b"cuboid" | b"tag" | b"skeleton" => {}
        _ => return Ok(None),
    }
    object.class = class_of(take(&mut fields, "label"))?;
    let kind = String::from_utf8_lossy(shape).into_owned();
    object.fields = fields;
    object.fields.push(("shape".into(), kind));
    Ok(Some(object))
}

fn is_one(fields: &mut Attributes, name: &str) -> bool {
    take(fields, name).is_some_and(|value| value == "1")
}

/// Returns label, place and visibility of a skeleton's point.
fn point(mut fields: Attributes) -> Result<(String, [f64; 3]), String> {
    let is_outside = is_one(&mut fields, "outside");
    let is_occluded = is_one(&mut fields, "occluded");
    let label = class_of(take(&mut fields, "label"))?;
    let [x, y] = *points(&mut fields)?.first().ok_or("a point has no place")?;
    let visibility = if is_outside {
        0.0
    } else if is_occluded {
        1.0
    } else {
        2.0
    };
    Ok((label, [x, y, visibility]))
}

impl Object {
    /// Takes the points of a skeleton. Their order in the file may differ from object to object, so they are sorted by
    /// their labels: numbers first, by their value.
    fn join(&mut self, mut points: Vec<(String, [f64; 3])>) {
        points.sort_by(|(a, _), (b, _)| rank(a).cmp(&rank(b)).then_with(|| a.cmp(b)));
        let labeled = points.iter().filter(|(_, point)| point[2] > 0.0);
        self.rectangle = around(labeled.map(|(_, [x, y, _])| [*x, *y])).map(corners);
        self.keypoints = points.iter().flat_map(|(_, point)| *point).collect();
        self.point_names = points.into_iter().map(|(label, _)| label).collect();
    }
}

/// Returns the number that a label is; those that are none follow all others.
fn rank(label: &str) -> u64 {
    label.parse().unwrap_or(u64::MAX)
}

/// Returns the corners of left, top, width and height.
fn corners([left, top, width, height]: [f64; 4]) -> [f64; 4] {
    [left, top, left + width, top + height]
}
