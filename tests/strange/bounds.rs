//! Inputs of few bytes that claim or unpack to far more: each ends within 500 MB of memory, with an error that says what
//! to do. The budgets are those of docs/ERRORS.md.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::Place;

/// The data that a process may have, in KiB.
const MEMORY: u64 = 500_000;

/// Runs `pack` with these words, two threads and little memory; returns its exit code and what it said.
fn pack(place: &Place, words: &str) -> (i32, String) {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -d {MEMORY}; exec \"$0\" \"$@\"")]);
    let command = place.command(words);
    limited.arg(command.get_program()).args(command.get_args()).current_dir(place.at(""));
    let ended = limited.env_remove("TARFLUME_CACHE").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    (ended.status.code().unwrap_or(-1), said + &String::from_utf8_lossy(&ended.stdout))
}

#[track_caller]
fn refused(place: &Place, words: &str, exit: i32, why: &str) {
    let (code, said) = pack(place, words);
    assert_eq!(code, exit, "{words}: {said}");
    assert!(said.contains(why), "{words}: no '{why}' in {said}");
}

/// A zip with one deflated member of `size` zeros.
fn deflated_zip(name: &str, size: usize) -> Vec<u8> {
    let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1 << 20];
    let mut crc = flate2::Crc::new();
    for _ in 0..size >> 20 {
        deflate.write_all(&zeros).unwrap();
        crc.update(&zeros);
    }
    let packed = deflate.finish().unwrap();
    let facts = |out: &mut Vec<u8>| {
        out.extend([0; 4]); // time
        for number in [crc.sum(), packed.len() as u32, size as u32] {
            out.extend(number.to_le_bytes());
        }
        out.extend((name.len() as u16).to_le_bytes());
        out.extend([0; 2]); // extra
    };
    let mut zip = b"PK\x03\x04\x14\0\0\0\x08\0".to_vec();
    facts(&mut zip);
    zip.extend(name.as_bytes());
    zip.extend(&packed);
    let at = zip.len() as u32;
    zip.extend(b"PK\x01\x02\x14\0\x14\0\0\0\x08\0");
    facts(&mut zip);
    zip.extend([0; 14]); // comment, disk, attributes, header
    zip.extend(name.as_bytes());
    let length = zip.len() as u32 - at;
    zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    zip.extend(length.to_le_bytes());
    zip.extend(at.to_le_bytes());
    zip.extend([0; 2]);
    zip
}

/// A tar with one member of `size` zeros, compressed by bzip2.
fn tar_bz2(name: &str, size: usize) -> Vec<u8> {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[148..156].copy_from_slice(b"        ");
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    packed.write_all(&header).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..size >> 20).for_each(|_| packed.write_all(&zeros).unwrap());
    packed.write_all(&[0; 1024]).unwrap();
    packed.finish().unwrap()
}

#[test]
fn compressed_sources_of_few_bytes_are_refused() {
    let place = Place::new();
    for (name, size) in [("a.json", 192 << 20), ("a.bin", 192 << 20)] {
        place.file("a.zip", deflated_zip(name, size));
        assert!(fs::metadata(place.at("a.zip")).unwrap().len() < 1 << 20);
        refused(&place, "build zip:a.zip -o zip --jobs 2 --fresh", 1, "zip it again with `zip -0`");
    }
    place.file("a.tar.bz2", tar_bz2("a.json", 192 << 20));
    let words = "build tar:a.tar.bz2 -o tar --jobs 2";
    refused(&place, words, 1, "are held for this sample");
    place.file("x.npz", deflated_zip("x.npy", 192 << 20));
    refused(&place, "build npz:x.npz -o npz --jobs 2", 65, "zip it again with `zip -0`");
    let zeros = vec![0; 192 << 20];
    place.file("mds/shard.00000.mds.zstd", zstd::bulk::compress(&zeros, 3).unwrap());
    place.file("mds/index.json", mds_index(zeros.len(), &place));
    drop(zeros);
    refused(&place, "build mds:mds -o mds-out --jobs 2", 2, "without compression");
}

fn mds_index(size: usize, place: &Place) -> String {
    let packed = fs::metadata(place.at("mds/shard.00000.mds.zstd")).unwrap().len();
    json!({"version": 2, "shards": [{
        "column_encodings": ["bytes"], "column_names": ["x"], "column_sizes": [null],
        "compression": "zstd:3", "format": "mds", "hashes": [], "samples": 1, "size_limit": null, "version": 2,
        "raw_data": {"basename": "shard.00000.mds", "bytes": size, "hashes": {}},
        "zip_data": {"basename": "shard.00000.mds.zstd", "bytes": packed, "hashes": {}}}]})
    .to_string()
}

/// A file of h5py of 1,400 bytes with a data set of a million million rows, none of which was written.
const MANY_ROWS: &[u8] = include_bytes!("../../fuzz/seeds/hdf5/many-rows");
/// A file with 200,000 rows that refer to the same 4,096 bytes.
const SHARED_BYTES: &[u8] = include_bytes!("../../fuzz/seeds/hdf5/shared-bytes");

