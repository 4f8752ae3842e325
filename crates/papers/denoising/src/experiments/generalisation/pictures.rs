//! The figures of `denoise_generalisation`, from its rows.

use super::DenoiseGeneralisation;
use crate::quantities::cell::{CONTEXT, PANEL};
use crate::theory::linear::{attention_mse, best_gamma, mmse};
use attnlab_core::error::{Error, Result};
use attnlab_core::stats::median;
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Panel, Point, Series, Width};
use attnlab_lab::run::Row;
use attnlab_lab::run::store::{as_number, by_cell};

/// Level of all intervals, with six seeds or more.
const LEVEL: f64 = 0.95;
const INTERVAL: &str = "interval of the median over seeds";

pub fn figures(settings: &DenoiseGeneralisation, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = by_cell(rows);
    let of_group = |group: &str| -> Vec<&[Row]> {
        let is = |cell: &&[Row]| cell[0].word(PANEL.name).is_ok_and(|g| g == group);
        cells.iter().copied().filter(is).collect()
    };
    let (lengths, dims) = (of_group("length"), of_group("dimension"));
    let mut figures = vec![];
    if !lengths.is_empty() {
        figures.push(by_length(settings, &lengths)?);
    }
    if let Some(cell) = dims.first() {
        figures.push(by_dimension(settings, cell)?);
    }
    if figures.is_empty() {
        let problem = "no rows to draw; run the experiment first".into();
        return Err(Error::Content { path: "rows of denoise_generalisation".into(), problem });
    }
    Ok(figures)
}

impl DenoiseGeneralisation {
    /// Variances of a subspace of dimension `dim`.
    fn variances(&self, dim: usize) -> Vec<f64> {
        vec![self.subspace.sigma0_2; dim]
    }

    fn gamma(&self, context: f64) -> f64 {
        best_gamma(&self.variances(self.subspace.dim), context, self.subspace.sigma_z2)
    }

    /// Loss per component of linear attention with αβ = `gamma`.
    fn law(&self, dim: usize, context: f64, gamma: f64) -> f64 {
        let all = self.variances(dim);
        attention_mse(&all, context, self.subspace.sigma_z2, gamma) / self.ambient as f64
    }

    fn bayes(&self, dim: usize) -> f64 {
        mmse(&self.variances(dim), self.subspace.sigma_z2) / self.ambient as f64
    }
}

/// Median and interval of a number of each row.
fn estimate(x: f64, cell: &[Row], of: impl Fn(&Row) -> Result<f64>) -> Result<Point> {
    let values: Vec<f64> = cell.iter().map(of).collect::<Result<_>>()?;
    let e = median(&values, LEVEL)?;
    Ok(Point::between(x, e.value, e.low, e.high))
}

fn by_length(settings: &DenoiseGeneralisation, cells: &[&[Row]]) -> Result<Figure> {
    let mut panels = [
        Panel {
            title: "the learned product".into(),
            x: Axis::log("context length *L*"),
            y: Axis::linear("*αβ*, means of the diagonals"),
            ..Panel::default()
        },
        Panel {
            title: "the loss".into(),
            x: Axis::log("context length *L*"),
            y: Axis::linear("loss per component"),
            ..Panel::default()
        },
    ];
    let (mut product, mut losses) = (vec![], [vec![], vec![], vec![]]);
    let mut laws = [vec![], vec![], vec![], vec![]];
    for cell in cells {
        let length = cell[0].parameter(CONTEXT.name)?;
        product.push(estimate(length, cell, |row| Ok(row.number("alpha")? * row.number("beta")?))?);
        for (points, name) in losses.iter_mut().zip(["train", "test", "fresh"]) {
            points.push(estimate(length, cell, |row| row.number(name))?);
        }
        let (d, gamma) = (settings.subspace.dim, settings.gamma(length));
        let values = [gamma, settings.gamma(f64::INFINITY), settings.law(d, length, gamma), settings.bayes(d)];
        for (law, value) in laws.iter_mut().zip(values) {
            law.push(Point::at(length, value));
        }
    }
    let [gamma, limit, law, bayes] = laws;
    let exact = "exact optimum of scaled identities at this *L*";
    panels[0].series = vec![
        Series::predicted(exact, 0, gamma),
        Series::predicted("1/(*σ*_{0}² + *σ*_{Z}²), the limit of Theorem 3.1", INK, limit),
        Series::measured("trained, all weights", 0, product).with_interval(INTERVAL),
    ];
    let [train, test, fresh] = losses;
    panels[1].series = vec![
        Series::predicted(exact, 0, law),
        Series::predicted("Bayes", GREY, bayes),
        Series::measured("on the training prompts", 1, train).with_interval(INTERVAL),
        Series::measured("on the test prompts", 2, test).with_interval(INTERVAL),
        Series::measured("on fresh prompts", 3, fresh).with_interval(INTERVAL),
    ];
    Ok(Figure {
        name: "denoise_generalisation_length".into(),
        title: "Linear attention trained at several context lengths".into(),
        caption: format!(
            "Linear attention (3), all weights trained on {} prompts, *n* = {}, *d* = {}, *σ*_{{0}}² = {}, \
             *σ*_{{Z}}² = {}: median over {} seeds (of data and weights) with the distribution-free interval \
             between order statistics (96 % for twelve). {} fresh prompts per seed. {} of {} runs ended more than \
             10 % above the median training loss of their *L*, in another minimum. Dashed: the exact loss of scaled identities and its minimum, which the *n*² \
             weights that are trained miss on fresh prompts because they fit the training prompts.",
            settings.training.train,
            settings.ambient,
            settings.subspace.dim,
            settings.subspace.sigma0_2,
            settings.subspace.sigma_z2,
            cells[0].len(),
            settings.fresh,
            stuck(cells)?,
            cells.iter().map(|cell| cell.len()).sum::<usize>(),
        ),
        width: Width::Page,
        columns: 2,
        panels: panels.into(),
    })
}

