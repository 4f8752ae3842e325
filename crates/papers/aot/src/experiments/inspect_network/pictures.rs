//! The figures of `inspect_network`, from its rows: places along the network on the horizontal axis.

use super::{InspectNetwork, PLACE, VARIANT, VARIANTS};
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{cells, panel};
use attnlab_lab::figure::{Axis, Figure, Panel, Point, Rule, Series, Stroke, Width};
use attnlab_lab::run::Row;
use attnlab_lab::run::store::as_number;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Matrices of a block that get a panel; networks here have at most seven.
const MOST_MATRICES: usize = 9;

/// The figures of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figures(settings: &InspectNetwork, rows: &[Row]) -> Result<Vec<Figure>> {
    let rows: Vec<&Row> = cells(InspectNetwork::NAME, rows)?.iter().map(|cell| &cell[0]).collect();
    let along = Along { rows: &rows, last: settings.places.saturating_sub(1) };
    let network = settings.network.file_stem().unwrap_or_default();
    let network = network.to_string_lossy().replace('*', "i").replace('_', " ");
    let percent = 100.0 * settings.fitting.level;
    let panels = vec![
        along.noise(),
        along.horizon(),
        along.heads(),
        along.factor(),
        along.attention("entropy", "attention entropy", "entropy (nats)"),
        along.attention("energy", "energy of attention", "energy (nats)"),
        along.compared("stable rank", Axis::linear("stable rank of *Z*"), |row| number(&row.data, "stable_rank")),
        along
            .compared("coding rate", Axis::linear("*R* of unit tokens (nats)"), |row| number(&row.data, "coding_rate")),
        along.compared("mean cosine", Axis::linear("mean cosine"), |row| number(&row.data, "mean_cosine")),
    ];
    let mut figures = vec![Figure {
        name: InspectNetwork::NAME.into(),
        title: format!("{network} against the theory of AoT Theorem 1"),
        caption: format!(
            "Place 0: residual stream after the embedding; place *l*: after block *l*. Noise *δ* of the fitted mixture of \
             Definition 1, {percent} % intervals; limit (11): √(log *N* / *p*)/8. Horizon: first factor *θ* at which the \
             pattern (30) breaks, at *τ* = {}. SNR (6) in the subspaces of a block's heads (what their values read), \
             tokens labelled by their largest projection before the block; dotted: random subspaces of the same sizes; \
             factor: SNR after the block over SNR before it. Entropy and energy (−log of the mean of exp(score)) of \
             attention: means over queries and heads, {percent} % intervals over windows; dotted: the largest entropy. \
             Random weights: the same architecture before training. Tokens shuffled: the same tokens in random order.",
            settings.fitting.tau,
        ),
        width: Width::Page,
        columns: 3,
        panels,
    }];
    figures.extend(along.weights(&network));
    Ok(figures)
}

/// Rows of all variants and places.
struct Along<'a> {
    rows: &'a [&'a Row],
    last: usize,
}

/// A finite number of a row.
pub(in crate::experiments) fn number(data: &Map<String, Value>, name: &str) -> Option<f64> {
    data.get(name).and_then(as_number).filter(|x| x.is_finite())
}

/// A part of a row.
pub(in crate::experiments) fn within<'a>(row: &'a Row, name: &str) -> Option<&'a Map<String, Value>> {
    row.data.get(name)?.as_object()
}

/// A series where there is something to draw.
fn add(panel: &mut Panel, series: Series) {
    if !series.points.is_empty() {
        panel.series.push(series);
    }
}

/// The panel, with a word in place of its axis where nothing is finite.
fn drawn(mut panel: Panel) -> Panel {
    if panel.series.is_empty() {
        panel.y = Axis::linear("none finite").from_to(0.0, 1.0);
    }
    panel
}

