// training_fields.cc: the rows of the field table for model, train, optimizer and schedule.
#include "spec/field_row.h"

namespace dt::spec::internal {

using enum FieldType;

void AddModelFields(std::vector<Field>& t) {
  t.push_back(Row("model.preset", kChoice)
                  .Choices({"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "tiny_transformer"})
                  .Default("gpt2")
                  .Help("Shape to start from; every other field of model changes one size of it."));
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
                  .Range(2, kSizeMax)
                  .Depends("50257; tokenizer byte: 257")
                  .Help("Token ids that may occur: 0 … vocab_size - 1."));
  t.push_back(
      Row("model.vocab_pad", kInteger)
          .Range(2, 2 * kSizeMax)
          .Depends("vocab_size up to a multiple of 64; tiny_transformer: vocab_size")
          .Help("Rows of the embedding; those beyond vocab_size have no part in the loss."));
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
                "are compared before checkpoints too, for which one that is due by time waits."));
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
                  .Help("Tensors of at least so many dimensions are decayed."));
  t.push_back(Row("optimizer.scale_lr", kChoice)
                  .Choices({"none", "linear", "sqrt"})
                  .Default("none")
                  .Help("Scales lr by the global batch over scale_lr_from, or by its root."));
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

}  // namespace dt::spec::internal
