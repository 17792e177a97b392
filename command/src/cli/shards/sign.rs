//! `pack sign`: signs data sets, and makes keys.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use tarflume_base::{Exit, Failure, Outcome};
use tarflume_formats::shown::ShowPath;
use tarflume_verify::signature::{PASSWORD, SigningKey, make_keys, sign};

const AFTER: &str = "\
Examples:
  pack sign --new-key release.key                make a key, once: release.key and release.pub
  pack sign shards/ --key release.key            write shards/dataset.json.minisig
  pack verify --signed-by release.pub shards/    check signature and shards
  minisign -Vm shards/dataset.json -p release.pub   the signature alone, by minisign

The signature is one over dataset.json, which has the digests of all tars and sidecars; its trusted
comment has the root digest that `pack info` prints. `pack sign` reads dataset.json alone: verify
the data set before you sign it. After an append, sign again.

Keys are those of minisign. A secret key is encrypted by a password, which is asked for, or is taken
from TARFLUME_KEY_PASSWORD; with --no-password it is not encrypted, for services that keep secrets.

Exit codes: 0 done   2 no data set, no key, or a wrong password   65 bad data
            73 the system refuses   75 try again";

/// Sign data sets, so that a change by others is found
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Folders of the data sets
    #[arg(required_unless_present = "new_key", value_name = "DIR")]
    pub(in crate::cli) folders: Vec<PathBuf>,
    /// Sign with this secret key
    #[arg(long, value_name = "FILE", required_unless_present = "new_key")]
    key: Option<PathBuf>,
    /// Make a key: the secret one in FILE, the public one beside it, with the ending .pub
    #[arg(long, value_name = "FILE", conflicts_with_all = ["folders", "key"])]
    new_key: Option<PathBuf>,
    /// Do not encrypt the new key
    #[arg(long, requires = "new_key")]
    no_password: bool,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    if let Some(path) = &args.new_key {
        return new_key(path, args.no_password);
    }
    let path = args.key.as_ref().expect("clap requires a key or a new one");
    let key = read(path)?;
    for folder in &args.folders {
        let signed = sign(folder, &key)?;
        print_result!("{}: root {}, key {}", signed.path.shown(), signed.root, signed.key);
    }
    Ok(Exit::Done)
}

/// Reads a key, and asks for its password if it has one and there is a terminal.
fn read(path: &Path) -> Result<SigningKey, Failure> {
    let given = std::env::var(PASSWORD).ok();
    let is_given = given.is_some();
    match SigningKey::read(path, given) {
        Err(_) if !is_given && std::io::stdin().is_terminal() => {
            SigningKey::read(path, Some(asked("password of the key: ")?))
        }
        read => read,
    }
}

fn new_key(path: &Path, no_password: bool) -> Outcome {
    let password = if no_password { None } else { Some(new_password()?) };
    let made = make_keys(path, password)?;
    print_result!("{}: the secret key; keep it", made.secret.shown());
    print_result!("{}: the public key, {}", made.public.shown(), made.text);
    Ok(Exit::Done)
}

fn new_password() -> Result<String, Failure> {
    if let Ok(given) = std::env::var(PASSWORD) {
        return Ok(given);
    }
    if !std::io::stdin().is_terminal() {
        let text = format!(
            "there is no terminal to ask for a password: set {PASSWORD}, or give --no-password"
        );
        return Err(Failure::usage(text));
    }
    let password = asked("password for the new key: ")?;
    if password != asked("the same password again: ")? {
        return Err(Failure::usage("the two passwords differ"));
    }
    Ok(password)
}

fn asked(prompt: &str) -> Result<String, Failure> {
    let read = rpassword::prompt_password(prompt);
    read.map_err(|e| Failure::usage(format!("no password was read: {e}; set {PASSWORD}")))
}
