// tokenize.cc: see tokenize.h. Encodes waves of pieces and distributes their ids to training and
// validation shards.
#include "corpus/tokenize.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "common/draw.h"
#include "common/file_lock.h"
#include "common/files.h"
#include "corpus/document_reader.h"
#include "corpus/documents.h"
#include "corpus/json_lines.h"
#include "corpus/publish.h"
#include "corpus/shard.h"
#include "corpus/split.h"
#include "corpus/tokenize_state.h"
#include "corpus/tokenizer_record.h"

namespace dt::corpus {
namespace {

// Bytes encoded at once for each thread: enough that no thread waits long for the last piece.
constexpr size_t kWaveBytes = 4 << 20;
constexpr int kThreadsMax = 1024;
// Two shards of a tiny run still fit; below this a run would make files by the thousand.
constexpr uint64_t kShardTokensMin = 1024;

// The folder OUTPUT/.tokenize, locked against a second run; it may hold files of a killed run.
struct WorkFolder {
  UniqueFd lock;
  std::string folder;
};

absl::StatusOr<WorkFolder> OpenWorkFolder(const TokenizeOptions& options) {
  const absl::Status made = MakeFolders(options.output);
  if (!made.ok()) {
    return ConfigError(
        absl::StrCat(made.message(), "; let --output name a folder, or one to be made"));
  }
  WorkFolder workshop;
  absl::StatusOr<UniqueFd> lock = LockFile(options.output);
  if (absl::IsFailedPrecondition(lock.status())) {
    return ConfigError("another run is writing to '" + options.output + "'; wait for it");
  }
  DT_ASSIGN_OR_RETURN(workshop.lock, std::move(lock));
  workshop.folder = WorkshopOf(options.output);
  return workshop;
}

// Reads documents and distributes their ids to the two splits.
class Run {
 public:
  Run(const TokenizeOptions& options, const std::string& folder, const std::string& key,
      const std::vector<Document>& documents, TextEncoder& encoder,
      const std::function<Go(const TokenizeProgress&)>& progress,
      std::optional<uint64_t> validation_line = std::nullopt)
      : options_(options),
        folder_(folder),
        key_(key),
        progress_(progress),
        documents_(documents),
        encoder_(encoder),
        validation_line_(validation_line),
        train_(folder, "train", options.shard_tokens, options.format),
        val_(folder, "val", options.shard_tokens, options.format) {}

  // Continues where an earlier run stopped. Errors: those of Split::Resume; this Run cannot be used
  // then.
  absl::Status Resume(const TokenizeState& state) {
    DT_RETURN_IF_ERROR(train_.Resume(state.train_tokens));
    DT_RETURN_IF_ERROR(val_.Resume(state.val_tokens));
    place_ = state.place;
    skipped_ = state.skipped;
    lines_ = state.lines;
    state_.documents_done = state.documents;
    state_.bytes_done = state.bytes;
    state_.bytes_resumed = state.bytes;
    saved_shards_ = train_.whole_shards() + val_.whole_shards();
    return absl::OkStatus();
  }

  absl::Status All() {
    bool counted = true;
    for (const Document& document : documents_) {
      state_.bytes += document.bytes;
      counted = counted && !IsJsonLines(document.path);
    }
    if (counted) state_.documents = documents_.size();
    const bool by_fraction = options_.validation == Validation::kFraction;
    DocumentReader reader(documents_, by_fraction ? options_.validation_fraction : 0, encoder_,
                          place_);
    for (;;) {
      DT_ASSIGN_OR_RETURN(std::optional<ReadPiece> read, reader.Next());
      if (!read) break;
      wave_bytes_ += read->piece.text.size();
      place_ = read->after;
      pieces_.push_back(std::move(read->piece));
      origins_.push_back({read->document, read->line, read->bytes});
      if (wave_bytes_ >= kWaveBytes * static_cast<size_t>(encoder_.threads()))
        DT_RETURN_IF_ERROR(FlushWave());
    }
    DT_RETURN_IF_ERROR(FlushWave());
    DT_RETURN_IF_ERROR(train_.Finish());
    DT_RETURN_IF_ERROR(val_.Finish());
    if (train_.tokens() > 0) return absl::OkStatus();
    return ConfigError("validation took all " + std::to_string(val_.tokens()) +
                       " tokens; use less for it");
  }

