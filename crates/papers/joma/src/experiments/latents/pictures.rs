//! The figures of `joma_latents`, from its rows.

use super::JomaLatents;
use crate::experiments::paired::{count, gains};
use crate::quantities::{CLASSES, LABELS, LATENTS_0, LATENTS_1, LEARNING_RATE, RHO};
use attnlab_lab::experiment::draw::*;
use attnlab_lab::figure::{Axis, GREY, Panel, Rule, Series};
use attnlab_lab::prelude::*;

/// Cells that differ in ρ alone, and the name of the others' values.
type Group<'a> = (String, Vec<&'a [Row]>);

/// Groups the cells.
fn groups<'a>(cells: &[&'a [Row]]) -> Result<Vec<Group<'a>>> {
    grouped(cells.iter().copied(), |cell| {
        let number = |name: &str| cell[0].parameter(name);
        Ok(format!(
            "*D* = {}, *N*_{{0}}, *N*_{{1}} = {}, {}, *η* = {}",
            number(CLASSES.name)?,
            number(LATENTS_0.name)?,
            number(LATENTS_1.name)?,
            number(LEARNING_RATE.name)?
        ))
    })
}

/// Words for a layer of the latents.
const LAYERS: [&str; 2] = ["bottom latents", "top latents"];

/// The figures of these settings, from their rows.
pub fn figures(settings: &JomaLatents, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(JomaLatents::NAME, rows)?;
    let real = with_word(&cells, LABELS, "classes");
    let random = groups(&with_word(&cells, LABELS, "random"))?;
    let mut panels = vec![];
    for (group, (name, cells)) in groups(&real)?.into_iter().enumerate() {
        let others = random.get(group).map_or(&[][..], |(_, cells)| cells.as_slice());
        panels.extend([levels(&name, &cells, others, 0)?, levels(&name, &cells, others, 1)?]);
        panels.extend([changes(&cells, others, 0)?, changes(&cells, others, 1)?]);
    }
    let figure = Figure::page(JomaLatents::NAME, "Latents of noisy trees against hidden units", 2, panels);
    Ok(vec![figure.captioned(caption(settings, &real)?)])
}

/// The scores of layer s.
fn levels(name: &str, cells: &[&[Row]], others: &[&[Row]], s: usize) -> Result<Panel> {
    let measured = |label, colour, points| Series::measured(label, colour, points).with_interval(OVER_SEEDS);
    let trained = |cell: &[Row]| student(&lasts(cell, &format!("corr_{s}_{s}"))?);
    let untrained = |cell: &[Row]| student(&firsts(cell, &format!("corr_{s}_{s}"))?);
    let permuted = |cell: &[Row]| student(&lasts(cell, &format!("permuted_{s}"))?);
    let noise = |cell: &[Row]| student(&numbers(cell, &format!("noise_{s}"))?);
    let y = Axis::linear(format!("NCorr_{{{s}}}, held out")).from_to(0.0, 1.05);
    Ok(Panel::new(format!("{}, {name}", LAYERS[s]), Axis::linear("*ρ*"), y)
        .with_any(measured("trained", 0, over(cells, RHO, trained)?))
        .with_any(measured("untrained", 1, over(cells, RHO, untrained)?))
        .with_any(measured("trained on random labels", 2, over(others, RHO, trained)?))
        .with_any(measured("latents permuted", 3, over(cells, RHO, permuted)?))
        .with_any(measured("noise units", GREY, over(cells, RHO, noise)?)))
}

/// Gain of the scores of layer s by training, paired by seed.
fn changes(cells: &[&[Row]], others: &[&[Row]], s: usize) -> Result<Panel> {
    let rhos = cells.iter().map(|cell| Ok(cell[0].parameter(RHO.name)?.to_string()));
    let x = named("*ρ*", rhos.collect::<Result<Vec<_>>>()?);
    let gain = |cell: &[Row]| student(&gains(cell, &format!("corr_{s}_{s}"))?);
    let permuted = |cell: &[Row]| student(&gains(cell, &format!("permuted_{s}"))?);
    Ok(Panel::new(format!("gain, {}", LAYERS[s]), x, Axis::linear("trained − untrained"))
        .with_any(bars_over_seeds("gain", 0, side_by_side(cells, -0.16, gain)?))
        .with_any(bars_over_seeds("gain with random labels", 2, side_by_side(others, 0.0, gain)?))
        .with_any(bars_over_seeds("gain of permuted latents", 3, side_by_side(cells, 0.16, permuted)?))
        .ruled(Rule::horizontal("", 0.0)))
}

fn caption(settings: &JomaLatents, real: &[&[Row]]) -> Result<String> {
    let above = |s: usize| count(real, |cell| gains(cell, &format!("corr_{s}_{s}")), |gain| gain.low > 0.0);
    let (bottom, top) = (above(0)?, above(1)?);
    let JomaLatents { hidden, held_out, batch, width, seeds, .. } = settings;
    Ok(format!(
        "NCorr of the latents of each layer with the {hidden} units of its block, on {held_out} sequences that were \
         not trained on, after {} steps of {batch} fresh sequences; the same before training, after training on \
         labels without relation to the sequences, with the latents permuted, and for normal noise. Gain: trained \
         minus untrained, paired by seed; its interval lies above 0 in {bottom} of {all} cells for the bottom \
         latents and in {top} of {all} for the top ones. Width {width}, {seeds} seeds; bands and bars: {PERCENT} % \
         intervals over seeds (Student).",
        settings.records.last(),
        all = real.len(),
    ))
}
