//! A folder with a folder of JPEG or PNG files for each class.

use super::Remarked;
use crate::dataset::{LabelledImages, check_classes, check_index};
use crate::decode;
use crate::files::{KIND, content, entries, in_file, is_folder, require_content};
use crate::image::Image;
use attnlab_core::error::Result;
use attnlab_core::input;
use std::path::{Path, PathBuf};

/// Images in a folder per class; each is read when it is asked for. Classes and, within a class, files are in the order
/// of the bytes of their names.
#[derive(Clone, Debug)]
pub struct ImageFolder {
    class_names: Vec<String>,
    files: Vec<PathBuf>,
    labels: Vec<usize>,
}

impl ImageFolder {
    /// Lists the images of a folder. Files count as images by their extensions jpg, jpeg and png, in any case; others,
    /// and those whose name begins with a dot, are skipped, which a remark says. A class must not hold folders.
    ///
    /// # Errors
    /// A folder that cannot be read; no class; a class without images or with a name that is not UTF-8; a folder in a
    /// class.
    pub fn open(root: &Path) -> Result<Remarked<Self>> {
        let (mut class_names, mut files, mut labels) = (vec![], vec![], vec![]);
        let mut skipped = 0_usize;
        for class in entries(root)? {
            if hidden(&class) || !is_folder(&class)? {
                skipped += 1;
                continue;
            }
            let Some(name) = class.file_name().and_then(|name| name.to_str()) else {
                return Err(content(&class, "name of the class = no UTF-8: must be UTF-8. Rename the folder"));
            };
            let before = files.len();
            for file in entries(&class)? {
                let problem = "content = a folder: must be images; the folders of classes are those of the folder that is \
                               opened. Open the folder above the classes";
                require_content(hidden(&file) || !is_folder(&file)?, &file, problem)?;
                if !hidden(&file) && is_image(&file) {
                    input::note(KIND, &file);
                    files.push(file);
                    labels.push(class_names.len());
                } else {
                    skipped += 1;
                }
            }
            let problem =
                "images = 0: must be at least one .jpg, .jpeg or .png in every class. Remove the folder, or add images";
            require_content(files.len() > before, &class, problem)?;
            class_names.push(name.to_string());
        }
        let problem = "classes = 0: must be at least one folder of images. Put the images of each class into a folder of \
                       its own";
        require_content(!class_names.is_empty(), root, problem)?;
        let class_names = check_classes(&labels, Some(class_names)).map_err(|e| in_file(root, e))?;
        let remarks = if skipped == 0 { vec![] } else { vec![format!("{skipped} other files skipped")] };
        Ok(Remarked { images: ImageFolder { class_names, files, labels }, remarks })
    }

    /// Returns the path of image number `index`; None out of range.
    pub fn path(&self, index: usize) -> Option<&Path> {
        self.files.get(index).map(PathBuf::as_path)
    }
}

impl LabelledImages for ImageFolder {
    fn class_names(&self) -> &[String] {
        &self.class_names
    }

    fn labels(&self) -> &[usize] {
        &self.labels
    }

    fn name(&self, index: usize) -> Option<&str> {
        self.path(index)?.file_stem()?.to_str()
    }

    fn image(&self, index: usize) -> Result<Image> {
        check_index(index, self.files.len())?;
        decode::read(&self.files[index])
    }
}

/// Returns `true` for a name that begins with a dot.
pub(crate) fn hidden(path: &Path) -> bool {
    path.file_name().unwrap_or_default().as_encoded_bytes().first() == Some(&b'.')
}

/// Returns `true` for a name with the extension of an image.
pub(crate) fn is_image(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    ["jpg", "jpeg", "png"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}
