//! `rehearse`: lists the rows of a source and reads each value, without a plan or an output.
//!
//! For fuzzing: what a hostile file can reach, it reaches here.

use std::path::PathBuf;

use tarflume_base::Failure;
use tarflume_scan::folders::walk::{ScanCounter, Watch};
use tarflume_scan::samples::list::FoundAt;
use tarflume_sources::rows::{self, CellFault};

use crate::build::requests::options::BuildOptions;

/// Lists `source` and reads its values; returns their number.
///
/// # Errors
/// Returns the errors of a build.
#[doc(hidden)]
pub fn rehearse(source: &str) -> Result<u64, Failure> {
    let request = BuildOptions::new(vec![source.into()], PathBuf::from("out")).request()?;
    let watch = Watch { counter: &ScanCounter::default(), stop: &request.stop };
    let scan = rows::scan(&request.sources, &request.scan, watch)?;
    let mut reader = rows::reader(&scan.sources, &request.roots, true);
    let mut space = Vec::new();
    let mut values = 0;
    let mut result = Ok(());
    scan.samples.visit(|_, sample| {
        for part in &sample.parts {
            space.clear();
            let read = match part.at {
                FoundAt::Range(source, at) => {
                    space.resize(part.size as usize, 0);
                    reader.range(source, at, &mut space)
                }
                FoundAt::Cell(source, row, column) => {
                    space.resize(part.size as usize, 0);
                    match reader.cell(source, row, column, &mut space) {
                        Err(CellFault::Failure(failure)) => Err(failure),
                        Ok(()) | Err(CellFault::Data(_) | CellFault::Placed(_)) => Ok(()),
                    }
                }
                FoundAt::File(_) | FoundAt::Path(..) | FoundAt::Text(_) => Ok(()),
            };
            values += 1;
            if let Err(failure) = read {
                result = Err(failure);
                return false;
            }
        }
        true
    });
    result.map(|()| values)
}

#[cfg(all(test, feature = "hdf5", feature = "tables"))]
mod tests;
