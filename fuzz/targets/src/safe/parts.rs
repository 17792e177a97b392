//! Checks of parts other than decoded pictures and JSON: an error or not, without a panic, and with memory for little more
//! than the input. The first byte chooses the kind.

use tarflume_foreign::parts::PartKind;
use tarflume_formats::json::JsonRules;

const EXTS: [&[u8]; 18] = [
    b"npy",
    b"npz",
    b"pt",
    b"pyd",
    b"ten",
    b"safetensors",
    b"txt",
    b"cls",
    b"jsonl",
    b"mp",
    b"cbor",
    b"avif",
    b"mp4",
    b"webm",
    b"wav",
    b"flac",
    b"mp3",
    b"ogg",
];

/// Checks the input as a part.
pub fn parts(input: &[u8]) {
    let Some((first, part)) = input.split_first() else { return };
    let ext = EXTS[usize::from(*first) % EXTS.len()];
    let kind = PartKind::of(ext).expect("each extension of the list has a check");
    if let Err(error) = kind.check(part, JsonRules::Strict) {
        assert!(!error.text().is_empty());
    }
}
