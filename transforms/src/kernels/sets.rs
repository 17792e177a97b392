//! One loop, compiled for each instruction set: `wide!` makes the copies, `Set::best` chooses.
//!
//! A copy is the same Rust code with other instructions allowed. Rust neither reorders floating-point arithmetic nor fuses a
//! product and a sum, so all copies give the same bytes.
#![allow(unsafe_code)]

use std::sync::OnceLock;

/// A set of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Set {
    /// What every processor of the target has; on aarch64 that includes NEON.
    Portable,
    /// SSE4.1 and SSSE3.
    Sse41,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 with F, BW, DQ, VL and VBMI, and FMA.
    Avx512,
}

impl Set {
    /// Every set that runs here, the best last.
    pub(crate) fn all() -> Vec<Set> {
        let mut sets = vec![Set::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("sse4.1") && is_x86_feature_detected!("ssse3") {
                sets.push(Set::Sse41);
            }
            let fused = is_x86_feature_detected!("fma");
            if is_x86_feature_detected!("avx2") && fused {
                sets.push(Set::Avx2);
            }
            if fused
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi")
            {
                sets.push(Set::Avx512);
            }
        }
        sets
    }

    /// The best set, or the one that `TARFLUME_KERNELS` names: `portable`, `sse4.1`, `avx2`, `avx512`.
    pub(crate) fn best() -> Set {
        static BEST: OnceLock<Set> = OnceLock::new();
        *BEST.get_or_init(|| Set::choose(std::env::var("TARFLUME_KERNELS").ok().as_deref()))
    }

    fn choose(name: Option<&str>) -> Set {
        let sets = Set::all();
        let named = sets.iter().copied().find(|set| Some(set.name()) == name);
        named.unwrap_or(*sets.last().expect("the portable set runs everywhere"))
    }

    fn name(self) -> &'static str {
        match self {
            Set::Portable => "portable",
            Set::Sse41 => "sse4.1",
            Set::Avx2 => "avx2",
            Set::Avx512 => "avx512",
        }
    }
}

/// Makes a function whose first parameter is a [`Set`] from a loop, with a copy of the loop for each set.
///
/// ```ignore
/// wide! {
///     /// Subtracts each byte from 255.
///     pub(crate) fn invert(bytes: &mut [u8]) {
///         for byte in bytes {
///             *byte = 255 - *byte;
///         }
///     }
/// }
/// invert(Set::best(), &mut bytes);
/// ```
///
/// What the loop calls must be `#[inline(always)]` to be compiled for the set, too.
macro_rules! wide {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$doc])*
        #[allow(unsafe_code, clippy::too_many_arguments)]
        $vis fn $name(set: $crate::kernels::sets::Set, $($arg: $type),*) $(-> $out)? {
            #[inline(always)]
            fn portable($($arg: $type),*) $(-> $out)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "sse4.1,ssse3")]
            fn sse41($($arg: $type),*) $(-> $out)? { portable($($arg),*) }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($arg: $type),*) $(-> $out)? { portable($($arg),*) }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,fma")]
            fn avx512($($arg: $type),*) $(-> $out)? { portable($($arg),*) }

            match set {
                // SAFETY: `Set::all` lists a set only if the processor has its instructions.
                #[cfg(target_arch = "x86_64")]
                $crate::kernels::sets::Set::Sse41 => unsafe { sse41($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::kernels::sets::Set::Avx2 => unsafe { avx2($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::kernels::sets::Set::Avx512 => unsafe { avx512($($arg),*) },
                _ => portable($($arg),*),
            }
        }
    };
}
pub(crate) use wide;
