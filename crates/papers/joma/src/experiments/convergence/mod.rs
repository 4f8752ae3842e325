//! JoMA Theorem 4: how much faster salient components converge, against the bounds.

use crate::PAPERS;
use crate::dynamics::Salient;
use crate::quantities::{MU_J, MU_K, PART};
use crate::theory::convergence::{LARGEST_REMAINDER, remainder};
use attnlab_lab::experiment::draw::{cells, points, with_word};
use attnlab_lab::figure::{Axis, GREY, INK, Marker, Panel, Point, Rule, Series};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method, Watch};
use rand::RngExt;
use std::f64::consts::PI;

attnlab_lab::settings! {
    /// The ratio (7) along Eq. (6) for chosen pairs, and λ_jk for random ones.
    #[experiment("joma.convergence", rows = "joma_convergence",
        title = "Convergence of salient and other components, against Theorem 4")]
    #[source(&PAPERS[0], "Theorem 4, Eqs. (6), (7), (88)")]
    pub struct JomaConvergence {
        pub trials: u64 = spread,
        pub pairs: Vec<[f64; 2]> = positive,
        pub gap: f64 = positive,
        pub draws: usize = whole(1..),
        pub high: f64 = positive,
    }
}

/// ln(1/δ) of both components along Eq. (6), at every step, until component k is at `gap`.
fn run(mu: [f64; 2], gap: f64) -> Result<(Vec<f64>, Vec<f64>)> {
    let (mut j, mut k) = (vec![], vec![]);
    let mut look = |_: f64, x: &[f64]| {
        if x[1] > 0.0 && x[1] <= gap {
            j.push(x[0]);
            k.push(x[1]);
        }
    };
    let event = |x: &[f64]| gap - x[1];
    let watch = Watch { event: Some(&event), step: Some(&mut look), ..Watch::default() };
    let path = Flow::new(Method::Tsit45).watched(&Salient::new(mu.to_vec())?, &[0.0; 2], &[1.01 * gap], watch)?;
    let end = path.end();
    j.push(end[0]);
    k.push(end[1]);
    Ok((j, k))
}

fn half(mu: f64) -> f64 {
    (0.5 * mu * mu).exp()
}

impl Experiment for JomaConvergence {
    fn validate(&self) -> Result<()> {
        match self.pairs.as_flattened().iter().chain([&self.high]).find(|m| **m > 8.0) {
            Some(bad) => Err(Error::invalid("mu", bad, "must be at most 8; rates are exp(mu^2 / 2)")),
            None => Ok(()),
        }
    }

    /// One cell per pair, and one for the random pairs.
    fn cells(&self) -> Result<Vec<Params>> {
        let pair = |[j, k]: &[f64; 2]| Params::from_iter([PART.is("pair"), MU_J.is(*j), MU_K.is(*k)]);
        Ok(self.pairs.iter().map(pair).chain([Params::from_iter([PART.is("random")])]).collect())
    }

    /// "l_j" and "l_k", ln(1/δ) of the flow, and its "steps"; of random pairs "lambda" and "gap", ln(1/δ_k).
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let mut data = Map::new();
        if cell.get(PART) == "pair" {
            let (j, k) = run([cell.get(MU_J), cell.get(MU_K)], self.gap)?;
            data.insert("l_j".into(), store::series(&j));
            data.insert("l_k".into(), store::series(&k));
            // One more point than steps: the event at ln(1/δ_k) = gap.
            data.insert("steps".into(), (j.len() - 1).into());
            return Ok(data);
        }
        let mut rng = streams.part("pairs", 0);
        let (mut lambdas, mut gaps) = (vec![], vec![]);
        for _ in 0..self.draws {
            let mut mu = || 0.05 + (self.high - 0.05) * rng.random::<f64>();
            let pair = [mu(), mu()];
            let (j, k) = run(pair, 0.1 * (self.gap / 0.1).powf(rng.random::<f64>()))?;
            let (l_j, l_k) = (j[j.len() - 1], k[k.len() - 1]);
            let big = l_j / l_k * half(pair[1]) / half(pair[0]) - 1.0;
            lambdas.push(big * l_k / half(pair[1]));
            gaps.push(l_k);
        }
        data.insert("lambda".into(), store::series(&lambdas));
        data.insert("gap".into(), store::series(&gaps));
        Ok(data)
    }

    fn size(&self) -> String {
        format!("{} batches of {} pairs", self.trials, self.draws)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        let cells = cells(Self::NAME, rows)?;
        let [pairs, random] = ["pair", "random"].map(|part| with_word(&cells, PART, part));
        let panels = vec![self.ratios(&pairs)?, lambdas(&random)?, remainders(self.high)];
        Ok(vec![Figure::page(Self::NAME, "Convergence of salient and other components", 3, panels).captioned(format!(
            "Eq. (6) from 0. (a): ratio of ln(1/*δ*_{{j}}) to ln(1/*δ*_{{k}}) over its limit e^{{*μ*_{{j}}²/2 − \
             *μ*_{{k}}²/2}}, that is 1 + *Λ* of (7), along the flow; dashed: its approach by the remainders at *δ* = \
             0, (*ρ*_{{k}} − *ρ*_{{j}})e^{{*μ*_{{k}}²/2}}/ln(1/*δ*_{{k}}). (b): |*λ*_{{jk}}| of {} random pairs, *μ* \
             uniform up to {}, at random moments; rules: the best constant {LARGEST_REMAINDER} and the printed √(2π) + \
             2. (c): the remainder of (88) at *δ* = 0 against its best and its printed bound.",
            self.draws * self.trials as usize,
            self.high,
        ))])
    }
}

