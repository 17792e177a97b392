//! Text for people: how foreign text is shown, which paths are URLs, words of options.

#[doc(hidden)]
pub mod shown;
pub mod url;
pub(super) mod words;
