//! Compares the signature of a data set with its manifest.

use std::io::Cursor;
use std::path::Path;

use minisign::SignatureBox;
use tarflume_base::{Failure, Problem, ProblemKind};
use tarflume_formats::files;
use tarflume_formats::manifest::{FILE_NAME, SIGNATURE_NAME};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Task};

use super::keys::{Signers, key_name};

/// Limit on the bytes of a signature.
const SIGNATURE_MAX: u64 = 16 * 1024;

/// Returns what is wrong with the signature in `folder`; `None` if one of the signers made it for this manifest.
///
/// # Errors
/// Returns an error if the machine failed.
pub(crate) fn problem(folder: &Path, signers: &Signers) -> Result<Option<Problem>, Failure> {
    let path = folder.join(SIGNATURE_NAME);
    if !files::exists(&path)? {
        let text = message!("the data set has no signature; `{sign}` makes one"; sign = Call::of(Task::Sign).on_path(folder));
        return Ok(Some(of(ProblemKind::NoSignature, &folder.join(FILE_NAME), text)));
    }
    if files::metadata(&path, "read the signature")?.len() > SIGNATURE_MAX {
        return Ok(Some(bad(&path, "this is no signature of minisign: it is too long")));
    }
    let text = files::read_whole(&path, "read the signature")?;
    let Some(signature) = parsed(&text) else {
        return Ok(Some(bad(&path, "this is no signature of minisign")));
    };
    let Some(key) = signers.maker(&signature) else {
        let found = key_name(signature.keynum());
        let accepted = signers.names().join(", ");
        let text = format!("key {found} made this signature; accepted are {accepted}");
        return Ok(Some(bad(&path, text)));
    };
    let manifest = folder.join(FILE_NAME);
    if !files::exists(&manifest)? {
        return Ok(None); // a missing manifest is a problem of its own
    }
    let signed = files::read_whole(&manifest, "read the manifest")?;
    let checked = minisign::verify(key, &signature, Cursor::new(&signed), true, false, false);
    Ok(checked.is_err().then(|| {
        let text = message!("the signature does not belong to this dataset.json: one of them was changed; if the change is \
             yours, sign it again with `{sign}`"; sign = Call::of(Task::Sign).on_path(folder));
        bad(&path, text)
    }))
}

fn parsed(text: &[u8]) -> Option<SignatureBox> {
    SignatureBox::from_string(std::str::from_utf8(text).ok()?).ok()
}

fn bad(path: &Path, text: impl Into<Message>) -> Problem {
    of(ProblemKind::BadSignature, path, text)
}

fn of(kind: ProblemKind, path: &Path, text: impl Into<Message>) -> Problem {
    Problem::new(kind, path.display().to_string(), text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tarflume_formats::Manifest;

    use super::super::{SigningKey, make_keys, sign};
    use super::*;

    fn kind(folder: &Path, signers: &Signers) -> Option<ProblemKind> {
        problem(folder, signers).unwrap().map(|problem| problem.kind)
    }

    #[test]
    fn each_changed_byte_of_manifest_and_signature_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        let manifest = Manifest::new("pack 0", None, Default::default(), Vec::new()).to_json();
        fs::write(folder.join(FILE_NAME), &manifest).unwrap();
        let made = make_keys(&dir.path().join("a.key"), Some("secret".into())).unwrap();
        let signers = Signers::read(&[&made.text]).unwrap();
        assert_eq!(kind(folder, &signers), Some(ProblemKind::NoSignature));
        let refused = SigningKey::read(&made.secret, None).err().unwrap();
        assert!(refused.text().contains("TARFLUME_KEY_PASSWORD"), "{}", refused.text());
        let refused = SigningKey::read(&made.secret, Some("other".into())).err().unwrap();
        assert!(refused.text().contains("password"), "{}", refused.text());
        let key = SigningKey::read(&made.secret, Some("secret".into())).unwrap();
        let signed = sign(folder, &key).unwrap();
        assert_eq!(signed.root, Manifest::root_of(&manifest).to_hex().to_string());
        assert_eq!(kind(folder, &signers), None);
        for at in 0..manifest.len() {
            let mut changed = manifest.clone();
            changed[at] ^= 1;
            fs::write(folder.join(FILE_NAME), &changed).unwrap();
            assert_eq!(kind(folder, &signers), Some(ProblemKind::BadSignature), "byte {at}");
        }
        fs::write(folder.join(FILE_NAME), &manifest).unwrap();
        let text = fs::read(&signed.path).unwrap();
        let untrusted = text.iter().position(|&byte| byte == b'\n').unwrap();
        for at in untrusted + 1..text.len() - 1 {
            let mut changed = text.clone();
            changed[at] ^= 1;
            fs::write(&signed.path, &changed).unwrap();
            assert_eq!(kind(folder, &signers), Some(ProblemKind::BadSignature), "byte {at}");
        }
    }

    #[test]
    fn the_signature_of_another_key_names_both() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = Manifest::new("pack 0", None, Default::default(), Vec::new()).to_json();
        fs::write(dir.path().join(FILE_NAME), manifest).unwrap();
        let one = make_keys(&dir.path().join("a.key"), None).unwrap();
        let other = make_keys(&dir.path().join("b.key"), None).unwrap();
        sign(dir.path(), &SigningKey::read(&one.secret, None).unwrap()).unwrap();
        let signers = Signers::read(&[&other.text]).unwrap();
        let found = problem(dir.path(), &signers).unwrap().unwrap();
        for name in signers.names().iter().chain(&Signers::read(&[&one.text]).unwrap().names()) {
            assert!(found.reason.text().contains(name), "{found}");
        }
    }

    /// Made by `minisign -G -W` of version 0.10, which writes no checksum of an unencrypted key.
    const OF_THE_TOOL: [&str; 2] = [
        "untrusted comment: minisign encrypted secret key\n\
         RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAANd/+42XWKlIi/hvdbKZu5Oy3yOoVqSqokPa98mBhhsgeX8fFGi4/yPfr+9L05j7muTWzfP5ex6AGioeKKLKmr8nneMaaSJrlAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
        "RWQ13/7jZdYqUvfr+9L05j7muTWzfP5ex6AGioeKKLKmr8nneMaaSJrl",
    ];

    #[test]
    fn an_unencrypted_key_of_the_tool_signs() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = Manifest::new("pack 0", None, Default::default(), Vec::new()).to_json();
        fs::write(dir.path().join(FILE_NAME), manifest).unwrap();
        let path = dir.path().join("tool.key");
        fs::write(&path, OF_THE_TOOL[0]).unwrap();
        let signed = sign(dir.path(), &SigningKey::read(&path, None).unwrap()).unwrap();
        assert_eq!(signed.public, OF_THE_TOOL[1]);
        assert_eq!(kind(dir.path(), &Signers::read(&[OF_THE_TOOL[1]]).unwrap()), None);
        // A key of this program has a checksum.
        let made = make_keys(&dir.path().join("own.key"), None).unwrap();
        let text = fs::read_to_string(&made.secret).unwrap();
        let line = text.lines().nth(1).unwrap();
        let changed = format!(
            "{}{}{}",
            &line[..100],
            if &line[100..101] == "A" { "B" } else { "A" },
            &line[101..]
        );
        fs::write(&made.secret, text.replace(line, &changed)).unwrap();
        assert!(SigningKey::read(&made.secret, None).is_err());
    }
}
