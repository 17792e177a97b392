//! `pack stats` and `pack view`: counts, the page of one file, the server.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::Place;

/// 60 samples of three classes in two shards; one lacks its text, one picture is a copy.
fn packed() -> Place {
    let place = Place::new();
    place.folder("photos", 60);
    for n in 0..60 {
        let stem = stem(&place, n);
        if n != 7 {
            fs::write(place.at(format!("{stem}.txt")), "a text").unwrap();
        }
    }
    fs::copy(
        place.at(format!("{}.jpg", stem(&place, 3))),
        place.at(format!("{}.jpg", stem(&place, 21))),
    )
    .unwrap();
    place.pack("build photos -o shards --shards 2").succeeds();
    place
}

/// The path of sample `n` in the order of keys, without extension.
fn stem(place: &Place, n: usize) -> String {
    let mut stems: Vec<String> = walk(&place.at("photos"));
    stems.sort();
    let root = place.at("");
    stems[n].strip_prefix(root.to_str().unwrap()).unwrap().trim_start_matches('/').to_string()
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else if path.extension().is_some_and(|ext| ext == "jpg") {
            found.push(path.with_extension("").to_str().unwrap().to_string());
        }
    }
    found
}

fn stats(place: &Place, options: &str) -> Value {
    let run = place.pack(&format!("stats --format json shards {options}"));
    serde_json::from_str(&run.succeeds().stdout).unwrap()
}

fn finding<'a>(stats: &'a Value, kind: &str) -> &'a Value {
    let findings = stats["findings"].as_array().unwrap();
    findings.iter().find(|one| one["kind"] == kind).unwrap_or(&Value::Null)
}

