//! `Mix`: the settings of MixUp and CutMix, with the names of timm's `Mixup`.

use serde::{Deserialize, Serialize};
use tarflume_order::words;
use tarflume_types::{Error, Result};

/// Which rows have a draw of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MixMode {
    /// None: all rows of a batch are mixed in the same way.
    #[default]
    Batch,
    /// Two rows that are mixed with each other have one draw.
    Pair,
    /// Each row.
    Elem,
}

words!(MixMode, "mode", { Batch => "batch", Pair => "pair", Elem => "elem" });

/// The row that a row is mixed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Partner {
    /// The row before it; of the first row, the last one. As `torchvision.transforms.v2`.
    Previous,
    /// The row with the same number, counted from the end. As timm. Of an odd number of rows, that in the middle stays
    /// as it is.
    Mirrored,
}

words!(Partner, "partner", { Previous => "previous", Mirrored => "mirrored" });

/// What a batch has for the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MixTargets {
    /// One column of the classes' weights: f32, `[rows, num_classes]`.
    #[default]
    Soft,
    /// Three columns: the label of the row, the label of its partner, and the weight of the row.
    Pair,
}

words!(MixTargets, "targets", { Soft => "soft", Pair => "pair" });

/// MixUp and CutMix of batches. With both, each draw takes one of them.
///
/// Serde has the names of the fields, which are those of timm where timm has them.
///
/// ```
/// use tarflume_transforms::Mix;
///
/// let deit = Mix::new("image", "label").mixup(0.8).cutmix(1.0).num_classes(1000);
/// let deit = deit.label_smoothing(0.1);
/// # deit.validate().unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mix {
    /// The column of pictures.
    pub image: String,
    /// The column of class numbers.
    pub label: String,
    /// MixUp, with a weight from Beta(alpha, alpha).
    pub mixup_alpha: Option<f64>,
    /// CutMix, with an area from Beta(alpha, alpha).
    pub cutmix_alpha: Option<f64>,
    /// The probability that a draw mixes at all; 1 by default.
    pub prob: f64,
    /// With both, the probability of CutMix; 0.5 by default.
    pub switch_prob: f64,
    /// Which rows have a draw of their own; by default the batch has one.
    pub mode: MixMode,
    /// The row that a row is mixed with; by default [`Partner::Previous`], and [`Partner::Mirrored`] in the other modes.
    pub partner: Option<Partner>,
    /// The number of classes, which soft targets need.
    pub num_classes: Option<usize>,
    /// The weight that soft targets give to all classes together, 0 to 1; 0 by default.
    pub label_smoothing: f64,
    /// What a batch has for the loss.
    pub targets: MixTargets,
    /// The name of the column of soft targets: `target` by default.
    pub target: String,
}

impl Default for Mix {
    fn default() -> Mix {
        Mix {
            image: "image".into(),
            label: "label".into(),
            mixup_alpha: None,
            cutmix_alpha: None,
            prob: 1.0,
            switch_prob: 0.5,
            mode: MixMode::Batch,
            partner: None,
            num_classes: None,
            label_smoothing: 0.0,
            targets: MixTargets::Soft,
            target: "target".into(),
        }
    }
}

impl Mix {
    /// Mixes the pictures in column `image`, whose classes are in column `label`.
    #[must_use]
    pub fn new(image: impl Into<String>, label: impl Into<String>) -> Mix {
        Mix { image: image.into(), label: label.into(), ..Mix::default() }
    }

    /// Turns MixUp on. torchvision's references take 0.2, DeiT takes 0.8.
    #[must_use]
    pub fn mixup(self, alpha: f64) -> Mix {
        Mix { mixup_alpha: Some(alpha), ..self }
    }

    /// Turns CutMix on. torchvision's references and DeiT take 1.
    #[must_use]
    pub fn cutmix(self, alpha: f64) -> Mix {
        Mix { cutmix_alpha: Some(alpha), ..self }
    }

    /// Sets the probability that a draw mixes at all.
    #[must_use]
    pub fn prob(self, prob: f64) -> Mix {
        Mix { prob, ..self }
    }

    /// Sets the probability of CutMix where both are on.
    #[must_use]
    pub fn switch_prob(self, switch_prob: f64) -> Mix {
        Mix { switch_prob, ..self }
    }

    /// Sets which rows have a draw of their own.
    #[must_use]
    pub fn mode(self, mode: MixMode) -> Mix {
        Mix { mode, ..self }
    }

    /// Sets the row that a row is mixed with.
    #[must_use]
    pub fn partner(self, partner: Partner) -> Mix {
        Mix { partner: Some(partner), ..self }
    }

    /// Sets the number of classes.
    #[must_use]
    pub fn num_classes(self, classes: usize) -> Mix {
        Mix { num_classes: Some(classes), ..self }
    }

