//! `Smoothing`: estimates the low frequencies that the scans of a progressive picture did not bring,
//! from the brightness of the blocks around (T.81, K.8, with the weights of libjpeg-turbo 2.1 and
//! later).

use super::store::ComponentBlocks;
use crate::header::NATURAL;

/// Number of coefficients that are estimated or decide on it.
pub(super) const KNOWN: usize = 10;

/// For the coefficients of a component, the lowest bit that was coded; -1 if none was.
pub(super) type Bits = [i8; KNOWN];

/// Weights of the blocks around a block, by row and column.
type Window = [[i64; 5]; 5];

/// Weights if no AC coefficient of the component was coded, by zigzag number.
static ALONE: [Window; KNOWN] = [
    [
        [-2, -6, -8, -6, -2],
        [-6, 6, 42, 6, -6],
        [-8, 42, 152, 42, -8],
        [-6, 6, 42, 6, -6],
        [-2, -6, -8, -6, -2],
    ],
    ACROSS,
    turned(&ACROSS),
    turned(&BEND),
    [[-1, 0, 0, 0, 1], [0, 9, 0, -9, 0], [0; 5], [0, -9, 0, 9, 0], [1, 0, 0, 0, -1]],
    BEND,
    THIRD,
    turned(&MIXED),
    MIXED,
    turned(&THIRD),
];
const ACROSS: Window = [
    [-1, -1, 0, 1, 1],
    [-3, 13, 0, -13, 3],
    [-3, 38, 0, -38, 3],
    [-3, 13, 0, -13, 3],
    [-1, -1, 0, 1, 1],
];
const BEND: Window = [[0; 5], [0, 2, -5, 2, 0], [1, 7, -14, 7, 1], [0, 2, -5, 2, 0], [0; 5]];
const THIRD: Window = [[0; 5], [0, 1, 0, -1, 0], [0, 2, 0, -2, 0], [0, 1, 0, -1, 0], [0; 5]];
const MIXED: Window = [[0; 5], [0, 1, 0, -1, 0], [0, -3, 0, 3, 0], [0, 1, 0, -1, 0], [0; 5]];

/// Weights if some AC coefficients were coded. Only these five are estimated then.
static BESIDE: [Window; 6] = [
    [[0; 5]; 5],
    SLOPE,
    turned(&SLOPE),
    turned(&CURVE),
    [[0, -1, 0, 1, 0], [-1, 10, 0, -10, 1], [0; 5], [1, -10, 0, 10, -1], [0, 1, 0, -1, 0]],
    CURVE,
];
const SLOPE: Window = [[0; 5], [0; 5], [-7, 50, 0, -50, 7], [0; 5], [0; 5]];
const CURVE: Window = [[0; 5], [0; 5], [-1, 13, -24, 13, -1], [0; 5], [0; 5]];

/// Returns weights with rows and columns exchanged.
const fn turned(window: &Window) -> Window {
    let mut turned = [[0; 5]; 5];
    let mut n = 0;
    while n < 25 {
        turned[n / 5][n % 5] = window[n % 5][n / 5];
        n += 1;
    }
    turned
}

/// The smoothing of one component.
#[derive(Debug, Clone)]
pub(super) struct Smoothing {
    /// What was coded when the last scan began, and after it.
    pub(super) before: Bits,
    pub(super) after: Bits,
    /// The last row of MCUs for which the last scan has data.
    pub(super) good: u32,
    /// Rows of MCUs, and rows of blocks in each.
    pub(super) rows: u32,
    pub(super) v: u32,
    pub(super) divisors: [u16; 64],
}

impl Smoothing {
    /// Returns true if the divisors permit it.
    pub(super) fn is_possible(&self) -> bool {
        NATURAL[..KNOWN].iter().all(|&place| self.divisors[usize::from(place)] != 0)
            && self.after[0] >= 0
    }

    /// Returns true if coefficients are not known to the last bit.
    pub(super) fn is_useful(&self) -> bool {
        self.after[1..].iter().any(|&bit| bit != 0)
    }

    /// Adds estimates to a copy of the block in column `x` and row `y`.
    pub(super) fn smooth(&self, part: &ComponentBlocks, x: u32, y: u32, block: &mut [i16; 64]) {
        let row = y / self.v;
        let known = if row > self.good { &self.before } else { &self.after };
        let alone = known[1..].iter().all(|&bit| bit == -1);
        let (first, windows) = if alone { (0, &ALONE[..]) } else { (1, &BESIDE[..]) };
        let near = self.near(part, x, y);
        for (k, window) in windows.iter().enumerate().skip(first) {
            let place = usize::from(NATURAL[k]);
            if k > 0 && (known[k] == 0 || block[place] != 0) {
                continue;
            }
            let weights = window.as_flattened().iter().zip(near.as_flattened());
            let sum: i64 = weights.map(|(weight, dc)| weight * i64::from(*dc)).sum();
            let sum = i64::from(self.divisors[0]) * sum;
            let divisor = i64::from(self.divisors[place]);
            let mut size = ((divisor << 7) + sum.abs()) / (divisor << 8);
            if k > 0 && known[k] > 0 {
                size = size.min((1 << known[k]) - 1);
            }
            block[place] = (if sum < 0 { -size } else { size }) as i16;
        }
    }

    /// Returns the DC of the blocks around: at the edges those of the nearest ones.
    fn near(&self, part: &ComponentBlocks, x: u32, y: u32) -> [[i16; 5]; 5] {
        // In a last row of MCUs with fewer rows of blocks, libjpeg-turbo counts as if all rows had as
        // few.
        let row = y / self.v;
        let in_row = match part.down % self.v {
            fewer if fewer > 0 && row + 1 == self.rows => fewer,
            _ => self.v,
        };
        let number = row * in_row + y % self.v;
        let count = in_row * self.rows;
        let above = number.min(2);
        let below = (count - 1 - number.min(count - 1)).min(2);
        let columns = part.across.saturating_sub(1);
        let mut near = [[0; 5]; 5];
        for (dy, line) in (0u32..).zip(&mut near) {
            let y = match dy {
                0..2 => y - above.min(2 - dy),
                _ => y + below.min(dy - 2),
            };
            for (dx, dc) in (0u32..).zip(line) {
                *dc = part.at((x + dx).saturating_sub(2).min(columns), y)[0];
            }
        }
        near
    }
}
