//! `HostMixes`: the columns whose rows the host changes after they are finished.

use tarflume_transforms::Mix;
use tarflume_types::{Error, Result};

use crate::decode::ForDevice;
use crate::loader::pipeline::columns::Columns;
use crate::loader::pipeline::mixer::object_mixers::ObjectOptions;

/// An option whose pictures change with the objects on them.
#[derive(Debug, Clone)]
struct Changed {
    option: &'static str,
    /// What the option does, and what to leave out, in errors.
    does: &'static str,
    what: &'static str,
    image: String,
}

/// The columns of [`Mix`] and of [`ObjectOptions`].
#[derive(Debug, Clone, Default)]
pub(crate) struct HostMixes {
    mixed: Option<String>,
    /// In the order in which rows are changed.
    changed: Vec<Changed>,
}

impl HostMixes {
    /// Collects the columns of these options.
    pub(crate) fn of(mix: Option<&Mix>, objects: &ObjectOptions) -> HostMixes {
        let mosaic = objects.mosaic.as_ref().map(|mosaic| Changed {
            option: "Mosaic",
            does: "mosaics are made",
            what: "the mosaic",
            image: mosaic.image.clone(),
        });
        let copy_paste = objects.copy_paste.as_ref().map(|copy_paste| Changed {
            option: "CopyPaste",
            does: "objects are pasted",
            what: "CopyPaste",
            image: copy_paste.image.clone(),
        });
        HostMixes {
            mixed: mix.map(|mix| mix.image.clone()),
            changed: [mosaic, copy_paste].into_iter().flatten().collect(),
        }
    }

    /// Returns the name of the option that changes rows first.
    pub(crate) fn first_name(&self) -> Option<&'static str> {
        let changed = self.changed.first().map(|changed| changed.option);
        changed.or_else(|| self.mixed.as_ref().map(|_| "Mix"))
    }

    /// Takes the parts of the device away from these columns. A device that changes pixels mixes them, too.
    ///
    /// # Errors
    /// The device is to decode JPEGs of a column, or to change the pixels of mosaics or behind pasted objects.
    pub(crate) fn keep_on_host(
        &self,
        columns: &Columns,
        parts: &mut [Option<ForDevice>],
    ) -> Result<()> {
        for ((name, _), part) in columns.iter().zip(parts) {
            if let Some(of) = self.changed.iter().find(|of| of.image == *name) {
                let Some(part) = part.take() else { continue };
                let Changed { option, does, what, .. } = of;
                if part.changed.is_some() {
                    let text = format!(
                        "{option}: {does} on the host, and the device changes pixels behind it: leave transforms_on out \
                         (`Image::transforms_on`), or {what}"
                    );
                    return Err(Error::usage(text).of_column(name));
                }
                check_decoder(option, name, &part)?;
            } else if Some(name) == self.mixed.as_ref()
                && let Some(part) = part.take_if(|part| part.changed.is_none())
            {
                check_decoder("Mix", name, &part)?;
            }
        }
        Ok(())
    }
}

/// Refuses a column whose JPEGs the device is to decode.
fn check_decoder(option: &str, name: &str, part: &ForDevice) -> Result<()> {
    if part.shared.is_none() {
        return Ok(());
    }
    let text = format!(
        "{option}: its rows are mixed before the device decodes its JPEGs: leave the device's decoder out"
    );
    Err(Error::usage(text).of_column(name))
}