#[test]
fn rows_that_a_file_only_claims_are_refused() {
    let place = Place::new();
    place.file("rows.h5", MANY_ROWS).file("shared.h5", SHARED_BYTES);
    refused(&place, "build hdf5:rows.h5 -o rows", 2, "declares 1000000000000 rows");
    refused(&place, "build hdf5:shared.h5 -o shared", 65, "many rows refer to the same bytes");
}

/// `zarr.json` of bytes of this shape in chunks, compressed by gzip.
fn zarr(shape: [u64; 2], chunk: [u64; 2]) -> String {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"}, "codecs": ["bytes", "gzip"]})
    .to_string()
}

fn gzip_zeros(size: usize) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..size >> 20 {
        gzip.write_all(&[0; 1 << 20]).unwrap();
    }
    gzip.finish().unwrap()
}

#[test]
fn rows_and_chunks_that_zarr_only_claims_are_refused() {
    let place = Place::new();
    let rows = 1_000_000_000_000;
    for (chunk, why) in [
        (1 << 28, "decoding these takes 537 MB"),
        (1 << 24, "declares 1000000000000 rows"),
        (1, "more than 4194304 chunks"),
    ] {
        place.file("x/zarr.json", zarr([rows, 1], [chunk, 1]));
        refused(&place, "build zarr:x -o out", 2, why);
    }
    place.file("x/zarr.json", zarr([1, 8 << 20], [1, 8 << 20]));
    place.file("x/c/0/0", gzip_zeros(32 << 20));
    refused(&place, "build zarr:x -o out --jobs 2", 1, "more than 8388608 bytes of content");
}

/// A `tokenizer.json` with these parts.
fn tokenizer(parts: &Value) -> String {
    let mut file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"<unk>": 0, "a": 1}, "unk_token": "<unk>"}});
    for (name, part) in parts.as_object().unwrap() {
        file[name] = part.clone();
    }
    file.to_string()
}

fn split(expression: &str) -> Value {
    json!({"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": false})
}

fn replace(pattern: &Value, content: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern, "content": content})
}

#[test]
fn tokenizers_that_work_without_end_or_grow_are_refused() {
    let place = Place::new();
    place.file("a.txt", "a".repeat(100_000) + "!");
    let multiply = |pattern: Value| {
        let steps = vec![replace(&pattern, "aaaaaaaa"); 8];
        json!({"normalizer": {"type": "Sequence", "normalizers": steps}})
    };
    let prepend = json!({"type": "Prepend", "prepend": "a".repeat(150_000)});
    let steps = vec![prepend; 6];
    let mut nested = json!({"type": "WhitespaceSplit"});
    for _ in 0..40 {
        nested = json!({"type": "Sequence", "pretokenizers": [nested]});
    }
    let long = "a".repeat(100_000);
    for (number, (parts, why)) in [
        (json!({"pre_tokenizer": split("(a+)+$")}), "goes back more than 32 times"),
        (json!({"pre_tokenizer": split("(?:(?=a*+b)a)*")}), "nothing bounds one match of it"),
        (multiply(json!({"String": "a"})), "add more than 4 bytes"),
        (multiply(json!({"Regex": "a"})), "add more than 4 bytes"),
        (multiply(json!({"Regex": ""})), "add more than 4 bytes"),
        (json!({"normalizer": {"type": "Sequence", "normalizers": steps}}), "add more than 4 bytes"),
        (json!({"pre_tokenizer": nested}), "contain each other"),
        (json!({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "////fw=="}}), "ends too early"),
        (json!({"model": {"type": "WordPiece", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]",
                          "continuing_subword_prefix": "##", "max_input_chars_per_word": 1_000_000}}),
         "1000 is the limit"),
        (json!({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], [long, -1.0]]}}),
         "a token has more than 4096 bytes"),
    ]
    .into_iter()
    .enumerate()
    {
        place.file("tokenizer.json", tokenizer(&parts));
        let words =
            format!("tokens a.txt -o out{number} --tokenizer tokenizer.json --length 8 --jobs 2");
        refused(&place, &words, 65, why);
    }
}

#[test]
fn a_long_document_takes_memory_for_its_pieces_or_is_refused() {
    let place = Place::new();
    place.file("tokenizer.json", tokenizer(&json!({})));
    let mut text = String::new();
    while text.len() < 18_000_000 {
        text.push_str("some words of a text ");
    }
    let mut line = String::from("{\"text\": \"");
    write!(line, "{text}\"}}").unwrap();
    place.file("words.jsonl", line + "\n").file("words.txt", &text);
    // Between its words no tokenizer may be cut: their last letters are none of ASCII.
    place.file("whole.txt", text.replace(' ', "\u{e9} "));
    drop(text);
    for source in ["words.jsonl", "words.txt"] {
        let words = format!(
            "tokens {source} -o {source}.out --tokenizer tokenizer.json --length 512 --jobs 2"
        );
        let (code, said) = pack(&place, &words);
        assert_eq!(code, 0, "{source}: {said}");
    }
    let words = "tokens whole.txt -o whole --tokenizer tokenizer.json --length 512 --jobs 2";
    refused(&place, words, 65, "split the document");
}
