// tokenizer_bench.cc: the speed of GPT-2's encoder on one thread, compared with tiktoken.
//
// Catalogue (each prints a row: MB of 10^6 bytes a second of the thread's processor time, which
// other load on the machine leaves alone; the median of --runs (5)):
//   text      WikiText-2's training text from ../shared/data, or --text FILE, or else this
//             repository's sources                                                        60 MB/s
//   tiktoken  the same text in the same run, where python3 can import it; other tokens end the
//             program with an error
//   hostile   one line without a space: of one character again and again, of few bytes that tokens
//             of many lengths begin with, of random ones; 1 MB and --hostile-mb (100), to see that
//             the rate does not fall with the size
//
// --vocab FILE names GPT-2's vocab.bpe where ../shared/data has none; without either, a smaller
// vocabulary is trained on the text first, and the first line says so: its rates compare with
// tiktoken's of the same run, not with those of GPT-2's.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/tokenizer/train_vocabulary.h"
#include "common/files.h"
#include "corpus/bpe.h"
#include "tests/testing/shared_data.h"

namespace dt::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kMega = 1e6;
// The size of a vocabulary that is trained if GPT-2's is absent: takes a second, and common words
// become tokens.
constexpr int kTrainedMerges = 8000;
constexpr size_t kTrainedBytes = 2'000'000;

struct Flags {
  std::string vocabulary;
  std::string text;
  int runs = 5;
  int hostile_mb = 100;
};

struct Text {
  std::string name;
  std::string path;
  std::string bytes;
};

std::string ReadAll(const std::string& path) {
  return ReadFile(path, std::numeric_limits<uint64_t>::max()).value_or("");
}

