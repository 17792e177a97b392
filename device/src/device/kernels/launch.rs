//! `Launch`: one launch of a kernel entry, as plain values: entry, grid and arguments.
//!
//! Pure: `args` builds it, a driver executes it.

/// A parameter of an entry. Device addresses are `U64`; null is 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument {
    /// A 64-bit count, or an address.
    U64(u64),
    /// A 32-bit number.
    U32(u32),
    /// A factor.
    F32(f32),
}

/// An entry, its grid, and its arguments in the order of the entry's parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// The entry's name in the source.
    pub entry: &'static str,
    /// Blocks along x and y, each of [`kernel::BLOCK`](crate::device::kernels::args::BLOCK) threads along x.
    pub grid: (u32, u32),
    /// One for each parameter of the entry, of the same types.
    pub arguments: Vec<Argument>,
}
