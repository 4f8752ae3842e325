//! JoMA Fig. 4: salient components first, and the entropy of attention drops and rebounds.

use crate::PAPERS;
use crate::dynamics::{ByRate, Salient};
use crate::quantities::SETTING;
use crate::theory::attention_entropy::{VISIBLE, entropy_of};
use attnlab_lab::experiment::draw::{cells, lists, points, with_word};
use attnlab_lab::figure::{Axis, GREY, INK, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method, Watch, descend};
use rand::RngExt;

attnlab_lab::settings! {
    /// Fig. 4 in the paper's settings and in those of the authors' code, and over random μ.
    #[experiment("joma.entropy", rows = "joma_entropy",
        title = "Nonlinear dynamics with attention: salient first, drop and rebound")]
    #[source(&PAPERS[0], "Figure 4, Eq. (6)")]
    pub struct JomaEntropy {
        pub trials: u64 = spread,
        pub mu: Vec<f64> = positive,
        pub steps: usize = whole(20..),
        pub eta: f64 = positive,
        pub start: f64 = positive,
        pub temperature: f64 = positive,
        pub draws: usize = whole(1..),
        pub low: f64 = positive,
        pub high: f64,
    }
}

/// Times of the flow and moments of descent at which v is shown.
const SHOWN: usize = 6;
/// ln(1/δ) at which the slowest component has converged.
const CONVERGED: f64 = 12.0;

/// One run: its clock, entropies, and weights at some moments.
struct Run {
    clock: Vec<f64>,
    entropy: Vec<f64>,
    shown: Vec<(f64, Vec<f64>)>,
}

impl JomaEntropy {
    /// Eq. (6) from 0, entropy of softmax(v²).
    fn text(&self, mu: &[f64]) -> Result<Run> {
        let flow = Salient::new(mu.to_vec())?;
        let (mut clock, mut entropy) = (vec![], vec![]);
        let mut look = |t: f64, x: &[f64]| {
            clock.push(t);
            entropy.push(entropy_of(&flow.weights(x), 1.0));
        };
        // The interesting part, then the end.
        let (first, last) = (0.2_f64, 1.2_f64);
        let time = |i: usize| first * (last / first).powf(i as f64 / (SHOWN - 2) as f64);
        let shown: Vec<f64> = (0..SHOWN - 1).map(time).chain([CONVERGED]).collect();
        let integrator = Flow::new(Method::Tsit45).within(1e-8);
        let path = integrator.watched(&flow, &vec![0.0; mu.len()], &shown, Watch::steps(&mut look))?;
        let shown = path.times.iter().zip(&path.states);
        Ok(Run { clock, entropy, shown: shown.map(|(t, x)| (*t, flow.weights(x))).collect() })
    }

    /// Gradient descent as in the code: e^{v²/T} over its sum, from a small weight.
    fn code(&self, mu: &[f64]) -> Result<Run> {
        // The code's own update, in v.
        let field = ByRate(mu.len(), |v: &[f64], out: &mut [f64]| {
            for (o, v) in out.iter_mut().zip(v) {
                *o = (v * v / self.temperature).exp();
            }
            let sum: f64 = out.iter().sum();
            for ((o, v), mu) in out.iter_mut().zip(v).zip(mu) {
                *o *= (mu - v) / sum;
            }
        });
        let (mut clock, mut entropy, mut shown) = (vec![], vec![], vec![]);
        let until = self.steps as f64 * self.eta;
        let moment = |i: usize| (self.steps as f64 * 20.0_f64.powf(i as f64 / 5.0 - 1.0)) as usize;
        let moments: Vec<usize> = (0..SHOWN).map(moment).collect();
        let mut look = |t: f64, v: &[f64]| {
            let step = (t / self.eta).round() as usize;
            clock.push(step as f64);
            entropy.push(entropy_of(v, 1.0 / self.temperature));
            if moments.contains(&step) {
                shown.push((step as f64, v.to_vec()));
            }
        };
        descend(&field, &vec![self.start; mu.len()], self.eta, &[until], Watch::steps(&mut look))?;
        Ok(Run { clock, entropy, shown })
    }

    fn weights(&self, setting: &str, row: &Row) -> Result<Panel> {
        let title = if setting == "text" { "Eq. (6): weights" } else { "authors' code: weights" };
        let index: Vec<f64> = (1..=self.mu.len()).map(|i| i as f64).collect();
        let panel = Panel::new(title, Axis::whole("component, sorted"), Axis::linear("*v*"));
        let panel = panel.curves(row.series("shown")?, |i, moment| {
            let label = match setting {
                "text" => format!("*t* = {}", attnlab_core::format::significant(moment, 2)),
                _ => format!("step {moment}"),
            };
            Ok(Series::measured(label, i, points(&index, &row.series(&format!("v_{i}"))?)))
        })?;
        Ok(panel.with(Series::predicted("target *μ*", INK, points(&index, &self.mu))))
    }
}

