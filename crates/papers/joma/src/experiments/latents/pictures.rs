//! The figures of `joma_latents`, from its rows.

use super::JomaLatents;
use crate::quantities::{CLASSES, LABELS, LATENTS_0, LATENTS_1, LEARNING_RATE, RHO};
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{
    LEVEL, OVER_SEEDS, cells, firsts, lasts, mean_at, numbers, panel, with_word,
};
use attnlab_lab::figure::{Axis, Figure, GREY, Point, Series, Width};
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

/// The figures of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figures(settings: &JomaLatents, rows: &[Row]) -> Result<Vec<Figure>> {
    let all = cells(JomaLatents::NAME, rows)?;
    let real = with_word(&all, LABELS.name, "classes");
    let random = with_word(&all, LABELS.name, "random");
    let mut panels = vec![];
    for (group, (name, cells)) in groups(&real)?.into_iter().enumerate() {
        let others = groups(&random)?
            .into_iter()
            .nth(group)
            .map(|g| g.1)
            .unwrap_or_default();
        for s in [0, 1] {
            let mut found = panel(
                format!(
                    "{}, {name}",
                    if s == 0 {
                        "bottom latents"
                    } else {
                        "top latents"
                    }
                ),
                Axis::linear("*ρ*"),
                Axis::linear(format!("NCorr_{{{s}}}, held out")).from_to(0.0, 1.05),
            );
            let own = format!("corr_{s}_{s}");
            let mut lists: [Vec<Point>; 5] = Default::default();
            for cell in &cells {
                let rho = cell[0].parameter(RHO.name)?;
                lists[0].push(mean_at(rho, &lasts(cell, &own)?)?);
                lists[1].push(mean_at(rho, &firsts(cell, &own)?)?);
                lists[3].push(mean_at(rho, &lasts(cell, &format!("permuted_{s}"))?)?);
                lists[4].push(mean_at(rho, &numbers(cell, &format!("noise_{s}"))?)?);
            }
            for cell in &others {
                let rho = cell[0].parameter(RHO.name)?;
                lists[2].push(mean_at(rho, &lasts(cell, &own)?)?);
            }
            let labels = [
                "trained",
                "untrained",
                "trained on random labels",
                "latents permuted",
                "noise units",
            ];
            for ((points, label), colour) in lists.into_iter().zip(labels).zip([0, 1, 2, 3, GREY]) {
                if !points.is_empty() {
                    found
                        .series
                        .push(Series::measured(label, colour, points).with_interval(OVER_SEEDS));
                }
            }
            panels.push(found);
        }
    }
    Ok(vec![Figure {
        name: JomaLatents::NAME.into(),
        title: "Latents of noisy trees against hidden units".into(),
        caption: format!(
            "NCorr of the latents of each layer with the {} units of its block, on {} sequences that were not trained \
             on, after {} steps of {} fresh sequences; the same before training, after training on labels without \
             relation to the sequences, with the latents permuted, and for normal noise. Width {}, {} seeds; bands: \
             {} % intervals over seeds (Student).",
            settings.hidden,
            settings.held_out,
            settings.records.last(),
            settings.batch,
            settings.width,
            settings.seeds,
            100.0 * LEVEL,
        ),
        width: Width::Page,
        columns: 2,
        panels,
    }])
}
