//! Checks JSON: one object and nothing after it. Builds no value.

use tarflume_formats::json::{JsonRules, check_object};

use super::fault::Fault;

pub(super) fn check(bytes: &[u8], rules: JsonRules) -> Result<(), Fault> {
    check_object(bytes, rules).map_err(|fault| Fault::of_json(&fault))
}
