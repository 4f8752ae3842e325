//! Mutants by the constants in which they differ from the claim, as the sheet gives them.

use super::{Claim, Mutant, Outcome, Params, Schema, Sheet, sheet::Variant};
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::Streams;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Returns the mutants to which the claim's sheet gives constants or parameters, in its order: the fields of `claim`
/// overlaid with these constants, judged at these parameters. An entry with neither is made by [`Mutant::new`].
///
/// The fields of `claim` must be finite numbers, words or lists of these. A field that `claim` does not have, or a
/// value that it does not take, is refused by [`Room::validate`](crate::catalogue::Room::validate) and by the check
/// of the mutant.
pub fn variants<C: Claim + Serialize + DeserializeOwned + 'static>(claim: &C) -> Vec<Mutant> {
    let read = |fields: &Value| C::deserialize(fields).map(|claim| Arc::new(claim) as Arc<dyn Claim>);
    of_fields(claim, serde_json::to_value(claim).map_err(|e| e.to_string()), &read)
}

/// Function that reads a claim from its fields.
type Read<'a> = &'a dyn Fn(&Value) -> serde_json::Result<Arc<dyn Claim>>;

/// Makes the mutants of a claim from its fields. Not generic, so that it is compiled once.
fn of_fields(claim: &dyn Claim, fields: Result<Value, String>, read: Read) -> Vec<Mutant> {
    let mutant = |variant: &'static Variant| {
        let overlaid = fields.clone().and_then(|fields| overlaid(fields, &variant.constants, read));
        let refused = |problem: String| -> Arc<dyn Claim> {
            let problem = format!("mutant `{}`: {problem}", variant.name);
            Arc::new(Refused { sheet: claim.sheet(), schema: claim.schema(), problem })
        };
        let mut mutant = Mutant::of(&variant.name, overlaid.unwrap_or_else(refused));
        mutant.set = variant.set.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        mutant
    };
    let differs = |variant: &&Variant| !(variant.constants.is_empty() && variant.set.is_empty());
    claim.sheet().mutants.iter().filter(differs).map(mutant).collect()
}

fn overlaid(mut fields: Value, constants: &Map<String, Value>, read: Read) -> Result<Arc<dyn Claim>, String> {
    for (name, value) in constants {
        let known: Vec<String> = fields.as_object().into_iter().flat_map(Map::keys).cloned().collect();
        let field = fields.get_mut(name);
        let unknown = || Error::unknown("field", name, known.iter().map(String::as_str)).to_string();
        *field.ok_or_else(unknown)? = value.clone();
        read(&fields).map_err(|e| format!("{name} = {value}: {e}"))?;
    }
    read(&fields).map_err(|e| e.to_string())
}

/// A mutant whose constants its claim does not take.
struct Refused {
    sheet: &'static Sheet,
    schema: Schema,
    problem: String,
}

impl Refused {
    fn error(&self) -> Error {
        self.sheet.wrong(self.problem.clone())
    }
}

