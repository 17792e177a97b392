//! The turn of the hue: to hue, saturation and value, and back.

use crate::kernels::color::bytes::byte;
use crate::kernels::color::planes::{BLOCK, Planes};
use crate::kernels::sets::wide;

wide! {
    /// Adds `turn` to the hue of each pixel of three channels; 1 is a whole turn.
    pub(crate) fn turn_hue(pixels: &mut [u8], turn: f32) {
        let mut planes = Planes::black();
        for block in pixels.chunks_mut(3 * BLOCK) {
            planes.split(block);
            turn_block(&mut planes, turn);
            planes.join(block);
        }
    }
}

/// The steps are those of torchvision, each rounded to f32. No branch: each lane computes all.
#[inline(always)]
fn turn_block(planes: &mut Planes, turn: f32) {
    let Planes { red, green, blue } = planes;
    for at in 0..BLOCK {
        let color = Color { red: part(red[at]), green: part(green[at]), blue: part(blue[at]) };
        let turned = color.turned(turn);
        red[at] = byte(turned.red * 255.999);
        green[at] = byte(turned.green * 255.999);
        blue[at] = byte(turned.blue * 255.999);
    }
}

#[inline(always)]
fn part(byte: u8) -> f32 {
    f32::from(byte) * (1.0 / 255.0)
}

/// Each 0 to 1.
#[derive(Debug, Clone, Copy)]
struct Color {
    red: f32,
    green: f32,
    blue: f32,
}

impl Color {
    #[inline(always)]
    fn turned(self, turn: f32) -> Color {
        let most = larger(larger(self.red, self.green), self.blue);
        let least = smaller(smaller(self.red, self.green), self.blue);
        let range = most - least;
        let is_gray = range == 0.0;
        let saturation = range / if is_gray { 1.0 } else { most };
        let hue = wrapped(self.hue(most, if is_gray { 1.0 } else { range }) + turn);
        Color::of(hue, saturation, most)
    }

    /// The hue in turns, 0 <= hue < 1.
    #[inline(always)]
    fn hue(self, most: f32, range: f32) -> f32 {
        let Color { red, green, blue } = self;
        let is_red = most == red;
        let is_green = most == green;
        // In the three thirds of a turn: blue - green, red - blue + 2, green - red + 4, of the
        // distances from the largest.
        let plus = if is_green { red } else { green };
        let minus = if is_green { blue } else { red };
        let offset = if is_green { 2.0 } else { 4.0 };
        let plus = if is_red { blue } else { plus };
        let minus = if is_red { green } else { minus };
        let offset = if is_red { 0.0 } else { offset };
        let sixths = ((most - plus) / range + offset) - (most - minus) / range;
        let turns = sixths * (1.0 / 6.0) + 1.0;
        turns - if turns >= 1.0 { 1.0 } else { 0.0 }
    }

    /// The color of a hue in 0 <= hue <= 1.
    #[inline(always)]
    fn of(hue: f32, saturation: f32, value: f32) -> Color {
        let sixths = hue * 6.0;
        let sector = f32::from(byte(sixths));
        let part = saturation * (sixths - sector);
        let rest = 1.0 - saturation;
        let low = unit(rest * value);
        let falling = unit((1.0 - part) * value);
        let rising = unit((part + rest) * value);
        // A hue that rounding made a whole turn is in the first sector.
        let sector = if sector == 6.0 { 0.0 } else { sector };
        Color {
            red: in_sector(sector, value, falling, low, low, rising, value),
            green: in_sector(sector, rising, value, value, falling, low, low),
            blue: in_sector(sector, low, low, rising, value, value, falling),
        }
    }
}

/// A hue in 0 <= hue <= 1 from one that is at most one turn away.
#[inline(always)]
fn wrapped(hue: f32) -> f32 {
    let below = if hue >= 1.0 { hue - 1.0 } else { hue };
    if below < 0.0 { below + 1.0 } else { below }
}

/// The value of the sector, of those for the sectors 0 to 5.
#[inline(always)]
fn in_sector(sector: f32, at_0: f32, at_1: f32, at_2: f32, at_3: f32, at_4: f32, at_5: f32) -> f32 {
    let value = if sector == 0.0 { at_0 } else { at_5 };
    let value = if sector == 1.0 { at_1 } else { value };
    let value = if sector == 2.0 { at_2 } else { value };
    let value = if sector == 3.0 { at_3 } else { value };
    if sector == 4.0 { at_4 } else { value }
}

/// Comparisons instead of `f32::max`: one instruction, as no value is NaN.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline(always)]
fn unit(value: f32) -> f32 {
    smaller(larger(value, 0.0), 1.0)
}
