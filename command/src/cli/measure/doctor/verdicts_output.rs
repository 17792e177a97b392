//! Requirements as text: kept, broken or not measured, each with its number; below a broken one its cause and a remedy.

use std::io::{self, Write};

use crate::doctor::watch::causes::duration;
use crate::doctor::watch::verdicts::{State, Verdict};

/// Writes all verdicts.
pub(super) fn text(to: &mut impl Write, verdicts: &[Verdict]) -> io::Result<()> {
    if verdicts.is_empty() {
        return Ok(());
    }
    writeln!(to, "\nrequirements")?;
    verdicts.iter().try_for_each(|verdict| one(to, verdict))
}

fn one(to: &mut impl Write, of: &Verdict) -> io::Result<()> {
    let word = match of.state {
        State::Kept => "kept",
        State::Broken => "BROKEN",
        State::Unmeasured => "not measured",
    };
    let sign = if of.at_least { ">=" } else { "<=" };
    let what = of.figure.what();
    let required = number(of, of.required);
    write!(to, "  {word:<12} {what:<22} {sign} ")?;
    match of.measured {
        Some(measured) => write!(to, "{required:<8} {:>8}", number(of, measured))?,
        None => write!(to, "{required}")?,
    }
    if let Some(place) = &of.place {
        write!(to, " ({place})")?;
    }
    writeln!(to)?;
    let Some(remedy) = &of.remedy else { return Ok(()) };
    if of.state == State::Unmeasured {
        let named = if of.named { "required by its name, so this fails: " } else { "" };
        return writeln!(to, "    {named}{}; {}", remedy.cause, remedy.change);
    }
    writeln!(to, "    cause: {}", remedy.cause)?;
    writeln!(to, "    try: {}", remedy.change)?;
    if let Some(effect) = &remedy.effect {
        writeln!(to, "    predicted: {effect}")?;
    }
    Ok(())
}

fn number(of: &Verdict, value: f64) -> String {
    match of.unit {
        "s" => duration(value),
        "ms" => format!("{value:.1} ms"),
        unit => format!("{value:.0} {unit}"),
    }
}
