//! Files that hold tensors in formats that are not read here: their name, and the line of Python that converts them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes from the beginning of a file that tell its format.
const HEAD_BYTES: u64 = 128;

/// The first bytes of a file, and its ending in lower case; None for a file that cannot be read, whose error the reader
/// reports.
fn beginning(path: &Path) -> Option<(Vec<u8>, String)> {
    let mut head = vec![];
    File::open(path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some((head, path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase()))
}

/// Says of a file in a known but foreign format, which its first bytes tell or, where they say nothing, its ending, what it
/// is and how to convert it; None for a format that is read here and has its ending, and for an unknown one.
pub(crate) fn refusal(path: &Path) -> Option<String> {
    let (head, ending) = beginning(path)?;
    let (file, to) = (path.display(), converted(path));
    let to = to.display();
    let torch = || {
        format!(
            "must be safetensors, not a pickle of PyTorch. Convert it: python -c \"import torch; from \
             safetensors.torch import save_file; s = torch.load('{file}', map_location='cpu', weights_only=True); \
             s = {{'z': s}} if torch.is_tensor(s) else s.get('state_dict', s.get('model', s)); \
             save_file({{k: v.clone().contiguous() for k, v in s.items() if torch.is_tensor(v)}}, '{to}')\""
        )
    };
    let npz = || {
        format!(
            "must be safetensors or .npy, not an archive of NumPy. Convert it: python -c \"import numpy as np; from \
             safetensors.numpy import save_file; save_file({{k: np.ascontiguousarray(v) for k, v in \
             np.load('{file}').items()}}, '{to}')\""
        )
    };
    let hdf5 = || {
        format!(
            "must be safetensors, not HDF5 (Keras, TensorFlow). Convert it: python -c \"import h5py; from \
             safetensors.numpy import save_file; s = {{}}; h5py.File('{file}').visititems(lambda n, x: \
             s.update({{n: x[()]}}) if isinstance(x, h5py.Dataset) and x.dtype.kind == 'f' else None); \
             save_file(s, '{to}')\". The names stay those of Keras; for a network of transformers 4 load its folder with \
             from_pretrained(.., from_tf=True) and save_pretrained it"
        )
    };
    let holds = |part: &[u8]| head.windows(part.len()).any(|bytes| bytes == part);
    // As the length of a safetensors header these bytes would be followed by zeros.
    if head.starts_with(b"PK\x03\x04") && head.get(4..8).is_some_and(|more| more != [0; 4]) {
        return Some(if ending != "npz" && !holds(b".npy") { torch() } else { npz() });
    }
    let pages: [&[u8]; 3] = [b"<!DOCTYPE", b"<!doctype", b"<html"];
    Some(match ending.as_str() {
        _ if head.starts_with(b"\x89HDF\r\n") => hdf5(),
        _ if head.starts_with(b"version https://git-lfs") => {
            "must be the file itself, not its pointer of Git LFS. Run git lfs pull in its folder".into()
        }
        _ if pages.iter().any(|page| head.trim_ascii_start().starts_with(page)) => {
            "must be the file itself, not a page of the web. Download it again, by the link to the raw file".into()
        }
        other if head.starts_with(b"GGUF") && other != "gguf" => format!(
            "must have the ending .gguf, as it is a GGUF file. Rename it to {}",
            path.with_extension("gguf").display()
        ),
        other if head.starts_with(b"\x93NUMPY") && other != "npy" => format!(
            "must have the ending .npy, as it is a NumPy file. Rename it to {}",
            path.with_extension("npy").display()
        ),
        "bin" | "pt" | "pth" | "ckpt" => torch(),
        "npz" => npz(),
        "h5" | "hdf5" | "keras" => hdf5(),
        "onnx" => format!(
            "must be safetensors, not a graph of ONNX. Take the network from which it was exported, or its matrices: \
             python -c \"import onnx; from onnx.numpy_helper import to_array; from safetensors.numpy import save_file; \
             save_file({{t.name: to_array(t) for t in onnx.load('{file}').graph.initializer}}, '{to}')\""
        ),
        "msgpack" => {
            let folder = path.parent().unwrap_or(Path::new("."));
            format!(
                "must be safetensors, not msgpack of Flax. Convert its folder with transformers 4: python -c \"from \
                 transformers import AutoModel; AutoModel.from_pretrained('{}', \
                 from_flax=True).save_pretrained('{}')\"",
                folder.display(),
                folder.join("converted").display()
            )
        }
        "pkl" | "pickle" => format!(
            "must be safetensors or .npy, not a pickle of Python. Write its arrays: python -c \"import numpy as np; \
             np.save('{}', np.load('{file}', allow_pickle=True))\"; a pickle runs code, so open only your own",
            path.with_extension("npy").display()
        ),
        "mat" => format!(
            "must be safetensors or .npy, not variables of MATLAB. Convert it: python -c \"import numpy as np; from \
             scipy.io import loadmat; from safetensors.numpy import save_file; save_file({{k: \
             np.ascontiguousarray(v, 'float64') for k, v in loadmat('{file}').items() if not k.startswith('__')}}, \
             '{to}')\""
        ),
        // The pickles of torch before 1.6, which are no archives.
        _ if head.starts_with(&[0x80, 2, 0x8a, 10]) => torch(),
        _ => return None,
    })
}

/// Says of a file that is text, and no tensors, how to store its numbers or what it begins with; None for others.
pub(crate) fn text(path: &Path) -> Option<String> {
    let (head, ending) = beginning(path)?;
    // The length of a safetensors header has zeros.
    let letter = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
    if head.is_empty() || !head.iter().all(letter) {
        return None;
    }
    let delimiter = match ending.as_str() {
        "csv" => ", delimiter=','",
        "tsv" | "txt" | "dat" => "",
        _ => {
            let begin: String = String::from_utf8_lossy(&head).chars().take(40).collect();
            return Some(format!(
                "must be safetensors; it is a text that begins with {begin:?}. Download it again, by the link to the raw file"
            ));
        }
    };
    Some(format!(
        "must be safetensors or .npy, not a text. Store its numbers: python -c \"import numpy as np; np.save('{}', \
         np.loadtxt('{}'{delimiter}))\"",
        path.with_extension("npy").display(),
        path.display()
    ))
}

/// Says of a folder without tensors that are read here which foreign file, adapter or nested folder it has, and what to
/// do; None where nothing is known.
pub(crate) fn refusal_of_folder(folder: &Path) -> Option<String> {
    if let Some(adapter) = adapter(folder) {
        return Some(adapter);
    }
    let paths = crate::checkpoint::entries(folder).ok()?;
    let shards: Vec<&PathBuf> = paths.iter().filter(|p| p.to_string_lossy().ends_with(".bin.index.json")).collect();
    if let [index, ..] = shards[..] {
        return Some(format!(
            "must hold safetensors; {} lists pickles of PyTorch. Convert them: python -c \"from transformers import \
             AutoModelForCausalLM as M; M.from_pretrained('{}').save_pretrained('{}')\" (AutoModel for BERT)",
            index.display(),
            folder.display(),
            folder.join("safetensors").display()
        ));
    }
    if let Some(problem) = of_files(folder) {
        return Some(problem);
    }
    Some(format!("must hold the files of a network; {} does. Give that folder", nested(&paths)?.display()))
}

/// Says of the first foreign file with weights in a folder what it is and how to convert it; None without one.
pub(crate) fn of_files(folder: &Path) -> Option<String> {
    // Training arguments and the state of an optimiser are no weights.
    let beside = ["training_args", "optimizer", "scheduler", "rng_state", "scaler"];
    let weights = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_file() && !beside.iter().any(|word| name.starts_with(word))
    };
    let mut paths = crate::checkpoint::entries(folder).ok()?.into_iter().filter(weights);
    let (path, requirement) = paths.find_map(|path| refusal(&path).map(|requirement| (path, requirement)))?;
    Some(format!("must hold safetensors, GGUF or NumPy files; {}: {requirement}", path.display()))
}

