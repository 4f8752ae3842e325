//! Axes: lists, ranges and expressions, and the combinations of their values.

use super::Expression;
use crate::run::store::as_number;
use attnlab_core::error::{Error, Result, require};
use serde_json::{Map, Value};

/// Largest number of cells. With one trial of a millisecond each they take a quarter of an hour, and every
/// cell has a line in the summary.
pub const MAX_CELLS: usize = 1_000_000;

/// Largest number of axes; an expression may use one that uses another, and so on.
const MAX_AXES: usize = 200;

/// Values of one name.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// Values as written in the file.
    List(Vec<Value>),
    /// Numbers between two ends.
    Range(Range),
    /// Computed from the other names of each combination.
    Computed(Expression),
}

/// `steps` numbers from `from` to `to`, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// First value.
    pub from: f64,
    /// Last value.
    pub to: f64,
    /// Number of values, at least 2.
    pub steps: u64,
    /// Flag: the ratio of neighbouring values is constant, not the difference.
    pub log: bool,
    /// Whole number to whose nearest multiple the values are rounded; None for no rounding.
    pub multiple_of: Option<u64>,
}

impl Range {
    /// Refuses a range of which rounding makes two values equal, or whose ends are too far apart for the numbers between
    /// them.
    fn validate(&self, name: &str) -> Result<()> {
        let mut values = self.values();
        let underflows = self.log && self.to / self.from == 0.0;
        let Range { from, to, steps, .. } = self;
        let shown = format!("{{ from = {from:e}, to = {to:e}, steps = {steps} }}");
        let requirement = "must have ends whose difference, on a log scale their ratio, is neither infinite nor 0. \
                           Write ends nearer to each other, or a list";
        require(!underflows && values.iter().all(|x| x.is_finite()), name, shown, requirement)?;
        values.sort_by(f64::total_cmp);
        values.dedup();
        let rounded = values.len();
        if rounded as u64 == *steps {
            return Ok(());
        }
        let log = if self.log { ", scale = \"log\"" } else { "" };
        let multiple = self.multiple_of.map_or(String::new(), |m| format!(", multiple_of = {m}"));
        let shown = format!("{{ from = {from}, to = {to}, steps = {steps}{log}{multiple} }}");
        let requirement = match self.multiple_of {
            Some(m) => {
                let list: Vec<String> = values.iter().take(20).map(f64::to_string).collect();
                let more = if rounded > list.len() { ", .." } else { "" };
                format!(
                    "must have {steps} different values; rounding to multiples of {m} leaves {rounded}. Write fewer steps, \
                     or these: {name} = [{}{more}]",
                    list.join(", ")
                )
            }
            None => format!("must have {steps} different values; it has {rounded}. Write fewer steps"),
        };
        Err(Error::invalid(name, shown, requirement))
    }

    /// Computes the values. The last is exactly `to` before the rounding to a multiple; between whole ends, values
    /// that are whole without rounding errors are whole.
    pub fn values(&self) -> Vec<f64> {
        let last = self.steps - 1;
        let whole_ends = self.from.fract() == 0.0 && self.to.fract() == 0.0;
        let value = |i: u64| {
            let share = i as f64 / last as f64;
            // Exact below 2^53, and what is not is not whole either.
            let whole = (self.to - self.from) * i as f64 / last as f64;
            let x = match i {
                0 => self.from,
                _ if i == last => self.to,
                _ if !self.log && whole_ends && whole.fract() == 0.0 => self.from + whole,
                _ if self.log => self.from * (self.to / self.from).powf(share),
                _ => self.from + (self.to - self.from) * share,
            };
            self.multiple_of.map_or(x, |m| (x / m as f64).round() * m as f64)
        };
        (0..self.steps).map(value).collect()
    }
}

/// Axes by name, in the order in which they are written: the last one varies fastest.
pub type Axes = [(String, Axis)];

/// Every combination of the values of some axes. A combination is computed when it is asked for, so that a million
/// of them take no memory.
#[derive(Clone, Debug)]
pub struct Product {
    axes: Vec<Values>,
    /// Expressions, each after the ones that it uses.
    computed: Vec<(String, Expression)>,
    /// Settings and defaults that expressions may use.
    fixed: Map<String, Value>,
    length: usize,
}

/// Values of one name; none for an expression.
#[derive(Clone, Debug)]
struct Values {
    name: String,
    values: Vec<Value>,
    /// Number of neighbouring combinations with the same value.
    period: usize,
}