// Returns the sources of this repository in sorted order, as one file that tiktoken can read too.
Text Sources() {
  const fs::path root = DTRAIN_SOURCE_DIR;
  std::vector<std::string> paths;
  for (const char* folder : {"cli", "common", "coordinator", "corpus", "docs", "tests", "worker"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  Text text{.name = "this repository's sources"};
  for (const std::string& path : paths) text.bytes += ReadAll(path);
  text.path = (fs::temp_directory_path() / "tokenizer_bench_sources.txt").string();
  std::ofstream(text.path, std::ios::binary) << text.bytes;
  return text;
}

Text Chosen(const Flags& flags) {
  if (!flags.text.empty()) return {flags.text, flags.text, ReadAll(flags.text)};
  if (const auto path = testing::SharedData("wikitext-2/train.txt")) {
    return {"WikiText-2, train", *path, ReadAll(*path)};
  }
  return Sources();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double ThreadSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Rate {
  size_t tokens = 0;
  double mb_per_second = 0;
};

Rate Measure(const corpus::BpeVocabulary& vocabulary, std::string_view text, int runs) {
  std::vector<double> seconds;
  std::vector<uint16_t> ids;
  for (int run = 0; run < runs; ++run) {
    corpus::BpeEncoder encoder(vocabulary);  // starts with an empty cache of words
    ids.clear();
    const double start = ThreadSeconds();
    encoder.Append(text, ids);
    seconds.push_back(ThreadSeconds() - start);
  }
  return {ids.size(), static_cast<double>(text.size()) / kMega / Median(seconds)};
}

void Row(const std::string& name, size_t bytes, const Rate& rate) {
  std::printf("%-34s %8.2f %12zu %9.1f\n", name.c_str(), static_cast<double>(bytes) / kMega,
              rate.tokens, rate.mb_per_second);
  std::fflush(stdout);
}

// Quotes a text for the shell.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Returns false if tiktoken makes other tokens.
bool CompareTiktoken(const Flags& flags, const Text& text, const Rate& ours) {
  const std::string command = "python3 " DTRAIN_SOURCE_DIR "/bench/tokenizer/tiktoken_rate.py " +
                              Quoted(flags.vocabulary) + " " + Quoted(text.path) + " " +
                              std::to_string(flags.runs) + " 2>/dev/null";
  FILE* python = ::popen(command.c_str(), "r");
  char version[32] = "";
  size_t tokens = 0;
  double seconds = 0;
  const bool read =
      python != nullptr && std::fscanf(python, "%31s %zu %lf", version, &tokens, &seconds) == 3;
  if (python != nullptr) ::pclose(python);
  if (!read) {
    std::printf("tiktoken: python3 cannot import it or cannot read the text; not compared\n");
    return true;
  }
  const Rate theirs{tokens, static_cast<double>(text.bytes.size()) / kMega / seconds};
  Row(std::string("  tiktoken ") + version, text.bytes.size(), theirs);
  if (tokens == ours.tokens) return true;
  std::fprintf(stderr, "tiktoken made %zu tokens, we %zu\n", tokens, ours.tokens);
  return false;
}

std::string Repeated(std::string_view part, size_t bytes) {
  std::string text;
  text.reserve(bytes + part.size());
  while (text.size() < bytes) text += part;
  return text;
}

// Returns bytes drawn from `bytes`, the same ones each time.
std::string Random(std::string_view bytes, size_t size) {
  std::mt19937 random(1);
  std::string text(size, ' ');
  for (char& c : text) c = bytes[random() % bytes.size()];
  return text;
}

using LineOf = std::function<std::string(size_t)>;

std::vector<std::pair<std::string, LineOf>> HostileLines() {
  std::vector<std::pair<std::string, LineOf>> lines;
  const std::pair<const char*, const char*> repeated[] = {
      {"one letter", "a"},
      {"spaces", " "},
      {"digits", "0123456789"},
      {"a pair that merges", "in"},
      {"-", "-"},
      {"=", "="},
      {"*", "*"},
      {"the bytes C3 83 C3 82", "\xC3\x83\xC3\x82"},
      {"the byte FF", "\xFF"}};
  for (const auto& [name, part] : repeated) {
    lines.emplace_back(name,
                       [part = std::string(part)](size_t size) { return Repeated(part, size); });
  }
  const std::pair<const char*, const char*> random[] = {
      {"random - and =", "-="},
      {"random C3 83 82", "\xC3\x83\x82"},
      {"random a and b", "ab"},
      {"random letters", "abcdefghijklmnopqrstuvwxyz"},
      {"random digits", "0123456789"}};
  for (const auto& [name, bytes] : random) {
    lines.emplace_back(name,
                       [bytes = std::string(bytes)](size_t size) { return Random(bytes, size); });
  }
  return lines;
}

// Sets a vocabulary in `flags`: GPT-2's, or one trained on `text`.
void ChooseVocabulary(const Text& text, Flags& flags) {
  if (!flags.vocabulary.empty()) return;
  if (const auto path = testing::SharedData("gpt2/vocab.bpe")) {
    flags.vocabulary = *path;
    return;
  }
  flags.vocabulary = (fs::temp_directory_path() / "tokenizer_bench_vocab.bpe").string();
  std::printf(
      "no ../shared/data/gpt2/vocab.bpe: %d merges are trained on the text; --vocab FILE "
      "takes GPT-2's\n",
      kTrainedMerges);
  std::ofstream(flags.vocabulary, std::ios::binary)
      << TrainVocabulary(std::string_view(text.bytes).substr(0, kTrainedBytes), kTrainedMerges);
}

int Run(Flags flags) {
  const Text text = Chosen(flags);
  if (text.bytes.empty()) {
    std::fprintf(stderr, "'%s' is absent or empty\n", text.path.c_str());
    return 1;
  }
  ChooseVocabulary(text, flags);
  const absl::StatusOr<corpus::BpeVocabulary> vocabulary =
      corpus::BpeVocabulary::Open(flags.vocabulary);
  if (!vocabulary.ok()) {
    std::fprintf(stderr, "%s\n", std::string(vocabulary.status().message()).c_str());
    return 1;
  }
  std::printf("%-34s %8s %12s %9s\n", "text, one thread", "MB", "tokens", "MB/s");
  const Rate ours = Measure(*vocabulary, text.bytes, flags.runs);
  Row(text.name, text.bytes.size(), ours);
  const bool same = CompareTiktoken(flags, text, ours);
  for (const auto& [name, line_of] : HostileLines()) {
    for (const int mb : {1, flags.hostile_mb}) {
      const std::string line = line_of(static_cast<size_t>(mb) * 1000 * 1000);
      Row("a line of " + name, line.size(), Measure(*vocabulary, line, flags.runs));
    }
  }
  return same ? 0 : 1;
}

}  // namespace
}  // namespace dt::bench

int main(int argc, char** argv) {
  CLI::App app("GPT-2's encoder: MB/s on one thread");
  dt::bench::Flags flags;
  app.add_option("--vocab", flags.vocabulary,
                 "GPT-2's vocab.bpe (else ../shared/data's, else one that is trained on the text)");
  app.add_option("--text", flags.text, "UTF-8 text to encode");
  app.add_option("--runs", flags.runs)->check(CLI::Range(1, 100));
  app.add_option("--hostile-mb", flags.hostile_mb)->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  return dt::bench::Run(flags);
}
