//! Lists of URLs against a server on a port of this machine.

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use crate::simulated::listener::{Listener, Received, Reply};
use crate::{Error, ErrorKind, Options, Store, UrlList};

/// A server whose files need a signature. Remembers the requests, and the state of the shard.
struct Server {
    listener: Listener,
    asked: Arc<Mutex<Vec<Received>>>,
    tag: Arc<Mutex<Option<&'static str>>>,
}

fn shard() -> Bytes {
    (0..4000u32).map(|n| (n % 251) as u8).collect()
}

fn serve() -> Server {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let tag = Arc::new(Mutex::new(Some("\"one\"")));
    let requests = asked.clone();
    let state = tag.clone();
    let listener = Listener::start(move |request| {
        requests.lock().unwrap().push(request.clone());
        if request.query("sig") != Some("secret") {
            return Reply::new(403, "<Error><Code>AccessDenied</Code></Error>");
        }
        let state = *state.lock().unwrap();
        if request.headers.get("if-match").is_some_and(|wanted| Some(wanted.as_str()) != state) {
            return Reply::new(412, "");
        }
        let reply = match request.path() {
            "/a/000.tar" => Reply::of(&shard(), request),
            "/whole/000.tar" => Reply::new(200, shard()),
            "/moved/000.tar" => Reply::new(302, "").with("Location", "/a/000.tar?sig=secret"),
            "/a/dataset.json" => Reply::of(&Bytes::from_static(b"{}"), request),
            _ => Reply::new(404, ""),
        };
        match state {
            Some(tag) => reply.with("ETag", tag),
            None => reply,
        }
    });
    Server { listener, asked, tag }
}

impl Server {
    fn store(&self, lines: &[&str]) -> Store {
        let text: String =
            lines.iter().map(|path| format!("{}/{path}\n", self.listener.url())).collect();
        let list = UrlList::parse(&text).unwrap();
        Store::of_list("folder/set.urls", list, &Options::new()).unwrap()
    }
}

