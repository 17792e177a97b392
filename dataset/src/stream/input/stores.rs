//! `Stores`: the shards of a stream that are in object stores, or that a list of URLs names.
//!
//! All shards of a bucket, a server or a folder of the Hub share a client and its counters. Asks a store only
//! for the listing of a folder, and reads lists of URLs.

use std::collections::{BTreeMap, HashMap};

use tarflume_store::{Store, UrlList};
use tarflume_types::{Error, Result};

use super::list::{FindRemote, StreamShard, is_shard};
use crate::remote::Storage;
use crate::remote::name::is_url_list;
use crate::remote::place::of_store;
use crate::remote::sequential::RemoteTar;

/// The stores that streams have opened by the options of a [`Storage`].
#[derive(Debug)]
pub struct Stores {
    storage: Storage,
    /// Stores that were opened, by their URLs.
    opened: HashMap<String, Store>,
    /// Shards by their URLs, where queries and encoded characters are kept as they are.
    exact: HashMap<String, StreamShard>,
}

impl Stores {
    /// Opens none yet.
    pub fn new(storage: Storage) -> Stores {
        Stores { storage, opened: HashMap::new(), exact: HashMap::new() }
    }

    /// The store of an object or a folder, and its name there.
    fn find<'u>(&mut self, url: &'u str) -> Result<(Store, &'u str)> {
        if let Some(store) = self.storage.given_store() {
            return below(store, url).map(|name| (store.clone(), name));
        }
        let (root, name) = divided(url);
        if let Some(store) = self.opened.get(root) {
            return Ok((store.clone(), name));
        }
        // The error is about the URL that the user wrote.
        let store = self.storage.open(root);
        let store = store.map_err(|e| Error::new(e.kind(), e.message()).with_path(url))?;
        self.opened.insert(root.to_string(), store.clone());
        Ok((store, name))
    }

    fn shard(&self, store: &Store, name: &str) -> StreamShard {
        let readahead = self.storage.readahead_bytes();
        StreamShard::object(RemoteTar::new(store.clone(), name.to_string(), readahead))
    }

    /// The tars of a folder, sorted by name.
    fn folder(&mut self, url: &str) -> Result<Vec<StreamShard>> {
        let (store, folder) = self.find(url)?;
        let listed = store.list(folder).map_err(|e| of_store(&e))?;
        let names = listed.iter().map(|listed| listed.name.as_str()).filter(|name| {
            let last = name.strip_prefix(folder).unwrap_or(name);
            !last.contains('/') && is_shard(last.as_bytes())
        });
        let shards: Vec<StreamShard> = names.map(|name| self.shard(&store, name)).collect();
        if shards.is_empty() {
            let text = "this folder contains no tar (*.tar, *.tar.gz, *.tgz, *.tar.zst, *.tzst)";
            return Err(Error::usage(text).with_path(url));
        }
        Ok(shards)
    }

    /// The tars that a list of URLs names, sorted by name.
    fn list(&self, place: &str) -> Result<Vec<StreamShard>> {
        let list = self.storage.read_list(place)?;
        let names: Vec<String> =
            list.names().filter(|name| is_tar(name)).map(str::to_string).collect();
        if names.is_empty() {
            let text = "this list of URLs names no tar (*.tar, *.tar.gz, *.tgz, *.tar.zst, *.tzst); give names to \
                        its URLs by a JSON object: {\"000.tar\": \"https://...\"}";
            return Err(Error::usage(text).with_path(without_query(place)));
        }
        let store = self.storage.open_urls(place, list)?;
        Ok(names.iter().map(|name| self.shard(&store, name)).collect())
    }

    /// Opens a store of the URLs of one folder, which have different names there.
    fn open_exact(&mut self, folder: &str, urls: &BTreeMap<&str, &str>) -> Result<()> {
        let text = serde_json::to_string(urls)
            .map_err(|e| Error::usage("these are no URLs").with_source(e).with_path(folder))?;
        let list = UrlList::parse(&text).map_err(|e| of_store(&e))?;
        let store = self.storage.open_urls(folder, list)?;
        for (name, url) in urls {
            self.exact.insert((*url).to_string(), self.shard(&store, name));
        }
        Ok(())
    }

    /// True if the URL of a tar is kept as it is: it is presigned, or has encoded characters.
    fn is_exact(&self, name: &str) -> bool {
        let is_tar = !is_url_list(name) && !without_query(name).ends_with('/');
        is_web(name) && is_tar && name.contains(['?', '%']) && self.storage.given_store().is_none()
    }
}

