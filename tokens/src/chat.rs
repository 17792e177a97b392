//! Conversations to ids: chat templates of transformers, and which ids have no loss.
//!
//! The text of a document is the JSON of a conversation, as [`crate::source`] makes it of a row. Floors, lower ones
//! first: `json` and the settings; `template`, which renders; `conversation`, `turns`, which finds what the assistant
//! writes; `encoder`, the tokenizer of conversations.

mod conversation;
mod encoder;
mod files;
mod json;
mod options;
mod template;
mod turns;

pub use self::encoder::ChatEncoder;
pub use self::options::{ChatOptions, Loss};
