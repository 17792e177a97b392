//! `ParamsTable`: the decode parameters that a decoder supports, by format and scale. Decodes nothing.

use std::sync::Arc;

use tarflume_jpeg::Scale;

use super::handle::{DecodeParams, Handle};
use super::status::{OutputFormat, Status};

/// All supported decode parameters.
pub(super) struct ParamsTable {
    /// By format, then by scale; the same number of scales in each.
    all: [Vec<DecodeParams>; 2],
    refused: Option<(Scale, Status)>,
}

impl ParamsTable {
    /// Parameters at full scale, and at smaller scales down to `smallest` until one is refused. NVIDIA's documents do
    /// not state reliably which backends support scales, and a decoder without them is useful, too.
    ///
    /// # Errors
    /// Returns the library's status for full scale.
    pub(super) fn new(handle: &Arc<Handle>, smallest: Scale) -> Result<ParamsTable, Status> {
        let mut params = ParamsTable {
            all: pair(Scale::Full, handle)?.map(|params| vec![params]),
            refused: None,
        };
        for scale in
            Scale::ALL.into_iter().filter(|scale| (1..=smallest as u32).contains(&(*scale as u32)))
        {
            match pair(scale, handle) {
                Ok(made) => {
                    params.all.iter_mut().zip(made).for_each(|(all, params)| all.push(params))
                }
                Err(why) => {
                    params.refused = Some((scale, why));
                    break;
                }
            }
        }
        Ok(params)
    }

    /// The parameters; `None` if they are not supported.
    pub(super) fn of(&self, format: OutputFormat, scale: Scale) -> Option<&DecodeParams> {
        self.all[format as usize].get(scale as usize)
    }

    /// The smallest supported scale.
    pub(super) fn least(&self) -> Scale {
        let mut known = Scale::ALL.into_iter().take(self.all[0].len());
        known.next_back().unwrap_or(Scale::Full)
    }

    /// The first scale that was refused, and the library's status.
    pub(super) fn refused(&self) -> Option<(Scale, Status)> {
        self.refused
    }
}

fn pair(scale: Scale, handle: &Arc<Handle>) -> Result<[DecodeParams; 2], Status> {
    Ok([
        DecodeParams::new(handle, OutputFormat::Gray, scale)?,
        DecodeParams::new(handle, OutputFormat::Rgb, scale)?,
    ])
}
