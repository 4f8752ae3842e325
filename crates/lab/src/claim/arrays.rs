//! Statements about a layer on arrays that a user brings, in place of draws.

use super::{Claim, Mutant, Outcome, Params, Relation, Witness};
use attnlab_core::error::{Error, Result, require, require_shape};
use attnlab_core::format;
use itertools::Itertools;
use ndarray::{Array2, ArrayView2};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// An array that a claim takes in place of draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArraySpec {
    /// Name.
    pub name: &'static str,
    /// Symbol, shape and meaning, such as "X (d, N): the patterns, one per column".
    pub meaning: &'static str,
    /// Flag: there may be several, one per head.
    pub several: bool,
    /// Names of the parameters of the draws that the array takes the place of.
    pub replaces: &'static [&'static str],
}

impl ArraySpec {
    /// Describes one array.
    pub const fn one(name: &'static str, meaning: &'static str, replaces: &'static [&'static str]) -> Self {
        ArraySpec { name, meaning, several: false, replaces }
    }

    /// Describes arrays of which there is one for every head.
    pub const fn several(name: &'static str, meaning: &'static str, replaces: &'static [&'static str]) -> Self {
        ArraySpec { name, meaning, several: true, replaces }
    }
}

/// Matrices of a user by name, tokens as columns.
#[derive(Clone, Debug, Default)]
pub struct Arrays(BTreeMap<String, Vec<Array2<f64>>>);

impl Arrays {
    /// Adds a matrix behind those of the same name.
    pub fn push(&mut self, name: impl Into<String>, matrix: Array2<f64>) {
        self.0.entry(name.into()).or_default().push(matrix);
    }

    /// Returns the names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Refuses an array that none of some claims takes.
    ///
    /// # Errors
    /// Names it, and those that they take.
    pub fn ensure_taken<'a>(&self, claims: impl Iterator<Item = &'a dyn Claim>) -> Result<()> {
        let taken: BTreeSet<&str> = claims.flat_map(|claim| claim.takes()).map(|spec| spec.name).collect();
        match self.names().find(|name| !taken.is_empty() && !taken.contains(name)) {
            Some(other) => Err(Error::unknown("array", other, taken)),
            None => Ok(()),
        }
    }

    /// Returns the matrices of a name, none where there are none.
    pub fn several(&self, name: &str) -> &[Array2<f64>] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the one matrix of a name.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn one(&self, name: &str) -> Result<ArrayView2<'_, f64>> {
        match self.several(name) {
            [matrix] => Ok(matrix.view()),
            others => Err(Error::invalid(name, format!("{} arrays", others.len()), "must be one array")),
        }
    }

    /// Returns the one matrix of a name, whose columns must have `rows` entries as those of `like`.
    ///
    /// # Errors
    /// As [`one`](Self::one); another number of rows.
    pub fn columns_like(&self, name: &str, like: &str, rows: usize) -> Result<ArrayView2<'_, f64>> {
        let matrix = self.one(name)?;
        let expected =
            format!("({rows}, ..), as {like} has {rows} rows; columns are tokens, so transpose rows of tokens");
        require_shape(matrix.nrows() == rows, name, matrix.dim(), expected)?;
        Ok(matrix)
    }

    /// Refuses arrays that a claim cannot take, and parameters that it does not.
    fn fit(&self, claim: &dyn Claim, set: &Map<String, Value>) -> Result<()> {
        let specs = claim.takes();
        let allowed = "must be a claim about a layer, of which `attnlab show ID` lists arrays; this one is about draws";
        require(!specs.is_empty(), "claim", &claim.sheet().id, allowed)?;
        let schema = claim.schema();
        for spec in specs {
            let matrices = self.several(spec.name);
            let needed = if spec.several { "must be at least one array" } else { "must be one array" };
            let (count, allowed) = (matrices.len(), format!("{needed}, {}", spec.meaning));
            require(count == 1 || spec.several && count > 1, spec.name, format!("{count} arrays"), allowed)?;
            for (k, matrix) in matrices.iter().enumerate() {
                let name = if spec.several { format!("{}[{k}]", spec.name) } else { spec.name.to_string() };
                require_shape(!matrix.is_empty(), &name, matrix.dim(), "at least one row and one column")?;
                if let Some(((i, j), x)) = matrix.indexed_iter().find(|(_, x)| !x.is_finite()) {
                    return Err(Error::invalid(format!("{name}[{i}, {j}]"), x, "must be a finite number"));
                }
            }
            for parameter in schema.iter().filter(|s| spec.replaces.contains(&s.name)) {
                if let Some((name, value)) = set.iter().find(|(name, _)| parameter.answers_to(name)) {
                    let allowed = format!("must be left out; the array {} takes its place", spec.name);
                    return Err(Error::invalid(name, value, allowed));
                }
            }
        }
        Ok(())
    }
}

