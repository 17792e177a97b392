//! The packing side of tarflume: scan -> plan -> run -> finalize, and the commands that look at
//! what came out.

pub mod check;
pub mod cli;
pub mod exit;
pub mod failure;
pub mod problem;
pub mod interrupt;
pub mod planning;
pub mod scan;
pub mod source;
pub mod collide;
pub mod finalize;
pub mod prepare;
pub mod quarantine;
pub mod rank;
pub mod running;
pub mod staging;
pub mod units;
