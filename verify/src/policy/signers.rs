//! `Signer`: a public key of minisign that may sign data sets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::source::{PolicyFault, Table};

/// The bytes of a public key: the algorithm, the number of the key, the key.
const LENGTH: usize = 42;
/// The algorithm.
const ED25519: &[u8] = b"Ed";

/// A public key of minisign, with the line that states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// The key in base64, as the second line of a `.pub` file has it.
    pub text: String,
    /// The bytes: `Ed`, 8 bytes of the number of the key, 32 bytes of the key.
    pub bytes: [u8; LENGTH],
    /// The line of the policy.
    pub line: usize,
}

/// Reads `[signatures]`.
///
/// # Errors
/// Returns the first fault.
pub(super) fn read(whole: &Table<'_>) -> Result<Vec<Signer>, PolicyFault> {
    let Some(item) = whole.get("signatures") else { return Ok(Vec::new()) };
    let table = item.table()?;
    table.only(&["allowed"])?;
    let allowed = table.get("allowed");
    let allowed = allowed.ok_or_else(|| table.fault("[signatures]: 'allowed' is missing"))?;
    let signers = allowed.list().into_iter().map(|item| {
        let text = item.text()?.trim();
        let bytes = STANDARD.decode(text).ok().and_then(|bytes| <[u8; LENGTH]>::try_from(bytes).ok());
        match bytes.filter(|bytes| bytes.starts_with(ED25519)) {
            Some(bytes) => Ok(Signer { text: text.into(), bytes, line: item.line() }),
            None => Err(item.fault(
                "this is no public key of minisign: the second line of minisign.pub, 56 characters that begin with RW",
            )),
        }
    });
    signers.collect()
}
