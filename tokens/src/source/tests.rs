//! Files of each kind: their documents in order, and the errors of damaged ones.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use tarflume_formats::Place;
use tarflume_formats::message::Message;

use super::*;
use crate::unit::Units;

fn documents(source: &DocumentSource) -> Result<Vec<String>, String> {
    let mut opened = source.open().map_err(|e| e.text())?;
    let mut all = Vec::new();
    loop {
        let mut text = String::new();
        match opened.next(&mut text) {
            Ok(Next::Text) => all.push(text),
            Ok(Next::End) => return Ok(all),
            Ok(Next::Bad(fault)) => return Err(fault.reason.text()),
            Err(e) => return Err(e.text()),
        }
    }
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Returns the documents of one file.
    fn read(
        &self,
        name: &str,
        bytes: impl AsRef<[u8]>,
        reading: &Reading,
    ) -> Result<Vec<String>, String> {
        let sources = list(&[self.file(name, bytes)], reading).map_err(|e| e.text())?;
        documents(&sources.all()[0])
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn lines_of_json_give_their_field_plain_and_compressed() {
    let folder = Folder::new();
    let usual = Reading::default();
    let lines = b"\xef\xbb\xbf{\"id\": 1, \"text\": \"a\\n\\u00fc\"}\r\n\n  \n{\"text\": null}\n{\"text\": \"z\"}";
    let expected = Ok(vec!["a\n\u{fc}".to_string(), String::new(), "z".into()]);
    assert_eq!(folder.read("a.jsonl", lines, &usual), expected);
    // The first bytes decide, whatever the name.
    assert_eq!(folder.read("b.jsonl.gz", lines, &usual), expected);
    assert_eq!(folder.read("c.jsonl", gzip(lines), &usual), expected);
    let twice = [gzip(&lines[..40]), gzip(&lines[40..])].concat();
    assert_eq!(folder.read("d.jsonl.gz", twice, &usual), expected);
    let packed = zstd::encode_all(&lines[..], 1).unwrap();
    assert_eq!(folder.read("e.jsonl.zst", packed, &usual), expected);
    let body = Reading { field: "body".into(), ..usual };
    assert_eq!(folder.read("f.jsonl", "{\"body\": \"b\"}\n", &body), Ok(vec!["b".into()]));
}

#[test]
fn faults_of_json_name_the_line_and_the_remedy() {
    let folder = Folder::new();
    for (bytes, expected) in [
        (
            "{\"text\": \"a\"}\n{\"body\": 1, \"n\": 2}\n",
            "line 2 (byte 14): there is no field 'text'; the fields are 'body', 'n'; give",
        ),
        (
            "{\"text\": 5}\n",
            "line 1 (byte 0): expected the text as a string, at byte 9 of the line",
        ),
        ("{\n \"text\": \"a\"\n}\n", "line 1 (byte 0): a JSON value of several lines begins here"),
        ("{\"text\": \"a\", \"text\": \"b\"}\n", "appears twice"),
        ("1\n", "expected a JSON object"),
        ("{\"text\": \"a\"} {}\n", "unexpected text after"),
        (
            "{\"text\": \"a",
            "the text ends inside a string, at byte 11 of the line; it goes on in the next",
        ),
    ] {
        let error = folder.read("a.jsonl", bytes, &Reading::default()).unwrap_err();
        assert!(error.contains("a.jsonl: line ") && error.contains(expected), "{error}");
    }
}

#[test]
fn damaged_compression_is_the_files_fault() {
    let folder = Folder::new();
    let lines = "{\"text\": \"some words\"}\n".repeat(5000);
    let packed = gzip(lines.as_bytes());
    let cut = folder.read("a.jsonl.gz", &packed[..packed.len() / 2], &Reading::default());
    assert!(cut.unwrap_err().contains("ends too early"));
    let mut wrong = packed.clone();
    let middle = wrong.len() / 2;
    wrong[middle] ^= 0xff;
    let error = folder.read("a.jsonl.gz", &wrong, &Reading::default()).unwrap_err();
    assert!(error.contains("a.jsonl.gz"), "{error}");
}

#[test]
fn texts_are_documents_whole_or_by_line() {
    let folder = Folder::new();
    let whole = Reading::default();
    let lines = Reading { per_line: true, ..Reading::default() };
    let bytes = "\u{feff}one\r\n\n two \nlast";
    assert_eq!(folder.read("a.txt", bytes, &whole), Ok(vec!["one\r\n\n two \nlast".into()]));
    let expected = Ok(vec!["one".to_string(), " two ".into(), "last".into()]);
    assert_eq!(folder.read("a.txt", bytes, &lines), expected);
    for reading in [&whole, &lines] {
        let error = folder.read("b.txt", b"good \xff", reading).unwrap_err();
        assert!(error.contains("b.txt") && error.contains("UTF-8 at byte 5"), "{error}");
    }
    let long = vec![b'x'; LONGEST + 1];
    assert!(folder.read("c.txt", &long, &whole).unwrap_err().contains("--per-line"));
    let error = folder.read("c.txt", &long, &lines).unwrap_err();
    assert!(error.contains("line 1 (byte 0): the line has more than"), "{error}");
}

/// Writes a tar naively: ustar headers of 512 bytes.
fn tar(members: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, data) in members {
        tarflume_formats::tar::write_header(&mut bytes, name.as_bytes(), data.len() as u64)
            .unwrap();
        bytes.extend_from_slice(data.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

#[test]
fn parts_of_tars_are_documents() {
    let folder = Folder::new();
    let shard = tar(&[
        ("a/1.jpg", "x"),
        ("a/1.TXT", "one"),
        ("2.json", "{\"text\": \"j\"}"),
        ("2.txt", "two"),
    ]);
    let [txt, json, cls] = ["txt", "json", "cls"].map(|part| {
        folder.read("s.tar", &shard, &Reading { part: part.into(), ..Reading::default() })
    });
    assert_eq!(txt, Ok(vec!["one".into(), "two".into()]));
    assert_eq!(json, Ok(vec!["j".into()]));
    let error = cls.unwrap_err();
    assert!(
        error.contains("no sample has a part 'cls'; the parts are jpg, json, txt; give"),
        "{error}"
    );
}

#[test]
fn joined_tars_are_refused_or_read_on() {
    let folder = Folder::new();
    let joined = [tar(&[("1.txt", "one")]), tar(&[("2.txt", "two")])].concat();
    let error = folder.read("s.tar", &joined, &Reading::default()).unwrap_err();
    assert!(error.contains("byte 2048: another tar begins here"), "{error}");
    let reading = Reading { ignore_zeros: true, ..Reading::default() };
    assert_eq!(folder.read("s.tar", &joined, &reading), Ok(vec!["one".into(), "two".into()]));
}

#[test]
fn documents_behind_a_bad_one_are_read() {
    let folder = Folder::new();
    let long = "x".repeat(LONGEST);
    let lines =
        format!("{{\"text\": \"a\"}}\n{{}}\n{{\"text\": \"{long}\"}}\n{{\"text\": \"b\"}}\n");
    let shard = tar(&[("1.json", "{}"), ("2.json", "{\"text\": \"b\"}")]);
    let json = Reading { part: "json".into(), ..Reading::default() };
    let per_line = Reading { per_line: true, ..Reading::default() };
    let usual = Reading::default();
    for (name, bytes, reading, texts) in [
        ("a.jsonl", lines.as_bytes(), &usual, &["a", "bad", "bad", "b", "end"][..]),
        ("a.txt", b"a\n\xff\nb\n", &per_line, &["a", "bad", "b", "end", "end"]),
        ("b.txt", b"\xff", &usual, &["bad", "end"]),
        ("s.tar", &shard, &json, &["bad", "b", "end"]),
    ] {
        let sources = list(&[folder.file(name, bytes)], reading).unwrap();
        let mut documents = sources.all()[0].open().unwrap();
        for expected in texts {
            let mut text = String::new();
            match documents.next(&mut text).unwrap() {
                Next::Text => assert_eq!(&text, expected, "{name}"),
                Next::Bad { .. } => assert_eq!(&"bad", expected, "{name}"),
                Next::End => assert_eq!(&"end", expected, "{name}"),
            }
        }
    }
}

#[test]
fn what_a_folder_has_beside_text_is_counted() {
    let folder = Folder::new();
    for name in [
        "d/README.md",
        "d/LICENSE",
        "d/data/a.jsonl",
        "d/b.csv",
        "d/c.jsonl.bz2",
        "d/d.csv",
        "d/.git/x",
    ] {
        folder.file(name, "");
    }
    let root = folder.0.path().join("d");
    let listed = list(std::slice::from_ref(&root), &Reading::default()).unwrap();
    let names: Vec<&str> = listed.all().iter().map(DocumentSource::name).collect();
    assert_eq!(names, ["d/data/a.jsonl"]);
    let notices = listed.notices().iter().map(Message::text).collect::<Vec<_>>().join("\n");
    assert!(notices.contains("2 .csv, 1 .bz2, 1 without extension"), "{notices}");
    assert!(notices.contains("1 file is left out") && notices.contains("d/README.md"), "{notices}");
    let both = list(&[root.clone(), root.join("README.md")], &Reading::default()).unwrap();
    let names: Vec<&str> = both.all().iter().map(DocumentSource::name).collect();
    assert_eq!(names, ["d/data/a.jsonl", "README.md"]);
    folder.file("only/README.md", "");
    let only = list(&[folder.0.path().join("only")], &Reading::default()).unwrap();
    assert_eq!((only.all().len(), only.notices().len()), (1, 0));
    folder.file("none/a.npy", "");
    let error = list(&[folder.0.path().join("none")], &Reading::default()).unwrap_err();
    assert!(error.text().contains("there are 1 .npy"), "{error}");
}

#[test]
fn links_of_a_folder_lead_nowhere_and_named_ones_are_followed() {
    let folder = Folder::new();
    let at = |name: &str| folder.0.path().join(name);
    folder.file("private/secret.txt", "");
    folder.file("texts/a.txt", "");
    std::os::unix::fs::symlink(at("private/secret.txt"), at("texts/b.txt")).unwrap();
    std::os::unix::fs::symlink(at("private"), at("texts/folder")).unwrap();
    let listed = list(&[at("texts")], &Reading::default()).unwrap();
    let names: Vec<&str> = listed.all().iter().map(DocumentSource::name).collect();
    assert_eq!(names, ["texts/a.txt"]);
    let notices = listed.notices().iter().map(Message::text).collect::<Vec<_>>().join("\n");
    assert!(notices.contains("2 symbolic links are left out, such as "), "{notices}");
    let named = list(&[at("texts/b.txt"), at("texts/folder")], &Reading::default()).unwrap();
    let names: Vec<&str> = named.all().iter().map(DocumentSource::name).collect();
    assert_eq!(names, ["b.txt", "folder/secret.txt"]);
    fs::remove_file(at("texts/a.txt")).unwrap();
    let error = list(&[at("texts")], &Reading::default()).unwrap_err();
    assert!(error.text().contains("name a link itself"), "{error}");
}

/// The names of the sources in these files and folders.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let sources = list(paths, &Reading::default()).unwrap();
    sources.all().iter().map(|source| source.name().to_string()).collect()
}

#[test]
fn files_of_one_name_in_different_folders_have_names_of_their_own() {
    let folder = Folder::new();
    let [x, y] = ["x/a.jsonl", "y/a.jsonl"].map(|name| folder.file(name, ""));
    assert_eq!(names(&[x.clone(), y.clone()]), ["x/a.jsonl", "y/a.jsonl"]);
    assert_eq!(names(&[x.clone(), x.clone()]), ["a.jsonl", "a.jsonl"]);
    assert_eq!(names(&[x, y.parent().unwrap().into()]), ["a.jsonl", "y/a.jsonl"]);
}

#[test]
fn folders_are_listed_in_the_order_of_bytes() {
    let folder = Folder::new();
    for name in ["c/b.jsonl", "c/B.txt.gz", "c/a/z.tar", "c/.hidden.txt", "c/x.jpg", "c/x.tar.gz"] {
        folder.file(name, "");
    }
    let root = folder.0.path().join("c");
    assert_eq!(names(std::slice::from_ref(&root)), ["c/B.txt.gz", "c/a/z.tar", "c/b.jsonl"]);
    assert_eq!(names(&[root.join("b.jsonl"), root.join("a")]), ["b.jsonl", "a/z.tar"]);
    for (path, text) in
        [(root.join("x.jpg"), "read from .jsonl"), (root.join("none"), "no such file")]
    {
        assert!(list(&[path], &Reading::default()).unwrap_err().text().contains(text));
    }
    let empty = tempfile::tempdir().unwrap();
    let error = list(&[empty.path().to_path_buf()], &Reading::default()).unwrap_err();
    assert!(error.text().contains("no file of text found"));
}

#[test]
fn the_failure_of_a_document_has_its_file_and_byte() {
    let folder = Folder::new();
    let lines = folder.file("a.txt", b"a\n\xff\nb\n");
    let whole = folder.file("b.txt", b"\xff");
    let usual = Reading::default();
    let per_line = Reading { per_line: true, ..Reading::default() };
    for (path, reading, byte) in [(lines, per_line, Some(2)), (whole, usual, None)] {
        let sources = list(std::slice::from_ref(&path), &reading).unwrap();
        let failure = Units::new(sources.all(), 100, 0).next_unit().unwrap_err();
        assert_eq!(failure.place(), &Place { path: Some(path), byte, key: None }, "{failure}");
    }
}

#[test]
fn a_list_of_json_gives_its_elements() {
    let folder = Folder::new();
    let reading = Reading::default();
    let list = b"\xef\xbb\xbf [\n {\"text\": \"a, ]}\\\"\"},\n{\"x\": [{}], \"text\": \"b\"} ]\n\n";
    let expected = Ok(vec!["a, ]}\"".to_string(), "b".into()]);
    assert_eq!(folder.read("a.json", list, &reading), expected);
    assert_eq!(folder.read("a.jsonl.gz", gzip(list), &reading), expected);
    assert_eq!(folder.read("b.json", b"[]", &reading), Ok(Vec::new()));
    for (bytes, told) in [
        (&b"[{\"text\": \"a\"}"[..], "element 0 (byte 1): the file ends inside of its list"),
        (b"[{\"text\": \"a\"},]", "expected an element"),
        (b"[{\"text\": \"a\"}] x", "text follows the list"),
        (
            b"[{\"text\": 1}]",
            "element 0 (byte 1): expected the text as a string, at byte 9 of the element",
        ),
        (b"[1]", "expected a JSON object"),
        (b"[{\"text\": \"a\"} {\"text\": \"b\"}]", "unexpected text after the JSON value"),
    ] {
        let found = folder.read("c.json", bytes, &reading).unwrap_err();
        assert!(found.contains(told), "{}: {found}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn folders_of_datasets_give_one_split_without_what_describes_it() {
    let folder = Folder::new();
    folder.file("set/dataset_dict.json", r#"{"splits": ["test", "train"]}"#);
    folder.file("set/train/a.jsonl", "{\"text\": \"a\"}\n");
    folder.file("set/train/dataset_info.json", "{}");
    folder.file("set/train/state.json", "{}");
    folder.file("set/train/cache-1.arrow", "");
    let told = list(&[folder.0.path().join("set")], &Reading::default()).unwrap_err().text();
    assert!(
        told.contains("has the splits test, train; name the folder of one, such as "),
        "{told}"
    );
    let split = list(&[folder.0.path().join("set/train")], &Reading::default()).unwrap();
    assert_eq!(split.all().len(), 1);
    assert!(split.notices()[0].text().contains("1 .arrow"), "{:?}", split.notices());
}
