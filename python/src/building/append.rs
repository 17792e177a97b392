//! `pack_append`: from keywords to the request of an append.

use std::path::PathBuf;

use pyo3::prelude::*;
use tarflume_base::Stop;
use tarflume_packer::build::AppendOptions;
use tarflume_shards::workdir::Policy;

use crate::arguments::numbers::Number;
use crate::building::pack::{choice, threads};
use crate::building::packing::Work;
use crate::faults::failures::JobFailure;

/// Starts to add samples to a data set.
#[pyfunction]
#[pyo3(signature = (sources, out, *, exclude=Vec::new(), join=Vec::new(), coco=Vec::new(), yolo=None, yolo_names=None,
       voc=None, annotations=None, pair=Vec::new(), split_list=None, on_problem="fail", jobs=None, fresh=false, dry_run=false,
       provenance=Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn pack_append(
    py: Python<'_>,
    sources: Vec<PathBuf>,
    out: PathBuf,
    exclude: Vec<String>,
    join: Vec<String>,
    coco: Vec<String>,
    yolo: Option<String>,
    yolo_names: Option<PathBuf>,
    voc: Option<String>,
    annotations: Option<String>,
    pair: Vec<String>,
    split_list: Option<String>,
    on_problem: &str,
    jobs: Option<Number<u64>>,
    fresh: bool,
    dry_run: bool,
    provenance: Vec<String>,
) -> PyResult<Work> {
    let asked = AppendOptions {
        exclude,
        join,
        coco,
        yolo,
        yolo_names,
        voc,
        annotations,
        pair,
        split_list,
        on_problem: choice::<Policy>(py, "on_problem", on_problem)?,
        jobs: threads(py, jobs)?,
        fresh,
        dry_run,
        provenance,
        ..AppendOptions::new(sources, out)
    };
    let request = py.detach(|| asked.request());
    let mut request = request.map_err(|failure| JobFailure::failure(failure).raised(py))?;
    request.stop = Stop::new();
    Work::build(request)
}
