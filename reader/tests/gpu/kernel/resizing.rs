//! The filter of crops compared with fast_image_resize, which the host decoder uses.

use fast_image_resize::images::Image as Pixels;
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use tarflume::ImageSize;
use tarflume::internal::convert::{Finish, Pictures};

use crate::gpu::kernel::runner::{Dice, any_box};

/// What others call bilinear with antialiasing. fast_image_resize has weights of 16 bits and rounds
/// to bytes between the directions, so it may be off by one.
#[test]
fn the_crop_is_the_filter_that_decoding_uses() {
    let mut dice = Dice(4);
    let size = ImageSize::new(97, 83);
    for out_size in [ImageSize::new(32, 32), ImageSize::new(120, 100), ImageSize::new(97, 20)] {
        let pictures = Pictures::new(6, size, 3).unwrap();
        let from = dice.bytes(pictures.bytes());
        let boxes: Vec<_> = (0..6).map(|_| any_box(&mut dice, size, true)).collect();
        let mut ours = vec![0; pictures.resized(out_size).unwrap().bytes()];
        let finish = Finish::bytes();
        finish.crop_on_host(&pictures, &from, &boxes, None, out_size, &mut ours).unwrap();
        let row = pictures.row_bytes();
        let out_row = out_size.pixels() as usize * 3;
        // Boxes of whole pixels only: others reach for pixels outside there.
        for n in 0..6 {
            let [left, top, width, height] = boxes[n].numbers().map(|number| number as usize);
            let lines = (top..top + height)
                .map(|y| &from[n * row + (y * size.width as usize + left) * 3..][..width * 3]);
            let cut = lines.flatten().copied().collect();
            let cut = Pixels::from_vec_u8(width as u32, height as u32, cut, PixelType::U8x3);
            let mut theirs = Pixels::new(out_size.width, out_size.height, PixelType::U8x3);
            let options =
                ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear));
            Resizer::new().resize(&cut.unwrap(), &mut theirs, &options).unwrap();
            let ours = &ours[n * out_row..][..out_row];
            let furthest = ours.iter().zip(theirs.buffer()).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(furthest <= Some(1), "{:?} to {out_size}: {furthest:?}", boxes[n]);
        }
    }
}