/// Runs that ended more than a tenth above the median training loss of their cell; the spread of the
/// others is some per cent.
fn stuck(cells: &[&[Row]]) -> Result<usize> {
    let mut stuck = 0;
    for cell in cells {
        let ends: Vec<f64> = cell.iter().map(|row| row.number("train")).collect::<Result<_>>()?;
        let limit = 1.1 * attnlab_core::stats::quantile(&ends, 0.5);
        stuck += ends.iter().filter(|l| **l > limit).count();
    }
    Ok(stuck)
}

/// The loss of one row at (L, d).
fn tested(row: &Row, context: usize, dim: usize) -> Result<f64> {
    let all = row.data.get("tested").and_then(|v| v.as_array());
    let found = all.into_iter().flatten().find_map(|entry| {
        let at = |i: usize| entry.get(i)?.as_u64();
        let here = at(0) == Some(context as u64) && at(1) == Some(dim as u64);
        here.then(|| as_number(entry.get(2)?)).flatten()
    });
    found.ok_or_else(|| Error::Content {
        path: "rows of denoise_generalisation".into(),
        problem: format!("no loss tested at L = {context}, d = {dim}"),
    })
}

fn by_dimension(settings: &DenoiseGeneralisation, cell: &[Row]) -> Result<Figure> {
    let mut panel = Panel {
        x: Axis::whole("dimension *d′* of the subspace at test time"),
        y: Axis::linear("loss per component"),
        ..Panel::default()
    };
    let dims = &settings.tested_dims;
    let curve = |f: &dyn Fn(usize) -> f64| -> Vec<Point> {
        let points = dims.iter().map(|d| Point::at(*d as f64, f(*d)));
        points.collect()
    };
    let gamma = settings.gamma(settings.trained_context as f64);
    for (colour, context) in settings.tested_contexts.iter().enumerate() {
        let mut points = vec![];
        for d in dims {
            points.push(estimate(*d as f64, cell, |row| tested(row, *context, *d))?);
        }
        let label = format!("*L* = {context}");
        panel.series.push(Series::measured(label, colour, points).with_interval(INTERVAL));
        let law = curve(&|d| settings.law(d, *context as f64, gamma));
        let label = "exact law of the scaled identity";
        panel.series.push(Series::predicted(label, colour, law));
    }
    let n = settings.ambient as f64;
    let zero = curve(&|d| d as f64 * settings.subspace.sigma0_2 / n);
    panel.series.push(Series::predicted("Bayes", INK, curve(&|d| settings.bayes(d))));
    panel.series.push(Series::predicted("zero", GREY, zero));
    Ok(Figure {
        name: "denoise_generalisation_dimension".into(),
        title: "Linear attention at other dimensions than it was trained on".into(),
        caption: format!(
            "Linear attention (3) trained at *d* = {}, *L* = {} and tested on subspaces of dimension *d′* \
             with *L* clean tokens, *n* = {}, *σ*_{{0}}² = {}, *σ*_{{Z}}² = {}: median over {} seeds with its \
             interval, {} fresh prompts per point and seed. Dashed in the same colour: the exact law of \
             the scaled identity that is optimal where the layer was trained.",
            settings.subspace.dim,
            settings.trained_context,
            settings.ambient,
            settings.subspace.sigma0_2,
            settings.subspace.sigma_z2,
            cell.len(),
            settings.fresh,
        ),
        width: Width::Column,
        columns: 1,
        panels: vec![panel],
    })
}
