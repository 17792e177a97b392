//! False entry points of a valid JPEG, with valid checksums: no panic, no byte outside the output; and a
//! whole picture is the same as without them. The input changes bytes of a valid blob.

use std::sync::OnceLock;

use crate::seeds::{YUV420 as JPEG, put_checksum};
use tarflume_jpeg::{Decoder, Header, Job, Region, Scanner};

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

/// Decodes a valid JPEG with entry points that the input changes.
pub fn jpeg_points(input: &[u8]) {
    let (header, blob, pixels) = good();
    let mut blob = blob.clone();
    for change in input.chunks_exact(2).take(32) {
        let at = usize::from(change[0]) % blob.len();
        blob[at] ^= change[1];
    }
    put_checksum(&mut blob);

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
}
