//! `PictureCell`: the shape of the picture in a row, written by one thread and read by others after sealing.
//!
//! Relaxed atomics are sufficient: sealing orders the writes before the reads.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use tarflume_types::PictureShape;

/// Height, width, channels and layout: 0 no picture, 1 channels last, 2 channels first.
#[derive(Debug, Default)]
pub(crate) struct PictureCell([AtomicU32; 4]);

impl PictureCell {
    pub(crate) fn set(&self, shape: Option<PictureShape>) {
        let [height, width, channels, order] = &self.0;
        let Some(shape) = shape else { return order.store(0, Relaxed) };
        height.store(shape.height, Relaxed);
        width.store(shape.width, Relaxed);
        channels.store(shape.channels, Relaxed);
        order.store(1 + u32::from(shape.channels_first), Relaxed);
    }

    pub(crate) fn get(&self) -> Option<PictureShape> {
        let [height, width, channels, order] = self.0.each_ref().map(|number| number.load(Relaxed));
        let channels_first = order == 2;
        (order > 0).then_some(PictureShape { height, width, channels, channels_first })
    }
}
