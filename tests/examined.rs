//! What commands and foreign programs find in shards.

pub(super) mod bench;
pub(super) mod dedupe;
pub(super) mod diff;
pub(super) mod doctor;
pub(super) mod expect;
pub(super) mod foreign;
pub(super) mod inspect;
pub(super) mod integrity;
pub(super) mod parts;
pub(super) mod plan_epoch;
pub(super) mod policy;
pub(super) mod replaced;
pub(super) mod scope;
pub(super) mod verify;
pub(super) mod view;
pub(super) mod view_server;
