// code_store.h: packed code on disk, each under its digest.
//
// Role:      takes code part by part, keeps it once its bytes are what the digest says, and gives
//            it out part by part. A file each, beside the journal and not in it: the digest is the
//            checksum of the whole, nothing of it ever changes, and a folder on its way in keeps no
//            row of metrics waiting for its commit.
// Threads:   one at a time; it reads, hashes and syncs files.
// Errors:    InvalidArgument for parts that cannot be, ResourceExhausted where all that is kept is
//            in use, NotFound, DataLoss for damaged bytes; IoError of the disk.
// Invariant: a file that has a digest for its name was whole and synced when it got it. What was
//            begun has another name, and is gone after a restart: the sender begins again.
// Bounds:    limits::kCodeQuotaBytes, what was begun included; what was used longest ago goes
//            first.
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

// Where a state folder has it.
inline std::string CodeFolderOf(const std::string& state_folder) { return state_folder + "/code"; }

// Whether an experiment, or a submission under way, names the code of this digest.
using CodeInUse = std::function<bool(const std::string& digest)>;

struct CodePart {
  std::string digest;
  uint32_t parts = 0;  // that there are; each has kCodePartBytes, the last one may have fewer
  uint32_t part = 0;   // from 0
  std::string data;    // empty: asks whether the code is there
};

class CodeStore {
 public:
  // Makes the folder. `quota` is kCodeQuotaBytes but in tests.
  static absl::StatusOr<CodeStore> Open(const std::string& folder,
                                        uint64_t quota = limits::kCodeQuotaBytes);

  // True: the code is there, whole and durable. In any order, and as often as it likes.
  absl::StatusOr<bool> Put(const CodePart& part, const CodeInUse& in_use);
  bool Has(const std::string& digest) const { return kept_.contains(digest); }
  // `part` of the code, and how many there are.
  absl::StatusOr<CodePart> Get(const std::string& digest, uint32_t part) const;
  // Absent is fine.
  absl::Status Remove(const std::string& digest);
  uint64_t bytes() const { return bytes_; }

 private:
  struct Kept {
    uint64_t bytes = 0;
    uint64_t used = 0;  // counts up
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
  uint64_t bytes_ = 0;  // of both; of what was begun, as many as its parts may have
  uint64_t uses_ = 0;
};

struct CodeReport {
  int64_t kept = 0;
  uint64_t bytes = 0;
  std::vector<std::string> damaged;  // a sentence each
};
// Reads all that is kept in `folder`, and writes nothing. A folder that is not there keeps nothing.
CodeReport CheckCode(const std::string& folder);

}  // namespace dt
