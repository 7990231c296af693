// field_table.cc: the one list of what an experiment file may say. Reading, checking, defaults,
// the manual and the JSON Schema all follow it; a field added here and in model.proto is complete.
// Those of model, train, optimizer and schedule are in training_fields.cc.
//
// Invariant: every leaf of v1::Spec stands here once, and nothing else (tests/spec asserts it).
#include <algorithm>
#include <map>

#include "common/limits.h"
#include "spec/field_row.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

using internal::kCountMax;
using internal::kSizeMax;
using internal::Row;
using enum FieldType;

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
  t.push_back(Row("data.shuffle", kFlag)
                  .Default("false")
                  .Help("Draw samples in an order given by the seed instead of in sequence."));
  t.push_back(Row("data.tokenizer", kChoice)
                  .Choices({"gpt2", "byte"})
                  .Default("gpt2")
                  .Help("Tokenizer that made the shards; byte has ids 0–255 for bytes and 256 for "
                        "end of text."));
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
                  .Help("Steps between validations; 0: only at the end, which always has one."));
  t.push_back(Row("eval.batches", kInteger)
                  .Range(1, 1e9)
                  .Default("20")
                  .Help("Micro-batches in a validation, dealt to the ranks."));
  t.push_back(
      Row("eval.hellaswag", kText)
          .None()
          .Glob()
          .Help("File of HellaSwag, llm.c's packed one or the original JSON lines, relative "
                "to the worker's --data-root: its accuracy at each validation."));
  t.push_back(Row("eval.samples", kInteger)
                  .Range(0, static_cast<double>(limits::kSamples))
                  .Default("0")
                  .Help("Texts that the model writes at each validation, for its logs and the "
                        "report."));
  t.push_back(Row("eval.sample_prompt", kText)
                  .None()
                  .Help("How these texts begin; without one they begin as documents do."));
  t.push_back(Row("eval.sample_tokens", kInteger)
                  .Range(1, 1024)
                  .Default("64")
                  .Help("Tokens of such a text at most; end-of-text ends it before."));
  t.push_back(Row("eval.sample_temperature", kNumber)
                  .Range(0, 100)
                  .Default("1")
                  .Help("How freely tokens are drawn: logits are divided by it; 0: always the "
                        "likeliest."));
  t.push_back(Row("eval.sample_top_k", kInteger)
                  .Range(0, kSizeMax)
                  .Default("50")
                  .Help("Drawn from so many of the likeliest tokens; 0: from all."));
  t.push_back(Row("eval.vocab", kText)
                  .Glob()
                  .Default("vocab.bpe")
                  .Help("GPT-2's vocab.bpe, relative to the worker's --data-root: what turns texts "
                        "into tokens and back with data.tokenizer gpt2."));
}

void AddConduct(std::vector<Field>& t) {
  t.push_back(Row("checkpoint.every", kEvery)
                  .Default("60s")
                  .Help("Time (60s) or steps (500) between checkpoints; 0: only at the end, which "
                        "always has one, and for keep_best."));
  t.push_back(Row("checkpoint.keep_latest", kInteger)
                  .Range(1, 1000)
                  .Default("1")
                  .Help("Newest checkpoints kept of a trial."));
  t.push_back(Row("checkpoint.keep_best", kInteger)
                  .Range(0, 1000)
                  .Default("1")
                  .Help("Checkpoints kept of a trial for their validation loss."));
  t.push_back(Row("stop.nonfinite", kChoice)
                  .Choices({"fail", "skip", "rollback"})
                  .Default("fail")
                  .Help("What a gradient that is NaN or infinite does: end the trial, leave that "
                        "step out, or go back to the newest checkpoint of the attempt and on "
                        "behind that step."));
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
                  .Help("Whether each trial's metrics are also written as TensorBoard events, "
                        "into its folder of the storage."));
  t.push_back(Row("logging.jsonl", kFlag)
                  .Default("true")
                  .Fixed()
                  .Help("The same as JSON lines, into `metrics.jsonl`."));
}

std::vector<Field> MakeFieldTable() {
  std::vector<Field> table;
  AddRun(table);
  internal::AddModelFields(table);
  internal::AddTrainFields(table);
  internal::AddOptimizerFields(table);
  AddExecution(table);
  AddEvaluation(table);
  AddConduct(table);
  return table;
}

std::vector<Field> MakeExperimentFieldTable() {
  return {
      Row("version", kInteger).Range(1, 1).Required().Fixed().Help("Version of the format: 1."),
      Row("name", kText).Required().Fixed().Help("Name of the experiment, for people."),
      Row("description", kText).None().Fixed().Help("What it is for."),
      Row("labels", kLabels).None().Fixed().Help("Keys and values to select experiments by."),
      Row("search.method", kChoice)
          .Choices({"grid"}, {"random", "bayes", "asha"})
          .Default("grid")
          .Fixed()
          .Help("How trials are made of parameters; grid: every combination."),
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

const Field* FindIn(const std::vector<Field>& table, std::string_view path) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Field& field) { return field.path == path; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

const std::vector<Field>& FieldTable() {
  static const auto* table = new std::vector<Field>(MakeFieldTable());
  return *table;
}

const std::vector<Field>& ExperimentFieldTable() {
  static const auto* table = new std::vector<Field>(MakeExperimentFieldTable());
  return *table;
}

const Field* FindField(std::string_view path) {
  static const auto* index = [] {
    auto* map = new std::map<std::string, const Field*, std::less<>>();
    for (const Field& field : FieldTable()) (*map)[field.path] = &field;
    return map;
  }();
  const auto found = index->find(path);
  return found == index->end() ? nullptr : found->second;
}

const Field* FindExperimentField(std::string_view path) {
  return FindIn(ExperimentFieldTable(), path);
}

const std::vector<std::string>& ReservedPaths() {
  static const auto* paths = new std::vector<std::string>{
      "seeds",
      "include",
      "search.sampler",
      "search.target",
      "search.max_trials",
      "search.max_failed_trials",
      "search.asha",
      "resources.min_gpus",
      "resources.max_gpus",
      "resources.max_gpus_total",
      "resources.single_node",
      "resources.accelerator",
      "resources.priority",
      "train.max_time",
      "parallel.tensor",
      "parallel.pipeline",
      "parallel.microbatches",
      "parallel.compression",
      "checkpoint.async",
      "checkpoint.export",
      "stop.patience",
      "stop.max_loss",
      "logging.mlflow",
  };
  return *paths;
}

bool IsReserved(std::string_view path) {
  for (const std::string& reserved : ReservedPaths()) {
    if (path == reserved) return true;
    if (path.size() > reserved.size() && path.substr(0, reserved.size()) == reserved &&
        path[reserved.size()] == '.') {
      return true;
    }
  }
  return false;
}

const std::vector<std::string>& TopWords() {
  static const auto* words = [] {
    auto* list = new std::vector<std::string>();
    const auto add = [list](const std::string& path) {
      const std::string word = path.substr(0, path.find('.'));
      if (std::find(list->begin(), list->end(), word) == list->end()) list->push_back(word);
    };
    for (const Field& field : ExperimentFieldTable()) add(field.path);
    add("parameters");
    add("exclude");
    for (const Field& field : FieldTable()) add(field.path);
    return list;
  }();
  return *words;
}

}  // namespace dt::spec
