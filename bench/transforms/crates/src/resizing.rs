//! Resizes of fast_image_resize, which keeps its buffers from run to run.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};

use crate::pictures::{Pictures, SIDE, WIDE};
use crate::work::{Competitor, Work};

const NAME: &str = "fast_image_resize 6.1.0";

pub fn competitors(pictures: &Pictures) -> Vec<Competitor> {
    vec![
        Competitor::new("resize-bilinear", NAME, Resize::new(pictures, FilterType::Bilinear)),
        Competitor::new("resize-bicubic", NAME, Resize::new(pictures, FilterType::CatmullRom)),
        Competitor::new("resize-lanczos", NAME, Resize::new(pictures, FilterType::Lanczos3)),
    ]
}

struct Resize {
    resizer: Resizer,
    picture: Vec<u8>,
    options: ResizeOptions,
    out: Vec<u8>,
}

impl Resize {
    fn new(pictures: &Pictures, filter: FilterType) -> Resize {
        Resize {
            resizer: Resizer::new(),
            picture: pictures.wide.clone(),
            options: ResizeOptions::new().resize_alg(ResizeAlg::Convolution(filter)),
            out: vec![0; pictures.square.len()],
        }
    }
}

impl Work for Resize {
    fn run(&mut self) {
        let [width, height] = WIDE;
        let source =
            TypedImageRef::<U8x3>::from_buffer(width, height, &self.picture).expect("pixels");
        let mut out = TypedImage::<U8x3>::from_buffer(SIDE, SIDE, &mut self.out).expect("pixels");
        self.resizer.resize_typed(&source, &mut out, &self.options).expect("sizes above 0");
    }

    fn result(&mut self) -> Vec<u8> {
        self.out.clone()
    }
}
