//! The figures of `denoise_generalisation`, from its rows.

use super::DenoiseGeneralisation;
use crate::quantities::cell::{CONTEXT, PANEL};
use crate::theory::linear::{attention_mse, best_gamma, mmse};
use attnlab_core::stats::{Estimate, median, quantile};
use attnlab_lab::experiment::draw::{LEVEL, cells, numbers, over, with_word};
use attnlab_lab::figure::{Axis, GREY, INK, Panel, Point, Series};
use attnlab_lab::prelude::*;
use attnlab_lab::run::store::as_number;

/// Intervals at [`LEVEL`], with six seeds or more.
const INTERVAL: &str = "interval of the median over seeds";

pub fn figures(settings: &DenoiseGeneralisation, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells("denoise_generalisation", rows)?;
    let (lengths, dims) = (with_word(&cells, PANEL, "length"), with_word(&cells, PANEL, "dimension"));
    let mut figures = vec![];
    if !lengths.is_empty() {
        figures.push(by_length(settings, &lengths)?);
    }
    if let Some(cell) = dims.first() {
        figures.push(by_dimension(settings, cell)?);
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
        let variances = self.variances(dim);
        attention_mse(&variances, context, self.subspace.sigma_z2, gamma) / self.ambient as f64
    }

    fn bayes(&self, dim: usize) -> f64 {
        mmse(&self.variances(dim), self.subspace.sigma_z2) / self.ambient as f64
    }
}

/// Median and interval of a number of each row.
fn estimate(cell: &[Row], of: impl Fn(&Row) -> Result<f64>) -> Result<Estimate> {
    let values: Vec<f64> = cell.iter().map(of).collect::<Result<_>>()?;
    median(&values, LEVEL)
}

fn by_length(settings: &DenoiseGeneralisation, cells: &[&[Row]]) -> Result<Figure> {
    let d = settings.subspace.dim;
    let law = |label, colour, value: &dyn Fn(f64) -> f64| -> Result<Series> {
        let points = over(cells, CONTEXT, |cell| Ok(value(cell[0].parameter(CONTEXT.name)?)))?;
        Ok(Series::predicted(label, colour, points))
    };
    let measured = |label, colour, value: &dyn Fn(&Row) -> Result<f64>| -> Result<Series> {
        let points = over(cells, CONTEXT, |cell| estimate(cell, value))?;
        Ok(Series::measured(label, colour, points).with_interval(INTERVAL))
    };
    let limit = "1/(*σ*_{0}² + *σ*_{Z}²), the limit of Theorem 3.1";
    let exact = "exact optimum of scaled identities at this *L*";
    let x = || Axis::log("context length *L*");
    let product = Panel::new("the learned product", x(), Axis::linear("*αβ*, means of the diagonals"))
        .with(law(exact, 0, &|length| settings.gamma(length))?)
        .with(law(limit, INK, &|_| settings.gamma(f64::INFINITY))?)
        .with(measured("trained, all weights", 0, &|row| Ok(row.number("alpha")? * row.number("beta")?))?);
    let loss = Panel::new("the loss", x(), Axis::linear("loss per component"))
        .with(law(exact, 0, &|length| settings.law(d, length, settings.gamma(length)))?)
        .with(law("Bayes", GREY, &|_| settings.bayes(d))?)
        .with(measured("on the training prompts", 1, &|row| row.number("train"))?)
        .with(measured("on the test prompts", 2, &|row| row.number("test"))?)
        .with(measured("on fresh prompts", 3, &|row| row.number("fresh"))?);
    let DenoiseGeneralisation { ambient, training, subspace, fresh, .. } = settings;
    let title = "Linear attention trained at several context lengths";
    Ok(Figure::page("denoise_generalisation_length", title, 2, vec![product, loss]).captioned(format!(
        "Linear attention (3), all weights trained on {} prompts, *n* = {ambient}, *d* = {d}, *σ*_{{0}}² = {}, \
         *σ*_{{Z}}² = {}: median over {} seeds (of data and weights) with the distribution-free interval between \
         order statistics (96 % for twelve). {fresh} fresh prompts per seed. {} of {} runs ended more than 10 % above \
         the median training loss of their *L*, in another minimum. Dashed: the exact loss of scaled identities and \
         its minimum, which the *n*² weights that are trained miss on fresh prompts because they fit the training \
         prompts.",
        training.train,
        subspace.sigma0_2,
        subspace.sigma_z2,
        cells[0].len(),
        stuck(cells)?,
        cells.iter().map(|cell| cell.len()).sum::<usize>(),
    )))
}

