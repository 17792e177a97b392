//! Scanning a hostile JPEG: no panic. A JPEG that is found whole decodes to the same pixels, whole and in part,
//! with entry points and without. The length of the input chooses their step and the part.

use tarflume_jpeg::{Decoder, EntryPoints, ErrorKind, Header, Job, Region, ScanJob, Scanner, Use};

/// Scans the input, and decodes it with the entry points that the scan found.
pub fn jpeg_scan(bytes: &[u8]) {
    let Ok(header) = Header::parse(bytes) else { return };
    let mut blob = Vec::new();
    let pixels = u64::from(header.width()) * u64::from(header.height());
    let scanned = Scanner::new().scan(bytes, &header, &mut blob);
    if let Err(error) = &scanned {
        let placed = error.byte().is_some_and(|byte| byte <= bytes.len() as u64);
        assert!(placed || error.kind() == ErrorKind::Unsupported, "{error:?}");
    }
    if scanned.is_err() || pixels > 1 << 20 {
        return;
    }
    let irregular = !matches!(scanned, Ok(None));
    let has_points = header.without_entry_points().is_none() && !irregular;
    assert!(has_points || blob.is_empty(), "a kind that has none");
    assert!(!has_points || EntryPoints::read(&blob).expect("just made").fit(bytes));
    let mut others = Vec::new();
    let step = Some(8 + bytes.len() as u32 % 9);
    let job = ScanJob { step, ..ScanJob::new(bytes, &header) };
    Scanner::new().scan_job(job, &mut others).expect("found whole before");
    let width = header.width();
    let height = header.height();
    let left = bytes.len() as u32 % width;
    let top = bytes.len() as u32 % height;
    let part = Region { left, top, width: (width - left).div_ceil(2), height: height - top };
    for region in [Region { left: 0, top: 0, width, height }, part] {
        let stride = region.width as usize * 3;
        let decode = |entry_points| {
            let mut output = vec![0; stride * region.height as usize];
            let job = Job::new(bytes, &header, &mut output);
            let job = Job { entry_points, region: Some(region), stride, ..job };
            let report = Decoder::new().decode(job).expect("the scan found it whole");
            (report.entry_points, output)
        };
        let plain = decode(None);
        assert_eq!(plain.0, Use::Absent);
        for points in [&blob, &others] {
            let with = decode(Some(&points[..]));
            let kind = header.without_entry_points().is_none();
            let expected = if has_points {
                Use::Used
            } else if kind {
                Use::Refused
            } else {
                Use::Absent
            };
            assert_eq!(with.0, expected);
            assert!(plain.1 == with.1);
        }
    }
}
