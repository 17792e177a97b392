//! Which data set or class is next: schedules of integers.

pub(super) mod deal;
pub(super) mod schedule;
