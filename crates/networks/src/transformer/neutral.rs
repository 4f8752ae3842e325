//! Settings of `config.json` that change nothing in a forward pass without dropout.
//!
//! The source is transformers 4.57.1: the constructor of `PretrainedConfig` (configuration_utils.py), its
//! `_get_global_generation_defaults`, the constructors of the families' configurations (models/*/configuration_*.py), and
//! the names that their modeling_*.py read.

use serde_json::Value;

/// `PretrainedConfig.__init__` and `to_dict`: records about the file, its weights and its tokenizer, forms of the result,
/// tasks. `prefix` is a text in front of the prompts of a task.
const RECORDS: &str = "\
    *_token_id _attn_implementation* _auto_class _commit_hash _experts_implementation* _from_model_config \
    _name_or_path _num_labels architectures attn_implementation auto_map chunk_size_feed_forward \
    cross_attention_hidden_size custom_pipelines dtype finetuning_task id2label is_composition \
    keys_to_ignore_at_inference label2id name_or_path num_labels output_attentions output_hidden_states output_past \
    prefix problem_type return_dict task_specific_params tf_legacy_loss tie_encoder_decoder tokenizer_class \
    torch_dtype torchscript transformers_version use_bfloat16 use_cache use_return_dict xla_device";

/// `PretrainedConfig._get_global_generation_defaults` and `GenerationConfig`: choice of the next token from its scores.
const GENERATION: &str = "\
    bad_words_ids begin_suppress_tokens cache_implementation diversity_penalty do_sample early_stopping \
    encoder_no_repeat_ngram_size encoder_repetition_penalty epsilon_cutoff eta_cutoff \
    exponential_decay_length_penalty guidance_scale length_penalty max_length max_new_tokens min_length \
    min_new_tokens min_p no_repeat_ngram_size num_beam_groups num_beams num_return_sequences output_scores \
    remove_invalid_values renormalize_logits repetition_penalty return_dict_in_generate sequence_bias suppress_tokens \
    temperature top_k top_p typical_p";

/// Training: dropout, values before training, memory.
const TRAINING: &str = "\
    *_drop *_dropout_prob *_pdrop *dropout gradient_checkpointing hidden_dropout* init_std initializer_factor \
    initializer_range layerdrop";

/// Heads for other tasks: `GPT2Config.summary_*`, `BertConfig.classifier_dropout`, and those of the original BERT's pooler.
const HEADS: &str = "classifier_* directionality pooler_* summary_*";

/// Keys that stay attributes of the configuration and that no modeling_*.py of the families reads: those of OpenAI's GPT-2
/// medium, large and xl; `pretraining_tp`, which splits a product into parts; notes of other programs.
const UNREAD: &str = "\
    is_llama_config max_sequence_length model_max_length n_special predict_special_tokens pretraining_tp \
    transformers.js_config unsloth_*";

/// Keys that change nothing with one value, which they have unless a user changes them, and change the pass with others;
/// and the requirement for these.
const ONLY: &[(&str, &[&str], &str)] = &[
    ("pruned_heads", &["{}", "[]"], "must be {}; pruned heads are not supported. Give the network before its pruning"),
    ("add_cross_attention", &["false"], "must be false; attention to another sequence is not supported"),
    ("is_encoder_decoder", &["false"], "must be false; networks of encoder and decoder are not supported"),
    (
        "quantization_config",
        &["{}"],
        "must be absent; packed numbers are not read. Save the network in full with transformers: \
         model.dequantize().save_pretrained(FOLDER)",
    ),
    ("sliding_window", &[], "must be null; a window on attention is not supported"),
    ("use_sliding_window", &["false"], "must be false; a window on attention is not supported"),
];

/// Says why a setting that its family does not read must not be there; None for one that changes nothing.
pub(super) fn refusal(name: &str, value: &Value) -> Option<&'static str> {
    if value.is_null() {
        return None;
    }
    if let Some((_, values, requirement)) = ONLY.iter().find(|(known, ..)| *known == name) {
        return (!values.contains(&value.to_string().as_str())).then_some(*requirement);
    }
    let mut neutral = [RECORDS, GENERATION, TRAINING, HEADS, UNREAD].into_iter().flat_map(str::split_whitespace);
    let requirement = "must be absent; this setting is not known for the family and may change the computation. Remove \
                       it only if it does not";
    (!neutral.any(|pattern| crate::names::fits(pattern, name))).then_some(requirement)
}
