//! The figure of `cluster_network`, from its rows: places along the network on the horizontal axis.

use super::OfNetwork;
use crate::quantities::{BETA, VARIANT};
use attnlab_lab::experiment::draw::{along, cells, firsts, lists, tenths};
use attnlab_lab::figure::{Axis, GREY, Panel, Series, Stroke};
use attnlab_lab::prelude::*;

/// Kind of the intervals.
const OVER_WINDOWS: &str = "10-90 % of windows";

pub fn figures(settings: &OfNetwork, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(OfNetwork::NAME, rows)?;
    let panel = |title, y, name| panel(&cells, title, y, name);
    let angle = || Axis::linear("angle (radian)");
    let panels = vec![
        panel("groups", Axis::log("number of groups"), "groups")?,
        panel("energy", Axis::linear("energy"), "energy")?,
        panel("effective rank", Axis::log("effective rank"), "effective_rank")?,
        panel("mean cosine", Axis::linear("mean cosine"), "mean_cosine")?,
        panel("closest pair", angle(), "closest")?,
        panel("nearest neighbour", angle(), "neighbour")?,
    ];
    let network = attnlab_networks::title(&settings.network);
    let OfNetwork { trials, window, skip, time, energy_beta, link, centre, .. } = settings;
    let centred = if *centre { ", less the mean direction of its window" } else { "" };
    let title = format!("The tokens of {network} as particles");
    let name = if *centre { format!("{}_centred", OfNetwork::NAME) } else { OfNetwork::NAME.to_string() };
    Ok(vec![Figure::page(name, title, 2, panels).captioned(format!(
        "Directions of the residual stream{centred}, {trials} windows of {window} tokens of which the first {skip} are not \
         measured: after the embedding (0) and after each block; median and 10-90 % of the windows. Random \
         weights: one draw of the same architecture before training. Law: softmax attention (SA) from the directions of the same embedding with the \
         network's mask and place of the norm, one head, *Q*, *K* and *V* the identity, no MLP, time {time} per block. \
         Uniform: tokens on the sphere. Groups: tokens joined by steps of at most {link} radian. Energy: mean over pairs of \
         exp({energy_beta}(cos − 1)), 1 where all tokens agree. Effective rank: exponential of the entropy of the shares of \
         the squared singular values. Closest pair and nearest neighbour (median over tokens): among tokens of different ids.",
    ))])
}

/// One number of every variant, place by place.
fn panel(cells: &[&[Row]], title: &str, y: Axis, name: &str) -> Result<Panel> {
    let mut panel = Panel::new(title, Axis::whole("block"), y);
    let mut last = 0.0_f64;
    let mut laws = 0;
    for cell in cells {
        let (label, colour, stroke) = match cell[0].word(VARIANT.name)? {
            "uniform" => continue,
            "trained" => ("as given".to_string(), 0, Stroke::Solid),
            "untrained" => ("random weights".to_string(), 1, Stroke::Dotted),
            _ => {
                laws += 1;
                (format!("law, *β* = {}", cell[0].parameter(BETA.name)?), 1 + laws, Stroke::Dashed)
            }
        };
        let points = along((0..).map(f64::from), &lists(cell, name)?, tenths);
        last = points.last().map_or(last, |point| last.max(point.x));
        panel = panel.with(Series::fitted(label, colour, points).drawn(stroke).with_interval(OVER_WINDOWS));
    }
    let uniform = cells.iter().find(|cell| cell[0].word(VARIANT.name).is_ok_and(|variant| variant == "uniform"));
    let Some(uniform) = uniform else { return Ok(panel) };
    let level = Series::across("uniform tokens", GREY, [0.0, last], tenths(&firsts(uniform, name)?));
    Ok(panel.with(Series { band: true, ..level.drawn(Stroke::DashDotted).with_interval(OVER_WINDOWS) }))
}
