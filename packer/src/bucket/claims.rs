//! `BucketClaims`: claims as objects, for machines that share a bucket and nothing else.

use std::collections::HashSet;
use std::sync::Arc;

use tarflume_base::Failure;
use tarflume_shards::workdir::Claims;

use super::data_set::Bucket;
use super::layout;
use super::objects::Put;

/// The claims of the plan in a bucket.
#[derive(Debug)]
struct BucketClaims(Bucket);

impl Bucket {
    /// Returns the claims of its plan.
    pub(crate) fn claims(&self) -> Arc<dyn Claims> {
        Arc::new(BucketClaims(self.clone()))
    }
}

fn path(name: &str) -> String {
    format!("{}{name}", layout::CLAIMS)
}

impl BucketClaims {
    /// Returns the names of the objects with this prefix, without the prefix.
    fn names_under<C: FromIterator<String>>(&self, prefix: &str) -> Result<C, Failure> {
        let names = self.0.objects.list(prefix)?.into_iter();
        Ok(names.filter_map(|name| name.strip_prefix(prefix).map(String::from)).collect())
    }
}

impl Claims for BucketClaims {
    fn create(&self, name: &str, note: &[u8]) -> Result<bool, Failure> {
        Ok(self.0.objects.create(&path(name), note)? == Put::Written)
    }

    fn update(&self, name: &str, note: &[u8]) -> Result<(), Failure> {
        // A claim that was removed with its plan must not come back: nobody would delete it.
        match self.0.objects.facts(&path(name))? {
            Some(_) => self.0.objects.replace(&path(name), note).map(drop),
            None => {
                Err(Failure::try_again("the claim was removed").in_file(self.0.place(&path(name))))
            }
        }
    }

    fn remove(&self, name: &str) -> Result<(), Failure> {
        self.0.objects.delete(&path(name))
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.0.objects.get(&path(name))?.map(|stored| stored.bytes))
    }

    fn list(&self) -> Result<Vec<String>, Failure> {
        self.names_under(layout::CLAIMS)
    }

    fn finished(&self) -> Result<HashSet<String>, Failure> {
        self.names_under(layout::RECORDS)
    }

    fn is_finished(&self, shard: &str) -> Result<bool, Failure> {
        Ok(self.0.objects.facts(&layout::record(shard))?.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::objects::memory::MemoryObjects;

    #[test]
    fn a_claim_is_created_once_and_does_not_come_back_after_its_removal() {
        let bucket = Bucket::new(Arc::new(MemoryObjects::default()));
        let claims = bucket.claims();
        assert!(claims.create("a.tar-1", b"mine").unwrap());
        assert!(!claims.create("a.tar-1", b"another's").unwrap());
        assert!(claims.create("a.tar-2", b"another's").unwrap());
        claims.update("a.tar-1", b"later").unwrap();
        assert_eq!(claims.read("a.tar-1").unwrap().as_deref(), Some(&b"later"[..]));
        assert_eq!(claims.list().unwrap(), ["a.tar-1", "a.tar-2"]);
        claims.remove("a.tar-1").unwrap();
        assert!(claims.update("a.tar-1", b"late").is_err());
        assert_eq!(claims.list().unwrap(), ["a.tar-2"]);
        assert_eq!(claims.read("a.tar-1").unwrap(), None);
    }

    #[test]
    fn finished_shards_are_those_with_a_record() {
        let bucket = Bucket::new(Arc::new(MemoryObjects::default()));
        bucket.objects.replace(&layout::record("a.tar"), b"{}").unwrap();
        let claims = bucket.claims();
        assert!(claims.is_finished("a.tar").unwrap() && !claims.is_finished("b.tar").unwrap());
        assert_eq!(claims.finished().unwrap(), HashSet::from(["a.tar".to_string()]));
    }
}
