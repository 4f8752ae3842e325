//! Networks and training against the plain operators, PyTorch, finite differences and closed forms.

mod autodiff;
mod baselines;
mod images;
mod models;
#[cfg(feature = "gpu")]
mod models_gpu;
mod networks;
mod train;
