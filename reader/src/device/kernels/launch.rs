//! `Launch`: one start of a kernel's entry, as plain values: which, how many blocks, with what.
//!
//! Pure: a driver starts it, `kernel` makes it.

/// A parameter of an entry. Addresses of the device are `U64`; null is 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument {
    /// A count of 64 bits, or an address.
    U64(u64),
    /// A number of 32 bits.
    U32(u32),
    /// A factor.
    F32(f32),
}

/// An entry, its grid and its parameters in the order of the entry's list.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// The entry's name in the source.
    pub entry: &'static str,
    /// Blocks along x and y, each of [`kernel::BLOCK`](crate::device::kernels::args::BLOCK) threads along x.
    pub grid: (u32, u32),
    /// As many as the entry has parameters, of their types.
    pub arguments: Vec<Argument>,
}
