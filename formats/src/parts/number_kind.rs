//! `NumberKind`: the types of the numbers in arrays, by numpy's names. The one list of them.

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberClass {
    /// A truth value in a byte.
    Bool,
    /// An integer with a sign.
    Int,
    /// An integer without a sign.
    Uint,
    /// A float of IEEE 754.
    Float,
    /// A float of 16 bits with the exponent of one of 32 bits.
    Brain,
}

/// A type of numbers that is read: class and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberKind {
    class: NumberClass,
    size: usize,
}

/// The types, by numpy's names.
const KINDS: [(&str, NumberClass, usize); 13] = [
    ("bool", NumberClass::Bool, 1),
    ("uint8", NumberClass::Uint, 1),
    ("uint16", NumberClass::Uint, 2),
    ("uint32", NumberClass::Uint, 4),
    ("uint64", NumberClass::Uint, 8),
    ("int8", NumberClass::Int, 1),
    ("int16", NumberClass::Int, 2),
    ("int32", NumberClass::Int, 4),
    ("int64", NumberClass::Int, 8),
    ("float16", NumberClass::Float, 2),
    ("float32", NumberClass::Float, 4),
    ("float64", NumberClass::Float, 8),
    ("bfloat16", NumberClass::Brain, 2),
];

impl NumberKind {
    /// Returns the type of this class and of so many bytes; `None` if there is none.
    pub fn new(class: NumberClass, size: usize) -> Option<NumberKind> {
        let is_known = KINDS.iter().any(|&(_, other, bytes)| (other, bytes) == (class, size));
        is_known.then_some(NumberKind { class, size })
    }

    /// Returns the type with this name.
    pub fn of_name(name: &str) -> Option<NumberKind> {
        let found = KINDS.iter().find(|(known, ..)| *known == name);
        found.map(|&(_, class, size)| NumberKind { class, size })
    }

    /// Returns all names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(name, ..)| *name)
    }

    /// Returns numpy's name of the type, or `bfloat16`.
    pub fn name(self) -> &'static str {
        let found =
            KINDS.iter().find(|&&(_, class, size)| (class, size) == (self.class, self.size));
        found.expect("every kind is one of the list").0
    }

    /// Returns numpy's letter of the class. Numpy lacks `bfloat16`: its bytes are those of a `uint16`.
    pub fn letter(self) -> char {
        match self.class {
            NumberClass::Bool => 'b',
            NumberClass::Int => 'i',
            NumberClass::Uint | NumberClass::Brain => 'u',
            NumberClass::Float => 'f',
        }
    }

    /// Returns what a number is.
    pub fn class(self) -> NumberClass {
        self.class
    }

    /// Returns the bytes of a number.
    pub fn size(self) -> usize {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_by_its_name_and_by_its_parts() {
        for name in NumberKind::names() {
            let kind = NumberKind::of_name(name).unwrap();
            assert_eq!(kind.name(), name);
            assert_eq!(NumberKind::new(kind.class(), kind.size()), Some(kind));
            let digits: String = name.chars().filter(char::is_ascii_digit).collect();
            assert_eq!(digits.parse::<usize>().unwrap_or(8), 8 * kind.size(), "{name}");
        }
        assert_eq!(NumberKind::names().count(), 13);
        assert_eq!(NumberKind::new(NumberClass::Float, 1), None);
        assert_eq!(NumberKind::new(NumberClass::Brain, 4), None);
        assert_eq!(NumberKind::of_name("float128"), None);
        assert_eq!(NumberKind::of_name("bfloat16").unwrap().letter(), 'u');
    }
}
