//! Closed forms of JoMA with names. None has defaults: a closed form is asked at parameters that one means.

use crate::quantities::*;
use crate::theory::marginal::{Marginal, Plane};
use crate::theory::{Betas, CriticalPoint, attention_entropy, chance, convergence, critical, linear, tree};
use attnlab_core::error::{Error, Result, require_shape};
use attnlab_core::params::{Params, Quantity, Schema, Word};
use attnlab_lab::formula::Formula;
use serde_json::Value;

/// The closed forms of this room, in the order of the paper.
pub fn formulas() -> Vec<Formula> {
    vec![
        // Linear layer.
        entry(
            "joma.theorem2",
            "v(t) from zero: linear activation, exp attention, A = 1",
            "JoMA Theorem 2, Eq. (3) integrated: sqrt(2) erfinv(sqrt(2/pi) gradient t)",
            || vec![DELTA.required(), TIME.required()],
            |p| Ok(linear::weights(&p.get(DELTA), p.get(TIME))?.into()),
        ),
        entry(
            "joma.blow_up",
            "time at which the largest component of v blows up",
            "JoMA Theorem 2, Eq. (3) integrated: sqrt(pi/2) / max |gradient|",
            || vec![DELTA.required()],
            |p| Ok(linear::blow_up(&p.get(DELTA)).into()),
        ),
        entry(
            "joma.loser_limits",
            "limits of all components but the largest, in their order, at its blow-up",
            "JoMA Theorem 2, remarks: sqrt(2) erfinv(gradient / max |gradient|)",
            || vec![DELTA.required()],
            |p| Ok(linear::loser_limits(&p.get(DELTA)).into()),
        ),
        // Isotropic inputs.
        entry(
            "joma.theta1",
            "theta_1 of Lemma 1 at rho = r/|v|",
            "JoMA Eq. (40), homogeneous activation: c_- + (c_+ - c_-) P[t > -rho]",
            coordinate_schema,
            |p| Ok(coordinate(p)?.theta1(slopes(p)?, p.get(PLACE)).into()),
        ),
        entry(
            "joma.theta2",
            "theta_2 of Lemma 1 at rho = r/|v|",
            "JoMA Eq. (41), homogeneous activation: (c_+ - c_-) E[t; t > -rho]",
            coordinate_schema,
            |p| Ok(coordinate(p)?.theta2(slopes(p)?, p.get(PLACE)).into()),
        ),
        entry(
            "joma.big_f",
            "F of Lemma 3 at rho = r/|v|",
            "JoMA Eq. (49): theta_2(rho) + rho theta_1(rho) = E phi(t + rho)",
            coordinate_schema,
            |p| Ok(coordinate(p)?.f(slopes(p)?, p.get(PLACE)).into()),
        ),
        entry(
            "joma.big_g",
            "G of Lemma 4: F where theta_1 is y",
            "JoMA Eq. (57), by bisection",
            || with_law(COORDINATE_LAW, vec![SLOPES.required(), LEVEL.required()]),
            |p| Ok(coordinate(p)?.g(slopes(p)?, p.get(LEVEL))?.into()),
        ),
        entry(
            "joma.lemma1",
            "E[x psi] entry by entry, then E[psi], R = I",
            "JoMA Lemma 1, Eq. (23), corrected: at rho = r/|v|, without powers of |v|",
            lemma1_schema,
            |p| lemma1(p, false),
        ),
        entry(
            "joma.lemma1_printed",
            "the same as printed: at r, over |v|^3 and |v|",
            "JoMA Lemma 1, Eq. (23)",
            lemma1_schema,
            |p| lemma1(p, true),
        ),
        entry(
            "joma.lemma2",
            "rate of v entry by entry, then that of xi, of a node on a mixture",
            "JoMA Lemma 2, Eqs. (42), (43), with Lemma 1 corrected",
            lemma2_schema,
            |p| lemma2(p, false),
        ),
        entry("joma.lemma2_printed", "the same as printed", "JoMA Lemma 2, Eqs. (42), (43)", lemma2_schema, |p| {
            lemma2(p, true)
        }),
        // Critical points.
        entry(
            "joma.critical_point",
            "[rho_+, a_-/a_+] of the critical point of two components with this rho_-",
            "JoMA Eq. (56) at rho = r/|v|: one value of F/theta_1, by bisection",
            || critical_schema(vec![]),
            |p| critical_point(p, 1.0).map(|point| vec![point.plus, point.weight].into()),
        ),
        entry(
            "joma.betas",
            "[beta_1, beta_2] of Theorem 3 at the critical point with this rho_- and |mu|, a_+ = 1",
            "JoMA Eq. (5) for the layer's field, Lemma 1 corrected",
            || critical_schema(vec![LENGTH.meaning("length of the critical point").required()]),
            |p| Ok(both(critical_point(p, p.get(LENGTH))?.betas())),
        ),
        entry(
            "joma.betas_printed",
            "[beta_1, beta_2] as printed at the critical point of (50) with r_- = rho_-, |mu| = 1, a_+ = 1",
            "JoMA Eqs. (73), (74)",
            || critical_schema(vec![]),
            |p| Ok(both(critical_point(p, 1.0)?.betas_printed())),
        ),
        entry(
            "joma.joint_eigenvalues",
            "eigenvalues of the field of (v, xi): in their plane with mu, across mu, along the ray",
            "JoMA Theorem 3 with xi free: -(c_+ - c_-)(1 + rho_-^2)(a_- p(rho_-) - a_+ p(rho_+))/|mu|, -beta_1, 0",
            || critical_schema(vec![LENGTH.meaning("length of the critical point").required()]),
            |p| {
                let point = critical_point(p, p.get(LENGTH))?;
                Ok(vec![-point.joint_rate(), -point.betas().one, 0.0].into())
            },
        ),
        entry(
            "joma.eq58",
            "left side of (58) under ReLU, which asks for at least 1/4",
            "JoMA Eq. (58): theta_2(0) p_n(0)",
            || with_law(COORDINATE_LAW, vec![]),
            |p| coordinate(p).map(|law| (law.theta2((0.0, 1.0), 0.0) * law.density(0.0)).into()),
        ),
        // With attention.
        entry(
            "joma.f",
            "time at which a component with target mu has come to the share r of it",
            "JoMA Eq. (79)",
            || vec![TARGET.required(), SHARE.required()],
            |p| Ok(convergence::time_to(p.get(SHARE), p.get(TARGET)).into()),
        ),
        entry(
            "joma.log_inverse_gap",
            "ln 1/delta(t), delta = 1 - v/mu, of a component with target mu",
            "JoMA Eq. (6) from v = 0: the root of Eq. (79) = t",
            || vec![TARGET.required(), TIME.required()],
            |p| log_inverse_gap(p.get(TARGET), p.get(TIME)),
        ),
        entry(
            "joma.lambda",
            "correction Lambda(t) of the ratio of convergence of components j and k",
            "JoMA Eq. (7), exactly: (rho_k - rho_j) exp(mu_k^2/2) / ln(1/delta_k)",
            || vec![MU_J.required(), MU_K.required(), TIME.required()],
            |p| Ok(convergence::lambda(p.get(MU_J), p.get(MU_K), p.get(TIME)).into()),
        ),
        entry(
            "joma.lambda_jk",
            "lambda_jk(t) = rho_k - rho_j of Theorem 4; at most .864326 in size",
            "JoMA Theorem 4, after Eq. (7)",
            || vec![MU_J.required(), MU_K.required(), TIME.required()],
            |p| {
                let t = p.get(TIME);
                let rest = |mu: f64| convergence::remainder((-convergence::log_inverse_gap(mu, t)).exp(), mu);
                Ok((rest(p.get(MU_K)) - rest(p.get(MU_J))).into())
            },
        ),
        entry(
            "joma.remainder",
            "remainder rho(delta, mu) = F - exp(-mu^2/2) ln(1/delta)",
            "JoMA Eq. (88)",
            || vec![GAP.required(), TARGET.required()],
            |p| Ok(convergence::remainder(p.get(GAP), p.get(TARGET)).into()),
        ),
        entry(
            "joma.largest_remainder",
            "[supremum of the remainder, the mu at which delta -> 0 attains it], rounded up",
            "JoMA Eq. (88), which prints sqrt(pi/2) + 1",
            Vec::new,
            |_| Ok(vec![convergence::LARGEST_REMAINDER, convergence::LARGEST_REMAINDER_AT].into()),
        ),
        entry(
            "joma.lemma6",
            "g(y) = (1 - exp(-y^2))/y; its maximum is .638173, at y = 1.120906",
            "JoMA Lemma 6, which prints the bound 1/sqrt(2)",
            || vec![ARGUMENT.required()],
            |p| Ok(convergence::lemma6(p.get(ARGUMENT)).into()),
        ),
        entry(
            "joma.lemma7",
            "G(y) = exp(-y^2/2) int_0^y exp(x^2/2) dx; its maximum is .765152, at y = 1.306930",
            "JoMA Lemma 7, which prints the bound 1",
            || vec![ARGUMENT.required()],
            |p| Ok(convergence::lemma7(p.get(ARGUMENT)).into()),
        ),
        entry(
            "joma.entropy_dip",
            "[least entropy of softmax(v^2), nats, its time, entropy in the end] along Eq. (6) from v = 0",
            "JoMA Eq. (6), Fig. 4: the closed form of v(t), minimised over t",
            || vec![TARGET_VECTOR.required()],
            |p| attention_entropy::dip(&p.get(TARGET_VECTOR)).map(|dip| vec![dip.least, dip.time, dip.end].into()),
        ),
        // Latent trees.
        entry(
            "joma.tree_cooccurrence",
            "P[y_l = 1 | y_m = 1] of two tokens by the height of their common latent ancestor",
            "JoMA Theorem 5 with rho_0 = 2 p.p_0 - 1",
            tree_schema,
            |p| cooccurrence(p, tree::cooccurrence),
        ),
        entry(
            "joma.tree_cooccurrence_printed",
            "the same as printed, with a probability in place of a correlation",
            "JoMA Theorem 5 with rho_0 = p.p_0",
            tree_schema,
            |p| cooccurrence(p, tree::cooccurrence_printed),
        ),
        entry(
            "joma.tree_cooccurrence_class",
            "the same for two tokens whose only common ancestor is the class",
            "beside JoMA Theorem 5: sum_k p_k a_k b_k / sum_k p_k b_k",
            || {
                vec![
                    RHO.required(),
                    DEPTH.required(),
                    CLASS_PROBABILITIES.required(),
                    CHILD_ZERO.meaning("law of the child of the root above token l").required(),
                    CHILD_ZERO_M.required(),
                ]
            },
            |p| {
                let (depth, classes) = (p.get(DEPTH) as u32, p.get(CLASS_PROBABILITIES));
                let (l, m) = (p.get(CHILD_ZERO), p.get(CHILD_ZERO_M));
                given(tree::class_cooccurrence(p.get(RHO), depth, &classes, &l, &m)?)
            },
        ),
        // Chance levels.
        entry(
            "joma.largest_correlation",
            "mean of the largest of the correlations of independent normal units with one latent",
            "chance level of JoMA Table 1: centred columns are isotropic in n - 1 dimensions",
            || vec![UNITS.required(), POINTS.required()],
            |p| Ok(chance::largest_correlation(p.get(UNITS), p.get(POINTS))?.into()),
        ),
        entry(
            "joma.stable_rank_chance",
            "stable rank of a matrix of independent entries, to leading order",
            "chance level of JoMA Fig. 7: mn/(sqrt(m) + sqrt(n))^2, Bai and Yin",
            || vec![ROWS.required(), COLUMNS.required()],
            |p| Ok(chance::stable_rank(p.get(ROWS), p.get(COLUMNS)).into()),
        ),
        entry(
            "joma.entropy_ceiling",
            "mean entropy of uniform causal attention, nats",
            "ceiling of JoMA Figs. 6 to 8: ln(n!)/n",
            || vec![POSITIONS.required()],
            |p| Ok(chance::causal_entropy(p.get(POSITIONS)).into()),
        ),
    ]
}

