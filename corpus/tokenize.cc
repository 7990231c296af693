// tokenize.cc: see tokenize.h. Reads documents by the MiB, has a wave of pieces encoded, cuts the
// stream of ids into shards.
#include "corpus/tokenize.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <system_error>
#include <utility>

#include "common/files.h"
#include "corpus/documents.h"
#include "corpus/shard.h"

namespace dt::corpus {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = 1 << 20;
// Encoded at once, for each thread: enough that none waits long for the last one.
constexpr size_t kWavePieces = 4;
constexpr int kThreadsMax = 1024;
// Two shards' worth of a tiny run still fits; below this a run would make files by the thousand.
constexpr uint64_t kShardTokensMin = 1024;

// A stream of ids cut into numbered shards: FOLDER/train_000000.bin …
class Split {
 public:
  Split(std::string folder, std::string name, uint64_t shard_tokens)
      : folder_(std::move(folder)), name_(std::move(name)), shard_tokens_(shard_tokens) {}

  Result<void> Append(std::span<const uint16_t> ids) {
    while (!ids.empty()) {
      if (!writer_) DT_TRY(Begin());
      const size_t taken = std::min<uint64_t>(ids.size(), shard_tokens_ - writer_->tokens());
      DT_TRY(writer_->Append(ids.first(taken)));
      tokens_ += taken;
      ids = ids.subspan(taken);
      if (writer_->tokens() == shard_tokens_) DT_TRY(Finish());
    }
    return {};
  }
  Result<void> Finish() {
    if (!writer_) return {};
    DT_TRY(writer_->Finish());
    writer_.reset();
    return {};
  }
  uint64_t tokens() const { return tokens_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  Result<void> Begin() {
    char number[16];
    std::snprintf(number, sizeof number, "_%06zu.bin", names_.size());
    names_.push_back(name_ + number);
    DT_TRY_ASSIGN(writer_, ShardWriter::Create(folder_ + "/" + names_.back()));
    return {};
  }

  const std::string folder_;
  const std::string name_;
  const uint64_t shard_tokens_;
  std::optional<ShardWriter> writer_;
  uint64_t tokens_ = 0;
  std::vector<std::string> names_;
};

// Names in `folder` that a data pattern would take for ours.
std::vector<std::string> ShardsIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code code;
  fs::directory_iterator entry(folder, code);
  for (const fs::directory_iterator end; !code && entry != end; entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(".bin") && (name.starts_with("train_") || name.starts_with("val_"))) {
      names.push_back(name);
    }
  }
  return names;
}

// The folder OUTPUT/.tokenize, locked against a second run.
struct Workshop {
  UniqueFd lock;
  std::string folder;
};

