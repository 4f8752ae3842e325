//! The figures of `joma_weights`, from its rows: one per kind of matrix.

use super::{JomaWeights, STEP, TENSOR};
use crate::theory::attention_entropy::drop_and_rebound;
use attnlab_lab::experiment::draw::{PERCENT, cells, grouped, mean_at};
use attnlab_lab::figure::{Axis, GREY, INK, Panel, Point, Rule, Series, Stroke, Width};
use attnlab_lab::prelude::*;
use attnlab_networks::{kind, layer};

/// Most layers that get a curve of their own; the palette has eight colours.
const MOST_CURVES: usize = 6;

/// The rows of one layer, in the order of the steps.
struct Layer<'a> {
    number: u64,
    rows: Vec<&'a Row>,
}

impl Layer<'_> {
    fn last(&self) -> &Row {
        self.rows[self.rows.len() - 1]
    }

    fn points(&self, name: &str) -> Result<Vec<Point>> {
        self.rows.iter().map(|row: &&Row| Ok(Point::at(row.parameter(STEP)? + 1.0, row.number(name)?))).collect()
    }

    /// Drop of the stable rank since the first checkpoint and its rise after the minimum, relative to the first.
    fn drop_and_rebound(&self) -> Result<(f64, f64)> {
        let ranks: Vec<f64> = self.rows.iter().map(|row| row.number("stable_rank")).collect::<Result<_>>()?;
        let (drop, rebound) = drop_and_rebound(&ranks);
        Ok((drop / ranks[0], rebound / ranks[0]))
    }
}

/// The figures of these settings, from their rows.
pub fn figures(settings: &JomaWeights, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(JomaWeights::NAME, rows)?;
    let kinds = grouped(cells, |cell| {
        let (rows, columns) = (cell[0].number("rows")?, cell[0].number("columns")?);
        // A star would begin italics.
        Ok(format!("{}, {rows} by {columns}", kind(cell[0].word(TENSOR)?).replace('*', "i")))
    })?;
    let several = kinds.len() > 1;
    let mut figures = vec![];
    for (i, (kind, cells)) in kinds.into_iter().enumerate() {
        let layers = grouped(cells.iter().map(|cell| &cell[0]), |row| Ok(layer(row.word(TENSOR)?).unwrap_or(0)))?;
        let mut layers: Vec<Layer> = layers.into_iter().map(|(number, rows)| Layer { number, rows }).collect();
        layers.sort_by_key(|layer| layer.number);
        let name = if several { format!("{}_{}", JomaWeights::NAME, i + 1) } else { JomaWeights::NAME.to_string() };
        figures.push(figure(settings, name, &kind, &layers)?);
    }
    Ok(figures)
}

/// Some of the layers, from the bottom one to the top one at equal distances.
fn chosen<'a, 'b>(layers: &'a [Layer<'b>]) -> Vec<&'a Layer<'b>> {
    let (n, last) = (layers.len().min(MOST_CURVES), layers.len() - 1);
    (0..n).map(|i| &layers[if n > 1 { i * last / (n - 1) } else { 0 }]).collect()
}

fn figure(settings: &JomaWeights, name: String, kind: &str, layers: &[Layer]) -> Result<Figure> {
    let chance = layers[0].rows[0].number("chance")?;
    let steps = layers[0].rows.len();
    let axis = if settings.named_steps().is_some() { "step + 1" } else { "number of the checkpoint" };
    let courses = |title: &str, name: &str| {
        let panel = Panel::new(title, Axis::log(axis), Axis::linear("stable rank")).curves(
            chosen(layers),
            |colour, layer| {
                Ok(Series::measured(format!("layer {}", layer.number), colour, finite(layer.points(name)?)))
            },
        )?;
        Ok(panel.ruled(Rule::horizontal("independent entries", chance)))
    };
    let mut panels = vec![];
    if steps > 1 {
        panels.push(courses("stable rank", "stable_rank")?);
        panels.push(courses("stable rank of *W* − *W*(0)", "moved")?);
    }
    panels.push(by_layer(layers, chance)?);
    let ending = if steps == 1 { String::new() } else { rebounds(settings, layers)? };
    let draws = settings.draws;
    let figure = Figure::page(name, format!("Stable rank of {kind}"), panels.len(), panels).captioned(format!(
        "‖*W*‖_{{F}}²/*σ*_{{max}}² of the matrices {kind}, of {steps} {}. Line: independent entries of one \
         variance, *mn*/(√*m* + √*n*)² = {}. Entries permuted: mean and {PERCENT} % interval (Student) over {draws} \
         permutations.{ending}",
        if steps == 1 { "checkpoint" } else { "checkpoints" },
        attnlab_core::format::significant(chance, 4),
    ));
    Ok(Figure { width: if steps > 1 { Width::Page } else { Width::Column }, ..figure })
}

/// The points that exist: a matrix of zeros has no stable rank.
fn finite(mut points: Vec<Point>) -> Vec<Point> {
    points.retain(|point| point.y.is_finite());
    points
}

/// The first and the last checkpoint by layer, with the permuted entries of the last.
fn by_layer(layers: &[Layer], chance: f64) -> Result<Panel> {
    let points = |point: &dyn Fn(&Layer, f64) -> Result<Point>| {
        layers.iter().map(|layer| point(layer, layer.number as f64)).collect::<Result<_>>().map(finite)
    };
    let start = points(&|layer, x| Ok(Point::at(x, layer.rows[0].number("stable_rank")?)))?;
    let end = points(&|layer, x| Ok(Point::at(x, layer.last().number("stable_rank")?)))?;
    let permuted = points(&|layer, x| mean_at(x, &layer.last().series("permuted")?))?;
    let several = layers[0].rows.len() > 1;
    let panel = Panel::new("by layer", Axis::whole("layer"), Axis::linear("stable rank"))
        .with_each(several.then(|| Series::measured("first checkpoint", 6, start)))
        .with(Series::measured(if several { "last checkpoint" } else { "checkpoint" }, INK, end))
        .with(Series::measured("entries permuted", GREY, permuted).drawn(Stroke::Dashed));
    Ok(panel.ruled(Rule::horizontal("independent entries", chance)))
}

/// Describes which layers drop and rebound, and whether the thirds do what the paper says.
fn rebounds(settings: &JomaWeights, layers: &[Layer]) -> Result<String> {
    let third = layers.len().div_ceil(3);
    let (mut dropping, mut rebounding) = (vec![], vec![]);
    for layer in layers {
        let (drop, rebound) = layer.drop_and_rebound()?;
        dropping.push(drop >= settings.visible);
        rebounding.push(drop >= settings.visible && rebound >= settings.visible);
    }
    let count = |list: &[bool]| list.iter().filter(|x| **x).count();
    let n = layers.len();
    Ok(format!(
        " Drop and rebound, each by at least {} % of the first checkpoint: {} of {n} layers, {} of the top {third} \
         and {} of the bottom {third}; the paper has it for top layers, and a fall for bottom ones: {} of the bottom \
         {third} fall without rebound.",
        100.0 * settings.visible,
        count(&rebounding),
        count(&rebounding[n - third..]),
        count(&rebounding[..third]),
        (0..third).filter(|i| dropping[*i] && !rebounding[*i]).count(),
    ))
}
