//! What the settings of groups of views must be.

use tarflume_image::Extent;
use tarflume_types::{Error, Result};

use super::groups::{GroupKind, MOST_VIEWS, ViewGroup, ViewGroups};
use crate::decode::Decode;
use crate::decode::hybrid::pictures::TransformsOn;
use crate::decode::pictures::image::settings::Image;

impl ViewGroups {
    /// Checks group `at`, and that all groups decode the same picture.
    pub(super) fn check(&self, at: usize) -> Result<()> {
        let group = &self.groups[at];
        group.check()?;
        let first = &self.groups[0];
        for other in &self.groups {
            if let Some(setting) = difference(first.image(), other.image()) {
                return Err(Error::usage(format!(
                    "all views of a sample are made from one decoded picture, and the groups '{}' and '{}' differ in \
                     {setting}: give both groups the same, or use an Image column in place of one group",
                    first.name, other.name
                )));
            }
        }
        Ok(())
    }
}

impl ViewGroup {
    fn check(&self) -> Result<()> {
        if !(1..=MOST_VIEWS).contains(&self.count) {
            return Err(Error::usage(format!(
                "a group has 1 to {MOST_VIEWS} views, and this one has {}",
                self.count
            )));
        }
        let image = self.image();
        if image.share.is_some() || image.decoded.is_some() {
            return Err(Error::usage(
                "the host decodes the picture of all views and resizes each of them: leave device_decoder and \
                 resize_on_device out",
            ));
        }
        if image.transforms_on != TransformsOn::Host {
            return Err(Error::usage(
                "the host changes the pictures of all views: use transforms_on=\"host\" (`TransformsOn::Host`)",
            ));
        }
        if !matches!(image.transform.extent(), Extent::Fixed(_)) {
            return Err(Error::usage(
                "all views of a group have one size, and this recipe makes pictures of different sizes: use a crop of one \
                 size, such as RandomResizedCrop(224), or put one behind it",
            ));
        }
        match self.kind {
            GroupKind::Views { given_stream: 0 } => {}
            GroupKind::Views { .. } => {
                return Err(Error::usage(
                    "Views sets the stream of each view (Views::stream returns it): leave out Image::stream",
                ));
            }
            GroupKind::Crops if self.count > 1 => {}
            GroupKind::Crops => {
                return Err(Error::usage(
                    "Views::crops takes a recipe that ends with FiveCrop or TenCrop: use Views::group, or add one of them",
                ));
            }
        }
        image.validate()
    }
}

/// The setting that concerns the decoded picture in which two groups differ.
fn difference(one: &Image, other: &Image) -> Option<&'static str> {
    let settings = [
        ("the part", one.ext != other.ext),
        ("channels", one.channels != other.channels),
        ("orientation", one.orientation != other.orientation),
        ("the limit of pixels (`most_pixels`)", one.most_pixels != other.most_pixels),
        ("what is done about damage (`damaged`)", one.keep_damaged != other.keep_damaged),
        ("the fallback", one.fallback.is_some() != other.fallback.is_some()),
    ];
    settings.into_iter().find(|(_, differs)| *differs).map(|(setting, _)| setting)
}
