//! Converts errors of the Parquet writer; knows no columns.

use std::path::Path;

use parquet::errors::ParquetError;
use tarflume_base::Failure;

/// Converts an error of the writer, whose cause is an error of the operating system or of the data.
pub(super) fn failed(error: ParquetError, path: &Path) -> Failure {
    let text = error.to_string();
    match error {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(refused) => Failure::io(*refused, "write", path),
            Err(_) => Failure::bad_data(text).in_file(path),
        },
        _ => Failure::bad_data(text).in_file(path),
    }
}
