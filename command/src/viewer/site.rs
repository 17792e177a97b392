//! `Site`: the data set that is served, and the memory of its replies.

use std::sync::{Arc, Mutex};

use tarflume_base::Failure;
use tarflume_formats::index::Sample;
use tarflume_formats::{IgnorePoison, name};
use tarflume_inspect::ordinals::Ordinals;
use tarflume_inspect::stats::Measured;
use tarflume_inspect::view::{
    BoxForm, Card, CardOptions, Draws, bytes_of_card, card, content_policy, live_page,
};
use tarflume_shards::listing::{FoundPart, Listing, Shard, read_part};

use super::answer::{Streamed, Take};
use super::filter::Filter;
use super::room::Room;

/// The longer sides of the pictures of a card, in pixels; 0 for none.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Sides {
    pub(super) picture: u32,
    pub(super) masks: u32,
}

/// What is served.
#[derive(Debug)]
pub(crate) struct Site {
    listing: Listing,
    ordinals: Ordinals,
    measured: Measured,
    boxes: Option<BoxForm>,
    /// Names of hosts beside `localhost`.
    pub(super) allowed: Vec<String>,
    /// The page.
    pub(super) page: Vec<u8>,
    /// The policy of its content.
    pub(super) policy: String,
    room: Room,
    /// The last filter with its samples: the next request wants the next page of it.
    last: Mutex<Option<(Filter, Arc<Vec<u64>>)>>,
}

impl Site {
    /// Prepares the page. `allowed` are names of hosts beside `localhost`.
    pub(crate) fn new(
        title: String,
        listing: Listing,
        measured: Measured,
        boxes: Option<BoxForm>,
        draws: Option<&Draws>,
        allowed: Vec<String>,
    ) -> Site {
        let ordinals = Ordinals::of(&listing);
        let page = live_page(&title, &measured.stats, draws);
        let policy = content_policy();
        let room = Room::default();
        let last = Mutex::new(None);
        Site { listing, ordinals, measured, boxes, allowed, page, policy, room, last }
    }

    fn options(&self, sides: Sides) -> CardOptions<'_> {
        let about = self.listing.manifest.as_ref().map(|manifest| &manifest.about);
        CardOptions {
            side: sides.picture,
            mask_side: sides.masks,
            class: self.measured.class.as_ref(),
            boxes: self.boxes,
            json: self.listing.json_rules,
            table: about.and_then(|about| about.classes.as_ref()),
            objects: about.and_then(|about| about.objects.as_ref()),
        }
    }

    fn sample(&self, ordinal: u64) -> Result<Option<(&Shard, Sample<'_>)>, Failure> {
        Ok(self.ordinals.sample(&self.listing, ordinal)?)
    }

    /// Reads a sample. `sides` are the longer sides of its picture and of its masks.
    pub(super) fn card(&self, ordinal: u64, sides: Sides) -> Result<Option<Card>, Failure> {
        let Some((shard, sample)) = self.sample(ordinal)? else { return Ok(None) };
        let _share = self.room.take(bytes_of_card(&sample)?);
        card(shard, &sample, ordinal, &self.options(sides)).map(Some)
    }

    fn find_part(&self, ordinal: u64, ext: &[u8]) -> Result<Option<FoundPart<'_>>, Failure> {
        let Some((shard, sample)) = self.sample(ordinal)? else { return Ok(None) };
        let mut found = None;
        for part in sample.parts() {
            let part = part?;
            if name::shown(part.ext).as_bytes() == ext {
                found = Some(FoundPart { shard, key: sample.key, part });
            }
        }
        Ok(found)
    }

    /// Returns the content of a part, which is read while it is sent.
    pub(super) fn part(
        self: &Arc<Site>,
        ordinal: u64,
        ext: &[u8],
    ) -> Result<Option<Streamed>, Failure> {
        let Some(found) = self.find_part(ordinal, ext)? else { return Ok(None) };
        let length = found.part.length;
        let site = Arc::clone(self);
        let ext = ext.to_vec();
        Ok(Some(Streamed {
            length,
            read: Box::new(move |take: Take<'_>| match site.find_part(ordinal, &ext)? {
                Some(found) => read_part(&found, take),
                None => Ok(()), // it was found above, and sidecars do not change
            }),
        }))
    }

    /// Returns the samples of a filter: their number, and those of one reply.
    pub(super) fn find(
        &self,
        filter: Filter,
        offset: usize,
        limit: usize,
    ) -> Result<(u64, Vec<u64>), Failure> {
        if filter.is_open() {
            let all = self.ordinals.samples();
            let from = (offset as u64).min(all);
            return Ok((all, (from..(from + limit as u64).min(all)).collect()));
        }
        let kept = self.last.lock().ignore_poison().clone();
        let found = match kept.filter(|(last, _)| *last == filter) {
            Some((_, found)) => found,
            None => {
                let _share = self.room.take(0);
                let found = Arc::new(filter.find(&self.listing, &self.ordinals, &self.measured)?);
                *self.last.lock().ignore_poison() = Some((filter, Arc::clone(&found)));
                found
            }
        };
        let page = found.iter().skip(offset).take(limit).copied().collect();
        Ok((found.len() as u64, page))
    }
}