fn is_tar(name: &str) -> bool {
    is_shard(name.rsplit('/').next().unwrap_or(name).as_bytes())
}

impl FindRemote for Stores {
    fn expect(&mut self, names: &[String]) -> Result<()> {
        self.exact.clear();
        // URLs that differ in their queries alone are in different groups.
        let mut groups: HashMap<&str, Vec<BTreeMap<&str, &str>>> = HashMap::new();
        for url in names.iter().map(String::as_str).filter(|name| self.is_exact(name)) {
            let Some((folder, name)) = without_query(url).rsplit_once('/') else { continue };
            let folder = groups.entry(folder).or_default();
            match folder.iter_mut().find(|group| group.get(name).is_none_or(|u| *u == url)) {
                Some(group) => drop(group.insert(name, url)),
                None => folder.push(BTreeMap::from([(name, url)])),
            }
        }
        for (folder, groups) in groups {
            for group in groups {
                self.open_exact(folder, &group)?;
            }
        }
        Ok(())
    }

    fn shards(&mut self, name: &str) -> Result<Vec<StreamShard>> {
        if is_url_list(name) {
            return self.list(name);
        }
        let place = without_query(name);
        if place.contains('*') {
            let text = "globs name local files; name the tars by braces ({000..099}), or their folder in the store \
                        by a slash at its end";
            return Err(Error::usage(text).with_path(place));
        }
        if place.ends_with('/') {
            return self.folder(place);
        }
        if let Some(shard) = self.exact.get(name) {
            return Ok(vec![shard.clone()]);
        }
        let (store, name) = self.find(name)?;
        if name.is_empty() {
            let text = "name a tar, or a folder by a slash at its end";
            return Err(Error::usage(text).with_path(place));
        }
        Ok(vec![self.shard(&store, name)])
    }
}

/// True if the URL is that of a plain server.
fn is_web(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// A path, or a URL without its query, which may be a secret.
fn without_query(place: &str) -> &str {
    if is_web(place) { place.split('?').next().unwrap_or(place) } else { place }
}

/// The URL of a store that has the object, and the object's name there: a bucket or a server, or a folder of
/// the Hub, where a revision is part of the path.
fn divided(url: &str) -> (&str, &str) {
    let start = url.find("://").map_or(0, |at| at + 3);
    let rest = &url[start..];
    let slash = if url.starts_with("hf://") { rest.rfind('/') } else { rest.find('/') };
    match slash {
        Some(at) => (&url[..start + at], &rest[at + 1..]),
        None => (url, ""),
    }
}

/// The name of an object below a store that the caller has opened.
fn below<'u>(store: &Store, url: &'u str) -> Result<&'u str> {
    let name = url.strip_prefix(store.url()).and_then(|rest| rest.strip_prefix('/'));
    name.ok_or_else(|| {
        let text =
            format!("this is not below the URL of the store that was given, {}", store.url());
        Error::usage(text).with_path(without_query(url))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_divided_into_a_store_and_a_name() {
        assert_eq!(divided("s3://b/d/a.tar"), ("s3://b", "d/a.tar"));
        assert_eq!(divided("https://h:1/d/a.tar"), ("https://h:1", "d/a.tar"));
        assert_eq!(divided("s3://b/d/"), ("s3://b", "d/"));
        assert_eq!(divided("s3://b"), ("s3://b", ""));
        let hub = "hf://datasets/me/cats@refs/pr/1";
        assert_eq!(divided(&format!("{hub}/d/a.tar")), (&*format!("{hub}/d"), "a.tar"));
    }

    #[test]
    fn the_query_of_a_web_url_is_a_secret() {
        assert_eq!(without_query("https://h/a.tar?sig=1"), "https://h/a.tar");
        assert_eq!(without_query("s3://b/a?b.tar"), "s3://b/a?b.tar");
    }
}
