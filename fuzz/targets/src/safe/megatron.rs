//! An index of Megatron-LM: no panic, no read outside the input, and every place that it returns is inside the file of
//! ids. The first two bytes are the length of that file.

use tarflume_tokens::megatron::Index;

/// Opens the input as an index of Megatron-LM, and looks up each document and sequence.
pub fn megatron(input: &[u8]) {
    let Some((length, index)) = input.split_first_chunk::<2>() else { return };
    let data = u64::from(u16::from_le_bytes(*length));
    let Ok(mut index) = Index::open(index, data) else { return };
    assert!(index.sequences <= input.len() as u64 && index.documents <= input.len() as u64);
    for number in 0..index.documents {
        if let Ok(own) = index.document(number) {
            assert!(own.start <= own.end && own.end <= index.sequences);
        }
    }
    for number in 0..index.sequences {
        if let Ok(place) = index.sequence(number) {
            assert!(place.at + place.count * index.kind.bytes() <= data);
        }
    }
    assert!(index.document(index.documents).is_err() && index.sequence(index.sequences).is_err());
}
