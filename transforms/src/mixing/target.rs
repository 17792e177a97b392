//! `SoftTarget`: the weights of all classes, for one row.

use tarflume_types::DType;

use crate::mixing::blend::BlendWeights;

/// Writes soft targets: a weight for each class. Their arithmetic is that of timm's `mixup_target`, in f32.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoftTarget {
    classes: usize,
    /// The weight of the row's class, and of every other class, before two rows are mixed.
    on: f32,
    off: f32,
}

impl SoftTarget {
    /// Targets of `classes` classes, to all of which together `smoothing` of the weight is given.
    pub fn new(classes: usize, smoothing: f64) -> SoftTarget {
        let off = smoothing / classes as f64;
        SoftTarget { classes, on: (1.0 - smoothing + off) as f32, off: off as f32 }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Writes the weights into `row`, f32 in the machine's byte order: `lam` of class `own`, the rest of class `other`.
    ///
    /// # Panics
    /// Panics if a class does not exist or the row has another length.
    pub fn write(&self, row: &mut [u8], own: usize, other: usize, lam: f64) {
        let weights = BlendWeights::new(lam);
        let row = row.as_chunks_mut::<4>().0;
        assert_eq!(row.len(), self.classes, "a row has a weight for each class");
        row.fill(weights.sum(self.off, self.off).to_ne_bytes());
        if own == other {
            row[own] = weights.sum(self.on, self.on).to_ne_bytes();
            return;
        }
        row[own] = weights.sum(self.on, self.off).to_ne_bytes();
        row[other] = weights.sum(self.off, self.on).to_ne_bytes();
    }

    /// The class that a row of one integer names, in the machine's byte order. `None`: the type is no integer.
    pub fn class(dtype: DType, row: &[u8]) -> Option<i128> {
        Some(match dtype {
            DType::U8 => row.first().copied()?.into(),
            DType::I8 => i8::from_ne_bytes(row.try_into().ok()?).into(),
            DType::U16 => u16::from_ne_bytes(row.try_into().ok()?).into(),
            DType::I16 => i16::from_ne_bytes(row.try_into().ok()?).into(),
            DType::U32 => u32::from_ne_bytes(row.try_into().ok()?).into(),
            DType::I32 => i32::from_ne_bytes(row.try_into().ok()?).into(),
            DType::U64 => u64::from_ne_bytes(row.try_into().ok()?).into(),
            DType::I64 => i64::from_ne_bytes(row.try_into().ok()?).into(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(target: SoftTarget, own: usize, other: usize, lam: f64) -> Vec<f32> {
        let mut row = vec![0; 4 * target.classes()];
        target.write(&mut row, own, other, lam);
        row.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
    }

    #[test]
    fn targets_are_the_sum_of_two_smoothed_ones() {
        let plain = SoftTarget::new(4, 0.0);
        assert_eq!(written(plain, 1, 3, 1.0), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(written(plain, 1, 3, 0.25), [0.0, 0.25, 0.0, 0.75]);
        assert_eq!(written(plain, 2, 2, 0.25), [0.0, 0.0, 1.0, 0.0]);
        let smooth = SoftTarget::new(10, 0.1);
        let row = written(smooth, 0, 9, 0.6);
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!((row[0] - (0.6 * 0.91 + 0.4 * 0.01)).abs() < 1e-6);
        assert!((row[5] - 0.01).abs() < 1e-7);
    }

    #[test]
    fn classes_are_integers_of_any_type() {
        assert_eq!(SoftTarget::class(DType::I64, &(-1i64).to_ne_bytes()), Some(-1));
        assert_eq!(SoftTarget::class(DType::U64, &u64::MAX.to_ne_bytes()), Some(u64::MAX.into()));
        assert_eq!(SoftTarget::class(DType::U8, &[200]), Some(200));
        assert_eq!(SoftTarget::class(DType::F32, &[0; 4]), None);
    }
}
