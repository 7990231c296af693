// image.cc: see image.h.
#include "worker/environments/image.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/files.h"
#include "common/image_name.h"
#include "common/sha256.h"
#include "common/text.h"
#include "worker/environments/tools.h"

namespace dt::environments {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kRecord[] = "/image.json";
constexpr uint64_t kRecordBytes = 256 << 10;
constexpr char kFileOfImage[] = "/image.sif";
constexpr char kIdKind[] = "sha256:";
// A look at an image on this host reads its metadata alone.
constexpr absl::Duration kLookPatience = absl::Seconds(60);
constexpr char kFormat[] =
    "{{.Id}} {{.Size}}{{range .RepoDigests}}{{println}}digest {{.}}{{end}}"
    "{{range .Config.Env}}{{println}}env {{.}}{{end}}";

std::string ProgramName(const std::string& path) { return fs::path(path).filename(); }

ToolRun RunOf(const std::string& path, const Environment& environment, const std::string& folder,
              std::vector<std::string> arguments) {
  return {.path = path,
          .arguments = std::move(arguments),
          .environment = environment,
          .folder = folder};
}

// An image as its runtime describes it.
struct Found {
  std::string id;
  uint64_t bytes = 0;
  std::vector<std::string> digests;  // NAME@sha256:…
  std::string python_path;
};

Found FoundIn(const std::string& text) {
  Found found;
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const std::vector<std::string> facts = absl::StrSplit(lines[0], ' ');
  found.id = std::string(absl::StripPrefix(facts[0], kIdKind));
  if (facts.size() > 1) static_cast<void>(absl::SimpleAtoi(facts[1], &found.bytes));
  for (absl::string_view line : lines) {
    if (absl::ConsumePrefix(&line, "digest ")) found.digests.emplace_back(line);
    if (absl::ConsumePrefix(&line, "env PYTHONPATH=")) found.python_path = std::string(line);
  }
  return found;
}

// Errors: of the runtime, also if the image is not on this host.
absl::StatusOr<Found> Look(const Images& images, const std::string& image) {
  ToolRun look = RunOf(images.path, images.environment, images.scratch,
                       {"image", "inspect", "--format", kFormat, image});
  look.patience = kLookPatience;
  DT_ASSIGN_OR_RETURN(const std::string text,
                      Run(look, absl::StrCat(ProgramName(images.path), " does not know ", image)));
  return FoundIn(text);
}

bool IsLocal(const std::string& image) {
  return absl::StartsWith(image, "localhost/") || absl::StartsWith(image, kIdKind);
}

absl::Status Pull(const Images& images, const std::string& image, int lock_fd) {
  ToolRun pull = RunOf(images.path, images.environment, images.scratch, {"pull", "--quiet", image});
  pull.lock = lock_fd;
  return Run(pull, absl::StrCat(ProgramName(images.path), " cannot pull ", image)).status();
}

// Returns the file that marks an image as pulled by this store, between its resolving and its
// making.
std::string MarkOf(const Images& images, const std::string& reference) {
  return absl::StrCat(images.store, "/pulled-", Sha256Hex(reference).substr(0, 16));
}

// Chooses the name of the same registry and folder, if the image has several.
std::string ReferenceOf(const Found& found, const std::string& image) {
  const std::string end = absl::StrCat(std::string(ImageRepository(image)), "@");
  for (const std::string& digest : found.digests) {
    if (absl::StartsWith(digest, end) ||
        absl::EndsWith(digest.substr(0, digest.find('@') + 1), "/" + end)) {
      return digest;
    }
  }
  if (!found.digests.empty()) return found.digests[0];
  return kIdKind + found.id;  // built on this host, and never in a registry
}

// Pulls what the name means now. Without the network, the image that is here counts.
absl::StatusOr<std::string> ResolveByPull(const std::string& image, const Images& images) {
  const absl::StatusOr<Found> before = Look(images, image);
  // A runtime that hangs or was killed says nothing about the image.
  if (!before.ok() && before.status().code() != kConfigError) return before.status();
  if (IsLocal(image) && !before.ok()) {
    return ConfigError(absl::StrCat("environment.image: ", image,
                                    " is not on this host, and no registry has names that begin "
                                    "with localhost/: ",
                                    before.status().message()));
  }
  if (!IsLocal(image)) {
    const absl::Status pulled = Pull(images, image, -1);
    if (!pulled.ok() && (!before.ok() || pulled.code() == kConfigError)) return pulled;
  }
  DT_ASSIGN_OR_RETURN(const Found now, Look(images, image));
  const std::string reference = ReferenceOf(now, image);
  if (!before.ok() || before->id != now.id) {
    DT_RETURN_IF_ERROR(WriteFileAtomically(MarkOf(images, reference), ""));
  }
  return reference;
}

// Apptainer makes a file of its own from an image, and forgets the digest.
absl::StatusOr<std::string> ResolveByLook(const std::string& image, const Images& images) {
  const std::string skopeo = FindTool("skopeo", images.environment);
  if (skopeo.empty()) {
    return ConfigError(absl::StrCat(
        "environment.image: apptainer does not tell the digest of ", image,
        "; write it as NAME@sha256:…, or install skopeo on the workers, which looks it up"));
  }
  const ToolRun look =
      RunOf(skopeo, images.environment, images.scratch,
            {"inspect", "--no-tags", "--format", "{{.Digest}}", "docker://" + image});
  DT_ASSIGN_OR_RETURN(const std::string text, Run(look, "skopeo cannot look up " + image));
  return absl::StrCat(std::string(ImageRepository(image)), "@", absl::StripAsciiWhitespace(text));
}

absl::Status WriteRecord(const Image& image, const std::string& folder) {
  return WriteFileAtomically(folder + kRecord,
                             json{{"path", image.path},
                                  {"reference", image.reference},
                                  {"python_path", image.python_path},
                                  {"bytes", image.bytes},
                                  {"pulled", image.pulled}}
                                 .dump(-1, ' ', false, json::error_handler_t::replace));
}

// Returns the image in the runtime's own storage, pulled unless it is there.
absl::StatusOr<Image> InStorage(const std::string& reference, const Images& images, int lock_fd) {
  Image image{.path = images.path, .reference = reference};
  absl::StatusOr<Found> found = Look(images, reference);
  if (!found.ok() && IsLocal(reference)) {
    return IoError(absl::StrCat("environment.image: ", reference,
                                " is not on this host, as on that of the first trial, and no "
                                "registry has it; load it here, or push it to a registry: ",
                                found.status().message()));
  }
  if (!found.ok()) {
    DT_RETURN_IF_ERROR(Pull(images, reference, lock_fd));
    DT_RETURN_IF_ERROR(WriteFileAtomically(MarkOf(images, reference), ""));
    found = Look(images, reference);
    if (!found.ok()) return IoError(std::string(found.status().message()));
  }
  image.pulled = access(MarkOf(images, reference).c_str(), F_OK) == 0;
  image.python_path = found->python_path;
  image.bytes = found->bytes;
  return image;
}

absl::StatusOr<Image> AsFile(const std::string& reference, const Images& images,
                             const std::string& folder, int lock_fd) {
  Image image{.path = images.path, .reference = folder + kFileOfImage};
  ToolRun pull = RunOf(images.path, images.environment, images.scratch,
                       {"--quiet", "pull", image.reference, "docker://" + reference});
  pull.lock = lock_fd;
  DT_RETURN_IF_ERROR(Run(pull, "apptainer cannot pull " + reference).status());
  return image;
}

}  // namespace

