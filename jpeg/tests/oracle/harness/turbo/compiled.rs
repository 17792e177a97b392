//! Compiles `turbo.c` unless the tests' folder already holds the program of the same source.
//!
//! Tests run in many processes at once: each compiles under its own name and renames, so that no
//! process starts an incomplete program.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::OnceLock;

const SOURCE: &str = include_str!("turbo.c");

/// Returns the program, ready to be started. Panics with the missing package.
pub(super) fn path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let mut hash = DefaultHasher::new();
        SOURCE.hash(&mut hash);
        let program = folder.join(format!("turbo-{:016x}", hash.finish()));
        if !program.exists() {
            compile(folder, &program);
        }
        program
    })
}

fn compile(folder: &Path, program: &Path) {
    fs::create_dir_all(folder).unwrap();
    let own = folder.join(format!("turbo-{}", process::id()));
    let source = own.with_extension("c");
    fs::write(&source, SOURCE).unwrap();
    let mut cc = Command::new("cc");
    cc.arg("-O2").arg(&source).arg("-ljpeg").arg("-o").arg(&own);
    let said = match cc.output() {
        Ok(done) if done.status.success() => String::new(),
        Ok(done) => String::from_utf8_lossy(&done.stderr).into_owned(),
        Err(why) => why.to_string(),
    };
    assert!(
        said.is_empty(),
        "the oracle of these tests does not compile; install Debian's packages gcc and libjpeg-dev, \
         or run tests/tools.sh as root:\n{said}"
    );
    fs::rename(&own, program).unwrap();
    fs::remove_file(&source).unwrap();
}
