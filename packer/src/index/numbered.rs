//! Finds parts such as `05.jpg`: of names such as `22.05.jpg`, whose samples every reader joins to one, `22`.

use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::{Index, Result, name};

use crate::units;

/// Returns true for an extension that begins with a number and another dot.
fn is_numbered(ext: &[u8]) -> bool {
    let dot = ext.iter().position(|&byte| byte == b'.');
    dot.is_some_and(|dot| dot > 0 && ext[..dot].iter().all(u8::is_ascii_digit))
}

/// Returns one line about parts of a shard that begin with a number, if there are any.
///
/// # Errors
/// Returns an error if the sidecar is damaged.
pub(crate) fn note(index: &Index) -> Result<Option<Message>> {
    let mut found = 0;
    let mut first = None;
    for sample in index.iter() {
        let sample = sample?;
        for part in sample.parts() {
            let part = part?;
            if is_numbered(part.ext) {
                found += 1;
                first.get_or_insert((sample.key, part));
            }
        }
    }
    let Some((key, part)) = first else { return Ok(None) };
    let key = name::shown(key);
    let ext = name::shown(part.ext);
    let files = units::counted(found, "name has", "names have");
    Ok(Some(
        message!("{files} a number after the first dot, where the key ends: readers take '{key}.{ext}', at byte \
             {}, for the part '{ext}' of the sample '{key}'; if such files are samples of their own, \
             `{reshard}` makes them so", part.offset; reshard = Call::of(Task::Reshard).with(Name::KeyBy.is("last-dot"))),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_before_another_dot_is_no_extension() {
        for ext in ["05.jpg", "1.seg.png"] {
            assert!(is_numbered(ext.as_bytes()), "{ext}");
        }
        for ext in ["jpg", "seg.png", "05", ".jpg", "x1.jpg", ""] {
            assert!(!is_numbered(ext.as_bytes()), "{ext}");
        }
    }
}
