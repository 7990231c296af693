// mark.h: the high-water mark: what was acknowledged, in a file beside the database.
//
// Role:      SQLite silently ends its write-ahead log at the first damaged frame, and a database
//            can be swapped for another one or an older copy. The mark detects this: it names the
//            database and the newest commit that was acknowledged to anybody.
// Threads:   thread-compatible.
// Errors:    Write: those of the disk; the commit must then not be acknowledged.
// Invariant: commit, then mark, then publish: the mark never promises more than is durable, and
//            never less than was acknowledged. Two slots are written in turn, so that a torn write
//            leaves the previous one.
// Tests:     tests/coordinator/store/damage_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/files.h"

namespace dt {

struct HighWaterMark {
  std::string store;     // name of the database; created with it
  int64_t commits = 0;   // number of durable commits
  int64_t sequence = 0;  // number and hash of the newest record
  std::string hash;
  int64_t experiment = 0;  // the newest submitted experiment

  friend bool operator==(const HighWaterMark&, const HighWaterMark&) = default;
};

// Returns nullopt if there is no such file, or none of its slots can be read.
std::optional<HighWaterMark> ReadMark(const std::string& path);

class MarkFile {
 public:
  // Creates the file with its full size, so that a later write changes only its content.
  static absl::StatusOr<MarkFile> Open(const std::string& path);
  // Writes the mark; durable on return.
  absl::Status Write(const HighWaterMark& mark);

 private:
  MarkFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

}  // namespace dt
