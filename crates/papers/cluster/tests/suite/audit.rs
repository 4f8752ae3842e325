//! Every claim at random settings of its own: no true claim is refuted, and few checks are undecided.

use attnlab_cluster::room;
use attnlab_lab::audit::{self, Finding, Options, Summary};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::run::Silent;

/// Settings per claim.
const SETTINGS: u64 = 100;

#[test]
#[ignore = "takes minutes: cargo test -p attnlab-cluster --test suite audit -- --ignored"]
fn no_true_claim_is_refuted() {
    let catalogue = Catalogue::new().with(room());
    for claim in room().claims {
        let id = claim.sheet().id.clone();
        let folder = tempfile::tempdir().unwrap();
        let options =
            Options { out: folder.path().into(), only: vec![id.clone()], settings: SETTINGS, ..Options::default() };
        let rows = audit::audit(&catalogue, &options, &Silent).unwrap().rows;
        let summary = Summary::of_rows(&rows).unwrap();
        println!("{id}: {:?}", summary.all);
        assert!(summary.surprises.is_empty(), "{id}: {:?}", summary.surprises);
        let open = summary.all.number(Finding::Inconclusive);
        assert!(open * 20 < summary.settings, "{id}: {open} undecided");
    }
}
