//! JoMA Theorem 5: co-occurrence of two tokens against the height of their common ancestor.

use crate::PAPERS;
use crate::quantities::RHO;
use crate::theory::tree::{Tree, cooccurrence, cooccurrence_printed};
use crate::tree::TreeDraw;
use attnlab_core::stats::binomial;
use attnlab_lab::experiment::draw::{cells, lists, numbers};
use attnlab_lab::figure::{Axis, GREY, Panel, Point, Series, Stroke};
use attnlab_lab::prelude::*;

attnlab_lab::settings! {
    /// Co-occurrence in drawn trees against Theorem 5, printed and corrected, and the limit (8).
    #[experiment("joma.tree", rows = "joma_tree",
        title = "Co-occurrence of tokens against the depth of their common ancestor")]
    #[source(&PAPERS[0], "Theorem 5, Eq. (8)")]
    pub struct JomaTree {
        pub trials: u64 = whole(1..),
        pub depth: usize = whole(2..=20),
        pub branches: usize = whole(2..=1000),
        pub rho: Vec<f64>,
        pub classes: Vec<f64>,
        pub zero: Vec<f64>,
        pub draws: usize = whole(1..),
        pub epsilon: Vec<f64> = within("(0, 1]"),
        pub limit_depth: usize = whole(2..=1000),
    }
}

/// Trees beyond this many variables are not drawn.
const MOST: usize = 1 << 20;

impl JomaTree {
    fn tree(&self, rho: f64) -> Result<Tree> {
        let depth = self.depth as u32; // at most 20, as validated
        Tree::regular(self.classes.clone(), self.zero.clone(), rho, depth, self.branches)
    }

    fn heights(&self, cells: &[&[Row]]) -> Result<Panel> {
        let y = Axis::linear("P[*y*_{l} = 1 | *y*_{m} = 1]");
        let mut panel = Panel::new("drawn trees", Axis::whole("height *H* of the common ancestor"), y);
        let depth = self.depth as u32;
        for (colour, cell) in cells.iter().enumerate() {
            let rho = cell[0].parameter(RHO.name)?;
            let alone = numbers(cell, "of")?.iter().sum::<f64>();
            let with = lists(cell, "with")?;
            let (mut measured, mut corrected, mut printed) = (vec![], vec![], vec![]);
            for height in 1..depth {
                let x = f64::from(height);
                if alone > 0.0 {
                    let both = with.iter().filter_map(|counts| counts.get(height as usize - 1)).sum::<f64>();
                    measured.push(Point::at(x, binomial(both as u64, alone as u64, 0.95)?));
                }
                let (classes, zero) = (&self.classes, &self.zero);
                corrected.push(Point::at(x, cooccurrence(rho, depth, height, classes, zero)?));
                printed.push(Point::at(x, cooccurrence_printed(rho, depth, height, classes, zero)?));
            }
            let bars = Series::bars(format!("*ρ* = {rho}").replace('-', "−"), colour, measured);
            panel = panel
                .with(Series::predicted("Theorem 5, corrected", colour, corrected))
                .with(Series::predicted("Theorem 5, as printed", colour, printed).drawn(Stroke::Dotted))
                .with(bars.with_interval("95 % interval"));
        }
        Ok(panel)
    }

    fn limit(&self) -> Result<Panel> {
        let y = Axis::linear("P[*y*_{l} = 1 | *y*_{m} = 1]").from_to(0.0, 1.02);
        let depth = self.limit_depth as u32;
        let panel = Panel::new("nearly deterministic trees, (8)", Axis::linear("*H*/*L*").from_to(0.0, 1.0), y);
        let panel = panel.curves(&self.epsilon, |i, epsilon| {
            let point = |height: u32| {
                let p = cooccurrence(1.0 - epsilon, depth, height, &[1.0], &[1.0 - 0.5 * epsilon])?;
                Ok(Point::at(f64::from(height) / f64::from(depth), p))
            };
            Ok(Series::measured(format!("*ε* = {epsilon}"), 3 + i, (0..depth).map(point).collect::<Result<_>>()?))
        })?;
        Ok(panel.with(Series::predicted("1 − *H*/*L*", GREY, vec![Point::at(0.0, 1.0), Point::at(1.0, 0.0)])))
    }
}

impl Experiment for JomaTree {
    fn validate(&self) -> Result<()> {
        let leaves = self.branches.checked_pow(self.depth as u32 - 1);
        let (most, branches) = (MOST / 2, self.branches);
        let allowed = format!("must keep branches^(depth - 1) at {most} tokens or fewer with branches = {branches}");
        require(leaves.is_some_and(|n| n <= most), "depth", self.depth, allowed)?;
        require(!self.rho.is_empty(), "rho", "[]", "must hold at least one number in [-1, 1]")?;
        // A small tree refuses what the large ones would.
        for rho in &self.rho {
            Tree::regular(self.classes.clone(), self.zero.clone(), *rho, 2, 1)?;
        }
        Ok(())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        Ok(self.rho.iter().map(|rho: &f64| [RHO.is(*rho)].into_iter().collect()).collect())
    }

    /// "with": in how many draws token 0 and that of the first other branch at every height appear; "of": token 0.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let tree = self.tree(cell.get(RHO))?;
        let leaves = tree.leaves();
        let mut both = vec![0.0; self.depth - 1];
        let mut alone = 0.0;
        for i in 0..self.draws as u64 {
            let draw = TreeDraw::new(&tree, &streams.child("tree", i));
            if !draw.values[leaves[0]] {
                continue;
            }
            alone += 1.0;
            for (h, count) in both.iter_mut().enumerate() {
                // The first token under another child of the ancestor at height h + 1.
                *count += f64::from(u8::from(draw.values[leaves[self.branches.pow(h as u32)]]));
            }
        }
        let mut data = Map::new();
        data.insert("with".into(), store::series(&both));
        data.insert("of".into(), store::number(alone));
        Ok(data)
    }

    fn memory(&self, _cell: &Params) -> u64 {
        80 * 2 * self.branches.saturating_pow(self.depth as u32 - 1) as u64
    }

    fn size(&self) -> String {
        format!("*L* = {}, {} batches of {} trees", self.depth, self.trials, self.draws)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        let cells = cells(Self::NAME, rows)?;
        let title = "Co-occurrence against the depth of the common ancestor";
        let Self { depth, branches, classes, zero, limit_depth, .. } = self;
        Ok(vec![Figure::page(Self::NAME, title, 2, vec![self.heights(&cells)?, self.limit()?]).captioned(format!(
            "(a): P[*y*_{{l}} = 1 | *y*_{{m}} = 1] in {} drawn trees per *ρ*, {depth} layers under the class, \
             {branches} children each, class probabilities {classes:?}, P[*y* = 0 | *y*_{{0}}] = {zero:?}; bars: 95 % \
             (Clopper-Pearson); dashed: Theorem 5 with *ρ*_{{0}} = 2*p*·*p*_{{0}} − 1; dotted: as printed. (b): the \
             exact value for *ρ* = *ρ*_{{0}} = 1 − *ε*, *L* = {limit_depth}, against the limit 1 − *H*/*L* of (8).",
            self.draws * self.trials as usize,
        ))])
    }
}
