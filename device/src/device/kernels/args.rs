//! The host side of the kernels: source, entries, numeric constants, grids, and the parameter list of each entry.
//!
//! Pure: a driver compiles and launches. Addresses are plain numbers here; their owner ensures that they are valid.

use tarflume_image::convert::{Finish, Pictures, PixelElement};
use tarflume_image::resample::check_stride;
use tarflume_image::{ImageSize, Layout};
use tarflume_types::{Error, Result};

use crate::device::kernels::launch::{Argument, Launch};

/// CUDA C++ without includes, for NVRTC: one text of all files, in this order. Explicit intrinsics prevent fused
/// multiply-add where it would change results, so the architecture is the only option needed.
pub(super) const FILES: [&str; 8] = [
    include_str!("convert.cu"),
    include_str!("resample.cu"),
    include_str!("weights.cu"),
    include_str!("separable.cu"),
    include_str!("pointwise.cu"),
    include_str!("geometry.cu"),
    include_str!("changing.cu"),
    include_str!("mixing.cu"),
];

/// Kernels that decode JPEGs, behind the first two of [`FILES`].
pub(super) const JPEG_FILES: [&str; 3] =
    [include_str!("jpeg.cu"), include_str!("huff.cu"), include_str!("pixels.cu")];

/// `(pictures: u8*, out: void*, flips: u8* or null, rows: u64, height: u32, width: u32, channels: u32,
/// layout: u32, element: u32, scale: 4 x f32, shift: 4 x f32)`: 17 parameters.
pub const FINISH: &str = "tarflume_finish";

/// `(heads: u8*, head_stride: u64, store: u8* or null, store_stride: u64, store_rows: u64, out: void*,
/// rows: u64, out_height: u32, out_width: u32, channels: u32, layout: u32, element: u32,
/// scale: 4 x f32, shift: 4 x f32)`: 20 parameters. `heads` is aligned to 16 bytes.
pub const DRAW: &str = "tarflume_draw";

/// `(slab: u8*, out: u8*, numbers: u64[rows]*, rows: u64, row_bytes: u64, slab_rows: u64)`.
pub const GATHER: &str = "tarflume_gather";

/// `(lists: u8*, list_stride: u64, pictures: u8*, picture_stride: u64, out: u8*, out_stride: u64, rows: u64, height: u32,
/// width: u32, channels: u32)`. Lists are aligned to 4 bytes.
pub const CHANGE: &str = "tarflume_change";

/// `(lists: u8*, list_stride: u64, pictures: u8*, picture_stride: u64, out: void*, rows: u64, height: u32, width: u32,
/// channels: u32, layout: u32, element: u32, scale: 4 x f32, shift: 4 x f32)`: 19 parameters.
pub const DELIVER: &str = "tarflume_deliver";

/// The kernels of [`Program::Pictures`](super::program::Program::Pictures).
pub const ENTRIES: [&str; 5] = [FINISH, DRAW, GATHER, CHANGE, DELIVER];

/// Threads of a block, all along x.
pub const BLOCK: u32 = 256;

/// The constant for a layout in the kernel.
pub fn layout_number(layout: Layout) -> u32 {
    match layout {
        Layout::Hwc => 0,
        Layout::Chw => 1,
    }
}

/// The constant for an element type in the kernel.
pub fn element_number(element: PixelElement) -> u32 {
    match element {
        PixelElement::U8 => 0,
        PixelElement::F16 => 1,
        PixelElement::Bf16 => 2,
        PixelElement::F32 => 3,
    }
}

/// Blocks along x and y for `rows` rows of `units` units: pixels of an output picture, or 16 bytes of a gathered row.
/// The kernels accept any grid; this one gives every thread work.
pub fn grid(rows: usize, units: usize) -> (u32, u32) {
    let across = units.div_ceil(BLOCK as usize).clamp(1, 1 << 20);
    (across as u32, rows.clamp(1, 65_535) as u32)
}

/// Rows of an output picture that a block of [`DRAW`] draws. Each block computes the weights of both axes, so it should
/// draw many rows; a batch of 256 pictures of 224 x 224 has 1,024 blocks.
const STRIP: u32 = 64;

/// The grid of [`DRAW`] for `rows` pictures that become `size`.
pub fn draw_grid(rows: usize, size: ImageSize) -> (u32, u32) {
    let (_, down) = grid(rows, 0);
    (size.height.div_ceil(STRIP).clamp(1, 1 << 20), down)
}

/// A launch of [`FINISH`]: converts the `pictures` at address `from` into `out`. `flips` is the address of one byte for
/// each row, if there are any.
pub fn finish_launch(
    finish: &Finish,
    pictures: &Pictures,
    from: u64,
    flips: Option<u64>,
    out: u64,
) -> Launch {
    let size = pictures.size();
    let mut arguments = vec![
        Argument::U64(from),
        Argument::U64(out),
        Argument::U64(flips.unwrap_or(0)),
        Argument::U64(pictures.rows() as u64),
        Argument::U32(size.height),
        Argument::U32(size.width),
    ];
    arguments.extend(output_arguments(finish, pictures.channels()));
    let grid = grid(pictures.rows(), size.pixels() as usize);
    Launch { entry: FINISH, grid, arguments }
}