  // Returns true if a share was meant for validation but no document was drawn. Valid after All.
  bool LacksValidation() const {
    return options_.validation == Validation::kFraction && options_.validation_fraction > 0 &&
           val_.tokens() == 0;
  }
  uint64_t lines() const { return lines_; }  // JSON lines with text
  // Returns true if a later run could continue from here.
  bool saved() const { return saved_shards_ > 0; }
  const TokenizeProgress& state() const { return state_; }
  uint64_t skipped() const { return skipped_; }
  const Split& train() const { return train_; }
  const Split& val() const { return val_; }

 private:
  // The source of a piece.
  struct Origin {
    uint64_t document = 0;
    uint64_t line = 0;
    uint64_t bytes = 0;
  };

  absl::Status FlushWave() {
    encoder_.Encode(pieces_);
    for (size_t i = 0; i < pieces_.size(); ++i) {
      TextEncoder::Piece& piece = pieces_[i];
      if (!piece.error.ok()) {
        const Origin& origin = origins_[i];
        return Annotate(piece.error,
                        absl::StrCat(documents_[origin.document].path, ":", origin.line));
      }
      if (piece.form == TextEncoder::Form::kJsonLine && !piece.ids.empty()) {
        if (validation_line_) piece.training = lines_ != *validation_line_;
        ++lines_;
      }
      DT_RETURN_IF_ERROR(Deal(piece));
      state_.bytes_done += origins_[i].bytes;
      if (piece.ids.empty()) {
        ++skipped_;
      } else if (piece.ends) {
        ++state_.documents_done;
      }
    }
    pieces_.clear();
    origins_.clear();
    wave_bytes_ = 0;
    DT_RETURN_IF_ERROR(Save());
    if (progress_ && progress_(state_) == Go::kStop) {
      return CancelledError(
          saved() ? "stopped; the same command continues after the last complete shard"
                  : "stopped before the end; no shard was written");
    }
    return absl::OkStatus();
  }

  // Saves after a wave that completed a shard.
  absl::Status Save() {
    const uint64_t shards = train_.whole_shards() + val_.whole_shards();
    if (shards == saved_shards_) return absl::OkStatus();
    DT_RETURN_IF_ERROR(train_.Sync());
    DT_RETURN_IF_ERROR(val_.Sync());
    DT_RETURN_IF_ERROR(SaveState(folder_, key_,
                                 {.place = place_,
                                  .train_tokens = train_.tokens(),
                                  .val_tokens = val_.tokens(),
                                  .documents = state_.documents_done,
                                  .lines = lines_,
                                  .bytes = state_.bytes_done,
                                  .skipped = skipped_}));
    saved_shards_ = shards;
    return absl::OkStatus();
  }

  absl::Status Deal(const TextEncoder::Piece& piece) {
    const std::span<const uint16_t> ids = piece.ids;
    if (options_.validation == Validation::kFirstShard) {
      const uint64_t left = options_.shard_tokens - std::min(options_.shard_tokens, val_.tokens());
      const size_t first = std::min<uint64_t>(left, ids.size());
      DT_RETURN_IF_ERROR(val_.Append(ids.first(first)));
      return train_.Append(ids.subspan(first));
    }
    return (piece.training ? train_ : val_).Append(ids);
  }

