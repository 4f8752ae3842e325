//! The figures of `joma_weights`, from its rows: one per kind of matrix.

use super::{JomaWeights, STEP, TENSOR};
use crate::theory::attention_entropy::drop_and_rebound;
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{LEVEL, cells, mean_at, panel};
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Point, Rule, Series, Stroke, Width};
use attnlab_lab::run::Row;
use attnlab_networks::{kind, layer};

/// Most layers that get a curve of their own; the palette has eight colours.
const MOST_CURVES: usize = 6;

/// The rows of one layer, in the order of the steps.
struct Layer<'a> {
    number: u64,
    rows: Vec<&'a Row>,
}

impl Layer<'_> {
    fn points(&self, name: &str) -> Result<Vec<Point>> {
        let point = |row: &&Row| Ok(Point::at(row.parameter(STEP)? + 1.0, row.number(name)?));
        let points: Vec<Point> = self.rows.iter().map(point).collect::<Result<_>>()?;
        Ok(points.into_iter().filter(|p| p.y.is_finite()).collect())
    }

    /// Drop of the stable rank since the first checkpoint and its rise after the minimum, relative to the first.
    fn drop_and_rebound(&self) -> Result<(f64, f64)> {
        let ranks: Vec<f64> = self.rows.iter().map(|row| row.number("stable_rank")).collect::<Result<_>>()?;
        let (drop, rebound) = drop_and_rebound(&ranks);
        Ok((drop / ranks[0], rebound / ranks[0]))
    }
}

/// The figures of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figures(settings: &JomaWeights, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(JomaWeights::NAME, rows)?;
    let mut kinds: Vec<(String, Vec<Layer>)> = vec![];
    for cell in cells {
        let tensor = cell[0].word(TENSOR)?;
        let [rows, columns] = ["rows", "columns"].map(|name| cell[0].number(name));
        // A star would begin italics.
        let kind = kind(tensor).replace('*', "i");
        let kind = format!("{kind}, {} by {}", rows?, columns?);
        let at = match kinds.iter().position(|(name, _)| *name == kind) {
            Some(at) => at,
            None => {
                kinds.push((kind, vec![]));
                kinds.len() - 1
            }
        };
        let number = layer(tensor).unwrap_or(0);
        let layers = &mut kinds[at].1;
        match layers.iter_mut().find(|l| l.number == number) {
            Some(layer) => layer.rows.push(&cell[0]),
            None => layers.push(Layer { number, rows: vec![&cell[0]] }),
        }
    }
    let one = kinds.len() == 1;
    let mut found = vec![];
    for (i, (kind, mut layers)) in kinds.into_iter().enumerate() {
        layers.sort_by_key(|layer| layer.number);
        let name = match one {
            true => JomaWeights::NAME.to_string(),
            false => format!("{}_{}", JomaWeights::NAME, i + 1),
        };
        found.push(figure(settings, name, &kind, &layers)?);
    }
    Ok(found)
}

/// Some of the layers, from the bottom one to the top one at equal distances.
fn chosen<'a, 'b>(layers: &'a [Layer<'b>]) -> Vec<&'a Layer<'b>> {
    let (n, last) = (layers.len().min(MOST_CURVES), layers.len() - 1);
    (0..n).map(|i| &layers[if n > 1 { i * last / (n - 1) } else { 0 }]).collect()
}

fn figure(settings: &JomaWeights, name: String, kind: &str, layers: &[Layer]) -> Result<Figure> {
    let first = layers[0].rows[0];
    let chance = first.number("chance")?;
    let steps = layers[0].rows.len();
    let axis = match settings.named_steps() {
        Some(_) => "step + 1",
        None => "number of the checkpoint",
    };
    let mut panels = vec![];
    if steps > 1 {
        for (name, title) in [("stable_rank", "stable rank"), ("moved", "stable rank of *W* − *W*(0)")] {
            let mut found = panel(title, Axis::log(axis), Axis::linear("stable rank"));
            for (colour, layer) in chosen(layers).into_iter().enumerate() {
                let label = format!("layer {}", layer.number);
                found.series.push(Series::measured(label, colour, layer.points(name)?));
            }
            found.rules.push(Rule::horizontal("independent entries", chance));
            panels.push(found);
        }
    }
    panels.push(by_layer(layers, chance)?);
    let ending = match steps {
        1 => String::new(),
        _ => rebounds(settings, layers)?,
    };
    Ok(Figure {
        name,
        title: format!("Stable rank of {kind}"),
        caption: format!(
            "‖*W*‖_{{F}}²/*σ*_{{max}}² of the matrices {kind}, of {} {}. Line: independent entries of one \
             variance, *mn*/(√*m* + √*n*)² = {}. Entries permuted: mean and {} % interval (Student) over {} \
             permutations.{ending}",
            steps,
            if steps == 1 { "checkpoint" } else { "checkpoints" },
            attnlab_core::format::significant(chance, 4),
            100.0 * LEVEL,
            settings.draws,
        ),
        width: if steps > 1 { Width::Page } else { Width::Column },
        columns: panels.len(),
        panels,
    })
}

/// The first and the last checkpoint by layer, with the permuted entries of the last.
fn by_layer(layers: &[Layer], chance: f64) -> Result<attnlab_lab::figure::Panel> {
    let mut found = panel("by layer", Axis::whole("layer"), Axis::linear("stable rank"));
    let (mut start, mut end, mut permuted) = (vec![], vec![], vec![]);
    for layer in layers {
        let x = layer.number as f64;
        let (first, last) = (layer.rows[0], layer.rows[layer.rows.len() - 1]);
        start.push(Point::at(x, first.number("stable_rank")?));
        end.push(Point::at(x, last.number("stable_rank")?));
        permuted.push(mean_at(x, &last.series("permuted")?)?);
    }
    for list in [&mut start, &mut end, &mut permuted] {
        // A matrix of zeros has no stable rank.
        list.retain(|point: &Point| point.y.is_finite());
    }
    let several = layers[0].rows.len() > 1;
    if several {
        found.series.push(Series::measured("first checkpoint", 6, start));
    }
    found.series.push(Series::measured(if several { "last checkpoint" } else { "checkpoint" }, INK, end));
    found.series.push(Series { stroke: Stroke::Dashed, ..Series::measured("entries permuted", GREY, permuted) });
    found.rules.push(Rule::horizontal("independent entries", chance));
    Ok(found)
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
        " Drop and rebound, each by at least {} % of the first checkpoint: {} of {n} layers, {} of the top {third} and \
         {} of the bottom {third}; the paper has it for top layers, and a fall for bottom ones: {} of the bottom {third} \
         fall without rebound.",
        100.0 * settings.visible,
        count(&rebounding),
        count(&rebounding[n - third..]),
        count(&rebounding[..third]),
        (0..third).filter(|i| dropping[*i] && !rebounding[*i]).count(),
    ))
}
