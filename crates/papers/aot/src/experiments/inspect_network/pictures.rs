//! The figures of `inspect_network`, from its rows: places along the network on the horizontal axis.

use super::{InspectNetwork, PLACE, VARIANT, VARIANTS, heads};
use crate::experiments::parts::{bounded, limit_11, measured, number, within};
use attnlab_lab::experiment::draw::cells;
use attnlab_lab::figure::{Axis, Measured, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;
use std::collections::BTreeSet;

/// Matrices of a block that get a panel; networks here have at most seven.
const MOST_MATRICES: usize = 9;

pub fn figures(settings: &InspectNetwork, rows: &[Row]) -> Result<Vec<Figure>> {
    let rows: Vec<&Row> = cells(InspectNetwork::NAME, rows)?.iter().map(|cell| &cell[0]).collect();
    let along = Along { rows: &rows, last: settings.places.saturating_sub(1) };
    let network = attnlab_networks::title(&settings.network);
    let percent = 100.0 * settings.fitting.level;
    let of_tokens = |title, y, name: &str| drawn(along.variants(title, Axis::linear(y), |row| number(&row.data, name)));
    let panels = vec![
        along.noise(),
        along.horizon(),
        along.heads(),
        along.factor(),
        along.attention("entropy", "attention entropy", "entropy (nats)"),
        along.attention("sink", "share of the first token", "weight on the first token"),
        along.attention("entropy_without_sink", "entropy without the first token", "entropy (nats)"),
        along.attention("energy", "energy of attention", "energy (nats)"),
        of_tokens("stable rank", "stable rank of *Z*", "stable_rank"),
        of_tokens("coding rate", "*R* of unit tokens (nats)", "coding_rate"),
        of_tokens("mean cosine", "mean cosine", "mean_cosine"),
    ];
    let title = format!("{network} against the theory of AoT Theorem 1");
    let mut figures = vec![Figure::page(InspectNetwork::NAME, title, 3, panels).captioned(format!(
        "Place 0: residual stream after the embedding; place *l*: after block *l*. Noise *δ* of the fitted mixture of \
         Definition 1, {percent} % intervals; limit (11): √(log *N* / *p*)/8. Horizon: first factor *θ* at which the \
         pattern (30) breaks, at *τ* = {}. SNR (6) in the subspaces of a block's heads (what their values read), \
         tokens labelled by their largest projection before the block; dotted: random subspaces of the same sizes, \
         mean of several draws with {percent} % intervals over them; factor: SNR after the block over SNR before it. \
         Entropy and energy (−log of the mean of exp(score)) of attention: means over queries and heads; dotted: the \
         largest entropy. First token: share of the weight of the other queries on the first token of their window; \
         without it: entropy of the weights on the other tokens, scaled to sum 1. {percent} % intervals over windows. \
         Random weights: the same architecture before training. Tokens shuffled: the same tokens in random order.",
        settings.fitting.tau,
    ))];
    figures.extend(heads::figure(&rows, &network, settings.fitting.level));
    figures.extend(along.weights(&network));
    Ok(figures)
}

/// Rows of all variants and places.
struct Along<'a> {
    rows: &'a [&'a Row],
    last: usize,
}

/// The panel, with a word in place of its axis where nothing is finite.
fn drawn(mut panel: Panel) -> Panel {
    if panel.series.is_empty() {
        panel.y = Axis::linear("none finite").from_to(0.0, 1.0);
    }
    panel
}

