//! `Encoding`: how the output declares the bytes of a part. Changes no byte, except that integers
//! are stored as 64 bits.

use tarflume_base::Choice;

/// How the bytes of a part are declared in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes without meaning.
    Bytes,
    /// A JPEG; readers decode it.
    Jpeg,
    /// A PNG; readers decode it.
    Png,
    /// UTF-8.
    Text,
    /// A decimal integer as text, stored as 64 bits.
    Int,
    /// JSON.
    Json,
}

impl Choice for Encoding {
    const ALL: &'static [Encoding] = &[
        Encoding::Bytes,
        Encoding::Jpeg,
        Encoding::Png,
        Encoding::Text,
        Encoding::Int,
        Encoding::Json,
    ];

    fn word(self) -> &'static str {
        match self {
            Encoding::Bytes => "bytes",
            Encoding::Jpeg => "jpeg",
            Encoding::Png => "png",
            Encoding::Text => "str",
            Encoding::Int => "int",
            Encoding::Json => "json",
        }
    }
}

impl Encoding {
    /// Returns the encoding of an extension, by its last component, as webdataset decodes it.
    pub(crate) fn of(ext: &str) -> Encoding {
        match ext.rsplit('.').next().unwrap_or(ext) {
            "jpg" | "jpeg" | "jfif" | "jpe" | "mpo" => Encoding::Jpeg,
            "png" => Encoding::Png,
            "json" => Encoding::Json,
            "txt" | "text" | "transcript" => Encoding::Text,
            "cls" | "cls2" | "index" | "inx" | "id" => Encoding::Int,
            _ => Encoding::Bytes,
        }
    }
}