impl JomaConvergence {
    fn ratios(&self, cells: &[&[Row]]) -> Result<Panel> {
        let mut panel = Panel::new("ratio of convergence", Axis::log("ln(1/*δ*_{k})"), Axis::log("1 + *Λ*"))
            .ruled(Rule::horizontal("", 1.0));
        for (colour, cell) in cells.iter().enumerate() {
            let row = &cell[0];
            let (mu_j, mu_k) = (row.parameter(MU_J.name)?, row.parameter(MU_K.name)?);
            let (j, k) = (row.series("l_j")?, row.series("l_k")?);
            let ratio = |(j, k): (&f64, &f64)| j / k * half(mu_k) / half(mu_j);
            let ratios: Vec<f64> = j.iter().zip(&k).map(ratio).collect();
            // From the smallest gaps on, in which all components are alike, the curve is flat.
            let shown: Vec<Point> = points(&k, &ratios).into_iter().filter(|p| p.x >= 0.05).collect();
            let rest = remainder(0.0, mu_k) - remainder(0.0, mu_j);
            let law = |p: &Point| Point::at(p.x, 1.0 + rest * half(mu_k) / p.x);
            let near = shown.iter().map(law).filter(|p| p.x >= 2.0 && p.y > 0.0).collect();
            panel = panel
                .with(Series::fitted(format!("*μ*_{{j}} = {mu_j}, *μ*_{{k}} = {mu_k}"), colour, shown))
                .with(Series::predicted("remainders at *δ* = 0", GREY, near));
        }
        Ok(panel)
    }
}

fn lambdas(cells: &[&[Row]]) -> Result<Panel> {
    let mut pairs = vec![];
    for row in cells.iter().flat_map(|cell| cell.iter()) {
        let (gaps, lambdas) = (row.series("gap")?, row.series("lambda")?);
        pairs.extend(gaps.iter().zip(&lambdas).map(|(g, l)| Point::at(*g, l.abs())));
    }
    pairs.sort_by(|a, b| a.x.total_cmp(&b.x));
    Ok(Panel::new("random pairs", Axis::log("ln(1/*δ*_{k})"), Axis::log("|*λ*_{jk}|").from_to(1e-4, 10.0))
        .with(Series::marks("", 0, Marker::Circle, pairs))
        .ruled(Rule::horizontal("", LARGEST_REMAINDER))
        .ruled(Rule::horizontal("", (2.0 * PI).sqrt() + 2.0)))
}

fn remainders(high: f64) -> Panel {
    let most = high.max(4.0);
    let point = |i: u32| {
        let mu = most * f64::from(i) / 200.0;
        Point::at(mu, remainder(0.0, mu))
    };
    Panel::new("remainder of (88)", Axis::linear("*μ*"), Axis::linear("*ρ*(0, *μ*)").from_to(0.0, 2.5))
        .with(Series::fitted("", INK, (0..=200).map(point).collect()))
        .ruled(Rule::horizontal("", LARGEST_REMAINDER))
        .ruled(Rule::horizontal("", (0.5 * PI).sqrt() + 1.0))
}