#[test]
fn objects_are_read_by_their_names() {
    let server = serve();
    let store = server.store(&["a/000.tar?sig=secret", "a/dataset.json?sig=secret"]);
    assert_eq!(&store.get("dataset.json").unwrap().0[..], b"{}");
    let object = store.object("000.tar").unwrap();
    assert_eq!((object.length(), object.url()), (4000, "folder/set.urls/000.tar"));
    assert_eq!(object.read(100, 20).unwrap(), shard().slice(100..120));
    let last = server.asked.lock().unwrap().last().cloned().unwrap();
    assert_eq!(last.headers.get("if-match").map(String::as_str), Some("\"one\""));
    let moved = server.store(&["moved/000.tar?sig=secret"]);
    assert_eq!(moved.object_of("000.tar", 4000).read(0, 9).unwrap(), shard().slice(..9));
    assert!(store.get("001.tar").unwrap_err().is_missing());
    assert_eq!(store.list("").unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(store.replace("a", b"").unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn a_replaced_object_is_noticed() {
    let server = serve();
    let store = server.store(&["a/000.tar?sig=secret"]);
    let object = store.object_of("000.tar", 4000);
    object.read(0, 1).unwrap();
    *server.tag.lock().unwrap() = Some("\"two\"");
    assert_eq!(object.read(0, 1).unwrap_err().kind(), ErrorKind::Changed);
    *server.tag.lock().unwrap() = None;
    let unknown = store.object_of("000.tar", 4000).read(0, 1).unwrap_err();
    assert!(unknown.text().contains("neither ETag nor Last-Modified"), "{unknown}");
}

#[test]
fn refusals_name_the_object_and_no_query() {
    let server = serve();
    let refused = |line: &str| -> Error {
        let store = server.store(&[line]);
        let error = store.object_of("000.tar", 4000).read(0, 9).unwrap_err();
        let shown = format!("{error} {error:?} {store:?}");
        assert!(!shown.contains("sig=") && !shown.contains("other"), "{shown}");
        assert_eq!(error.url(), "folder/set.urls/000.tar");
        error
    };
    let wrong = refused("a/000.tar?sig=other");
    assert_eq!(wrong.kind(), ErrorKind::Refused);
    assert!(wrong.text().contains("presigned URLs expire"), "{wrong}");
    let expired = refused("a/000.tar?Expires=1&sig=other");
    assert!(expired.text().contains("its URL has expired; make a new list"), "{expired}");
    assert!(refused("b/000.tar?sig=secret").is_missing());
    let whole = refused("whole/000.tar?sig=secret");
    assert_eq!(whole.kind(), ErrorKind::Answer);
    assert!(whole.text().contains("Accept-Ranges"), "{whole}");
}

#[test]
fn lists_are_lines_or_json() {
    let lines =
        UrlList::parse("# photos\n\nhttps://h/x/a%20b.tar?s=1\r\n  https://h/dataset.json#part\n");
    let lines = lines.unwrap();
    assert_eq!(lines.names().collect::<Vec<_>>(), ["a b.tar", "dataset.json"]);
    assert_eq!(format!("{lines:?}"), "{\"a b.tar\", \"dataset.json\"}");
    let json = UrlList::parse(" {\"train/0.tar\": \"http://h/4711?s=1\"}").unwrap();
    assert_eq!(json.names().collect::<Vec<_>>(), ["train/0.tar"]);
    fn wrong(text: &str) -> String {
        UrlList::parse(text).unwrap_err().text().to_string()
    }
    assert_eq!(wrong("#\n"), "the list has no URL");
    assert!(wrong("https://h/a\ns3://b/secret\n").starts_with("line 2 is not a URL"));
    assert!(wrong("https://h/a?x=1\nhttps://g/a?x=2").contains("line 2: 'a' is there twice"));
    assert!(wrong("https://h/?x=1").contains("is not the name of an object"));
    assert!(wrong("{\"../a\": \"https://h/a\"}").contains("is not the name of an object"));
    assert!(wrong("{\"a\": \"h/secret\"}").starts_with("'a' is not a URL"));
    let broken = wrong("{\"a\": \"https://h/a?sig=secret\", \"b\": 5}");
    assert!(broken.starts_with("line 1 is not part") && !broken.contains("secret"), "{broken}");
}

#[test]
fn lists_come_from_files_and_servers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.urls");
    let path = path.to_str().unwrap();
    std::fs::write(path, "https://h/0.tar?sig=1\n").unwrap();
    let options = Options::new();
    assert_eq!(UrlList::read(path, &options).unwrap().names().count(), 1);
    std::fs::write(path, "0.tar").unwrap();
    let error = UrlList::read(path, &options).unwrap_err();
    assert_eq!(error.url(), path);
    let missing = UrlList::read("/nonexistent.urls", &options).unwrap_err();
    assert!(missing.text().contains("cannot read the list of URLs"), "{missing}");
    let lists = Listener::start(|request| match request.query("sig") {
        Some("secret") => Reply::new(200, "{\"0.tar\": \"https://h/1?sig=2\"}"),
        _ => Reply::new(403, ""),
    });
    let url = |sig: &str| format!("{}/set.urls?sig={sig}", lists.url());
    let store = Store::open_list(&url("secret"), &options).unwrap();
    assert_eq!(store.url(), format!("{}/set.urls", lists.url()));
    let refused = Store::open_list(&url("other"), &options).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert!(!refused.to_string().contains("other"), "{refused}");
}

#[test]
fn http_servers_that_refuse_head_or_ignore_ranges() {
    let server = Listener::start(|request| match request.path() {
        "/set/a.tar" if request.method == "HEAD" => Reply::new(501, ""),
        "/set/a.tar" => Reply::of(&shard(), request).with("ETag", "\"one\""),
        "/set/empty" => match request.range() {
            Some(_) => Reply::new(416, "").with("Content-Range", "bytes */0"),
            None => Reply::new(200, "").with("ETag", "\"one\""),
        },
        _ => Reply::new(200, shard()).with("ETag", "\"one\""),
    });
    let store = Store::open(&format!("{}/set", server.url()), &Options::new()).unwrap();
    let object = store.object("a.tar").unwrap();
    assert_eq!(object.read(5, 5).unwrap(), shard().slice(5..10));
    assert_eq!(store.facts("empty").unwrap().length, 0);
    let whole = store.object("whole.tar").unwrap_err();
    assert_eq!(whole.kind(), ErrorKind::Answer);
    assert!(whole.text().contains("ignores ranges"), "{whole}");
}

#[test]
fn a_list_that_was_renewed_is_read_again() {
    let server = serve();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.urls");
    let write = |sig: &str| {
        let line = format!("{}/a/000.tar?sig={sig}\n", server.listener.url());
        std::fs::write(&path, line).unwrap();
    };
    write("old");
    let store = Store::open_list(path.to_str().unwrap(), &Options::new()).unwrap();
    let object = store.object_of("000.tar", 4000);
    assert_eq!(object.read(0, 9).unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!(server.asked.lock().unwrap().len(), 1, "the list has nothing newer");
    write("secret");
    assert_eq!(object.read(0, 9).unwrap(), shard().slice(..9));
    assert_eq!(object.read(9, 9).unwrap(), shard().slice(9..18));
    assert_eq!(server.asked.lock().unwrap().len(), 4, "two refused, two read");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(object.read(0, 9).unwrap(), shard().slice(..9));
}
