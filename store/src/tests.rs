//! The store against a server in memory: each fault of the wire, and what becomes of it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::simulated::listener::{Listener, Reply};
use crate::simulated::{Fault, Server};
use crate::{Error, ErrorKind, Options, Store};

/// What has not happened by then never will, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(600);

fn store(server: &Server) -> Store {
    Store::open("s3://bucket/set/", &server.options()).unwrap()
}

/// A server with one object of 1,000 bytes.
fn served() -> (Server, Store) {
    let server = Server::new();
    server.set("set/a.tar", (0..1000u32).map(|n| n as u8).collect::<Vec<_>>());
    let store = store(&server);
    (server, store)
}

/// The fault hits the first `times` requests for a range.
fn first(server: &Server, times: usize, fault: Fault) {
    let mut left = times;
    server.plan(move |asked| {
        let hit = asked.range.is_some() && left > 0;
        left -= usize::from(hit);
        hit.then_some(fault)
    });
}

#[test]
fn objects_are_written_listed_read_and_deleted() {
    let server = Server::new();
    let store = store(&server);
    assert!(store.create("dataset.json", b"{}").unwrap());
    assert!(store.create("dataset.json", b"{}").unwrap(), "the same bytes");
    assert!(!store.create("dataset.json", b"{1}").unwrap());
    store.replace("shards/b c.tar", b"12").unwrap();
    store.replace("shards/a.tar", b"1").unwrap();
    let names = |prefix: &str| -> Vec<String> {
        store.list(prefix).unwrap().into_iter().map(|listed| listed.name).collect()
    };
    assert_eq!(names(""), ["dataset.json", "shards/a.tar", "shards/b c.tar"]);
    assert_eq!(names("shards/b"), ["shards/b c.tar"]);
    assert_eq!(&store.get("shards/b c.tar").unwrap().0[..], b"12");
    assert_eq!(store.facts("shards/a.tar").unwrap().length, 1);
    store.delete("shards/a.tar").unwrap();
    store.delete("shards/a.tar").unwrap();
    assert!(store.facts("shards/a.tar").unwrap_err().is_missing());
    assert_eq!(store.url(), "s3://bucket/set");
}

#[test]
fn ranges_are_read_by_this_thread_and_by_callback() {
    let (server, store) = served();
    let object = store.object("a.tar").unwrap();
    assert_eq!(&object.read(10, 3).unwrap()[..], &[10, 11, 12]);
    assert_eq!(object.read(1000, 0).unwrap().len(), 0);
    let past = object.read(999, 2).unwrap_err();
    assert_eq!(past.kind(), ErrorKind::Usage);
    let (send, receive) = std::sync::mpsc::channel();
    object.begin(5, 2, move |read| send.send(read).unwrap()).unwrap();
    assert_eq!(&receive.recv().unwrap().unwrap()[..], &[5, 6]);
    let ranges: Vec<_> = server.take_asked().into_iter().filter_map(|asked| asked.range).collect();
    assert_eq!(ranges, [(10, 13), (5, 7)]);
    assert_eq!(store.stats().bytes_received, 5);
}

#[test]
fn what_may_pass_is_asked_again() {
    for fault in [
        Fault::Status(500, None),
        Fault::Status(503, None),
        Fault::Reset,
        Fault::Cut(0),
        Fault::Cut(100),
    ] {
        let (server, store) = served();
        let object = store.object("a.tar").unwrap();
        first(&server, 2, fault);
        let read = object.read(200, 300).unwrap();
        assert!(read.iter().enumerate().all(|(n, byte)| *byte == (200 + n) as u8), "{fault:?}");
        assert_eq!(read.len(), 300);
    }
}

#[test]
fn a_cut_body_is_continued_where_it_ended() {
    let (server, store) = served();
    let object = store.object("a.tar").unwrap();
    first(&server, 1, Fault::Cut(100));
    object.read(200, 300).unwrap();
    let ranges: Vec<_> = server.take_asked().into_iter().filter_map(|asked| asked.range).collect();
    assert_eq!(ranges, [(200, 500), (300, 500)]);
}

#[test]
fn the_pause_that_a_store_asks_for_is_kept() {
    let (server, store) = served();
    let object = store.object("a.tar").unwrap();
    first(&server, 1, Fault::Status(429, Some(1)));
    let start = Instant::now();
    object.read(0, 1).unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1));
    let stats = store.stats();
    assert_eq!((stats.throttled, stats.retries), (1, 1));
}

