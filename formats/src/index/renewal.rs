//! The command that makes a sidecar of the same kind again.

use std::path::Path;

use super::columns::ColumnSpec;
use super::view::Index;
use crate::publish::folder_of;
use crate::shown::shell_word;
use crate::url::url_of;

impl Index {
    /// Returns the command that makes this sidecar again for the tar at `tar`, with the entry points and typed columns
    /// that it has. Names the folder, whose manifest lists the sidecar.
    pub fn renewal(&self, tar: impl AsRef<Path>) -> String {
        let tar = tar.as_ref();
        let options = self.renewal_options();
        let url = url_of(tar).and_then(|url| url.rsplit_once('/')).map(|(folder, _)| folder);
        let folder = url.map_or_else(|| folder_of(tar), Path::new);
        format!("pack index --force{options} {}", shell_word(folder))
    }

    /// Returns the options for the entry points and typed columns that this sidecar has, each after a space.
    pub(crate) fn renewal_options(&self) -> String {
        let mut options = String::new();
        if self.has_entry_points() {
            options.push_str(" --entry-points");
        }
        // A sidecar whose columns are damaged is made again without them.
        if let Ok(columns) = self.columns()
            && !columns.is_empty()
        {
            let specs: Vec<ColumnSpec> =
                columns.iter().map(|column| column.spec().clone()).collect();
            let specs = ColumnSpec::to_text(&specs);
            options.push_str(&format!(" --columns {}", shell_word(Path::new(&specs))));
        }
        options
    }
}
