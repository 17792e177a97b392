//! `hf://` against a Hub on two ports: what is asked how often, and who sees the token.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::hub::notes::Notes;
use crate::hub::repository::Repository;
use crate::hub::resolve::of_node;
use crate::runtime::wait;
use crate::settings::location::Location;
use crate::simulated::hub::{Host, Hub, HubAsked, TOKEN, commit};
use crate::simulated::listener::Reply;
use crate::web::Web;
use crate::{Error, ErrorKind, Options, Store};

const URL: &str = "hf://datasets/lab/photos/train";

fn tar(seed: u8) -> Vec<u8> {
    (0..5000u32).map(|n| (n % 251) as u8 ^ seed).collect()
}

/// Files of a commit: a manifest, a shard, and others beside them.
fn files(seed: u8) -> Vec<(String, Vec<u8>)> {
    fn file(name: &str, bytes: &[u8]) -> (String, Vec<u8>) {
        (name.to_string(), bytes.to_vec())
    }
    vec![
        file("README.md", b"# photos"),
        file("train/dataset.json", format!("{{\"seed\":{seed}}}").as_bytes()),
        file("train/a b#1.tar", &tar(seed)),
        file("train/shard-000000.tar", &tar(seed)),
        file("train/shard-000001.tar", b""),
        file("train/deep/x.tar", &tar(seed)),
    ]
}

fn served() -> (Hub, Store) {
    let hub = Hub::new();
    hub.push("main", &commit(1), files(1));
    let store = Store::open(URL, &hub.options()).unwrap();
    (hub, store)
}

/// Paths of the requests to one host, without the endpoint.
fn paths(asked: &[HubAsked], host: Host) -> Vec<&str> {
    let of_host = asked.iter().filter(|asked| asked.host == host);
    of_host.map(|asked| asked.request.path()).collect()
}

fn count(asked: &[HubAsked], part: &str) -> usize {
    asked.iter().filter(|asked| asked.request.path().contains(part)).count()
}

#[test]
fn files_are_read_at_one_commit_while_the_branch_moves() {
    let (hub, store) = served();
    assert!(hub.take_asked().is_empty(), "opening asks nothing");
    let object = store.object("shard-000000.tar").unwrap();
    assert_eq!(object.length(), 5000);
    assert_eq!(object.read(100, 50).unwrap()[..], tar(1)[100..150]);
    hub.push("main", &commit(2), files(2));
    assert_eq!(object.read(0, 5000).unwrap()[..], tar(1)[..]);
    let lazily = store.object_of("a b#1.tar", 5000);
    assert_eq!(lazily.read(4990, 10).unwrap()[..], tar(1)[4990..]);
    assert_eq!(&store.get("dataset.json").unwrap().0[..], b"{\"seed\":1}");
    let copy = tempfile::tempfile().unwrap();
    assert!(object.download(&copy, &|| false).unwrap());
    let mut bytes = vec![0; 5000];
    std::os::unix::fs::FileExt::read_exact_at(&copy, &mut bytes, 0).unwrap();
    assert_eq!(bytes, tar(1));
    // Another prefix in the same process has the same commit.
    let other = Store::open("hf://datasets/lab/photos", &hub.options()).unwrap();
    assert_eq!(&other.get("train/dataset.json").unwrap().0[..], b"{\"seed\":1}");
    assert_eq!(count(&hub.take_asked(), "/revision/main"), 1);
    let moved =
        Store::open(&format!("hf://datasets/lab/photos@{}/train", commit(2)), &hub.options());
    assert_eq!(&moved.unwrap().get("dataset.json").unwrap().0[..], b"{\"seed\":2}");
    assert_eq!(count(&hub.take_asked(), "/revision/"), 0, "a commit needs no resolution");
}

