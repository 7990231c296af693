// publish.h: moves finished shards out of a run's workshop, to where data patterns find them.
//
// Role:      moving many files is not one step, so the move is first recorded on disk, in
//            OUTPUT/.tokenize/publish.json. The next run finishes an interrupted move; until then
//            ResolveGlob refuses the folder's shards.
// Invariant: old shards are removed only after the record of the new ones is on disk, and all of
//            them before the first new one is moved in: never a mixture.
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

// The result of a run.
struct Publication {
  std::string key;  // of RunKey
  ShardFormat format = ShardFormat::kLlmc;
  uint64_t train_shards = 0;
  uint64_t val_shards = 0;
  uint64_t train_tokens = 0;
  uint64_t val_tokens = 0;
  uint64_t documents = 0;
  uint64_t bytes = 0;
  uint64_t bytes_resumed = 0;  // part of them, by an earlier run
  uint64_t skipped = 0;
  ShardsRecord record;    // written beside the shards
  bool old_gone = false;  // used by Publish: shards of earlier runs are removed, or there were none
};

// The operations on folders, one step a call. A test's own version stops in between.
class FolderChanges {
 public:
  virtual ~FolderChanges() = default;
  virtual absl::Status Write(const std::string& path, std::string_view content);  // atomically
  virtual absl::Status Rename(const std::string& from, const std::string& to);
  virtual absl::Status Remove(const std::string& path);  // also a folder with its content
};

// Returns train_000000.bin …
std::vector<std::string> ShardNames(const std::string& split, uint64_t shards, ShardFormat format);
// Returns names in `folder` that a data pattern would take for our shards.
std::vector<std::string> ShardsIn(const std::string& folder);
bool IsShardName(std::string_view name);

// REQUIRES: the shards are in OUTPUT/.tokenize, synced.
absl::Status Publish(const std::string& output, Publication publication, FolderChanges& changes);
// Finishes an interrupted publication and returns it. Returns nothing, and removes the workshop, if
// there is no record or shards in it are gone.
absl::StatusOr<std::optional<Publication>> FinishPublication(const std::string& output,
                                                             FolderChanges& changes);
// Returns the folder where a run makes its shards.
std::string WorkshopOf(const std::string& output);
// Returns true from the record until the last move.
bool IsBeingPublished(const std::string& folder);

}  // namespace dt::corpus