/// Says of a folder with an adapter of PEFT and no network how to add it to its network.
pub(crate) fn adapter(folder: &Path) -> Option<String> {
    let there = |name: &str| folder.join(name).is_file();
    if there("config.json") || !(there("adapter_config.json") || there("adapter_model.safetensors")) {
        return None;
    }
    Some(format!(
        "must be a network; it is an adapter of PEFT, which changes another network. Store their sum and give that: python \
         -c \"from peft import AutoPeftModelForCausalLM as M; \
         M.from_pretrained('{}').merge_and_unload().save_pretrained('{}')\"",
        folder.display(),
        folder.join("merged").display()
    ))
}

/// Finds a folder with a network below others: one of them, or a snapshot in the cache of the Hugging Face Hub.
fn nested(paths: &[PathBuf]) -> Option<PathBuf> {
    let has_network = |path: &PathBuf| path.join("config.json").is_file();
    let snapshots = |path: &PathBuf| -> Option<PathBuf> {
        let inner = crate::checkpoint::entries(&path.join("snapshots")).or_else(|_| crate::checkpoint::entries(path));
        inner.ok()?.into_iter().find(has_network)
    };
    let folders = || paths.iter().filter(|path| path.is_dir());
    folders().find(|path| has_network(path)).cloned().or_else(|| folders().find_map(snapshots))
}

/// The name of a converted file: the one that a network's folder needs, or that of the file with another ending.
fn converted(path: &Path) -> PathBuf {
    if path.file_stem().is_some_and(|stem| stem == "pytorch_model") {
        return path.with_file_name("model.safetensors");
    }
    let is_safe = path.extension().is_some_and(|ending| ending == "safetensors");
    path.with_extension(if is_safe { "converted.safetensors" } else { "safetensors" })
}