/// Shorthand for an entry.
fn entry(
    id: &'static str,
    doc: &'static str,
    source: &'static str,
    schema: fn() -> Schema,
    value: fn(&Params) -> Result<Value>,
) -> Formula {
    Formula { id, doc, source, schema, value }
}

/// The parameters of a law of one coordinate before others; ν and n have values for laws without them.
fn with_law(law: Quantity<Word>, others: Schema) -> Schema {
    let dim = DIM.meaning("dimension of the ball; the other laws are the same in all").or(3);
    [vec![law.required(), NU.or(3.0), dim], others].concat()
}

fn coordinate_schema() -> Schema {
    with_law(COORDINATE_LAW, vec![SLOPES.required(), PLACE.required()])
}

fn coordinate(p: &Params) -> Result<Marginal> {
    Marginal::parse(p.get(COORDINATE_LAW), p.get(NU), p.get(DIM))
}

/// The slopes (c_-, c_+).
fn slopes(p: &Params) -> Result<(f64, f64)> {
    match p.get(SLOPES)[..] {
        [minus, plus] => Ok((minus, plus)),
        ref other => Err(Error::shape(SLOPES.name, [other.len()], "two numbers, c_- and c_+")),
    }
}

fn lemma1_schema() -> Schema {
    with_law(COORDINATE_LAW, vec![SLOPES.required(), WEIGHT.required(), CENTRE.required(), BIAS.required()])
}