Runtime RuntimeAt(const std::string& path) {
  const std::string name = ProgramName(path);
  if (name == "docker") return Runtime::kDocker;
  return name == "podman" ? Runtime::kPodman : Runtime::kApptainer;
}

absl::StatusOr<std::string> ResolveImage(const Wanted& wanted, const Images& images) {
  const std::string& image = wanted.image;
  if (const std::string problem = ImageNameProblem(image); !problem.empty()) {
    return ConfigError("environment.image " + problem);
  }
  std::string reference;
  if (const std::string digest(ImageDigest(image)); !digest.empty()) {
    reference = absl::StrCat(std::string(ImageRepository(image)), "@", digest);
  } else if (RuntimeAt(images.path) == Runtime::kApptainer) {
    DT_ASSIGN_OR_RETURN(reference, ResolveByLook(image, images));
  } else {
    DT_ASSIGN_OR_RETURN(reference, ResolveByPull(image, images));
  }
  const std::string lock = absl::StrCat("# image: ", image, "\n", reference, "\n");
  DT_RETURN_IF_ERROR(ImageIn(lock).status());
  return lock;
}

absl::StatusOr<std::string> ImageIn(const std::string& lock) {
  for (const absl::string_view line : absl::StrSplit(lock, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    std::string reference(line);
    const bool id = absl::StartsWith(reference, kIdKind);
    if (ImageNameProblem(id ? "x@" + reference : reference).empty()) return reference;
  }
  return ConfigError(absl::StrCat("environment.image: the experiment's image is '",
                                  Printable(CleanText(lock, 200)), "', which is no name"));
}

absl::Status MakeImage(const std::string& lock, const Images& images, const std::string& folder,
                       int lock_fd) {
  DT_ASSIGN_OR_RETURN(const std::string reference, ImageIn(lock));
  if (mkdir(folder.c_str(), 0700) != 0) return SystemError("make", folder);
  const bool file = RuntimeAt(images.path) == Runtime::kApptainer;
  DT_ASSIGN_OR_RETURN(const Image image, file ? AsFile(reference, images, folder, lock_fd)
                                              : InStorage(reference, images, lock_fd));
  DT_RETURN_IF_ERROR(WriteRecord(image, folder));
  static_cast<void>(unlink(MarkOf(images, reference).c_str()));
  return absl::OkStatus();
}

absl::StatusOr<Image> ReadImage(const std::string& folder) {
  const absl::StatusOr<std::string> text = ReadFile(folder + kRecord, kRecordBytes);
  if (!text.ok()) return IoError(std::string(text.status().message()));
  const json record = json::parse(*text, nullptr, false);
  Image image;
  try {
    image.path = record.at("path");
    image.reference = record.at("reference");
    image.python_path = record.at("python_path");
    image.bytes = record.at("bytes");
    image.pulled = record.at("pulled");
  } catch (const json::exception& error) {
    return IoError(absl::StrCat(folder, kRecord, ": ", error.what()));
  }
  return image;
}

bool LacksImage(const std::string& folder) {
  if (access((folder + kRecord).c_str(), F_OK) != 0) return false;
  const absl::StatusOr<Image> image = ReadImage(folder);
  if (!image.ok() || access(image->path.c_str(), X_OK) != 0) return true;
  if (RuntimeAt(image->path) == Runtime::kApptainer) {
    return access(image->reference.c_str(), R_OK) != 0;
  }
  // A runtime that hangs does not say that the image is gone, and others may be using it.
  const Images images{
      .path = image->path, .store = "", .scratch = "/", .environment = EnvironmentWith({})};
  return Look(images, image->reference).status().code() == kConfigError;
}

uint64_t ImageBytes(const std::string& folder) {
  if (access((folder + kRecord).c_str(), F_OK) != 0) return 0;
  const absl::StatusOr<Image> image = ReadImage(folder);
  return image.ok() && image->pulled ? image->bytes : 0;
}

void RemoveImage(const std::string& folder) {
  if (ImageBytes(folder) == 0) return;
  const absl::StatusOr<Image> image = ReadImage(folder);
  if (!image.ok()) return;
  ToolRun remove = RunOf(image->path, EnvironmentWith({}), "/", {"image", "rm", image->reference});
  remove.patience = kLookPatience;
  // The runtime keeps an image that a container of somebody else uses.
  static_cast<void>(Run(remove, "remove an image"));
}

}  // namespace dt::environments
