//! The same steps, compiled for processors that shift and mask without detours (BMI1, BMI2).
//!
//! An unsafe room, for calls of functions that not every processor can run. Contract:
//! - nothing unsafe happens inside a step: bounds are checked as everywhere;
//! - a function of this file that needs BMI is reachable through [`lockstep`] alone;
//! - [`lockstep`] gives none out before it has asked the processor.

#![allow(unsafe_code)]

use super::lane::Lane;
use super::lockstep::{Lockstep, rounds1, rounds2, rounds3, rounds4};

macro_rules! compiled {
    ($name:ident, $count:literal, $rounds:ident) => {
        fn $name(lanes: [&mut Lane; $count]) -> usize {
            #[target_feature(enable = "bmi1,bmi2,lzcnt,movbe,popcnt")]
            fn inner(lanes: [&mut Lane; $count]) -> usize {
                $rounds(lanes)
            }
            // SAFETY: `lockstep` has found these instructions, see the contract.
            unsafe { inner(lanes) }
        }
    };
}

compiled!(one, 1, rounds1);
compiled!(two, 2, rounds2);
compiled!(three, 3, rounds3);
compiled!(four, 4, rounds4);

/// The steps, if this processor can run them.
pub(super) fn lockstep() -> Option<Lockstep> {
    let found = is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe")
        && is_x86_feature_detected!("popcnt");
    found.then_some(Lockstep { one, two, three, four })
}
