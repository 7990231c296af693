// code_store.h: packed code on disk, one file for each digest.
//
// Role:      takes code part by part, keeps it once its bytes match the digest, and returns it part
//            by part. Code is in files beside the journal, not in it: the digest is the checksum of
//            the file, the file never changes, and an upload delays no commit of metric rows.
// Threads:   one at a time; reads, hashes and syncs files.
// Errors:    InvalidArgument for impossible parts, ResourceExhausted if all stored code is in use,
//            NotFound, DataLoss for damaged bytes; IoError from the disk.
// Invariant: a file gets its digest as its name only when it is complete and synced. A draft has
//            another name and is removed at a restart; the sender begins again.
// Bounds:    limits::kCodeQuotaBytes, drafts included; the least recently used code goes first.
// Tests:     tests/coordinator/code/code_store_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/limits.h"

namespace dt {

// Returns the folder of packed code in a state folder.
inline std::string CodeFolderOf(const std::string& state_folder) { return state_folder + "/code"; }

// Returns whether an experiment, or a submission in progress, names the code with this digest.
using CodeInUse = std::function<bool(const std::string& digest)>;

struct CodePart {
  std::string digest;
  uint32_t parts = 0;  // the number of parts; each has kCodePartBytes, the last may have fewer
  uint32_t part = 0;   // counted from 0
  std::string data;    // empty: asks whether the code is there
};

class CodeStore {
 public:
  // Creates the folder. `quota` differs from kCodeQuotaBytes only in tests.
  static absl::StatusOr<CodeStore> Open(const std::string& folder,
                                        uint64_t quota = limits::kCodeQuotaBytes);

  // Returns true once the code is complete and durable. Parts may come in any order and repeatedly.
  absl::StatusOr<bool> Put(const CodePart& part, const CodeInUse& in_use);
  bool Has(const std::string& digest) const { return kept_.contains(digest); }
  // Returns `part` of the code, and the number of parts.
  absl::StatusOr<CodePart> Get(const std::string& digest, uint32_t part) const;
  // Succeeds if the code is absent.
  absl::Status Remove(const std::string& digest);
  uint64_t bytes() const { return bytes_; }

 private:
  struct Kept {
    uint64_t bytes = 0;
    uint64_t used = 0;  // time of use, as a counter
  };
  struct Begun {
    std::vector<bool> there;  // by part
    uint64_t used = 0;
  };

  CodeStore(std::string folder, uint64_t quota) : folder_(std::move(folder)), quota_(quota) {}
  absl::Status ReadFolder();
  absl::StatusOr<bool> Verified(const std::string& digest);
  absl::Status Begin(const CodePart& part, const CodeInUse& in_use);
  absl::Status Write(const CodePart& part);
  absl::Status Finish(const std::string& digest);
  absl::Status MakeRoom(uint64_t bytes, const CodeInUse& in_use);
  absl::Status Drop(const std::string& digest);
  std::string PathOf(const std::string& digest) const { return folder_ + "/" + digest; }
  std::string DraftOf(const std::string& digest) const { return PathOf(digest) + ".begun"; }

  std::string folder_;
  uint64_t quota_;
  std::map<std::string, Kept> kept_;
  std::map<std::string, Begun> begun_;
  uint64_t bytes_ = 0;  // stored code and drafts; a draft counts with the full size of its parts
  uint64_t uses_ = 0;
};

struct CodeReport {
  int64_t kept = 0;
  uint64_t bytes = 0;
  std::vector<std::string> damaged;  // one sentence for each
};
// Reads all code in `folder` and writes nothing. A missing folder counts as empty.
CodeReport CheckCode(const std::string& folder);

}  // namespace dt
