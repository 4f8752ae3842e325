//! Mutants by the constants in which they differ from the claim, as the sheet gives them.

use super::{Claim, Mutant, Outcome, Params, Schema, Sheet, sheet::Variant};
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::Streams;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Returns the mutants of the claim's sheet, in its order: the fields of `claim` overlaid with the constants that
/// the sheet gives the mutant, judged at the parameters that it gives.
///
/// The fields of `claim` must be finite numbers, words or lists of these. A field that `claim` does not have, or a
/// value that it does not take, is refused by [`Room::validate`](crate::catalogue::Room::validate) and by the check
/// of the mutant.
pub fn variants<C: Claim + Serialize + DeserializeOwned + 'static>(claim: &C) -> Vec<Mutant> {
    let mutant = |variant: &'static Variant| {
        let mut mutant = match overlaid(claim, &variant.constants) {
            Ok(claim) => Mutant::new(&variant.name, claim),
            Err(problem) => {
                let problem = format!("mutant `{}`: {problem}", variant.name);
                Mutant::new(&variant.name, Refused { sheet: claim.sheet(), schema: claim.schema(), problem })
            }
        };
        mutant.set = variant.set.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        mutant
    };
    claim.sheet().mutants.iter().map(mutant).collect()
}

fn overlaid<C: Serialize + DeserializeOwned>(claim: &C, constants: &Map<String, Value>) -> Result<C, String> {
    let mut fields = serde_json::to_value(claim).map_err(|e| e.to_string())?;
    for (name, value) in constants {
        let known: Vec<String> = fields.as_object().into_iter().flat_map(Map::keys).cloned().collect();
        let field = fields.get_mut(name);
        let unknown = || Error::unknown("field", name, known.iter().map(String::as_str)).to_string();
        *field.ok_or_else(unknown)? = value.clone();
        C::deserialize(&fields).map_err(|e| format!("{name} = {value}: {e}"))?;
    }
    C::deserialize(fields).map_err(|e| e.to_string())
}

/// A mutant whose constants its claim does not take.
struct Refused {
    sheet: &'static Sheet,
    schema: Schema,
    problem: String,
}

impl Claim for Refused {
    fn sheet(&self) -> &'static Sheet {
        self.sheet
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }

    fn validate(&self, _: &Params) -> Result<()> {
        Err(self.sheet.wrong(self.problem.clone()))
    }

    fn trial(&self, params: &Params, _: &Streams) -> Result<Outcome> {
        self.validate(params).map(|()| Outcome::uninformative("refused", Map::new()))
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
    use std::sync::LazyLock;

    const TOSSES: Quantity<usize> = Quantity::whole("tosses", "n", "number of tosses");
    const SIDES: Quantity<usize> = Quantity::whole("sides", "s", "number of sides");

    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
        sheet: &'static LazyLock<Sheet>,
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
                "share" => self.share, "other" => self.side == Side::OtherSide,
                "tosses" => params.get(TOSSES),
            };
            Ok(Outcome::Event { holds: false, witness })
        }

        fn mutants(&self) -> Vec<Mutant> {
            variants(self)
        }
    }

    fn sheet(mutants: &str) -> Sheet {
        let head = "# toy.fair: A coin\n- paper: toy\n- place: Eq. (1)\n- kind: law\n- expected: supported\n";
        Sheet::parse(&format!("{head}## Statement\n$p$.\n## Mutants\n{mutants}"), PAPERS).unwrap()
    }

    fn fitting() -> &'static LazyLock<Sheet> {
        static SHEET: LazyLock<Sheet> = LazyLock::new(|| {
            sheet(
                "- `loaded` {share = 0.6}: $3/5$.\n  > Twenty tosses show it.\n\
                 - `other` {share = 1, side = \"other-side\"} at {tosses = 30, sides = 3}: it\n  lands.\n\
                 - `few` at {tosses = 1}: {one} toss.",
            )
        });
        &SHEET
    }

    #[test]
    fn constants_and_parameters_come_from_the_sheet() {
        let coin = Coin { share: 0.5, side: Side::Heads, sheet: fitting() };
        let found = coin.mutants();
        assert_eq!(found.iter().map(|m| m.name).collect::<Vec<_>>(), ["loaded", "other", "few"]);
        assert_eq!(found.iter().map(Mutant::says).collect::<Vec<_>>(), ["$3/5$.", "it lands.", "{one} toss."]);
        assert_eq!(found[1].set, [("tosses", 30.into()), ("sides", 3.into())]);
        let reports = mutants(&coin, &CheckOptions::default(), 1, &Silent).unwrap();
        let seen = reports.iter().map(|report| {
            let witness = &report.first.witness;
            (witness["share"].as_f64().unwrap(), witness["other"] == true, witness["tosses"].as_u64().unwrap())
        });
        assert_eq!(seen.collect::<Vec<_>>(), [(0.6, false, 10), (1.0, true, 30), (0.5, false, 1)]);
        Room::new("toy", PAPERS).claim(coin).validate().unwrap();
    }

    #[test]
    fn wrong_constants_are_named() {
        static FIELD: LazyLock<Sheet> = LazyLock::new(|| sheet("- `a` {share = 1.0}: it.\n- `b` {shore = 1.0}: it."));
        static KIND: LazyLock<Sheet> = LazyLock::new(|| sheet("- `a` {share = \"half\"} at {tosses = 3}: it."));
        static WORD: LazyLock<Sheet> = LazyLock::new(|| sheet("- `a` {side = \"edge\"}: it."));
        static PARAMETER: LazyLock<Sheet> = LazyLock::new(|| sheet("- `a` at {throws = 3}: it."));
        for (sheet, says) in [
            (&FIELD, "sheets/toy.fair.md: mutant `b`: unknown field 'shore'; did you mean share?"),
            (&KIND, "sheets/toy.fair.md: mutant `a`: share = \"half\": invalid type"),
            (&WORD, "sheets/toy.fair.md: mutant `a`: side = \"edge\": unknown variant"),
            (&PARAMETER, "unknown parameter 'throws'"),
        ] {
            let coin = || Coin { share: 0.5, side: Side::Heads, sheet };
            let error = Room::new("toy", PAPERS).claim(coin()).validate().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            let error = mutants(&coin(), &CheckOptions::default(), 1, &Silent).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