impl Product {
    /// Combines the values of the axes. Expressions may use other axes and `fixed` (settings and defaults).
    ///
    /// # Errors
    /// Unknown names in an expression, expressions that depend on each other, a range of which rounding makes two values
    /// equal or whose ends are too far apart, too many combinations.
    pub fn new(axes: &Axes, fixed: &Map<String, Value>) -> Result<Product> {
        require(axes.len() <= MAX_AXES, "axes", axes.len(), format!("must be at most {MAX_AXES} axes"))?;
        let order = order_of_expressions(axes, fixed)?;
        let computed = order.into_iter().map(|(n, e)| (n.to_string(), e.clone())).collect();
        let length = axes.iter().map(|(_, axis)| axis.len()).fold(1, usize::saturating_mul);
        let counts: Vec<String> = axes.iter().map(|(n, a)| format!("{n}: {}", a.len())).collect();
        let allowed = format!("must be at most {MAX_CELLS} cells. Write shorter axes");
        require(length <= MAX_CELLS, "axes", counts.join(", "), allowed)?;
        for (name, axis) in axes {
            if let Axis::Range(range) = axis {
                range.validate(name)?;
            }
        }
        let mut period = length;
        let values = |(name, axis): &(String, Axis)| {
            let values: Vec<Value> = match axis {
                Axis::List(values) => values.clone(),
                Axis::Range(range) => range.values().into_iter().map(Value::from).collect(),
                Axis::Computed(_) => vec![],
            };
            period /= values.len().max(1);
            Values { name: name.clone(), values, period }
        };
        Ok(Product { axes: axes.iter().map(values).collect(), computed, fixed: fixed.clone(), length })
    }

    /// Returns the number of combinations.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Computes the combination of this number.
    ///
    /// # Errors
    /// Words where an expression needs a number, values that are not finite.
    pub fn get(&self, number: usize) -> Result<Map<String, Value>> {
        let mut cell = Map::with_capacity(self.axes.len());
        for (axis, values) in self.axes.iter().enumerate() {
            // A placeholder keeps the names in their order.
            let value = self.place(axis, number).map_or(Value::Null, |place| values.values[place].clone());
            cell.insert(values.name.clone(), value);
        }
        for (name, expression) in &self.computed {
            let value = evaluate(name, expression, &cell, &self.fixed)?;
            cell.insert(name.clone(), value.into());
        }
        Ok(cell)
    }

    /// Returns the values of an axis, by its place among the axes; none for an expression.
    pub fn values(&self, axis: usize) -> &[Value] {
        &self.axes[axis].values
    }

    /// Returns the name of an axis.
    pub fn name(&self, axis: usize) -> &str {
        &self.axes[axis].name
    }

    /// Returns the number of axes.
    pub fn axes(&self) -> usize {
        self.axes.len()
    }

    /// Returns the place of the combination's value among those of an axis; None for an expression.
    pub fn place(&self, axis: usize, number: usize) -> Option<usize> {
        let Values { values, period, .. } = &self.axes[axis];
        (!values.is_empty()).then(|| number / period % values.len())
    }
}

impl Axis {
    /// Returns the number of values.
    fn len(&self) -> usize {
        match self {
            Axis::List(values) => values.len(),
            Axis::Range(range) => range.steps as usize,
            Axis::Computed(_) => 1,
        }
    }
}

fn evaluate(name: &str, expression: &Expression, cell: &Map<String, Value>, fixed: &Map<String, Value>) -> Result<f64> {
    let number = |name: &str| as_number(cell.get(name).or(fixed.get(name))?);
    let shown = || format!("\"{}\"", expression.text());
    if let Some(word) = expression.names().into_iter().find(|n| number(n).is_none()) {
        let value = cell.get(word).or(fixed.get(word)).unwrap_or(&Value::Null);
        let allowed = format!("must be computed from numbers; {word} = {value} is not a number");
        return Err(Error::invalid(name, shown(), allowed));
    }
    let value = expression.value(&number);
    if value.is_finite() {
        return Ok(value);
    }
    let with: Vec<String> =
        expression.names().into_iter().filter_map(|n| Some(format!("{n} = {}", number(n)?))).collect();
    let allowed = format!("must be finite; it is {value} at {}", with.join(", "));
    Err(Error::invalid(name, shown(), allowed))
}

