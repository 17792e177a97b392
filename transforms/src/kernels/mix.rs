//! Weighted sums of pictures in single precision.

use crate::kernels::sets::wide;

wide! {
    /// Begins the sums with the product of each byte and the weight.
    pub(crate) fn begin(sums: &mut [f32], bytes: &[u8], weight: f32) {
        for (sum, &byte) in sums.iter_mut().zip(bytes) {
            *sum = f32::from(byte) * weight;
        }
    }
}

wide! {
    /// Adds the product of each byte and the weight.
    pub(crate) fn add(sums: &mut [f32], bytes: &[u8], weight: f32) {
        for (sum, &byte) in sums.iter_mut().zip(bytes) {
            *sum += f32::from(byte) * weight;
        }
    }
}

wide! {
    /// Replaces each byte by the sum of its product with the weight and of `sums`, rounded down.
    pub(crate) fn end(bytes: &mut [u8], sums: &[f32], weight: f32) {
        for (byte, &sum) in bytes.iter_mut().zip(sums) {
            // A conversion to 32 bits is one instruction on every processor; one to 8 bits is not.
            *byte = (sum + f32::from(*byte) * weight).clamp(0.0, 255.0) as i32 as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use tarflume_image::Random;

    use super::*;
    use crate::kernels::sets::Set;

    #[test]
    fn all_sets_give_the_same_bytes() {
        let mut random = Random::new(1);
        for length in [1, 3, 15, 64, 1001, 30_000] {
            let first: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
            let second: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
            let weights = [random.unit() as f32, random.unit() as f32, random.unit() as f32];
            let all = Set::all().into_iter().map(|set| {
                let mut sums = vec![0.0; length];
                begin(set, &mut sums, &first, weights[0]);
                add(set, &mut sums, &second, weights[1]);
                let mut bytes = first.clone();
                end(set, &mut bytes, &sums, weights[2]);
                bytes
            });
            let all: Vec<Vec<u8>> = all.collect();
            assert!(all.iter().all(|bytes| *bytes == all[0]), "length {length}");
        }
    }
}
