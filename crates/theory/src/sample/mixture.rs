//! The mixture of noisy low-rank Gaussians: AoT Definition 1.
//!
//! Token i of cluster k is  z_i = U_k a_i + Σ_{j≠k} U_j e_{i,j}  with a_i ~ N(0, I_{p_k}) and
//! e_{i,j} ~ N(0, δ² I_{p_j}), all independent. Tokens are columns, ordered by cluster.
//!
//! With jointly orthonormal bases the coefficients Y_k = U_kᵀZ (p_k, N) determine everything: column i of
//! Y_k is a_i if i is in cluster k and e_{i,k} otherwise, and neither the operators nor the SNR depend on
//! the bases themselves. [`Mixture::head`] draws a single Y_k, so that a draw of any size needs memory
//! for one head at a time.

use attnlab_core::error::{Error, Result, at_least, non_negative, require, require_shape};
use attnlab_core::linalg::{
    Real, Threads, coherent_bases, gemm, haar_basis, normal_matrix, orthonormal_bases, product, qr_q,
};
use attnlab_core::rng::{Generator, Streams};
use ndarray::parallel::prelude::*;
use ndarray::{Array2, ArrayViewMut2, Axis, ShapeBuilder};
use rand_distr::{Distribution, StandardNormal};

/// Relative position of the K bases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bases {
    /// Jointly Haar bases with `[U_1 .. U_K]` orthonormal: AoT Eq. (7).
    Orthonormal,
    /// Independent Haar bases, with coherence about sqrt(p/d): the case of AoT's footnote.
    Independent,
    /// Bases with U_kᵀU_l = c·I for every pair k ≠ l: all principal cosines equal the given c in [0, 1).
    Coherent(f64),
}

/// Law of AoT Definition 1 with its parameters.
///
/// ```
/// use attnlab_core::rng::Streams;
/// use attnlab_theory::sample::Mixture;
/// let mixture = Mixture::balanced(60, 2, 8, 0.1).unwrap(); // N, K, p, delta
/// let draw = mixture.draw(&Streams::new(1, "doc", 0, 0)).unwrap();
/// assert_eq!(draw.tokens.dim(), (16, 60)); // (d, N), d = K p unless set
/// assert_eq!(draw.labels[29], 0);
/// assert_eq!(draw.labels[30], 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// Numbers of tokens per cluster, N_k.
    pub counts: Vec<usize>,
    /// Dimensions of the subspaces, p_k.
    pub dims: Vec<usize>,
    /// Ambient dimension d.
    pub ambient: usize,
    /// Noise level δ ≥ 0 (standard deviation).
    pub delta: f64,
    /// Relative position of the bases.
    pub bases: Bases,
}

/// One draw of a [`Mixture`].
#[derive(Clone, Debug)]
pub struct Draw {
    /// Tokens Z (d, N).
    pub tokens: Array2<f64>,
    /// Bases U_k, each (d, p_k).
    pub bases: Vec<Array2<f64>>,
    /// Cluster of each token, counted from 0.
    pub labels: Vec<usize>,
}

impl Mixture {
    /// Makes the setting of AoT Theorem 1: K clusters of N/K tokens in p dimensions each, orthonormal bases, d = K p.
    ///
    /// # Errors
    /// If `tokens` is not a positive multiple of `clusters`, `dim` is 0, or `delta` is not ≥ 0.
    pub fn balanced(tokens: usize, clusters: usize, dim: usize, delta: f64) -> Result<Self> {
        at_least("clusters", clusters, 1)?;
        let allowed = format!("must be a positive multiple of clusters = {clusters}");
        require(tokens > 0 && tokens.is_multiple_of(clusters), "tokens", tokens, allowed)?;
        // K p numbers per token, and K p x K p numbers for the bases, must at least be addressable.
        let ambient = clusters.checked_mul(dim);
        let bytes = ambient.and_then(|d| d.checked_mul(tokens.max(d))?.checked_mul(8));
        let Some(ambient) = ambient.filter(|_| bytes.is_some_and(|b| b <= isize::MAX as usize)) else {
            let allowed = format!("must be smaller; tokens * clusters * dim with dim = {dim} does not fit into memory");
            return Err(Error::invalid("tokens", tokens, allowed));
        };
        let mixture = Mixture {
            counts: vec![tokens / clusters; clusters],
            dims: vec![dim; clusters],
            ambient,
            delta,
            bases: Bases::Orthonormal,
        };
        mixture.validate()?;
        Ok(mixture)
    }