fn lemma1(p: &Params, printed: bool) -> Result<Value> {
    let plane = Plane { v: p.get(WEIGHT), mean: p.get(CENTRE), xi: p.get(BIAS) };
    Ok(coordinate(p)?.lemma1(slopes(p)?, &plane, printed)?.into())
}

fn lemma2_schema() -> Schema {
    let node = [SLOPES.required(), WEIGHT.required(), BIAS.required(), CENTRES.required(), MIXTURE.required()];
    with_law(COORDINATE_LAW, node.into())
}

/// The sum over components of a_j times Lemma 1's right sides.
fn lemma2(p: &Params, printed: bool) -> Result<Value> {
    let (law, slopes) = (coordinate(p)?, slopes(p)?);
    let (centres, a) = (p.get(CENTRES), p.get(MIXTURE));
    let expected = format!("one number per row of means, {} of them", centres.nrows());
    require_shape(a.len() == centres.nrows(), MIXTURE.name, [a.len()], expected)?;
    let mut sum = vec![0.0; centres.ncols() + 1];
    for (centre, a) in centres.rows().into_iter().zip(&a) {
        let plane = Plane { v: p.get(WEIGHT), mean: centre.to_vec(), xi: p.get(BIAS) };
        for (sum, x) in sum.iter_mut().zip(law.lemma1(slopes, &plane, printed)?) {
            *sum += a * x;
        }
    }
    Ok(sum.into())
}

