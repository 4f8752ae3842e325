//! Embeddings of tokens: orthonormal as the paper assumes, or with given inner products.

use attnlab_core::error::{Result, require};
use ndarray::{Array1, Array2, s};

/// Embeddings of the contextual tokens and of the query.
#[derive(Clone, Debug, PartialEq)]
pub struct Embeddings {
    /// Contextual embeddings U_C, (d, M_C).
    pub context: Array2<f64>,
    /// Query embedding u_m, (d,).
    pub query: Array1<f64>,
}

impl Embeddings {
    /// The first axes of d = M_C + 1 dimensions: orthonormal, as the paper assumes.
    pub fn orthonormal(tokens: usize) -> Self {
        let axes = Array2::eye(tokens + 1);
        Embeddings { context: axes.slice(s![.., ..tokens]).to_owned(), query: axes.column(tokens).to_owned() }
    }

    /// Unit vectors: contextual ones have the inner product `context` with each other and `query` with the query.
    ///
    /// # Errors
    /// Inner products that no unit vectors have.
    pub fn coherent(tokens: usize, context: f64, query: f64) -> Result<Self> {
        let m = tokens as f64;
        require((0.0..1.0).contains(&context), "coherence", context, "must be a number in [0, 1)")?;
        // U = a I + (b/M) 11ᵀ has UᵀU = a² I + (...) 11ᵀ.
        let a = (1.0 - context).sqrt();
        let sum = (1.0 - context + m * context).sqrt();
        let mut embeddings = Self::orthonormal(tokens);
        let mut top = embeddings.context.slice_mut(s![..tokens, ..]);
        top *= a;
        top += (sum - a) / m;
        // Every column has the inner product `sum` / √M with the unit vector 1/√M.
        let along = query * m.sqrt() / sum;
        let most = sum / m.sqrt();
        require(along.abs() < 1.0, "query_overlap", query, format!("must be a number in (-{most}, {most})"))?;
        let mut first = embeddings.query.slice_mut(s![..tokens]);
        first.fill(along / m.sqrt());
        embeddings.query[tokens] = (1.0 - along * along).sqrt();
        Ok(embeddings)
    }
}
