// fields.cc: the one list of a trial's fields in an experiment file. Reading, checking, defaults,
// the trainer's own reading, the manual and the JSON Schema all follow from it; a field added here
// and in model.proto is complete.
//
// Invariant: every leaf of v1::Spec appears here once, and nothing else (tests/spec asserts it).
#include "common/environment_limits.h"
#include "common/limits.h"
#include "common/metric_limits.h"
#include "spec/table/internal.h"
#include "spec/table/row.h"

namespace dt::spec {
namespace {

using namespace internal;  // NOLINT: for the rows of the table

std::vector<Field> ProgramFields() {
  constexpr auto kCommandWords = static_cast<int>(limits::kCommandWords);
  return {
      Texts(
          "command", kCommandWords, kEmpty,
          "Words of the program that each trial runs on each of its slots; {name} is the value of "
          "a parameter.")
          .Fixed(),
      Text("run", kEmpty, "The same as a text for /bin/sh; values are quoted for it.").Fixed(),
      Text("workdir", Depends("the folder of its code, else a scratch folder of the attempt"),
           "Folder in which the program starts: relative to the folder of its code, or absolute.")
          .Fixed(),
      Text("code", kEmpty, "Folder that is packed and sent along, relative to this file.").Fixed(),
      Texts(
          "code_include", limits::kCodePatterns, kEmpty,
          "Patterns of ignored files below that folder that are sent too, such as data/*.bin; also "
          "`code: {folder: ., include: [data/*.bin]}`.")
          .Fixed(),
      Choice("launcher", {"auto", "torchrun", "none", "mpi", "accelerate"}, Depends("`auto`"),
             "Launcher whose variables give the program its rank. auto: torchrun's on two slots "
             "and more, none on one.")
          .Fixed(),
      Text("environment.python", kEmpty,
           "Python that the program runs with: a version such as 3.11, or a path on the workers.")
          .Fixed(),
      Texts("environment.uv", limits::kEnvironmentPackages, kEmpty,
            "Packages that the program runs with, which uv installs: uv.lock, pylock.toml, "
            "pyproject.toml or a file of requirements in the folder of code; or a list such as "
            "[numpy, torch==2.5.1].")
          .OneText()
          .Fixed(),
      Text("environment.index", kEmpty,
           "URL of the package index for environment.uv, without a user or a password: "
           "credentials come from the workers.")
          .Fixed(),
      Text("environment.image", kEmpty,
           "Container image that the program runs in, with podman, docker or apptainer.")
          .Fixed(),
      Text("environment.conda", kEmpty,
           "File of a conda environment, such as environment.yml, in the folder of code.")
          .Fixed(),
      Texts("environment.module", limits::kEnvironmentPackages, kEmpty,
            "Environment modules that a login shell loads before the program, such as [cuda/13.0].")
          .OneText()
          .Fixed(),
      Texts("metrics.pattern", limits::kMetricPatterns, kEmpty,
            "Patterns of the lines that the program prints its numbers in, such as 'step {step}: "
            "loss {loss}'; one or a list. tqdm and lightning are the progress bars of these.")
          .OneText()
          .Fixed(),
      Text("metrics.file", kEmpty,
           "A file with numbers that grows, CSV with a header or JSON lines: relative to the "
           "program's folder; * and ? stand for other letters.")
          .Fixed(),
      Text("metrics.tensorboard", kEmpty,
           "Folder below which the program writes TensorBoard's event files: relative to the "
           "program's folder.")
          .Fixed(),
      Integer("steps", 0, kCountMax, "0",
              "The last step that a complete trial reports; progress is shown as a share of it. 0: "
              "unknown."),
  };
}

std::vector<Field> RunFields() {
  return {
      Integer("seed", 0, kCountMax, Depends("chosen at submit and recorded"),
              "Seed of weights, order of samples and dropout."),
      Integer("resources.gpus", 1, limits::kWorldSizeMax, "1",
              "Slots of each trial: GPUs, or CPU slots; one rank runs on each."),
      Integer("resources.min_gpus", 0, limits::kWorldSizeMax, "0",
              "Fewest slots with which a trial begins or goes on if there are no more; 0: gpus.")
          .Fixed()
          .Placing(),
      Integer("resources.max_gpus", 0, limits::kWorldSizeMax, "0",
              "Most slots to which a trial grows if they are idle; 0: gpus.")
          .Fixed()
          .Placing(),
      Choice("resources.device", {"auto", "cuda", "cpu"}, "auto",
             "Kind of slot; auto is decided at submit: cuda if a worker has offered it, otherwise "
             "cpu.")
          .Fixed(),
      Row("resources.env", kLabels, kEmpty,
          "Environment variables of the trainers, such as NCCL_DEBUG.")
          .Fixed(),
      Flag("resources.single_node", "false", "All slots of a trial are on one host.").Placing(),
      Text("resources.accelerator", kEmpty,
           "Part of the device's name that `dtctl get workers` shows, such as H100; case is "
           "ignored. Trials run only on such devices.")
          .Placing(),
      Row("resources.labels", kLabels, kEmpty,
          "Labels that each worker of a trial must have, as `dtworker --label` gives them.")
          .Fixed()
          .Placing(),
      Integer("resources.priority", -1000, 1000, "0",
              "Trials of a larger priority go first, and may ask trials of a lower one to save and "
              "make room.")
          .Fixed()
          .Placing(),
      Integer("resources.max_gpus_total", 0, limits::kWorldSizeMax, "0",
              "Slots that the experiment's trials hold at once; 0: no limit.")
          .Fixed()
          .Placing(),
      Text("data.train", kMustSay,
           "Glob of training token shards, relative to the worker's --data-root.")
          .Glob(),
      Text("data.val", kMustSay,
           "Glob of validation token shards, relative to the worker's --data-root.")
          .Glob(),
      Choice("data.format", {"auto", "llmc", "npy", "megatron", "raw_u16"}, "auto",
             "Format of the shards; auto recognises llm.c's, .npy and Megatron's by their headers, "
             "but not bare 16-bit ids."),
      Flag("data.shuffle", "false",
           "Take samples in a random order, given by the seed, instead of in sequence."),
      Choice("data.tokenizer", {"auto", "gpt2", "byte"}, "auto",
             "Tokenizer that made the shards; auto: the one that `dtctl data tokenize` recorded "
             "beside them, gpt2 without a record. byte has ids 0–255 for bytes and 256 for end of "
             "text."),
  };
}

std::vector<Field> ModelFields() {
  return {
      Choice("model.preset", {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "tiny_transformer"},
             "gpt2", "Shape to start from; each other field of model changes one part of it."),
      Integer("model.n_layer", 1, 1000, Depends("of the preset"), "Layers."),
      Integer("model.n_head", 1, 1024, Depends("of the preset"),
              "Attention heads; they divide n_embd."),
      Integer("model.n_embd", 1, kSizeMax, Depends("of the preset"), "Width of the model."),
      Integer("model.n_ff", 1, kSizeMax, Depends("4 × n_embd; tiny_transformer: 2048"),
              "Width of the feed-forward layers."),
      Integer("model.n_positions", 1, 1 << 24, Depends("of the preset"),
              "Number of learned positions: the longest sequence, in tokens."),
      Integer(
          "model.vocab_size", 0, kSizeMax,
          Depends(
              "of the tokenizer: gpt2 50257, byte 257, auto 0; tiny_transformer with auto: 50257"),
          "Token ids are from 0 to vocab_size - 1; 0: as many as the tokenizer that made the "
          "shards has."),
      Integer("model.vocab_pad", 0, 2 * kSizeMax,
              Depends("vocab_size up to a multiple of 64; tiny_transformer: vocab_size"),
              "Rows of the embedding; those beyond vocab_size have no part in the loss. 0: as many "
              "as vocab_size, up to a multiple of 64."),
      Flag("model.tie_head", Depends("true; tiny_transformer: false"),
           "Share one matrix between token embedding and output head."),
      Flag("model.head_bias", Depends("false; tiny_transformer: true"),
           "Give the output head a bias."),
      Flag("model.bias", Depends("true"), "Give linear layers and layer norms a bias."),
      Choice("model.norm", {"pre", "post"}, Depends("pre; tiny_transformer: post"),
             "Layer norm before each sub-layer, with a final one, or after it."),
      Choice("model.activation", {"gelu_tanh", "gelu", "relu"},
             Depends("gelu_tanh; tiny_transformer: relu"),
             "Non-linearity of the feed-forward layers."),
      Choice("model.positions", {"learned", "sinusoidal"},
             Depends("learned; tiny_transformer: sinusoidal"), "Encoding of positions."),
      Number("model.dropout", 0, 0.99, Depends("0; tiny_transformer: 0.1"),
             "Share of activations dropped in training.")
          .WithinRun(),
      Text("model.init_from", kEmpty,
           "Folder with the weights to begin with, a GPT-2 in Hugging Face's files "
           "(model.safetensors, config.json), relative to the worker's --data-root.")
          .Glob(),
      Choice("model.activation_checkpointing", {"none", "block"}, "none",
             "block: keep only the input of each layer and compute the rest again in the backward "
             "pass; less memory, a third more arithmetic."),
  };
}

std::vector<Field> TrainFields() {
  return {
      Integer("train.batch_size", 1, kSizeMax, "8",
              "Sequences per micro-step of a rank, or of the ranks that share its layers."),
      Integer("train.seq_len", 1, 1 << 24, "1024", "Length of a sequence, in tokens."),
      Integer(
          "train.global_batch_size", 0, 1ull << 32,
          Depends("global_batch_tokens ÷ seq_len where that is set, else batch_size × data ranks "
                  "× parallel.microbatches"),
          "Sequences per optimizer step over all ranks; a multiple of batch_size × data ranks, "
          "which are gpus ÷ (parallel.tensor × parallel.pipeline), reached by accumulation."),
      Integer("train.global_batch_tokens", 0, 1ull << 32, "0",
              "The same in tokens, a multiple of seq_len × batch_size × data ranks; 0: use "
              "global_batch_size."),
      Integer("train.max_steps", 0, kCountMax, "0",
              "Optimizer steps to make; 0: not limited in steps."),
      Integer("train.max_tokens", 0, kCountMax, "0",
              "Tokens to train on, over all ranks; 0: not limited in tokens."),
      Number("train.epochs", 0, 1e9, Depends("1 unless max_steps or max_tokens is set"),
             "Passes over the training data."),
      Duration(
          "train.max_time", 0, kTrainingMax, "0s",
          "Training time of all attempts together, with validations and checkpoints, after which a "
          "trial has finished; 0s: no limit. The learning rate still follows the number of steps."),
      Number("train.grad_clip", 0, 1e9, "1", "Largest global norm of the gradient; 0: no clipping.")
          .WithinRun(),
      Integer("train.hash_every", 0, kCountMax, "0",
              "Steps between comparisons of the ranks' parameters, bit for bit; 0: none. They are "
              "also compared before a checkpoint; one due by time waits for that."),
  };
}

std::vector<Field> OptimizerFields() {
  return {
      Choice("optimizer.type", {"adamw"}, "adamw", "Optimizer.").Later({"sgd", "lion"}),
      Number("optimizer.lr", 0, 1000, "0.0006", "Highest learning rate of the schedule.")
          .AboveMin()
          .WithinRun(),
      Numbers("optimizer.betas", 2, 0, 1, "[0.9, 0.95]", "Decay of the two moments of AdamW.")
          .BelowMax()
          .WithinRun(),
      Number("optimizer.eps", 0, 1, "1.0e-8", "Added to the root of AdamW's second moment.")
          .AboveMin()
          .WithinRun(),
      Number("optimizer.weight_decay", 0, 1000, "0.1", "Decoupled weight decay.").WithinRun(),
      Integer("optimizer.decay_ndim_min", 0, 8, "2",
              "Tensors with at least this many dimensions are decayed."),
      Choice("optimizer.scale_lr", {"none", "linear", "sqrt"}, "none",
             "Scale lr by global batch ÷ scale_lr_from, or by its square root."),
      Integer("optimizer.scale_lr_from", 0, 4294967296.0, "0",
              "Global batch, in sequences, for which optimizer.lr is meant."),
      Choice("schedule.type", {"cosine", "linear", "constant", "wsd"}, "cosine",
             "Learning rate after the warm-up; wsd: constant, then a linear decay at the end."),
      Integer("schedule.warmup_steps", -1, kCountMax, "-1",
              "Steps of linear warm-up; -1: from warmup_ratio."),
      Number("schedule.warmup_ratio", 0, 1, "0.02",
             "Warm-up as a share of all steps, when warmup_steps is not set."),
      Number("schedule.min_lr_ratio", 0, 1, "0.1", "Last learning rate as a share of optimizer.lr.")
          .WithinRun(),
      Number("schedule.decay_ratio", 0, 1, "0.2", "Share of all steps in which wsd decays."),
  };
}

std::vector<Field> ExecutionFields() {
  return {
      Choice("precision.compute", {"auto", "bf16", "fp16", "fp32", "tf32"}, "auto",
             "Arithmetic of forward and backward; auto: bf16 on cuda, fp32 on cpu; fp16 scales the "
             "loss by itself."),
      Choice("precision.reduce", {"fp32", "bf16", "fp16"}, "fp32",
             "Format of gradients while they travel between ranks; they are summed in fp32 on "
             "CPUs, and by NCCL on GPUs."),
      Choice(
          "parallel.strategy", {"ddp", "zero1", "zero2", "zero3", "hsdp", "local_sgd", "gossip"},
          "ddp",
          "How ranks share the work. ddp: a full copy of the model and of its optimizer on each; "
          "zero1: each rank updates only its share, and holds the optimizer's state of that share; "
          "zero2: gradients too; zero3: parameters too, gathered where they are used; hsdp: as "
          "zero3, in several copies; local_sgd: each trains a full copy by itself, and they take "
          "their mean every parallel.sync_every steps; gossip: and of pairs after each.")
          .Means("fsdp", "zero3"),
      Integer("parallel.shard", 0, 1024, "0",
              "For hsdp: ranks that share one copy of the state, such as the GPUs of a host."),
      Integer("parallel.sync_every", 1, kCountMax, "16",
              "For local_sgd and gossip: steps between two averages over all ranks."),
      Number("parallel.outer_lr", 0.001, 10, "1",
             "For local_sgd: the learning rate of the outer optimizer (DiLoCo), whose gradient is "
             "the difference between the last average and this one. 1, without momentum: the "
             "average itself."),
      Number("parallel.outer_momentum", 0, 0.999, "0",
             "For local_sgd: the outer optimizer's momentum, Nesterov's."),
      Number("parallel.bucket_mb", 0.001, 4096, "25",
             "Size of a gradient bucket, in MiB, or of what local_sgd and gossip average at once."),
      Choice("parallel.compression", {"none", "auto", "powersgd", "topk"}, "none",
             "For ddp: send less than the gradients. auto: in bf16, if after 20 steps ranks wait "
             "for them for more than a tenth of a step; the others send an approximation and add "
             "the rest to the gradients of the next step. powersgd: matrices as products of two "
             "narrow ones; topk: their largest elements."),
      Integer("parallel.rank", 1, 64, "4", "For powersgd: columns of the narrow matrices."),
      Number("parallel.share", 0, 1, "0.01", "For topk: share of each matrix that is sent.")
          .AboveMin(),
      Integer("parallel.tensor", 1, 1024, "1",
              "Ranks that compute each layer together, each a part of it: such as the GPUs of a "
              "host. They train on the same sequences; the data ranks "
              "share the batch."),
      Flag("parallel.sequence", "true",
           "With parallel.tensor: between layers each rank has only its part of a sequence's "
           "tokens, which saves memory and work at the same bytes sent."),
      Integer("parallel.pipeline", 1, 1024, "1",
              "Stages of a pipeline: each has some of the model's layers, and passes micro-batches "
              "on to the next. Ranks are stages × data ranks × parallel.tensor."),
      Choice("parallel.schedule", {"1f1b", "gpipe", "interleaved"}, "1f1b",
             "With parallel.pipeline: order in which a stage computes. 1f1b: a backward pass as "
             "soon as possible; gpipe: all forward passes first, which keeps all of their "
             "activations; interleaved: as 1f1b, with several smaller pieces of the model on each "
             "stage, which waits less and sends more."),
      Integer("parallel.interleave", 2, 64, "2",
              "For interleaved: pieces of the model that each stage has."),
      Integer("parallel.microbatches", 0, kCount32Max, "0",
              "Micro-batches of a step and data rank: another way to set train.global_batch_size; "
              "0: use that."),
      Choice("parallel.balance", {"none", "auto"}, "none",
             "For ddp and zero1. auto: slower ranks compute fewer micro-batches of a step, by the "
             "measured time of one; the training stays the same."),
  };
}

std::vector<Field> EvaluationFields() {
  return {
      Integer("eval.every", 0, kCountMax, "250",
              "Steps between validations; the last step always has one; 0: no others."),
      Integer("eval.batches", 0, 1e9, "0",
              "Micro-batches in a validation, instead of eval.tokens; their tokens depend on "
              "train.batch_size and train.seq_len. 0: use eval.tokens."),
      Integer("eval.tokens", 0, kCountMax, "262144",
              "Tokens that a validation predicts: the first ones of the validation shards, or all "
              "if there are fewer; the same for every batch, length of sequences and number of "
              "slots. 0: use eval.batches."),
      Text("eval.hellaswag", kEmpty,
           "File of HellaSwag, llm.c's packed one or the original JSON lines, relative to the "
           "worker's --data-root. Each validation measures its accuracy.")
          .Glob(),
      Integer("eval.samples", 0, static_cast<double>(limits::kSamples), "0",
              "Texts that the model writes at each validation, for its logs and the report."),
      Text("eval.sample_prompt", kEmpty, "Beginning of these texts; empty: as documents begin."),
      Integer("eval.sample_tokens", 1, 1024, "64",
              "Longest such text, in tokens; it ends sooner at end-of-text."),
      Number("eval.sample_temperature", 0, 100, "1",
             "How freely tokens are drawn: logits are divided by it; 0: always the likeliest."),
      Integer("eval.sample_top_k", 0, kSizeMax, "50",
              "Tokens are drawn from this many of the likeliest; 0: from all."),
      Text("eval.vocab", "vocab.bpe",
           "GPT-2's vocab.bpe, relative to the worker's --data-root. With data.tokenizer gpt2 it "
           "turns texts into tokens and back.")
          .Glob(),
  };
}

std::vector<Field> ConductFields() {
  return {
      Row("checkpoint.every", kEvery, "60s",
          "Time (60s) or steps (500) between checkpoints; the last step always has one; 0: only "
          "those of keep_best. Not given: the first after 10s, and after lost attempts at an "
          "interval that follows the time between losses and the cost of saving.")
          .Range(kEveryMin, kEveryMax),
      Integer("checkpoint.keep_latest", 1, 1000, "1",
              "How many of a trial's newest checkpoints are kept."),
      Integer("checkpoint.keep_best", 0, 1000, "1",
              "How many of a trial's checkpoints with the best search.metric are kept."),
      Text("checkpoint.folder", kEmpty,
           "Folder or file into which a program saves its own checkpoints: relative to the "
           "program's folder; * and ? stand for other letters. dtrain keeps each save, and puts "
           "the files back before the program resumes.")
          .Fixed(),
      Choice("stop.nonfinite", {"fail", "skip", "rollback"}, "fail",
             "Action after a gradient that is NaN or infinite: the trial fails, the step is left "
             "out, or training goes back to the attempt's newest checkpoint and continues with the "
             "next step."),
      Integer("stop.patience", 0, 1e6, "0",
              "Validations in a row without a better search.metric after which a trial ends; 0: "
              "off."),
      Number("stop.max_loss", 0, 1e9, "0",
             "A trial ends when a validation loss is above this, or is NaN; 0: off."),
      Integer("stop.median.after", 0, 1e6, "0",
              "Validations after which a trial ends if its best is worse than the median of the "
              "other trials' running means at that step (Vizier's rule); 0: off."),
      Integer("retries.max", 0, 1000, "5",
              "Attempts after the first, without progress between them; lost workers and crashed "
              "trainers are counted separately.")
          .Fixed(),
      Duration("retries.backoff", 0, absl::ToDoubleSeconds(limits::kRetryBackoffMax), "10s",
               "Wait before the next attempt; doubles with each.")
          .Fixed(),
      Text("timeout.report", Depends("`auto`"),
           "Longest time between two reports of a program, such as 5m; it hangs where there is "
           "none for longer, and is tried again. auto: after ten reports 20 times its longest "
           "pause, at least 2m, while it prints nothing either; never: no limit.")
          .Fixed(),
      Duration("timeout.start", 0, kTrainingMax, "0s",
               "Longest time from a program's start to its first report; 0: no limit.")
          .Fixed(),
      Duration("timeout.total", 0, kTrainingMax, "0s",
               "Longest time that a program runs, all attempts of its trial together. Then it is "
               "asked to save and to end, and the trial has finished; 0: no limit.")
          .Fixed(),
      Duration("timeout.stop", 1, absl::ToDoubleSeconds(limits::kStopGraceMost), "2m",
               "Time that a program has to save once it is asked to stop.")
          .Fixed(),
      Integer("logging.every", 1, kCountMax, "1", "Steps between recorded rows of metrics."),
      Flag("logging.tensorboard", "true",
           "Also write each trial's metrics as TensorBoard events, into its folder in the storage.")
          .Fixed(),
      Flag("logging.jsonl", "true", "The same as JSON lines, into `metrics.jsonl`.").Fixed(),
  };
}

// Marks fields that only dtrain's own trainer reads, since a program has its own way to set such
// values, and those that only programs have.
Use UseOf(const std::string& path) {
  if (path.starts_with("timeout.") || path == "checkpoint.folder") return Use::kProgram;
  for (const char* section : {"data.", "model.", "train.", "optimizer.", "schedule.", "precision.",
                              "parallel.", "eval.", "logging."}) {
    if (path.starts_with(section)) return Use::kTrainer;
  }
  const bool own = path == "checkpoint.every" || path == "stop.nonfinite";
  return own ? Use::kTrainer : Use::kAll;
}

}  // namespace

std::vector<Field> internal::MakeFieldTable() {
  std::vector<Field> table = ProgramFields();
  for (Field& field : table) field.use = Use::kProgram;
  for (const auto& fields : {RunFields(), ModelFields(), TrainFields(), OptimizerFields(),
                             ExecutionFields(), EvaluationFields(), ConductFields()}) {
    for (const Field& field : fields) table.emplace_back(field).use = UseOf(field.path);
  }
  return table;
}

}  // namespace dt::spec
