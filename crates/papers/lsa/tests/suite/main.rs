//! Tests of the room for linear self-attention.

mod experiments;
mod risk;
mod setting;
mod settings;
mod stiff;
mod theory;
mod witnesses;

#[test]
fn sheets_claims_and_parameters_fit_together() {
    attnlab_lsa::room().validate().unwrap();
}
