// check.h: checks a journal: its structure, its chain of records, its rows' checksums, and that
// everything in its mark is there.
//
// Role:      called before a coordinator opens a journal, and by `dtcoord check`; writes nothing.
// Threads:   thread-compatible. REQUIRES: no process writes to the journal meanwhile.
// Errors:    obstacles to the check itself, such as a journal of a newer version. Damage is a
//            finding, not an error.
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

// Checks everything if the file has at most `bytes_max` bytes or was not closed cleanly; else
// checks only the data that a start reads anyway.
absl::StatusOr<JournalReport> CheckJournal(const std::string& path, uint64_t bytes_max);

// Returns the path of the journal's mark, beside the journal.
std::string MarkPathOf(const std::string& path);
// Describes the parts that `mark` promises and `head` lacks; empty: none.
std::string MissingOf(const StoreHead& head, const std::optional<HighWaterMark>& mark);
// Describes for a person what is wrong and how to mend it.
std::string Refusal(const std::string& path, const std::vector<std::string>& wrong);
// Returns damage and missing parts in one list.
std::vector<std::string> WrongOf(const JournalReport& report);

}  // namespace dt