/// Rows of equal length in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Store {
    /// Address of the first row.
    pub at: u64,
    /// Bytes from the beginning of a row to the next.
    pub stride: u64,
    /// Number of rows.
    pub rows: u64,
}

/// A launch of [`DRAW`]: for each row of `drawn`, one header, the first at `heads` and `head_stride` bytes apart. Draws
/// the box of each header in the size of `drawn`, converts it and writes it to `out`.
///
/// # Errors
/// Returns an error if the address or the stride is not a multiple of 16, or if the stride is shorter than a header.
pub fn draw_launch(
    finish: &Finish,
    heads: u64,
    head_stride: u64,
    store: Option<Store>,
    drawn: &Pictures,
    out: u64,
) -> Result<Launch> {
    check_stride(head_stride)?;
    if !heads.is_multiple_of(16) {
        return Err(Error::usage("row headers on a device must be aligned to 16 bytes"));
    }
    let size = drawn.size();
    let store = store.unwrap_or(Store { at: 0, stride: 0, rows: 0 });
    let rows = drawn.rows() as u64;
    let numbers = [heads, head_stride, store.at, store.stride, store.rows, out, rows];
    let mut arguments: Vec<_> = numbers.map(Argument::U64).into();
    arguments.extend([size.height, size.width].map(Argument::U32));
    arguments.extend(output_arguments(finish, drawn.channels()));
    let grid = draw_grid(drawn.rows(), size);
    Ok(Launch { entry: DRAW, grid, arguments })
}

/// A launch of [`GATHER`]: copies `rows` rows of `row_bytes` bytes to `out`, selected by `numbers` (the address of a
/// u64 for each) from the `slab_rows` rows at `slab`.
pub fn gather_launch(
    slab: u64,
    slab_rows: u64,
    numbers: u64,
    rows: usize,
    row_bytes: usize,
    out: u64,
) -> Launch {
    let arguments = [slab, out, numbers, rows as u64, row_bytes as u64, slab_rows];
    let grid = grid(rows, row_bytes.div_ceil(16));
    Launch { entry: GATHER, grid, arguments: arguments.map(Argument::U64).into() }
}

/// Rows of a batch in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strided {
    /// Address of the first row.
    pub at: u64,
    /// Bytes from the beginning of a row to the next.
    pub stride: u64,
}

/// A launch of [`CHANGE`]: applies the list of each row of `lists` to its picture, which is overwritten, and writes the
/// result to `out`. A block changes one picture.
///
/// # Errors
/// Returns an error if the lists are not aligned to 4 bytes.
pub fn change_launch(
    lists: Strided,
    from: Strided,
    out: Strided,
    pictures: &Pictures,
) -> Result<Launch> {
    check_lists(lists)?;
    let rows = pictures.rows() as u64;
    let numbers = [lists.at, lists.stride, from.at, from.stride, out.at, out.stride, rows];
    let mut arguments: Vec<_> = numbers.map(Argument::U64).into();
    let size = pictures.size();
    arguments.extend([size.height, size.width, pictures.channels() as u32].map(Argument::U32));
    let grid = (pictures.rows().clamp(1, 1 << 20) as u32, 1);
    Ok(Launch { entry: CHANGE, grid, arguments })
}

/// A launch of [`DELIVER`]: converts changed `pictures` at `from`, and mixes their rows as `lists` have it, into `out`.
///
/// # Errors
/// Returns an error if the lists are not aligned to 4 bytes.
pub fn deliver_launch(
    finish: &Finish,
    lists: Strided,
    from: Strided,
    pictures: &Pictures,
    out: u64,
) -> Result<Launch> {
    check_lists(lists)?;
    let rows = pictures.rows() as u64;
    let numbers = [lists.at, lists.stride, from.at, from.stride, out, rows];
    let mut arguments: Vec<_> = numbers.map(Argument::U64).into();
    let size = pictures.size();
    arguments.extend([size.height, size.width].map(Argument::U32));
    arguments.extend(output_arguments(finish, pictures.channels()));
    let grid = grid(pictures.rows(), size.pixels() as usize);
    Ok(Launch { entry: DELIVER, grid, arguments })
}

fn check_lists(lists: Strided) -> Result<()> {
    if lists.at.is_multiple_of(4) && lists.stride.is_multiple_of(4) {
        return Ok(());
    }
    Err(Error::usage("lists of actions on a device must be aligned to 4 bytes"))
}

