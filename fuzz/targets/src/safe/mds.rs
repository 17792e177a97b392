//! The index of MDS shards, samples and arrays: no panic, no path out of the folder, no place outside the input. The
//! first byte chooses.

use tarflume_foreign::mds::{Encoding, Index, any_array};
use tarflume_foreign::samples::{Count, Layout};
use tarflume_formats::name::unsafe_as_path;

/// Parses the input as an index, a file of samples or an array of MDS.
pub fn mds(input: &[u8]) {
    let Some((&mode, rest)) = input.split_first() else { return };
    match mode % 3 {
        0 => {
            let Ok(index) = Index::parse(rest) else { return };
            for shard in index.shards {
                assert_eq!(unsafe_as_path(shard.file.as_bytes()), None);
                for column in shard.columns {
                    assert!(column.encoding.size().is_none_or(|size| Some(size) == column.size));
                }
            }
        }
        1 => samples(rest),
        _ => {
            if let Ok((_, _, at)) = any_array(None, None, rest) {
                assert!(at <= rest.len());
            }
            let text = String::from_utf8_lossy(rest);
            if let Encoding::Array(_, dims) = Encoding::parse(&text) {
                assert!(!dims.contains(&0));
            }
        }
    }
}

/// Walks a file of samples with three columns.
fn samples(file: &[u8]) {
    let Some(&first) = file.first_chunk::<4>() else { return };
    let Ok(count) = Count::parse(first, file.len() as u64) else { return };
    let layout = Layout(vec![None, Some(2), None]);
    let mut ranges = Vec::new();
    for number in 0..count.samples {
        let at = count.offsets_at(number) as usize;
        let offsets = file[at..].first_chunk::<8>().expect("checked to fit");
        let Ok(sample) = count.sample(number, *offsets) else { return };
        assert!(sample.end <= file.len() as u64);
        let bytes = &file[sample.start as usize..sample.end as usize];
        if layout.columns(sample.clone(), bytes, &mut ranges).is_ok() {
            assert_eq!(ranges.last().map(|range| range.end), Some(sample.end));
        }
    }
}