/// Verdict of a claim on given arrays, with the counts of its cases. One case of which it fails refutes the statement;
/// where it holds, nothing is said of other arrays.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnArrays {
    /// Identifier of the claim.
    pub claim: String,
    /// Paper and place.
    pub source: String,
    /// "fails" if one case does, otherwise "failed" if a computation did, "holds" if a case does, or "says nothing".
    pub verdict: &'static str,
    /// The parameters that no array takes the place of.
    pub parameters: Map<String, Value>,
    /// Those of them that were not set: the defaults of the draws are used.
    pub unset: Vec<String>,
    /// Shapes of the arrays, by name.
    pub arrays: BTreeMap<String, Vec<(usize, usize)>>,
    /// Number of cases, such as queries, of which the statement holds.
    pub holds: usize,
    /// Number of those of which it fails.
    pub fails: usize,
    /// Number of those of which it says nothing, by reason.
    pub silent: BTreeMap<String, usize>,
    /// Number of those whose computation failed, by reason.
    pub failed: BTreeMap<String, usize>,
    /// The case that is farthest over its line, or comes nearest to it.
    pub closest: Option<Case>,
    /// Every case, in order; left out where the others are serialized.
    #[serde(skip)]
    pub each: Vec<Case>,
    /// Verdicts of the claim's mutants on the same arrays, by name; none where they were not asked for. A mutant that does
    /// not fail cannot be told from the claim by these arrays.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mutants: BTreeMap<&'static str, &'static str>,
}

/// One case of [`OnArrays`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// Number of the case, from 0, such as the column of a query.
    pub number: usize,
    /// What the statement does of it: "holds", "fails", "says nothing", or "failed" where the computation did.
    pub says: &'static str,
    /// Reason for which it says nothing or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Left side; none for an event.
    pub lhs: Option<f64>,
    /// Right side.
    pub rhs: Option<f64>,
    /// Tolerance.
    pub tol: Option<f64>,
    /// The two sides and the tolerance, in words.
    pub sides: String,
    /// Named values that were seen.
    pub witness: Witness,
}