/// An empty launch of each entry: no rows, at address 0.
pub(super) fn nothing() -> Vec<Launch> {
    let none = [Argument::U64(0); 7];
    let picture = [1, 1, 1].map(Argument::U32);
    let output: Vec<_> = output_arguments(&Finish::bytes(), 1).skip(1).collect();
    let of = |entry, numbers: usize, rest: &[&[Argument]]| {
        let arguments = [&none[..numbers], &rest.concat()].concat();
        Launch { entry, grid: grid(0, 0), arguments }
    };
    vec![
        of(FINISH, 4, &[&picture, &output]),
        of(DRAW, 7, &[&picture, &output]),
        of(GATHER, 6, &[]),
        of(CHANGE, 7, &[&picture]),
        of(DELIVER, 6, &[&picture, &output]),
    ]
}

/// The last parameters of every entry that writes pixels: channels, layout, element, scale, shift.
fn output_arguments(finish: &Finish, channels: usize) -> impl Iterator<Item = Argument> {
    let numbers =
        [channels as u32, layout_number(finish.layout_of()), element_number(finish.element())];
    let (scale, shift) = finish.factors();
    let factors = scale.into_iter().chain(shift).map(Argument::F32);
    numbers.into_iter().map(Argument::U32).chain(factors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stand_in_the_order_of_the_parameters() {
        use Argument::{F32, U32, U64};
        let pictures = Pictures::new(5, ImageSize::new(7, 4), 3).unwrap();
        let finish = Finish::bytes().layout(Layout::Chw);
        let launch = finish_launch(&finish, &pictures, 16, None, 32);
        assert_eq!((launch.entry, launch.grid), (FINISH, (1, 5)));
        let numbers = [U64(16), U64(32), U64(0), U64(5), U32(4), U32(7), U32(3), U32(1), U32(0)];
        assert_eq!(launch.arguments[..9], numbers);
        assert_eq!(launch.arguments[9..], [[F32(1.0); 4], [F32(0.0); 4]].concat());
        let launch = gather_launch(16, 9, 64, 2, 4097, 32);
        assert_eq!((launch.entry, launch.grid), (GATHER, (2, 2)));
        assert_eq!(launch.arguments, [16, 32, 64, 2, 4097, 9].map(U64));
        let store = Store { at: 48, stride: 70, rows: 9 };
        let launch = draw_launch(&finish, 16, 80, Some(store), &pictures, 32).unwrap();
        assert_eq!((launch.entry, launch.grid, launch.arguments.len()), (DRAW, (1, 5), 20));
        assert_eq!(launch.arguments[..7], [16, 80, 48, 70, 9, 32, 5].map(U64));
        assert_eq!(launch.arguments[7..12], [4, 7, 3, 1, 0].map(U32));
        let launch = draw_launch(&finish, 16, 64, None, &pictures, 32).unwrap();
        assert_eq!(launch.arguments[2..5], [0; 3].map(U64));
    }

    #[test]
    fn launches_without_work_have_the_parameters_of_real_launches() {
        fn kinds(launch: &Launch) -> Vec<std::mem::Discriminant<Argument>> {
            launch.arguments.iter().map(std::mem::discriminant).collect()
        }

        let pictures = Pictures::new(5, ImageSize::new(7, 4), 3).unwrap();
        let finish = finish_launch(&Finish::bytes(), &pictures, 16, None, 32);
        let draw = draw_launch(&Finish::bytes(), 16, 64, None, &pictures, 32).unwrap();
        let gather = gather_launch(16, 9, 64, 2, 4097, 32);
        let lists = Strided { at: 16, stride: 64 };
        let change = change_launch(lists, lists, lists, &pictures).unwrap();
        let deliver = deliver_launch(&Finish::bytes(), lists, lists, &pictures, 0).unwrap();
        for (nothing, some) in nothing().iter().zip([finish, draw, gather, change, deliver]) {
            assert_eq!((nothing.entry, nothing.grid), (some.entry, (1, 1)));
            assert_eq!(kinds(nothing), kinds(&some), "{}", some.entry);
        }
        assert_eq!(nothing().len(), ENTRIES.len());
    }

    #[test]
    fn invalid_strides_are_refused() {
        let pictures = Pictures::new(5, ImageSize::new(7, 4), 3).unwrap();
        for (heads, stride) in [(8, 64), (16, 48), (16, 72)] {
            let drawn = draw_launch(&Finish::bytes(), heads, stride, None, &pictures, 0);
            assert!(drawn.is_err(), "{heads} {stride}");
        }
    }

    #[test]
    fn a_grid_is_never_empty_nor_too_large() {
        assert_eq!(grid(256, 224 * 224), (196, 256));
        assert_eq!(grid(0, 0), (1, 1));
        assert_eq!(grid(1_000_000, 1), (1, 65_535));
        assert_eq!(grid(1, usize::MAX), (1 << 20, 1));
        assert_eq!(draw_grid(256, ImageSize::new(224, 224)), (4, 256));
        assert_eq!(draw_grid(0, ImageSize::new(1, 1)), (1, 1));
    }
}
