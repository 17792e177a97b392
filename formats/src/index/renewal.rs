//! The command that makes a sidecar of the same kind again.

use std::path::Path;

use super::columns::ColumnSpec;
use super::view::Index;
use crate::publish::folder_of;
use crate::shown::ShowPath;
use crate::url::url_of;

impl Index {
    /// Returns the command that makes this sidecar again for the tar at `tar`, with the entry points and typed columns
    /// that it has. Names the folder, whose manifest lists the sidecar.
    pub fn renewal(&self, tar: &Path) -> String {
        let mut command = String::from("pack index --force");
        if self.has_entry_points() {
            command.push_str(" --entry-points");
        }
        // A sidecar whose columns are damaged is made again without them.
        let columns = self.columns().unwrap_or_default();
        if !columns.is_empty() {
            let specs: Vec<ColumnSpec> =
                columns.iter().map(|column| column.spec().clone()).collect();
            command.push_str(&format!(" --columns {}", ColumnSpec::to_text(&specs)));
        }
        let url = url_of(tar).and_then(|url| url.rsplit_once('/')).map(|(folder, _)| folder);
        match url {
            Some(folder) => command.push_str(&format!(" {folder}")),
            None => command.push_str(&format!(" {}", folder_of(tar).shown())),
        }
        command
    }
}
