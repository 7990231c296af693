// libpq.cc: see libpq.h.
#include "coordinator/store/libpq.h"

#include <dlfcn.h>

#include <type_traits>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace dt {
namespace {

constexpr char kInstall[] =
    "; install libpq5 (Debian, Ubuntu) or libpq (Fedora, RHEL), or keep the journal in --state-dir";

struct Loaded {
  LibPq functions;
  absl::Status status = LoadLibPqFrom("libpq.so.5", functions);
};

const Loaded& Load() {
  static const Loaded* const kLoaded = new Loaded;  // never unloaded
  return *kLoaded;
}

}  // namespace

absl::Status LoadLibPqFrom(const char* library, LibPq& functions) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const reason = dlerror();
    return absl::FailedPreconditionError(absl::StrCat(
        "PostgreSQL's client library cannot be loaded: ", reason == nullptr ? library : reason,
        kInstall));
  }
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    return function != nullptr;
  };
#define DT_LIBPQ_FIND(name)                                                                  \
  if (!find(#name, functions.name)) {                                                        \
    return absl::FailedPreconditionError(absl::StrCat(library, " has no " #name, kInstall)); \
  }
  DT_LIBPQ_FUNCTIONS(DT_LIBPQ_FIND)
#undef DT_LIBPQ_FIND
  return absl::OkStatus();
}

absl::Status LoadLibPq() { return Load().status; }

const LibPq& Pq() {
  DT_CHECK(Load().status.ok());
  return Load().functions;
}

}  // namespace dt