fn critical_schema(others: Schema) -> Schema {
    [with_law(LAW, vec![SLOPES.required(), MINUS.required()]), others].concat()
}

fn critical_point(p: &Params, length: f64) -> Result<CriticalPoint> {
    let Marginal::Of(law) = Marginal::parse(p.get(LAW), p.get(NU), p.get(DIM))? else {
        return Err(Error::unknown("law", p.get(LAW), Marginal::NAMES));
    };
    critical::CriticalPoint::new(law, slopes(p)?, p.get(MINUS), length)
}

fn both(Betas { one, two }: Betas) -> Value {
    vec![one, two].into()
}

fn tree_schema() -> Schema {
    let root = [CLASS_PROBABILITIES, CHILD_ZERO].map(|law| law.required());
    [RHO.required(), DEPTH.required(), ANCESTOR_HEIGHT.required()].into_iter().chain(root).collect()
}

fn log_inverse_gap(mu: f64, t: f64) -> Result<Value> {
    let value = convergence::log_inverse_gap(mu, t);
    let message = "is beyond the largest number: it grows like e^(mu^2/2) t; choose a smaller mu or t";
    let beyond = || Error::undefined(format!("ln 1/delta at mu = {mu} and t = {t} {message}"));
    value.is_finite().then(|| value.into()).ok_or_else(beyond)
}

type Cooccurrence = fn(f64, u32, u32, &[f64], &[f64]) -> Result<f64>;

fn cooccurrence(p: &Params, closed_form: Cooccurrence) -> Result<Value> {
    // At most 2^20 by their domains.
    let (depth, height) = (p.get(DEPTH) as u32, p.get(ANCESTOR_HEIGHT) as u32);
    let (classes, zero) = (p.get(CLASS_PROBABILITIES), p.get(CHILD_ZERO));
    given(closed_form(p.get(RHO), depth, height, &classes, &zero)?)
}

/// A probability given that token m appears.
fn given(probability: f64) -> Result<Value> {
    let message = "token m never appears, P[y_m = 1] = 0: there is no probability given that it does";
    (!probability.is_nan()).then(|| probability.into()).ok_or_else(|| Error::undefined(message))
}