impl Claim for Refused {
    fn sheet(&self) -> &'static Sheet {
        self.sheet
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }

    fn validate(&self, _: &Params) -> Result<()> {
        Err(self.error())
    }

    fn trial(&self, _: &Params, _: &Streams) -> Result<Outcome> {
        Err(self.error())
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Room;
    use crate::claim::Quantity;
    use crate::run::{CheckOptions, Silent, mutants};
    use crate::toy::PAPERS;
    use serde::Deserialize;

    const TOSSES: Quantity<usize> = Quantity::whole("tosses", "n", "number of tosses");
    const SIDES: Quantity<usize> = Quantity::whole("sides", "s", "number of sides");

    #[derive(PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Side {
        Heads,
        OtherSide,
    }

    #[derive(Serialize, Deserialize)]
    struct Coin {
        share: f64,
        side: Side,
        #[serde(skip, default = "fitting")]
        sheet: &'static Sheet,
    }

    impl Claim for Coin {
        fn sheet(&self) -> &'static Sheet {
            self.sheet
        }

        fn schema(&self) -> Schema {
            vec![TOSSES.or(10), SIDES.or(2)]
        }

        fn trial(&self, params: &Params, _: &Streams) -> Result<Outcome> {
            let witness = crate::witness! {
                "share" => self.share, "other" => self.side == Side::OtherSide, "tosses" => params.get(TOSSES),
            };
            Ok(Outcome::Event { holds: false, witness })
        }

        fn mutants(&self) -> Vec<Mutant> {
            variants(self)
        }
    }

    /// A coin whose sheet has these mutants.
    fn coin(mutants: &str) -> Coin {
        let head = "# toy.fair: A coin\n- paper: toy\n- place: Eq. (1)\n- kind: law\n- expected: supported\n";
        let sheet = Sheet::parse(&format!("{head}## Statement\n$p$.\n## Mutants\n{mutants}"), PAPERS);
        Coin { share: 0.5, side: Side::Heads, sheet: Box::leak(Box::new(sheet.unwrap())) }
    }

    fn fitting() -> &'static Sheet {
        coin(
            "- `loaded` {share = 0.6}: $3/5$.\n  > Twenty tosses show it.\n\
              - `other` {share = 1, side = \"other-side\"} at {tosses = 30, sides = 3}: it\n  lands.\n\
              - `few` at {tosses = 1}: {one} toss.",
        )
        .sheet
    }

    #[test]
    fn constants_and_parameters_come_from_the_sheet() {
        let coin = Coin { share: 0.5, side: Side::Heads, sheet: fitting() };
        let variants = coin.mutants();
        assert_eq!(variants.iter().map(|m| m.name).collect::<Vec<_>>(), ["loaded", "other", "few"]);
        assert_eq!(variants.iter().map(Mutant::says).collect::<Vec<_>>(), ["$3/5$.", "it lands.", "{one} toss."]);
        assert_eq!(variants[1].set, [("tosses", 30.into()), ("sides", 3.into())]);
        let reports = mutants(&coin, &CheckOptions::default(), 1, &Silent).unwrap();
        let judged = reports.iter().map(|report| {
            let witness = &report.first.witness;
            (witness["share"].as_f64().unwrap(), witness["other"] == true, witness["tosses"].as_u64().unwrap())
        });
        assert_eq!(judged.collect::<Vec<_>>(), [(0.6, false, 10), (1.0, true, 30), (0.5, false, 1)]);
        Room::new("toy", PAPERS).claim(coin).validate().unwrap();
    }

    #[test]
    fn wrong_constants_are_named() {
        let bare = Room::new("toy", PAPERS).claim(coin("- `few`: it.")).validate().unwrap_err();
        assert!(bare.to_string().contains("`few`, which is not a mutant of the claim"), "{bare}");
        for (sheet, problem) in [
            (
                "- `loaded` {share = 0.6}: it.\n- `other` {shore = 1.0}: it.",
                "mutant `other`: unknown field 'shore'; did you mean share?",
            ),
            ("- `few` {share = \"half\"} at {tosses = 3}: it.", "mutant `few`: share = \"half\": invalid type"),
            ("- `few` {side = \"edge\"}: it.", "sheets/toy.fair.md: mutant `few`: side = \"edge\": unknown variant"),
            ("- `few` at {throws = 3}: it.", "unknown parameter 'throws'"),
        ] {
            let judged = mutants(&coin(sheet), &CheckOptions::default(), 1, &Silent);
            let room = Room::new("toy", PAPERS).claim(coin(sheet));
            for error in [judged.unwrap_err(), room.validate().unwrap_err()] {
                assert!(error.to_string().contains(problem), "{error}");
            }
        }
    }

    #[test]
    fn mutants_see_the_draws_that_the_sheet_names() {
        let coin = coin("- `loaded` {share = 0.6}: $3/5$.");
        assert_eq!(coin.mutants()[0].drawn_as, "toy.fair");
        let sheet = Box::leak(Box::new(Sheet { draws: Some("toy.fare".into()), ..coin.sheet.clone() }));
        let coin = Coin { sheet, ..coin };
        assert_eq!(Mutant::new("loaded", Coin { share: 0.6, side: Side::Heads, sheet }).drawn_as, "toy.fare");
        let error = Room::new("toy", PAPERS).claim(coin).validate().unwrap_err();
        let problem = "sheets/toy.fair.md: - draws: unknown claim 'toy.fare'; did you mean toy.fair?";
        assert_eq!(error.to_string(), problem);
    }
}