impl Along<'_> {
    fn axis(&self) -> Axis {
        Axis::whole("place").from_to(-0.5, self.last as f64 + 0.5)
    }

    /// The points of a variant, in the order of places.
    fn points(&self, variant: &str, value: impl Fn(&Row) -> Option<Point>) -> Vec<Point> {
        let own = |row: &&&Row| row.word(VARIANT).is_ok_and(|v| v == variant);
        let point = |row: &&Row| {
            let place = row.parameter(PLACE).ok()?;
            value(row).map(|p| Point { x: place + p.x, ..p })
        };
        let mut points: Vec<Point> = self.rows.iter().filter(own).filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    }

    /// One quantity of every variant.
    fn compared(&self, title: &str, y: Axis, value: impl Fn(&Row) -> Option<f64>) -> Panel {
        let mut found = panel(title, self.axis(), y);
        for (colour, (variant, label)) in VARIANTS.into_iter().enumerate() {
            let points = self.points(variant, |row| Some(Point::at(0.0, value(row)?)));
            add(&mut found, Series::measured(label, colour, points));
        }
        drawn(found)
    }

    fn noise(&self) -> Panel {
        let mut found = panel("noise", self.axis(), Axis::linear("*δ*"));
        for (colour, (variant, label)) in VARIANTS.into_iter().enumerate() {
            let points = self.points(variant, |row| {
                let [at, low, high] = ["delta", "delta_low", "delta_high"].map(|name| number(&row.data, name));
                Some(Point::between(0.0, at?, low?, high?))
            });
            add(&mut found, Series::measured(label, colour, points));
        }
        let limit = self.points(VARIANTS[0].0, |row| {
            let margin = number(within(row, "hypotheses")?.get("delta (11)")?.as_object()?, "margin")?;
            let delta = number(&row.data, "delta").unwrap_or(0.0);
            Some(Point::at(0.0, delta + margin))
        });
        add(&mut found, Series::predicted("limit (11)", 3, limit));
        drawn(found)
    }

    fn horizon(&self) -> Panel {
        let y = Axis::log("*θ* at the first break");
        let mut found = self.compared("horizon", y, |row| number(&row.data, "theta_crit"));
        let permuted = self.points(VARIANTS[0].0, |row| {
            let theta = number(within(row, "labels")?, "theta_crit")?;
            Some(Point::at(0.0, theta))
        });
        add(&mut found, Series::measured("labels permuted", 3, permuted));
        found
    }

    fn heads(&self) -> Panel {
        let title = "SNR in the heads' subspaces";
        let mut found = self.compared(title, Axis::linear("SNR after the block"), |row| {
            number(within(row, "heads")?, "all_after").filter(|x| *x > 0.0)
        });
        let chance = self.points(VARIANTS[0].0, |row| {
            let chance = number(within(row, "heads")?, "chance_after");
            Some(Point::at(0.0, chance.filter(|x| *x > 0.0)?))
        });
        add(&mut found, dotted("random subspaces", 0, chance));
        found
    }

    fn factor(&self) -> Panel {
        let mut found = self.compared("what a block does to it", Axis::linear("factor of the SNR"), |row| {
            let heads = within(row, "heads")?;
            let factor = number(heads, "all_after")? / number(heads, "all_before")?;
            (factor > 0.0 && factor.is_finite()).then_some(factor)
        });
        let chance = self.points(VARIANTS[0].0, |row| {
            let heads = within(row, "heads")?;
            let factor = number(heads, "chance_after")? / number(heads, "chance_before")?;
            Some(Point::at(0.0, Some(factor).filter(|x| *x > 0.0)?))
        });
        add(&mut found, dotted("random subspaces", 0, chance));
        found.rules.push(Rule::horizontal("", 1.0));
        found
    }

    fn attention(&self, name: &str, title: &str, label: &str) -> Panel {
        let mut found = panel(title, self.axis(), Axis::linear(label));
        for (colour, (variant, label)) in VARIANTS.into_iter().enumerate() {
            let points = self.points(variant, |row| {
                let data = within(row, "attention")?;
                let value = number(data, name)?;
                let end = |end: &str| number(data, &format!("{name}_{end}"));
                Some(match (end("low"), end("high")) {
                    (Some(low), Some(high)) => Point::between(0.0, value, low, high),
                    _ => Point::at(0.0, value),
                })
            });
            add(&mut found, Series::measured(label, colour, points));
        }
        if name == "entropy" {
            let ceiling =
                self.points(VARIANTS[0].0, |row| Some(Point::at(0.0, number(within(row, "attention")?, "ceiling")?)));
            add(&mut found, dotted("largest", 3, ceiling));
        }
        drawn(found)
    }

    /// The figure of the weights, where there are any.
    fn weights(&self, network: &str) -> Option<Figure> {
        let mut kinds: BTreeMap<&str, ()> = BTreeMap::new();
        for row in self.rows {
            let names = within(row, "weights").into_iter().flat_map(Map::keys);
            kinds.extend(names.map(|name| (name.as_str(), ())));
        }
        let one = |kind: &&str| {
            let value = |name: &'static str| {
                self.points(VARIANTS[0].0, |row| {
                    let matrix = within(row, "weights")?.get(*kind)?.as_object()?;
                    Some(Point::at(0.0, number(matrix, name)?))
                })
            };
            let title = kind.trim_end_matches(".weight").replace('*', "l").replace('_', " ");
            let mut found = panel(title, self.axis(), Axis::linear("stable rank"));
            add(&mut found, Series::measured("weights", 0, value("stable_rank")));
            add(&mut found, dotted("entries permuted", 3, value("permuted")));
            drawn(found)
        };
        let panels: Vec<Panel> = kinds.keys().take(MOST_MATRICES).map(one).collect();
        (!panels.is_empty()).then(|| Figure {
            name: format!("{}_weights", InspectNetwork::NAME),
            title: format!("Stable rank of the weights of {network}"),
            caption: "Stable rank ‖*W*‖_{F}²/‖*W*‖² of the matrices of each block; dotted: the same entries in random \
                      order, which is what a matrix without structure has."
                .into(),
            width: Width::Page,
            columns: 3,
            panels,
        })
    }
}

fn dotted(label: &str, colour: usize, points: Vec<Point>) -> Series {
    Series::predicted(label, colour, points).drawn(Stroke::Dotted)
}
