//! Scanning a hostile JPEG: no panic. A JPEG that is found whole decodes to the same pixels with entry
//! points and without.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarflume_jpeg::{Decoder, EntryPoints, ErrorKind, Header, Job, Scanner, Use};

fuzz_target!(|bytes: &[u8]| {
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
    let has_points = header.without_entry_points().is_none();
    assert!(has_points || blob.is_empty(), "a kind that has none");
    assert!(!has_points || EntryPoints::read(&blob).expect("just made").fit(bytes));
    let decode = |entry_points| {
        let mut output = vec![0; pixels as usize * 3];
        let job = Job { entry_points, ..Job::new(bytes, &header, &mut output) };
        let report = Decoder::new().decode(job).expect("the scan found it whole");
        (report.entry_points, output)
    };
    let (plain, with) = (decode(None), decode(Some(&blob[..])));
    let used = if has_points { Use::Used } else { Use::Absent };
    assert_eq!((plain.0, with.0), (Use::Absent, used));
    assert!(plain.1 == with.1);
});
