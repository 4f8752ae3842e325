//! Settings beside a vocabulary: `tokenizer_config.json`, `special_tokens_map.json` and `added_tokens.json`.
//!
//! They are read as `transformers` reads them; what may change the tokens and is not known is refused.

use super::forms::{AddedToken, ByteLevel, next_id};
use super::read_json;
use crate::names::fits;
use crate::tensors::{content, require_content};
use attnlab_core::error::{Error, Result};
use attnlab_core::input;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Settings that change no token of a text, a line of names for each thing that they are about.
const NEUTRAL: &[&str] = &[
    // The writer and how the files were loaded.
    "__type _commit_hash _from_auto backend device_map init_inputs is_local local_files_only merges_file \
     name_or_path processor_class special_tokens_map_file tokenizer_file transformers_version trust_remote_code \
     use_fast vocab_file",
    // Ids into text: nothing is decoded where tokens count.
    "clean_up_tokenization_spaces decode_with_prefix_space errors spaces_between_special_tokens",
    // Chats: a text is none.
    "chat_template response_schema use_default_system_prompt",
    // Truncation and padding, which are left out here whatever a file asks for.
    "max_len max_length model_max_length pad_to_multiple_of pad_token_type_id padding padding_side stride \
     truncation truncation_side truncation_strategy",
    // Other outputs than ids: masks, segments, offsets.
    "model_input_names return_token_type_ids trim_offsets",
    // Counts and ids repeat what the vocabulary and the tokens' names say.
    "*_token_id vocab_size",
    // Conversion from a SentencePiece model, of which tokenizer.json is the result.
    "sp_model_kwargs",
];

/// Settings of which one value alone is supported, in JSON; null is none.
const FIXED: [(&str, &str); 4] =
    [("do_basic_tokenize", "true"), ("from_slow", "false"), ("never_split", "[]"), ("split_special_tokens", "false")];

/// Flags that are obeyed.
const FLAGS: &str =
    "add_bos_token add_eos_token add_prefix_space do_lower_case legacy strip_accents tokenize_chinese_chars";

