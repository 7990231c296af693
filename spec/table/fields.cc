// fields.cc: the one list of what an experiment file may say. Reading, checking, defaults, the
// trainer's own reading, the manual and the JSON Schema all follow it; a field added here and in
// model.proto is complete.
//
// Invariant: every leaf of v1::Spec appears here once, and nothing else (tests/spec asserts it).
#include <utility>

#include "common/limits.h"
#include "spec/table/field.h"
#include "spec/table/internal.h"

namespace dt::spec {
namespace {

using enum FieldType;

// Sizes beyond which a number is a slip of the pen: far above any model of today, far below what
// would overflow a product of two of them.
inline constexpr double kSizeMax = 1 << 20;
// Counts of steps and tokens, and seeds.
inline constexpr double kCountMax = kWholeMax;

// Builds one row: Row("path", type).Range(1, 8).Default("1").Help("…").
struct Row {
  Field field;
  Row(const char* path, FieldType type) {
    field.path = path;
    field.type = type;
  }
  Row& Range(double min, double max) {
    field.min = min;
    field.max = max;
    return *this;
  }
  Row& Above(double min, double max) {
    field.min_exclusive = true;
    return Range(min, max);
  }
  Row& Below(double min, double max) {
    field.max_exclusive = true;
    return Range(min, max);
  }
  Row& Glob() {
    field.glob = true;
    return *this;
  }
  Row& Count(int count) {
    field.count = count;
    return *this;
  }
  Row& Choices(std::vector<std::string> choices, std::vector<std::string> later = {}) {
    field.choices = std::move(choices);
    field.later = std::move(later);
    return *this;
  }
  Row& Default(const char* text) {
    field.default_text = text;
    return *this;
  }
  Row& Depends(const char* how) {
    field.default_kind = DefaultKind::kDependent;
    field.default_text = how;
    return *this;
  }
  Row& None() {
    field.default_kind = DefaultKind::kNone;
    return *this;
  }
  Row& Required() {
    field.default_kind = DefaultKind::kRequired;
    return *this;
  }
  Row& Fixed() {
    field.sweepable = false;
    return *this;
  }
  Row& Help(const char* help) {
    field.help = help;
    return *this;
  }
  operator Field() const { return field; }  // NOLINT: implicit
};

void AddRun(std::vector<Field>& t) {
  t.push_back(Row("seed", kInteger)
                  .Range(0, kCountMax)
                  .Depends("chosen at submit and recorded")
                  .Help("Seed of weights, order of samples and dropout."));
  t.push_back(Row("resources.gpus", kInteger)
                  .Range(1, limits::kWorldSizeMax)
                  .Default("1")
                  .Help("Slots of each trial: GPUs, or CPU slots; one rank runs on each."));
  t.push_back(Row("resources.device", kChoice)
                  .Choices({"auto", "cuda", "cpu"})
                  .Default("auto")
                  .Fixed()
                  .Help("Kind of slot; auto is settled at submit: cuda where a worker has offered "
                        "it, else cpu."));
  t.push_back(Row("resources.env", kLabels)
                  .None()
                  .Fixed()
                  .Help("Environment variables of the trainers, such as NCCL_DEBUG."));
  t.push_back(Row("data.train", kText)
                  .Required()
                  .Glob()
                  .Help("Glob of training token shards, relative to the worker's --data-root."));
  t.push_back(Row("data.val", kText)
                  .Required()
                  .Glob()
                  .Help("Glob of validation token shards, relative to the worker's --data-root."));
  t.push_back(
      Row("data.format", kChoice)
          .Choices({"auto", "llmc", "npy", "megatron", "raw_u16"})
          .Default("auto")
          .Help("Format of the shards; auto tells llm.c's, .npy and Megatron's by their headers, "
                "not bare 16-bit ids."));
  t.push_back(
      Row("data.shuffle", kFlag)
          .Default("false")
          .Help("Take samples in a random order, given by the seed, instead of in sequence."));
  t.push_back(Row("data.tokenizer", kChoice)
                  .Choices({"auto", "gpt2", "byte"})
                  .Default("auto")
                  .Help("Tokenizer that made the shards; auto: the one that `dtctl data tokenize` "
                        "recorded beside them, gpt2 without a record. byte has ids 0–255 for bytes "
                        "and 256 for end of text."));
}

void AddModelFields(std::vector<Field>& t) {
  t.push_back(Row("model.preset", kChoice)
                  .Choices({"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "tiny_transformer"})
                  .Default("gpt2")
                  .Help("Shape to start from; each other field of model changes one part of it."));
  t.push_back(
      Row("model.n_layer", kInteger).Range(1, 1000).Depends("of the preset").Help("Layers."));
  t.push_back(Row("model.n_head", kInteger)
                  .Range(1, 1024)
                  .Depends("of the preset")
                  .Help("Attention heads; they divide n_embd."));
  t.push_back(Row("model.n_embd", kInteger)
                  .Range(1, kSizeMax)
                  .Depends("of the preset")
                  .Help("Width of the model."));
  t.push_back(Row("model.n_ff", kInteger)
                  .Range(1, kSizeMax)
                  .Depends("4 × n_embd; tiny_transformer: 2048")
                  .Help("Width of the feed-forward layers."));
  t.push_back(Row("model.n_positions", kInteger)
                  .Range(1, 1 << 24)
                  .Depends("of the preset")
                  .Help("Longest sequence that learned positions can tell apart, in tokens."));
  t.push_back(Row("model.vocab_size", kInteger)
                  .Range(0, kSizeMax)
                  .Depends("of the tokenizer: gpt2 50257, byte 257, auto 0; tiny_transformer with "
                           "auto: 50257")
                  .Help("Token ids are from 0 to vocab_size - 1; 0: as many as the tokenizer that "
                        "made the shards has."));
  t.push_back(
      Row("model.vocab_pad", kInteger)
          .Range(0, 2 * kSizeMax)
          .Depends("vocab_size up to a multiple of 64; tiny_transformer: vocab_size")
          .Help("Rows of the embedding; those beyond vocab_size have no part in the loss. 0: as "
                "many as vocab_size, up to a multiple of 64."));
  t.push_back(Row("model.tie_head", kFlag)
                  .Depends("true; tiny_transformer: false")
                  .Help("Share one matrix between token embedding and output head."));
  t.push_back(Row("model.head_bias", kFlag)
                  .Depends("false; tiny_transformer: true")
                  .Help("Give the output head a bias."));
  t.push_back(
      Row("model.bias", kFlag).Depends("true").Help("Give linear layers and layer norms a bias."));
  t.push_back(Row("model.norm", kChoice)
                  .Choices({"pre", "post"})
                  .Depends("pre; tiny_transformer: post")
                  .Help("Layer norm before each sub-layer, with a final one, or after it."));
  t.push_back(Row("model.activation", kChoice)
                  .Choices({"gelu_tanh", "gelu", "relu"})
                  .Depends("gelu_tanh; tiny_transformer: relu")
                  .Help("Non-linearity of the feed-forward layers."));
  t.push_back(Row("model.positions", kChoice)
                  .Choices({"learned", "sinusoidal"})
                  .Depends("learned; tiny_transformer: sinusoidal")
                  .Help("How positions are told apart."));
  t.push_back(Row("model.dropout", kNumber)
                  .Range(0, 0.99)
                  .Depends("0; tiny_transformer: 0.1")
                  .Help("Share of activations dropped in training."));
  t.push_back(Row("model.init_from", kText)
                  .None()
                  .Glob()
                  .Help("Folder with the weights to begin with, a GPT-2 in Hugging Face's files "
                        "(model.safetensors, config.json), relative to the worker's --data-root."));
  t.push_back(Row("model.activation_checkpointing", kChoice)
                  .Choices({"none", "block"})
                  .Default("none")
                  .Help("block: keep the input of each layer alone and compute the rest again in "
                        "the backward pass; less memory, a third more arithmetic."));
}

void AddTrainFields(std::vector<Field>& t) {
  t.push_back(Row("train.batch_size", kInteger)
                  .Range(1, kSizeMax)
                  .Default("8")
                  .Help("Sequences per rank and micro-step."));
  t.push_back(Row("train.seq_len", kInteger)
                  .Range(1, 1 << 24)
                  .Default("1024")
                  .Help("Length of a sequence, in tokens."));
  t.push_back(
      Row("train.global_batch_size", kInteger)
          .Range(0, 1ull << 32)
          .Depends("global_batch_tokens ÷ seq_len where that is set, else batch_size × gpus")
          .Help("Sequences per optimizer step over all ranks; a multiple of batch_size × "
                "gpus, reached by accumulation."));
  t.push_back(Row("train.global_batch_tokens", kInteger)
                  .Range(0, 1ull << 32)
                  .Default("0")
                  .Help("The same in tokens, a multiple of seq_len × batch_size × gpus; 0: "
                        "global_batch_size says it."));
  t.push_back(Row("train.max_steps", kInteger)
                  .Range(0, kCountMax)
                  .Default("0")
                  .Help("Optimizer steps to make; 0: not limited in steps."));
  t.push_back(Row("train.max_tokens", kInteger)
                  .Range(0, kCountMax)
                  .Default("0")
                  .Help("Tokens to train on, over all ranks; 0: not limited in tokens."));
  t.push_back(Row("train.epochs", kNumber)
                  .Range(0, 1e9)
                  .Depends("1 unless max_steps or max_tokens is set")
                  .Help("Passes over the training data."));
  t.push_back(Row("train.grad_clip", kNumber)
                  .Range(0, 1e9)
                  .Default("1")
                  .Help("Largest global norm of the gradient; 0: no clipping."));
  t.push_back(
      Row("train.hash_every", kInteger)
          .Range(0, kCountMax)
          .Default("0")
          .Help("Steps between comparisons of the ranks' parameters, bit for bit; 0: none. They "
                "are also compared before a checkpoint; one due by time waits for that."));
}

void AddOptimizerFields(std::vector<Field>& t) {
  t.push_back(Row("optimizer.type", kChoice)
                  .Choices({"adamw"}, {"sgd", "lion"})
                  .Default("adamw")
                  .Help("Optimizer."));
  t.push_back(Row("optimizer.lr", kNumber)
                  .Above(0, 1000)
                  .Default("0.0006")
                  .Help("Highest learning rate of the schedule."));
  t.push_back(Row("optimizer.betas", kNumbers)
                  .Below(0, 1)
                  .Count(2)
                  .Default("[0.9, 0.95]")
                  .Help("Decay of the two moments of AdamW."));
  t.push_back(Row("optimizer.eps", kNumber)
                  .Above(0, 1)
                  .Default("1.0e-8")
                  .Help("Added to the root of AdamW's second moment."));
  t.push_back(Row("optimizer.weight_decay", kNumber)
                  .Range(0, 1000)
                  .Default("0.1")
                  .Help("Decoupled weight decay."));
  t.push_back(Row("optimizer.decay_ndim_min", kInteger)
                  .Range(0, 8)
                  .Default("2")
                  .Help("Tensors with at least this many dimensions are decayed."));
  t.push_back(Row("optimizer.scale_lr", kChoice)
                  .Choices({"none", "linear", "sqrt"})
                  .Default("none")
                  .Help("Scale lr by global batch ÷ scale_lr_from, or by its square root."));
  t.push_back(Row("optimizer.scale_lr_from", kInteger)
                  .Range(0, 4294967296.0)
                  .Default("0")
                  .Help("Global batch, in sequences, for which optimizer.lr is meant."));
  t.push_back(Row("schedule.type", kChoice)
                  .Choices({"cosine", "linear", "constant", "wsd"})
                  .Default("cosine")
                  .Help("Course of the learning rate after the warm-up; wsd: constant, then a "
                        "linear decay at the end."));
  t.push_back(Row("schedule.warmup_steps", kInteger)
                  .Range(-1, kCountMax)
                  .Default("-1")
                  .Help("Steps of linear warm-up; -1: from warmup_ratio."));
  t.push_back(Row("schedule.warmup_ratio", kNumber)
                  .Range(0, 1)
                  .Default("0.02")
                  .Help("Warm-up as a share of all steps, when warmup_steps is not set."));
  t.push_back(Row("schedule.min_lr_ratio", kNumber)
                  .Range(0, 1)
                  .Default("0.1")
                  .Help("Last learning rate as a share of optimizer.lr."));
  t.push_back(Row("schedule.decay_ratio", kNumber)
                  .Range(0, 1)
                  .Default("0.2")
                  .Help("Share of all steps in which wsd decays."));
}

void AddExecution(std::vector<Field>& t) {
  t.push_back(Row("precision.compute", kChoice)
                  .Choices({"auto", "bf16", "fp16", "fp32", "tf32"})
                  .Default("auto")
                  .Help("Arithmetic of forward and backward; auto: bf16 on cuda, fp32 on cpu; fp16 "
                        "scales the loss by itself."));
  t.push_back(Row("precision.reduce", kChoice)
                  .Choices({"fp32"}, {"bf16"})
                  .Default("fp32")
                  .Help("Arithmetic of the gradients' all-reduce."));
  t.push_back(
      Row("parallel.strategy", kChoice)
          .Choices({"ddp"}, {"zero1", "zero2", "zero3", "fsdp", "hsdp", "local_sgd", "gossip"})
          .Default("ddp")
          .Help("How ranks share the work; ddp: a full copy of the model on each."));
  t.push_back(Row("parallel.bucket_mb", kNumber)
                  .Range(0.001, 4096)
                  .Default("25")
                  .Help("Size of a gradient bucket, in MiB."));
}

void AddEvaluation(std::vector<Field>& t) {
  t.push_back(Row("eval.every", kInteger)
                  .Range(0, kCountMax)
                  .Default("250")
                  .Help("Steps between validations; the last step always has one; 0: no others."));
  t.push_back(Row("eval.batches", kInteger)
                  .Range(1, 1e9)
                  .Default("20")
                  .Help("Micro-batches in a validation, dealt to the ranks."));
  t.push_back(
      Row("eval.hellaswag", kText)
          .None()
          .Glob()
          .Help("File of HellaSwag, llm.c's packed one or the original JSON lines, relative "
                "to the worker's --data-root. Each validation measures its accuracy."));
  t.push_back(Row("eval.samples", kInteger)
                  .Range(0, static_cast<double>(limits::kSamples))
                  .Default("0")
                  .Help("Texts that the model writes at each validation, for its logs and the "
                        "report."));
  t.push_back(Row("eval.sample_prompt", kText)
                  .None()
                  .Help("How these texts begin; empty: as documents do."));
  t.push_back(Row("eval.sample_tokens", kInteger)
                  .Range(1, 1024)
                  .Default("64")
                  .Help("Longest such text, in tokens; it ends sooner at end-of-text."));
  t.push_back(Row("eval.sample_temperature", kNumber)
                  .Range(0, 100)
                  .Default("1")
                  .Help("How freely tokens are drawn: logits are divided by it; 0: always the "
                        "likeliest."));
  t.push_back(Row("eval.sample_top_k", kInteger)
                  .Range(0, kSizeMax)
                  .Default("50")
                  .Help("Tokens are drawn from this many of the likeliest; 0: from all."));
  t.push_back(Row("eval.vocab", kText)
                  .Glob()
                  .Default("vocab.bpe")
                  .Help("GPT-2's vocab.bpe, relative to the worker's --data-root. With "
                        "data.tokenizer gpt2 it turns texts into tokens and back."));
}

void AddConduct(std::vector<Field>& t) {
  t.push_back(Row("checkpoint.every", kEvery)
                  .Default("60s")
                  .Help("Time (60s) or steps (500) between checkpoints; the last step always has "
                        "one; 0: no others but those of keep_best."));
  t.push_back(Row("checkpoint.keep_latest", kInteger)
                  .Range(1, 1000)
                  .Default("1")
                  .Help("How many of a trial's newest checkpoints are kept."));
  t.push_back(Row("checkpoint.keep_best", kInteger)
                  .Range(0, 1000)
                  .Default("1")
                  .Help("How many of a trial's checkpoints with the lowest validation loss are "
                        "kept."));
  t.push_back(
      Row("stop.nonfinite", kChoice)
          .Choices({"fail", "skip", "rollback"})
          .Default("fail")
          .Help("What follows a gradient that is NaN or infinite: the trial fails, the step "
                "is left out, or training goes back to the attempt's newest checkpoint "
                "and continues with the next step."));
  t.push_back(Row("retries.max", kInteger)
                  .Range(0, 1000)
                  .Default("5")
                  .Fixed()
                  .Help("Attempts after the first, without progress between them; lost workers "
                        "and crashed trainers are counted apart."));
  t.push_back(Row("retries.backoff", kDuration)
                  .Range(0, absl::ToDoubleSeconds(limits::kRetryBackoffMax))
                  .Default("10s")
                  .Fixed()
                  .Help("Wait before the next attempt; doubles with each."));
  t.push_back(Row("logging.every", kInteger)
                  .Range(1, kCountMax)
                  .Default("1")
                  .Help("Steps between recorded rows of metrics."));
  t.push_back(Row("logging.tensorboard", kFlag)
                  .Default("true")
                  .Fixed()
                  .Help("Also write each trial's metrics as TensorBoard events, into its folder in "
                        "the storage."));
  t.push_back(Row("logging.jsonl", kFlag)
                  .Default("true")
                  .Fixed()
                  .Help("The same as JSON lines, into `metrics.jsonl`."));
}

}  // namespace

std::vector<Field> internal::MakeFieldTable() {
  std::vector<Field> table;
  AddRun(table);
  AddModelFields(table);
  AddTrainFields(table);
  AddOptimizerFields(table);
  AddExecution(table);
  AddEvaluation(table);
  AddConduct(table);
  return table;
}

std::vector<Field> internal::MakeExperimentFieldTable() {
  return {
      Row("version", kInteger).Range(1, 1).Required().Fixed().Help("Version of the format: 1."),
      Row("name", kText).Required().Fixed().Help("Name of the experiment, for people."),
      Row("description", kText).None().Fixed().Help("What it is for."),
      Row("labels", kLabels).None().Fixed().Help("Keys and values to select experiments by."),
      Row("search.method", kChoice)
          .Choices({"grid"}, {"random", "bayes", "asha"})
          .Default("grid")
          .Fixed()
          .Help("How trials are made from parameters; grid: every combination."),
      Row("search.metric", kChoice)
          .Choices({"val_loss", "loss"})
          .Default("val_loss")
          .Fixed()
          .Help("Metric by which trials are compared."),
      Row("search.goal", kChoice)
          .Choices({"minimize", "maximize"})
          .Default("minimize")
          .Fixed()
          .Help("Which end of the metric is best."),
      Row("search.max_concurrent", kInteger)
          .Range(0, limits::kTrialsPerExperiment)
          .Default("0")
          .Fixed()
          .Help("Trials at once; 0: as many as fit."),
  };
}

}  // namespace dt::spec
