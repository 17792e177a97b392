//! The filter delta of numcodecs: the first number, then differences. Pure.

use half::f16;

use tarflume_formats::number_kind::NumberClass;

use crate::zarr::numbers::element::Element;

/// Adds up the differences. The numbers stay in their order of bytes.
pub(in crate::zarr) fn summed(mut bytes: Vec<u8>, element: Element, is_big: bool) -> Vec<u8> {
    match element.size() {
        1 => sum::<1>(&mut bytes, element.class(), is_big),
        2 => sum::<2>(&mut bytes, element.class(), is_big),
        4 => sum::<4>(&mut bytes, element.class(), is_big),
        _ => sum::<8>(&mut bytes, element.class(), is_big),
    }
    bytes
}

fn sum<const N: usize>(bytes: &mut [u8], class: NumberClass, is_big: bool) {
    let mut total: Option<[u8; N]> = None;
    let (numbers, _) = bytes.as_chunks_mut::<N>();
    for number in numbers {
        if is_big {
            number.reverse();
        }
        let added = match total {
            // Adding to zero would lose the sign of a zero.
            None => *number,
            Some(total) => added(total, *number, class),
        };
        total = Some(added);
        *number = added;
        if is_big {
            number.reverse();
        }
    }
}

/// Returns the sum of two numbers of little-endian bytes; integers wrap.
fn added<const N: usize>(a: [u8; N], b: [u8; N], class: NumberClass) -> [u8; N] {
    let [x, y] = [a, b].map(|number| {
        let mut wide = [0; 8];
        wide[..N].copy_from_slice(&number);
        u64::from_le_bytes(wide)
    });
    let sum = match (class, N) {
        (NumberClass::Float, 2) => {
            let [x, y] = [x, y].map(|bits| f16::from_bits(bits as u16).to_f32());
            f16::from_f32(x + y).to_bits().into()
        }
        (NumberClass::Float, 4) => {
            let [x, y] = [x, y].map(|bits| f32::from_bits(bits as u32));
            (x + y).to_bits().into()
        }
        (NumberClass::Float, _) => (f64::from_bits(x) + f64::from_bits(y)).to_bits(),
        _ => x.wrapping_add(y),
    };
    let mut bytes = [0; N];
    bytes.copy_from_slice(&sum.to_le_bytes()[..N]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_floats_add() {
        let bytes = Element::of_name("uint8").unwrap();
        assert_eq!(summed(vec![250, 5, 5], bytes, false), [250, 255, 4]);
        let big = Element::of_name("int16").unwrap();
        assert_eq!(summed(vec![1, 0, 0xff, 0xff], big, true), [1, 0, 0, 0xff]);
        let floats = Element::of_name("float32").unwrap();
        let stored = [0.5f32, 0.25, -1.0].map(f32::to_le_bytes).concat();
        assert_eq!(
            summed(stored, floats, false),
            [0.5f32, 0.75, -0.25].map(f32::to_le_bytes).concat()
        );
    }
}
