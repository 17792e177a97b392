//! The files that differ from a commit of Git, by the program `git`.
//!
//! What has changed is what differs between the files here and the commit at which the branch left the given one, and
//! files that are new and not ignored. So the list is the same before and after a commit.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::publish::folder_of;

use super::file_list;

/// The most bytes of a list of files.
const MOST: u64 = 256 << 20;
/// Variables by which a hook names its own repository.
const OF_HOOKS: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"];

/// Returns the files that differ from `reference` in the repositories of these paths.
///
/// # Errors
/// Returns an error if there is no `git`, a path is in no repository, or the commit is not known.
pub(super) fn changed_since(reference: &str, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut roots: Vec<PathBuf> = Vec::new();
    for path in paths {
        let folder = if files::is_folder(path)? { path.as_path() } else { folder_of(path) };
        let root = root_of(reference, folder)?;
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    let mut changed = Vec::new();
    for root in roots {
        let repository = Repository { reference, root: &root };
        let base = repository.base()?;
        let differing = repository.run(
            "diff --name-only -z --no-renames --no-ext-diff --relative",
            &[base.as_str(), "--"],
        )?;
        let new = repository.run("ls-files --others --exclude-standard -z", &[])?;
        for list in [differing, new] {
            let names = list.out.split(|&byte| byte == 0).filter(|name| !name.is_empty());
            changed.extend(names.map(|name| root.join(OsStr::from_bytes(name))));
        }
    }
    Ok(changed)
}

/// Returns the folder of the repository that has `folder`.
fn root_of(reference: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let ran = git(reference, folder, "rev-parse --show-toplevel", &[])?;
    let mut root = file_list::parsed(&ran.out).into_iter();
    match root.next().filter(|_| ran.is_ok) {
        Some(root) => Ok(root),
        None => {
            let why = ran.why("this folder is in no repository of Git");
            Err(refused(reference, &format!("{why}; give a folder of a repository"))
                .in_file(folder))
        }
    }
}

/// A repository, and the commit that its files are compared with.
struct Repository<'a> {
    reference: &'a str,
    root: &'a Path,
}

impl Repository<'_> {
    /// Returns the commit at which the branch here left the given one.
    fn base(&self) -> Result<String, Failure> {
        let Repository { reference, root } = self;
        let commit = format!("{reference}^{{commit}}");
        let known = git(
            reference,
            root,
            "rev-parse --verify --quiet --end-of-options",
            &[commit.as_str()],
        )?;
        if !known.is_ok {
            let why = format!("Git knows no commit '{reference}' here{}", self.if_shallow()?);
            return Err(refused(reference, &why).in_file(root));
        }
        let commit = String::from_utf8_lossy(&known.out).trim().to_string();
        let base = git(reference, root, "merge-base", &[commit.as_str(), "HEAD"])?;
        let found = String::from_utf8_lossy(&base.out).trim().to_string();
        if !base.is_ok || found.is_empty() {
            let why =
                format!("'{reference}' and HEAD have no commit in common{}", self.if_shallow()?);
            return Err(refused(reference, &why).in_file(root));
        }
        Ok(found)
    }

    /// Returns what to do if the repository lacks old commits.
    fn if_shallow(&self) -> Result<&'static str, Failure> {
        let ran = git(self.reference, self.root, "rev-parse --is-shallow-repository", &[])?;
        if ran.out.trim_ascii() == b"true" {
            return Ok(
                ": this clone has the newest commits alone; fetch all with `git fetch --unshallow` (in \
                       actions/checkout, fetch-depth: 0)",
            );
        }
        Ok("; fetch it, or give another one (`git branch --all` lists branches)")
    }

    fn run(&self, words: &str, names: &[&str]) -> Result<Ran, Failure> {
        let ran = git(self.reference, self.root, words, names)?;
        if ran.is_ok {
            return Ok(ran);
        }
        let why = ran.why("Git has failed");
        Err(refused(self.reference, &format!("{why} (`git {words}`)")).in_file(self.root))
    }
}

fn refused(reference: &str, why: &str) -> Failure {
    Failure::usage(message!("{since}: {why}"; since = Name::ChangedSince.is(reference.to_string())))
}

/// What `git` has printed.
struct Ran {
    is_ok: bool,
    out: Vec<u8>,
    error: String,
}

impl Ran {
    /// Returns the first line of what Git says about its failure.
    fn why(&self, otherwise: &str) -> String {
        let line = self.error.lines().find(|line| !line.trim().is_empty());
        line.map_or(otherwise.to_string(), |line| format!("{otherwise}: {}", line.trim()))
    }
}

/// Runs `git` with these words, and with names after them.
fn git(reference: &str, folder: &Path, words: &str, names: &[&str]) -> Result<Ran, Failure> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(words.split(' ')).args(names);
    command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in OF_HOOKS {
        command.env_remove(name);
    }
    let mut child = command.spawn().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Failure::usage(message!(
            "{since}: there is no program `git` here; install it, or list the files with {files}";
            since = Name::ChangedSince.is(reference.to_string()),
            files = Name::FilesFrom
        )),
        _ => Failure::io(e, "start git in", folder),
    })?;
    let out = child.stdout.take().expect("it is piped");
    let error = child.stderr.take().expect("it is piped");
    // Both are read at once, so that neither waits for the other.
    let told = std::thread::scope(|scope| {
        let error = scope.spawn(|| bounded(error));
        let out = bounded(out);
        (out, error.join())
    });
    let status = child.wait().map_err(|e| Failure::io(e, "wait for git in", folder))?;
    let out = told.0.map_err(|e| Failure::io(e, "read what git prints in", folder))?;
    if out.len() as u64 > MOST {
        return Err(refused(reference, "more files have changed than can be listed; verify all"));
    }
    let error = told.1.ok().and_then(Result::ok).unwrap_or_else(Vec::new);
    let error = String::from_utf8_lossy(&error).into_owned();
    Ok(Ran { is_ok: status.success(), out, error })
}

fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MOST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
