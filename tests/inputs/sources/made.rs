//! Files of other tools, written byte by byte. Uses no code of the crates.

use crate::harness::{Place, crc32c};

/// An npy file, version 1.0.
pub(super) fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let padded = format!("{text:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((padded.len() as u16).to_le_bytes());
    file.extend(padded.as_bytes());
    file.extend(data);
    file
}

/// Rows of three floats: 0, 1, 2; 3, 4, 5; ...
pub(super) fn floats(rows: usize) -> Vec<u8> {
    (0..rows * 3).flat_map(|n| (n as f32).to_le_bytes()).collect()
}

/// Integers 0, 10, 20, ...
pub(super) fn tens(rows: usize) -> Vec<u8> {
    (0..rows as i64).flat_map(|n| (n * 10).to_le_bytes()).collect()
}

/// Writes `x.npy` of shape (rows, 3) and `y.npy` of shape (rows,).
pub(super) fn arrays(place: &Place, rows: usize) {
    place.file("in/x.npy", npy("<f4", &format!("({rows}, 3)"), &floats(rows)));
    place.file("in/y.npy", npy("<i8", &format!("({rows},)"), &tens(rows)));
}

/// Samples as an MDS shard or LitData chunk has them: count, offsets, samples.
pub(super) fn packed(samples: &[Vec<u8>]) -> Vec<u8> {
    let mut at = 4 + 4 * (samples.len() as u32 + 1);
    let mut file = (samples.len() as u32).to_le_bytes().to_vec();
    file.extend(at.to_le_bytes());
    for sample in samples {
        at += sample.len() as u32;
        file.extend(at.to_le_bytes());
    }
    file.extend(samples.concat());
    file
}

/// Writes a folder of MDS shards with columns image (bytes), label (int) and name (str).
pub(super) fn mds(
    place: &Place,
    folder: &str,
    shards: usize,
    samples: usize,
    image: &dyn Fn(usize) -> Vec<u8>,
) {
    let mut list = Vec::new();
    for shard in 0..shards {
        let sample = |n: usize| {
            let n = shard * samples + n;
            let image = image(n);
            let name = format!("p{n:04}");
            let sizes = [image.len() as u32, name.len() as u32];
            let sizes = sizes.map(u32::to_le_bytes).concat();
            // MDS sorts columns by name: image, label, name.
            [sizes, image, (n as i64 % 10).to_le_bytes().to_vec(), name.into_bytes()].concat()
        };
        let file = packed(&(0..samples).map(sample).collect::<Vec<_>>());
        let name = format!("shard.{shard:05}.mds");
        list.push(serde_json::json!({
            "column_names": ["image", "label", "name"], "column_encodings": ["bytes", "int", "str"],
            "column_sizes": [null, 8, null], "compression": null, "format": "mds", "hashes": [],
            "raw_data": {"basename": name, "bytes": file.len(), "hashes": {}}, "zip_data": null,
            "samples": samples, "size_limit": 67_108_864, "version": 2,
        }));
        place.file(format!("{folder}/{name}"), file);
    }
    let index = serde_json::json!({"version": 2, "shards": list});
    place.file(format!("{folder}/index.json"), index.to_string());
}

/// A field of a protocol buffer message.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 128 {
        out.push(length as u8 | 128);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(bytes);
    out
}

/// A feature of an example: a list of bytes (1), floats (2) or integers (3).
pub(super) fn feature(name: &str, kind: u8, list: &[u8]) -> Vec<u8> {
    let list = field(kind, &field(1, list));
    field(1, &[field(1, name.as_bytes()), field(2, &list)].concat())
}

/// A TFRecord record of a `tf.train.Example`.
pub(super) fn record(features: &[Vec<u8>]) -> Vec<u8> {
    let masked =
        |bytes: &[u8]| crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
    let data = field(1, &features.concat());
    let length = (data.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), &data, &masked(&data)].concat()
}

/// A zip of stored members.
pub(super) fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for (name, data) in members {
        let at = file.len() as u32;
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0]; // version, flags, method, time, date
        common.extend([0; 4]); // the crc32 of stored members is not read
        common.extend((data.len() as u32).to_le_bytes());
        common.extend((data.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        file.extend([b"PK\x03\x04", &common[..], name.as_bytes(), data].concat());
        directory.extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 10]].concat());
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let at = file.len() as u32;
    let size = directory.len() as u32;
    let count = members.len() as u16;
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    file.extend([size.to_le_bytes(), at.to_le_bytes()].concat());
    file.extend([0, 0]);
    file
}