#[test]
fn the_processes_of_a_node_ask_once() {
    let hub = Hub::new();
    hub.push("main", &commit(1), files(1));
    let folder = tempfile::tempdir().unwrap();
    let options = hub.options();
    // What each process does that has resolved nothing yet.
    let process = || -> Result<String, Error> {
        let repository = Repository::open(&Location::parse(URL)?, URL, &options)?;
        let key = repository.key(&["revision", "main"]);
        let kept = Notes::new(folder.path().join("hub"));
        wait(URL, async {
            let web = Web::open(&options, true, &Default::default(), URL)?;
            of_node(&web, &repository, Some(&kept), &key).await
        })
    };
    let together = |_| {
        let processes: Vec<_> = std::thread::scope(|scope| {
            let started: Vec<_> = (0..8).map(|_| scope.spawn(process)).collect();
            started.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
        });
        assert!(processes.iter().all(|found| *found == commit(1)));
    };
    together(());
    hub.push("main", &commit(2), files(2));
    together(());
    let asked = hub.take_asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].request.headers.contains_key("authorization"));
    let kept: Vec<_> = std::fs::read_dir(folder.path().join("hub")).unwrap().collect();
    for file in &kept {
        let text = std::fs::read_to_string(file.as_ref().unwrap().path()).unwrap();
        assert!(!text.contains(TOKEN));
    }
    assert_eq!(kept.len(), 2, "an answer and a lock");
}

#[test]
fn a_wrong_length_is_a_replaced_object_and_an_empty_one_has_none() {
    let (_hub, store) = served();
    let error = store.object_of("shard-000000.tar", 4999).read(0, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed);
    assert_eq!(store.facts("shard-000001.tar").unwrap().length, 0);
    assert_eq!(store.facts("dataset.json").unwrap().length, 10);
}

#[test]
fn the_token_is_sent_to_the_hub_alone() {
    let (hub, store) = served();
    hub.require_token();
    store.object_of("shard-000000.tar", 5000).read(0, 10).unwrap();
    store.list("").unwrap();
    let asked = hub.take_asked();
    for one in &asked {
        let token = one.request.headers.get("authorization").map(String::as_str);
        match one.host {
            Host::Api => assert_eq!(token, Some("Bearer hf_simulated")),
            Host::Storage => assert_eq!(token, None, "the storage has seen the token"),
        }
    }
    assert_eq!(paths(&asked, Host::Storage).len(), 1);
    // A redirect to another server, from which it leads back: no token any more.
    let back = format!("{}/datasets/lab/photos/resolve/{}/README.md", hub.endpoint(), commit(1));
    hub.plan(move |asked| {
        let to = Reply::new(302, "").with("Location", back.clone());
        (asked.host == Host::Storage).then_some(to)
    });
    let error = store.object_of("shard-000000.tar", 5000).read(0, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    let asked = hub.take_asked();
    let stray = asked.iter().filter(|a| a.request.path().ends_with("README.md"));
    assert!(stray.clone().count() > 0);
    assert!(stray.into_iter().all(|a| !a.request.headers.contains_key("authorization")));
}

#[test]
fn a_signed_url_is_used_until_it_is_refused_or_old() {
    let (hub, store) = served();
    let object = store.object_of("shard-000000.tar", 5000);
    let (send, receive) = mpsc::channel();
    for n in 0..32 {
        let send = send.clone();
        object.begin(n * 100, 100, move |read| send.send((n, read)).unwrap()).unwrap();
    }
    for (n, read) in receive.iter().take(32) {
        assert_eq!(read.unwrap()[..], tar(1)[n as usize * 100..][..100]);
    }
    let asked = hub.take_asked();
    assert_eq!((count(&asked, "/resolve/"), paths(&asked, Host::Storage).len()), (1, 32));
    hub.revoke();
    assert_eq!(object.read(7, 3).unwrap()[..], tar(1)[7..10]);
    let asked = hub.take_asked();
    assert_eq!((count(&asked, "/resolve/"), paths(&asked, Host::Storage).len()), (1, 2));
    // A URL whose life is nearly over is used at once, and not again.
    hub.set_life(5);
    hub.revoke();
    object.read(0, 1).unwrap();
    object.read(0, 1).unwrap();
    let asked = hub.take_asked();
    assert_eq!((count(&asked, "/resolve/"), paths(&asked, Host::Storage).len()), (2, 3));
    assert_eq!(store.stats().retries, 0);
}

#[test]
fn a_storage_that_refuses_always_is_an_error_without_secrets() {
    let (hub, store) = served();
    hub.plan(|asked| (asked.host == Host::Storage).then(|| Reply::new(403, "")));
    let error = store.object_of("shard-000000.tar", 5000).read(0, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    let text = error.to_string();
    assert!(text.starts_with(&format!("{URL}/shard-000000.tar: the storage of the Hub")), "{text}");
    assert!(!text.contains("secret") && !text.contains(TOKEN), "{text}");
    assert_eq!(paths(&hub.take_asked(), Host::Storage).len(), 3);
}

#[test]
fn pages_of_a_listing_are_followed_on_the_same_server() {
    let (hub, store) = served();
    let folder = tempfile::tempdir().unwrap();
    let names = |prefix: &str, options: Options| -> Vec<(String, u64)> {
        let store = Store::open(URL, &options).unwrap();
        let listed = store.list(prefix).unwrap().into_iter();
        listed.map(|listed| (listed.name, listed.facts.length)).collect()
    };
    let shards = |prefix: &str| names(prefix, hub.options().with_folder(folder.path()));
    let all = ["a b#1.tar", "dataset.json", "deep/x.tar", "shard-000000.tar", "shard-000001.tar"];
    let found = shards("");
    assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), all);
    assert_eq!(found[3].1, 5000);
    let asked = hub.take_asked();
    assert_eq!(count(&asked, "/tree/"), 3, "six entries, two a page");
    // A second process of the node finds the list.
    let both = [("shard-000000.tar".into(), 5000), ("shard-000001.tar".into(), 0)];
    assert_eq!(shards("shard-"), both);
    assert!(hub.take_asked().is_empty());
    // A name from the list opens its object.
    assert_eq!(store.object("a b#1.tar").unwrap().read(0, 5).unwrap()[..], tar(1)[..5]);
    let missing = Store::open("hf://datasets/lab/photos/nothing", &hub.options()).unwrap();
    assert!(missing.list("").unwrap_err().is_missing());
}

