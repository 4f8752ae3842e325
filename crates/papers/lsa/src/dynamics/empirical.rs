//! Gradient flow on the empirical loss.

use crate::prompts::RegressionPrompts;
use crate::theory::{LsaWeights, Pretraining};
use attnlab_core::error::{Error, Result, require_shape};
use attnlab_core::linalg::product;
use attnlab_core::rng::Generator;
use attnlab_theory::dynamics::flow::VectorField;
use ndarray::{Array1, Array2, s};

/// Gradient flow $\dot\theta = -\nabla\hat L(\theta)$ on the empirical loss $\hat L = \frac{1}{2B}\sum_z(\hat y_z - y_z)^2$ over B prompts,
/// in the axes of the data; the state is [`LsaWeights::to_vec`].
///
/// With $p = (v, u)$, $K = (B; c^T)$ and the Gram matrix $G = \frac1N EE^T$ of a prompt,
/// $\hat y = p^TGKx$: linear in the features $G_{ij}x_k$, of which $F = d(d+1)(d+2)/2$ differ. So the
/// loss needs their second moments alone, and once those are summed a gradient costs O(F²) for any B.
/// Where that is more than the O(Bd²) of the prompts themselves, they are kept instead.
#[derive(Clone, Debug)]
pub struct Empirical {
    dim: usize,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Prompts(Vec<PromptMoments>),
    Moments(FeatureMoments),
}

/// The part of a prompt that the loss keeps.
#[derive(Clone, Debug)]
struct PromptMoments {
    gram: Array2<f64>,
    query: Array1<f64>,
    answer: f64,
}

impl Empirical {
    /// The loss over prompts given as tokens E (d+1, N+1), the query in the last column over a 0,
    /// and the answers to the queries; in the cheaper form.
    ///
    /// # Errors
    /// No prompts, or shapes that do not fit.
    ///
    /// ```
    /// use attnlab_lsa::dynamics::Empirical;
    /// use attnlab_lsa::theory::LsaWeights;
    /// use ndarray::array;
    /// // One prompt of one example, x = 2 with y = 3, and the query 1 with the answer 5.
    /// let loss = Empirical::new([(&array![[2.0, 1.0], [3.0, 0.0]], 5.0)])?;
    /// let mut weights = LsaWeights::zeros(1);
    /// (weights.u, weights.b[[0, 0]]) = (0.5, 1.0);
    /// // The layer predicts u y x B x_query = 3.
    /// assert_eq!(loss.loss(&weights), 0.5 * (3.0_f64 - 5.0).powi(2));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new<'a>(prompts: impl IntoIterator<Item = (&'a Array2<f64>, f64)>) -> Result<Self> {
        let plain = Empirical::plain(prompts)?;
        let Form::Prompts(prompts) = &plain.form else { return Ok(plain) };
        // A gradient from the prompts takes four products of G or K and a vector each.
        let features = features(plain.dim) as f64;
        let direct = prompts.len() as f64 * 4.0 * (plain.dim as f64 + 1.0).powi(2);
        if features * features >= direct {
            return Ok(plain);
        }
        Ok(Empirical { dim: plain.dim, form: Form::Moments(FeatureMoments::summed(plain.dim, prompts)) })
    }

    /// The loss over `count` prompts drawn from the law of `training`.
    ///
    /// # Errors
    /// When `count` is 0.
    pub fn draw(training: &Pretraining, count: usize, rng: &mut Generator) -> Result<Self> {
        let prompts = RegressionPrompts::of_training(training);
        let drawn: Vec<_> =
            (0..count).map(|_| prompts.draw(rng)).map(|prompt| (prompt.tokens(), prompt.answer)).collect();
        Empirical::new(drawn.iter().map(|(tokens, answer)| (tokens, *answer)))
    }

    /// The loss of [`Empirical::new`] with every prompt kept, whatever it costs: the plain definition.
    ///
    /// # Errors
    /// As [`Empirical::new`].
    pub fn plain<'a>(prompts: impl IntoIterator<Item = (&'a Array2<f64>, f64)>) -> Result<Self> {
        let mut moments: Vec<PromptMoments> = vec![];
        for (tokens, answer) in prompts {
            let (rows, columns) = tokens.dim();
            let like = moments.first().map_or(rows, |s| s.gram.nrows());
            let expected = "(d+1, N+1) with d, N >= 1 and the d of the other prompts";
            require_shape(rows >= 2 && columns >= 2 && rows == like, "prompt", tokens.dim(), expected)?;
            let query = tokens.slice(s![..rows - 1, columns - 1]).to_owned();
            let gram = tokens.dot(&tokens.t()) / (columns - 1) as f64;
            moments.push(PromptMoments { gram, query, answer });
        }
        match moments.first() {
            None => Err(Error::invalid("prompts", 0, "must be at least one")),
            Some(first) => Ok(Empirical { dim: first.query.len(), form: Form::Prompts(moments) }),
        }
    }

    /// Empirical loss $\hat L$ at `weights`, in the axes of the data.
    pub fn loss(&self, weights: &LsaWeights) -> f64 {
        match &self.form {
            Form::Moments(moments) => moments.loss(weights),
            Form::Prompts(prompts) => {
                let sum: f64 = prompts.iter().map(|s| s.terms(weights).error.powi(2)).sum();
                0.5 * sum / prompts.len() as f64
            }
        }
    }

    /// Gradient $\nabla\hat L$ at `weights`, both in the axes of the data.
    pub fn gradient(&self, weights: &LsaWeights) -> LsaWeights {
        let prompts = match &self.form {
            Form::Moments(moments) => return moments.gradient(weights),
            Form::Prompts(prompts) => prompts,
        };
        let d = self.dim;
        let mut sum = LsaWeights::zeros(d);
        for prompt in prompts {
            let Terms { gkx, gp, error } = prompt.terms(weights);
            let error = error / prompts.len() as f64;
            sum.u += error * gkx[d];
            sum.v.scaled_add(error, &gkx.slice(s![..d]));
            sum.c.scaled_add(error * gp[d], &prompt.query);
            for (mut row, g) in sum.b.rows_mut().into_iter().zip(&gp) {
                row.scaled_add(error * g, &prompt.query);
            }
        }
        sum
    }
}

