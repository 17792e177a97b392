//! The same steps, compiled for processors that have BMI1 and BMI2 (shifts and masks in one
//! instruction).
//!
//! Contains unsafe code to call functions that not every processor can run. Contract:
//! - nothing inside a step is unsafe: bounds are checked as everywhere;
//! - a function of this file that needs BMI is reachable only through [`lockstep`] and
//!   [`skimmers`];
//! - these return any only if [`is_here`] has found the instructions.

#![allow(unsafe_code)]

use super::lane::Lane;
use super::lockstep::{Lockstep, rounds1, rounds2, rounds3, rounds4};
use super::skim::{Skim, Skimmers, skims1, skims2, skims3, skims4};

macro_rules! compiled {
    ($name:ident = $rounds:expr, [$lane:ty; $count:literal]) => {
        fn $name(lanes: [&mut $lane; $count]) -> usize {
            #[target_feature(enable = "bmi1,bmi2,lzcnt,movbe,popcnt")]
            fn inner(lanes: [&mut $lane; $count]) -> usize {
                $rounds(lanes)
            }
            // SAFETY: `is_here` has detected these instructions, see the contract.
            unsafe { inner(lanes) }
        }
    };
}

compiled!(one = rounds1, [Lane; 1]);
compiled!(two = rounds2, [Lane; 2]);
compiled!(three = rounds3, [Lane; 3]);
compiled!(four = rounds4, [Lane; 4]);
compiled!(skim_one = skims1, [Skim; 1]);
compiled!(skim_two = skims2, [Skim; 2]);
compiled!(skim_three = skims3, [Skim; 3]);
compiled!(skim_four = skims4, [Skim; 4]);

fn is_here() -> bool {
    is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe")
        && is_x86_feature_detected!("popcnt")
}

/// Returns the steps if this processor can run them.
pub(super) fn lockstep() -> Option<Lockstep> {
    is_here().then_some(Lockstep { one, two, three, four })
}

/// Returns the scanner's steps if this processor can run them.
pub(super) fn skimmers() -> Option<Skimmers> {
    let steps = Skimmers { one: skim_one, two: skim_two, three: skim_three, four: skim_four };
    is_here().then_some(steps)
}
