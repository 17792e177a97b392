//! The task that makes a sidecar of the same kind again.

use std::path::Path;

use super::columns::ColumnSpec;
use super::view::Index;
use crate::disk::publish::folder_of;
use crate::message::{Call, Name, Task};
use crate::text::url::url_of;

impl Index {
    /// Returns the task that makes this sidecar again for the tar at `tar`, with the entry points and typed columns
    /// that it has. Names the folder, whose manifest lists the sidecar.
    pub fn renewal(&self, tar: impl AsRef<Path>) -> Call {
        let tar = tar.as_ref();
        let url = url_of(tar).and_then(|url| url.rsplit_once('/')).map(|(folder, _)| folder);
        let folder = url.map_or_else(|| folder_of(tar), Path::new);
        self.renewed(Call::of(Task::Index).with(Name::Force.on())).on_path(folder)
    }

    /// Adds to a call the settings for the entry points and typed columns that this sidecar has.
    pub(crate) fn renewed(&self, mut call: Call) -> Call {
        if self.has_entry_points() {
            call = call.with(Name::EntryPoints.on());
        }
        // A sidecar whose columns are damaged is made again without them.
        if let Ok(columns) = self.columns()
            && !columns.is_empty()
        {
            let specs: Vec<ColumnSpec> =
                columns.iter().map(|column| column.spec().clone()).collect();
            call = call.with(Name::Columns.is(ColumnSpec::to_text(&specs)));
        }
        call
    }
}