/// G K x, G p and ŷ - y of one prompt.
struct Terms {
    gkx: Array1<f64>,
    gp: Array1<f64>,
    error: f64,
}

impl PromptMoments {
    fn terms(&self, weights: &LsaWeights) -> Terms {
        let (p, k) = bilinear(weights);
        let kx = k.dot(&self.query);
        let (gkx, gp) = (self.gram.dot(&kx), self.gram.dot(&p));
        let error = p.dot(&gkx) - self.answer;
        Terms { gkx, gp, error }
    }
}

/// p = (v, u), (d+1), and K = (B; cᵀ), (d+1, d).
fn bilinear(weights: &LsaWeights) -> (Array1<f64>, Array2<f64>) {
    let d = weights.dim();
    let (mut p, mut k) = (Array1::zeros(d + 1), Array2::zeros((d + 1, d)));
    p.slice_mut(s![..d]).assign(&weights.v);
    p[d] = weights.u;
    k.slice_mut(s![..d, ..]).assign(&weights.b);
    k.row_mut(d).assign(&weights.c);
    (p, k)
}

/// Number of different features G_ij x_k.
fn features(d: usize) -> usize {
    (d + 1) * (d + 2) / 2 * d
}

/// Every (i, j, k) of a feature, i ≤ j.
fn places(d: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let pairs = (0..=d).flat_map(move |i| (i..=d).map(move |j| (i, j)));
    pairs.flat_map(move |(i, j)| (0..d).map(move |k| (i, j, k)))
}

/// Moments of $\hat L = \frac12 z^THz - h^Tz + \frac12 s$ in the coefficients z of the features f:
/// $H = \overline{ff^T}$, $h = \overline{yf}$, $s = \overline{y^2}$.
#[derive(Clone, Debug)]
struct FeatureMoments {
    second: Array2<f64>,
    with_answer: Array1<f64>,
    answer_square: f64,
}

/// Prompts whose features stand side by side while the moments are summed.
const BLOCK: usize = 256;

impl FeatureMoments {
    fn summed(d: usize, prompts: &[PromptMoments]) -> Self {
        let size = features(d);
        let mut second = Array2::zeros((size, size));
        let mut with_answer = Array1::zeros(size);
        let mut square = 0.0;
        for block in prompts.chunks(BLOCK) {
            let mut columns = Array2::zeros((size, block.len()));
            for (mut column, prompt) in columns.columns_mut().into_iter().zip(block) {
                for (slot, (i, j, k)) in column.iter_mut().zip(places(d)) {
                    *slot = prompt.gram[[i, j]] * prompt.query[k];
                }
                with_answer.scaled_add(prompt.answer, &column);
                square += prompt.answer * prompt.answer;
            }
            second += &product(columns.view(), columns.t());
        }
        let count = prompts.len() as f64;
        FeatureMoments { second: second / count, with_answer: with_answer / count, answer_square: square / count }
    }

    /// z: the coefficient of G_ij x_k in ŷ.
    fn coefficients(p: &Array1<f64>, k: &Array2<f64>) -> Array1<f64> {
        let coefficient = |(i, j, l)| if i == j { p[i] * k[[i, l]] } else { p[i] * k[[j, l]] + p[j] * k[[i, l]] };
        places(k.ncols()).map(coefficient).collect()
    }

    fn loss(&self, weights: &LsaWeights) -> f64 {
        let (p, k) = bilinear(weights);
        let z = Self::coefficients(&p, &k);
        let half = self.second.dot(&z) * 0.5 - &self.with_answer;
        z.dot(&half) + 0.5 * self.answer_square
    }

    fn gradient(&self, weights: &LsaWeights) -> LsaWeights {
        let (d, (p, k)) = (weights.dim(), bilinear(weights));
        let slope = self.second.dot(&Self::coefficients(&p, &k)) - &self.with_answer;
        let (mut by_p, mut by_k) = (Array1::<f64>::zeros(d + 1), Array2::<f64>::zeros(k.dim()));
        for (g, (i, j, l)) in slope.iter().zip(places(d)) {
            by_p[i] += g * k[[j, l]];
            by_k[[j, l]] += g * p[i];
            if i != j {
                by_p[j] += g * k[[i, l]];
                by_k[[i, l]] += g * p[j];
            }
        }
        LsaWeights {
            u: by_p[d],
            v: by_p.slice(s![..d]).to_owned(),
            c: by_k.row(d).to_owned(),
            b: by_k.slice(s![..d, ..]).to_owned(),
        }
    }
}

impl VectorField for Empirical {
    fn dim(&self) -> usize {
        LsaWeights::len_of(self.dim)
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(&self.gradient(&LsaWeights::of_slice(self.dim, x)).to_vec()).for_each(|(o, g)| *o = -g);
    }
}
