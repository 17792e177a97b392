//! The keys of a scan, among which repeated ones are looked for.

use std::ops::ControlFlow;

use tarflume_base::collide::Keys;
use tarflume_formats::Result;

use crate::samples::list::{FoundSample, SampleList, Spot};

impl Keys for SampleList {
    fn count(&self) -> u64 {
        self.len()
    }

    fn for_each(&self, visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<()> {
        self.visit(|spot, sample| visit(spot.id(), &sample.key).is_continue());
        Ok(())
    }

    fn key(&self, id: u64) -> Result<Vec<u8>> {
        let mut sample = FoundSample::default();
        self.read(Spot::from_id(id), &mut sample);
        Ok(sample.key)
    }
}
