//! Random settings inside the domain of a claim.

use crate::claim::Claim;
use attnlab_core::error::{Error, Result};
use attnlab_core::params::{Domain, Params, Schema, Spec};
use attnlab_core::rng::Streams;
use rand::{Rng, RngExt};
use serde_json::{Map, Value, json};

/// Draws after which the search for a setting ends. The words of choices are prescribed in the first half only:
/// two words that do not fit together must not exhaust the search.
const ATTEMPTS: u64 = 60;

/// Peak memory of one trial, in bytes, above which a setting is drawn anew: an audit runs many at a time.
const MAX_TRIAL_BYTES: u64 = 1 << 28;

/// Processor time of a check, in seconds, above which a setting is drawn anew.
const MAX_CHECK_SECONDS: f64 = 2.0;

/// Returns how many of so many settings an audit checks: all, or so many that they take the time of short checks, and
/// a twentieth at least. A claim that trains a network may have no short check.
pub fn affordable(claim: &dyn Claim, seed: u64, settings: u64) -> u64 {
    let set = setting(claim, seed, 0).unwrap_or_default();
    let params = Params::resolve(&claim.schema(), &set);
    let seconds = params.map_or(0.0, |params| seconds(claim, &params));
    if seconds <= MAX_CHECK_SECONDS {
        return settings;
    }
    let afforded = (MAX_CHECK_SECONDS / seconds * settings as f64).ceil() as u64;
    settings.min(afforded.max(settings.div_ceil(20)))
}

/// The estimated processor time of a check, in seconds.
fn seconds(claim: &dyn Claim, params: &Params) -> f64 {
    claim.default_trials(params) as f64 * claim.seconds(params)
}

/// Draws a setting of `claim`: parameters that differ from the defaults, inside their ranges and accepted by
/// [`Claim::validate`].
///
/// The first settings go through all words of every choice; three of four lie inside the hypotheses, where
/// such a setting is found. Settings whose check is [short](Claim::seconds) are preferred; where none is, the
/// shortest of the draws is taken. It is a function of (seed, id of the claim, index) alone.
///
/// # Errors
/// When every attempt was refused; the message is that of the last.
pub fn setting(claim: &dyn Claim, seed: u64, index: u64) -> Result<Map<String, Value>> {
    let schema = claim.schema();
    let streams = Streams::new(seed, &format!("audit/{}", claim.sheet().id), 0, index);
    let wants_scope = !index.is_multiple_of(4);
    let (mut outside, mut refused) = (None, None);
    let mut shortest: Option<(f64, Map<String, Value>)> = None;
    for attempt in 0..ATTEMPTS {
        let prescribed = (attempt < ATTEMPTS / 2).then_some(index);
        let set = draw(&schema, prescribed, &mut streams.part("setting", attempt));
        match scope(claim, &schema, &set) {
            Ok(Scope::TooLarge) => {}
            Ok(Scope::Long(seconds)) => {
                if shortest.as_ref().is_none_or(|(least, _)| seconds < *least) {
                    shortest = Some((seconds, set));
                }
            }
            Ok(Scope::Inside) => return Ok(set),
            Ok(Scope::Outside) if !wants_scope => return Ok(set),
            Ok(Scope::Outside) => outside = outside.or(Some(set)),
            Err(e) => refused = Some(e),
        }
    }
    let set = outside.or(shortest.map(|(_, set)| set));
    set.ok_or_else(|| refused.unwrap_or_else(|| Error::undefined("no setting was found that fits into memory")))
}

/// Place of a setting relative to the hypotheses.
enum Scope {
    Inside,
    Outside,
    /// Its check takes so many seconds.
    Long(f64),
    TooLarge,
}

fn scope(claim: &dyn Claim, schema: &Schema, set: &Map<String, Value>) -> Result<Scope> {
    let params = Params::resolve(schema, set)?;
    if claim.memory(&params) > MAX_TRIAL_BYTES {
        return Ok(Scope::TooLarge);
    }
    claim.validate(&params)?;
    let seconds = seconds(claim, &params);
    if seconds > MAX_CHECK_SECONDS {
        return Ok(Scope::Long(seconds));
    }
    Ok(if claim.hypotheses(&params).iter().all(|h| h.holds) { Scope::Inside } else { Scope::Outside })
}

/// Draws values for one parameter, for about half of them, or for all; word number `prescribed` of every choice
/// that has so many.
fn draw(schema: &Schema, prescribed: Option<u64>, rng: &mut impl Rng) -> Map<String, Value> {
    let defaults = Params::resolve(schema, &Map::new()).ok();
    let share = [0.0, 0.5, 1.0][rng.random_range(0..3)];
    let always = rng.random_range(0..schema.len().max(1));
    let mut set = Map::new();
    for (i, spec) in schema.iter().enumerate() {
        let default = spec.default_value(defaults.as_ref());
        let value = if let Some(word) = prescribed.and_then(|index| word(spec, index)) {
            json!(word)
        } else if i == always || rng.random_bool(share) || default.is_null() {
            value(&spec.domain, &default, rng)
        } else {
            continue;
        };
        set.insert(spec.name.to_string(), value);
    }
    set
}

/// Returns the word of this number; None for a parameter that is no choice, or of fewer words.
fn word(spec: &Spec, index: u64) -> Option<&'static str> {
    match spec.domain {
        Domain::Choice(words) => words.get(usize::try_from(index).ok()?).copied(),
        _ => None,
    }
}

