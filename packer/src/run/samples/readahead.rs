//! Takes several samples of a shard at a time and reads their JPEGs ahead, so that the Huffman
//! codes of many are read at once.
//!
//! Problems are kept until the sample's turn and reported in the order of the plan, whatever was
//! read together.

use std::ops::Range;

use tarflume_base::Failure;
use tarflume_base::check::{Content, Fault, ImageSize, LARGE, ReadJpeg, Tray};
use tarflume_formats::plan::{PlannedSample, PlannedSamples};

use super::part::Parts;
use super::refused::{PartProblem, Refused};
use crate::run::samples::sample_part::{PartPlace, SamplePart};

/// Limit on samples taken at a time.
const SAMPLES: usize = 1024;

/// Taken samples, and their JPEGs that were read ahead.
#[derive(Debug, Default)]
pub(in crate::run) struct Ahead {
    samples: Vec<PlannedSample>,
    taken: usize,
    jpegs: Vec<Jpeg>,
    tray: Tray,
}

/// A JPEG that was read ahead.
#[derive(Debug)]
struct Jpeg {
    place: PartPlace,
    room: Range<usize>,
    found: Result<CheckedJpeg, Box<PartProblem>>,
}

#[derive(Debug)]
struct CheckedJpeg {
    dimensions: Option<ImageSize>,
    /// Its number on the tray if its codes were read.
    number: Option<usize>,
}

/// A part that was read ahead and passed its checks.
pub(in crate::run) struct ReadAhead<'a> {
    pub(in crate::run) bytes: &'a [u8],
    pub(in crate::run) dimensions: Option<ImageSize>,
    /// Empty for kinds without entry points.
    pub(in crate::run) entry_points: &'a [u8],
    /// What is irregular in a JPEG.
    pub(in crate::run) irregular: Option<&'a Fault>,
}

impl Ahead {
    /// Takes the next samples, one if no codes are read; returns their number.
    ///
    /// # Errors
    /// Returns an error if the plan is damaged or the machine failed.
    pub(in crate::run) fn take(
        &mut self,
        planned: &mut PlannedSamples<'_>,
        parts: &mut Parts<'_>,
    ) -> Result<usize, Failure> {
        self.taken = 0;
        self.jpegs.clear();
        self.tray.clear();
        let most = if parts.reads_codes() { SAMPLES } else { 1 };
        while self.taken < most && !self.tray.is_full() {
            if self.samples.len() == self.taken {
                self.samples.push(PlannedSample::default());
            }
            if !planned.next_into(&mut self.samples[self.taken])? {
                break;
            }
            if parts.reads_codes() {
                self.read_jpegs(self.taken, parts)?;
            }
            self.taken += 1;
        }
        self.tray.read();
        Ok(self.taken)
    }

    fn read_jpegs(&mut self, number: usize, parts: &mut Parts<'_>) -> Result<(), Failure> {
        let Ahead { samples, jpegs, tray, .. } = self;
        let sample = &samples[number];
        for (n, part) in sample.parts.iter().enumerate() {
            // A large one gains nothing from being read together with others.
            if parts.content(part) != Content::Jpeg || part.size > LARGE {
                continue;
            }
            match parts.known_entry_points(part) {
                Ok(None) | Err(Refused::Problem(_)) => {}
                Ok(Some(_)) => continue,
                Err(Refused::Failure(failure)) => return Err(failure),
            }
            let room = tray.room(part.size as usize);
            let part = SamplePart::new(sample, part);
            let found = match parts.read(part, tray.fill(room.clone())) {
                Ok(found) => Ok(CheckedJpeg {
                    dimensions: found.dimensions,
                    number: found.codes.map(|header| tray.add(room.clone(), header)),
                }),
                Err(Refused::Problem(problem)) => Err(problem),
                Err(Refused::Failure(failure)) => return Err(failure),
            };
            let wrong = found.is_err();
            jpegs.push(Jpeg { place: PartPlace { sample: number, part: n }, room, found });
            if wrong {
                break; // the sample will be refused for this part
            }
        }
        Ok(())
    }

    /// Moves a taken sample out; the caller returns it with `give_back`.
    pub(in crate::run) fn sample(&mut self, number: usize) -> PlannedSample {
        std::mem::take(&mut self.samples[number])
    }

    /// Returns a sample, so that its memory is reused.
    pub(in crate::run) fn give_back(&mut self, number: usize, sample: PlannedSample) {
        self.samples[number] = sample;
    }

    /// Returns a part of a sample if it was read ahead.
    pub(in crate::run) fn part(
        &self,
        place: PartPlace,
        part: SamplePart<'_>,
        parts: &Parts<'_>,
    ) -> Result<Option<ReadAhead<'_>>, Refused> {
        let at = self.jpegs.binary_search_by_key(&place, |jpeg| jpeg.place);
        let Ok(at) = at else { return Ok(None) };
        let Jpeg { room, found, .. } = &self.jpegs[at];
        let looked = found.as_ref().map_err(|problem| Refused::Problem(problem.clone()))?;
        let ReadJpeg { entry_points, irregular } =
            match looked.number.map(|number| self.tray.found(number)) {
                Some(Ok(read)) => read,
                Some(Err(fault)) => return Err(parts.fault(part, fault)),
                None => ReadJpeg { entry_points: &[], irregular: None },
            };
        let bytes = self.tray.bytes(room.clone());
        Ok(Some(ReadAhead { bytes, dimensions: looked.dimensions, entry_points, irregular }))
    }

    /// Returns the tray, to read the codes of one JPEG alone.
    pub(in crate::run) fn tray(&mut self) -> &mut Tray {
        &mut self.tray
    }
}
