//! Data and options that a format cannot take, and what is left after a failure.

use super::*;

#[test]
fn a_damaged_part_is_named_and_nothing_is_left() {
    for format in formats() {
        let set = Set::usual();
        let tar = set.dir.path().join("in/1.tar");
        let mut bytes = fs::read(&tar).unwrap();
        let at = bytes.len() / 2; // inside a picture
        bytes[at] ^= 1;
        fs::write(&tar, bytes).unwrap();
        if format == Format::Csv {
            set.export(&ExportOptions::new(format)).unwrap(); // it reads no picture
            continue;
        }
        let text = set.refused(&ExportOptions::new(format));
        assert!(text.contains("1.tar") && text.contains("checksum"), "{format:?}: {text}");
    }
}

#[test]
fn keys_that_a_format_cannot_store_are_refused_by_it_alone() {
    let latin = Set::of(&[&[(b"latin\xff.bin", b"x")]]);
    let newline = Set::of(&[&[(b"two\nlines.jpg", b"x"), (b"two\nlines.json", b"{}")]]);
    let up = Set::of(&[&[(b"../up.bin", b"x")]]);
    for format in formats().filter(|&format| format != Format::TfRecord) {
        let text = latin.refused(&ExportOptions::new(format));
        assert!(text.contains("not UTF-8") && text.contains("latin\\xff"), "{format:?}: {text}");
    }
    latin.export(&ExportOptions::new(Format::TfRecord)).unwrap();
    for format in formats() {
        let done = newline.export(&ExportOptions::new(format)).unwrap();
        assert_eq!(done.samples, 1, "{format:?}");
        match format {
            Format::Csv => {
                let table = fs::read_to_string(newline.out()).unwrap();
                assert!(table.contains("\n\"two\nlines\","), "{table}");
                fs::remove_file(newline.out()).unwrap();
            }
            _ => fs::remove_dir_all(newline.out()).unwrap(),
        }
    }
    let text = up.refused(&ExportOptions::new(Format::Folder));
    assert!(text.contains("climbs out"), "{text}");
    up.export(&ExportOptions::new(Format::Mds)).unwrap();
}

#[test]
fn a_missing_part_is_empty_or_refused() {
    let set = Set::of(&[
        &[(b"a.jpg", b"1"), (b"a.txt", b"t"), (b"b.jpg", b"2")],
        &[(b"c.jpg", b"3"), (b"c.txt", b"u")],
    ]);
    for format in [Format::Mds, Format::LitData] {
        let text = set.refused(&ExportOptions::new(format));
        assert!(text.contains("key b") && text.contains("no part 'txt'"), "{text}");
        let parts = Some(vec!["jpg".to_string()]);
        set.export(&ExportOptions { parts, ..ExportOptions::new(format) }).unwrap();
        fs::remove_dir_all(set.out()).unwrap();
    }
    let done = set.export(&ExportOptions::new(Format::TfRecord)).unwrap();
    assert_eq!(done.samples, 3);
}

#[test]
fn equal_keys_in_two_shards_are_rows_but_not_files() {
    let set = Set::of(&[&[(b"a.bin", b"1")], &[(b"a.bin", b"2")]]);
    let text = set.refused(&ExportOptions::new(Format::Folder));
    assert!(text.contains("'a.bin' was written before") && text.contains("1.tar"), "{text}");
    for format in [Format::Mds, Format::TfRecord, Format::LitData] {
        set.export(&ExportOptions::new(format)).unwrap();
        fs::remove_dir_all(set.out()).unwrap();
    }
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let set = Set::usual();
    type Change = fn(&mut ExportOptions);
    let cases: [(Format, Change, &str); 8] = [
        (Format::Mds, |o| o.file_size = Some(1 << 32), "32 bits"),
        (Format::LitData, |o| o.file_size = Some(1 << 40), "32 bits"),
        (Format::Folder, |o| o.file_size = Some(1), "--shard-size"),
        (Format::Csv, |o| o.file_size = Some(1), "--shard-size"),
        (Format::Mds, |o| o.json = Some(JsonAs::Columns), "--json text"),
        (Format::Mds, |o| o.parts = Some(vec!["png".into()]), "there are: cls, jpg, json"),
        (
            Format::Mds,
            |o| o.encodings = vec![("png".into(), Encoding::Bytes)],
            "no sample has a part 'png'",
        ),
        (Format::Mds, |o| o.encodings = vec![("json".into(), Encoding::Int)], "--as json=bytes"),
    ];
    for (format, change, why) in cases {
        let mut options = ExportOptions::new(format);
        change(&mut options);
        let text = set.refused(&options);
        assert!(text.contains(why), "{format:?}: {text}");
    }
}

#[test]
fn an_interrupted_export_leaves_nothing() {
    let set = Set::usual();
    for format in formats() {
        let options = ExportOptions::new(format);
        options.stop.request();
        let failure = set.export(&options).unwrap_err();
        assert_eq!(failure.exit(), tarflume_base::Exit::Interrupted);
        assert!(set.refused(&options).contains("interrupted"));
    }
}

#[test]
fn json_that_disagrees_ends_the_export_before_it_begins() {
    let set = Set::of(&[
        &[(b"a.jpg", b"1"), (b"a.json", br#"{"x": 1}"#)],
        &[(b"b.jpg", b"1"), (b"b.json", br#"{"x": "one"}"#)],
    ]);
    for format in formats().filter(|format| !matches!(format, Format::Mds | Format::LitData)) {
        let text = set.refused(&ExportOptions::new(format));
        for word in ["'x'", "'a' in 0.tar", "'b' in 1.tar", "--json text"] {
            assert!(text.contains(word), "{format:?}: no {word} in {text}");
        }
        let json = Some(JsonAs::Text);
        set.export(&ExportOptions { json, ..ExportOptions::new(format) }).unwrap();
        match format {
            Format::Csv => fs::remove_file(set.out()).unwrap(),
            _ => fs::remove_dir_all(set.out()).unwrap(),
        }
    }
    let list = Set::of(&[&[(b"a.json", b"[1]")]]);
    let text = list.refused(&ExportOptions::new(Format::TfRecord));
    assert!(text.contains("not an object") && text.contains("key a"), "{text}");
}
