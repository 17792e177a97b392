//! The server of `pack view`: pages of all samples, parts, slow clients, its end, data sets in stores.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use bytes::Bytes;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tarflume_store::simulated::listener::{Listener, Received, Reply};

use crate::examined::view::{packed, stats, stem};
use crate::harness::{Place, python, until};

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
        Server::run(place, "view shards --serve")
    }

    /// Runs `pack` with these words, and waits until it serves.
    fn run(place: &Place, words: &str) -> Server {
        let mut command = place.command(words);
        command.env("XDG_CACHE_HOME", place.at("cache"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_string();
        Server(child, address)
    }

    /// Sends a request, and reads nothing.
    fn begin(&self, target: &str, host: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        stream
    }

    /// Returns the exit code after Ctrl-C.
    fn interrupted(&mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.0), Signal::INT).unwrap();
        self.0.wait().unwrap().code()
    }

    /// Sends a request with this `Host`; returns head and body.
    fn ask(&self, target: &str, host: &str) -> (String, Vec<u8>) {
        let mut stream = self.begin(target, host);
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
    let _idle = TcpStream::connect(&server.1).unwrap();
    assert_eq!(server.interrupted(), Some(0));
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

#[test]
fn view_without_options_serves_and_options_of_the_file_need_it() {
    let place = packed();
    let mut server = Server::run(&place, "view shards");
    let (head, page) = server.ask("/", "localhost");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    // Photographs are above the charts.
    let page = String::from_utf8(page).unwrap();
    let at = |id: &str| page.find(&format!("id=\"{id}\"")).unwrap();
    assert!(at("sheet") < at("problems") && at("problems") < at("charts"));
    assert_eq!(server.interrupted(), Some(0));
    for option in ["--thumbnails 5", "--side 100", "--max-size 3", "--force"] {
        place.pack(&format!("view shards {option}")).exits(2).says("--output <FILE>");
    }
    for option in ["--serve", "--port 8080", "--host 127.0.0.1", "--allow-host a"] {
        place.pack(&format!("view shards -o x.html {option}")).exits(2).says("cannot be used with");
    }
}

/// Runs `pack view` in a terminal until it prints that Ctrl-C ends it (and an opener was called, if one is expected), then
/// sends Ctrl-C. Prints what it said, for each of: with a screen, with a screen and `--serve`, without a screen.
const IN_A_TERMINAL: &str = r#"
import json, os, pty, signal, sys, time
pack, path = sys.argv[1:]
for name in ["SSH_CONNECTION", "SSH_TTY", "WAYLAND_DISPLAY"]:
    os.environ.pop(name, None)
all_said = []
for display, options, opens in [(":0", [], True), (":0", ["--serve"], False), ("", [], False)]:
    pid, screen = pty.fork()
    if pid == 0:
        os.environ.update(PATH=path, DISPLAY=display)
        os.execv(pack, [pack, "view", "shards", *options])
    said = b""
    while b"Ctrl-C ends the server" not in said:
        said += os.read(screen, 4096)
    while opens and not os.path.exists("opened"):
        time.sleep(0.01)
    os.kill(pid, signal.SIGINT)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    all_said.append(said.decode())
print(json.dumps(all_said))
"#;

#[test]
fn a_desktop_opens_the_page_in_its_browser() {
    use std::os::unix::fs::PermissionsExt;

    let place = packed();
    place.file("bin/xdg-open", "#!/bin/sh\nprintf %s \"$1\" > part && mv part opened\n");
    let opener = place.at("bin/xdg-open");
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.at("bin").display(), std::env::var("PATH").unwrap());
    let said = python(&place, IN_A_TERMINAL, &[env!("CARGO_BIN_EXE_pack"), &path]).succeeds();
    let said: Vec<String> = serde_json::from_str(&said.stdout).unwrap();
    let opened = fs::read_to_string(place.at("opened")).unwrap();
    assert!(opened.starts_with("http://127.0.0.1:") && said[0].contains(&opened), "{said:?}");
    assert!(said[0].contains("the page opens in the browser"), "{said:?}");
    for said in &said[1..] {
        assert!(said.contains("http://127.0.0.1:") && !said.contains("opens"), "{said}");
    }
}

