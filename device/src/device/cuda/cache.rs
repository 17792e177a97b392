//! `Cache`: compiled kernels, kept on disk for the next start. The files are loaded into the GPU, and their hash proves
//! only that they are complete. Therefore the folder and its files must belong to this user and be writable by no one
//! else.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::geteuid;
use tarflume_formats::publish::{sweep, write_whole};

/// Mode bits that let other users write.
const OTHERS_WRITE: u32 = 0o022;

/// A safe folder, or none.
#[derive(Debug)]
pub(super) struct Cache(Option<PathBuf>);

impl Cache {
    /// `$XDG_CACHE_HOME/tarflume`, or `~/.cache/tarflume`. Without a trustworthy folder, an empty cache and the reason.
    /// `word` reads the environment.
    pub(super) fn find(word: impl Fn(&str) -> Option<PathBuf>) -> (Cache, Option<String>) {
        let named = |name| word(name).filter(|path| !path.as_os_str().is_empty());
        let Some(caches) = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")))
        else {
            return (Cache(None), None); // no place is configured, so nothing is wrong
        };
        match safe(&caches) {
            Ok(folder) => (Cache(Some(folder)), None),
            Err(why) => {
                let text = format!("kernels are compiled at each start and not cached: {why}");
                (Cache(None), Some(text))
            }
        }
    }

    /// The content of file `name` after its hash; `None` if the file is incomplete or not this user's.
    pub(super) fn kept(&self, name: &str) -> Option<Vec<u8>> {
        let mut bytes = read(&self.0.as_ref()?.join(name))?;
        let code = bytes.split_off(blake3::OUT_LEN.min(bytes.len()));
        (blake3::hash(&code).as_bytes()[..] == bytes[..]).then_some(code)
    }

    /// Stores a file. Errors are ignored: they cost only the next start's time.
    pub(super) fn keep(&self, name: &str, code: &[u8]) {
        let Some(folder) = &self.0 else { return };
        let bytes = [&blake3::hash(code).as_bytes()[..], code].concat();
        let _ = sweep(folder).and_then(|()| write_whole(folder.join(name), &bytes));
    }
}

/// The folder below `caches`, created with access for this user only if it does not exist.
fn safe(caches: &Path) -> Result<PathBuf, String> {
    if !caches.is_absolute() {
        return Err(format!(
            "XDG_CACHE_HOME is {}, which is not an absolute path",
            caches.display()
        ));
    }
    let folder = caches.join("tarflume");
    fs::create_dir_all(caches).map_err(|error| describe(error, &folder))?;
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(describe(error, &folder));
        }
        _ => {}
    }
    let facts = fs::symlink_metadata(&folder).map_err(|error| describe(error, &folder))?; // do not follow links: they may lead anywhere
    if !facts.is_dir() {
        return Err(format!("{} is not a folder: remove it", folder.display()));
    }
    if facts.uid() != geteuid().as_raw() {
        return Err(format!("{} belongs to another user: set XDG_CACHE_HOME", folder.display()));
    }
    if facts.mode() & OTHERS_WRITE != 0 {
        let text = "is writable by other users, and so is its content: remove it";
        return Err(format!("{} {text}", folder.display()));
    }
    if facts.mode() & 0o077 != 0 {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))
            .map_err(|error| describe(error, &folder))?;
    }
    Ok(folder)
}

fn describe(error: std::io::Error, folder: &Path) -> String {
    format!("{}: {error}", folder.display())
}

/// Reads a regular file that belongs to this user and is writable by no one else. Follows no link.
fn read(path: &Path) -> Option<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let mut file: File = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let facts = file.metadata().ok()?;
    let own = facts.uid() == geteuid().as_raw() && facts.mode() & OTHERS_WRITE == 0;
    let mut bytes = Vec::new();
    (facts.is_file() && own).then(|| file.read_to_end(&mut bytes).ok()).flatten()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(caches: &Path) -> (Cache, Option<String>) {
        Cache::find(|name| (name == "XDG_CACHE_HOME").then(|| caches.to_path_buf()))
    }

    #[test]
    fn a_cache_entry_is_valid_only_if_whole() {
        let dir = tempfile::tempdir().unwrap();
        let (cache, why) = find(&dir.path().join("made"));
        let path = dir.path().join("made/tarflume/k");
        assert_eq!((why, cache.kept("k")), (None, None));
        cache.keep("k", b"code");
        assert_eq!(cache.kept("k").as_deref(), Some(&b"code"[..]));
        let mut bytes = fs::read(&path).unwrap();
        bytes.pop();
        fs::write(&path, &bytes).unwrap();
        assert_eq!(cache.kept("k"), None);
        fs::write(&path, b"short").unwrap();
        assert_eq!(cache.kept("k"), None);
    }

    #[test]
    fn a_folder_writable_by_others_is_no_cache_and_the_error_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("tarflume");
        let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        let (cache, _) = find(dir.path());
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        cache.keep("k", b"code");
        mode(0o777);
        let (refused, why) = find(dir.path());
        assert!(why.unwrap().contains("is writable by other users"));
        assert_eq!(refused.kept("k"), None);
        // A folder that others can read is made private.
        mode(0o755);
        assert_eq!(find(dir.path()).0.kept("k").as_deref(), Some(&b"code"[..]));
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn linked_or_world_writable_files_are_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let (cache, _) = find(dir.path());
        cache.keep("k", b"code");
        let path = dir.path().join("tarflume/k");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(cache.kept("k"), None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(cache.kept("k").is_some());
        fs::rename(&path, dir.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &path).unwrap();
        assert_eq!(cache.kept("k"), None);
    }

    #[test]
    fn a_relative_path_a_link_and_a_file_are_refused_as_cache() {
        let (cache, why) = find(Path::new("relative"));
        assert!(why.unwrap().contains("not an absolute path"));
        cache.keep("k", b"code");
        assert!(fs::symlink_metadata("relative").is_err());
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/tmp", dir.path().join("tarflume")).unwrap();
        assert!(find(dir.path()).1.unwrap().contains("is not a folder"));
        assert_eq!(Cache::find(|_| None).1, None);
    }
}
