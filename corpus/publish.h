// publish.h: finished shards out of a run's workshop, to where data patterns find them.
//
// Role:      moving many files is not one step, so what is to be moved is recorded first, on disk,
//            in OUTPUT/.tokenize/publish.json. Whoever comes next finishes a move that was broken
//            off; until then ResolveGlob refuses the folder's shards.
// Invariant: shards that were there before go only after the record of the new ones is on disk, and
//            all of them before the first new one comes: never a mixture.
// Errors:    IoError.
// Tests:     tests/corpus/publish_test.cc, tests/corpus/glob_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "corpus/shard.h"
#include "corpus/tokenizer_record.h"

namespace dt::corpus {

// What a run made.
struct Publication {
  std::string key;  // RunKey's
  ShardFormat format = ShardFormat::kLlmc;
  uint64_t train_shards = 0;
  uint64_t val_shards = 0;
  uint64_t train_tokens = 0;
  uint64_t val_tokens = 0;
  uint64_t documents = 0;
  uint64_t bytes = 0;
  uint64_t bytes_resumed = 0;  // of these, by a run before
  uint64_t skipped = 0;
  ShardsRecord record;    // written beside the shards
  bool old_gone = false;  // Publish's own: shards of earlier runs are removed, or there were none
};

// How folders are changed, one step a call. A test's own breaks off in between.
class FolderChanges {
 public:
  virtual ~FolderChanges() = default;
  virtual absl::Status Write(const std::string& path, std::string_view content);  // atomically
  virtual absl::Status Rename(const std::string& from, const std::string& to);
  virtual absl::Status Remove(const std::string& path);  // a whole folder too
};

// train_000000.bin …
std::vector<std::string> ShardNames(const std::string& split, uint64_t shards, ShardFormat format);
// Names in `folder` that a data pattern would take for ours.
std::vector<std::string> ShardsIn(const std::string& folder);
bool IsShardName(std::string_view name);

// REQUIRES: OUTPUT/.tokenize has the shards, synced.
absl::Status Publish(const std::string& output, Publication publication, FolderChanges& changes);
// Finishes what was broken off and returns it. Nothing when there is no record, or when shards that
// it names are gone: the workshop is then removed.
absl::StatusOr<std::optional<Publication>> FinishPublication(const std::string& output,
                                                             FolderChanges& changes);
// Where a run makes its shards.
std::string WorkshopOf(const std::string& output);
// True from the record to the last move.
bool IsBeingPublished(const std::string& folder);

}  // namespace dt::corpus
