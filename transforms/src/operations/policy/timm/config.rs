//! `Plan`: what a configuration string of timm says.

use tarflume_types::{Error, Result};

use super::super::aug_mix::mixture;
use super::ops::{Kind, LEVELS, Noise, Op};
use super::policies::{
    AUTO_3A, MIX, ORIGINAL, RAND, RAND_3A, RAND_3A_WEIGHTED, RAND_INCREASING, RAND_WEIGHTED, V0,
    Weighted, research,
};
use crate::operations::policy::limits::MOST;

/// The most changes among which a policy chooses by weights.
pub(super) const MOST_WEIGHTS: usize = 15;

/// A policy, ready to be drawn from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plan {
    /// Several changes, each of all; with weights, each at most once.
    Rand { ops: Vec<Op>, layers: u32, weights: Option<[f64; MOST_WEIGHTS]> },
    /// One of the groups of so many steps.
    Auto { ops: Vec<Op>, steps: usize },
    /// Chains of changes.
    Mix { ops: Vec<Op>, width: u32, depth: i32, alpha: f64 },
}

impl Plan {
    /// # Errors
    /// Returns a usage error for a text that is none of timm's, or that timm would ignore in part.
    pub(super) fn parse(text: &str) -> Result<Plan> {
        let mut sections = text.split('-');
        match sections.next() {
            Some("rand") => rand(text, sections),
            Some("augmix") => mix(text, sections),
            Some("original") => auto(text, ORIGINAL.concat(), 2, sections),
            Some("originalr") => auto(text, research(&ORIGINAL), 2, sections),
            Some("v0") => auto(text, V0.concat(), 2, sections),
            Some("v0r") => auto(text, research(&V0), 2, sections),
            Some("3a") => auto(text, AUTO_3A.to_vec(), 1, sections),
            _ => Err(Error::usage(format!(
                "TimmAugment: config is '{text}'; it must begin with rand, augmix, original, originalr, v0, v0r or 3a"
            ))),
        }
    }
}

/// One section of a configuration: letters and a number.
#[derive(Debug, Clone, Copy)]
struct Section<'a> {
    /// The whole configuration.
    config: &'a str,
    key: &'a str,
    number: &'a str,
}

impl<'a> Section<'a> {
    fn of(config: &'a str, text: &'a str) -> Section<'a> {
        let at = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
        let (key, number) = text.split_at(at);
        Section { config, key, number }
    }

    /// The error of a section that the policy has not.
    fn unknown(self, known: &str) -> Error {
        let Section { config, key, number } = self;
        Error::usage(format!(
            "TimmAugment: config is '{config}', whose section '{key}{number}' is not known; its sections are {known}"
        ))
    }

    fn number(self) -> Result<f64> {
        let number: Option<f64> = self.number.parse().ok();
        number.filter(|number| number.is_finite()).ok_or_else(|| self.no("a number"))
    }

    fn whole(self) -> Result<u32> {
        self.number.parse().map_err(|_| self.no("a whole number"))
    }

    fn no(self, what: &str) -> Error {
        let Section { config, key, number } = self;
        Error::usage(format!(
            "TimmAugment: config is '{config}', whose section '{key}{number}' has not {what} after '{key}'"
        ))
    }
}

fn rand<'a>(config: &'a str, sections: impl Iterator<Item = &'a str>) -> Result<Plan> {
    let mut level = LEVELS;
    let mut layers = 2;
    let mut probability = 0.5;
    let mut noise = None;
    let mut most = None;
    let mut increasing = false;
    let mut choices = None;
    for text in sections {
        if let Some(name) = text.strip_prefix('t') {
            choices.get_or_insert(name);
            continue;
        }
        let section = Section::of(config, text);
        match section.key {
            "m" => level = f64::from(section.whole()?),
            "n" => layers = section.whole()?,
            "p" => probability = section.number()?,
            // Timm keeps the first of these two.
            "mstd" => noise = noise.or(Some(noise_of(section.number()?, 100.0))),
            "mmax" => most = most.or(Some(section.whole()?)),
            "inc" => increasing = section.whole()? != 0,
            _ => return Err(section.unknown("m, n, p, mstd, mmax, inc and t, each with a number")),
        }
    }
    if !(0.0..=1.0).contains(&probability) {
        let text =
            format!("TimmAugment: p is {probability} in '{config}'; a probability is 0 to 1");
        return Err(Error::usage(text));
    }
    // Timm takes a limit of 0 for none.
    let most = most.filter(|&most| most > 0).map_or(LEVELS, f64::from);
    let noise = noise.unwrap_or(Noise::None);
    let Choices { kinds, weights } = Choices::of(choices, increasing);
    let limit = if weights.is_some() { kinds.len() as u32 } else { MOST };
    if layers > limit {
        let text = format!("TimmAugment: n is {layers} in '{config}'; it must be 0 to {limit}");
        return Err(Error::usage(text));
    }
    let op = |kind| Op { kind, probability, level, noise, most };
    Ok(Plan::Rand { ops: kinds.into_iter().map(op).collect(), layers, weights })
}

