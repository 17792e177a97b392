//! Signs a data set in a folder.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minisign::{PublicKey, SecretKey, SecretKeyBox};
use tarflume_base::Failure;
use tarflume_formats::manifest::{FILE_NAME, SIGNATURE_NAME};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::publish::write_whole;
use tarflume_formats::{Error, Manifest, files, read_manifest_text};

use super::keys::{PASSWORD, key_name};

/// The bytes of a secret key: three algorithms, salt, two limits, number, key, checksum.
const KEY_BYTES: usize = 158;
/// The bytes of its checksum, which are its last ones.
const CHECKSUM_BYTES: usize = 32;

/// A secret key, ready to sign.
pub struct SigningKey {
    secret: SecretKey,
    public: PublicKey,
}

impl SigningKey {
    /// Reads the secret key at `path`, which minisign or [`make_keys`](super::make_keys) has made. An encrypted one needs
    /// its password.
    ///
    /// # Errors
    /// Returns an error if there is no key, the password is wrong or missing, or the operating system refuses.
    pub fn read(path: &Path, password: Option<String>) -> Result<SigningKey, Failure> {
        let bytes = files::read_whole(path, "read the secret key")?;
        let text = String::from_utf8(bytes).map_err(|_| no_key(path))?;
        let stored = stored(&text).ok_or_else(|| no_key(path))?;
        let boxed = SecretKeyBox::from_string(&text).map_err(|_| no_key(path))?;
        let secret = if stored.is_encrypted() {
            let Some(password) = password else { return Err(no_password(path)) };
            boxed.into_secret_key(Some(password)).map_err(|_| wrong_password(path))?
        } else if has_no_checksum(&stored) {
            stored
        } else {
            boxed.into_unencrypted_secret_key().map_err(|_| damaged_key(path))?
        };
        let public = PublicKey::from_secret_key(&secret).map_err(|_| no_key(path))?;
        Ok(SigningKey { secret, public })
    }
}

/// Returns the key as the line behind the comment has it, which may be encrypted.
fn stored(text: &str) -> Option<SecretKey> {
    let bytes = STANDARD.decode(text.lines().nth(1)?.trim()).ok()?;
    if bytes.len() == KEY_BYTES { SecretKey::from_bytes(&bytes).ok() } else { None }
}

/// Returns true for a key without a checksum, as `minisign -G -W` writes it.
fn has_no_checksum(key: &SecretKey) -> bool {
    key.to_bytes()[KEY_BYTES - CHECKSUM_BYTES..].iter().all(|&byte| byte == 0)
}

/// A signature that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The file.
    pub path: PathBuf,
    /// The root digest of the data set, in hex.
    pub root: String,
    /// The number of the key, 16 digits.
    pub key: String,
    /// The public key in base64.
    pub public: String,
}

/// Signs the data set in `folder`, and replaces an older signature. Reads the manifest alone: `pack verify` proves that
/// the shards are those of the manifest.
///
/// # Errors
/// Returns an error if there is no whole manifest, if a shard has no digest, so that the signature would not cover its
/// bytes, and if the operating system refuses.
pub fn sign(folder: &Path, key: &SigningKey) -> Result<Signed, Failure> {
    let path = folder.join(FILE_NAME);
    let text = read_manifest_text(&path)?;
    let manifest = Manifest::from_json(&text).map_err(|e| e.with_path(&path))?;
    if !manifest.has_all_digests() {
        let index = Call::of(Task::Index).with(Name::Force.on()).on_path(folder);
        let text = message!("some shards have no digest, so a signature would not cover their bytes; `{index}` adds digests"; index = index);
        return Err(Failure::bad_data(text).in_file(&path));
    }
    let root = Manifest::root_of(&text).to_hex().to_string();
    let trusted = format!(
        "tarflume root:{root} samples:{} shards:{}",
        manifest.samples,
        manifest.shards.len()
    );
    let signed = minisign::sign(
        Some(&key.public),
        &key.secret,
        text.as_slice(),
        Some(&trusted),
        Some("signature of a tarflume data set"),
    );
    let signed = signed
        .map_err(|e| Failure::from(Error::io(io::Error::other(e.to_string()), "sign", &path)))?;
    let path = folder.join(SIGNATURE_NAME);
    write_whole(&path, &signed.to_bytes())?;
    Ok(Signed { path, root, key: key_name(key.public.keynum()), public: key.public.to_base64() })
}

fn no_key(path: &Path) -> Failure {
    Failure::usage("this is no secret key of minisign").in_file(path)
}

fn damaged_key(path: &Path) -> Failure {
    Failure::bad_data("this secret key is damaged").in_file(path)
}

fn no_password(path: &Path) -> Failure {
    Failure::usage(format!("this key is encrypted: set {PASSWORD} to its password")).in_file(path)
}

fn wrong_password(path: &Path) -> Failure {
    Failure::usage("the password of this key is another one").in_file(path)
}
