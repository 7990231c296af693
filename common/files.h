// files.h: the few file operations that must be done right: reads that name what is missing, and
// writes that are complete on disk or absent.
//
// Role:    files and folders over POSIX alone, for every room that keeps some.
// Threads: thread-compatible; reads of one InputFile may run on several threads.
// Errors:  DataError for an absent or short input (the caller named it), IoError for a failing
//          system. Each names the path.
// Tests:   tests/common/files_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "common/unique_fd.h"

namespace dt {

// Returns "cannot WHAT PATH: reason", with the reason from errno.
absl::Status SystemError(std::string_view what, const std::string& path);

// Flushes all output of <cstdio> and <iostream>. A program calls it before it reports success.
// Errors: IoError, of this or any earlier write.
absl::Status FlushStandardOutput();

// A file opened for reading at known offsets. It reads and does not map: when a file shrinks or a
// disk fails, a read gives an error, where a mapping would raise SIGBUS.
class InputFile {
 public:
  // Errors: DataError when absent, not a regular file or not readable.
  static absl::StatusOr<InputFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }
  int64_t modified_ns() const { return modified_ns_; }  // since 1970
  // Reads exactly `bytes` at `offset`. Errors: DataError when the file ends earlier.
  absl::Status ReadAt(uint64_t offset, void* into, size_t bytes) const;

 private:
  UniqueFd fd_;
  std::string path_;
  uint64_t bytes_ = 0;
  int64_t modified_ns_ = 0;
};

// Reads all of a file. Errors: DataError when it is larger than `bytes_max`.
absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t bytes_max);
// Returns what a file of /proc or /sys holds, whose length nobody knows before. Returns "" if it
// cannot be read to its end, such as that of a process that has just ended.
std::string ReadKernelFile(const std::string& path);

// A file written from start to end, then synced to disk. The class renames nothing.
class OutputFile {
 public:
  // Creates the file, or empties an existing one.
  static absl::StatusOr<OutputFile> Create(const std::string& path);
  // Opens a file to append after its first `bytes`; anything beyond them is dropped. Errors:
  // DataError when the file is absent or shorter.
  static absl::StatusOr<OutputFile> Reopen(const std::string& path, uint64_t bytes);

  absl::Status Append(const void* data, size_t bytes);
  // Overwrites bytes that were already appended.
  absl::Status WriteAt(uint64_t offset, const void* data, size_t bytes);
  absl::Status Sync();
  // Flushes to disk and closes. Only after this may the file be renamed to its final name.
  absl::Status SyncAndClose();
  uint64_t bytes() const { return bytes_; }

 private:
  UniqueFd fd_;
  std::string path_;
  uint64_t bytes_ = 0;
};

// Returns the names of a folder's entries, in no order. Errors: IoError, for an absent folder too.
absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path);
// Creates `path` and its missing parents.
absl::Status MakeFolders(const std::string& path);
// Makes sure that entries created, renamed or removed in this folder survive a power loss.
absl::Status SyncFolder(const std::string& path);
absl::Status Rename(const std::string& from, const std::string& to);
// Removes a file, or a folder with all in it; an absent one is no error.
absl::Status RemoveAll(const std::string& path);
// Writes `PATH.tmp`, syncs, renames: readers see either the old content or the new.
absl::Status WriteFileAtomically(const std::string& path, std::string_view content);

}  // namespace dt
