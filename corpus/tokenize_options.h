// tokenize_options.h: the options of one tokenize run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "corpus/shard.h"
#include "corpus/text_encoder.h"

namespace dt::corpus {

// The source of validation tokens.
enum class Validation {
  kFraction,    // complete documents, evenly spread; the end of the largest if those are too coarse
  kFirstShard,  // the first `shard_tokens` of the stream, as in llm.c's scripts
  kFiles,       // the documents of `validation_inputs`
};
// How to treat an output folder that already has shards.
enum class Existing { kRefuse, kReplace };

struct TokenizeOptions {
  std::vector<std::string> inputs;             // files and folders; folders are walked in order
  std::vector<std::string> validation_inputs;  // for Validation::kFiles
  std::string output;
  uint64_t shard_tokens = 100'000'000;
  ShardFormat format = ShardFormat::kLlmc;  // or kNpy
  Validation validation = Validation::kFraction;
  double validation_fraction = 0.05;  // of the text's bytes; 0: no validation shard
  Existing existing = Existing::kRefuse;
  Tokenizer tokenizer = Tokenizer::kByte;
  std::string vocabulary;           // for kGpt2: the path of vocab.bpe
  std::string text_field = "text";  // for JSON lines
  int threads = 1;
};

}  // namespace dt::corpus
