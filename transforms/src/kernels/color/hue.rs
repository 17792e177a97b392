//! The turn of the hue: to hue, saturation and value, and back.

use crate::kernels::color::bytes::whole;
use crate::kernels::color::planes::{BLOCK, Planes};
use crate::kernels::sets::{Set, wide};

/// Adds `turn` to the hue of each pixel of three channels; 1 is a whole turn.
pub(crate) fn turn_hue(set: Set, pixels: &mut [u8], turn: f32) {
    // Without the instruction, `mul_add` is a call.
    if set >= Set::Avx2 { fused(set, pixels, turn) } else { divided(set, pixels, turn) }
}

wide! {
    fn fused(pixels: &mut [u8], turn: f32) {
        turn_pixels::<true>(pixels, turn);
    }
}

wide! {
    fn divided(pixels: &mut [u8], turn: f32) {
        turn_pixels::<false>(pixels, turn);
    }
}

#[inline(always)]
fn turn_pixels<const FUSED: bool>(pixels: &mut [u8], turn: f32) {
    let mut planes = Planes::black();
    for block in pixels.chunks_mut(3 * BLOCK) {
        planes.split(block);
        turn_block::<FUSED>(&mut planes, turn);
        planes.join(block);
    }
}

/// The steps are those of torchvision, each rounded to f32. No branch: each lane computes all.
#[inline(always)]
fn turn_block<const FUSED: bool>(planes: &mut Planes, turn: f32) {
    let Planes { red, green, blue } = planes;
    for at in 0..BLOCK {
        let color = Color { red: part(red[at]), green: part(green[at]), blue: part(blue[at]) };
        let turned = color.turned::<FUSED>(turn);
        red[at] = turned[0] as u8;
        green[at] = turned[1] as u8;
        blue[at] = turned[2] as u8;
    }
}

/// A part of 1 as a byte. A part outside 0 to 1 becomes the nearest byte.
#[inline(always)]
fn byte_of(part: f32) -> i32 {
    whole(part * 255.999)
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
    fn turned<const FUSED: bool>(self, turn: f32) -> [i32; 3] {
        let most = larger(larger(self.red, self.green), self.blue);
        let least = smaller(smaller(self.red, self.green), self.blue);
        let range = most - least;
        let is_gray = range == 0.0;
        let by_most = Divisor::new::<FUSED>(if is_gray { 1.0 } else { most });
        let by_range = Divisor::new::<FUSED>(if is_gray { 1.0 } else { range });
        let saturation = by_most.quotient::<FUSED>(range);
        let hue = wrapped(self.hue::<FUSED>(most, by_range) + turn);
        bytes_of(hue, saturation, most)
    }

    /// The hue in turns, 0 <= hue < 1.
    #[inline(always)]
    fn hue<const FUSED: bool>(self, most: f32, range: Divisor) -> f32 {
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
        let plus = range.quotient::<FUSED>(most - plus);
        let minus = range.quotient::<FUSED>(most - minus);
        let sixths = (plus + offset) - minus;
        let turns = sixths * (1.0 / 6.0) + 1.0;
        turns - if turns >= 1.0 { 1.0 } else { 0.0 }
    }
}

/// Red, green and blue of a hue in 0 <= hue <= 1.
#[inline(always)]
fn bytes_of(hue: f32, saturation: f32, value: f32) -> [i32; 3] {
    let sixths = hue * 6.0;
    let sector = whole(sixths) as f32;
    let part = saturation * (sixths - sector);
    let rest = 1.0 - saturation;
    let low = byte_of(rest * value);
    let falling = byte_of((1.0 - part) * value);
    let rising = byte_of((part + rest) * value);
    let value = byte_of(value);
    [
        in_sector(sector, [value, falling, low, low, rising, value]),
        in_sector(sector, [rising, value, value, falling, low, low]),
        in_sector(sector, [low, low, rising, value, value, falling]),
    ]
}

/// A divisor from 1/255 to 1, with its inverse.
///
/// A division takes as long as ten products. So with fused products and sums the inverse is approached by Newton's steps,
/// each of which squares the error; the last ones round it correctly, and so the quotient (Markstein, 1990).
#[derive(Debug, Clone, Copy)]
struct Divisor {
    value: f32,
    inverse: f32,
}

impl Divisor {
    #[inline(always)]
    fn new<const FUSED: bool>(value: f32) -> Divisor {
        if !FUSED {
            return Divisor { value, inverse: 0.0 };
        }
        // Negating the exponent and the fraction is the inverse within an eighth; this constant halves that.
        let guess = f32::from_bits(0x7ef3_11c7 - value.to_bits());
        let error = guess.mul_add(-value, 1.0);
        // A step of the third order: an error of 2^-4 becomes one of 2^-12.
        let inverse = guess.mul_add(error.mul_add(error, error), guess);
        let inverse = inverse.mul_add(inverse.mul_add(-value, 1.0), inverse);
        let inverse = inverse.mul_add(inverse.mul_add(-value, 1.0), inverse);
        Divisor { value, inverse }
    }

    /// `number / value`, rounded as a division is.
    #[inline(always)]
    fn quotient<const FUSED: bool>(self, number: f32) -> f32 {
        if !FUSED {
            return number / self.value;
        }
        let near = number * self.inverse;
        near.mul_add(-self.value, number).mul_add(self.inverse, near)
    }
}

/// A hue in 0 <= hue <= 1 from one that is at most one turn away.
#[inline(always)]
fn wrapped(hue: f32) -> f32 {
    let below = if hue >= 1.0 { hue - 1.0 } else { hue };
    if below < 0.0 { below + 1.0 } else { below }
}

/// The value of the sector, of those for the sectors 0 to 5. A hue that rounding made a whole turn is in the first one.
#[inline(always)]
fn in_sector(sector: f32, of: [i32; 6]) -> i32 {
    let value = if sector == 5.0 { of[5] } else { of[0] };
    let value = if sector == 1.0 { of[1] } else { value };
    let value = if sector == 2.0 { of[2] } else { value };
    let value = if sector == 3.0 { of[3] } else { value };
    if sector == 4.0 { of[4] } else { value }
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

#[cfg(test)]
mod tests {
    use super::{Divisor, part};

    /// All quotients that the hue of a color has: of two differences, and of a difference and a value.
    #[test]
    fn quotients_are_those_of_a_division() {
        for most in (1..=255).map(part) {
            let by_most = Divisor::new::<true>(most);
            for least in (0..=255).map(part).take_while(|&least| least < most) {
                let range = most - least;
                assert_eq!(by_most.quotient::<true>(range), range / most, "{range} / {most}");
                let by_range = Divisor::new::<true>(range);
                for between in (0..=255).map(part).filter(|&at| (least..=most).contains(&at)) {
                    let number = most - between;
                    let found = by_range.quotient::<true>(number);
                    assert_eq!(found.to_bits(), (number / range).to_bits(), "{number} / {range}");
                }
            }
        }
    }
}
