//! Tar as shards use it: headers written and read, and a walk over a tar's members.
//!
//! No I/O. [`write_header`] appends blocks to a buffer, [`Header`] parses one block, and [`Walk`]
//! returns which bytes of the tar it needs next; the caller fetches them from wherever they are: a
//! mapped file, a plain read, a test's memory.
//!
//! Written: POSIX ustar (IEEE Std 1003.1, pax, "ustar Interchange Format"), with a pax extended
//! header before a member only where ustar cannot hold its name or size. Read: ustar, pax, GNU and
//! old v7. What no reader of shards handles (sparse files, several volumes) is refused by name, and
//! so is a tar whose meaning depends on its reader: a number, name or size that GNU tar, bsdtar and
//! Python's tarfile read differently.
//!
//! No length found in a tar is trusted: additions are checked and memory is bounded.

mod behind;
mod header;
mod member;
mod number;
mod pax;
mod walk;

#[cfg(test)]
mod tests;

pub use behind::behind_end;
pub use header::{BLOCK, END, Header, MemberKind, header_len, is_zero_block, padded, write_header};
pub use member::Member;
pub use walk::{EXTRA_MAX, Event, Walk};
