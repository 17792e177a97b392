//! The type and shape of array parts (`x.raw`), as the manifests of a data set describe them.
//!
//! Reads manifests again, and only if a column needs it: a data set holds no descriptions.

use std::path::PathBuf;

use tarflume_formats::manifest::FILE_NAME;
use tarflume_formats::{Column, read_manifest};
use tarflume_types::{DType, Error, ErrorKind, Result};

use crate::dataset::Dataset;

/// The types of arrays that a manifest can name.
const TYPES: [DType; 13] = [
    DType::U8,
    DType::I8,
    DType::U16,
    DType::I16,
    DType::U32,
    DType::I32,
    DType::U64,
    DType::I64,
    DType::F16,
    DType::Bf16,
    DType::F32,
    DType::F64,
    DType::Bool,
];

impl Dataset {
    /// Returns type and shape of the part `ext` if all manifests describe it the same way and every sample has it;
    /// `None` if one does not describe it, or a shard is in no manifest.
    ///
    /// # Errors
    /// Returns an error if a manifest cannot be read, or describes an array that cannot be.
    #[doc(hidden)]
    pub fn array(&self, ext: &str) -> Result<Option<(DType, Vec<usize>)>> {
        if self.extensions()?.get(ext) != Some(&self.len()) {
            return Ok(None);
        }
        let mut folders: Vec<PathBuf> = Vec::new();
        for shard in self.shards() {
            let Some(folder) = shard.facts().folder() else { return Ok(None) };
            if folders.last().is_none_or(|last| last != folder)
                && !folders.iter().any(|f| f == folder)
            {
                folders.push(folder.to_path_buf());
            }
        }
        let mut found = None;
        for folder in folders {
            let path = folder.join(FILE_NAME);
            let manifest = read_manifest(&path)?;
            let column = manifest.about.columns.iter().find(|c| c.name == ext && c.shape.is_some());
            let Some(column) = column else { return Ok(None) };
            let array = checked(column).map_err(|text| {
                Error::new(ErrorKind::WrongFormat, format!("column '{ext}': {text}"))
                    .with_path(&path)
            })?;
            match &found {
                None => found = Some(array),
                Some(same) if *same == array => {}
                Some(_) => return Ok(None),
            }
        }
        Ok(found)
    }
}

/// Returns type and shape of a column.
fn checked(column: &Column) -> std::result::Result<(DType, Vec<usize>), String> {
    let dtype = TYPES.iter().find(|dtype| dtype.to_string() == column.kind);
    let dtype = *dtype.ok_or_else(|| format!("unknown type '{}'", column.kind))?;
    let mut shape = Vec::new();
    let mut bytes = Some(dtype.size());
    for dim in column.shape.iter().flatten() {
        let dim = usize::try_from(*dim).ok();
        bytes = bytes.and_then(|bytes| bytes.checked_mul(dim?));
        shape.push(dim.unwrap_or_default());
    }
    match bytes {
        Some(bytes) if bytes > 0 => Ok((dtype, shape)),
        _ => Err(format!("a shape {:?} that no row can have", column.shape)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_gives_type_and_shape_or_is_refused() {
        fn column(kind: &str, shape: &[u64]) -> Column {
            Column {
                name: "x.raw".into(),
                kind: kind.into(),
                shape: Some(shape.to_vec()),
                nullable: false,
                items: None,
            }
        }

        assert_eq!(checked(&column("float16", &[3, 4])), Ok((DType::F16, vec![3, 4])));
        assert_eq!(checked(&column("bfloat16", &[2])), Ok((DType::Bf16, vec![2])));
        assert_eq!(checked(&column("bool", &[])), Ok((DType::Bool, vec![])));
        assert!(checked(&column("object", &[3])).unwrap_err().contains("unknown type"));
        for shape in [&[0][..], &[u64::MAX, 2], &[1 << 40, 1 << 40]] {
            assert!(checked(&column("int64", shape)).is_err(), "{shape:?}");
        }
    }
}