#[test]
fn refusals_say_what_to_do() {
    let (hub, _) = served();
    let with = |url: &str, pairs: &[(&str, &str)]| -> Error {
        let endpoint = [("endpoint", hub.endpoint())];
        let pairs = pairs.iter().map(|(name, value)| (*name, value.to_string()));
        let options = Options::from_pairs(endpoint.into_iter().chain(pairs)).unwrap();
        Store::open(url, &options).unwrap().get("train/dataset.tar").unwrap_err()
    };
    let said = |url: &str, kind: ErrorKind, text: &str| {
        let error = with(url, &[("token", TOKEN)]);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.text().contains(text), "{error}");
    };
    said("hf://datasets/lab/photos@v9", ErrorKind::Usage, "lab/photos has no revision 'v9'");
    said("hf://datasets/lab/phtos", ErrorKind::Refused, "its name is wrong, or the account");
    let missing =
        "there is no 'train/dataset.tar' in the data set lab/photos at 'main' (commit 00000000)";
    said("hf://datasets/lab/photos", ErrorKind::Missing, missing);
    hub.require_token();
    let private = with("hf://datasets/lab/photos@private", &[("anonymous", "true")]);
    assert_eq!(private.kind(), ErrorKind::Refused);
    assert!(private.text().contains("it is private: set HF_TOKEN"), "{private}");
    let wrong = with("hf://datasets/lab/photos@wrong", &[("token", "hf_wrong")]);
    assert!(wrong.text().contains("does not accept the token"), "{wrong}");
    assert!(!wrong.to_string().contains("hf_wrong"));
    hub.plan(|_| Some(Reply::new(403, "").with("X-Error-Code", "GatedRepo")));
    let gated = with("hf://datasets/lab/photos@gated", &[("token", TOKEN)]);
    assert_eq!(gated.kind(), ErrorKind::Refused);
    assert!(gated.text().contains("is gated: accept its terms at http://127.0.0.1:"), "{gated}");
    assert!(gated.text().contains("/datasets/lab/photos and set HF_TOKEN"), "{gated}");
    hub.plan(|_| Some(Reply::new(200, "<html>")));
    said("hf://datasets/lab/photos@page", ErrorKind::Answer, "is HF_ENDPOINT the URL of a Hub?");
}

