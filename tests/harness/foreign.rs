//! Foreign programs: GNU tar, bsdtar, Python.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Child, Place, Run};

/// Runs another program in the place.
pub(crate) fn tool(place: &Place, program: impl AsRef<Path>, words: &[&str]) -> Run {
    let mut command = Command::new(program.as_ref());
    command.args(words).current_dir(place.at("")).env("LC_ALL", "C.UTF-8").env_remove("RANK");
    Child::start(command, &place.at("")).ended()
}

/// Runs a Python program that may import webdataset.
///
/// # Panics
/// Panics if there is no Python with webdataset: a test that cannot run has not passed.
pub(crate) fn python(place: &Place, program: &str, words: &[&str]) -> Run {
    let python = interpreter();
    let probe = Command::new(&python).args(["-c", "import webdataset"]).output();
    let found = probe.is_ok_and(|output| output.status.success());
    assert!(found, "{} has no webdataset; run `make venv` first", python.display());
    tool(place, python, &[&["-c", program], words].concat())
}

fn interpreter() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let venv = workspace.join(".venv/bin/python");
    std::env::var_os("TARFLUME_PYTHON").map_or(venv, PathBuf::from)
}
