//! `PictureShape`: the rows of a column as pictures.

/// Pixels have at most so many channels.
pub(crate) const MOST_CHANNELS: usize = 4;

/// How the elements of a row are a picture. With the channels first, its planes are pictures of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PictureShape {
    /// Height and width.
    pub(crate) size: [u32; 2],
    /// Elements of a pixel that lie beside each other.
    pub(crate) channels: usize,
}

impl PictureShape {
    /// Rows of three dimensions are pictures with the channels last if the last dimension is at most 4, else with the
    /// channels first if the first one is; rows of two dimensions have one channel. `None` for others, and for empty ones.
    pub(crate) fn new(shape: &[usize]) -> Option<PictureShape> {
        let [height, width, channels] = match *shape {
            [height, width, channels] if channels <= MOST_CHANNELS => [height, width, channels],
            [channels, height, width] if channels <= MOST_CHANNELS => [height, width, 1],
            [height, width] => [height, width, 1],
            _ => return None,
        };
        let empty = shape.contains(&0);
        let size = [u32::try_from(height).ok()?, u32::try_from(width).ok()?];
        (!empty).then_some(PictureShape { size, channels })
    }
}
