// image.h: container images: which one an experiment means, and how it comes to this host.
//
// Role:      the commands of podman, docker and apptainer for images; container.h has those for
//            containers. An environment's folder in the store has a record of its image. Podman and
//            docker keep the image itself; apptainer's is a file in the folder.
// Threads:   any; blocks until the tool has ended.
// Errors:    ConfigError if the image is to blame, with the tool's own words; IoError if the host
//            is.
// Invariant: removes an image only if this store had it pulled, and only while no container uses
//            it.
// Tests:     tests/worker/environments/image_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "common/spawn.h"
#include "common/status.h"
#include "worker/environments/wanted.h"

namespace dt::environments {

enum class Runtime { kPodman, kDocker, kApptainer };
// Tells the runtime from the path of its program.
Runtime RuntimeAt(const std::string& path);

// The record of an image, in the folder of its environment.
struct Image {
  std::string path;         // of the runtime
  std::string reference;    // for the runtime: NAME@sha256:…, sha256:… or a file
  std::string python_path;  // PYTHONPATH that the image sets
  uint64_t bytes = 0;       // in the runtime's own storage
  bool pulled = false;      // by this store, which may remove it
};

struct Images {
  std::string path;         // of the runtime
  std::string store;        // folder, for marks of images that it had pulled
  std::string scratch;      // folder
  Environment environment;  // the worker's: its registries, proxies and credentials
};

// Returns the exact image, a line with its digest below a comment with the name. Pulls it, since a
// registry may have another one by now.
absl::StatusOr<std::string> ResolveImage(const Wanted& wanted, const Images& images);
// Returns the image's reference in a lock. Errors: ConfigError if the lock has none.
absl::StatusOr<std::string> ImageIn(const std::string& lock);
// Makes the folder with the record, and pulls the image unless it is here.
absl::Status MakeImage(const std::string& lock, const Images& images, const std::string& folder,
                       int lock_fd);
// Errors: IoError if the folder has no record.
absl::StatusOr<Image> ReadImage(const std::string& folder);

// For the store, of a folder with or without the record of an image: whether its image is gone, the
// bytes that removing it frees, and its removal.
bool LacksImage(const std::string& folder);
uint64_t ImageBytes(const std::string& folder);
void RemoveImage(const std::string& folder);

}  // namespace dt::environments