#[test]
fn a_replaced_object_is_an_error_and_never_a_mixture() {
    let (server, store) = served();
    let object = store.object("a.tar").unwrap();
    server.set("set/a.tar", vec![7; 1000]);
    let error = object.read(0, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed);
    assert!(
        error.to_string().starts_with("s3://bucket/set/a.tar: the object was replaced"),
        "{error}"
    );
    // Replaced while a body was cut: the rest is asked for by the old tag.
    let (server, store) = served();
    let object = store.object("a.tar").unwrap();
    let other = server.clone();
    let replaced = Arc::new(Mutex::new(false));
    server.plan(move |asked| {
        let mut replaced = replaced.lock().unwrap();
        let hit = asked.range.is_some() && !*replaced;
        if hit {
            *replaced = true;
            let other = other.clone();
            std::thread::spawn(move || other.set("set/a.tar", vec![7; 1000])).thread().unpark();
        }
        hit.then_some(Fault::Cut(10))
    });
    let begun = Instant::now();
    let outcome = loop {
        match object.read(0, 100) {
            Ok(bytes) => assert!(bytes.iter().enumerate().all(|(n, byte)| *byte == n as u8)),
            Err(error) => break error,
        }
        assert!(begun.elapsed() < PATIENCE, "the replacement is never noticed");
    };
    assert_eq!(outcome.kind(), ErrorKind::Changed);
}

#[test]
fn refusals_and_wrong_answers_say_what_to_do() {
    let refused = |fault: Fault| -> Error {
        let (server, store) = served();
        let object = store.object("a.tar").unwrap();
        first(&server, 100, fault);
        object.read(0, 10).unwrap_err()
    };
    let denied = refused(Fault::Refused(403, "AccessDenied"));
    assert_eq!(denied.kind(), ErrorKind::Refused);
    assert!(denied.text().contains("AWS_PROFILE"), "{denied}");
    assert!(refused(Fault::Refused(403, "ExpiredToken")).text().contains("has expired"));
    let whole = refused(Fault::Whole);
    assert_eq!(whole.kind(), ErrorKind::Answer, "{whole}");
    assert!(whole.text().contains("ignores ranges"), "{whole}");
    assert_eq!(refused(Fault::Status(301, None)).kind(), ErrorKind::Usage);
}

#[test]
fn a_lost_answer_to_a_conditional_write_counts_as_written() {
    let server = Server::new();
    let store = store(&server);
    let mut lost = false;
    server.plan(move |asked| {
        let hit = asked.method == "PUT" && !std::mem::replace(&mut lost, true);
        hit.then_some(Fault::LostAnswer)
    });
    assert!(store.create("dataset.json", b"{}").unwrap());
    assert_eq!(server.names(), ["set/dataset.json"]);
}

#[test]
fn uploads_in_parts_have_an_id_and_can_be_aborted() {
    let server = Server::new();
    let store = store(&server);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    let bytes: Vec<u8> = (0..(crate::PART * 2 + 5)).map(|n| (n % 251) as u8).collect();
    std::fs::write(&path, &bytes).unwrap();
    let upload = store.begin_upload("shard.tar").unwrap();
    let facts = upload.send(&path, &|| false).unwrap().unwrap();
    assert_eq!(facts.length, bytes.len() as u64);
    assert!(server.object("set/shard.tar").unwrap() == bytes);
    let stopped = store.begin_upload("other.tar").unwrap();
    assert!(stopped.send(&path, &|| true).unwrap().is_none());
    assert_eq!(server.open_uploads(), 1);
    store.abort("other.tar", stopped.id()).unwrap();
    store.abort("other.tar", stopped.id()).unwrap();
    assert_eq!(server.open_uploads(), 0);
    assert_eq!(server.names(), ["set/shard.tar"]);
}

#[test]
fn urls_that_name_no_folder_are_refused() {
    fn refused(url: &str) -> Error {
        Store::open(url, &Options::new()).unwrap_err()
    }
    assert_eq!(refused("ftp://x/y").kind(), ErrorKind::Usage);
    let presigned = refused("https://host/a.tar?X-Amz-Signature=secret");
    assert!(!presigned.to_string().contains("secret"), "{presigned}");
}

