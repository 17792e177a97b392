//! The packing side of tarflume: scan -> plan -> run -> finalize, and the commands that look at
//! what came out.

pub mod check;
pub mod cli;
pub mod exit;
pub mod failure;
pub mod problem;