/// Classes whose versions differ: up to 4 of `transformers` the flags decide about special tokens, from 5 on
/// tokenizer.json does.
const LLAMA: [&str; 4] = ["LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "CohereTokenizer"];

/// Classes that set BERT's normaliser by their own flags.
pub(super) const BERT: [&str; 3] = ["BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"];

/// Settings of a tokenizer.
#[derive(Debug)]
pub(super) struct Configuration {
    /// `tokenizer_config.json`, which may not be there.
    path: PathBuf,
    pub(super) is_there: bool,
    /// Class in `transformers`, without "Fast".
    class: String,
    flags: Map<String, Value>,
    /// Special tokens by the name of their role, such as `bos_token`.
    special: Vec<(String, AddedToken)>,
    /// Added tokens with their ids, sorted by these.
    added: Vec<(u64, AddedToken)>,
}

impl Configuration {
    /// Reads the settings in a folder. Tokens of `special_tokens_map.json` and `added_tokens.json` count where
    /// `tokenizer_config.json` lists no added tokens itself.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("tokenizer_config.json");
        let values = object(&path)?;
        let (class, flags, special, added) = (String::new(), Map::new(), vec![], vec![]);
        let mut settings = Configuration { is_there: values.is_some(), path, class, flags, special, added };
        let values = values.unwrap_or_default();
        let complete = values.contains_key("added_tokens_decoder");
        for (name, value) in values.iter().filter(|(_, value)| !value.is_null()) {
            settings.take(name, value)?;
        }
        let old = folder.join("special_tokens_map.json");
        if let Some(values) = object(&old)?.filter(|_| !complete) {
            for (name, value) in values.iter().filter(|(_, value)| !value.is_null()) {
                let known = name.ends_with("_token") || EXTRA.contains(&&name[..]);
                require_content(known, &old, format!("{name}: must be absent; it names no special token"))?;
                settings.special(name, value)?;
            }
        }
        let old = folder.join("added_tokens.json");
        if let Some(values) = object(&old)?.filter(|_| !complete) {
            for (token, id) in &values {
                let requirement = || content(&old, format!("{token} = {id}: must be a whole number, an id"));
                let special = settings.special.iter().any(|(_, s)| s.content == *token);
                let token = AddedToken { normalized: !special, special, ..AddedToken::new(token) };
                settings.added.push((id.as_u64().ok_or_else(requirement)?, token));
            }
        }
        settings.added.sort_by_key(|(id, _)| *id);
        Ok(settings)
    }

    fn refuse(&self, name: &str, value: &Value, requirement: &str) -> Error {
        let text = value.to_string();
        let shown: String = text.chars().take(60).collect();
        let cut = if shown.len() < text.len() { " .." } else { "" };
        content(&self.path, format!("{name} = {shown}{cut}: {requirement}"))
    }

    fn take(&mut self, name: &str, value: &Value) -> Result<()> {
        match name {
            "tokenizer_class" => {
                let class = value.as_str().ok_or_else(|| self.refuse(name, value, "must be a text"))?;
                self.class = class.strip_suffix("Fast").unwrap_or(class).to_string();
            }
            "added_tokens_decoder" => {
                for (id, token) in value.as_object().ok_or_else(|| self.refuse(name, value, "must be an object"))? {
                    let place = format!("{name}.{id}");
                    let id = id.parse().map_err(|_| self.refuse(&place, token, "must have an id as its key"))?;
                    let token = self.token(&place, token, false)?;
                    self.added.push((id, token));
                }
            }
            _ if FLAGS.split_whitespace().any(|flag| flag == name) => {
                if !value.is_boolean() {
                    return Err(self.refuse(name, value, "must be true or false"));
                }
                self.flags.insert(name.into(), value.clone());
            }
            _ if FIXED.iter().any(|(fixed, _)| *fixed == name) => {
                let allowed = FIXED.iter().find(|(fixed, _)| *fixed == name).map_or("", |(_, allowed)| allowed);
                // As JSON writes it.
                let written = value.to_string();
                if written != allowed {
                    return Err(self.refuse(name, value, &format!("must be {allowed}; others are not supported")));
                }
            }
            _ if NEUTRAL.iter().flat_map(|names| names.split_whitespace()).any(|known| fits(known, name)) => {}
            _ if name.ends_with("_token") || EXTRA.contains(&name) => self.special(name, value)?,
            _ => {
                let requirement = "must be absent; this setting is not known and may change the tokens. Remove it only \
                                   if it does not";
                return Err(self.refuse(name, value, requirement));
            }
        }
        Ok(())
    }

    /// Takes special tokens: one, or several in an array or by name. A later one of the same role replaces an earlier.
    fn special(&mut self, name: &str, value: &Value) -> Result<()> {
        let several: Vec<(String, &Value)> = match value {
            Value::Array(tokens) => tokens.iter().enumerate().map(|(i, t)| (format!("{name}.{i}"), t)).collect(),
            Value::Object(tokens) if EXTRA.contains(&name) => {
                tokens.iter().map(|(role, t)| (format!("{name}.{role}"), t)).collect()
            }
            token => vec![(name.to_string(), token)],
        };
        for (role, token) in several {
            let token = self.token(&role, token, true)?;
            self.special.retain(|(known, _)| *known != role);
            self.special.push((role, token));
        }
        Ok(())
    }

    /// A token as text or as an object with its flags.
    fn token(&self, name: &str, value: &Value, special: bool) -> Result<AddedToken> {
        let fields = match value {
            Value::String(text) => return Ok(AddedToken::new(text)),
            Value::Object(fields) => fields,
            _ => return Err(self.refuse(name, value, "must be a token: a text, or an object with content")),
        };
        let text = fields.get("content").and_then(Value::as_str);
        let text = text.ok_or_else(|| self.refuse(name, value, "must have content, a text"))?;
        let special = special || fields.get("special") == Some(&json!(true));
        let mut token = AddedToken { normalized: !special, special, ..AddedToken::new(text) };
        for (field, value) in fields {
            let flag = match &field[..] {
                "content" | "__type" | "special" | "id" => continue,
                "single_word" => &mut token.single_word,
                "lstrip" => &mut token.lstrip,
                "rstrip" => &mut token.rstrip,
                "normalized" => &mut token.normalized,
                _ => return Err(self.refuse(&format!("{name}.{field}"), value, "must be absent; it is not known")),
            };
            let place = format!("{name}.{field}");
            *flag = value.as_bool().ok_or_else(|| self.refuse(&place, value, "must be true or false"))?;
        }
        Ok(token)
    }

    /// Takes this class where no other is named.
    pub(super) fn or_class(mut self, class: &str) -> Self {
        if self.class.is_empty() {
            self.class = class.into();
        }
        self
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.flags.get(name).and_then(Value::as_bool)
    }

    /// Returns the special token of a role, as its text.
    pub(super) fn role(&self, role: &str) -> Option<&str> {
        self.special.iter().find(|(known, _)| known == role).map(|(_, token)| &token.content[..])
    }

    /// Refuses a class that the files of the vocabulary are not enough for.
    pub(super) fn only(&self, classes: &[&str], files: &str) -> Result<()> {
        if self.class.is_empty() || classes.contains(&&self.class[..]) {
            return Ok(());
        }
        let requirement = format!(
            "must be one of {}, where {files} is all there is; another class splits texts otherwise. Write its \
             tokenizer.json: AutoTokenizer.from_pretrained(\"..\").save_pretrained(\"..\")",
            classes.join(", ")
        );
        Err(self.refuse("tokenizer_class", &json!(self.class), &requirement))
    }

    /// Builds the refusal of a special token that must be in the vocabulary.
    pub(super) fn missing(&self, role: &str, token: &str) -> Error {
        let requirement =
            "must be a token of the vocabulary; it is put around every text. Take the files from one folder";
        self.refuse(role, &json!(token), requirement)
    }

    /// Puts the tokens and flags into the description of a tokenizer (`tokenizer.json`).
    pub(super) fn amend(&self, description: &mut Value) -> Result<()> {
        self.add_tokens(description)?;
        self.normalise(description)?;
        if self.class == "LlamaTokenizer" && self.flag("legacy") == Some(false) {
            prefix_once(description);
        }
        let Some(wanted) = self.flag("add_prefix_space") else { return Ok(()) };
        let Some(known) = prefixed(description).filter(|known| *known != wanted) else { return Ok(()) };
        if self.class != "GPT2Tokenizer" {
            let requirement = format!("must be {known}, as tokenizer.json has it, or absent; the two disagree");
            return Err(self.refuse("add_prefix_space", &json!(wanted), &requirement));
        }
        ByteLevel::set_prefix(&mut description["pre_tokenizer"], wanted);
        Ok(())
    }

    fn add_tokens(&self, description: &mut Value) -> Result<()> {
        let mut tokens = match description.get("added_tokens") {
            Some(Value::Array(tokens)) => tokens.clone(),
            _ => vec![],
        };
        let place = |tokens: &[Value], content: &str| tokens.iter().position(|t| t["content"] == content);
        for (id, token) in &self.added {
            let entry = token.entry(*id);
            match place(&tokens, &token.content) {
                Some(i) if tokens[i]["id"] == *id => tokens[i] = entry,
                Some(i) => {
                    let requirement = format!("must have the id {}, which tokenizer.json gives it", tokens[i]["id"]);
                    let name = format!("added_tokens_decoder.{id}");
                    return Err(self.refuse(&name, &json!(token.content), &requirement));
                }
                None => tokens.push(entry),
            }
        }
        let mut next = next_id(description, &tokens);
        for (_, token) in &self.special {
            if token.content.is_empty() || place(&tokens, &token.content).is_some() {
                continue;
            }
            let known = description["model"]["vocab"].get(&token.content).and_then(Value::as_u64);
            let id = known.unwrap_or(next);
            next = next.saturating_add(u64::from(known.is_none()));
            tokens.push(token.entry(id));
        }
        if let Some(description) = description.as_object_mut() {
            description.insert("added_tokens".into(), Value::Array(tokens));
        }
        Ok(())
    }

    /// Sets BERT's normaliser by the flags of its class, whose defaults hold too, and without a class by those that are
    /// there.
    fn normalise(&self, description: &mut Value) -> Result<()> {
        let normaliser = &mut description["normalizer"];
        let bert = BERT.contains(&&self.class[..]);
        if normaliser["type"] == "BertNormalizer" && (bert || self.class.is_empty()) {
            for (flag, field, default) in [
                ("do_lower_case", "lowercase", json!(true)),
                ("strip_accents", "strip_accents", Value::Null),
                ("tokenize_chinese_chars", "handle_chinese_chars", json!(true)),
            ] {
                match self.flag(flag) {
                    Some(wanted) => normaliser[field] = json!(wanted),
                    None if bert => normaliser[field] = default,
                    None => {}
                }
            }
            return Ok(());
        }
        for (flag, field) in [("do_lower_case", "lowercase"), ("tokenize_chinese_chars", "handle_chinese_chars")] {
            let Some(wanted) = self.flag(flag) else { continue };
            let lowers = || flag == "do_lower_case" && normaliser.to_string().contains("\"Lowercase\"");
            let has = normaliser.get(field).and_then(Value::as_bool).unwrap_or_else(lowers);
            if has != wanted {
                let requirement = format!("must be {has}, as the normaliser of tokenizer.json has it, or absent");
                return Err(self.refuse(flag, &json!(wanted), &requirement));
            }
        }
        Ok(())
    }

    /// Refuses flags about special tokens that contradict tokenizer.json, where versions of the reference differ.
    pub(super) fn agrees(&self, around: &[u32], id: impl Fn(&str) -> Option<u32>) -> Result<()> {
        if !LLAMA.contains(&&self.class[..]) {
            return Ok(());
        }
        let ends = [
            ("add_bos_token", "bos_token", "<s>", around.first()),
            ("add_eos_token", "eos_token", "</s>", around.last()),
        ];
        for (flag, role, default, token) in ends {
            let (Some(wanted), Some(special)) = (self.flag(flag), id(self.role(role).unwrap_or(default))) else {
                continue;
            };
            let has = token == Some(&special);
            if has != wanted {
                let requirement = format!(
                    "must be {has}, as the post_processor of tokenizer.json has it; the two disagree, and versions of \
                     transformers follow one or the other. Write the one that the network was trained with into both"
                );
                return Err(self.refuse(flag, &json!(wanted), &requirement));
            }
        }
        Ok(())
    }
}

