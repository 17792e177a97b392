//! The same steps, compiled for processors that have BMI1 and BMI2 (shifts and masks in one
//! instruction).
//!
//! Contains unsafe code to call functions that not every processor can run. Contract:
//! - nothing inside a step is unsafe: bounds are checked as everywhere;
//! - a function of this file that needs BMI is reachable only through [`lockstep`];
//! - [`lockstep`] checks the processor before it returns any.

#![allow(unsafe_code)]

use super::lane::Lane;
use super::lockstep::{Lockstep, rounds1, rounds2, rounds3, rounds4};

macro_rules! compiled {
    ($name:ident, $count:literal, $rounds:ident, $keep:literal) => {
        fn $name(lanes: [&mut Lane; $count]) -> usize {
            #[target_feature(enable = "bmi1,bmi2,lzcnt,movbe,popcnt")]
            fn inner(lanes: [&mut Lane; $count]) -> usize {
                $rounds::<$keep>(lanes)
            }
            // SAFETY: `lockstep` has detected these instructions, see the contract.
            unsafe { inner(lanes) }
        }
    };
}

compiled!(one, 1, rounds1, true);
compiled!(two, 2, rounds2, true);
compiled!(three, 3, rounds3, true);
compiled!(four, 4, rounds4, true);
compiled!(scan_one, 1, rounds1, false);
compiled!(scan_two, 2, rounds2, false);
compiled!(scan_three, 3, rounds3, false);
compiled!(scan_four, 4, rounds4, false);

/// Returns the steps if this processor can run them: those that keep coefficients, and those that
/// do not.
pub(super) fn lockstep() -> Option<(Lockstep, Lockstep)> {
    let found = is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe")
        && is_x86_feature_detected!("popcnt");
    let keep = Lockstep { one, two, three, four };
    let scan = Lockstep { one: scan_one, two: scan_two, three: scan_three, four: scan_four };
    found.then_some((keep, scan))
}