/// Sorts the expressions so that each follows the ones that it uses.
fn order_of_expressions<'a>(axes: &'a Axes, fixed: &Map<String, Value>) -> Result<Vec<(&'a str, &'a Expression)>> {
    let expression = |(name, axis): &'a (String, Axis)| match axis {
        Axis::Computed(e) => Some((name.as_str(), e)),
        _ => None,
    };
    let computed: Vec<(&str, &Expression)> = axes.iter().filter_map(expression).collect();
    for (name, expression) in &computed {
        let known = |n: &str| axes.iter().any(|(a, _)| a == n) || fixed.contains_key(n);
        if let Some(unknown) = expression.names().into_iter().find(|n| !known(n)) {
            let names = axes.iter().map(|(n, _)| n.as_str()).filter(|n| n != name);
            let names = names.chain(fixed.keys().map(String::as_str));
            let problem = Error::unknown("name", unknown, names).to_string();
            let shown = format!("\"{}\"", expression.text());
            let stop = if problem.ends_with('?') { "" } else { "." };
            let allowed =
                format!("must use known names; {problem}{stop} An expression may use other axes and what is set");
            return Err(Error::invalid(*name, shown, allowed));
        }
    }
    let (mut path, mut order) = (vec![], vec![]);
    for &(name, expression) in &computed {
        visit(name, expression, &computed, &mut path, &mut order)?;
    }
    Ok(order)
}

