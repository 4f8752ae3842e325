//! A folder with the files of `attnlab sample`, for the tests of the commands that take them.

use crate::catalogue;
use attnlab_aot::unroll::{Data, write_tokens};
use attnlab_lab::command::Out;
use attnlab_lab::run::{Row, store};
use ndarray::Array2;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Runs a command of the room, as the command line does.
pub fn command(arguments: &[&str]) -> Result<(), String> {
    let catalogue = catalogue();
    let command = catalogue.commands().find(|c| c.describe().get_name() == arguments[0]).unwrap();
    let matches = command.describe().try_get_matches_from(arguments).map_err(|e| e.to_string())?;
    command.run(&matches, &mut Out::stdout()).map(|_| ()).map_err(|e| e.to_string())
}

/// A folder with the files of `attnlab sample`, and what is written beside.
pub struct Files(TempDir);

impl Files {
    pub fn sampled(arguments: &[&str]) -> Files {
        let files = Files(tempfile::tempdir().unwrap());
        let out = files.path_of("");
        command(&[&["sample", "--out", &out], arguments].concat()).unwrap();
        files
    }

    pub fn small() -> Files {
        Files::sampled(&["--tokens", "400", "--dim", "40", "--delta", "0.05", "--seed", "3"])
    }

    pub fn path_of(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_string()
    }

    pub fn data(&self) -> Data {
        let bases: Vec<PathBuf> =
            (0..).map(|k| PathBuf::from(self.path_of(&format!("u{k}.npy")))).take_while(|path| path.exists()).collect();
        let (z, y) = (self.path_of("z.npy"), self.path_of("y.npy"));
        Data::read(Path::new(&z), &bases, Path::new(&y)).unwrap()
    }

    /// Path of a file of this name with these tokens.
    pub fn written(&self, name: &str, tokens: &Array2<f64>) -> String {
        write_tokens(Path::new(&self.path_of(name)), tokens, false).unwrap();
        self.path_of(name)
    }

    pub fn inspected(&self, arguments: &[&str]) -> Result<Vec<Row>, String> {
        let out = self.path_of("inspected");
        command(&[&["inspect", "--out", &out, "--force"], arguments].concat())?;
        Ok(store::read(Path::new(&out)).unwrap().rows)
    }

    pub fn page(&self) -> String {
        std::fs::read_to_string(self.path_of("inspected/inspect.html")).unwrap()
    }
}
