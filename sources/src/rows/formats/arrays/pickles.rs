//! Pickles of Python that are taken for arrays: refused by name, because reading one runs its code.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::shown::ShowPath;

use crate::rows::places::bytes::Store;

/// Refuses a file that begins and ends as a pickle does.
///
/// # Errors
/// Returns an error with what to download or write instead, and if the operating system refuses.
pub(crate) fn refuse(store: &mut Store, path: &Path) -> Result<(), Failure> {
    let length = store.length();
    if length < 4 || !is_pickle(store.array(0)?) || store.get(length - 1, 1)? != b"." {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "it is a pickle of Python, and reading one runs its code; of CIFAR, download the binary version \
         (cifar-10-binary.tar.gz, cifar-100-binary.tar.gz) and pack it with \
         'raw:data_batch_*.bin?record=label:u1,image:3x32x32u1&png=image&layout=chw'. If you trust the file: import \
         numpy, pickle; d = pickle.load(open('{}', 'rb'), encoding='latin1'); numpy.savez('x.npz', \
         image=d['data'].reshape(-1, 3, 32, 32), label=d['labels'])",
        path.shown()
    ))
    .in_file(path))
}

/// Returns true for the first bytes of a pickle of a dictionary, list, tuple or object of protocols 2 to 5.
fn is_pickle(first: [u8; 4]) -> bool {
    matches!(first, [0x80, 2 | 3, b'}' | b']' | b'(' | b'c', _] | [0x80, 4 | 5, 0x95, _])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pickle_is_known_by_its_first_and_last_byte() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data_batch_1");
        for (bytes, is_pickle) in [
            (&b"\x80\x02}q\x01(U\x0bbatch_labelq\x02."[..], true),
            (b"\x80\x04\x95\x0b\0\0\0\0\0\0\0}\x94.", true),
            (b"\x80\x02}q\x01(U\x0bbatch_labelq\x02", false),
            (b"\x80\x02\0.", false),
            (b"\x80\x02", false),
            (b"", false),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let found = refuse(&mut Store::open(&path).unwrap(), &path);
            assert_eq!(found.is_err(), is_pickle, "{bytes:?}");
        }
    }
}
