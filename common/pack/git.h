// git.h: what git knows of a folder in a work tree. It asks the program, which knows every rule of
// .gitignore; where there is none, or it refuses the folder, there is no answer.
//
// Threads: any; a call waits for the program, limits::kCallDeadline at most.
// Tests:   tests/common/pack/folder_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dt::pack {

// The files that git tracks or would track, relative to `folder`; some may be gone. Nothing: the
// folder is in no work tree, or git cannot be asked.
std::optional<std::vector<std::string>> ListByGit(const std::string& folder);

// The files of a folder that is in no work tree, without those that a .gitignore in it, or below
// it, names. Nothing: git cannot be asked.
std::optional<std::vector<std::string>> ListNotIgnored(const std::string& folder);

// The commit that is checked out; "": none.
std::string RevisionOf(const std::string& folder);
// What the folder has beyond that commit: a line for each file, then lines counted, cut to
// limits::kCodeChangesBytes.
std::string ChangesIn(const std::string& folder);

}  // namespace dt::pack
