//! `Template`: a chat template, rendered as `apply_chat_template` of transformers renders it.
//!
//! minijinja is the engine. What Jinja2 and transformers do in another way is in the files of this folder: the functions
//! and filters of transformers, the methods and texts of Python's values, and the blocks `{% generation %}`.

mod functions;
mod generation;
mod methods;
mod python;

use std::fmt;

use minijinja::value::{Value, merge_maps};
use minijinja::{Environment, ErrorKind, UndefinedBehavior};

pub(super) use self::functions::Moment;
use self::generation::Marks;
pub(super) use self::generation::Rendered;

/// Steps of the engine for one rendering: a template that needs more never ends, or is no template of chats.
const FUEL: u64 = 50_000_000;
/// The name of the template in the environment.
const NAME: &str = "chat template";

/// A compiled template.
pub(super) struct Template {
    environment: Environment<'static>,
    /// Whether it has blocks `{% generation %}`.
    has_generation: bool,
}

/// Why a conversation was not rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TemplateFault(pub(super) String);

impl fmt::Display for TemplateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Template {
    /// Compiles the text of a template. `now` is the time of `strftime_now`.
    pub(super) fn parse(source: &str, now: Moment) -> Result<Template, TemplateFault> {
        let mut environment = Environment::new();
        environment.set_syntax(
            minijinja::syntax::SyntaxConfig::builder()
                .trim_blocks(true)
                .lstrip_blocks(true)
                .build()
                .map_err(told)?,
        );
        environment.set_undefined_behavior(UndefinedBehavior::Lenient);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_unknown_method_callback(methods::call);
        environment.set_formatter(python::write);
        environment.set_fuel(Some(FUEL));
        functions::add(&mut environment, now);
        // Jinja2 writes each end of a line of the template as one character.
        let source = source.replace("\r\n", "\n").replace('\r', "\n");
        let replaced = generation::as_filters(&source);
        let has_generation = replaced != source;
        environment.add_template_owned(NAME, replaced).map_err(told)?;
        Ok(Template { environment, has_generation })
    }

    /// Returns true if the template marks what the assistant writes.
    pub(super) fn has_generation(&self) -> bool {
        self.has_generation
    }

    /// Returns true if the template uses a variable that it does not set.
    pub(super) fn uses(&self, variable: &str) -> bool {
        let template = self.environment.get_template(NAME);
        template.is_ok_and(|template| template.undeclared_variables(false).contains(variable))
    }

    /// Renders with these variables. Positions of `{% generation %}` are in the result if the template has them.
    pub(super) fn render(&self, variables: &Value) -> Result<Rendered, TemplateFault> {
        let plain = self.rendered(variables, Value::UNDEFINED)?;
        if !self.has_generation {
            return Ok(Rendered { text: plain, generated: Vec::new() });
        }
        let Some(marks) = Marks::not_in(&plain) else {
            let text = "the text has all characters that mark {% generation %}: U+FDD0 to U+FDEF";
            return Err(TemplateFault(text.into()));
        };
        let marked = self.rendered(variables, marks.value())?;
        let found = marks.take(&marked);
        // A filter over a block could see the marks, and give another text.
        found.filter(|found| found.text == plain).ok_or_else(|| {
            TemplateFault(
                "a filter changes the text of a block {% generation %}, so its place is not known"
                    .into(),
            )
        })
    }

    fn rendered(&self, variables: &Value, marks: Value) -> Result<String, TemplateFault> {
        let template = self.environment.get_template(NAME).map_err(told)?;
        let marks = Value::from_pairs([(generation::VARIABLE, marks)]);
        template.render(merge_maps([marks, variables.clone()])).map_err(told)
    }
}

/// Returns the reason of an error in one line.
fn told(error: minijinja::Error) -> TemplateFault {
    let detail = error.detail().map(str::to_string);
    if error.kind() == functions::RAISED
        && let Some(detail) = detail
    {
        return TemplateFault(detail);
    }
    let line = error.line().map(|line| format!(" (line {line} of the template)"));
    let text = match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => {
            "it does more steps than a template of chats needs".to_string()
        }
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    };
    TemplateFault(format!("{text}{}", line.unwrap_or_default()).replace('\n', " "))
}

#[cfg(test)]
mod tests;
