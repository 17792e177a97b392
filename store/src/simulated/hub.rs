//! A Hugging Face Hub on two ports, its API and its storage, for tests.
//!
//! Files that end in `.tar` are in storage, behind signed URLs; others are sent by the API.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::settings::location::decoded;
use crate::settings::options::Options;
use crate::simulated::listener::{Listener, Received, Reply};

/// The name of the repository.
pub const REPOSITORY: &str = "lab/photos";
/// The token that the API knows.
pub const TOKEN: &str = "hf_simulated";

/// The number of the next server. It is part of the endpoint: a process remembers what it resolved.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Which of the two servers was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// The one that knows the token.
    Api,
    /// The one that knows signatures.
    Storage,
}

/// A request to one of the servers.
#[derive(Debug, Clone)]
pub struct HubAsked {
    /// The server.
    pub host: Host,
    /// The request.
    pub request: Received,
}

type Plan = Box<dyn FnMut(&HubAsked) -> Option<Reply> + Send>;
type Files = BTreeMap<String, Bytes>;

#[derive(Default)]
struct State {
    /// Files by commit.
    commits: BTreeMap<String, Files>,
    /// Commits by branch or tag.
    revisions: BTreeMap<String, String>,
    asked: Vec<HubAsked>,
    plan: Option<Plan>,
    /// Number of the last signature, and of the first that is accepted.
    signatures: (u64, u64),
    /// Seconds that signed URLs are said to live.
    life: u64,
    needs_token: bool,
    storage: String,
    prefix: String,
}

/// A Hub with one repository. Clones are the same Hub.
#[derive(Clone)]
pub struct Hub {
    state: Arc<Mutex<State>>,
    api: Arc<Listener>,
    _storage: Arc<Listener>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hub")
    }
}

/// The commit with this number.
pub fn commit(number: u32) -> String {
    format!("{number:040x}")
}

impl Default for Hub {
    fn default() -> Hub {
        Hub::new()
    }
}

impl Hub {
    /// An empty repository, for everybody.
    pub fn new() -> Hub {
        let state = State { life: 3600, ..State::default() };
        let state = Arc::new(Mutex::new(state));
        let api = start(Host::Api, &state);
        let storage = start(Host::Storage, &state);
        {
            let mut state = lock(&state);
            state.storage = storage.url();
            state.prefix = format!("/hub{}", NEXT.fetch_add(1, Ordering::Relaxed));
        }
        Hub { state, api, _storage: storage }
    }

    /// The URL of the API.
    pub fn endpoint(&self) -> String {
        format!("{}{}", self.api.url(), lock(&self.state).prefix)
    }

    /// Options that reach this Hub with its token.
    pub fn options(&self) -> Options {
        let pairs = [("endpoint", self.endpoint()), ("token", TOKEN.into())];
        Options::from_pairs(pairs).expect("known names")
    }

    /// Makes a commit and lets `revision` name it.
    pub fn push<B: Into<Bytes>>(
        &self,
        revision: &str,
        commit: &str,
        files: impl IntoIterator<Item = (String, B)>,
    ) {
        let files = files.into_iter().map(|(name, bytes)| (name, bytes.into())).collect();
        let mut state = lock(&self.state);
        state.commits.insert(commit.into(), files);
        state.revisions.insert(revision.into(), commit.into());
    }

    /// Refuses requests without the token.
    pub fn require_token(&self) {
        lock(&self.state).needs_token = true;
    }

    /// Refuses all URLs that were signed so far.
    pub fn revoke(&self) {
        let mut state = lock(&self.state);
        state.signatures.1 = state.signatures.0 + 1;
    }

    /// Signed URLs say that they live for so many seconds.
    pub fn set_life(&self, seconds: u64) {
        lock(&self.state).life = seconds;
    }

    /// Decides about other answers for all later requests.
    pub fn plan(&self, plan: impl FnMut(&HubAsked) -> Option<Reply> + Send + 'static) {
        lock(&self.state).plan = Some(Box::new(plan));
    }

    /// Takes the list of requests so far.
    pub fn take_asked(&self) -> Vec<HubAsked> {
        std::mem::take(&mut lock(&self.state).asked)
    }
}

