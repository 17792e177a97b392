//! JSON as every command and the reader read it: one grammar, RFC 8259, and numbers with all their digits.
//!
//! [`check`] validates a text, [`parse`] builds its [`Value`], `find` returns the bytes at a [`Pointer`], and [`Scan`]
//! walks over the tokens. All of them accept and refuse the same texts:
//!
//! - The text is UTF-8 without a byte order mark, and one value with nothing after it.
//! - At most [`MAX_DEPTH`] lists and objects are open at any place.
//! - A number may have any size and any number of digits. Only a conversion can fail; see [`Number`].
//! - `NaN`, `Infinity`, `-Infinity`, `\ud800` to `\udfff` without the other half of their pair, and an object with a
//!   name twice, are refused by [`JsonRules::Strict`]. [`JsonRules::Python`] accepts them, as Python's `json` does.
//!
//! There is one exception: the function `find` accepts a repeated name by both rules, so that samples that were packed by an earlier
//! version stay readable. Its last value counts.

mod escapes;
mod find;
mod names;
mod number;
mod rules;
mod scan;
mod value;

pub use escapes::unescaped;
pub use find::{Pointer, find};
pub use number::Number;
pub use rules::{JsonFault, JsonRules};
pub use scan::{MAX_DEPTH, Scan, Token};
pub use value::{Object, Value, parse};

/// Checks that `bytes` are one JSON value. Builds nothing.
///
/// # Errors
/// Returns the first fault with its byte.
pub fn check(bytes: &[u8], rules: JsonRules) -> Result<(), JsonFault> {
    let mut scan = Scan::new(bytes, rules)?;
    scan.skip()?;
    scan.end()
}

/// As [`check`], for a text that must be an object.
///
/// # Errors
/// Returns the first fault with its byte.
pub fn check_object(bytes: &[u8], rules: JsonRules) -> Result<(), JsonFault> {
    let mut scan = Scan::new(bytes, rules)?;
    if scan.token()? != Token::Object {
        return Err(scan.fault("expected an object, as every JSON part of a sample must be"));
    }
    scan.skip()?;
    scan.end()
}

#[cfg(test)]
mod tests;
