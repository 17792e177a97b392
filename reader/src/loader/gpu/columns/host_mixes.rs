//! `HostMixes`: the columns whose rows the host changes after they are finished.

use tarflume_transforms::{Mix, Mosaic};
use tarflume_types::{Error, Result};

use crate::decode::ForDevice;
use crate::loader::pipeline::columns::Columns;

/// The columns of [`Mix`] and [`Mosaic`].
#[derive(Debug, Clone, Default)]
pub(crate) struct HostMixes {
    mixed: Option<String>,
    mosaic: Option<String>,
}

impl HostMixes {
    /// Collects the columns of these options.
    pub(crate) fn of(mix: Option<&Mix>, mosaic: Option<&Mosaic>) -> HostMixes {
        HostMixes {
            mixed: mix.map(|mix| mix.image.clone()),
            mosaic: mosaic.map(|mosaic| mosaic.image.clone()),
        }
    }

    /// Returns the name of the option that changes rows; `Mosaic` before `Mix`.
    pub(crate) fn first_name(&self) -> Option<&'static str> {
        let mosaic = self.mosaic.as_ref().map(|_| "Mosaic");
        mosaic.or_else(|| self.mixed.as_ref().map(|_| "Mix"))
    }

    /// Takes the parts of the device away from these columns. A device that changes pixels mixes them, too.
    ///
    /// # Errors
    /// The device is to decode JPEGs of a column, or to change the pixels of mosaics.
    pub(crate) fn keep_on_host(
        &self,
        columns: &Columns,
        parts: &mut [Option<ForDevice>],
    ) -> Result<()> {
        for ((name, _), part) in columns.iter().zip(parts) {
            if Some(name) == self.mosaic.as_ref() {
                let Some(part) = part.take() else { continue };
                if part.changed.is_some() {
                    let text = "Mosaic: mosaics are made on the host, and the device changes pixels behind it: leave \
                                transforms_on out (`Image::transforms_on`), or the mosaic";
                    return Err(Error::usage(text).of_column(name));
                }
                check_decoder("Mosaic", name, &part)?;
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