Result<Workshop> OpenWorkshop(const TokenizeOptions& options) {
  DT_TRY(MakeFolders(options.output));
  if (options.existing == Existing::kRefuse && !ShardsIn(options.output).empty()) {
    return Error{ErrorKind::kConfig, "'" + options.output +
                                         "' already has token shards; choose another folder or "
                                         "replace them with --overwrite"};
  }
  Workshop workshop;
  workshop.lock = UniqueFd(::open(options.output.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!workshop.lock.valid()) return SystemError("open folder", options.output);
  if (::flock(workshop.lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorKind::kConfig,
                 "another run is writing to '" + options.output + "'; wait for it"};
  }
  workshop.folder = options.output + "/.tokenize";
  DT_TRY(RemoveAll(workshop.folder));  // of a run that was killed
  DT_TRY(MakeFolders(workshop.folder));
  return workshop;
}

// Reads documents and deals their ids to the two splits.
class Run {
 public:
  Run(const TokenizeOptions& options, const std::string& folder, TextEncoder encoder,
      const std::function<Go(const TokenizeProgress&)>& progress)
      : options_(options),
        progress_(progress),
        encoder_(std::move(encoder)),
        train_(folder, "train", options.shard_tokens),
        val_(folder, "val", options.shard_tokens) {}

  Result<void> All(std::initializer_list<const DocumentList*> lists) {
    for (const DocumentList* list : lists) {
      state_.documents += list->documents.size();
      for (const Document& document : list->documents) state_.bytes += document.bytes;
    }
    for (const DocumentList* list : lists) {
      for (const Document& document : list->documents) {
        DT_TRY_ASSIGN(const InputFile file, InputFile::Open(document.path));
        // A document cut in two starts anew in its second half.
        DT_TRY(Add(file, {0, document.train_bytes}, true));
        DT_TRY(Add(file, {document.train_bytes, document.bytes}, false));
        if (!wave_.empty()) wave_.back().ends = true;
      }
    }
    DT_TRY(FlushWave());
    DT_TRY(train_.Finish());
    DT_TRY(val_.Finish());
    if (train_.tokens() > 0) return {};
    return Error{ErrorKind::kConfig, "validation took all " + std::to_string(val_.tokens()) +
                                         " tokens; use less for it"};
  }

  int vocabulary() const { return encoder_.vocabulary(); }
  const TokenizeProgress& state() const { return state_; }
  const Split& train() const { return train_; }
  const Split& val() const { return val_; }

 private:
  // A part of a document, by pieces that end where encoding allows.
  Result<void> Add(const InputFile& file, std::pair<uint64_t, uint64_t> part, bool training) {
    std::string text;
    bool starts = true;
    for (uint64_t offset = part.first; offset < part.second;) {
      const size_t known = text.size();
      text.resize(known + std::min<uint64_t>(kPieceBytes, part.second - offset));
      DT_TRY(file.ReadAt(offset, text.data() + known, text.size() - known));
      offset += text.size() - known;
      const size_t cut = offset == part.second ? text.size() : encoder_.Cut(text, known);
      if (cut == 0) continue;
      std::string rest = text.substr(cut);
      text.resize(cut);
      // Full before it grows, so that the last piece of a document is never flushed without it.
      if (wave_.size() >= kWavePieces * static_cast<size_t>(encoder_.threads())) {
        DT_TRY(FlushWave());
      }
      wave_.push_back({.text = std::move(text), .starts = starts, .training = training});
      text = std::move(rest);
      starts = false;
    }
    return {};
  }

  Result<void> FlushWave() {
    encoder_.Encode(wave_);
    for (const TextEncoder::Piece& piece : wave_) {
      DT_TRY(Deal(piece));
      state_.bytes_done += piece.text.size();
      if (piece.ends) ++state_.documents_done;
    }
    wave_.clear();
    if (progress_ && progress_(state_) == Go::kStop) {
      return Error{ErrorKind::kCancelled, "stopped before the end; no shard was written"};
    }
    return {};
  }

  Result<void> Deal(const TextEncoder::Piece& piece) {
    const std::span<const uint16_t> ids = piece.ids;
    if (options_.validation == Validation::kFirstShard) {
      const uint64_t left = options_.shard_tokens - std::min(options_.shard_tokens, val_.tokens());
      const size_t first = std::min<uint64_t>(left, ids.size());
      DT_TRY(val_.Append(ids.first(first)));
      return train_.Append(ids.subspan(first));
    }
    return (piece.training ? train_ : val_).Append(ids);
  }

  const TokenizeOptions& options_;
  const std::function<Go(const TokenizeProgress&)>& progress_;
  TextEncoder encoder_;
  Split train_;
  Split val_;
  TokenizeProgress state_;
  std::vector<TextEncoder::Piece> wave_;
};

Result<void> CheckOptions(const TokenizeOptions& options) {
  if (options.inputs.empty()) return Error{ErrorKind::kConfig, "name the files to tokenise"};
  if (options.tokenizer == Tokenizer::kGpt2 && options.vocabulary.empty()) {
    return Error{ErrorKind::kConfig,
                 "the gpt2 tokenizer needs GPT-2's vocab.bpe: give --vocab FILE"};
  }
  if (options.tokenizer != Tokenizer::kGpt2 && !options.vocabulary.empty()) {
    return Error{ErrorKind::kConfig, "--vocab is of --tokenizer gpt2; the byte tokenizer has none"};
  }
  if (options.threads < 1 || options.threads > kThreadsMax) {
    return Error{ErrorKind::kConfig, std::to_string(options.threads) +
                                         " threads are not possible; use 1 to " +
                                         std::to_string(kThreadsMax)};
  }
  if (options.output.empty()) return Error{ErrorKind::kConfig, "name the output folder"};
  if (options.shard_tokens < kShardTokensMin || options.shard_tokens > kShardTokensMax) {
    return Error{ErrorKind::kConfig, "a shard of " + std::to_string(options.shard_tokens) +
                                         " tokens is not possible; use " +
                                         std::to_string(kShardTokensMin) + " to " +
                                         std::to_string(kShardTokensMax)};
  }
  if (!(options.validation_fraction >= 0 && options.validation_fraction < 1)) {
    return Error{ErrorKind::kConfig, "the validation fraction is " +
                                         std::to_string(options.validation_fraction) +
                                         "; it must be at least 0 and below 1"};
  }
  return {};
}

Result<std::pair<DocumentList, DocumentList>> Plan(const TokenizeOptions& options) {
  DT_TRY_ASSIGN(DocumentList documents, CollectDocuments(options.inputs));
  DocumentList validation;
  switch (options.validation) {
    case Validation::kFraction:
      AssignValidation(options.validation_fraction, documents.documents);
      break;
    case Validation::kFirstShard:
      break;
    case Validation::kFiles: {
      DT_TRY_ASSIGN(validation, CollectDocuments(options.validation_inputs));
      for (Document& document : validation.documents) document.train_bytes = 0;
      break;
    }
  }
  return std::make_pair(std::move(documents), std::move(validation));
}

// Old shards out, new ones in.
Result<void> Publish(const Workshop& workshop, const std::string& output,
                     const std::vector<std::string>& names) {
  for (const std::string& name : ShardsIn(output)) DT_TRY(RemoveAll(output + "/" + name));
  for (const std::string& name : names) {
    DT_TRY(Rename(workshop.folder + "/" + name, output + "/" + name));
  }
  DT_TRY(RemoveAll(workshop.folder));
  return SyncFolder(output);
}

std::vector<std::string> PathsOf(const std::string& folder, const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(folder + "/" + name);
  return paths;
}

}  // namespace

