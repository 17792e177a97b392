//! The host's half of the kernels that decode JPEGs, with false entry points that have valid checksums, and with damaged
//! JPEGs: no panic, and no record that leads a kernel outside. The input chooses a region, a scale and a color, and changes
//! bytes of the entry points and of the JPEG.

use crate::seeds::{YUV420 as JPEG, put_checksum};
use tarflume_jpeg::{Color, EntryPoints, Header, Job, Offload, Region, Scale, Scanner, Size};

/// Bytes before the pieces of a record: the description of the picture.
const WORK: usize = 1720;
const PIECE: usize = 32;

fn word(record: &[u8], at: usize) -> usize {
    u32::from_ne_bytes(record[at..at + 4].try_into().expect("four bytes")) as usize
}

/// Panics if a record is not what it says: words, pieces, bytes; pieces within the bytes and the picture.
fn check(work: &Offload, jpeg: &[u8]) {
    let mut record = vec![0xee; work.length() + 1];
    assert_eq!(work.write(jpeg, &mut record), Some(work.length()));
    assert_eq!(record.pop(), Some(0xee));
    assert_eq!(work.write(jpeg, &mut record.clone()[1..]), None);
    let bytes = &jpeg[work.range()];
    assert!(record.ends_with(bytes));
    let [codes, length, pieces, count] = [0, 32, 36, 40].map(|at| word(&record, at));
    assert_eq!((length, pieces), (bytes.len(), WORK));
    assert_eq!(codes, WORK + PIECE * count);
    assert_eq!(record.len(), codes + length);
    let mcus = word(&record, 44) * word(&record, 48);
    let [columns, rows, each] = [56, 64, 68].map(|at| word(&record, at) as u64);
    assert_eq!(work.blocks(), columns * rows * each);
    for piece in record[WORK..codes].chunks_exact(PIECE) {
        let [first, end, mcu, length] = [0, 4, 8, 12].map(|at| word(piece, at));
        assert!(first <= end && end <= bytes.len(), "{first} to {end} of {}", bytes.len());
        assert!(mcu + length <= mcus, "{length} MCUs from {mcu} of {mcus}");
    }
}

/// Makes records of a part of a JPEG that the input changes, as do its entry points.
pub fn jpeg_offload(input: &[u8]) {
    let Some((&[left, top, width, height, how], changes)) = input.split_first_chunk() else {
        return;
    };
    let scale = Scale::ALL[usize::from(how % 4)];
    let color = if how & 4 == 0 { Color::Rgb } else { Color::Gray };
    let mut jpeg = JPEG.to_vec();
    let mut blob = Vec::new();
    let header = Header::parse(JPEG).expect("a seed");
    Scanner::new().scan(JPEG, &header, &mut blob).expect("a seed");
    let good = blob.clone();
    for change in changes.chunks_exact(3).take(32) {
        let changed = if change[0] & 0x80 == 0 { &mut blob } else { &mut jpeg };
        let at = (usize::from(change[0] & 0x7f) << 8 | usize::from(change[1])) % changed.len();
        changed[at] ^= change[2];
    }
    put_checksum(&mut blob);
    let Ok(header) = Header::parse(&jpeg) else { return };
    let Ok(points) = EntryPoints::read(&blob) else { return };
    let Size { width: across, height: down } = scale.of(header.width(), header.height());
    let left = u32::from(left) % across;
    let top = u32::from(top) % down;
    let width = 1 + u32::from(width) % (across - left);
    let height = 1 + u32::from(height) % (down - top);
    let region = Region { left, top, width, height };
    let found = Offload::of(&jpeg, &header, &points, region, scale, color);
    if let Ok(Some(work)) = &found {
        check(work, &jpeg);
    }
    let entry_points = Some(&blob[..]);
    let job = Job::new(&jpeg, &header, &mut []);
    let job = Job { region: Some(region), scale, color, entry_points, ..job };
    let of_bytes = Offload::of_job(&job).expect("a region within the picture");
    if jpeg == JPEG && blob == good {
        assert!(of_bytes.is_some() && matches!(found, Ok(Some(_))));
    } else if !points.fit(&jpeg) {
        assert!(of_bytes.is_none(), "entry points of other bytes");
    }
}
