//! Writes the fuzzers' seeds: small JPEGs of every kind, after the bytes that the targets take as
//! their choices. `cargo run -p tarflume-jpeg --example jpeg_seeds -- fuzz/seeds`

use std::error::Error;
use std::fs;
use std::path::Path;

use tarflume_fixtures::{Photo, PhotoKind};

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args().nth(1).ok_or("usage: jpeg_seeds DIR")?;
    let out = Path::new(&out);
    let put = |target: &str, name: &str, mode: &[u8], bytes: &[u8]| {
        fs::create_dir_all(out.join(target))?;
        fs::write(out.join(target).join(name), [mode, bytes].concat())
    };
    let kinds = [
        ("yuv420", PhotoKind::Yuv420, (97, 61)),
        ("yuv444", PhotoKind::Yuv444, (40, 24)),
        ("yuv422", PhotoKind::Yuv422, (33, 17)),
        ("gray", PhotoKind::Gray, (31, 40)),
        ("progressive", PhotoKind::Progressive, (24, 16)),
        ("cmyk", PhotoKind::Cmyk, (16, 8)),
        ("exif", PhotoKind::Exif(6), (9, 7)),
    ];
    for (name, kind, (width, height)) in kinds {
        let jpeg = Photo::new(width, height, kind).encode(7)?;
        put("jpeg_header", name, &[], &jpeg)?;
        put("jpeg_scan", name, &[], &jpeg)?;
        put("jpeg_decode", name, &[1, 0, 20, 200, 30, 255], &jpeg)?;
        put("jpeg_group", name, &[1], &jpeg)?;
    }
    put("jpeg_excerpt", "base", &[20, 30, 40, 9, 0, 2, 3, 7, 1], &[])?;
    put("jpeg_offload", "base", &[10, 5, 40, 30, 0], &[])?;
    put("jpeg_offload", "places", &[0, 0, 96, 60, 1, 0, 50, 16], &[])?;
    put("jpeg_offload", "codes", &[3, 9, 20, 200, 6, 0x84, 40, 0xff, 0x80, 200, 1], &[])?;
    put("jpeg_points", "base", &[28, 1, 32, 5, 43, 2], &[])?;
    Ok(())
}
