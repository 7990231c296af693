// kinds.cc: see kinds.h.
#include "worker/environments/kinds.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/sha256.h"
#include "worker/environments/conda.h"
#include "worker/environments/image.h"
#include "worker/environments/tools.h"
#include "worker/environments/uv.h"

namespace dt::environments {

bool IsResolved(const Wanted& wanted) { return KindOf(wanted) != Kind::kModule; }

absl::StatusOr<std::string> StoreName(const Wanted& wanted, const std::string& lock) {
  const std::string platform = PlatformText() + "\n";
  switch (KindOf(wanted)) {
    case Kind::kUv:
      return NameOf(wanted, lock);
    case Kind::kImage: {
      // The name in the comment does not matter.
      DT_ASSIGN_OR_RETURN(const std::string reference, ImageIn(lock));
      return Sha256Hex(absl::StrCat("image\n", platform, reference)).substr(0, 32);
    }
    case Kind::kConda:
      return Sha256Hex(absl::StrCat("conda\n", platform, lock)).substr(0, 32);
    case Kind::kModule:
      break;
  }
  return "";
}

std::string ResolvingText(const Wanted& wanted) {
  return KindOf(wanted) == Kind::kImage ? "pulls its image" : "resolves its packages";
}

size_t SizeOf(const Wanted& wanted, const std::string& lock) {
  switch (KindOf(wanted)) {
    case Kind::kUv:
      return PackagesIn(lock);
    case Kind::kImage:
      return 1;
    case Kind::kConda:
      return CondaPackagesIn(lock);
    case Kind::kModule:
      break;
  }
  return wanted.modules.size();
}

std::string ContentText(const Wanted& wanted, const std::string& lock) {
  if (KindOf(wanted) == Kind::kImage) {
    const absl::StatusOr<std::string> image = ImageIn(lock);
    if (!image.ok()) return "image " + wanted.image;
    // Twelve digits of the digest tell images apart for people.
    const size_t digits = image->find("sha256:") + 7 + 12;
    return absl::StrCat("image ", image->substr(0, digits));
  }
  if (KindOf(wanted) == Kind::kModule) {
    return absl::StrCat("modules ", absl::StrJoin(wanted.modules, ", "));
  }
  const size_t packages = SizeOf(wanted, lock);
  return absl::StrCat(packages, packages == 1 ? " package" : " packages");
}

}  // namespace dt::environments
