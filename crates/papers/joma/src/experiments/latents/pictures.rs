//! The figures of `joma_latents`, from its rows.

use super::JomaLatents;
use crate::experiments::paired::gains;
use crate::quantities::{CLASSES, LABELS, LATENTS_0, LATENTS_1, LEARNING_RATE, RHO};
use attnlab_core::error::Result;
use attnlab_core::stats;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{LEVEL, OVER_SEEDS, cells, firsts, lasts, mean_at, numbers, panel, with_word};
use attnlab_lab::figure::{Axis, Figure, GREY, Panel, Point, Rule, Series, Width};
use attnlab_lab::run::Row;

/// Cells that differ in ρ alone, and the name of the others' values.
type Group<'a> = (String, Vec<&'a [Row]>);

/// Groups the cells.
fn groups<'a>(cells: &[&'a [Row]]) -> Result<Vec<Group<'a>>> {
    let mut found: Vec<Group> = vec![];
    for cell in cells {
        let number = |name: &str| cell[0].parameter(name);
        let name = format!(
            "*D* = {}, *N*_{{0}}, *N*_{{1}} = {}, {}, *η* = {}",
            number(CLASSES.name)?,
            number(LATENTS_0.name)?,
            number(LATENTS_1.name)?,
            number(LEARNING_RATE.name)?
        );
        match found.iter_mut().find(|(n, _)| *n == name) {
            Some((_, list)) => list.push(cell),
            None => found.push((name, vec![cell])),
        }
    }
    Ok(found)
}

/// Words for a layer of the latents.
const LAYERS: [&str; 2] = ["bottom latents", "top latents"];

/// The figures of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figures(settings: &JomaLatents, rows: &[Row]) -> Result<Vec<Figure>> {
    let all = cells(JomaLatents::NAME, rows)?;
    let real = with_word(&all, LABELS.name, "classes");
    let random = groups(&with_word(&all, LABELS.name, "random"))?;
    let mut panels = vec![];
    for (group, (name, cells)) in groups(&real)?.into_iter().enumerate() {
        let others = random.get(group).map_or(&[][..], |(_, cells)| cells.as_slice());
        for s in [0, 1] {
            panels.push(levels(&name, &cells, others, s)?);
        }
        for s in [0, 1] {
            panels.push(changes(&cells, others, s)?);
        }
    }
    Ok(vec![Figure {
        name: JomaLatents::NAME.into(),
        title: "Latents of noisy trees against hidden units".into(),
        caption: caption(settings, &real)?,
        width: Width::Page,
        columns: 2,
        panels,
    }])
}

/// The scores of layer s.
fn levels(name: &str, cells: &[&[Row]], others: &[&[Row]], s: usize) -> Result<Panel> {
    let mut found = panel(
        format!("{}, {name}", LAYERS[s]),
        Axis::linear("*ρ*"),
        Axis::linear(format!("NCorr_{{{s}}}, held out")).from_to(0.0, 1.05),
    );
    let own = format!("corr_{s}_{s}");
    let mut lists: [Vec<Point>; 5] = Default::default();
    for cell in cells {
        let rho = cell[0].parameter(RHO.name)?;
        lists[0].push(mean_at(rho, &lasts(cell, &own)?)?);
        lists[1].push(mean_at(rho, &firsts(cell, &own)?)?);
        lists[3].push(mean_at(rho, &lasts(cell, &format!("permuted_{s}"))?)?);
        lists[4].push(mean_at(rho, &numbers(cell, &format!("noise_{s}"))?)?);
    }
    for cell in others {
        let rho = cell[0].parameter(RHO.name)?;
        lists[2].push(mean_at(rho, &lasts(cell, &own)?)?);
    }
    let labels = ["trained", "untrained", "trained on random labels", "latents permuted", "noise units"];
    for ((points, label), colour) in lists.into_iter().zip(labels).zip([0, 1, 2, 3, GREY]) {
        if !points.is_empty() {
            found.series.push(Series::measured(label, colour, points).with_interval(OVER_SEEDS));
        }
    }
    Ok(found)
}

/// Gain of the scores of layer s by training, paired by seed.
fn changes(cells: &[&[Row]], others: &[&[Row]], s: usize) -> Result<Panel> {
    let rhos = cells.iter().map(|cell| cell[0].parameter(RHO.name));
    let rhos = rhos.collect::<Result<Vec<f64>>>()?;
    let places = |i: usize| i as f64 + 1.0;
    let mut x = Axis::linear("*ρ*").from_to(0.4, rhos.len() as f64 + 0.6);
    let ticks = rhos.iter().enumerate();
    x.ticks = ticks.map(|(i, rho)| (places(i), rho.to_string())).collect();
    let mut found = panel(format!("gain, {}", LAYERS[s]), x, Axis::linear("trained − untrained"));
    let own = format!("corr_{s}_{s}");
    let mut lists: [Vec<Point>; 3] = Default::default();
    for (i, cell) in cells.iter().enumerate() {
        lists[0].push(mean_at(places(i) - 0.16, &gains(cell, &own)?)?);
        let permuted = gains(cell, &format!("permuted_{s}"))?;
        lists[2].push(mean_at(places(i) + 0.16, &permuted)?);
    }
    for (i, cell) in others.iter().enumerate() {
        lists[1].push(mean_at(places(i), &gains(cell, &own)?)?);
    }
    let labels = ["gain", "gain with random labels", "gain of permuted latents"];
    for ((points, label), colour) in lists.into_iter().zip(labels).zip([0, 2, 3]) {
        if !points.is_empty() {
            found.series.push(Series::bars(label, colour, points).with_interval(OVER_SEEDS));
        }
    }
    found.rules.push(Rule::horizontal("", 0.0));
    Ok(found)
}

fn caption(settings: &JomaLatents, real: &[&[Row]]) -> Result<String> {
    let mut above = [0; 2];
    for cell in real {
        for (s, count) in above.iter_mut().enumerate() {
            let gain = stats::mean(&gains(cell, &format!("corr_{s}_{s}"))?, LEVEL)?;
            *count += usize::from(gain.low > 0.0);
        }
    }
    let [bottom, top] = above;
    Ok(format!(
        "NCorr of the latents of each layer with the {} units of its block, on {} sequences that were not trained \
         on, after {} steps of {} fresh sequences; the same before training, after training on labels without \
         relation to the sequences, with the latents permuted, and for normal noise. Gain: trained minus untrained, \
         paired by seed; its interval lies above 0 in {bottom} of {all} cells for the bottom latents and in {top} of \
         {all} for the top ones. Width {}, {} seeds; bands and bars: {} % intervals over seeds (Student).",
        settings.hidden,
        settings.held_out,
        settings.records.last(),
        settings.batch,
        settings.width,
        settings.seeds,
        100.0 * LEVEL,
        all = real.len(),
    ))
}
