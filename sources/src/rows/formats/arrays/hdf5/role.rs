//! What a data set of HDF5 becomes in the samples.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::Column;
use tarflume_formats::number_kind::NumberClass;

use super::array::{H5Array, H5Kind};
use crate::rows::columns::array_names::is_png;
use crate::rows::columns::choice::{Choice, ForJson};
use crate::rows::columns::part_names::part_name;
use crate::rows::columns::pictures::{Layout, RowPicture};
use crate::rows::columns::{assign, numbers};

/// What a data set becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// The key.
    Key,
    /// A field of the JSON.
    Field(String),
    /// A part with this extension; `None` for that of the image's format.
    Part(Option<String>),
    /// A PNG with this extension.
    Picture(String, RowPicture),
}

/// A data set of the file and its role in the samples.
pub(super) struct AssignedArray {
    pub(super) role: Role,
    pub(super) array: H5Array,
}

impl AssignedArray {
    pub(super) fn is_field(&self) -> bool {
        matches!(self.role, Role::Field(_))
    }

    /// Returns true if it becomes the part 'json'.
    pub(super) fn is_json(&self) -> bool {
        self.role == Role::Part(Some("json".into()))
    }

    /// Returns the picture of a row; `None` if its bytes are packed.
    pub(super) fn picture(&self) -> Option<RowPicture> {
        match self.role {
            Role::Picture(_, picture) => Some(picture),
            _ => None,
        }
    }

    /// Returns the column of the manifest.
    pub(super) fn column(&self) -> Option<Column> {
        let (name, kind, shape) = match (&self.role, self.array.kind) {
            (Role::Field(name), kind) => {
                let kind = match kind.number() {
                    Some(number) => numbers::json_kind(number.name()),
                    None => "string",
                };
                (assign::pointer(name), kind.into(), None)
            }
            (Role::Part(Some(ext)), kind) => {
                let row = self.array.row_shape().to_vec();
                (ext.clone(), kind.number()?.name().into(), Some(row))
            }
            _ => return None,
        };
        Some(Column { name, kind, shape, nullable: false, items: None })
    }
}

/// Returns what a chosen data set becomes; `None` if `json=` leaves it out.
///
/// # Errors
/// Returns an error for a data set that cannot be what it was chosen for.
pub(super) fn chosen_role(
    choice: &Choice,
    array: &H5Array,
    layout: Option<Layout>,
    path: &Path,
) -> Result<Option<Role>, Failure> {
    let found = role(&choice.name, array, layout, path)?;
    Ok(Some(match (choice.json, &found) {
        (ForJson::Not, _) | (ForJson::Fields | ForJson::Named { .. }, Role::Field(_)) => found,
        (ForJson::NoFields, Role::Field(_)) => return Ok(None),
        (ForJson::NoFields, _) => found,
        (ForJson::Fields, _) => return Ok(None),
        (ForJson::Named { alone: true }, Role::Part(_)) if array.kind == H5Kind::Bytes => {
            Role::Part(Some("json".into()))
        }
        (ForJson::Named { .. }, _) => {
            let text = "an array is no field of JSON; name it as a part: hdf5:FILE?image=/DATASET";
            return Err(Failure::usage(format!("{}: {text}", array.name)).in_file(path));
        }
    }))
}

fn refused(array: &H5Array, why: &str, path: &Path) -> Failure {
    Failure::usage(format!("{}: {why}", array.name)).in_file(path)
}

fn role(name: &str, array: &H5Array, layout: Option<Layout>, path: &Path) -> Result<Role, Failure> {
    let one = array.row_shape().iter().all(|&dim| dim == 1);
    Ok(match array.kind {
        H5Kind::Numbers(number)
            if name == "key"
                && one
                && matches!(number.class, NumberClass::Int | NumberClass::Uint) =>
        {
            Role::Key
        }
        H5Kind::Text { .. } if name == "key" => Role::Key,
        _ if name == "key" => {
            return Err(refused(array, "it is no key: keys are text or whole numbers", path));
        }
        H5Kind::Text { .. } => Role::Field(name.into()),
        H5Kind::Numbers(number) if is_png(name) => {
            let picture = RowPicture::of(array.row_shape(), number.name(), layout);
            Role::Picture(part_name(name), picture.map_err(|why| refused(array, &why, path))?)
        }
        H5Kind::Numbers(_) if name.ends_with(".raw") => Role::Part(Some(part_name(name))),
        H5Kind::Numbers(_) if one => Role::Field(name.into()),
        H5Kind::Bytes if name == "image" => Role::Part(None),
        H5Kind::Bytes => Role::Part(Some(part_name(name))),
        H5Kind::Numbers(_) => Role::Part(Some(format!("{}.raw", part_name(name)))),
    })
}