impl Experiment for JomaEntropy {
    fn validate(&self) -> Result<()> {
        require(self.mu.len() >= 2, "mu", format!("{:?}", self.mu), "must hold at least two targets")?;
        if let Some(bad) = self.mu.iter().find(|m| **m > 20.0 || **m <= self.start) {
            return Err(Error::invalid("mu", bad, format!("must be above start = {} and at most 20", self.start)));
        }
        let allowed = format!("must be from low = {} to 20", self.low);
        require(self.high >= self.low && self.high <= 20.0, "high", self.high, allowed)
    }

    fn cells(&self) -> Result<Vec<Params>> {
        Ok(["text", "code"].map(|setting: &str| [SETTING.is(setting)].into_iter().collect()).to_vec())
    }

    /// "clock", "entropy" and "v_0".. at "shown" of the given μ; "drop" and "rebound" of random μ.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let run = |mu: &[f64]| if cell.get(SETTING) == "text" { self.text(mu) } else { self.code(mu) };
        let given = run(&self.mu)?;
        let mut data = Map::new();
        // The curve needs no more points than it has bends.
        let every = given.clock.len().div_ceil(600);
        let thin = |xs: &[f64]| store::series(&xs.iter().copied().step_by(every).collect::<Vec<_>>());
        data.insert("clock".into(), thin(&given.clock));
        data.insert("entropy".into(), thin(&given.entropy));
        data.insert("steps".into(), (given.clock.len() - 1).into());
        let moments: Vec<f64> = given.shown.iter().map(|(t, _)| *t).collect();
        data.insert("shown".into(), store::series(&moments));
        for (i, (_, v)) in given.shown.iter().enumerate() {
            data.insert(format!("v_{i}"), store::series(v));
        }
        let mut rng = streams.part("mu", 0);
        let (mut drops, mut rebounds) = (vec![], vec![]);
        for _ in 0..self.draws {
            let mut mu: Vec<f64> =
                (0..self.mu.len()).map(|_| self.low + (self.high - self.low) * rng.random::<f64>()).collect();
            mu.sort_by(f64::total_cmp);
            let entropy = run(&mu)?.entropy;
            let least = entropy.iter().copied().fold(f64::INFINITY, f64::min);
            drops.push(entropy[0] - least);
            rebounds.push(entropy[entropy.len() - 1] - least);
        }
        data.insert("drop".into(), store::series(&drops));
        data.insert("rebound".into(), store::series(&rebounds));
        Ok(data)
    }

    fn size(&self) -> String {
        format!("{} batches of {} random *μ*", self.trials, self.draws)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        let cells = cells(Self::NAME, rows)?;
        let mut panels = vec![];
        for setting in ["text", "code"] {
            for cell in with_word(&cells, SETTING, setting) {
                let row = &cell[0];
                panels.extend([self.weights(setting, row)?, entropy_panel(setting, row)?, distribution(cell)?]);
            }
        }
        let title = "Salient components first; attention drops and rebounds";
        let Self { eta, temperature, start, low, high, .. } = self;
        Ok(vec![Figure::page(Self::NAME, title, 3, panels).captioned(format!(
            "Above: Eq. (6) from 0 by an adaptive method, entropy of softmax(*v*²). Below: the authors' \
             code, gradient descent with *η* = {eta}, *T* = {temperature}, the update divided by the sum of the \
             exponentials, from {start}, entropy of softmax(*v*²/*T*). (a), (d): *v* at some moments, the \
             target *μ* dashed. (b), (e): entropy of attention. (c), (f): rebound for {} random *μ*, \
             uniform on [{low}, {high}]^{{{}}}; dotted: {VISIBLE} nats.",
            self.draws * self.trials as usize,
            self.mu.len(),
        ))])
    }
}

fn entropy_panel(setting: &str, row: &Row) -> Result<Panel> {
    let x = if setting == "text" { Axis::linear("time *t*").from_to(0.0, 1.5) } else { Axis::linear("steps") };
    let entropy = points(&row.series("clock")?, &row.series("entropy")?);
    Ok(Panel::new("entropy of attention", x, Axis::linear("entropy (nats)").from_to(0.0, 2.4))
        .with(Series::fitted("", INK, entropy)))
}

/// The share of μ whose rebound is at least x.
fn distribution(cell: &[Row]) -> Result<Panel> {
    let mut rebounds = lists(cell, "rebound")?.concat();
    rebounds.sort_by(f64::total_cmp);
    let n = rebounds.len() as f64;
    let point = |(i, x): (usize, &f64)| Point::at(x.max(1e-6), 1.0 - i as f64 / n);
    let steps = rebounds.iter().enumerate().map(point).collect();
    let (x, y) = (Axis::log("rebound at least (nats)"), Axis::linear("share of *μ*").from_to(0.0, 1.04));
    Ok(Panel::new("random *μ*: rebound", x, y)
        .with(Series::predicted("", GREY, steps).drawn(Stroke::Solid))
        .ruled(Rule::vertical("", VISIBLE)))
}