    /// Checks the parameters of the law.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::Shape`] with the parameter, its value and the requirement.
    pub fn validate(&self) -> Result<()> {
        non_negative("delta", self.delta)?;
        let (counts, expected) = (self.counts.len(), format!("one count per subspace ({})", self.dims.len()));
        require_shape(counts > 0 && counts == self.dims.len(), "counts", counts, expected)?;
        if let Some(k) = self.counts.iter().position(|n| *n == 0) {
            return Err(Error::invalid(format!("counts[{k}]"), 0, "must be a whole number >= 1"));
        }
        if let Some(k) = self.dims.iter().position(|p| *p == 0) {
            let name = if self.dims.iter().all(|p| *p == 0) { "dim".into() } else { format!("dims[{k}]") };
            return Err(Error::invalid(name, 0, "must be a whole number >= 1"));
        }
        let (total, largest) = (self.dims.iter().sum(), self.dims.iter().max().copied());
        let need = match self.bases {
            Bases::Orthonormal => total,
            Bases::Independent => largest.unwrap_or(0),
            Bases::Coherent(_) => total + self.dims[0],
        };
        let allowed = format!("must be at least {need}; these bases need that many dimensions");
        require(self.ambient >= need, "ambient", self.ambient, allowed)?;
        let fits = !matches!(self.bases, Bases::Coherent(_)) || self.dims.iter().all(|p| *p == self.dims[0]);
        require_shape(fits, "dims", &self.dims, "equal dimensions for coherent bases")
    }

