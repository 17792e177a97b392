//! `NumberType`: which bits of an element are the number, as the type in the file says.
//!
//! The HDF5 reader keeps size, sign and byte order of a type. Precision and offset of an integer, and the fields of a
//! float, are in its encoded form alone (HDF5 file format, "Datatype Message").

use tarflume_formats::number_kind::{NumberClass, NumberKind};

/// Bytes of an encoded type before the properties of its class.
const HEAD: usize = 8;

/// The type of the numbers of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberType {
    pub(super) class: NumberClass,
    /// Bytes.
    pub(super) size: usize,
    /// Whether the bytes are in the other order in the file.
    pub(super) swapped: bool,
    /// The lowest bit of the number, and how many it has.
    bits: (u32, u32),
}

/// Why a type is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is no number of 1, 2, 4 or 8 bytes.
    Other,
    /// A float whose fields are those of no type of numpy.
    OddFloat,
    /// The encoded type is not as long as its class.
    Damaged,
}

/// The fields of a float: bits of precision and offset, place and bits of exponent and mantissa, bias, and the bit of
/// the sign.
#[derive(Debug, PartialEq, Eq)]
struct Fields {
    precision: u16,
    offset: u16,
    exponent: (u8, u8),
    mantissa: (u8, u8),
    bias: u32,
    sign: u8,
}

impl NumberType {
    /// Reads an encoded type. An enumeration is its integer.
    ///
    /// # Errors
    /// Returns why it is not read.
    pub(super) fn of(raw: &[u8]) -> Result<NumberType, Unread> {
        let Some((head, properties)) = raw.split_first_chunk::<HEAD>() else {
            return Err(Unread::Damaged);
        };
        let size = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        match head[0] & 15 {
            0 => integer(size, head[1], properties),
            1 => float(size, head, properties),
            8 => NumberType::of(properties), // the integer of the values is encoded first
            _ => Err(Unread::Other),
        }
    }

    /// Returns the elements of a type of lists.
    ///
    /// # Errors
    /// Returns why they are not read.
    pub(super) fn of_items(raw: &[u8]) -> Result<NumberType, Unread> {
        NumberType::of(raw.get(HEAD..).ok_or(Unread::Damaged)?)
    }

    /// Returns the type of the truth values that such integers are.
    pub(super) fn as_bool(self) -> NumberType {
        NumberType { class: NumberClass::Bool, ..self }
    }

    /// Returns numpy's name of the type, or `bfloat16`.
    pub(super) fn name(self) -> &'static str {
        // The integers of truth values may have more bytes.
        let size = if self.class == NumberClass::Bool { 1 } else { self.size };
        NumberKind::new(self.class, size).expect("a number has the bytes of its class").name()
    }

    /// Returns true if the bytes in the file are those of the number, little-endian.
    pub(super) fn is_plain(self) -> bool {
        !self.swapped && self.is_whole()
    }

    /// Returns true if all bits of an element are the number.
    pub(super) fn is_whole(self) -> bool {
        self.bits == (0, 8 * self.size as u32)
    }

    /// Turns elements as they are in the file into little-endian numbers that fill their bytes.
    pub(super) fn settle(self, bytes: &mut [u8]) {
        if self.swapped {
            bytes.chunks_exact_mut(self.size).for_each(<[u8]>::reverse);
        }
        if self.is_whole() {
            return;
        }
        let (offset, precision) = self.bits;
        let above = 64 - precision;
        for element in bytes.chunks_exact_mut(self.size) {
            let mut wide = [0; 8];
            wide[..self.size].copy_from_slice(element);
            let top = (u64::from_le_bytes(wide) >> offset) << above;
            let number = match self.class {
                NumberClass::Int => (top.cast_signed() >> above).cast_unsigned(),
                _ => top >> above,
            };
            element.copy_from_slice(&number.to_le_bytes()[..self.size]);
        }
    }
}

fn integer(size: usize, flags: u8, properties: &[u8]) -> Result<NumberType, Unread> {
    if !matches!(size, 1 | 2 | 4 | 8) {
        return Err(Unread::Other);
    }
    let Some((&[a, b, c, d], _)) = properties.split_first_chunk::<4>() else {
        return Err(Unread::Damaged);
    };
    let offset = u32::from(u16::from_le_bytes([a, b]));
    let precision = u32::from(u16::from_le_bytes([c, d]));
    if precision == 0 || offset + precision > 8 * size as u32 {
        return Err(Unread::Damaged);
    }
    let class = if flags & 8 != 0 { NumberClass::Int } else { NumberClass::Uint };
    let swapped = flags & 1 != 0 && size > 1;
    Ok(NumberType { class, size, swapped, bits: (offset, precision) })
}

fn float(size: usize, head: &[u8; HEAD], properties: &[u8]) -> Result<NumberType, Unread> {
    let Some((p, _)) = properties.split_first_chunk::<12>() else { return Err(Unread::Damaged) };
    let fields = Fields {
        offset: u16::from_le_bytes([p[0], p[1]]),
        precision: u16::from_le_bytes([p[2], p[3]]),
        exponent: (p[4], p[5]),
        mantissa: (p[6], p[7]),
        bias: u32::from_le_bytes([p[8], p[9], p[10], p[11]]),
        sign: head[2],
    };
    // Bits 0 and 6 are the byte order: both are set for that of VAX. Bits 4 and 5 are 2 if the first bit of the
    // mantissa is implied.
    let order = head[1] & 0x41;
    let normalization = head[1] >> 4 & 3;
    let class = known(size, &fields).filter(|_| normalization == 2 && order < 0x40);
    let class = class.ok_or(Unread::OddFloat)?;
    Ok(NumberType { class, size, swapped: order == 1, bits: (0, 8 * size as u32) })
}

