//! Recognizes an image format by its first bytes, whatever its name.

use tarflume_formats::Content;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};

/// Number of bytes that identify every format.
pub const ENOUGH: usize = 16;

/// Returns the extension for the format that `bytes` begin, if it is a known image format.
pub fn ext(bytes: &[u8]) -> Option<&'static str> {
    match Content::of(bytes)?.ext {
        "tiff" => Some("tif"),
        ext @ ("jpg" | "png" | "webp" | "gif" | "bmp" | "pbm" | "pgm" | "ppm") => Some(ext),
        _ => None,
    }
}

/// Returns true if the lower-case extension `named` is `ext` or a synonym of it.
pub fn same(named: &[u8], ext: &str) -> bool {
    usual(named) == usual(ext.as_bytes())
}

/// Returns the usual one of the synonyms of an extension.
fn usual(ext: &[u8]) -> &[u8] {
    match ext {
        b"jpeg" | b"jfif" | b"jpe" | b"mpo" => b"jpg",
        b"tiff" => b"tif",
        b"pnm" | b"pgm" | b"pbm" => b"ppm",
        other => other,
    }
}

/// Returns why a file with the name of a JPEG is not one, and the remedy.
pub(super) fn other_than_jpeg(bytes: &[u8]) -> Option<Message> {
    let found = Content::of(bytes).filter(|found| found.ext != "jpg")?;
    let Content { name, ext: right } = found;
    let remedy = match ext(bytes) {
        Some(_) => {
            message!("rename it to .{right}, or use `{build}`"; build = Call::of(Task::Build).with(Name::ExtByContent.on()))
        }
        None if found.is_image() => message!(
            "rename it to .{right} and read it with Image(..., fallback=\"pillow\"), or convert it to JPEG"
        ),
        None => {
            message!("leave it out with {on_problem}, or get the picture again"; on_problem = Name::OnProblem.is("skip"))
        }
    };
    Some(message!("it is not a JPEG but {name}: {remedy}"; remedy = remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_the_format() {
        let starts: [(&[u8], Option<&str>); 10] = [
            (b"\xff\xd8\xff\xe0", Some("jpg")),
            (b"\x89PNG\r\n\x1a\n", Some("png")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("webp")),
            (b"GIF89a", Some("gif")),
            (b"BM\0\0", Some("bmp")),
            (b"II*\0", Some("tif")),
            (b"P6\n3 2", Some("ppm")),
            (b"P5 3 2", Some("pgm")),
            (b"{}", None),
            (b"", None),
        ];
        for (bytes, wanted) in starts {
            assert_eq!(ext(bytes), wanted, "{bytes:?}");
        }
        assert!(same(b"jpeg", "jpg") && same(b"tif", "tif") && !same(b"jpg", "png"));
        assert!(same(b"pnm", "pgm") && same(b"pgm", "ppm"));
        assert!(same(b"jfif", "jpg") && same(b"jpe", "jpg") && same(b"mpo", "jpg"));
        assert_eq!(other_than_jpeg(b"\xff\xd8\xff"), None);
        // With `--ext-by-content`, only the last two can be met.
        let remedies = [
            (&b"\x89PNG\r\n\x1a\n"[..], "rename it to .png, or use `pack build --ext-by-content`"),
            (b"\0\0\0\x20ftypavif", "rename it to .avif and read it with Image(..., fallback="),
            (b"<!DOCTYPE html>", "an HTML page: leave it out with --on-problem skip"),
        ];
        for (bytes, remedy) in remedies {
            let found = other_than_jpeg(bytes).unwrap().text();
            assert!(found.contains(remedy), "{found}");
            assert_eq!(found.contains("--ext-by-content"), ext(bytes).is_some(), "{found}");
        }
        assert!(
            other_than_jpeg(b"GIF89a")
                .unwrap()
                .text()
                .starts_with("it is not a JPEG but a GIF: rename")
        );
    }
}
