//! `ObjectMixers`: what changes the pictures of closed batches together with the objects on them: mosaics, then pasted objects.

use tarflume_device::batch::Content;
use tarflume_transforms::mosaic::TILES;
use tarflume_transforms::{CopyPaste, Mosaic};
use tarflume_types::Result;

use crate::loader::pipeline::columns::{ColumnSet, Columns};
use crate::loader::pipeline::mixer::mosaicker::{self, MosaicWorkspace, Mosaicker};
use crate::loader::pipeline::mixer::paster::{self, PasteWorkspace, Paster};

/// The options that change pictures and objects.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObjectOptions {
    pub(crate) mosaic: Option<Mosaic>,
    pub(crate) copy_paste: Option<CopyPaste>,
}

impl ObjectOptions {
    /// The samples whose objects a row has, at most, before others are pasted.
    fn samples(&self) -> usize {
        self.mosaic.as_ref().map_or(1, |_| TILES)
    }

    /// The columns of what was drawn, if that is kept.
    ///
    /// # Errors
    /// Those of [`mosaicker::added_columns`] and [`paster::added_columns`].
    pub(crate) fn added_columns(&self, columns: &Columns, keep: bool) -> Result<Columns> {
        let mut added = Vec::new();
        if let Some(mosaic) = &self.mosaic {
            added.extend(mosaicker::added_columns(mosaic, columns, keep)?);
        }
        if let Some(copy_paste) = &self.copy_paste {
            added.extend(paster::added_columns(copy_paste, columns, self.samples(), keep)?);
        }
        Ok(added)
    }

    /// What changes batches of `columns`, to which [`Self::added_columns`] were added.
    ///
    /// # Errors
    /// Those of [`Mosaicker::new`] and [`Paster::new`].
    pub(crate) fn mixers(&self, columns: &mut ColumnSet, keep: bool) -> Result<ObjectMixers> {
        let mosaic = self.mosaic.clone();
        let mosaicker = mosaic.map(|mosaic| Mosaicker::new(mosaic, columns, keep)).transpose()?;
        // A paster comes last: it makes room for its own objects and for those of mosaics.
        let paster = match self.copy_paste.clone() {
            Some(copy_paste) => Some(Paster::new(copy_paste, columns, self.samples(), keep)?),
            None => None,
        };
        Ok(ObjectMixers { mosaicker, paster })
    }
}

/// What the mixers need for a batch. It is reused for later batches.
#[derive(Debug, Default)]
pub(crate) struct ObjectWorkspace {
    mosaic: MosaicWorkspace,
    paste: PasteWorkspace,
}

/// Changes the pictures and the objects of the batches of a loader.
#[derive(Default)]
pub(crate) struct ObjectMixers {
    mosaicker: Option<Mosaicker>,
    paster: Option<Paster>,
}

impl ObjectMixers {
    /// Whether no batch is changed.
    pub(crate) fn is_idle(&self) -> bool {
        self.mosaicker.is_none() && self.paster.is_none()
    }

    /// Sets the seed of the draws.
    pub(crate) fn seeded(self, seed: u64) -> ObjectMixers {
        ObjectMixers {
            mosaicker: self.mosaicker.map(|mosaicker| mosaicker.seeded(seed)),
            paster: self.paster.map(|paster| paster.seeded(seed)),
        }
    }

    /// Bytes of memory for a batch, without those of the objects, whose columns have room for them.
    pub(crate) fn batch_bytes(&self, columns: &ColumnSet) -> u64 {
        let mosaics = self.mosaicker.as_ref().map_or(0, |of| of.batch_bytes(columns));
        let pasted = self.paster.as_ref().map_or(0, |of| of.batch_bytes(columns));
        mosaics.saturating_add(pasted)
    }

    /// Changes the rows of a sealed batch, whose first row is the sample at position `first` of the epoch. Returns the bytes
    /// of the pictures.
    ///
    /// # Errors
    /// Memory is short.
    pub(crate) fn change(
        &self,
        content: &mut Content,
        workspace: &mut ObjectWorkspace,
        first: u64,
    ) -> Result<u64> {
        let mut bytes = 0;
        if let Some(mosaicker) = &self.mosaicker {
            bytes += mosaicker.make(content, &mut workspace.mosaic, first)?;
        }
        if let Some(paster) = &self.paster {
            bytes += paster.paste(content, &mut workspace.paste, first);
        }
        Ok(bytes)
    }
}
