//! Training of one attention layer on in-context denoising (Denoising, Section 3.2 and Appendix D), and,
//! in [`flow`], integration of the gradient flows of theorems.
//!
//! # The layer and its loss
//!
//! For a context $X$ (n, L), a query $q$ and the clean token $x$ behind it, the layer reads $u = \hat\Sigma v$ (linear
//! attention (3), $\hat\Sigma = \frac1L X X^T$) or $u = X \mathrm{softmax}(X^T v)$ (softmax attention (5)) with
//! $v = W_{KQ}\, q$, and gives $\hat x = W_{PV}\, u$. The loss of $B$ prompts is
//! $\ell = \frac{1}{nB} \sum_b \|\hat x_b - x_b\|^2$, per component as in the authors' code; (A.7) has the sum instead.
//!
//! # The gradient
//!
//! With $r_b = \frac{2}{nB} (\hat x_b - x_b)$ and $g_b = W_{PV}^T r_b = \partial\ell/\partial u_b$, a
//! change $dv$ of $v$ changes $u$ by $J\,dv$ with a symmetric $J$:
//! $$J = \hat\Sigma \quad\text{(linear)}, \qquad
//! J = \sum_t p_t X_t X_t^T - u u^T \quad\text{(softmax, } p = \mathrm{softmax}(X^T v)\text{)},$$
//! the latter because $\partial p_t/\partial v = p_t (X_t - u)$. So
//! $$\frac{\partial\ell}{\partial W_{PV}} = \sum_b r_b u_b^T, \qquad
//! \frac{\partial\ell}{\partial W_{KQ}} = \sum_b (J_b g_b)\, q_b^T,$$
//! and $J g = \sum_t p_t (\langle X_t, g\rangle - \langle u, g\rangle) X_t$ needs no n × n matrix. For scaled
//! identities $W_{PV} = \alpha I$, $W_{KQ} = \beta I$ the derivatives by $\alpha$ and $\beta$ are the traces of these.
//!
//! # Cost
//!
//! Linear attention depends on its context through $\hat\Sigma$ alone, so [`Prompts`] stores that matrix and a step
//! costs O(n²) per prompt instead of O(Ln). For softmax attention a context is stored in blocks of 16 tokens and read
//! four times while it is in the first-level cache; operations on a whole batch are matrix products.
//!
//! Results do not depend on the number of threads: each prompt is computed by one thread, and sums
//! over prompts run in their order.

pub mod flow;
mod gradient;
mod kernels;
mod optimiser;
mod prompts;
mod train;
mod weights;

pub use gradient::{gradient, gradient_of, loss, loss_of, outputs};
pub use kernels::Precision;
pub use optimiser::{Optimiser, Recipe};
pub use prompts::{Example, Prompts};
pub use train::{History, order, train};
pub use weights::{Form, Weights};

/// Attention by which the query reads its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// Linear attention, Denoising Eq. (3).
    Linear,
    /// Softmax attention, Denoising Eq. (5).
    Softmax,
}

attnlab_core::named!(Attention, "attention": Linear = "linear", Softmax = "softmax");
