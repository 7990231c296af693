// git.h: asks git about a folder in a work tree. It runs the program, which knows every rule of
// .gitignore. Without git, or if git refuses the folder, there is no answer.
//
// Threads: any; a call waits for the program, limits::kCallDeadline at most.
// Tests:   tests/common/pack/folder_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dt::pack {

// Returns the files that git tracks or would track, relative to `folder`; some may be gone.
// Nothing: the folder is in no work tree, or git cannot be asked.
std::optional<std::vector<std::string>> ListByGit(const std::string& folder);

// Returns the files of a folder in no work tree, except those that a .gitignore in it, or below it,
// names. Nothing: git cannot be asked.
std::optional<std::vector<std::string>> ListNotIgnored(const std::string& folder);

// Returns the commit that is checked out; "": none.
std::string RevisionOf(const std::string& folder);
// Returns the folder's changes since that commit: a line for each file, then the number of changed
// lines, cut to limits::kCodeChangesBytes.
std::string ChangesIn(const std::string& folder);

}  // namespace dt::pack