#[test]
fn another_endpoint_than_the_operators_is_known() {
    let elsewhere = |url: &str, pairs: &[(&str, &str)]| {
        let keys = [("access_key_id", "AK"), ("secret_access_key", "SK"), ("region", "r")];
        let options = Options::from_pairs(keys.iter().chain(pairs).copied()).unwrap();
        Store::open(url, &options).unwrap().is_elsewhere()
    };
    let vpc = "https://bucket.vpce-1.s3.us-east-1.vpce.amazonaws.com";
    assert!(!elsewhere("s3://bucket/set", &[]));
    assert!(!elsewhere("s3://bucket/set", &[("endpoint", vpc)]));
    assert!(elsewhere("s3://bucket/set", &[("endpoint", "https://s3.lab")]));
    assert!(elsewhere("https://host/set", &[]));
    assert!(store(&Server::new()).is_elsewhere());
}

/// The options of a server with credentials.
fn signed(server: &Listener) -> Options {
    let pairs = [
        ("endpoint", server.url()),
        ("allow_http", "true".into()),
        ("access_key_id", "KEY".into()),
        ("secret_access_key", "secret".into()),
        ("session_token", "session".into()),
        ("account", "devstoreaccount1".into()),
        ("account_key", "c2VjcmV0".into()),
    ];
    Options::from_pairs(pairs).unwrap()
}

#[test]
fn nothing_with_credentials_and_no_change_follows_an_answer_to_another_server() {
    let reached = Arc::new(Mutex::new(Vec::new()));
    let noted = reached.clone();
    let other = Listener::start(move |request| {
        noted.lock().unwrap().push(format!("{} {:?}", request.method, request.headers));
        Reply::new(200, "stolen")
    });
    for status in [301, 302, 303, 307, 308] {
        let to = other.url();
        let server = Listener::start(move |request| {
            Reply::new(status, "").with("Location", format!("{to}{}", request.target))
        });
        for url in ["s3://bucket/set", "az://bucket/set"] {
            let store = Store::open(url, &signed(&server)).unwrap();
            assert!(store.get("a.tar").is_err(), "{status} {url}");
            assert!(store.delete("a.tar").is_err(), "{status} {url}");
        }
    }
    assert!(reached.lock().unwrap().is_empty(), "{:?}", reached.lock().unwrap());
}

#[test]
fn an_address_of_a_server_that_is_no_url_is_an_error_that_shows_one() {
    for (given, shown) in [
        ("localhost:8333", "give http://localhost:8333 with allow_http=true"),
        ("localhost", "give http://localhost with"),
        ("", "https://HOST"),
        ("ftp://host", "https://HOST"),
        ("http://", "https://HOST"),
        ("http://me:word@[", "https://HOST"),
    ] {
        let options = Options::from_pairs([("endpoint", given), ("anonymous", "true")]).unwrap();
        for url in ["s3://bucket/set", "gs://bucket/set", "az://bucket/set"] {
            let error = Store::open(url, &options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
            assert!(error.text().contains(shown), "{given} {url}: {error}");
            assert!(!error.text().contains("word"), "{error}");
        }
    }
}

#[test]
fn the_password_of_a_url_is_not_shown() {
    let server = Listener::start(|_| Reply::new(401, "who are you?"));
    let with_password = server.url().replace("http://", "http://me:word@");
    let options = Options::from_pairs([("allow_http", "true")]).unwrap();
    let store = Store::open(&with_password, &options).unwrap();
    let error = store.get("a.json").unwrap_err();
    let shown = format!("{error} {error:?} {store:?} {} {}", store.url(), store.place("a"));
    assert!(shown.contains("127.0.0.1") && !shown.contains("word"), "{shown}");
}

#[test]
fn what_is_read_whole_has_a_limit_and_ranges_of_it_are_read() {
    let server = Server::new();
    server.set("set/dataset.json", vec![0; (256 << 20) + 1]);
    let store = store(&server);
    let error = store.get("dataset.json").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLong, "{error}");
    assert!(error.text().contains("268435456 bytes"), "{error}");
    let object = store.object("dataset.json").unwrap();
    assert_eq!(object.length(), (256 << 20) + 1);
    assert_eq!(object.read(5, 10).unwrap().len(), 10);
    // A list of URLs is read by another client.
    let list = Listener::start(|_| Reply::new(200, vec![0; (256 << 20) + 1]));
    let error = Store::open_list(&format!("{}/list.txt", list.url()), &Options::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLong, "{error}");
}
