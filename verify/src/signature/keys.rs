//! `Signers`, the keys whose signatures are accepted, and new pairs of keys.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use minisign::{KeyPair, PublicKey, PublicKeyBox, SignatureBox};
use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::publish::{folder_of, sync_folder};
use tarflume_formats::{Error, files};

/// The variable of the environment with the password of a key.
pub const PASSWORD: &str = "TARFLUME_KEY_PASSWORD";

/// The characters of a public key in base64, without the comment around it.
const KEY_TEXT: usize = 56;
/// Limit on the bytes of a file with a public key.
const KEY_FILE_MAX: u64 = 4096;

/// Public keys whose signatures are accepted.
#[derive(Debug, Clone)]
pub struct Signers(Vec<PublicKey>);

impl Signers {
    /// Reads public keys of minisign: each word is the key in base64 (`RW...`), or the path of its file.
    ///
    /// # Errors
    /// Returns an error for a word that is neither, and for a file that cannot be read or has no key.
    ///
    /// # Example
    /// ```
    /// use tarflume_verify::signature::Signers;
    ///
    /// let signers = Signers::read(&["RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"])?;
    /// assert_eq!(signers.names(), ["E7620F1842B4E81F"]);
    /// # Ok::<(), tarflume_base::Failure>(())
    /// ```
    pub fn read<T: AsRef<str>>(words: &[T]) -> Result<Signers, Failure> {
        words.iter().map(|word| read(word.as_ref())).collect::<Result<_, _>>().map(Signers)
    }

    /// The names of the keys: the 16 digits of their numbers, as minisign prints them.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|key| key_name(key.keynum())).collect()
    }

    /// Returns the accepted key that made a signature; `None` if none of them did.
    pub(super) fn maker(&self, signature: &SignatureBox) -> Option<&PublicKey> {
        self.0.iter().find(|key| key.keynum() == signature.keynum())
    }
}

fn read(word: &str) -> Result<PublicKey, Failure> {
    let path = Path::new(word);
    if !files::exists(path)? {
        let key = PublicKey::from_base64(word).ok().filter(|_| word.len() == KEY_TEXT);
        return key.ok_or_else(|| no_key(word));
    }
    if files::metadata(path, "read the public key")?.len() > KEY_FILE_MAX {
        return Err(no_key(word).in_file(path));
    }
    let bytes = files::read_whole(path, "read the public key")?;
    let text = String::from_utf8(bytes).map_err(|_| no_key(word).in_file(path))?;
    let boxed = PublicKeyBox::from_string(&text).and_then(PublicKeyBox::into_public_key);
    boxed.map_err(|_| no_key(word).in_file(path))
}

fn no_key(word: &str) -> Failure {
    Failure::usage(message!(
        "{signed_by}: this is neither a public key of minisign (56 characters that begin with RW) nor a file with one";
        signed_by = Name::SignedBy.is(word)
    ))
}

/// The 16 digits of a key's number.
pub(super) fn key_name(number: &[u8]) -> String {
    number.iter().rev().map(|byte| format!("{byte:02X}")).collect()
}

/// A new pair of keys.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// The file of the secret key.
    pub secret: PathBuf,
    /// The file of the public key.
    pub public: PathBuf,
    /// The public key in base64, as [`Signers::read`] takes it.
    pub text: String,
}

/// Makes a pair of keys: the secret one at `secret`, which its user alone can read, the public one beside it with the
/// ending `.pub`. With a password, the secret key is encrypted. No file is replaced.
///
/// # Errors
/// Returns an error if one of the files exists, or the operating system refuses.
pub fn make_keys(secret: &Path, password: Option<String>) -> Result<NewKey, Failure> {
    let public = secret.with_extension("pub");
    if public == secret {
        let text =
            "the public key gets this name; give the secret one another, such as release.key";
        return Err(Failure::usage(text).in_file(secret));
    }
    let pair = match password {
        Some(password) => KeyPair::generate_encrypted_keypair(Some(password)),
        None => KeyPair::generate_unencrypted_keypair(),
    };
    let pair = pair.map_err(not_made)?;
    let text = pair.pk.to_base64();
    let public_box = pair.pk.to_box().map_err(not_made)?.to_bytes();
    let secret_box = pair.sk.to_box(Some("tarflume secret key")).map_err(not_made)?.to_bytes();
    write_new(secret, &secret_box, 0o600)?;
    write_new(&public, &public_box, 0o644)?;
    sync_folder(folder_of(secret))?;
    Ok(NewKey { secret: secret.into(), public, text })
}

fn not_made(error: minisign::PError) -> Failure {
    Failure::from(Error::io(io::Error::other(error.to_string()), "make a key", "minisign"))
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let mut file = match opened {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let text = "there is a file of this name, and no key is replaced; give another one";
            return Err(Failure::usage(text).in_file(path));
        }
        opened => opened.map_err(|e| Error::io(e, "create", path))?,
    };
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(|e| Error::io(e, "write", path))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn keys_are_read_as_text_and_from_files_and_none_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("release.key");
        let made = make_keys(&secret, None).unwrap();
        let mode = std::fs::metadata(&secret).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let of_file = Signers::read(&[made.public.to_str().unwrap()]).unwrap();
        let of_text = Signers::read(&[&made.text]).unwrap();
        assert_eq!(of_file.names(), of_text.names());
        let again = make_keys(&secret, None).unwrap_err();
        assert!(again.text().contains("no key is replaced"), "{}", again.text());
    }

    #[test]
    fn other_words_and_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.pub");
        std::fs::write(&path, "untrusted comment: x\nnot base64\n").unwrap();
        let wrong = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO!";
        for word in ["nothing", wrong, path.to_str().unwrap()] {
            let failure = Signers::read(&[word]).unwrap_err();
            assert!(failure.text().contains("--signed-by"), "{}", failure.text());
        }
    }
}