/// Sorts depth first. A name that occurs again on its own path depends on itself.
fn visit<'a>(
    name: &'a str,
    expression: &'a Expression,
    computed: &[(&'a str, &'a Expression)],
    path: &mut Vec<&'a str>,
    order: &mut Vec<(&'a str, &'a Expression)>,
) -> Result<()> {
    if order.iter().any(|(n, _)| *n == name) {
        return Ok(());
    }
    if let Some(start) = path.iter().position(|n| *n == name) {
        let shown = format!("\"{}\"", expression.text());
        let allowed = format!("must not depend on itself: {} -> {name}", path[start..].join(" -> "));
        return Err(Error::invalid(name, shown, allowed));
    }
    path.push(name);
    for needed in expression.names() {
        if let Some(&(needed, e)) = computed.iter().find(|(n, _)| *n == needed) {
            visit(needed, e, computed, path, order)?;
        }
    }
    path.pop();
    order.push((name, expression));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn list(name: &str, values: &[f64]) -> (String, Axis) {
        (name.into(), Axis::List(values.iter().map(|v| Value::from(*v)).collect()))
    }

    fn computed(name: &str, text: &str) -> (String, Axis) {
        (name.into(), Axis::Computed(Expression::parse(name, text).unwrap()))
    }

    fn fixed() -> Map<String, Value> {
        json!({"clusters": 2, "phi": "softmax"}).as_object().cloned().unwrap()
    }

    fn combinations(axes: &Axes, fixed: &Map<String, Value>) -> Result<Vec<Map<String, Value>>> {
        let product = Product::new(axes, fixed)?;
        (0..product.len()).map(|i| product.get(i)).collect()
    }

    fn refused(axes: &Axes) -> String {
        combinations(axes, &fixed()).unwrap_err().to_string()
    }

    #[test]
    fn ranges_hold_both_ends() {
        let range = |from, to, steps, log, multiple_of| Range { from, to, steps, log, multiple_of };
        assert_eq!(range(1.0, 3.0, 3, false, None).values(), [1.0, 2.0, 3.0]);
        // numpy.geomspace(100, 1000, 4): 100, 215.44, 464.16, 1000
        let log = range(100.0, 1000.0, 4, true, None).values();
        assert!((log[1] - 215.443_469_003_188_4).abs() < 1e-10 && log[3] == 1000.0);
        assert_eq!(range(100.0, 1000.0, 4, true, Some(2)).values(), [100.0, 216.0, 464.0, 1000.0]);
    }

    #[test]
    fn a_range_that_rounding_makes_repeat_is_refused_with_its_values() {
        let refused = |range| refused(&[("dim".into(), Axis::Range(range))]);
        let line = Range { from: 20.0, to: 24.0, steps: 9, log: false, multiple_of: Some(4) };
        let message = refused(line);
        assert!(message.contains("dim = { from = 20, to = 24, steps = 9, multiple_of = 4 }"), "{message}");
        assert!(message.contains("leaves 2") && message.contains("dim = [20, 24]"), "{message}");
        // 10 ratios of 2^(1/10) from 4 to 8, rounded: 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 8.
        let log = Range { from: 4.0, to: 8.0, steps: 11, log: true, multiple_of: Some(1) };
        let message = refused(log);
        assert!(message.contains("dim = [4, 5, 6, 7, 8]") && message.contains("scale = \"log\""), "{message}");
    }

    #[test]
    fn a_range_whose_ends_are_too_far_apart_is_refused() {
        for (from, to, log) in [(-1e308, 1e308, false), (1e-308, 1e308, true), (1e308, 1e-308, true)] {
            let message = refused(&[("x".into(), Axis::Range(Range { from, to, steps: 3, log, multiple_of: None }))]);
            assert!(message.contains("is neither infinite nor 0"), "{message}");
        }
    }

    #[test]
    fn expressions_may_stand_in_any_order() {
        let axes = [computed("b", "a * clusters"), computed("a", "x + 1"), list("x", &[1.0, 2.0])];
        let cells = combinations(&axes, &fixed()).unwrap();
        assert_eq!(
            Value::from(cells.into_iter().map(Value::from).collect::<Vec<_>>()),
            json!([{"b": 4.0, "a": 2.0, "x": 1.0}, {"b": 6.0, "a": 3.0, "x": 2.0}])
        );
    }

    #[test]
    fn what_cannot_be_computed_is_named() {
        let axes = [computed("a", "b + 1"), computed("b", "2 * c"), computed("c", "a")];
        assert_eq!(refused(&axes), "a = \"b + 1\": must not depend on itself: a -> b -> c -> a");
        assert_eq!(refused(&[computed("a", "a")]), "a = \"a\": must not depend on itself: a -> a");
        let axes = [list("tokens", &[10.0]), computed("delta", "log(token)")];
        assert_eq!(
            refused(&axes),
            "delta = \"log(token)\": must use known names; unknown name 'token'; did you mean tokens? \
             An expression may use other axes and what is set"
        );
        let axes = [computed("delta", "2 * phi")];
        assert_eq!(
            refused(&axes),
            "delta = \"2 * phi\": must be computed from numbers; phi = \"softmax\" is not a number"
        );
        let axes = [list("x", &[1.0, 0.0]), computed("y", "1 / x")];
        assert_eq!(refused(&axes), "y = \"1 / x\": must be finite; it is inf at x = 0");
        let long: Vec<f64> = (0..1001).map(f64::from).collect();
        let error = refused(&[list("x", &long), list("y", &long)]);
        assert!(error.contains("x: 1001, y: 1001") && error.contains("1000000"), "{error}");
    }

    proptest! {
        /// Every combination once, in the order of a nested loop, whatever computed axes stand between.
        #[test]
        fn cells_are_a_nested_loop(
            a in prop::collection::vec(-5..5i32, 1..5),
            b in prop::collection::vec(-5..5i32, 1..5),
            place in 0..3usize,
        ) {
            let numbers = |v: &[i32]| v.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
            let mut axes = vec![list("a", &numbers(&a)), list("b", &numbers(&b))];
            axes.insert(place, computed("c", "10 * a + b"));
            let cells = combinations(&axes, &Map::new()).unwrap();
            prop_assert_eq!(cells.len(), a.len() * b.len());
            let mut cells = cells.iter();
            for x in &a {
                for y in &b {
                    let cell = cells.next().unwrap();
                    prop_assert_eq!(cell["a"].as_f64(), Some(f64::from(*x)));
                    prop_assert_eq!(cell["b"].as_f64(), Some(f64::from(*y)));
                    prop_assert_eq!(cell["c"].as_f64(), Some(f64::from(10 * x + y)));
                    prop_assert_eq!(cell.keys().position(|k| k == "c"), Some(place));
                }
            }
        }

        /// Ranges rise or fall without turning, and hold their ends.
        #[test]
        fn ranges_are_monotone(from in 1e-3..1e3, to in 1e-3..1e3, steps in 2..50u64, log: bool) {
            let values = Range { from, to, steps, log, multiple_of: None }.values();
            prop_assert_eq!(values.len() as u64, steps);
            prop_assert_eq!((values[0], values[values.len() - 1]), (from, to));
            prop_assert!(values.windows(2).all(|w| (w[1] - w[0]) * (to - from) >= 0.0));
        }
    }
}