impl Along<'_> {
    fn panel(&self, title: &str, y: Axis) -> Panel {
        Panel::new(title, Axis::whole("place").from_to(-0.5, self.last as f64 + 0.5), y)
    }

    /// The points of a variant, in the order of places.
    fn points<Y: Into<Measured>>(&self, variant: &str, value: impl Fn(&Row) -> Option<Y>) -> Vec<Point> {
        let of_variant = |row: &&&Row| row.word(VARIANT).is_ok_and(|v| v == variant);
        let point = |row: &&Row| Some(Point::at(row.parameter(PLACE).ok()?, value(row)?));
        let mut points: Vec<Point> = self.rows.iter().filter(of_variant).filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    }

    /// The points of the network as it is.
    fn trained<Y: Into<Measured>>(&self, value: impl Fn(&Row) -> Option<Y>) -> Vec<Point> {
        self.points(VARIANTS[0].0, value)
    }

    /// One quantity of every variant.
    fn variants<Y: Into<Measured>>(&self, title: &str, y: Axis, value: impl Fn(&Row) -> Option<Y>) -> Panel {
        VARIANTS.into_iter().enumerate().fold(self.panel(title, y), |panel, (colour, (variant, label))| {
            panel.with_any(Series::measured(label, colour, self.points(variant, &value)))
        })
    }

    fn noise(&self) -> Panel {
        let panel = self.variants("noise", Axis::linear("*δ*"), |row| bounded(&row.data, "delta"));
        let limit = self.trained(|row| limit_11(row).filter(|delta| delta.is_finite()));
        drawn(panel.with_any(Series::predicted("limit (11)", 3, limit)))
    }

    fn horizon(&self) -> Panel {
        let theta = |row: &Row, part| number(within(row, part)?, "theta_crit");
        let y = Axis::log("*θ* at the first break");
        let permuted = Series::measured("labels permuted", 3, self.trained(|row| theta(row, "labels")));
        drawn(self.variants("horizon", y, |row| theta(row, ""))).with_any(permuted)
    }

    fn heads(&self) -> Panel {
        let y = Axis::linear("SNR after the block");
        self.beside_chance("SNR in the heads' subspaces", y, ["all_after", "chance_after"])
    }

    fn factor(&self) -> Panel {
        let y = Axis::linear("factor of the SNR");
        self.beside_chance("what a block does to it", y, ["factor", "chance_factor"]).ruled(Rule::horizontal("", 1.0))
    }

    /// One quantity of the heads of every variant, and the same in random subspaces.
    fn beside_chance(&self, title: &str, y: Axis, [name, chance]: [&str; 2]) -> Panel {
        let positive = |row: &Row, name| measured(within(row, "heads")?, name).filter(|m| m.value > 0.0);
        let random = Series::fitted("random subspaces", 0, self.trained(|row| positive(row, chance)));
        drawn(self.variants(title, y, |row| positive(row, name))).with_any(random.drawn(Stroke::Dotted))
    }

    fn attention(&self, name: &str, title: &str, label: &str) -> Panel {
        let panel = self.variants(title, Axis::linear(label), |row| measured(within(row, "attention")?, name));
        let ceiling = || self.trained(|row| number(within(row, "attention")?, "ceiling"));
        drawn(match name {
            "entropy" => panel.with_any(dotted("largest", 3, ceiling())),
            _ => panel,
        })
    }

    /// The figure of the weights, where there are any.
    fn weights(&self, network: &str) -> Option<Figure> {
        let kinds = self.rows.iter().flat_map(|row| within(row, "weights").into_iter().flat_map(Map::keys));
        let kinds: BTreeSet<&String> = kinds.collect();
        let of_kind = |kind: &String| {
            let value = |name: &str| self.trained(|row| number(within(row, "weights")?.get(kind)?.as_object()?, name));
            let title = kind.trim_end_matches(".weight").replace('*', "l").replace('_', " ");
            drawn(
                self.panel(&title, Axis::linear("stable rank"))
                    .with_any(Series::measured("weights", 0, value("stable_rank")))
                    .with_any(dotted("entries permuted", 3, value("permuted"))),
            )
        };
        let panels: Vec<Panel> = kinds.into_iter().take(MOST_MATRICES).map(of_kind).collect();
        let title = format!("Stable rank of the weights of {network}");
        (!panels.is_empty()).then(|| {
            Figure::page(format!("{}_weights", InspectNetwork::NAME), title, 3, panels).captioned(
                "Stable rank ‖*W*‖_{F}²/‖*W*‖² of the matrices of each block; dotted: the same entries in random \
                 order, which is what a matrix without structure has.",
            )
        })
    }
}

fn dotted(label: &str, colour: usize, points: Vec<Point>) -> Series {
    Series::predicted(label, colour, points).drawn(Stroke::Dotted)
}
