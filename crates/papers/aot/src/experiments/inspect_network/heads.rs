//! The heads of the network as given, as maps of heads × blocks.

use super::{InspectNetwork, PLACE, VARIANT, VARIANTS};
use crate::experiments::parts::within;
use attnlab_lab::figure::{Axis, Cell, Heat, Measured, Palette, Panel};
use attnlab_lab::prelude::*;
use attnlab_lab::run::store::as_number;

/// A map: title, part of the rows and list in it, label of its rows, colour bar, palette.
struct Map {
    title: &'static str,
    list: [&'static str; 2],
    heads: &'static str,
    bar: Axis,
    palette: Palette,
}

/// The figure, where the rows have blocks.
pub(super) fn figure(rows: &[&Row], network: &str, level: f64) -> Option<Figure> {
    let trained = rows.iter().filter(|row| row.word(VARIANT).is_ok_and(|variant| variant == VARIANTS[0].0));
    let placed = trained.filter_map(|row| Some((row.parameter(PLACE).ok()?, *row)));
    let mut blocks: Vec<(f64, &Row)> = placed.filter(|(place, _)| *place > 0.0).collect();
    blocks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of_attention = |title, name, label: &str| {
        let (bar, palette) = (Axis::linear(label), Palette::Sequential);
        Map { title, list: ["attention", name], heads: "head", bar, palette }
    };
    let mut sink = of_attention("share of the first token", "sink_by_head", "weight on the first token");
    sink.bar.range = Some((0.0, 1.0));
    let maps = [
        of_attention("attention entropy", "entropy_by_head", "entropy (nats)"),
        sink,
        of_attention("entropy without the first token", "entropy_without_sink_by_head", "entropy (nats)"),
        Map {
            title: "what a block does to the SNR",
            list: ["heads", "factor_by_head"],
            heads: "subspace",
            bar: Axis::linear("factor of the SNR"),
            palette: Palette::Diverging(1.0),
        },
    ];
    let interval = format!("{} % interval over windows", 100.0 * level);
    let panels: Vec<Panel> = maps.into_iter().filter_map(|map| panel(&blocks, map, &interval)).collect();
    (!panels.is_empty()).then(|| {
        Figure::page(format!("{}_heads", InspectNetwork::NAME), format!("Heads of {network}"), 2, panels).captioned(
            "Means over the queries of all windows, a row per head and a column per block. Entropy of a query's weights; \
             share of the weight of the other queries on the first token of their window; entropy of the weights on the \
             other tokens, scaled to sum 1. Factor: SNR (6) after the block over SNR before it of the tokens of a head's \
             subspace, which has no value where there are none; heads that share their values share a subspace.",
        )
    })
}

/// The panel of a map over the rows of the blocks; None where nothing is finite.
fn panel(blocks: &[(f64, &Row)], map: Map, interval: &str) -> Option<Panel> {
    let [part, name] = map.list;
    let list = |block: usize, name: &str| within(blocks[block].1, part)?.get(name)?.as_array();
    let entry =
        |block, name: &str, head: usize| list(block, name)?.get(head).and_then(as_number).filter(|x| x.is_finite());
    let x: Vec<f64> = blocks.iter().map(|(block, _)| *block).collect();
    let heads = (0..x.len()).filter_map(|block| list(block, name).map(Vec::len)).max()?;
    let y: Vec<f64> = (1..=heads).map(|head| head as f64).collect();
    let heat = Heat::over(&x, &y, map.bar, |block, head| {
        let end = |end: &str| entry(block, &format!("{name}_{end}"), head);
        let value = entry(block, name, head).unwrap_or(f64::NAN);
        Cell::of(Measured { value, interval: end("low").zip(end("high")) }).hatched_if(value.is_nan())
    });
    let finite = heat.cells.iter().flatten().any(|cell| cell.value.is_finite());
    let heat = Heat { palette: map.palette, ..heat.explained(interval, "no value") };
    finite.then(|| Panel::new(map.title, Axis::whole("block"), Axis::whole(map.heads)).coloured(heat))
}
