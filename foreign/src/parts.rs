//! Checks parts of samples other than JPEGs, decoded pictures and JSON: their structure, as far as it can be checked
//! without decoding pixels or sound and without executing anything.
//!
//! Each check takes the whole part, and memory in proportion to it: lists that a header states are not allocated before
//! their bytes were found.

mod array;
mod boxes;
mod cursor;
mod matroska;
mod ogg;
mod packed;
mod pickle;
mod sound;
mod tenbin;
mod tensors;
mod text;
mod zipped;

use tarflume_formats::Result;
use tarflume_formats::json::JsonRules;

/// What an extension says about a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// An array of NumPy.
    Npy,
    /// A zip of arrays.
    Npz,
    /// What `torch.save` writes.
    Torch,
    /// A pickle of Python.
    Pickle,
    /// Tensors of webdataset.
    TenBin,
    /// Tensors of `safetensors`.
    Safetensors,
    /// A text.
    Text,
    /// A whole number as text: a class.
    Number,
    /// A JSON value in each line.
    JsonLines,
    /// MessagePack.
    MessagePack,
    /// CBOR.
    Cbor,
    /// AVIF or HEIC.
    BoxPicture,
    /// MP4 or QuickTime.
    BoxVideo,
    /// Matroska or WebM.
    Matroska,
    /// WAV.
    Wave,
    /// FLAC.
    Flac,
    /// MP3.
    Mp3,
    /// Ogg: Vorbis, Opus, Theora.
    Ogg,
}

/// How far a part was looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// Nothing is left that its check looks at.
    Whole,
    /// The part is of a variant that its check does not know, which is no fault.
    Unread(&'static str),
}

impl PartKind {
    /// All kinds, in the order above.
    pub const ALL: [PartKind; 18] = [
        PartKind::Npy,
        PartKind::Npz,
        PartKind::Torch,
        PartKind::Pickle,
        PartKind::TenBin,
        PartKind::Safetensors,
        PartKind::Text,
        PartKind::Number,
        PartKind::JsonLines,
        PartKind::MessagePack,
        PartKind::Cbor,
        PartKind::BoxPicture,
        PartKind::BoxVideo,
        PartKind::Matroska,
        PartKind::Wave,
        PartKind::Flac,
        PartKind::Mp3,
        PartKind::Ogg,
    ];

    /// Returns the kind of a lower-case extension without dots; `None` if it has no check.
    pub fn of(ext: &[u8]) -> Option<PartKind> {
        Some(match ext {
            b"npy" => PartKind::Npy,
            b"npz" => PartKind::Npz,
            b"pth" | b"pt" => PartKind::Torch,
            b"pyd" | b"pickle" | b"pkl" => PartKind::Pickle,
            b"ten" | b"tenbin" => PartKind::TenBin,
            b"safetensors" => PartKind::Safetensors,
            b"txt" | b"text" | b"transcript" | b"caption" => PartKind::Text,
            b"cls" | b"cls2" => PartKind::Number,
            b"jsonl" | b"ndjson" => PartKind::JsonLines,
            b"mp" | b"msg" | b"msgpack" => PartKind::MessagePack,
            b"cbor" => PartKind::Cbor,
            b"avif" | b"heic" | b"heif" => PartKind::BoxPicture,
            b"mp4" | b"m4v" | b"m4a" | b"mov" => PartKind::BoxVideo,
            b"mkv" | b"webm" | b"mka" => PartKind::Matroska,
            b"wav" => PartKind::Wave,
            b"flac" => PartKind::Flac,
            b"mp3" => PartKind::Mp3,
            b"ogg" | b"oga" | b"ogv" | b"opus" => PartKind::Ogg,
            _ => return None,
        })
    }

    /// Returns its name for messages.
    pub fn name(self) -> &'static str {
        match self {
            PartKind::Npy => "npy",
            PartKind::Npz => "npz",
            PartKind::Torch => "file of torch",
            PartKind::Pickle => "pickle",
            PartKind::TenBin => "tenbin",
            PartKind::Safetensors => "safetensors",
            PartKind::Text => "text",
            PartKind::Number => "number",
            PartKind::JsonLines => "JSON lines",
            PartKind::MessagePack => "MessagePack",
            PartKind::Cbor => "CBOR",
            PartKind::BoxPicture => "AVIF or HEIC",
            PartKind::BoxVideo => "MP4",
            PartKind::Matroska => "Matroska",
            PartKind::Wave => "WAV",
            PartKind::Flac => "FLAC",
            PartKind::Mp3 => "MP3",
            PartKind::Ogg => "Ogg",
        }
    }

    /// Returns true if a part without bytes is sound: an empty text, which `--keep-empty` packs.
    fn may_be_empty(self) -> bool {
        matches!(self, PartKind::Text | PartKind::Number | PartKind::JsonLines)
    }

    /// Checks a part, JSON by `rules`.
    ///
    /// # Errors
    /// Returns the first fault, with its byte.
    pub fn check(self, bytes: &[u8], rules: JsonRules) -> Result<Looked> {
        if bytes.is_empty() && self.may_be_empty() {
            return Ok(Looked::Whole);
        }
        match self {
            PartKind::Npy => array::check(bytes),
            PartKind::Npz => zipped::arrays(bytes),
            PartKind::Torch => zipped::torch(bytes),
            PartKind::Pickle => pickle::check(bytes),
            PartKind::TenBin => tenbin::check(bytes),
            PartKind::Safetensors => tensors::check(bytes),
            PartKind::Text => text::check(bytes),
            PartKind::Number => text::number(bytes),
            PartKind::JsonLines => text::json_lines(bytes, rules),
            PartKind::MessagePack => packed::message_pack(bytes),
            PartKind::Cbor => packed::cbor(bytes),
            PartKind::BoxPicture => boxes::picture(bytes),
            PartKind::BoxVideo => boxes::video(bytes),
            PartKind::Matroska => matroska::check(bytes),
            PartKind::Wave => sound::wave(bytes),
            PartKind::Flac => sound::flac(bytes),
            PartKind::Mp3 => sound::mp3(bytes),
            PartKind::Ogg => ogg::check(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_list_of_kinds_has_each_once_in_its_order() {
        for (number, kind) in PartKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
        assert_eq!(PartKind::ALL.len(), PartKind::Ogg as usize + 1, "the last one");
    }

    proptest! {
        #[test]
        fn no_bytes_panic_a_check(head in 0..8usize, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let heads: [&[u8]; 8] = [b"", b"PK\x05\x06", b"\x93NUMPY\x01\0", b"\x80\x04", b"~TenBin~", b"fLaC",
                b"\x1a\x45\xdf\xa3\x81", b"\0\0\0\x10ftypisom"];
            let bytes = [heads[head], &bytes].concat();
            for kind in PartKind::ALL {
                if let Err(error) = kind.check(&bytes, JsonRules::Strict) {
                    prop_assert!(!error.text().is_empty());
                }
            }
        }
    }
}
