// wanted.h: an environment as an experiment describes it.
//
// Role: read from the specification, and handed to the process that makes it.
#pragma once

#include <string>
#include <vector>

namespace dt::environments {

// At most one of uv, image, conda and modules is set; none: `python` alone, a version.
struct Wanted {
  std::string python;           // a version or a path; "": the one that uv finds first
  std::vector<std::string> uv;  // a file, or packages
  std::string index;
  std::string code_folder;           // with the file
  std::string image;                 // NAME[:TAG][@sha256:…]
  std::string conda;                 // a file
  std::vector<std::string> modules;  // to load, in this order
};

enum class Kind { kUv, kImage, kConda, kModule };
inline Kind KindOf(const Wanted& wanted) {
  if (!wanted.image.empty()) return Kind::kImage;
  if (!wanted.conda.empty()) return Kind::kConda;
  return wanted.modules.empty() ? Kind::kUv : Kind::kModule;
}

}  // namespace dt::environments