/// Settings with several special tokens.
const EXTRA: [&str; 3] = ["additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens"];

fn object(path: &Path) -> Result<Option<Map<String, Value>>> {
    if !input::is_file("tokenizer", path) {
        return Ok(None);
    }
    match read_json(path)? {
        Value::Object(values) => Ok(Some(values)),
        _ => Err(content(path, "must be an object of JSON")),
    }
}

/// Takes the space that Llama's normaliser puts before every part between special tokens away from all but the first,
/// as `legacy = false` asks; tokenizer.json is often that of `legacy = true`.
fn prefix_once(description: &mut Value) {
    let parts = description["normalizer"]["normalizers"].as_array();
    let kinds: Vec<&str> = parts.into_iter().flatten().filter_map(|part| part["type"].as_str()).collect();
    if kinds == ["Prepend", "Replace"] && description["pre_tokenizer"].is_null() {
        description["normalizer"] = Value::Null;
        description["pre_tokenizer"] =
            json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "first", "split": false});
    }
}

/// Returns whether a tokenizer puts a space before a text, if its parts say.
fn prefixed(description: &Value) -> Option<bool> {
    fn parts(value: &Value, flags: &mut Vec<bool>) {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
        match (kind, value.get("prepend_scheme").and_then(Value::as_str)) {
            ("Metaspace", Some(scheme)) => flags.push(scheme != "never"),
            ("ByteLevel" | "Metaspace", _) => flags.push(value["add_prefix_space"] == true),
            ("Prepend", _) => flags.push(true),
            _ => {}
        }
        for name in ["pretokenizers", "normalizers"] {
            value.get(name).and_then(Value::as_array).into_iter().flatten().for_each(|part| parts(part, flags));
        }
    }
    let mut flags = vec![];
    parts(&description["pre_tokenizer"], &mut flags);
    parts(&description["normalizer"], &mut flags);
    (!flags.is_empty()).then(|| flags.contains(&true))
}