impl Fields {
    /// Returns the fields of a float that has a sign, `exponent` bits and `mantissa` bits, from the highest bit down.
    fn layout(exponent: u8, mantissa: u8) -> Fields {
        Fields {
            precision: u16::from(exponent + mantissa) + 1,
            offset: 0,
            exponent: (mantissa, exponent),
            mantissa: (0, mantissa),
            bias: (1 << (exponent - 1)) - 1,
            sign: exponent + mantissa,
        }
    }
}

/// Returns the class of a float with these fields.
fn known(size: usize, fields: &Fields) -> Option<NumberClass> {
    let layouts = [
        (2, Fields::layout(5, 10), NumberClass::Float),
        (2, Fields::layout(8, 7), NumberClass::Brain),
        (4, Fields::layout(8, 23), NumberClass::Float),
        (8, Fields::layout(11, 52), NumberClass::Float),
    ];
    layouts
        .into_iter()
        .find(|(bytes, known, _)| *bytes == size && known == fields)
        .map(|found| found.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer_of(size: u8, flags: u8, offset: u8, precision: u8) -> Vec<u8> {
        vec![0x10, flags, 0, 0, size, 0, 0, 0, offset, 0, precision, 0]
    }

    fn float_of(flags: u8, size: u8, sign: u8, fields: [u8; 4], bias: u16) -> Vec<u8> {
        let mut raw = vec![0x11, flags, sign, 0, size, 0, 0, 0, 0, 0, size * 8, 0];
        raw.extend(fields);
        raw.extend(u32::from(bias).to_le_bytes());
        raw
    }

    fn settled(raw: &[u8], mut bytes: Vec<u8>) -> Vec<u8> {
        NumberType::of(raw).unwrap().settle(&mut bytes);
        bytes
    }

    #[test]
    fn integers_of_fewer_bits_are_shifted_and_keep_their_sign() {
        // 12 bits: -127 is 0xf81.
        assert_eq!(settled(&integer_of(2, 8, 0, 12), vec![0x81, 0x0f]), (-127i16).to_le_bytes());
        assert_eq!(settled(&integer_of(2, 0, 0, 12), vec![0x81, 0x0f]), 3969u16.to_le_bytes());
        assert_eq!(settled(&integer_of(2, 8, 4, 12), vec![0x1f, 0xf8]), (-127i16).to_le_bytes());
        // Padding bits are no part of the number; the bytes are in the other order.
        assert_eq!(settled(&integer_of(2, 9, 3, 7), vec![0xfe, 0x0f]), (-63i16).to_le_bytes());
        assert_eq!(settled(&integer_of(8, 8, 0, 1), vec![1, 0, 0, 0, 0, 0, 0, 0]), [0xff; 8]);
        let whole = NumberType::of(&integer_of(4, 8, 0, 32)).unwrap();
        assert_eq!((whole.is_plain(), whole.name()), (true, "int32"));
        assert!(!NumberType::of(&integer_of(4, 8, 0, 31)).unwrap().is_plain());
    }

    #[test]
    fn a_float_is_known_by_all_its_fields() {
        for (raw, wanted) in [
            (float_of(0x20, 2, 15, [10, 5, 0, 10], 15), Ok("float16")),
            (float_of(0x21, 2, 15, [7, 8, 0, 7], 127), Ok("bfloat16")),
            (float_of(0x20, 4, 31, [23, 8, 0, 23], 127), Ok("float32")),
            (float_of(0x20, 8, 63, [52, 11, 0, 52], 1023), Ok("float64")),
            (float_of(0x20, 2, 15, [9, 6, 0, 9], 31), Err(Unread::OddFloat)),
            (float_of(0x20, 4, 31, [23, 8, 0, 23], 126), Err(Unread::OddFloat)),
            (float_of(0x61, 4, 31, [23, 8, 0, 23], 127), Err(Unread::OddFloat)), // VAX
            (float_of(0x00, 4, 31, [23, 8, 0, 23], 127), Err(Unread::OddFloat)), // no implied bit
            (float_of(0x20, 1, 7, [3, 4, 0, 3], 7), Err(Unread::OddFloat)),
        ] {
            let name = NumberType::of(&raw).map(NumberType::name);
            assert_eq!(name, wanted, "{raw:?}");
        }
        assert!(NumberType::of(&float_of(0x21, 2, 15, [7, 8, 0, 7], 127)).unwrap().swapped);
    }

    #[test]
    fn an_enumeration_is_its_integer_and_a_damaged_type_is_refused() {
        let integer = integer_of(1, 0, 0, 4);
        let [enumeration, items] =
            [8, 9].map(|class| [&[0x10 | class, 1, 0, 0, 1, 0, 0, 0], &integer[..]].concat());
        assert_eq!(NumberType::of(&enumeration), NumberType::of(&integer));
        assert_eq!(NumberType::of_items(&items), NumberType::of(&integer));
        assert_eq!(NumberType::of(&items), Err(Unread::Other));
        for raw in [&[][..], &integer[..9], &integer_of(1, 0, 5, 4), &integer_of(1, 0, 0, 0)] {
            assert_eq!(NumberType::of(raw), Err(Unread::Damaged), "{raw:?}");
        }
        assert_eq!(NumberType::of(&integer_of(3, 0, 0, 24)), Err(Unread::Other));
    }
}
