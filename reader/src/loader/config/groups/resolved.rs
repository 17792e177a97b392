//! `Grouped`: the order of a loader whose samples belong together in buckets or packs, and where it begins.

use tarflume_dataset::Dataset;
use tarflume_types::{Error, Result};

use super::packing::TooLong;
use crate::decode::pictures::image::Image;
use crate::decode::values::pack_columns::PackColumns;
use crate::loader::bad_samples::OnBad;
use crate::loader::config::builder::LoaderBuilder;
use crate::loader::indexed::groups::buckets::BucketProgress;
use crate::loader::indexed::groups::packs::PackProgress;
use crate::loader::indexed::groups::progress::GroupProgress;
use crate::order::{
    BucketShare, Buckets, Lengths, LoaderState, Order, PackShare, Remainder, SameBucket, Split,
};

/// The order of a loader, and what belongs together.
pub(crate) struct Grouped {
    order: Order,
    by: By,
}

enum By {
    Buckets(Buckets, SameBucket),
    /// The length of each sample, the packs of a batch, and samples that are too long for a pack.
    Packs {
        lengths: Lengths,
        each: u64,
        too_long: u64,
    },
}

/// An order from where a state goes on.
pub(crate) struct ResumedGroups {
    pub(crate) order: Order,
    pub(crate) progress: GroupProgress,
}

impl Grouped {
    /// The most samples of a batch on each rank.
    pub(crate) fn most_rows(&self) -> u64 {
        match &self.by {
            By::Buckets(buckets, _) => buckets.most_rows(),
            By::Packs { lengths, each, .. } => each.saturating_mul(lengths.limits().samples),
        }
    }

    /// Goes on where the state was saved, or begins.
    ///
    /// # Errors
    /// The state is of another order, of other buckets or packs, or without them.
    pub(crate) fn resumed(
        self,
        state: Option<&LoaderState>,
        split: Split,
        remainder: Remainder,
    ) -> Result<ResumedGroups> {
        let Grouped { mut order, by } = self;
        let progress = match by {
            By::Buckets(buckets, same) => {
                let mut taken = None;
                if let Some(state) = state {
                    order = state.resume_buckets(&order, split)?;
                    taken = Some(state.taken(&buckets)?);
                }
                let share = BucketShare::new(&order, split, buckets, same)?;
                GroupProgress::Buckets(BucketProgress::new(share, remainder, taken))
            }
            By::Packs { lengths, each, too_long } => {
                if let Some(state) = state {
                    order = state.resume_packs(&order, split, &lengths)?;
                }
                let share = PackShare::new(&order, split, lengths)?;
                GroupProgress::Packs(PackProgress::new(share, each, remainder, too_long))
            }
        };
        Ok(ResumedGroups { order, progress })
    }
}

impl LoaderBuilder {
    /// Puts the samples into buckets or packs, as the builder says, and gives the columns their shapes. `batch` has the rows of
    /// a batch on this rank, or the packs.
    pub(crate) fn grouped(&mut self, dataset: &Dataset, batch: u64) -> Result<Option<Grouped>> {
        let has_buckets = self.of.bucketing.is_some();
        let has_packs = self.of.packing.is_some();
        if has_buckets && has_packs {
            let text = "samples are in buckets or in packs, not in both: give one of them";
            return Err(Error::usage(text));
        }
        if (has_buckets || has_packs) && self.of.arrays.is_some() {
            let text = "a loader of arrays has no buckets and no packs: its rows have one length";
            return Err(Error::usage(text));
        }
        if has_buckets {
            return self.bucketed(dataset, batch).map(Some);
        }
        has_packs.then(|| self.packed(dataset, batch)).transpose()
    }

    fn bucketed(&mut self, dataset: &Dataset, batch: u64) -> Result<Grouped> {
        let order = self.order(dataset)?;
        let bucketing = self.of.bucketing.take().expect("the builder has buckets");
        let columns = &mut self.common.columns;
        let images = columns.iter().filter_map(|(_, decode)| decode.hooks()?.as_image());
        let turned = images.filter_map(|image| image.downcast_ref::<Image>());
        let turned = turned.map(Image::is_turned).reduce(|one, other| one || other);
        let resolved = bucketing.resolve(dataset, &order, batch, turned.unwrap_or(true))?;
        for (_, decode) in columns {
            let hooks = resolved.pictures.as_ref().zip(decode.hooks());
            if let Some(sized) = hooks.and_then(|(of, hooks)| hooks.in_buckets(of)) {
                *decode = sized;
            }
        }
        Ok(Grouped { order, by: By::Buckets(resolved.buckets, bucketing.same) })
    }

    fn packed(&mut self, dataset: &Dataset, batch: u64) -> Result<Grouped> {
        if self.common.on_bad == OnBad::Substitute {
            let text = "a bad sample leaves its place in a pack empty, and no other one has its length: skip bad samples, \
                        and all ranks still take the same number of steps";
            return Err(Error::usage(text));
        }
        let packing = self.of.packing.take().expect("the builder has packs");
        let found = packing.find(dataset)?;
        if packing.too_long == TooLong::Skip
            && let Ok(left_out) = &mut self.of.left_out
        {
            left_out.extend(&found.long);
        }
        let order = self.order(dataset)?;
        let lengths = packing.resolve(&found, dataset, &order)?;
        let packed = PackColumns {
            packs: usize::try_from(batch).unwrap_or(usize::MAX),
            width: packing.width(),
            cut: packing.too_long == TooLong::Cut,
        };
        for (_, decode) in &mut self.common.columns {
            if let Some(in_packs) = decode.hooks().and_then(|hooks| hooks.in_packs(packed)) {
                *decode = in_packs;
            }
        }
        let too_long = found.long.len() as u64;
        Ok(Grouped { order, by: By::Packs { lengths, each: batch, too_long } })
    }
}
