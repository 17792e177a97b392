//! Why files or folders are not part of a sample, as a message.

use tarflume_base::ProblemKind;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;

use crate::links::{self, Links};
use crate::names::rules::{Action, MAX_NAME, Rule};
use crate::options::Cause;

/// Why some files are not a sample: the message and the file it is about.
pub(crate) struct Refusal {
    pub(crate) kind: ProblemKind,
    pub(crate) file: Vec<u8>,
    pub(crate) reason: Message,
    pub(crate) cause: Option<Cause>,
}

impl Refusal {
    pub(crate) fn new(kind: ProblemKind, file: &[u8], reason: impl Into<Message>) -> Refusal {
        Refusal { kind, file: file.to_vec(), reason: reason.into(), cause: None }
    }

    /// Sets the cause.
    pub(crate) fn because(mut self, cause: Cause) -> Refusal {
        self.cause = Some(cause);
        self
    }

    /// Refuses a link that is not followed.
    pub(crate) fn link(file: &[u8]) -> Refusal {
        Refusal::new(ProblemKind::NotRegular, file, links::reason()).because(Cause::Link)
    }

    /// Refuses a file that the operating system does not let examine.
    pub(crate) fn of_error(file: &[u8], error: &std::io::Error, links: Links) -> Refusal {
        if links.refuses(error) {
            Refusal::link(file)
        } else {
            Refusal::new(ProblemKind::Unreadable, file, error.to_string())
        }
    }

    pub(crate) fn unreadable(folder: &[u8], error: &std::io::Error) -> Refusal {
        Refusal::new(ProblemKind::Unreadable, folder, format!("the folder can't be read: {error}"))
    }
}

/// Returns why the rule refuses a name, and what to do.
pub(crate) fn misread(rule: Rule, file: &[u8]) -> Message {
    let what = match rule {
        Rule::Dot => {
            let first = file.iter().position(|&b| b == b'.').unwrap_or(file.len());
            let key = name::shown(&file[..first]);
            format!("its name has several dots: readers take '{key}' as its key")
        }
        Rule::Space => "its name has blanks or control characters, which some readers split".into(),
        Rule::NonAscii => "its name is not ASCII, which some readers can't read".into(),
        Rule::Hidden => {
            let text = message!("its name begins with a dot, so readers leave it out; rename it, or give {names}"; names = Name::Names.either(&["hidden=replace", "hidden=skip"]));
            return text;
        }
        Rule::Dunder => "its name begins with '__', which readers take for metadata".into(),
        Rule::Long => {
            format!("its name in the shard is longer than {MAX_NAME} bytes, which some readers cut")
        }
        Rule::Case => "its key differs from another only in case".into(),
        Rule::Path => {
            return message!("its name is no clean path; give {names}"; names = Name::Names.is("path=replace"));
        }
    };
    let word = rule.word();
    message!("{what}; rename it, or give {names}"; names = Name::Names.either(&[&format!("{word}=replace"), &format!("{word}=allow")]))
}

/// Returns why a name cannot be made short enough: `what` of it alone, which is kept, has `bytes`.
pub(crate) fn too_long(what: &str, bytes: usize) -> Message {
    message!("{what} alone has {bytes} of the {MAX_NAME} bytes that all readers take, so {names} can't make \
             the name short enough; give it a shorter name, or {names_option} for readers that take long \
             names"; names = Name::Names.is("long=replace"), names_option = Name::Names.is("long=allow"))
}

/// Returns why a key with an extension of `ext` bytes is too long, if the rule has this action.
pub(crate) fn long(action: Action, key: &[u8], ext: usize) -> Message {
    match action {
        Action::Replace => too_long("its extension", ext),
        _ => misread(Rule::Long, key),
    }
}
