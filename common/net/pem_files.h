// pem_files.h: the three PEM files of mutual TLS, read again when they change.
//
// Role:    for the sources of common/net alone. A renewed certificate is used from the next
//          connection on; open connections keep theirs. Files that are incomplete, or do not match
//          while they are replaced, change nothing: the last good ones stay in use until the new
//          ones are valid.
// Threads: thread-safe.
// Errors:  Open: InvalidArgument naming the flag, the file and the fix.
// Tests:   tests/common/net/credentials_test.cc, tests/coordinator/rpc/rotation_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "common/net/tls_files.h"

namespace dt::internal {

struct Pem {
  std::string ca;
  std::string cert;
  std::string key;
  bool operator==(const Pem& other) const = default;
};

absl::StatusOr<Pem> ReadPemFiles(const TlsFiles& files);

class PemFiles {
 public:
  static absl::StatusOr<std::unique_ptr<PemFiles>> Open(const TlsFiles& files);
  // Returns the newest valid content.
  Pem Newest();

 private:
  // Identifies a file, through links so that a linked folder can be swapped, and when it was
  // written.
  struct Stamp {
    std::array<int64_t, 4> of{};
    bool operator==(const Stamp& other) const = default;
  };
  using Stamps = std::array<Stamp, 3>;

  explicit PemFiles(const TlsFiles& files) : files_(files) {}
  Stamps Look() const;

  const TlsFiles files_;
  Mutex mutex_;
  Stamps seen_ ABSL_GUARDED_BY(mutex_);  // of the files that pem_ was read from
  Pem pem_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dt::internal
