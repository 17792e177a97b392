//! Excerpts with false entry points and false rows, both with valid checksums: no panic, and with the right entry
//! points the same pixels; the same result if damaged pictures are kept, since the bytes beside an excerpt are unspecified.
//! The input chooses a region and a scale, and changes bytes of the entry points.

use std::sync::OnceLock;

use crate::seeds::{YUV420 as JPEG, crc32c, put_checksum};
use tarflume_jpeg::{
    Decoder, EntryPoints, Error, Excerpt, Header, Job, OnDamage, Region, Scale, Scanner, Size,
};

/// The JPEG's entry points.
fn good() -> &'static [u8] {
    static GOOD: OnceLock<Vec<u8>> = OnceLock::new();
    GOOD.get_or_init(|| {
        let header = Header::parse(JPEG).expect("a seed");
        let mut blob = Vec::new();
        Scanner::new().scan(JPEG, &header, &mut blob).expect("a seed");
        blob
    })
}

/// The checksums of strips of one row, as far as the entry points lead to bytes of the JPEG.
fn strips(points: &EntryPoints<'_>, rows: u32) -> Vec<u8> {
    let mut sums = vec![0; 8 + 4 * rows as usize];
    sums[..4].copy_from_slice(&[1, 0, 1, 0]);
    for row in 0..rows {
        let one = Excerpt { strips: &sums, rows: (row, row + 1) };
        let Some(bytes) = one.bytes(points) else { continue };
        let head = JPEG.get(..bytes.header);
        let rows = JPEG.get(bytes.rows);
        sums[4..8].copy_from_slice(&head.map_or([0; 4], crc32c));
        let at = 8 + 4 * row as usize;
        sums[at..at + 4].copy_from_slice(&rows.map_or([0; 4], crc32c));
    }
    sums
}

fn decode(
    bytes: &[u8],
    points: &[u8],
    region: Region,
    scale: Scale,
    excerpt: Option<Excerpt<'_>>,
    on_damage: OnDamage,
) -> Result<Vec<u8>, Error> {
    let header = Header::parse(bytes)?;
    let stride = 3 * region.width as usize;
    let mut output = vec![0; stride * region.height as usize];
    let job = Job::new(bytes, &header, &mut output);
    let entry_points = Some(points);
    let job = Job { region: Some(region), scale, stride, entry_points, excerpt, on_damage, ..job };
    Decoder::new().decode(job)?;
    Ok(output)
}

/// Decodes an excerpt of a valid JPEG with entry points that the input changes.
pub fn jpeg_excerpt(input: &[u8]) {
    let Some((&[left, top, width, height, scale], changes)) = input.split_first_chunk() else {
        return;
    };
    let scale = Scale::ALL[usize::from(scale % 4)];
    let Size { width: across, height: down } = scale.of(97, 61);
    let left = u32::from(left) % across;
    let top = u32::from(top) % down;
    let width = 1 + u32::from(width) % (across - left);
    let height = 1 + u32::from(height) % (down - top);
    let region = Region { left, top, width, height };

    let mut blob = good().to_vec();
    for change in changes.chunks_exact(2).take(32) {
        let at = usize::from(change[0]) % blob.len();
        blob[at] ^= change[1];
    }
    put_checksum(&mut blob);
    let Ok(points) = EntryPoints::read(&blob) else { return };
    let rows = u32::from(u16::from_le_bytes([blob[2], blob[3]])).min(64);
    let sums = strips(&points, rows);
    let Some((excerpt, bytes)) = Excerpt::of(&points, &sums, 61, region, scale) else { return };
    let mut read = vec![0xff; bytes.rows.end.min(JPEG.len())];
    for range in [0..bytes.header, bytes.rows] {
        if let (Some(to), Some(from)) = (read.get_mut(range.clone()), JPEG.get(range)) {
            to.copy_from_slice(from);
        }
    }
    let found = decode(&read, &blob, region, scale, Some(excerpt), OnDamage::Refuse);
    let kept = decode(&read, &blob, region, scale, Some(excerpt), OnDamage::Keep);
    assert_eq!(found, kept, "what an excerpt does not hold is no damage to keep");
    if blob == good() {
        let whole = decode(JPEG, &blob, region, scale, None, OnDamage::Refuse);
        assert_eq!(found.expect("a good excerpt"), whole.expect("a good JPEG"));
    }
}
