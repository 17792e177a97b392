//! False entry points of a valid JPEG, with valid checksums: no panic, no byte outside the output; and a
//! whole picture is the same as without them. The input changes bytes of a valid blob.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tarflume_jpeg::{Decoder, Header, Job, Region, Scanner};

/// 97 x 61 pixels, 4:2:0; from fuzz/seeds.
const JPEG: &[u8] = include_bytes!("../seeds/jpeg_header/yuv420");

fn good() -> &'static (Header, Vec<u8>, Vec<u8>) {
    static GOOD: OnceLock<(Header, Vec<u8>, Vec<u8>)> = OnceLock::new();
    GOOD.get_or_init(|| {
        let header = Header::parse(JPEG).expect("a seed");
        let mut blob = Vec::new();
        Scanner::new().scan(JPEG, &header, &mut blob).expect("a seed");
        let mut pixels = vec![0; header.width() as usize * header.height() as usize * 3];
        Decoder::new().decode(Job::new(JPEG, &header, &mut pixels)).expect("a seed");
        (header, blob, pixels)
    })
}

fuzz_target!(|input: &[u8]| {
    let (header, blob, pixels) = good();
    let mut blob = blob.clone();
    for change in input.chunks_exact(2).take(32) {
        let at = usize::from(change[0]) % blob.len();
        blob[at] ^= change[1];
    }
    blob[16..20].fill(0);
    let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &blob) as u32;
    blob[16..20].copy_from_slice(&sum.to_le_bytes());

    let mut output = vec![0; pixels.len()];
    let job = Job { entry_points: Some(&blob), ..Job::new(JPEG, header, &mut output) };
    Decoder::new().decode(job).expect("the JPEG is good");
    assert!(output == *pixels);
    let region = Some(Region { left: 40, top: 30, width: 20, height: 20 });
    let mut output = vec![0; 20 * 60];
    let job = Job {
        entry_points: Some(&blob),
        region,
        stride: 60,
        ..Job::new(JPEG, header, &mut output)
    };
    Decoder::new().decode(job).expect("the JPEG is good");
});
