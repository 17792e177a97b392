//! Inputs that readers disagree about, and inputs that are made to harm.

pub(super) mod bounds;
pub(super) mod empty_shards;
pub(super) mod exact_numbers;
pub(super) mod false_claims;
pub(super) mod hostile;
pub(super) mod irregular;
pub(super) mod joined_tars;
pub(super) mod json_rules;
pub(super) mod names;
pub(super) mod numbers;
pub(super) mod odd_inputs;
pub(super) mod tar_names;