/// Runs that ended more than a tenth above the median training loss of their cell; the spread of the
/// others is some per cent.
fn stuck(cells: &[&[Row]]) -> Result<usize> {
    let mut stuck = 0;
    for cell in cells {
        let ends = numbers(cell, "train")?;
        let limit = 1.1 * quantile(&ends, 0.5);
        stuck += ends.iter().filter(|l| **l > limit).count();
    }
    Ok(stuck)
}

/// The loss of one row at (L, d).
fn tested(row: &Row, context: usize, dim: usize) -> Result<f64> {
    let entries = row.data.get("tested").and_then(|v| v.as_array());
    let loss = entries.into_iter().flatten().find_map(|entry| {
        let size = |i: usize| entry.get(i)?.as_u64();
        let here = size(0) == Some(context as u64) && size(1) == Some(dim as u64);
        here.then(|| as_number(entry.get(2)?)).flatten()
    });
    loss.ok_or_else(|| Error::Content {
        path: "rows of denoise_generalisation".into(),
        problem: format!("no loss tested at L = {context}, d = {dim}"),
    })
}

fn by_dimension(settings: &DenoiseGeneralisation, cell: &[Row]) -> Result<Figure> {
    let x = Axis::whole("dimension *d′* of the subspace at test time");
    let mut panel = Panel::new("", x, Axis::linear("loss per component"));
    let dims = &settings.tested_dims;
    let curve = |f: &dyn Fn(usize) -> f64| dims.iter().map(|d| Point::at(*d as f64, f(*d))).collect();
    let gamma = settings.gamma(settings.trained_context as f64);
    for (colour, context) in settings.tested_contexts.iter().enumerate() {
        let point = |d: &usize| Ok(Point::at(*d as f64, estimate(cell, |row| tested(row, *context, *d))?));
        let points = dims.iter().map(point).collect::<Result<_>>()?;
        let law = curve(&|d| settings.law(d, *context as f64, gamma));
        panel = panel
            .with(Series::measured(format!("*L* = {context}"), colour, points).with_interval(INTERVAL))
            .with(Series::predicted("exact law of the scaled identity", colour, law));
    }
    let DenoiseGeneralisation { subspace, trained_context, ambient, fresh, .. } = settings;
    let zero = curve(&|d| d as f64 * subspace.sigma0_2 / *ambient as f64);
    let panel = panel
        .with(Series::predicted("Bayes", INK, curve(&|d| settings.bayes(d))))
        .with(Series::predicted("zero", GREY, zero));
    let title = "Linear attention at other dimensions than it was trained on";
    Ok(Figure::column("denoise_generalisation_dimension", title, vec![panel]).captioned(format!(
        "Linear attention (3) trained at *d* = {}, *L* = {trained_context} and tested on subspaces of dimension *d′* \
         with *L* clean tokens, *n* = {ambient}, *σ*_{{0}}² = {}, *σ*_{{Z}}² = {}: median over {} seeds with its \
         interval, {fresh} fresh prompts per point and seed. Dashed in the same colour: the exact law of the scaled \
         identity that is optimal where the layer was trained.",
        subspace.dim,
        subspace.sigma0_2,
        subspace.sigma_z2,
        cell.len(),
    )))
}
