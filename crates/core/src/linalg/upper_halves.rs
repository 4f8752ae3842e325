//! Upper halves of the vector registers, which the engine's products leave in use.
//!
//! Its kernels, in assembly for vectors of 256 and 512 bits, do not end with `vzeroupper`. Until a thread executes one,
//! Intel's processors lose about a hundred cycles at every change between instructions of the old form, as in code for
//! every x86-64, and of the new one, as in the C library: an exponential takes 100 nanoseconds in place of 3, and
//! `attnlab run joma_text --quick` ten times as long (docs/performance.md).

/// Sets them to zero on this thread.
pub(super) fn clear() {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx") {
        // SAFETY: the CPU has the instruction. By every calling convention of this architecture a function may change these
        // halves, so that no caller has anything there. A test reads them.
        #[allow(unsafe_code)]
        unsafe {
            zero();
        }
    }
}

/// As [`clear`], on every thread of the pool: here at once, elsewhere once the thread is free.
#[cfg(not(target_family = "wasm"))]
pub(super) fn clear_everywhere() {
    clear();
    rayon::spawn_broadcast(|_| clear());
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
fn zero() {
    std::arch::x86_64::_mm256_zeroupper();
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::faer_engine::{Field, gemm, qr_q, singular_values, symmetric_eigen};
    use super::super::{Threads, normal_matrix};
    use crate::rng::Streams;
    use ndarray::{Array2, ArrayView2};

    /// Returns whether a bit is set above the lower 128 of the first sixteen vector registers; false without AVX.
    #[allow(unsafe_code)]
    fn in_use() -> bool {
        #[target_feature(enable = "avx")]
        fn above() -> bool {
            let mut registers = [[0_u64; 4]; 16];
            // SAFETY: each instruction stores 32 bytes, and they are 512 together.
            unsafe {
                std::arch::asm!(
                    "vmovups [{p}], ymm0", "vmovups [{p} + 32], ymm1", "vmovups [{p} + 64], ymm2", "vmovups [{p} + 96], ymm3",
                    "vmovups [{p} + 128], ymm4", "vmovups [{p} + 160], ymm5", "vmovups [{p} + 192], ymm6",
                    "vmovups [{p} + 224], ymm7", "vmovups [{p} + 256], ymm8", "vmovups [{p} + 288], ymm9",
                    "vmovups [{p} + 320], ymm10", "vmovups [{p} + 352], ymm11", "vmovups [{p} + 384], ymm12",
                    "vmovups [{p} + 416], ymm13", "vmovups [{p} + 448], ymm14", "vmovups [{p} + 480], ymm15",
                    p = in(reg) registers.as_mut_ptr(),
                );
            }
            registers.iter().any(|register| register[2..] != [0, 0])
        }
        // SAFETY: the CPU has the instructions.
        std::is_x86_feature_detected!("avx") && unsafe { above() }
    }

    /// Without the calls of [`super::clear`] each of these fails; the products on all threads are large enough for several.
    #[test]
    fn no_operation_leaves_them_in_use() {
        let mut rng = Streams::new(1, "upper", 0, 0).part("matrix", 0);
        let a: Array2<f64> = normal_matrix(120, 100, &mut rng);
        let narrow = a.mapv(|x| x as f32);
        fn square<T: Field>(a: ArrayView2<T>, threads: Threads) -> Array2<T> {
            let mut c = Array2::zeros((a.ncols(), a.ncols()));
            gemm(T::one(), a.t(), a, false, c.view_mut(), threads);
            c
        }
        for threads in [Threads::One, Threads::All] {
            square(a.view(), threads);
            assert!(!in_use(), "{threads:?}");
            square(narrow.view(), threads);
            assert!(!in_use(), "{threads:?}");
        }
        let gram = square(a.view(), Threads::One);
        for (name, operation) in [
            ("QR", &(|| drop(qr_q(a.view()))) as &dyn Fn()),
            ("singular values", &|| drop(singular_values(a.view()))),
            ("eigenvalues", &|| drop(symmetric_eigen(gram.view()))),
        ] {
            operation();
            assert!(!in_use(), "{name}");
        }
    }
}
