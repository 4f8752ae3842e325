//! The plateau of a training, on which a network predicts 0: when trainings leave it.

use super::Icl;
use super::pictures::{networks, training};
use crate::experiments::networks::{label, look};
use attnlab_core::stats::binomial;
use attnlab_lab::experiment::draw::{LEVEL, OVER_SEEDS, PERCENT};
use attnlab_lab::figure::{Axis, Panel, Point, Series};
use attnlab_lab::prelude::*;

/// Loss, over that of predicting 0, below which a training has left the plateau: halfway down to an error of 0. The curves
/// fall through it within a hundred steps of leaving.
const PLATEAU_LEFT_BELOW: f64 = 0.5;

/// The share of trainings that have left the plateau, by step.
pub(super) fn figure(settings: &Icl, cells: &[&[Row]]) -> Result<Figure> {
    let panel = |class: &String| {
        let y = Axis::linear("share of trainings").from_to(-0.02, 1.02);
        Panel::new(class.replace('-', " "), Axis::linear("steps"), y).curves(
            networks(cells, class)?,
            |_, (model, cell)| {
                let leaving = cell.iter().map(|row| leaving(settings, class, row)).collect::<Result<Vec<_>>>()?;
                let share = |step: &f64| {
                    let count = leaving.iter().flatten().filter(|left| *left <= step).count();
                    Ok(Point::at(*step, binomial(count as u64, leaving.len() as u64, LEVEL)?))
                };
                let points = cell[0].series("steps")?.iter().map(share).collect::<Result<Vec<_>>>()?;
                let (colour, stroke) = look(model);
                Ok(Series::fitted(label(model), colour, points).drawn(stroke).with_interval(OVER_SEEDS))
            },
        )
    };
    let panels = settings.functions.iter().map(panel).collect::<Result<_>>()?;
    let title = "Regression in context: trainings that have left the plateau";
    Ok(Figure::fitting("icl_plateau", title, 2, panels).captioned(format!(
        "Share of the trainings whose loss, a mean since the point before, has been below {PLATEAU_LEFT_BELOW} of that of \
         predicting 0 at the dimensions of the step, with its exact {PERCENT} % interval over seeds. {}",
        training(settings),
    )))
}

/// Returns the first reported step at which the loss, over E *f*(*x*)² at the dimensions of that step, is below
/// [`PLATEAU_LEFT_BELOW`].
fn leaving(settings: &Icl, class: &str, row: &Row) -> Result<Option<f64>> {
    let (functions, dims) = (settings.functions(class)?, settings.curriculum.dims);
    let (steps, losses) = (row.series("steps")?, row.series("loss")?);
    // Of sparse functions the coordinates are chosen among the active ones.
    let of_zero = |step: f64| {
        let active = dims.at_step((step as u64).saturating_sub(1));
        functions.variance(active).min(active as f64)
    };
    let left = |(step, loss): &(f64, f64)| *loss < PLATEAU_LEFT_BELOW * of_zero(*step);
    Ok(steps.into_iter().zip(losses).find(left).map(|(step, _)| step))
}
