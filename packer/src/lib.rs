//! The packing side of tarflume: scan -> plan -> run -> finalize, and the commands that look at
//! what came out.

pub mod build;
pub mod check;
pub mod choice;
pub mod collide;
pub mod exit;
pub mod failure;
pub mod indexing;
pub mod interrupt;
pub mod listing;
pub mod planning;
pub mod problem;
pub mod progress;
pub mod running;
pub mod scan;
pub mod size;
pub mod source;
pub mod survey;
pub mod units;
pub mod unpack;
pub mod verify;
pub mod workdir;
pub mod writing;