impl OnArrays {
    /// Judges a claim, and its mutants if asked for, on arrays at the parameters `set`.
    ///
    /// # Errors
    /// A claim that takes no arrays; arrays that are missing, empty or not finite (others are left aside); a parameter that
    /// an array takes the place of; shapes that do not fit together.
    pub fn judge(claim: &dyn Claim, set: &Map<String, Value>, arrays: &Arrays, mutants: bool) -> Result<Self> {
        let (sheet, specs) = (claim.sheet(), claim.takes());
        arrays.fit(claim, set)?;
        let params = Params::resolve(&claim.schema(), set)?;
        let outcomes: Vec<Outcome> = claim.on(&params, arrays)?.into_iter().map(finite).collect();
        let mut parameters = params.as_json().clone();
        parameters.retain(|name, _| !specs.iter().any(|s| s.replaces.contains(&name.as_str())));
        let unset = claim.schema().into_iter().filter(|s| !set.keys().any(|name| s.answers_to(name)));
        let unset = unset.map(|s| s.name.to_string()).filter(|name| parameters.contains_key(name)).collect();
        let each: Vec<Case> = outcomes.iter().enumerate().map(|(number, outcome)| Case::new(number, outcome)).collect();
        let count = |says| each.iter().filter(|case| case.says == says).count();
        let reasons = |says| -> BTreeMap<String, usize> {
            let reasons = each.iter().filter(|case| case.says == says).filter_map(|case| case.reason.clone());
            reasons.counts().into_iter().collect()
        };
        let (holds, fails) = (count("holds"), count("fails"));
        let (silent, failed) = (reasons("says nothing"), reasons("failed"));
        let excess = |(_, outcome): &(usize, &Outcome)| outcome.excess().unwrap_or(f64::NEG_INFINITY);
        // The last of equal ones is taken, so that it is the first here.
        let judged = outcomes.iter().enumerate().rev().filter(|(_, o)| o.is_informative());
        let closest = judged.max_by(|a, b| excess(a).total_cmp(&excess(b)));
        let dims = |name: &str| arrays.several(name).iter().map(|a| a.dim()).collect();
        let variants = if mutants { claim.mutants() } else { vec![] };
        let variant = |m: &Mutant| Ok((m.name, OnArrays::judge(&*m.claim, set, arrays, false)?.verdict));
        Ok(OnArrays {
            claim: sheet.id.clone(),
            source: sheet.source(),
            verdict: match (fails, failed.len(), holds) {
                (0, 0, 0) => "says nothing",
                (0, 0, _) => "holds",
                (0, ..) => "failed",
                _ => "fails",
            },
            parameters,
            unset,
            arrays: specs.iter().map(|spec| (spec.name.to_string(), dims(spec.name))).collect(),
            holds,
            fails,
            silent,
            failed,
            closest: closest.map(|(number, _)| each[number].clone()),
            each,
            mutants: variants.iter().map(variant).collect::<Result<_>>()?,
        })
    }

    /// Returns the number of cases.
    pub fn cases(&self) -> usize {
        self.holds + self.fails + self.silent.values().chain(self.failed.values()).sum::<usize>()
    }
}

/// Turns an outcome with a side that is not finite, as the logarithm of 0 is, into an uninformative one.
fn finite(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Gap { lhs, rhs, tol, witness, .. } if ![lhs, rhs, tol].iter().all(|x| x.is_finite()) => {
            Outcome::uninformative("a side is not a finite number", witness)
        }
        outcome => outcome,
    }
}

impl Case {
    fn new(number: usize, outcome: &Outcome) -> Self {
        let (says, reason) = match outcome {
            Outcome::Uninformative { reason, numerical: true, .. } => ("failed", Some(reason.clone())),
            Outcome::Uninformative { reason, .. } => ("says nothing", Some(reason.clone())),
            judged => match judged.holds() {
                Some(true) => ("holds", None),
                Some(false) => ("fails", None),
                None => ("says nothing", Some("a number whose mean is meant".into())),
            },
        };
        let witness = outcome.witness().clone();
        let Outcome::Gap { lhs, rhs, tol, relation, .. } = outcome else {
            return Case { number, says, reason, lhs: None, rhs: None, tol: None, sides: String::new(), witness };
        };
        let relation = match (relation, says) {
            (Relation::Equal, _) => "against",
            (Relation::AtMost, "holds") => "≤",
            (Relation::AtMost, _) => ">",
        };
        let sides =
            format!("{} {relation} {}, tolerance {}", format::number(*lhs), format::number(*rhs), format::number(*tol));
        Case { number, says, reason, lhs: Some(*lhs), rhs: Some(*rhs), tol: Some(*tol), sides, witness }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;
    use ndarray::array;

    #[test]
    fn a_claim_about_draws_takes_no_arrays() {
        let mut arrays = Arrays::default();
        arrays.push("tokens", array![[1.0]]);
        let error = OnArrays::judge(&*toy::fair_coin(), &Map::new(), &arrays, false).unwrap_err();
        assert!(error.to_string().contains("toy.fair: must be a claim about a layer"), "{error}");
    }

    #[test]
    fn one_is_one_and_several_are_in_their_order() {
        let mut arrays = Arrays::default();
        assert!(arrays.one("a").is_err());
        arrays.push("a", array![[1.0]]);
        assert_eq!(arrays.one("a").unwrap(), array![[1.0]]);
        arrays.push("a", array![[2.0]]);
        assert!(arrays.one("a").is_err());
        assert_eq!(arrays.several("a")[1], array![[2.0]]);
    }
}