Result<TokenizeSummary> TokenizeFiles(const TokenizeOptions& options,
                                      const std::function<Go(const TokenizeProgress&)>& progress) {
  DT_TRY(CheckOptions(options));
  DT_TRY_ASSIGN(TextEncoder encoder,
                TextEncoder::Make(options.tokenizer, options.vocabulary, options.threads));
  DT_TRY_ASSIGN(const auto plan, Plan(options));
  DT_TRY_ASSIGN(const Workshop workshop, OpenWorkshop(options));
  Run run(options, workshop.folder, std::move(encoder), progress);
  const Result<void> ran = run.All({&plan.first, &plan.second});
  if (!ran.ok()) {
    DT_TRY(RemoveAll(workshop.folder));
    return ran.error();
  }
  std::vector<std::string> names = run.train().names();
  names.insert(names.end(), run.val().names().begin(), run.val().names().end());
  DT_TRY(Publish(workshop, options.output, names));
  TokenizeSummary summary;
  summary.documents = run.state().documents_done;
  summary.skipped = plan.first.skipped + plan.second.skipped;
  summary.bytes = run.state().bytes_done;
  summary.train_tokens = run.train().tokens();
  summary.val_tokens = run.val().tokens();
  summary.train_files = PathsOf(options.output, run.train().names());
  summary.val_files = PathsOf(options.output, run.val().names());
  summary.vocabulary = run.vocabulary();
  return summary;
}

}  // namespace dt::corpus
