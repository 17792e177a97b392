//! The directory of a zip: no panic, no place outside the input, and memory only for the input.

use tarflume_foreign::zip::{END64, End, LOCAL, RECORD_MAX, TAIL, data_of, end, end64, member};

/// Parses the input as a zip: its directory and each member's headers.
pub fn zip(input: &[u8]) {
    let tail = input.len().saturating_sub(TAIL);
    let directory = match end(&input[tail..], tail as u64) {
        Ok(End::Directory(directory)) => directory,
        Ok(End::Zip64(at)) => {
            let record = input[at as usize..].first_chunk::<END64>().expect("checked to fit");
            let Ok(directory) = end64(record, at) else { return };
            directory
        }
        Err(_) => return,
    };
    let last = directory.at + directory.bytes;
    assert!(last <= input.len() as u64);
    let mut at = directory.at;
    for _ in 0..directory.members {
        let record = &input[at as usize..last as usize];
        let record = &record[..record.len().min(RECORD_MAX)];
        let Ok(found) = member(record, at) else { return };
        assert!(found.record <= record.len());
        let header = usize::try_from(found.header).ok().and_then(|header| input.get(header..));
        if let Some(local) = header.and_then(|bytes| bytes.first_chunk::<LOCAL>())
            && let Ok(data) = data_of(&found, local, directory.at)
        {
            assert!(data + found.packed <= directory.at);
        }
        at += found.record as u64;
    }
}