  const TokenizeOptions& options_;
  const std::string& folder_;
  const std::string& key_;
  const std::function<Go(const TokenizeProgress&)>& progress_;
  const std::vector<Document>& documents_;
  TextEncoder& encoder_;
  // The number, among the lines with text, of the only line for validation, if the draw gave none.
  const std::optional<uint64_t> validation_line_;
  Split train_;
  Split val_;
  ReadPosition place_;  // after the last piece read
  uint64_t saved_shards_ = 0;
  TokenizeProgress state_;
  uint64_t skipped_ = 0;  // JSON lines whose text is empty
  uint64_t lines_ = 0;    // JSON lines with text
  std::vector<TextEncoder::Piece> pieces_;
  std::vector<Origin> origins_;  // of each piece
  size_t wave_bytes_ = 0;
};

template <typename Number>
absl::Status OutOfRange(const char* option, Number value, const std::string& allowed) {
  std::ostringstream message;
  message << option << " is " << value << "; it must be " << allowed;
  return ConfigError(message.str());
}

absl::Status CheckOptions(const TokenizeOptions& options) {
  if (options.inputs.empty()) return ConfigError("name the files to tokenise");
  if (options.tokenizer == Tokenizer::kGpt2 && options.vocabulary.empty()) {
    return ConfigError("the gpt2 tokenizer needs GPT-2's vocab.bpe: give --vocab FILE");
  }
  std::error_code code;
  if (options.tokenizer == Tokenizer::kGpt2 && !std::filesystem::exists(options.vocabulary, code)) {
    return ConfigError("--vocab: there is no file '" + options.vocabulary +
                       "'; 'dtctl data fetch gpt2-vocab --output DIR' gets GPT-2's vocab.bpe");
  }
  if (options.tokenizer != Tokenizer::kGpt2 && !options.vocabulary.empty()) {
    return ConfigError("--vocab is for --tokenizer gpt2; the byte tokenizer has no vocabulary");
  }
  if (options.threads < 1 || options.threads > kThreadsMax) {
    return OutOfRange("--threads", options.threads, "from 1 to " + std::to_string(kThreadsMax));
  }
  if (options.output.empty()) return ConfigError("name the output folder");
  if (options.shard_tokens < kShardTokensMin || options.shard_tokens > kShardTokensMax) {
    return OutOfRange(
        "--shard-tokens", options.shard_tokens,
        "from " + std::to_string(kShardTokensMin) + " to " + std::to_string(kShardTokensMax));
  }
  if (!(options.validation_fraction >= 0 && options.validation_fraction < 1)) {
    return OutOfRange("--val-fraction", options.validation_fraction, "at least 0 and below 1");
  }
  return absl::OkStatus();
}

absl::StatusOr<DocumentList> Plan(const TokenizeOptions& options) {
  DT_ASSIGN_OR_RETURN(DocumentList list, CollectDocuments(options.inputs));
  switch (options.validation) {
    case Validation::kFraction:
      AssignValidation(options.validation_fraction, list.documents);
      break;
    case Validation::kFirstShard:
      break;
    case Validation::kFiles: {
      DT_ASSIGN_OR_RETURN(const DocumentList more, CollectDocuments(options.validation_inputs));
      for (Document document : more.documents) {
        document.train_bytes = 0;
        list.documents.push_back(std::move(document));
      }
      list.skipped += more.skipped;
      break;
    }
  }
  return list;
}

absl::Status RefuseExisting(const TokenizeOptions& options) {
  if (options.existing == Existing::kReplace || ShardsIn(options.output).empty())
    return absl::OkStatus();
  return ConfigError("'" + options.output +
                     "' already has token shards; choose another folder or "
                     "replace them with --overwrite");
}

// Chooses the line for validation if there are too few for the draw. Errors: ConfigError if none
// can be spared.
absl::StatusOr<uint64_t> OnlyLine(uint64_t lines) {
  constexpr uint64_t kSeed = 0x6f6e65;
  if (lines >= 2) return SplitMix64(kSeed) % lines;
  return ConfigError(
      "there is too little text to keep some of it for validation; name a file for that with "
      "--val, or give --val-fraction 0 to have none");
}

absl::Status Empty(const std::string& workshop) {
  DT_RETURN_IF_ERROR(RemoveAll(workshop));
  return MakeFolders(workshop);
}

// Encodes into the workshop, from where an earlier run stopped.
absl::StatusOr<Publication> Make(const TokenizeOptions& options, const std::string& workshop,
                                 const std::string& key, const DocumentList& plan,
                                 TextEncoder& encoder,
                                 const std::function<Go(const TokenizeProgress&)>& progress) {
  std::optional<Run> run;
  const auto start = [&](std::optional<uint64_t> validation_line = std::nullopt) {
    run.emplace(options, workshop, key, plan.documents, encoder, progress, validation_line);
  };
  start();
  const std::optional<TokenizeState> earlier = FindState(workshop, key);
  if (!earlier || !run->Resume(*earlier).ok()) {
    DT_RETURN_IF_ERROR(Empty(workshop));  // of another run, or damaged
    start();
  }
  absl::Status ran = run->All();
  if (ran.ok() && run->LacksValidation()) {
    const absl::StatusOr<uint64_t> line = OnlyLine(run->lines());
    DT_RETURN_IF_ERROR(line.ok() ? Empty(workshop) : RemoveAll(workshop));
    DT_RETURN_IF_ERROR(line.status());
    start(*line);
    ran = run->All();
  }
  if (!ran.ok()) {
    const absl::StatusCode kind = ran.code();
    const bool passing = kind == kCancelledError || kind == kIoError;
    if (!passing || !run->saved()) DT_RETURN_IF_ERROR(RemoveAll(workshop));
    return ran;
  }
  ShardsRecord record{{options.tokenizer, ""}, {}};
  if (options.tokenizer == Tokenizer::kGpt2) {
    DT_ASSIGN_OR_RETURN(record.tokenizer.vocabulary_sha256, VocabularyHash(options.vocabulary));
  }
  for (const Split* split : {&run->train(), &run->val()}) {
    for (const std::string& name : split->names()) {
      DT_ASSIGN_OR_RETURN(record.sums.emplace_back(), SumOf(workshop + "/" + name, name));
    }
  }
  return Publication{.key = key,
                     .format = options.format,
                     .train_shards = run->train().names().size(),
                     .val_shards = run->val().names().size(),
                     .train_tokens = run->train().tokens(),
                     .val_tokens = run->val().tokens(),
                     .documents = run->state().documents_done,
                     .bytes = run->state().bytes_done,
                     .bytes_resumed = run->state().bytes_resumed,
                     .skipped = plan.skipped + run->skipped(),
                     .record = std::move(record)};
}

TokenizeSummary SummaryOf(const Publication& made, const std::string& output, int vocabulary) {
  const auto paths = [&](const std::string& split, uint64_t shards) {
    std::vector<std::string> named = ShardNames(split, shards, made.format);
    for (std::string& name : named) name.insert(0, output + "/");
    return named;
  };
  return {.documents = made.documents,
          .skipped = made.skipped,
          .bytes = made.bytes,
          .bytes_resumed = made.bytes_resumed,
          .train_tokens = made.train_tokens,
          .val_tokens = made.val_tokens,
          .train_files = paths("train", made.train_shards),
          .val_files = paths("val", made.val_shards),
          .vocabulary = vocabulary};
}

}  // namespace

absl::StatusOr<TokenizeSummary> TokenizeFiles(
    const TokenizeOptions& options, const std::function<Go(const TokenizeProgress&)>& progress,
    FolderChanges* changes) {
  FolderChanges real;
  if (changes == nullptr) changes = &real;
  DT_RETURN_IF_ERROR(CheckOptions(options));
  DT_ASSIGN_OR_RETURN(TextEncoder encoder, TextEncoder::Make({.tokenizer = options.tokenizer,
                                                              .vocabulary = options.vocabulary,
                                                              .text_field = options.text_field,
                                                              .threads = options.threads}));
  DT_ASSIGN_OR_RETURN(const DocumentList plan, Plan(options));
  DT_ASSIGN_OR_RETURN(const std::string key, RunKey(options, plan.documents));
  DT_ASSIGN_OR_RETURN(const WorkFolder workshop, OpenWorkFolder(options));
  DT_ASSIGN_OR_RETURN(std::optional<Publication> earlier,
                      FinishPublication(options.output, *changes));
  if (earlier && earlier->key == key) {  // only the move was left to do
    earlier->bytes_resumed = earlier->bytes;
    return SummaryOf(*earlier, options.output, encoder.vocabulary());
  }
  DT_RETURN_IF_ERROR(RefuseExisting(options));
  DT_ASSIGN_OR_RETURN(const Publication made,
                      Make(options, workshop.folder, key, plan, encoder, progress));
  DT_RETURN_IF_ERROR(Publish(options.output, made, *changes));
  return SummaryOf(made, options.output, encoder.vocabulary());
}

}  // namespace dt::corpus
