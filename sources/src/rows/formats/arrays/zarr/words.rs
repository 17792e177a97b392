//! What is wrong with an array or a chunk of Zarr, in words, and what to do. Knows the folders.

use std::io;
use std::path::Path;

use tarflume_base::{Failure, units};
use tarflume_foreign::zarr::{ArrayFault, ChunkFault, Unread};
use tarflume_formats::message::python_text;

use crate::rows::places::reader::CellFault;

/// Returns the failure for an array in `folder` whose metadata is `file`; `name` is what the user calls it.
pub(super) fn array(fault: ArrayFault, name: &str, folder: &Path, file: &Path) -> Failure {
    match fault {
        ArrayFault::Unread { part, name: found } => {
            let text = format!("{name}: {}", unread(part, &found, folder));
            Failure::usage(text).in_file(file)
        }
        ArrayFault::Metadata { why } => {
            Failure::bad_data(format!("{name}: its metadata: {why}")).in_file(file)
        }
        ArrayFault::TooLarge { what, bytes, most } => {
            let bytes = bytes.map_or("more than 2^64".into(), units::bytes);
            let text = format!(
                "{name}: its {what} have {bytes}, and {} is the limit; write it with smaller chunks: {}",
                units::bytes(most),
                rewritten(folder, "chunks=(1, ...)")
            );
            Failure::usage(text).in_file(file)
        }
        other => Failure::bad_data(format!("{name}: its metadata: {other:?}")).in_file(file),
    }
}

/// Returns the call of zarr-python that writes an array again.
fn rewritten(folder: &Path, with: &str) -> String {
    let path = python_text(&folder.display().to_string());
    format!(
        "in Python: zarr.from_array(\"NEW.zarr\", data=zarr.open_array({path}, mode=\"r\"), {with})"
    )
}

fn unread(part: Unread, found: &str, folder: &Path) -> String {
    const PLAIN: &str = "zarr_format=3, filters=(), serializer=\"auto\", compressors=\"auto\"";
    match part {
        Unread::Codec => format!(
            "its chunks are encoded by the codec '{found}', which is not read; write it with another one: {}",
            rewritten(folder, PLAIN)
        ),
        Unread::Type => {
            let path = python_text(&folder.display().to_string());
            let converted = match found {
                "complex64" | "<c8" | ">c8" => ".view(\"float32\")",
                "complex128" | "<c16" | ">c16" => ".view(\"float64\")",
                _ => ".astype(\"float64\")",
            };
            format!(
                "its numbers have the type '{found}', which is not read (bool, int8 to uint64, float16, float32, float64 and \
                 bfloat16 are); write it with another one: in Python: zarr.create_array(\"NEW.zarr\", \
                 data=zarr.open_array({path}, mode=\"r\")[:]{converted})"
            )
        }
        Unread::Grid => format!(
            "its chunk grid is '{found}', and the grid 'regular' is read; write it with chunks of one shape: {}",
            rewritten(folder, "chunks=\"auto\"")
        ),
        _ => format!(
            "its metadata has '{found}', an extension that is not read; write it without: {}",
            rewritten(folder, PLAIN)
        ),
    }
}

/// Returns the fault of a chunk: what `shown` names is damaged, or the machine has no memory.
pub(super) fn chunk(fault: ChunkFault, shown: &str, path: &Path) -> CellFault {
    match fault {
        ChunkFault::Damaged { byte, why } => {
            let byte = byte.unwrap_or(0);
            CellFault::data(format!("{shown}, byte {byte}: {why}"))
        }
        ChunkFault::NoMemory { .. } => no_memory(path).into(),
        other => CellFault::data(format!("{shown}: {other:?}")),
    }
}

/// Returns the failure of a machine without memory for the rows of an array.
pub(super) fn no_memory(path: &Path) -> Failure {
    Failure::io(io::ErrorKind::OutOfMemory.into(), "decode the chunks", path)
}
