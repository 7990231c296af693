// check.h: whether a journal is whole: its structure, its records' chain, its rows' checksums, and
// whether all that its mark promises is there.
//
// Role:      asked before a coordinator opens a journal, and by `dtcoord check`; writes nothing.
// Threads:   thread-compatible. REQUIRES: nobody writes to the journal meanwhile.
// Errors:    what hinders the check itself, such as a journal of a newer version; damage is a
//            finding.
// Tests:     tests/coordinator/store/damage_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/check_tables.h"
#include "coordinator/store/head.h"
#include "coordinator/store/journal.h"
#include "coordinator/store/mark.h"

namespace dt {

// Looks at everything when the file has at most `bytes_max` bytes or was not closed cleanly, else
// at what a start reads anyway.
absl::StatusOr<JournalReport> CheckJournal(const std::string& path, uint64_t bytes_max);

// The journal's mark is beside it.
std::string MarkPathOf(const std::string& path);
// What `mark` promises and `head` lacks, in words; empty: nothing.
std::string MissingOf(const Head& head, const std::optional<Mark>& mark);
// Says what is wrong and what to do about it, for a person.
std::string Refusal(const std::string& path, const std::vector<std::string>& wrong);
// Both in one list.
std::vector<std::string> WrongOf(const JournalReport& report);

}  // namespace dt