#[test]
fn what_may_pass_is_asked_again_after_the_pause_that_is_named() {
    let (hub, store) = served();
    let object = store.object_of("shard-000000.tar", 5000);
    object.read(0, 1).unwrap();
    let mut left = 2;
    hub.plan(move |_| {
        left -= 1;
        match left {
            1 => Some(Reply::new(429, "").with("Retry-After", "1")),
            0 => Some(Reply::new(503, "")),
            _ => None,
        }
    });
    let start = Instant::now();
    assert_eq!(object.read(5, 5).unwrap()[..], tar(1)[5..10]);
    assert!(start.elapsed() >= Duration::from_secs(1));
    let stats = store.stats();
    assert_eq!((stats.throttled, stats.retries), (1, 2));
}

#[test]
fn a_cut_body_is_continued_where_it_ended() {
    let (hub, store) = served();
    let object = store.object_of("shard-000000.tar", 5000);
    object.read(0, 1).unwrap();
    hub.take_asked();
    let mut first = true;
    let bytes = bytes::Bytes::from(tar(1));
    hub.plan(move |asked| {
        let cut = std::mem::take(&mut first);
        cut.then(|| Reply::of(&bytes, &asked.request).cut(300))
    });
    assert_eq!(object.read(1000, 2000).unwrap()[..], tar(1)[1000..3000]);
    let ranges: Vec<_> = hub.take_asked().iter().map(|asked| asked.request.range()).collect();
    assert_eq!(ranges, [Some((1000, 3000)), Some((1300, 3000))]);
}

#[test]
fn a_renamed_repository_is_followed_with_the_token() {
    let (hub, store) = served();
    hub.require_token();
    hub.plan(|asked| {
        let (prefix, path) =
            asked.request.target.split_at(1 + asked.request.target[1..].find('/')?);
        let to = format!("{prefix}/moved{path}");
        (asked.host == Host::Api && !path.starts_with("/moved"))
            .then(|| Reply::new(307, "").with("Location", to))
    });
    assert_eq!(&store.get("dataset.json").unwrap().0[..], b"{\"seed\":1}");
    assert_eq!(store.object_of("shard-000000.tar", 5000).read(0, 9).unwrap().len(), 9);
    assert_eq!(store.list("").unwrap().len(), 5);
    let moved = hub.take_asked();
    assert_eq!((count(&moved, "/moved/api/"), count(&moved, "/moved/datasets/")), (4, 2));
    hub.plan(|asked| Some(Reply::new(307, "").with("Location", asked.request.target.clone())));
    let circle = store.get("dataset.json").unwrap_err();
    assert!(circle.text().contains("redirects more than 5 times"), "{circle}");
}

#[test]
fn storage_that_ignores_ranges_is_refused() {
    let (hub, store) = served();
    hub.plan(|asked| (asked.host == Host::Storage).then(|| Reply::new(200, tar(1))));
    let error = store.object_of("shard-000000.tar", 5000).read(0, 9).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Answer);
    assert!(error.text().contains("ignores ranges"), "{error}");
}

#[test]
fn another_commit_than_was_asked_for_is_an_error() {
    let (hub, store) = served();
    hub.plan(|asked| {
        let is_file = asked.request.path().contains("/resolve/");
        is_file.then(|| Reply::new(200, "{}").with("X-Repo-Commit", commit(7)))
    });
    let error = store.get("dataset.json").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Answer);
    assert!(error.text().contains("another commit"), "{error}");
}

#[test]
fn nothing_is_written() {
    let (hub, store) = served();
    let refused = [
        store.create("a", b"1").unwrap_err(),
        store.replace("a", b"1").unwrap_err(),
        store.delete("a").unwrap_err(),
        store.begin_upload("a").unwrap_err(),
        store.abort("a", "1").unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.text().contains("`hf upload OWNER/NAME FOLDER"), "{error}");
    }
    assert!(hub.take_asked().is_empty());
}
