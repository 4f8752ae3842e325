//! Laws of the parameters at the start.

use super::Architecture;
use super::layout::{BlockSlots, Layout, LinearSlots, Slot};
use attnlab_core::linalg::Real;
use attnlab_core::rng::{Generator, Streams};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// Law of the parameters at the start. Gains of the normalisations are 1 and their shifts 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Table 1: embeddings N(0, 1); weights and biases of linear maps uniform on ±1/√(inputs).
    FanIn,
    /// Figures 6 and 8, as PyTorch's encoder layer and the authors' model have it: embeddings and read-out uniform
    /// on ±.1; queries, keys and values uniform with Xavier's bound for their joint matrix, √(6/(4 d)); biases of
    /// attention and read-out 0; the other maps as in `FanIn`.
    Library {
        /// Flag: all blocks start with the weights of the first, as deep copies of one block do.
        equal_blocks: bool,
    },
}

impl Start {
    pub(super) fn fill<T: Real>(self, sizes: &Architecture, layout: &Layout, flat: &mut [T], streams: &Streams) {
        let mut rng = streams.part("embedding", 0);
        match self {
            Start::FanIn => {
                for x in layout.embedding.slice_mut(flat) {
                    let z: f64 = StandardNormal.sample(&mut rng);
                    *x = T::of_f64(z);
                }
            }
            Start::Library { .. } => uniform(layout.embedding, flat, 0.1, &mut rng),
        }
        for (b, slots) in layout.blocks.iter().enumerate() {
            let index = if self == (Start::Library { equal_blocks: true }) { 0 } else { b as u64 };
            self.fill_block(sizes, slots, flat, &mut streams.part("block", index));
        }
        let mut rng = streams.part("readout", 0);
        match self {
            Start::FanIn => fan_in(layout.readout, flat, &mut rng),
            Start::Library { .. } => uniform(layout.readout.weight, flat, 0.1, &mut rng),
        }
    }

    fn fill_block<T: Real>(self, sizes: &Architecture, slots: &BlockSlots, flat: &mut [T], rng: &mut Generator) {
        for map in [slots.query, slots.key, slots.value] {
            match self {
                Start::FanIn => fan_in(map, flat, rng),
                Start::Library { .. } => {
                    uniform(map.weight, flat, (6.0 / (4.0 * sizes.width as f64)).sqrt(), rng);
                }
            }
        }
        if let Some(map) = slots.projection {
            match self {
                Start::FanIn => fan_in(map, flat, rng),
                Start::Library { .. } => uniform(map.weight, flat, fan(map), rng),
            }
        }
        fan_in(slots.lower, flat, rng);
        fan_in(slots.upper, flat, rng);
        for norm in [slots.norm1, slots.norm2] {
            norm.gain.slice_mut(flat).fill(T::one());
        }
    }
}

/// 1/√(inputs).
fn fan(map: LinearSlots) -> f64 {
    1.0 / (map.weight.columns as f64).sqrt()
}

fn fan_in<T: Real>(map: LinearSlots, flat: &mut [T], rng: &mut Generator) {
    for slot in std::iter::once(map.weight).chain(map.bias) {
        uniform(slot, flat, fan(map), rng);
    }
}

fn uniform<T: Real>(slot: Slot, flat: &mut [T], bound: f64, rng: &mut Generator) {
    for x in slot.slice_mut(flat) {
        *x = T::of_f64(bound * (2.0 * rng.random::<f64>() - 1.0));
    }
}
