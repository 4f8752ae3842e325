//! Dependencies run one way: between crates, as their manifests say, and between the modules of a crate,
//! as the paths in its sources say. The last test proves that a violation is noticed.

use crate::common::{CATALOGUE, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A crate's folder, and the crates of this repository that it may depend on (development dependencies
/// aside). A room may depend on every crate below and on no other room.
const CRATES: &[(&str, &[&str])] = &[
    ("crates/core", &[]),
    ("crates/theory", &["core"]),
    ("crates/lab", &["core"]),
    ("crates/networks", &["core", "theory", "lab"]),
    ("crates/images", &["core"]),
    ("crates/gpu", &["core", "theory"]),
    ("crates/train", &["core", "theory", "lab", "images", "gpu"]),
];

/// Crates that the default build has not, or not with what their suites test.
const BEHIND_FEATURES: &[&str] = &["gpu", "train"];

const BELOW_ROOMS: &[&str] = &["core", "theory", "lab", "networks", "images", "gpu", "train"];

/// Per crate, its modules from below to above: a module may use those before it and itself. What is not
/// listed may be used by all modules of the crate and uses none of them.
const MODULES: &[(&str, &str)] = &[
    ("crates/core", "error input special rng bracket quadrature params linalg stats format"),
    ("crates/theory", "markov attention sample measure fit dynamics particles"),
    (
        "crates/lab",
        "claim toy run figure experiment formula command catalogue glossary sweep audit report folder compare \
         reproduce scaffold prelude sheet_test",
    ),
];

/// Files that may open files by themselves, with the reason. All others open them through `attnlab_core::input`, so that a
/// run knows what it was computed from.
const OPEN_FILES: &[(&str, &str)] = &[
    ("crates/core/src/input.rs", "the door itself"),
    ("crates/lab/src/run/store", "rows and identity in the folder of a run"),
    ("crates/lab/src/run/checkpoints.rs", "checkpoints in the folder of a run"),
    ("crates/lab/src/run/curve.rs", "curves of trainings in the folder of a run"),
    ("crates/lab/src/run/memory.rs", "free memory of the machine"),
    ("crates/lab/src/build.rs", "the program itself, whose hash tells its build"),
    ("crates/lab/src/run/files.rs", "lists in the folder of a run"),
    ("crates/lab/src/run/origin.rs", "name of the processor"),
    ("crates/lab/src/audit/child.rs", "processor time of a process"),
    ("crates/lab/src/scaffold.rs", "the manifest beside which a package is made; there is no run"),
    ("crates/networks/src/foreign.rs", "first bytes of a file that is refused, or opened next"),
    ("crates/papers/aot/src/experiments/evaluate/passes.rs", "scores in the folder of a run"),
    ("src/cli/report.rs", "the page that a report replaces"),
];

/// Files of readers that may look for files by themselves, with the reason. All others use `input::is_file`, since a file
/// that appears later may change what is read.
const LOOK_FOR_FILES: &[(&str, &str)] = &[
    ("crates/networks/src/checkpoint.rs", "chooses among the entries of a folder; the chosen ones are opened"),
    ("crates/networks/src/training.rs", "chooses among the entries of a folder; the chosen ones are opened"),
    ("crates/networks/src/index.rs", "a shard that is missing is refused; the others are opened"),
    ("crates/networks/src/foreign.rs", "words of a refusal"),
    ("crates/networks/src/text.rs", "a pipe is refused; a file is opened next"),
    ("crates/networks/src/transformer/mod.rs", "words of a refusal"),
    ("crates/images/src/files.rs", "kind of a file that is opened next"),
    ("crates/images/src/readers/shards.rs", "kind of an entry of an archive"),
    ("crates/images/src/readers/cifar.rs", "a remark on the test part, which is not read"),
];

/// Folders in which not even a random number crate may be named: closed forms, statistics, figures. The closed forms of
/// every room, `src/theory`, join them.
const NEVER_DRAWS: &[&str] = &[
    "crates/core/src/special.rs",
    "crates/core/src/special",
    "crates/core/src/stats",
    "crates/core/src/quadrature.rs",
    "crates/theory/src/markov.rs",
    "crates/lab/src/figure",
    "crates/lab/src/report",
];

#[test]
fn crates_depend_one_way() {
    let of_crates = CRATES.iter().flat_map(|(folder, allowed)| manifest_violations(&root().join(folder), allowed));
    let of_rooms = rooms().into_iter().flat_map(|room| manifest_violations(&room, BELOW_ROOMS));
    let problems: Vec<String> = of_crates.chain(of_rooms).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn modules_depend_one_way() {
    let mut problems = vec![];
    for (folder, order) in MODULES {
        let (source, order) = (root().join(folder).join("src"), order.split(' ').collect::<Vec<_>>());
        for path in sources(&source) {
            let violations = module_violations(path.strip_prefix(&source).unwrap(), &code_of(&path), &order);
            problems.extend(violations.into_iter().map(|p| format!("{folder}/src/{p}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn what_must_not_draw_does_not() {
    let theories = rooms().into_iter().map(|room| room.join("src/theory"));
    for place in NEVER_DRAWS.iter().map(|place| root().join(place)).chain(theories) {
        assert!(place.exists(), "{} is gone: mend the list", place.display());
        for path in sources(&place) {
            assert!(!draws(&code_of(&path)), "{} never draws", path.display());
        }
    }
}

#[test]
fn generators_are_made_in_one_place() {
    for path in all_sources().iter().filter(|path| !path.ends_with("crates/core/src/rng.rs")) {
        assert!(!makes_generators(&code_of(path)), "{}: generators are made in rng.rs", path.display());
    }
}

#[test]
fn input_files_are_opened_in_one_place() {
    let readers = ["crates/networks", "crates/images"].map(|folder| root().join(folder));
    for path in all_sources() {
        let code = code_of(&path);
        let excused = |list: &[(&str, &str)]| list.iter().any(|(place, _)| path.starts_with(root().join(place)));
        assert!(
            !opens_files(&code) || excused(OPEN_FILES),
            "{}: open input files with attnlab_core::input::open, read or read_settings; or give the reason in OPEN_FILES",
            path.display()
        );
        let is_reader = readers.iter().any(|folder| path.starts_with(folder));
        assert!(
            !is_reader || !looks_for_files(&code) || excused(LOOK_FOR_FILES),
            "{}: look for a file with attnlab_core::input::is_file; or give the reason in LOOK_FOR_FILES",
            path.display()
        );
    }
    for (place, _) in OPEN_FILES.iter().chain(LOOK_FOR_FILES) {
        let mut code = sources(&root().join(place)).into_iter().map(|path| code_of(&path));
        assert!(code.any(|c| opens_files(&c) || looks_for_files(&c)), "{place} opens nothing: mend the list");
    }
}

#[test]
fn the_laboratory_names_no_paper() {
    let sources = ["crates/lab/src", "src/cli"].into_iter().flat_map(|folder| sources(&root().join(folder)));
    for path in sources.filter(|path| !path.ends_with("sweep/keys.rs")) {
        // Examples of help texts name claims that users find in every build of ours.
        let named = named_papers(&without_examples(&code_of(&path)));
        assert!(named.is_empty(), "{}: {named:?}", path.display());
    }
}

/// A unit test that takes a whole room compiles all of it once more: such tests belong in its suite.
#[test]
fn unit_tests_of_rooms_take_parts_of_them() {
    for path in rooms().iter().flat_map(|room| sources(&room.join("src"))) {
        let whole = takes_whole_room(&tests_of(&path));
        assert!(!whole, "{}: tests of the whole room belong in its tests/suite", path.display());
    }
}

/// Loops over lanes become vectors at level 3 of optimisation alone: at 2 a training took three times as long.
#[test]
fn crates_that_sum_in_lanes_are_optimised_for_it() {
    let profile = fs::read_to_string(root().join(".cargo/config.toml")).unwrap();
    for folder in CRATES.iter().map(|(folder, _)| root().join(folder)).chain(rooms()) {
        let level = format!("\nattnlab-{} = {{ opt-level = 3 }}", folder.file_name().unwrap().display());
        let summing = sources(&folder.join("src")).into_iter().find(|path| sums_in_lanes(&code_of(path)));
        if let Some(path) = summing.filter(|_| !profile.contains(&level)) {
            panic!("{} sums in lanes: write{level}\nin .cargo/config.toml", path.display());
        }
    }
}

/// A function that gives a trait object is small enough to be inlined, and with it all that the object can do is compiled in
/// the crate that calls it, at the level of that crate.
#[test]
fn passes_are_compiled_in_their_own_crate() {
    let marked = "#[inline(never)]\n    fn streaming(&self) -> Option<&dyn Streaming> {\n        Some(self)";
    let mut total = 0;
    for path in sources(&root().join("crates/theory/src/attention/nonlinearity")) {
        let text = fs::read_to_string(&path).unwrap();
        let passes = text.matches("\nimpl Tiled for ").count();
        let advice = "write #[inline(never)] above streaming";
        assert_eq!(text.matches(marked).count(), passes, "{}: {advice}", path.display());
        total += passes;
    }
    assert!(total > 0, "no pass was found");
}

/// Compiled in the package of a crate that is optimised, its suite would be too: that takes longer than it runs.
#[test]
fn suites_of_optimised_crates_are_tests_of_this_package() {
    let manifest = |folder: &Path| fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let (profile, own) = (fs::read_to_string(root().join(".cargo/config.toml")).unwrap(), manifest(root()));
    for folder in CRATES.iter().map(|(folder, _)| root().join(folder)).chain(rooms()) {
        let name = folder.file_name().unwrap().to_string_lossy();
        let suite = folder.strip_prefix(root()).unwrap().join("tests/suite/main.rs");
        let optimised = !profile.contains(&format!("\nattnlab-{name} = {{ opt-level = 0 }}"));
        if !optimised || BEHIND_FEATURES.contains(&&*name) || !root().join(&suite).exists() {
            continue;
        }
        assert!(
            own.contains(&format!("\npath = \"{}\"", suite.display())),
            "{}: name it under [[test]] in the Cargo.toml at the root",
            suite.display()
        );
        assert!(manifest(&folder).contains("\nautotests = false"), "{name}: its suite is compiled twice");
    }
}

#[test]
fn a_violation_is_noticed() {
    let order = &["a", "b", "c"];
    for (file, code, count) in [
        ("a.rs", "use crate::b::X;", 1),
        ("b/mod.rs", "use crate::{a::X, c::Y};", 1),
        ("b/deep.rs", "use super::super::c::Y;", 1),
        ("c.rs", "use crate::{a, b};", 0),
        ("b/deep.rs", "use super::Other; use crate::a::X;", 0),
        ("lib.rs", "pub use c::X;", 0),
        ("d.rs", "use crate::c::X;", 1),
    ] {
        let violations = module_violations(Path::new(file), code, order);
        assert_eq!(violations.len(), count, "{file}: {code}: {violations:?}");
    }
    assert!(draws("use rand_distr::StandardNormal;") && !draws("let random = 1;"));
    assert!(makes_generators("ChaCha8Rng::seed_from_u64(1)"));
    assert!(takes_whole_room("super::room().validate()") && takes_whole_room("for command in super::all() {"));
    assert!(!takes_whole_room("place(no_room())") && !takes_whole_room("[1, 2].iter().all(f)"));
    assert!(sums_in_lanes("for l in 0..LANES {") && sums_in_lanes("exp_shifted(x, largest(x))"));
    assert!(!sums_in_lanes("x.iter().sum()"));
    assert!(opens_files("std::fs::File::open(path)") && opens_files("fs::read_to_string(path)"));
    assert!(!opens_files("TensorFile::open(path)") && !opens_files("input::read(kind, path)"));
    assert_eq!(named_papers("find(\"aot.theorem1\")"), ["aot.theorem1"]);
    assert_eq!(named_papers("use attnlab_aot::room; \"aot.*\""), ["aot.*", "attnlab_aot"]);
    assert!(named_papers("let joma_like = 1; read(\"memory.max\")").is_empty());
    let manifest = "[dependencies]\nattnlab-core.workspace = true\nattnlab-joma.workspace = true\n\
                    [dev-dependencies]\nattnlab-aot.workspace = true\n";
    assert_eq!(crates_of(manifest), BTreeSet::from(["core".into(), "joma".into()]));
}

fn rooms() -> Vec<PathBuf> {
    let papers = fs::read_dir(root().join("crates/papers")).unwrap().map(|entry| entry.unwrap().path());
    let mut rooms: Vec<_> = papers.filter(|path| path.join("Cargo.toml").exists()).collect();
    rooms.sort();
    assert!(rooms.len() >= 4);
    rooms
}

fn manifest_violations(folder: &Path, allowed: &[&str]) -> Vec<String> {
    let used = crates_of(&fs::read_to_string(folder.join("Cargo.toml")).unwrap());
    let wrong = used.iter().filter(|name| !allowed.contains(&name.as_str()));
    wrong.map(|name| format!("{} may not depend on attnlab-{name}", folder.display())).collect()
}

/// The crates of this repository under `[dependencies]`.
fn crates_of(manifest: &str) -> BTreeSet<String> {
    let start = manifest.find("[dependencies]").map_or(manifest.len(), |i| i + 1);
    let rest = &manifest[start..];
    let section = &rest[..rest.find("\n[").unwrap_or(rest.len())];
    let name = |line: &str| Some(line.strip_prefix("attnlab-")?.split(['.', ' ', '=']).next()?.to_string());
    section.lines().filter_map(name).collect()
}

/// Every `.rs` file of the repository's own crates.
fn all_sources() -> Vec<PathBuf> {
    let crates = CRATES.iter().map(|(folder, _)| root().join(folder)).chain(rooms()).chain([root().to_path_buf()]);
    crates.flat_map(|folder| sources(&folder.join("src"))).collect()
}

/// Every `.rs` file at or below a place.
fn sources(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_path_buf()];
    }
    let mut paths = vec![];
    for entry in fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

/// Uses of modules that stand above the file's own, given by its path below `src`.
fn module_violations(file: &Path, code: &str, order: &[&str]) -> Vec<String> {
    let parts: Vec<_> = file.iter().map(|p| p.to_string_lossy().to_string()).collect();
    let module = parts[0].trim_end_matches(".rs").to_string();
    // The root only names its modules.
    if module == "lib" || module == "main" {
        return vec![];
    }
    let place = order.iter().position(|m| *m == module);
    let used = used_modules(code, parts.len() - usize::from(parts.last().is_some_and(|p| p == "mod.rs")));
    let above = |used: &&String| match (place, order.iter().position(|m| m == used)) {
        (_, None) => false,
        (Some(own), Some(used)) => used > own,
        (None, Some(_)) => true,
    };
    used.iter().filter(above).map(|used: &String| format!("{}: {module} may not use {used}", file.display())).collect()
}

fn draws(code: &str) -> bool {
    ["rand::", "rand_distr::", "rand_chacha::"].iter().any(|d| code.contains(d))
}

/// Files opened for reading by the standard library, not by a function of ours such as `TensorFile::open`.
fn opens_files(code: &str) -> bool {
    ["File::open", "fs::read(", "fs::read_to_string(", "OpenOptions", "Mmap"].iter().any(|word| has_word(code, word))
}

fn looks_for_files(code: &str) -> bool {
    code.contains(".is_file()") || code.contains(".exists()")
}

/// Returns `true` if a text has a word that does not continue a name.
fn has_word(code: &str, word: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(start, _)| !code[..start].chars().next_back().is_some_and(continues))
}

fn makes_generators(code: &str) -> bool {
    ["seed_from_u64", "from_seed", "from_rng", "rand::rng("].iter().any(|m| code.contains(m))
}

fn takes_whole_room(code: &str) -> bool {
    ["room()", "super::all()", "claims::all()", "commands::all()"].iter().any(|word| has_word(code, word))
}

fn sums_in_lanes(code: &str) -> bool {
    ["LANES", "exp_shifted"].iter().any(|word| has_word(code, word))
}

/// The code without its `const .. EXAMPLES: &str = "..";`.
fn without_examples(code: &str) -> String {
    let mut rest = code.to_string();
    while let Some(start) = rest.find("EXAMPLES: &str = \"") {
        let end = rest[start..].find("\";").map_or(rest.len(), |i| start + i + 2);
        rest.replace_range(start..end, "");
    }
    rest
}

/// Ids of our rooms that a text names, patterns of all ids of a family, and crates of rooms. Prefixes alone will not do: the
/// files of a control group are `memory.max` and `memory.stat`.
fn named_papers(code: &str) -> Vec<String> {
    let claims = CATALOGUE.claims().map(|claim| claim.sheet().id.clone());
    let families = CATALOGUE.claims().map(|claim| format!("{}.*", claim.sheet().family()));
    let formulas = CATALOGUE.formulas().map(|formula| formula.id.to_string());
    let experiments = CATALOGUE.experiments().map(|experiment| experiment.id.to_string());
    let crates = rooms().into_iter().map(|room| format!("attnlab_{}", room.file_name().unwrap().display()));
    let names: BTreeSet<String> = claims.chain(families).chain(formulas).chain(experiments).chain(crates).collect();
    let continues = |c: char| c.is_alphanumeric() || c == '_';
    let named = |name: &String| {
        code.match_indices(name.as_str()).any(|(start, _)| {
            let (before, after) = (code[..start].chars().next_back(), code[start + name.len()..].chars().next());
            !before.is_some_and(|c| continues(c) || c == '.') && !after.is_some_and(continues)
        })
    };
    names.into_iter().filter(named).collect()
}

/// The text of a file without comments, and without the tests at its end: they may use what they like.
fn code_of(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let uncommented = |line: &str| match line.trim_start().starts_with("//") {
        true => String::new(),
        // A `//` within a line is a comment, or part of an address in a text: no path either way.
        false => line.split("//").next().unwrap_or_default().to_string(),
    };
    let lines: Vec<_> = text[..start_of_tests(&text)].lines().map(uncommented).collect();
    lines.join("\n")
}

/// The tests at the end of a file, or all of it if it is a module of tests.
fn tests_of(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let start = if path.ends_with("tests.rs") { 0 } else { start_of_tests(&text) };
    text[start..].to_string()
}

/// Where the module of tests begins. One in a file of its own is declared above other code.
fn start_of_tests(text: &str) -> usize {
    let is_whole =
        |(start, marker): &(usize, &str)| text[start + marker.len()..].lines().next().is_some_and(|l| l.ends_with('{'));
    text.match_indices("#[cfg(test)]\nmod ").find(is_whole).map_or(text.len(), |(start, _)| start)
}

/// The top-level names behind every `crate::`, and behind as many `super::` as lead to the root.
fn used_modules(code: &str, depth: usize) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for root in ["crate::", "super::".repeat(depth).as_str()] {
        for (start, _) in code.match_indices(root) {
            // `$crate::` in a macro is a path of this crate too; `mycrate::` is not, and neither is the
            // end of a longer chain of `super::`.
            if code[..start].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            used.extend(first_names(&code[start + root.len()..]));
        }
    }
    used
}

/// The first names of a path or of a `{..}` group of paths.
fn first_names(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else { return vec![first_name(rest)] };
    let (mut depth, mut names, mut start) = (0, vec![], 0);
    for (i, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(first_name(&group[start..i]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(first_name(&group[start..i]));
                start = i + 1;
            }
            _ => {}
        }
    }
    names.retain(|n| !n.is_empty());
    names
}

fn first_name(path: &str) -> String {
    path.trim_start().chars().take_while(|c: &char| c.is_alphanumeric() || *c == '_').collect()
}