fn start(host: Host, state: &Arc<Mutex<State>>) -> Arc<Listener> {
    let state = state.clone();
    Arc::new(Listener::start(move |request| lock(&state).answer(host, request)))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(status: u16, code: &str) -> Reply {
    Reply::new(status, "{\"error\":\"refused\"}").with("X-Error-Code", code)
}

impl State {
    fn answer(&mut self, host: Host, request: &Received) -> Reply {
        let asked = HubAsked { host, request: request.clone() };
        self.asked.push(asked.clone());
        let mut plan = self.plan.take();
        let planned = plan.as_mut().and_then(|plan| plan(&asked));
        self.plan = plan;
        match (planned, host) {
            (Some(reply), _) => reply,
            (None, Host::Api) => self.api(request),
            (None, Host::Storage) => self.stored(request),
        }
    }

    fn api(&mut self, request: &Received) -> Reply {
        let token = request.headers.get("authorization");
        if token.is_some_and(|token| *token != format!("Bearer {TOKEN}")) {
            return Reply::new(401, "Invalid credentials in Authorization header");
        }
        if self.needs_token && token.is_none() {
            return refused(401, "RepoNotFound");
        }
        let path = request.path().strip_prefix(&*self.prefix).unwrap_or_default();
        let path = path.strip_prefix("/moved").unwrap_or(path).to_string();
        if let Some(rest) = below("/api/datasets", &path) {
            return match rest.split_once('/') {
                Some(("revision", revision)) => self.revision(&decoded(revision)),
                Some(("tree", rest)) => self.tree(request, &decoded(rest)),
                _ => refused(404, "RepoNotFound"),
            };
        }
        match below("/datasets", &path).and_then(|rest| rest.strip_prefix("resolve/")) {
            Some(rest) => self.resolved(request, &decoded(rest)),
            None => refused(404, "RepoNotFound"),
        }
    }

    fn revision(&self, revision: &str) -> Reply {
        match self.revisions.get(revision) {
            Some(commit) => Reply::new(200, format!("{{\"id\":\"x\",\"sha\":\"{commit}\"}}")),
            None => refused(404, "RevisionNotFound"),
        }
    }

    /// Two entries a page.
    fn tree(&self, request: &Received, rest: &str) -> Reply {
        let (commit, folder) = rest.split_once('/').unwrap_or((rest, ""));
        let Some(files) = self.commits.get(commit) else { return refused(404, "RevisionNotFound") };
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut nodes = vec!["{\"type\":\"directory\",\"size\":0,\"path\":\"folder\"}".to_string()];
        for (path, bytes) in files.iter().filter(|(path, _)| path.starts_with(&start)) {
            let size = bytes.len();
            nodes.push(format!(
                "{{\"type\":\"file\",\"oid\":\"0\",\"size\":{size},\"path\":\"{path}\"}}"
            ));
        }
        if nodes.len() == 1 {
            return refused(404, "EntryNotFound");
        }
        let at: usize = request.query("cursor").and_then(|at| at.parse().ok()).unwrap_or(0);
        let page = nodes[at..(at + 2).min(nodes.len())].join(",");
        let reply = Reply::new(200, format!("[{page}]"));
        if at + 2 < nodes.len() {
            // The Hub names itself, as a mirror of it would pass on.
            let link = format!("https://huggingface.invalid/x?recursive=true&cursor={}", at + 2);
            reply.with("Link", format!("<{link}>; rel=\"next\""))
        } else {
            reply
        }
    }

    fn resolved(&mut self, request: &Received, rest: &str) -> Reply {
        let (commit, path) = rest.split_once('/').unwrap_or((rest, ""));
        let Some(bytes) = self.commits.get(commit).and_then(|files| files.get(path)) else {
            return refused(404, "EntryNotFound");
        };
        if !path.ends_with(".tar") {
            return Reply::of(bytes, request).with("X-Repo-Commit", commit);
        }
        self.signatures.0 += 1;
        let storage = &self.storage;
        let life = self.life;
        let number = self.signatures.0;
        let path = path.replace('%', "%25").replace('#', "%23").replace(' ', "%20");
        let url = format!(
            "{storage}/{commit}/{path}?X-Amz-Expires={life}&X-Amz-Signature=secret{number}"
        );
        Reply::new(302, "Found").with("Location", url).with("X-Repo-Commit", commit)
    }

    fn stored(&self, request: &Received) -> Reply {
        if request.headers.contains_key("authorization") {
            return Reply::new(400, "<Error><Code>InvalidArgument</Code></Error>");
        }
        let signature = request.query("X-Amz-Signature").and_then(|s| s.strip_prefix("secret"));
        let number: u64 = signature.and_then(|number| number.parse().ok()).unwrap_or(0);
        if number == 0 || number < self.signatures.1 {
            return Reply::new(403, "<Error><Code>AccessDenied</Code></Error>");
        }
        let path = decoded(request.path().trim_start_matches('/'));
        let found = path.split_once('/');
        let found = found.and_then(|(commit, path)| self.commits.get(commit)?.get(path));
        found.map_or_else(|| Reply::new(404, ""), |bytes| Reply::of(bytes, request))
    }
}

fn below<'p>(start: &str, path: &'p str) -> Option<&'p str> {
    path.strip_prefix(&format!("{start}/{REPOSITORY}/"))
}
