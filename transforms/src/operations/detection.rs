//! Operations of object detection.

mod fixed_size_crop;
mod iou_crop;
mod zoom_out;

pub use self::fixed_size_crop::FixedSizeCrop;
pub use self::iou_crop::RandomIoUCrop;
pub use self::zoom_out::RandomZoomOut;

#[cfg(test)]
mod tests;
