//! Writes the scan of a part of a tree.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::publish::{TempFile, folder_of};
use tarflume_formats::varint::{put, put_bytes};
use tarflume_formats::{Crc, crc32c};

use super::{Foot, MAGIC, SCHEMA, StoredProblem};
use crate::options::ScanProblem;
use crate::parts::subtree::{PartScan, Subtree};
use crate::samples::list::Run;

/// Writes the scan to a temporary file, syncs it, and gives it its name. An earlier file of this name is replaced.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub fn write(
    path: &Path,
    scan: &PartScan,
    subtree: Subtree,
    roots: &[PathBuf],
    options: serde_json::Value,
) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temp = TempFile::create(folder_of(path), &name)?;
    let mut out =
        Output { out: BufWriter::with_capacity(1 << 20, &temp.file), crc: Crc::new(), at: 0 };
    out.put(&MAGIC).map_err(|e| refused(e, path))?;
    let mut table = Vec::new();
    for run in &scan.runs {
        describe(run, &mut table);
        out.put(run.encoded()).map_err(|e| refused(e, path))?;
    }
    let table_at = out.at;
    out.put(&table).map_err(|e| refused(e, path))?;
    let foot = Foot {
        schema: SCHEMA,
        tool: concat!("pack ", env!("CARGO_PKG_VERSION")).into(),
        roots: roots.iter().map(|root| root.to_string_lossy().into_owned()).collect(),
        options,
        part: subtree.part,
        count: subtree.count,
        tree: scan.tree.clone(),
        exts: scan.exts.clone(),
        problems: scan.problems.iter().map(stored).collect(),
        tables: scan
            .tables
            .iter()
            .map(|table| (table.root, text(&table.folder), text(&table.name)))
            .collect(),
        empty: scan.empty.iter().map(|folder| (folder.root, text(&folder.path))).collect(),
        skipped: scan.skipped,
        renamed: scan.renamed,
        newest: scan.newest,
        samples: scan.samples(),
        runs: scan.runs.len() as u64,
        table: (table_at, table.len() as u64),
        crc: out.crc.value(),
    };
    let foot_at = out.at;
    let json = serde_json::to_vec(&foot).expect("texts and numbers serialize");
    let mut tail = json.clone();
    tail.extend(foot_at.to_le_bytes());
    tail.extend((json.len() as u64).to_le_bytes());
    tail.extend(crc32c(&json).to_le_bytes());
    tail.extend([0; 4]);
    tail.extend(MAGIC);
    out.put(&tail).and_then(|()| out.out.flush()).map_err(|e| refused(e, path))?;
    drop(out);
    temp.sync()?;
    temp.publish_over(path)?;
    Ok(())
}

fn refused(e: std::io::Error, path: &Path) -> Failure {
    Failure::io(e, "write the scan", path)
}

/// Adds a run to the table: root, folder, prefix of keys, samples, bytes.
fn describe(run: &Run, table: &mut Vec<u8>) {
    put(table, u64::from(run.root));
    put_bytes(table, &run.source_folder);
    put_bytes(table, &run.key_folder);
    put(table, run.samples);
    put(table, run.encoded().len() as u64);
}

fn stored(problem: &ScanProblem) -> StoredProblem {
    let files = problem.files.iter().filter_map(|file| file.to_str().map(String::from)).collect();
    StoredProblem {
        problem: problem.problem.clone(),
        root: problem.root,
        files,
        cause: problem.cause.clone(),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

struct Output<'a> {
    out: BufWriter<&'a std::fs::File>,
    crc: Crc,
    at: u64,
}

impl Output<'_> {
    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.crc.update(bytes);
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}
