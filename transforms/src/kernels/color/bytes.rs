//! The conversion of a float to a byte: `as u8`, but in a form that becomes three vector
//! instructions.
#![allow(unsafe_code)]

/// The integer part of a value, clamped to 0 to 255; 0 for NaN.
#[inline(always)]
pub(crate) fn byte(value: f32) -> u8 {
    whole(value) as u8
}

/// The same as a number of 32 bits, so that what is computed further has as many lanes as the floats.
#[inline(always)]
pub(crate) fn whole(value: f32) -> i32 {
    // Comparisons instead of `f32::clamp`: each is one instruction, and NaN becomes 0.
    let value = if value > 0.0 { value } else { 0.0 };
    let value = if value < 255.0 { value } else { 255.0 };
    // SAFETY: the value is 0 to 255.
    unsafe { value.to_int_unchecked::<i32>() }
}

#[cfg(test)]
mod tests {
    use super::byte;

    #[test]
    fn bytes_are_those_of_a_cast() {
        let values = (-600..600).map(|step| step as f32 * 0.5);
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MAX, f32::MIN_POSITIVE];
        for value in values.chain(odd).chain([0.999_999_9, 254.999_98, 255.0, 1e20]) {
            assert_eq!(byte(value), value as u8, "{value}");
        }
    }
}
