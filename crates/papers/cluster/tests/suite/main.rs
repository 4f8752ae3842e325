//! Tests of the room for tokens as particles.

mod closed_forms;
mod collapse;
mod experiments;
mod settings;
mod witnesses;

#[test]
fn sheets_claims_and_parameters_fit_together() {
    attnlab_cluster::room().validate().unwrap();
}
