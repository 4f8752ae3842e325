//! Heat maps: what the class token takes of every patch (AoT ICML Fig. 7, 2024 Fig. 8), before and after training.
//!
//! The papers choose heads "by manual inspection". Here the criterion is fixed beforehand. Where the shape is known, the
//! quality of a head is the probability that a patch of the shape has a larger weight than one outside (area under the
//! ROC curve, ties one half; 1/2 by chance), a mean over images. Of every block the head with the largest one on the
//! validation part is reported, with its quality on the test part: a largest one of many would lie above 1/2 by chance. Where it is not, the head whose weights have the least entropy is drawn.

use super::MapSettings;
use super::data::{Data, shown};
use attnlab_lab::prelude::*;
use attnlab_train::model::Model;
use ndarray::{Array2, ArrayView1};
use serde_json::json;
use std::cmp::Ordering;

/// Records, for "untrained" and "trained" networks: "WHEN.quality", the quality of every head of every block on images
/// of the test part (blocks one after the other; of no head where shapes are unknown), "WHEN.best", of each block that
/// of the head which is best on the validation part, and "WHEN.maps.I", the weights of the drawn block's heads on image
/// I, heads one after the other. "head" is the drawn head, "shown.I" image I in one channel, and "mask.I" its shape.
pub(super) fn record(
    settings: &MapSettings,
    data: &Data,
    [untrained, trained]: [&Model; 2],
    findings: &mut Map<String, Value>,
) -> Result<()> {
    // The last block but one, as in the print of 2024.
    let (drawn, heads) = (trained.config().layers.saturating_sub(2), trained.config().heads);
    let chosen = chosen(settings, data, trained, drawn)?;
    let sizes = [("block", drawn + 1), ("head", chosen), ("heads", heads)];
    findings.extend(sizes.map(|(name, n)| (name.to_string(), json!(n))));
    let test = &data.parts.test;
    let judged = spread(test, settings.judged);
    let watched = spread(&data.parts.validation, settings.judged);
    let shown_images = spread(test, settings.images);
    for (when, model) in [("untrained", untrained), ("trained", trained)] {
        let on_validation = qualities(data, model, &watched)?;
        if let (Some(before), Some(quality)) = (on_validation, qualities(data, model, &judged)?) {
            let values: Vec<f64> = quality.iter().copied().collect();
            findings.insert(format!("{when}.quality"), store::series(&values));
            let best: Vec<f64> = before.outer_iter().zip(quality.outer_iter()).map(|(v, q)| q[largest(v)]).collect();
            findings.insert(format!("{when}.best"), store::series(&best));
        }
        for (i, index) in shown_images.iter().enumerate() {
            let values: Vec<f64> = attention(data, model, *index)?[drawn].iter().copied().collect();
            findings.insert(format!("{when}.maps.{i}"), store::series(&values));
        }
    }
    for (i, index) in shown_images.iter().enumerate() {
        findings.insert(format!("shown.{i}"), store::series(&shown(data, *index)?));
        if let Some(mask) = data.mask(*index)? {
            let mask: Vec<f64> = mask.iter().map(|m| f64::from(u8::from(*m))).collect();
            findings.insert(format!("mask.{i}"), store::series(&mask));
        }
    }
    Ok(())
}

/// Checks that the masks which heads are judged by have the sizes of their images.
pub(super) fn masks_fit(settings: &MapSettings, data: &Data) -> Result<()> {
    let judged = [&data.parts.test, &data.parts.validation].map(|part| spread(part, settings.judged));
    judged.iter().flatten().try_for_each(|index| data.mask(*index).map(|_| ()))
}

fn attention(data: &Data, model: &Model, index: usize) -> Result<Vec<Array2<f64>>> {
    data.view.class_attention(model, data.images.all(), index)
}

/// At most `count` indices, evenly spread.
fn spread(indices: &[usize], count: usize) -> Vec<usize> {
    let count = count.min(indices.len());
    (0..count).map(|i| indices[i * indices.len() / count]).collect()
}

/// The head of the drawn block by the criterion above, on the validation part.
fn chosen(settings: &MapSettings, data: &Data, model: &Model, drawn: usize) -> Result<usize> {
    let judged = spread(&data.parts.validation, settings.judged);
    let scores: Vec<f64> = match qualities(data, model, &judged)? {
        Some(quality) => quality.row(drawn).to_vec(),
        None => {
            let mut sums = vec![0.0; model.config().heads];
            for index in &judged {
                let maps = attention(data, model, *index)?;
                sums.iter_mut().zip(maps[drawn].rows()).for_each(|(sum, weights)| *sum -= entropy(weights));
            }
            sums
        }
    };
    Ok(largest(ArrayView1::from(&scores)))
}

/// Index of the largest number.
fn largest(values: ArrayView1<f64>) -> usize {
    values.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(i, _)| i)
}

/// Entropy (nats) of weights that are scaled to sum 1.
fn entropy(weights: ArrayView1<f64>) -> f64 {
    let sum: f64 = weights.sum();
    weights.iter().map(|w| w / sum).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum()
}

/// Mean quality (blocks, heads) over the images with patches inside and outside their shapes; None where there are none.
fn qualities(data: &Data, model: &Model, indices: &[usize]) -> Result<Option<Array2<f64>>> {
    let config = model.config();
    let mut sums = Array2::zeros((config.layers, config.heads));
    let mut counted = 0;
    for index in indices {
        let Some(mask) = data.mask(*index)? else { return Ok(None) };
        if mask.iter().all(|m| *m) || !mask.contains(&true) {
            continue;
        }
        counted += 1;
        for (block, maps) in attention(data, model, *index)?.iter().enumerate() {
            for (head, weights) in maps.rows().into_iter().enumerate() {
                sums[[block, head]] += area_under_curve(weights, &mask);
            }
        }
    }
    Ok((counted > 0).then(|| sums / f64::from(counted)))
}

/// The probability that a weight inside the mask is larger than one outside, ties one half.
fn area_under_curve(weights: ArrayView1<f64>, mask: &[bool]) -> f64 {
    let part = |inside: bool| -> Vec<f64> {
        weights.iter().zip(mask).filter(|(_, m)| **m == inside).map(|(w, _)| *w).collect()
    };
    let (inside, outside) = (part(true), part(false));
    let won = |(w, v): (&f64, &f64)| match w.total_cmp(v) {
        Ordering::Greater => 1.0,
        Ordering::Equal => 0.5,
        Ordering::Less => 0.0,
    };
    iproduct!(&inside, &outside).map(won).sum::<f64>() / (inside.len() * outside.len()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// sklearn.metrics.roc_auc_score([1, 0, 1, 0, 0], [.4, .1, .2, .2, .3]) is 0.75.
    #[test]
    fn the_area_is_that_of_scikit_learn() {
        let mask = [true, false, true, false, false];
        let area = area_under_curve(array![0.4, 0.1, 0.2, 0.2, 0.3].view(), &mask);
        // Quarters of whole numbers: no rounding but that of one division.
        assert!((area - 0.75).abs() < 2.0 * f64::EPSILON);
    }

    #[test]
    fn entropy_of_equal_weights_is_the_logarithm_of_their_number() {
        assert!((entropy(array![0.2, 0.2, 0.2].view()) - 3.0_f64.ln()).abs() < 1e-12);
        assert_eq!(entropy(array![0.0, 0.7].view()), 0.0);
    }

    #[test]
    fn spread_takes_what_there_is() {
        assert_eq!(spread(&[4, 5, 6, 7], 2), [4, 6]);
        assert_eq!(spread(&[4, 5], 9), [4, 5]);
    }
}