fn value(domain: &Domain, default: &Value, rng: &mut impl Rng) -> Value {
    match *domain {
        Domain::Whole(low, high) => whole(low, high, default.as_u64(), rng).into(),
        Domain::Number { low, low_in, high, high_in } => {
            let ends = [low_in.then_some(low), high_in.then_some(high)];
            number((low, high), ends, default.as_f64(), rng).into()
        }
        Domain::Choice(words) => words[rng.random_range(0..words.len())].into(),
        Domain::Flag => rng.random_bool(0.5).into(),
        Domain::Vector(entry) => {
            let length = rng.random_range(1..=5);
            let first = default.get(0).cloned().unwrap_or(json!(1.0));
            (0..length).map(|_| value(entry, &first, rng)).collect()
        }
        Domain::Matrix(entry) => {
            let (rows, columns) = (rng.random_range(1..=4), rng.random_range(1..=4));
            let usual = json!(1.0);
            (0..rows).map(|_| (0..columns).map(|_| value(entry, &usual, rng)).collect::<Value>()).collect()
        }
    }
}

/// Draws a whole number: one of the two lowest or the highest in range, or log-uniform within a factor of 8 of
/// the default.
fn whole(low: u64, high: u64, default: Option<u64>, rng: &mut impl Rng) -> u64 {
    let usual = default.unwrap_or(low).max(1) as f64;
    match rng.random_range(0..8) {
        0 => low,
        1 => high.min(low.saturating_add(1)),
        // A highest value that is no limit of the program's own.
        2 if high as f64 <= 8.0 * usual => high,
        _ => {
            let x = usual * 2_f64.powf(rng.random_range(-3.0..3.0));
            (x.round() as u64).clamp(low, high)
        }
    }
}

/// Draws a number: an end that belongs to the range, close to an end, or log-uniform around the default.
fn number((low, high): (f64, f64), ends: [Option<f64>; 2], default: Option<f64>, rng: &mut impl Rng) -> f64 {
    let ends: Vec<f64> = ends.into_iter().flatten().filter(|x| x.is_finite()).collect();
    let kind = rng.random_range(0..8);
    if kind == 0 && !ends.is_empty() {
        return ends[rng.random_range(0..ends.len())];
    }
    let inside = |x: f64| x > low && x < high;
    if low.is_finite() && high.is_finite() && kind < 4 {
        // Uniform, or close to an end.
        let u = match kind {
            1 => 10_f64.powf(rng.random_range(-6.0..-1.0)),
            2 => 1.0 - 10_f64.powf(rng.random_range(-6.0..-1.0)),
            _ => rng.random_range(0.0..1.0),
        };
        let x = low + (high - low) * u;
        return if inside(x) { x } else { 0.5 * (low + high) };
    }
    let usual = default.filter(|x| *x != 0.0).unwrap_or(1.0);
    for _ in 0..20 {
        let mut x = usual * 10_f64.powf(rng.random_range(-2.0..2.0));
        if low < 0.0 && rng.random_bool(0.3) {
            x = -x;
        }
        if inside(x) {
            return x;
        }
    }
    default.unwrap_or(if inside(1.0) { 1.0 } else { low })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    #[test]
    fn settings_are_in_range_and_a_function_of_their_index() {
        let coin = toy::fair_coin();
        for index in 0..50 {
            let set = setting(&*coin, 3, index).unwrap();
            assert_eq!(set, setting(&*coin, 3, index).unwrap());
            Params::resolve(&coin.schema(), &set).unwrap();
        }
        assert_ne!(setting(&*coin, 3, 0).unwrap(), setting(&*coin, 4, 0).unwrap());
    }

    /// A fair coin whose check takes 100 s at every setting.
    struct Slow(std::sync::Arc<dyn Claim>);

    impl Claim for Slow {
        fn sheet(&self) -> &'static crate::claim::Sheet {
            self.0.sheet()
        }

        fn schema(&self) -> Schema {
            self.0.schema()
        }

        fn trial(&self, params: &Params, streams: &Streams) -> Result<crate::claim::Outcome> {
            self.0.trial(params, streams)
        }

        fn mutants(&self) -> Vec<crate::claim::Mutant> {
            vec![]
        }

        fn seconds(&self, params: &Params) -> f64 {
            100.0 / self.default_trials(params) as f64
        }
    }

    #[test]
    fn claims_without_a_short_check_have_fewer_settings() {
        let coin = toy::fair_coin();
        assert_eq!(affordable(&*coin, 0, 200), 200);
        let slow = Slow(coin);
        assert_eq!(affordable(&slow, 0, 200), 10);
        assert_eq!(affordable(&slow, 0, 4), 1);
        assert!(setting(&slow, 0, 0).is_ok());
    }

    #[test]
    fn corners_and_bulk_are_both_drawn() {
        let mut rng = Streams::new(0, "corners", 0, 0).part("x", 0);
        let draws: Vec<u64> = (0..400).map(|_| whole(1, 1000, Some(64), &mut rng)).collect();
        assert!(draws.contains(&1) && draws.contains(&2));
        assert!(draws.iter().any(|n| (8..64).contains(n)) && draws.iter().any(|n| *n > 64));
        let ends = [Some(0.0), None];
        let draws: Vec<f64> = (0..400).map(|_| number((0.0, 1.0), ends, Some(0.5), &mut rng)).collect();
        assert!(draws.contains(&0.0) && draws.iter().all(|x| (0.0..1.0).contains(x)));
        assert!(draws.iter().any(|x| *x > 0.99) && draws.iter().any(|x| *x > 0.0 && *x < 0.01));
    }
}