#[test]
fn stats_count_parts_dimensions_classes_and_problems() {
    let place = packed();
    let found = stats(&place, "");
    assert_eq!((found["samples"].as_u64(), found["examined"].as_u64()), (Some(60), Some(60)));
    let parts: Vec<(&str, u64)> = found["extensions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| (of["ext"].as_str().unwrap(), of["sizes"]["count"].as_u64().unwrap()))
        .collect();
    assert_eq!(parts, [("jpg", 60), ("json", 60), ("txt", 59)]);
    let jpg: u64 = walk(&place.at("photos"))
        .iter()
        .map(|stem| fs::metadata(format!("{stem}.jpg")).unwrap().len())
        .sum();
    assert_eq!(found["extensions"][0]["bytes"], jpg);
    let classes = found["classes"].as_array().unwrap();
    assert_eq!(classes.iter().map(|of| of["count"].as_u64().unwrap()).sum::<u64>(), 60);
    assert_eq!(found["width"]["count"], 60);
    assert_eq!(finding(&found, "missing-part")["detail"], "txt");
    assert_eq!(finding(&found, "missing-part")["count"], 1);
    assert_eq!(finding(&found, "missing-part")["examples"][0]["ordinal"], 7);
    assert_eq!(finding(&found, "duplicate")["examples"][0]["ordinal"], 21);
    let text = place.pack("stats shards").succeeds().stdout;
    for line in ["samples  60 in 2 shards", "missing-part txt", "JPEG baseline YCbCr"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn stats_do_not_depend_on_threads_and_examine_as_many_as_wanted() {
    let place = packed();
    assert_eq!(stats(&place, "--jobs 1"), stats(&place, "--jobs 2"));
    let some = stats(&place, "--examine 15");
    assert_eq!(some["examined"], 15);
    assert_eq!(some["extensions"][0]["sizes"]["count"], 60);
    assert_eq!(some["labeled"], 15);
    let none = stats(&place, "--class json:/nothing");
    assert_eq!((none["labeled"].as_u64(), none["classes"].as_array().unwrap().len()), (Some(0), 0));
    place.pack("stats shards --class a/b").exits(2).says("json:/label");
    place.pack("stats nowhere").exits(2).says("nowhere");
}

#[test]
fn a_damaged_picture_is_a_finding_of_stats_and_has_no_thumbnail() {
    let place = packed();
    let first = place.pack("ls --format json shards").succeeds().events()[0].clone();
    let part = first["parts"].as_array().unwrap().iter().find(|part| part["ext"] == "jpg").unwrap();
    let tar = place.at(format!("shards/{}", first["shard"].as_str().unwrap()));
    let mut bytes = fs::read(&tar).unwrap();
    let at = part["offset"].as_u64().unwrap() as usize + 2;
    bytes[at..at + 40].fill(0);
    fs::write(&tar, bytes).unwrap();
    let found = stats(&place, "");
    let bad = finding(&found, "damaged-part");
    let bad = if bad.is_null() { finding(&found, "bad-picture") } else { bad };
    assert_eq!((bad["count"].as_u64(), bad["examples"][0]["ordinal"].as_u64()), (Some(1), Some(0)));
    place.pack("view shards -o page.html").succeeds();
    let page = data(&place.at("page.html"));
    assert!(
        page["samples"][0]["trouble"].as_str().unwrap().contains("checksum"),
        "{}",
        page["samples"][0]
    );
    assert!(page["samples"][0]["thumb"].is_null() && page["samples"][1]["thumb"].is_string());
}

/// The data inside of a page.
fn data(page: &std::path::Path) -> Value {
    let html = fs::read_to_string(page).unwrap();
    let (_, rest) = html.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_is_one_file_without_links_and_within_its_limit() {
    let place = packed();
    let said = place.pack("view shards -o page.html").succeeds().stdout;
    assert!(said.starts_with("page.html: 60 of 60 samples, "), "{said}");
    let html = fs::read_to_string(place.at("page.html")).unwrap();
    for link in ["http:", "https:", "src=\"", "@import", "url("] {
        let found = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(link), "{link}");
    }
    let page = data(&place.at("page.html"));
    assert_eq!(
        (page["title"].as_str(), page["stats"]["samples"].as_u64()),
        (Some("shards"), Some(60))
    );
    place.pack("view shards -o page.html").exits(2).says("--force");
    let said = place.pack("view shards -o page.html --force --thumbnails 5").succeeds().stdout;
    assert!(said.starts_with("page.html: 5 of 60 samples"), "{said}");
    // Examples of problems are among them.
    let page = data(&place.at("page.html"));
    let ordinals: Vec<u64> = page["samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["ordinal"].as_u64().unwrap())
        .collect();
    assert!(ordinals.contains(&7) && ordinals.contains(&21), "{ordinals:?}");
    let big = place.pack("view shards -o big.html --side 1024 --max-size 1").succeeds();
    assert!(fs::metadata(place.at("big.html")).unwrap().len() <= 1_000_000, "{}", big.stdout);
}

#[test]
fn the_same_data_set_gives_the_same_page() {
    let place = packed();
    place.pack("view shards -o a.html --jobs 1").succeeds();
    place.pack("view shards -o b.html --jobs 2").succeeds();
    assert_eq!(fs::read(place.at("a.html")).unwrap(), fs::read(place.at("b.html")).unwrap());
}

/// A running server, which ends with the test.
struct Server(Child, String);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    fn start(place: &Place) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pack"))
            .args(["view", "shards", "--serve"])
            .current_dir(place.at(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_string();
        Server(child, address)
    }

    /// Sends a request with this `Host`; returns head and body.
    fn ask(&self, target: &str, host: &str) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        let end = reply.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        (String::from_utf8(reply[..end].to_vec()).unwrap(), reply[end + 4..].to_vec())
    }

    fn samples(&self, query: &str) -> Value {
        let (head, body) = self.ask(&format!("/api/samples?{query}"), "localhost");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        serde_json::from_slice(&body).unwrap()
    }
}

#[test]
fn the_server_pages_through_all_samples_and_filters_exactly() {
    let place = packed();
    let server = Server::start(&place);
    let keys: Vec<String> = place
        .pack("ls --format json shards")
        .succeeds()
        .events()
        .iter()
        .map(|sample| sample["key"].as_str().unwrap().to_string())
        .collect();
    let mut paged = Vec::new();
    for offset in [0, 25, 50] {
        let page = server.samples(&format!("offset={offset}&limit=25"));
        assert_eq!(page["total"], 60);
        let samples = page["samples"].as_array().unwrap();
        paged.extend(samples.iter().map(|one| one["key"].as_str().unwrap().to_string()));
    }
    assert_eq!(paged, keys);
    let found = stats(&place, "");
    for class in found["classes"].as_array().unwrap() {
        let page = server.samples(&format!("class={}&limit=500", class["name"].as_str().unwrap()));
        assert_eq!(page["total"], class["count"], "{class}");
        let samples = page["samples"].as_array().unwrap();
        assert!(samples.iter().all(|one| one["classes"][0] == class["name"]));
    }
    for (problem, ordinal) in [("missing-part+txt", 7), ("duplicate", 21)] {
        let page = server.samples(&format!("problem={problem}"));
        assert_eq!(page["total"], 1, "{problem}");
        assert_eq!(page["samples"][0]["ordinal"], ordinal, "{problem}");
    }
    assert_eq!(server.samples("lacks=txt")["total"], 1);
    assert_eq!(server.samples("lacks=jpg")["total"], 0);
    let wanted = keys.iter().filter(|key| key.contains("5")).count();
    assert_eq!(server.samples("text=5")["total"], wanted);
    let wide = server.samples("min_width=200&limit=500");
    assert!(
        wide["samples"].as_array().unwrap().iter().all(|one| one["size"][0].as_u64() >= Some(200))
    );
    assert_eq!(server.samples("offset=1000")["samples"].as_array().unwrap().len(), 0);
}

#[test]
fn the_server_sends_parts_by_ordinal_and_nothing_else() {
    let place = packed();
    let server = Server::start(&place);
    let (head, body) = server.ask("/part/0/jpg", "127.0.0.1:1");
    assert_eq!(body, fs::read(place.at(format!("{}.jpg", stem(&place, 0)))).unwrap());
    for header in [
        "Content-Type: image/jpeg",
        "nosniff",
        "sandbox",
        "Cross-Origin-Resource-Policy: same-origin",
    ] {
        assert!(head.contains(header), "{header}: {head}");
    }
    let (_, thumb) = server.ask("/thumb/0", "localhost");
    assert!(thumb.starts_with(&[0xff, 0xd8]), "{thumb:?}");
    let (head, page) = server.ask("/", "localhost");
    assert!(head.contains("script-src 'sha256-") && !head.contains("unsafe-inline"), "{head}");
    assert!(String::from_utf8(page).unwrap().contains("\"live\":true"));
    for (target, host, status) in [
        ("/", "evil.example", "421"),
        ("/part/0/..%2F..%2Fdataset.json", "localhost", "404"),
        ("/part/60/jpg", "localhost", "404"),
        ("/part/x/jpg", "localhost", "404"),
        ("/../dataset.json", "localhost", "404"),
        ("/api/samples?offset=x", "localhost", "400"),
        ("/api/samples?min_width=-1", "localhost", "400"),
    ] {
        let (head, _) = server.ask(target, host);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{target}: {head}");
    }
}

#[test]
fn a_signal_ends_the_server() {
    let place = packed();
    let mut server = Server::start(&place);
    server.samples("limit=1");
    let killed = Command::new("kill").args(["-INT", &server.0.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(server.0.wait().unwrap().code(), Some(0));
}

/// A PNG of 20 x 10 pixels that states at its end that it is turned by 90 degrees.
fn turned_png() -> Vec<u8> {
    let mut png = std::io::Cursor::new(Vec::new());
    image::GrayImage::new(20, 10).write_to(&mut png, image::ImageFormat::Png).unwrap();
    let mut png = png.into_inner();
    // One tag: number, type, count, value.
    let tag = b"\x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
    let exif = [b"eXIfII*\0\x08\0\0\0\x01\0", &tag[..], &[0; 4]].concat();
    let length = (exif.len() as u32 - 4).to_be_bytes();
    let checksum = crc32(&exif).to_be_bytes();
    let end = png.len() - 12;
    png.splice(end..end, [&length[..], &exif, &checksum].concat());
    png
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| (c >> 1) ^ (0xedb8_8320 & (c & 1).wrapping_neg()))
    })
}

#[test]
fn the_size_of_a_card_is_upright_for_every_kind_of_picture() {
    let place = Place::new();
    fs::create_dir(place.at("photos")).unwrap();
    fs::write(place.at("photos/late.png"), turned_png()).unwrap();
    place.pack("build photos -o shards --require image").succeeds();
    let listed = place.pack("ls --format json shards").succeeds().events();
    assert_eq!((listed[0]["width"].as_u64(), listed[0]["height"].as_u64()), (Some(20), Some(10)));
    let card = &Server::start(&place).samples("")["samples"][0];
    assert_eq!(card["size"], serde_json::json!([10, 20]), "{card}");
}
