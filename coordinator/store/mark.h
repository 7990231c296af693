// mark.h: the high-water mark: what was acknowledged, in a file beside the database.
//
// Role:      SQLite ends its write-ahead log at the first damaged frame and says nothing; a
//            database can be swapped for another or for an older copy. The mark tells: it names the
//            database, and the newest commit that anybody was told of.
// Threads:   thread-compatible.
// Errors:    Write: what the disk says; the commit must then not be acknowledged.
// Invariant: commit, then mark, then publish: it never promises more than is durable, and never
//            less than was acknowledged. Two slots are written in turn, so that a torn write leaves
//            the one before.
// Tests:     tests/coordinator/store/damage_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/files.h"

namespace dt {

struct Mark {
  std::string store;     // names the database; made with it
  int64_t commits = 0;   // so many commits are durable
  int64_t sequence = 0;  // number and hash of the newest record
  std::string hash;
  int64_t experiment = 0;  // newest that was submitted

  friend bool operator==(const Mark&, const Mark&) = default;
};

// Nothing when there is no such file, or none of its slots can be read.
std::optional<Mark> ReadMark(const std::string& path);

class MarkFile {
 public:
  // Creates it with its full size, so that a write later changes nothing but its content.
  static absl::StatusOr<MarkFile> Open(const std::string& path);
  // Durable on return.
  absl::Status Write(const Mark& mark);

 private:
  MarkFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

}  // namespace dt
