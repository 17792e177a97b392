//! Sends the same requests to the crate and to libjpeg-turbo and collects the differences.

use std::fmt::Debug;

use tarflume_jpeg::{Color, Header, Scale, Use};

use crate::harness::decoder::{Ask, TestDecoder};
use crate::harness::picture::Picture;
use crate::harness::turbo::{self, Decoded, Recipe, Turbo};
use crate::whole::inks::from_inks;

/// Limit on the reported differences.
const TOLD: usize = 8;

/// libjpeg-turbo's result for a JPEG, damaged or not; and Pillow's for that, if it has four
/// components.
pub(crate) fn right(
    turbo: &mut Turbo,
    jpeg: &[u8],
    scale: Scale,
    color: Color,
) -> Result<Decoded, String> {
    let decoded = pixels(turbo, jpeg, scale, color)?;
    if decoded.refused { Err(decoded.warning) } else { Ok(decoded) }
}

/// The same with the pixels of a picture that libjpeg-turbo gives up after the last one.
pub(crate) fn pixels(
    turbo: &mut Turbo,
    jpeg: &[u8],
    scale: Scale,
    color: Color,
) -> Result<Decoded, String> {
    let four = Header::parse(jpeg).is_ok_and(|header| header.channels() == 4);
    let stored = match color {
        Color::Rgb => turbo::Color::Rgb,
        Color::Gray => turbo::Color::Gray,
    };
    let stored = if four { turbo::Color::Inks } else { stored };
    let decoded = turbo.decode(jpeg, 1 << scale as u32, stored)?;
    let picture = if four { from_inks(&decoded.picture, color) } else { decoded.picture };
    Ok(Decoded { picture, ..decoded })
}

/// Both decoders, and the differences so far.
pub(crate) struct Comparison {
    pub(crate) turbo: Turbo,
    pub(crate) ours: TestDecoder,
    compared: usize,
    found: Vec<String>,
    more: usize,
}

impl Comparison {
    pub(crate) fn new() -> Comparison {
        Comparison {
            turbo: Turbo::new(),
            ours: TestDecoder::default(),
            compared: 0,
            found: Vec::new(),
            more: 0,
        }
    }

    pub(crate) fn encode(&mut self, picture: &Picture, recipe: &Recipe) -> Vec<u8> {
        self.turbo.encode(picture, recipe)
    }

    /// libjpeg-turbo's result for a good JPEG; and Pillow's for that, if it has four components.
    pub(crate) fn right(&mut self, jpeg: &[u8], scale: Scale, color: Color) -> Picture {
        let decoded = right(&mut self.turbo, jpeg, scale, color).unwrap();
        assert_eq!(decoded.warning, "", "the oracle finds no fault with its own JPEGs");
        decoded.picture
    }

    /// The whole picture must equal libjpeg-turbo's, byte for byte.
    pub(crate) fn whole(&mut self, jpeg: &[u8], scale: Scale, color: Color, what: &dyn Debug) {
        let right = self.right(jpeg, scale, color);
        self.ask(jpeg, Ask { scale, color, ..Ask::default() }, &right, what);
    }

    /// At every scale in color, and in gray as stored.
    pub(crate) fn scales(&mut self, jpeg: &[u8], what: &dyn Debug) {
        for scale in Scale::ALL {
            self.whole(jpeg, scale, Color::Rgb, what);
        }
        self.whole(jpeg, Scale::Full, Color::Gray, what);
    }

    /// The requested part must equal this picture, or this window of it.
    pub(crate) fn ask(&mut self, jpeg: &[u8], ask: Ask<'_>, whole: &Picture, what: &dyn Debug) {
        self.compared += 1;
        let used = if ask.points.is_some() { Use::Used } else { Use::Absent };
        let difference = match (self.ours.report(jpeg, ask), ask.region) {
            (Err(error), _) => Some(error.to_string()),
            (Ok((_, report)), _) if report.entry_points != used => Some(format!("{report:?}")),
            (Ok((picture, _)), None) => picture.difference(whole),
            (Ok((picture, _)), Some(r)) => {
                let [left, top, width, height] =
                    [r.left, r.top, r.width, r.height].map(|n| n as usize);
                picture.difference(&whole.crop(left, top, width, height))
            }
        };
        let Some(difference) = difference else { return };
        let points = if ask.points.is_some() { ", entry points" } else { "" };
        let Ask { scale, color, region, .. } = ask;
        let region = region.map(|r| format!(" {r}")).unwrap_or_default();
        self.tell(format!("{scale:?} {color:?}{region}{points} of {what:?}: {difference}"));
    }

    /// Records a difference.
    pub(crate) fn tell(&mut self, found: String) {
        if self.found.len() < TOLD {
            self.found.push(found);
        } else {
            self.more += 1;
        }
    }

    /// Ends a test: panics with the differences.
    pub(crate) fn verdict(self) {
        assert!(self.compared > 0, "nothing was compared");
        assert!(
            self.found.is_empty(),
            "of {} pictures {} differ from libjpeg-turbo's:\n{}",
            self.compared,
            self.found.len() + self.more,
            self.found.join("\n")
        );
    }
}
