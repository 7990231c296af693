// store.h: the folder of a host's environments: one folder for each, made once, bounded by size.
//
// Ownership: `folder` belongs to the workers of one user on this host. NAME/ is an environment, and
//            NAME.lock its lock: the process that makes or removes it holds it alone, the processes
//            that use it share it. uv-cache/ is uv's cache, conda-cache/ that of conda. An image is
//            in the storage of its runtime, and its folder has a record (image.h).
// Threads:   one thread of any number of processes.
// Errors:    IoError if the file system fails, or others may write to the folder.
// Invariant: an environment is complete if its marker is there, which is written last, after all
//            else is on the disk. One that has lost its Python or its image since is made again.
//            Nothing removes an environment while its lock is held.
// Tests:     tests/worker/environments/store_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/status.h"
#include "common/unique_fd.h"

namespace dt::environments {

class Store {
 public:
  Store(std::string folder, uint64_t bytes_max);

  // Opens the lock of an environment, without taking it. The descriptor keeps the lock that Claim
  // takes, also for the processes that share it.
  absl::StatusOr<UniqueFd> OpenLock(const std::string& name) const;
  std::string FolderOf(const std::string& name) const;
  std::string cache() const { return folder_ + "/uv-cache"; }
  std::string conda_cache() const { return folder_ + "/conda-cache"; }

  // Returns with the environment complete and its lock shared. If it is not there, calls `make`
  // with the folder to make, while no other process makes the same; then removes other environments
  // if all are larger than the bound. Returns whether it was made now.
  absl::StatusOr<bool> Claim(const std::string& name, const UniqueFd& lock,
                             const std::function<absl::Status(const std::string&)>& make) const;
  // Returns whether it has its marker, its Python if it is a virtual environment, and its image.
  bool IsComplete(const std::string& name) const;

  // Opens the caches for use: nobody removes them while the descriptor is open. Blocks while they
  // are being removed.
  absl::StatusOr<UniqueFd> ShareCache() const;

  // Removes the caches, then environments that nobody uses with their images, the least recently
  // used first, until all are within the bound. Does nothing while another process uses a cache.
  void Evict() const;
  // Returns the bytes of all files in the folder; files with several links count once. Adds
  // those of images that this store had pulled.
  uint64_t Bytes() const;

 private:
  absl::Status Open() const;

  const std::string folder_;
  const uint64_t bytes_max_;
};

}  // namespace dt::environments