    /// Returns N, the number of tokens.
    pub fn tokens(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Returns K, the number of clusters.
    pub fn clusters(&self) -> usize {
        self.counts.len()
    }

    /// Returns the cluster of each token, counted from 0.
    pub fn labels(&self) -> Vec<usize> {
        self.counts.iter().enumerate().flat_map(|(k, n)| std::iter::repeat_n(k, *n)).collect()
    }

    /// Returns the token indices C_k of cluster k.
    pub fn cluster(&self, k: usize) -> std::ops::Range<usize> {
        let start = self.counts[..k].iter().sum();
        start..start + self.counts[k]
    }

    /// Draws the latent coefficients of subspace k, (p_k, N) and column-major: column i is a_i for i in
    /// C_k and e_{i,k} otherwise. With orthonormal bases this is U_kᵀZ. The numbers are drawn in f64 and
    /// rounded once to `T`, in parallel over blocks of columns with one stream each.
    pub fn head<T: Real>(&self, k: usize, streams: &Streams) -> Array2<T> {
        self.normals(k, self.dims[k], "coefficients", streams)
    }

    /// Draws the part of head k that determines the scores of its `columns` with all tokens, without
    /// drawing the whole head: a (q, N) matrix with q = min(p_k, number of columns), such that its
    /// products `yᵀ y[:, columns]` have exactly the law of those of [`Mixture::head`].
    ///
    /// The matrix is QᵀY_k for an orthonormal Q (p_k, q) whose span contains the columns. The columns are
    /// drawn in full; the other tokens are independent of them and isotropic, so that their coordinates
    /// in that span are normal too. Products between two tokens outside `columns` have no meaning.
    ///
    /// # Errors
    /// If the columns are linearly dependent, which has probability 0.
    pub fn head_around(&self, k: usize, columns: &[usize], streams: &Streams) -> Result<Array2<f64>> {
        let (p, q) = (self.dims[k], columns.len());
        if q >= p {
            return Ok(self.head(k, streams));
        }
        let full = normal_matrix(p, q, &mut streams.part("columns", k as u64));
        let inside = product(qr_q(full.view())?.t(), full.view());
        let mut y = self.normals(k, q, "around columns", streams);
        let cluster = self.cluster(k);
        for (column, j) in inside.columns().into_iter().zip(columns) {
            let scale = if cluster.contains(j) { 1.0 } else { self.delta };
            y.column_mut(*j).assign(&(&column * scale));
        }
        Ok(y)
    }

    /// Draws independent normals (rows, N), of standard deviation 1 in the columns of cluster k and δ
    /// elsewhere, from the streams named `part`.
    fn normals<T: Real>(&self, k: usize, rows: usize, part: &str, streams: &Streams) -> Array2<T> {
        let mut y = Array2::<T>::zeros((rows, self.tokens()).f());
        y.axis_chunks_iter_mut(Axis(1), Self::BLOCK).into_par_iter().enumerate().for_each(|(block, columns)| {
            self.fill_block(k, block, columns, block_rng(streams, part, k, block));
        });
        y
    }

    /// Number of tokens that share one random stream: the width of the blocks of [`Mixture::head_block`].
    /// It is part of the definition of a draw: another width changes the draws.
    pub const BLOCK: usize = 256;

    /// Draws only the columns `block * BLOCK ..` (up to BLOCK of them, fewer at the end) of
    /// [`Mixture::head`].
    pub fn head_block<T: Real>(&self, k: usize, block: usize, streams: &Streams) -> Array2<T> {
        let width = Self::BLOCK.min(self.tokens().saturating_sub(block * Self::BLOCK));
        let mut y = Array2::<T>::zeros((self.dims[k], width).f());
        let rng = block_rng(streams, "coefficients", k, block);
        self.fill_block(k, block, y.view_mut(), rng);
        y
    }

    fn fill_block<T: Real>(&self, k: usize, block: usize, mut columns: ArrayViewMut2<T>, mut rng: Generator) {
        let cluster = self.cluster(k);
        for (j, mut column) in columns.columns_mut().into_iter().enumerate() {
            let scale = if cluster.contains(&(block * Self::BLOCK + j)) { 1.0 } else { self.delta };
            column.mapv_inplace(|_| {
                let g: f64 = StandardNormal.sample(&mut rng);
                T::of_f64(scale * g)
            });
        }
    }

    /// Draws the bases of a trial.
    ///
    /// # Errors
    /// As [`Mixture::validate`].
    pub fn draw_bases(&self, streams: &Streams) -> Result<Vec<Array2<f64>>> {
        self.validate()?;
        let mut rng = streams.part("bases", 0);
        match self.bases {
            Bases::Orthonormal => orthonormal_bases(self.ambient, &self.dims, &mut rng),
            Bases::Independent => {
                let draw = |(k, p): (usize, &usize)| haar_basis(self.ambient, *p, &mut streams.part("bases", k as u64));
                self.dims.iter().enumerate().map(draw).collect()
            }
            Bases::Coherent(c) => coherent_bases(self.ambient, self.dims[0], self.clusters(), c, &mut rng),
        }
    }

    /// Draws tokens, bases and labels of one trial: Z = Σ_k U_k Y_k (d, N).
    ///
    /// # Errors
    /// As [`Mixture::validate`].
    pub fn draw(&self, streams: &Streams) -> Result<Draw> {
        let bases = self.draw_bases(streams)?;
        let mut tokens = Array2::zeros((self.ambient, self.tokens()).f());
        for (k, basis) in bases.iter().enumerate() {
            let y = self.head::<f64>(k, streams);
            gemm(1.0, basis.view(), y.view(), k > 0, tokens.view_mut(), Threads::All);
        }
        Ok(Draw { tokens, bases, labels: self.labels() })
    }
}

fn block_rng(streams: &Streams, part: &str, k: usize, block: usize) -> Generator {
    // Heads and blocks share one index space, which allows 2^32 blocks of columns.
    streams.part(part, ((k as u64) << 32) | block as u64)
}
