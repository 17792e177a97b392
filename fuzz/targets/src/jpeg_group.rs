//! A hostile JPEG in a group of valid ones: their pixels are the same as without it. The first byte
//! chooses its position.

use std::sync::OnceLock;

use crate::seeds::GOOD;
use tarflume_jpeg::{Decoder, Header, Job};

fn pixels_of(header: &Header) -> Vec<u8> {
    vec![0; header.width() as usize * header.height() as usize * 3]
}

fn expected() -> &'static Vec<(Header, Vec<u8>)> {
    static EXPECTED: OnceLock<Vec<(Header, Vec<u8>)>> = OnceLock::new();
    EXPECTED.get_or_init(|| {
        let one = |jpeg: &&[u8]| {
            let header = Header::parse(jpeg).expect("a seed");
            let mut output = pixels_of(&header);
            Decoder::new().decode(Job::new(jpeg, &header, &mut output)).expect("a seed");
            (header, output)
        };
        GOOD.iter().map(one).collect()
    })
}

/// Decodes the input in a group with three valid JPEGs.
pub fn jpeg_group(input: &[u8]) {
    let Some((&place, hostile)) = input.split_first() else { return };
    let Ok(header) = Header::parse(hostile) else { return };
    if u64::from(header.width()) * u64::from(header.height()) > 1 << 20 {
        return;
    }
    let good = expected();
    let mut members: Vec<(&[u8], &Header)> =
        GOOD.iter().zip(good).map(|(&jpeg, (header, _))| (jpeg, header)).collect();
    let place = usize::from(place) % 4;
    members.insert(place, (hostile, &header));
    let mut outputs: Vec<Vec<u8>> = members.iter().map(|(_, header)| pixels_of(header)).collect();
    let jobs = members.iter().zip(&mut outputs);
    let jobs = jobs.map(|(&(jpeg, header), output)| Job::new(jpeg, header, output));
    let mut calls = [0; 4];
    Decoder::new().decode_group(jobs, |n, result| {
        calls[n] += 1;
        assert!(n == place || result.is_ok());
    });
    assert_eq!(calls, [1; 4]);
    outputs.remove(place);
    assert!(outputs.iter().zip(good).all(|(found, (_, expected))| found == expected));
}