/// The most memory that a process had, in bytes.
#[cfg(target_os = "linux")]
fn most_memory(process: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    1024 * line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_long_part_is_sent_to_slow_clients_from_few_bytes_of_memory() {
    const LONG: usize = 48 << 20;
    let place = Place::new();
    place.pair("photos/a").file("photos/a.bin", vec![7; LONG]);
    place.pack("build photos -o shards").succeeds();
    let mut server = Server::start(&place);
    let mut slow: Vec<TcpStream> =
        (0..8).map(|_| server.begin("/part/0/bin", "localhost")).collect();
    for stream in &mut slow {
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
    }
    assert_eq!(server.samples("")["total"], 1);
    let (head, body) = server.ask("/part/0/bin", "localhost");
    assert!(head.contains(&format!("Content-Length: {LONG}")), "{head}");
    assert!(body.len() == LONG && body.iter().all(|&byte| byte == 7));
    let most = most_memory(&server.0);
    assert!(most < 4 * LONG as u64, "{most}");
    // It ends although eight clients have not taken their replies.
    assert_eq!(server.interrupted(), Some(0));
}

/// How a store answers requests for the bytes of shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Good,
    Refuses,
    Silent,
}

/// A store with the files of a folder.
struct Shop {
    listener: Listener,
    mood: Arc<(Mutex<Mood>, Condvar)>,
    /// Requests that wait for an answer.
    waiting: Arc<AtomicUsize>,
}

impl Shop {
    fn open(place: &Place, mood: Mood) -> Shop {
        let folder = place.at("shards");
        let mood = Arc::new((Mutex::new(mood), Condvar::new()));
        let waiting = Arc::new(AtomicUsize::new(0));
        let of_thread = Arc::clone(&mood);
        let count = Arc::clone(&waiting);
        let answer = move |request: &Received| {
            let name = request.path().trim_start_matches("/set/");
            let Ok(bytes) = fs::read(folder.join(name)) else { return Reply::new(404, "") };
            let (mood, changed) = &*of_thread;
            let mut mood = mood.lock().unwrap();
            if name.ends_with(".tar") && request.range().is_some() {
                count.fetch_add(1, Ordering::SeqCst);
                mood = changed.wait_while(mood, |mood| *mood == Mood::Silent).unwrap();
                count.fetch_sub(1, Ordering::SeqCst);
                if *mood == Mood::Refuses {
                    return Reply::new(403, "");
                }
            }
            drop(mood);
            Reply::of(&Bytes::from(bytes), request).with("ETag", "\"1\"")
        };
        Shop { listener: Listener::start(answer), mood, waiting }
    }

    fn set(&self, mood: Mood) {
        *self.mood.0.lock().unwrap() = mood;
        self.mood.1.notify_all();
    }

    fn view(&self) -> String {
        format!("view {}/set --storage allow_http=true", self.listener.url())
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.set(Mood::Good);
    }
}

#[test]
fn a_data_set_in_a_store_is_served_and_the_server_outlives_its_troubles() {
    let place = packed();
    let shop = Shop::open(&place, Mood::Good);
    let mut server = Server::run(&place, &shop.view());
    let local = Server::start(&place);
    assert_eq!(server.samples("limit=500"), local.samples("limit=500"));
    for target in ["/part/5/jpg", "/part/50/json", "/thumb/7", "/picture/33"] {
        assert_eq!(server.ask(target, "localhost"), local.ask(target, "localhost"), "{target}");
    }
    shop.set(Mood::Refuses);
    let (head, text) = server.ask("/part/6/jpg", "localhost");
    let text = String::from_utf8_lossy(&text);
    assert!(
        head.starts_with("HTTP/1.1 500") && text.contains("the store refuses to read"),
        "{head} {text}"
    );
    shop.set(Mood::Good);
    let (head, _) = server.ask("/part/6/jpg", "localhost");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    shop.set(Mood::Silent);
    let _hangs = server.begin("/part/8/jpg", "localhost");
    until("the store is asked", || shop.waiting.load(Ordering::SeqCst) > 0);
    assert_eq!(server.interrupted(), Some(0));
}

#[test]
fn a_signal_ends_view_and_stats_while_a_store_is_silent() {
    let place = packed();
    for command in ["view", "stats"] {
        let shop = Shop::open(&place, Mood::Silent);
        let mut words = place.command(&shop.view().replacen("view", command, 1));
        words.env("XDG_CACHE_HOME", place.at("cache"));
        let child = crate::harness::Child::start(words, &place.at(""));
        until("the store is asked", || shop.waiting.load(Ordering::SeqCst) > 0);
        child.signal(Signal::INT);
        child.ended().exits(130).says("interrupted");
    }
}
