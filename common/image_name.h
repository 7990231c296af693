// image_name.h: checks the name of a container image.
//
// Role:   the rule that readers of experiment files share with the worker that pulls images. What
//         passes is one argument of podman, docker and apptainer, and never an option, a file or a
//         URL.
// Errors: none; a text with the problem and the fix.
// Source: the grammar of references in the OCI distribution's reference package.
// Tests:  tests/common/image_name_test.cc
#pragma once

#include <string>
#include <string_view>

namespace dt {

// Returns what is wrong with NAME[:TAG][@sha256:DIGEST], for a sentence that begins with the
// field: "has no name". "": nothing is.
std::string ImageNameProblem(std::string_view image);
// Returns the name without its tag and digest: "ghcr.io/me/train".
std::string_view ImageRepository(std::string_view image);
// Returns "sha256:…"; "": the name has a tag or nothing.
std::string_view ImageDigest(std::string_view image);

}  // namespace dt