    /// Sets the weight that soft targets give to all classes together.
    #[must_use]
    pub fn label_smoothing(self, label_smoothing: f64) -> Mix {
        Mix { label_smoothing, ..self }
    }

    /// Sets the name of the column of soft targets.
    #[must_use]
    pub fn target(self, name: impl Into<String>) -> Mix {
        Mix { target: name.into(), ..self }
    }

    /// Gives batches both labels and the weight instead of soft targets: the columns `label_a` and `label_b`, named
    /// after the column of labels, and `lam`.
    #[must_use]
    pub fn label_pairs(self) -> Mix {
        Mix { targets: MixTargets::Pair, ..self }
    }

    /// The row that a row is mixed with.
    pub(crate) fn partners(&self) -> Partner {
        self.partner.unwrap_or(match self.mode {
            MixMode::Batch => Partner::Previous,
            MixMode::Pair | MixMode::Elem => Partner::Mirrored,
        })
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Returns a usage error that names the setting, its value and what is valid.
    pub fn validate(&self) -> Result<()> {
        if self.mixup_alpha.is_none() && self.cutmix_alpha.is_none() {
            return Err(usage("it has neither a mixup alpha nor a cutmix alpha: pass one or both"));
        }
        for (name, alpha) in [("mixup", self.mixup_alpha), ("cutmix", self.cutmix_alpha)] {
            if let Some(alpha) = alpha
                && !(alpha.is_finite() && alpha > 0.0)
            {
                return Err(usage(format!(
                    "its {name} alpha is {alpha}: an alpha is above 0, and none turns {name} off"
                )));
            }
        }
        check_share("prob", self.prob)?;
        check_share("switch_prob", self.switch_prob)?;
        check_share("label_smoothing", self.label_smoothing)?;
        if self.mode == MixMode::Pair && self.partners() == Partner::Previous {
            return Err(usage(
                "mode pair needs the partner mirrored: a row and the row before it are no pairs",
            ));
        }
        self.check_targets()
    }

    fn check_targets(&self) -> Result<()> {
        match (self.targets, self.num_classes) {
            (MixTargets::Soft, None) => {
                Err(usage("soft targets need num_classes, such as 1000 for ImageNet"))
            }
            (MixTargets::Soft, Some(0)) => {
                Err(usage("its num_classes is 0: pass the number of classes"))
            }
            (MixTargets::Pair, _) if self.label_smoothing > 0.0 => Err(usage(format!(
                "its label_smoothing is {}, and pairs of labels are not smoothed: pass it to the loss",
                self.label_smoothing
            ))),
            _ => Ok(()),
        }
    }
}

fn check_share(name: &str, value: f64) -> Result<()> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(usage(format!("its {name} is {value}, and must be 0 to 1")))
}

fn usage(what: impl Into<String>) -> Error {
    Error::usage(format!("Mix: {}", what.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_settings_name_the_setting_and_what_is_valid() {
        let soft = Mix::new("image", "label").mixup(0.2).num_classes(10);
        soft.validate().unwrap();
        let pairs = Mix::new("image", "label").cutmix(1.0).label_pairs();
        pairs.validate().unwrap();
        let neither = Mix { mixup_alpha: None, ..soft.clone() };
        for (mix, words) in [
            (neither, "pass one or both"),
            (soft.clone().mixup(0.0), "mixup alpha is 0: an alpha is above 0"),
            (soft.clone().cutmix(f64::NAN), "cutmix alpha is NaN"),
            (soft.clone().prob(1.5), "its prob is 1.5, and must be 0 to 1"),
            (soft.clone().switch_prob(-0.1), "its switch_prob is -0.1"),
            (soft.clone().label_smoothing(2.0), "its label_smoothing is 2"),
            (soft.clone().mode(MixMode::Pair).partner(Partner::Previous), "mirrored"),
            (soft.clone().num_classes(0), "pass the number of classes"),
            (Mix { num_classes: None, ..soft }, "soft targets need num_classes"),
            (pairs.label_smoothing(0.1), "pass it to the loss"),
        ] {
            let text = mix.validate().unwrap_err().to_string();
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn settings_have_the_names_of_timm() {
        let json = r#"{"mixup_alpha": 0.8, "cutmix_alpha": 1.0, "mode": "elem", "num_classes": 1000,
                       "label_smoothing": 0.1, "partner": "mirrored", "targets": "soft"}"#;
        let mix: Mix = serde_json::from_str(json).unwrap();
        let same = Mix::default().mixup(0.8).cutmix(1.0).mode(MixMode::Elem).num_classes(1000);
        assert_eq!(mix, same.label_smoothing(0.1).partner(Partner::Mirrored));
        let again: Mix = serde_json::from_str(&serde_json::to_string(&mix).unwrap()).unwrap();
        assert_eq!(again, mix);
        assert!(serde_json::from_str::<Mix>(r#"{"mixup": 0.8}"#).is_err());
    }
}