/// The changes among which `rand` chooses.
struct Choices {
    kinds: Vec<Kind>,
    weights: Option<[f64; MOST_WEIGHTS]>,
}

impl Choices {
    /// Those of the section `t`. As in timm, a name that is not known is as none.
    fn of(name: Option<&str>, increasing: bool) -> Choices {
        match name {
            Some("weights") => Choices::weighted(&RAND_WEIGHTED),
            Some("3aw") => Choices::weighted(&RAND_3A_WEIGHTED),
            Some("3a") => Choices::equal(&RAND_3A),
            _ if increasing => Choices::equal(&RAND_INCREASING),
            _ => Choices::equal(&RAND),
        }
    }

    fn equal(kinds: &[Kind]) -> Choices {
        Choices { kinds: kinds.to_vec(), weights: None }
    }

    fn weighted(choices: &[Weighted]) -> Choices {
        let mut weights = [0.0; MOST_WEIGHTS];
        for (weight, choice) in weights.iter_mut().zip(choices) {
            *weight = choice.weight;
        }
        let kinds = choices.iter().map(|choice| choice.kind).collect();
        Choices { kinds, weights: Some(weights) }
    }
}

fn auto<'a>(
    config: &'a str,
    mut ops: Vec<Op>,
    steps: usize,
    sections: impl Iterator<Item = &'a str>,
) -> Result<Plan> {
    let mut noise = None;
    for text in sections {
        let section = Section::of(config, text);
        match section.key {
            "mstd" => noise = noise.or(Some(noise_of(section.number()?, f64::INFINITY))),
            _ => return Err(section.unknown("mstd with a number")),
        }
    }
    for op in &mut ops {
        op.noise = noise.unwrap_or(Noise::None);
    }
    Ok(Plan::Auto { ops, steps })
}

fn mix<'a>(config: &'a str, sections: impl Iterator<Item = &'a str>) -> Result<Plan> {
    let mut level = 3.0;
    let mut width = 3;
    let mut depth = -1;
    let mut alpha = 1.0;
    let mut noise = None;
    for text in sections {
        let section = Section::of(config, text);
        match section.key {
            "m" => level = f64::from(section.whole()?),
            "w" => width = section.whole()?,
            "d" => depth = i32::try_from(section.whole()?).unwrap_or(i32::MAX),
            "a" => alpha = section.number()?,
            // Both ways to blend have the same weights.
            "b" => drop(section.whole()?),
            "mstd" => noise = noise.or(Some(noise_of(section.number()?, f64::INFINITY))),
            _ => return Err(section.unknown("m, w, d, a, b and mstd, each with a number")),
        }
    }
    mixture("TimmAugment", width, depth, alpha)?;
    let noise = noise.unwrap_or(Noise::Uniform);
    let op = |kind: Kind| Op { kind, probability: 1.0, level, noise, most: LEVELS };
    Ok(Plan::Mix { ops: MIX.map(op).to_vec(), width, depth, alpha })
}

/// The noise of `mstd`: uniform above the limit.
fn noise_of(deviation: f64, limit: f64) -> Noise {
    if deviation > limit {
        Noise::Uniform
    } else if deviation > 0.0 {
        Noise::Normal(deviation)
    } else {
        Noise::None
    }
}
